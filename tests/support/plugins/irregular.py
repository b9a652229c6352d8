"""A plug-in with topologies that have no translations, and whose nodes may lack links at ports.

Ports are the colours of a proper colouring of the links. A node without a link of a colour is its
own neighbour at this port.

* ``Grid3x4``: as many colours as the largest degree; labels are numbers in rank order.
* ``Petersen10`` and ``Complete5``: regular, and one colour more than the degree.
* ``Line301``: its diameter is 300.
* ``Barbell6``: two triangles and a bridge; labels of mixed length and case.
* ``Hubs16``: some nodes have far more links than others, as in a scale-free network; the family
  returns links.
* ``Switched12``: seven endpoints and five switches, one of which is a leaf.
"""

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

import starcast
from starcast.support.errors import InputError
from starcast.topologies import Topology

#: The links of each colour, beginning with colour 1.
Colours = Sequence[Iterable[tuple[int, int]]]


class Irregular(Topology):
    """A topology defined by the links of each colour."""

    k = None

    def __init__(self, spec: str, family: str, labels: Sequence[str], colours: Colours) -> None:
        self.spec, self.family = spec, family
        self._labels = np.array(labels)
        self.n = self.nodes = len(labels)
        self.ports = tuple(range(1, len(colours) + 1))
        self._table = np.tile(np.arange(self.nodes, dtype=np.int32), (len(colours), 1))
        for row, links in zip(self._table, colours, strict=True):
            for u, v in links:
                row[u], row[v] = v, u
        self._ends = [
            sorted({*column} - {node}) for node, column in enumerate(self._table.T.tolist())
        ]

    @property
    def diameter(self) -> int:
        """The largest distance between two nodes."""
        return max(int(self.distances(root).max()) for root in range(self.nodes))

    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of ordered pairs of nodes at each distance."""
        pairs = np.concatenate([self.distances(root) for root in range(self.nodes)])
        return tuple(np.bincount(pairs).tolist())

    def reverse_port(self, port: int) -> int:
        """Return the port itself, since a link has the same port at both ends."""
        return self._check_port(port)

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> NDArray[np.int32]:
        """Return the neighbours across a port; a node without a link is its own neighbour."""
        row: NDArray[np.int32] = self._table[self._check_port(port) - 1]
        return row.copy() if ranks is None else row[self._check_ranks(ranks)]

    def distances(self, root: int | str = 0) -> NDArray[np.uint8] | NDArray[np.int32]:
        """Return the distance of every node from a root."""
        found = {self.node(root): 0}
        queue = [*found]
        for node in queue:
            new = [end for end in self._ends[node] if end not in found]
            found |= dict.fromkeys(new, found[node] + 1)
            queue += new
        distances = np.array([found[node] for node in range(self.nodes)], dtype=np.int32)
        return distances if distances.max() > 254 else distances.astype(np.uint8)

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Return the labels of the given ranks (default: of all nodes)."""
        return self._labels[slice(None) if ranks is None else self._check_ranks(ranks)]

    def rank(self, label: str) -> int:
        """Return the rank of the node with the given label."""
        found = np.flatnonzero(self._labels == label)
        if not len(found):
            raise InputError(f"'{label}' is not a node of {self.spec}", hint="use another label")
        return int(found[0])


@starcast.family("grid", pattern=r"Grid(\d+)x(\d+)", noun="grids", source="tests")
def grid(rows: int, columns: int) -> Topology:
    """Return a grid whose links alternate between two colours in rows and two others in columns."""
    colours: list[list[tuple[int, int]]] = [[], [], [], []]
    for row, column in product(range(rows), range(columns)):
        node = row * columns + column
        if column + 1 < columns:
            colours[column % 2].append((node, node + 1))
        if row + 1 < rows:
            colours[2 + row % 2].append((node, node + columns))
    labels = [str(node) for node in range(1, rows * columns + 1)]
    return Irregular(f"Grid{rows}x{columns}", "grid", labels, colours)


@starcast.family("odd-complete", pattern=r"Complete(\d+)", noun="complete graphs", source="tests")
def complete(n: int) -> Topology:
    """Return a complete graph of an odd number of nodes, whose links need n colours."""
    colours = [
        [pair for pair in combinations(range(n), 2) if sum(pair) % n == colour]
        for colour in range(n)
    ]
    return Irregular(f"Complete{n}", "odd-complete", [f"v{node}" for node in range(n)], colours)


@starcast.family("petersen", pattern=r"Petersen(10)", noun="Petersen graphs", source="tests")
def petersen(n: int) -> Topology:
    """Return the Petersen graph, which has degree 3, but whose links need four colours."""
    ring = [(i, (i + 1) % 5) for i in range(5)]
    spokes = [(i, i + 5) for i in range(5)]
    star = [(5 + i, 5 + (i + 2) % 5) for i in range(5)]
    colours: list[list[tuple[int, int]]] = [[], [], [], []]
    for link in [*ring, *star, *spokes]:
        free = next(each for each in colours if not {*link} & {*sum(each, ())})
        free.append(link)
    return Irregular("Petersen10", "petersen", [f"p{node}" for node in range(n)], colours)


@starcast.family("line", pattern=r"Line(\d+)", noun="paths", source="tests")
def line(n: int) -> Topology:
    """Return a path of n nodes."""
    links = list(pairwise(range(n)))
    labels = [f"x{node}" for node in range(n)]
    return Irregular(f"Line{n}", "line", labels, [links[::2], links[1::2]])


@starcast.family("barbell", pattern=r"Barbell(6)", noun="barbells", source="tests")
def barbell(_: int) -> Topology:
    """Return two triangles that a bridge joins."""
    colours = [[(0, 1), (3, 4), (2, 5)], [(1, 2), (4, 5)], [(0, 2), (3, 5)]]
    return Irregular("Barbell6", "barbell", ["a", "A", "b_2", "Node.10", "7", "long.Name"], colours)


@starcast.family("hubs", pattern=r"Hubs(\d+)", noun="hub networks", source="tests")
def hubs(n: int) -> list[tuple[int, int]]:
    """Return links from each node to one or two earlier nodes; low ranks have the most links."""
    return [(node, end) for node in range(1, n) for end in {node // 3, node // 7}]


@starcast.family(
    "switched", pattern=r"Switched(12)", noun="switched networks", source="tests", switches="s"
)
def switched(_: int) -> list[tuple[str, str]]:
    """Return the links of a network with the endpoints a to g and the switches s0 to s4."""
    links = "s0-a s0-b s0-c s1-d s1-e s0-s2 s1-s2 s1-s3 s3-f s3-g c-d s2-s4"
    return [(link[: link.index("-")], link[link.index("-") + 1 :]) for link in links.split()]
