"""`Network`, a topology given by its links, and `network`, which makes one of a user's graph.

The ports of a network are the colours of a proper colouring of its links (`colouring.py`), so each
port is a partial matching, and crossing a port twice leads back, as on star graphs.

A network is a value: its spec is its name and the first digits of the SHA-256 of its labels and
links. The networks of this process are known by their specs, so `starcast.topology` returns them.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.arrays import freeze
from starcast.support.errors import InputError, LimitError
from starcast.support.text import did_you_mean
from starcast.support.vocabulary import EXPANDED
from starcast.topologies.base import MAX_UINT8_DISTANCE, Distances, Topology
from starcast.topologies.colouring import colour_links
from starcast.topologies.permutations import Ranks

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.]{0,42}")
#: The form of the specs of networks, which no family uses.
NETWORK_SPEC = re.compile(rf"{_NAME.pattern}-[0-9a-f]{{6}}")
_LONGEST_LABEL = 40
#: Ports are uint8, and a colouring may need one port more than the largest degree.
MAX_DEGREE = 253
#: Networks with more nodes have no `distance_profile`, which needs a search from every node.
MAX_PROFILE_NODES = 5_000
#: Searches that `Network.diameter` may make. Most networks need fewer than 100.
_MAX_SEARCHES = 2_000

_known: dict[str, "Network"] = {}


class Network(Topology):
    """A connected graph that is given by its links; `network` makes one.

    Nodes are ranked by label: numbers by value, then other labels by code points.

    Args:
        name: the first part of the spec.
        titles: a text for each node, which becomes its label: other characters than letters,
            digits, ``_`` and ``.`` are replaced by ``_``, and equal labels get ``.2``, ``.3``, ..
        links: pairs of positions in ``titles``; repeated links count once.

    Attributes:
        titles: the text of each node as it was given, by rank.
        sha256: the SHA-256 of labels and links.

    Raises:
        InputError: a link joins a node to itself, a node has too many links, or the graph is empty
            or not connected.
    """

    family = "network"
    k = None

    def __init__(self, name: str, titles: Sequence[str], links: Iterable[tuple[int, int]]) -> None:
        labels = _as_labels(titles)
        order = sorted(range(len(labels)), key=lambda node: _sort_key(labels[node]))
        ranks = {node: rank for rank, node in enumerate(order)}
        self.titles = tuple(titles[node] for node in order)
        self._labels = freeze(np.array([labels[node] for node in order], dtype=np.str_))
        self.n = self.nodes = len(order)
        pairs = sorted({_as_pair(ranks[u], ranks[v], self.titles) for u, v in links})
        self._check_degrees(pairs)
        self.ports, self._table = _number_ports(self.nodes, pairs)
        arcs = np.array(sorted([*pairs, *((v, u) for u, v in pairs)]))
        self._ends = freeze(arcs[:, 1])
        self._offsets = freeze(np.searchsorted(arcs[:, 0], np.arange(self.nodes)))
        self._check_connected()
        content = json.dumps({"labels": self._labels.tolist(), "links": pairs})
        self.sha256 = hashlib.sha256(content.encode()).hexdigest()
        self.spec = f"{name}-{self.sha256[:6]}"

    def _check_degrees(self, pairs: Sequence[tuple[int, int]]) -> None:
        if not pairs:
            raise InputError("the network has no links", hint="give at least one link")
        degrees = np.bincount(np.array(pairs).ravel(), minlength=self.nodes)
        node = int(degrees.argmax())
        if degrees[node] > MAX_DEGREE:
            raise InputError(
                f"the node '{self.titles[node]}' has {degrees[node]:,} links",
                hint=f"a node can have at most {MAX_DEGREE}",
            )

    def _check_connected(self) -> None:
        rest, parts = np.ones(self.nodes, dtype=bool), 0
        while rest.any():
            parts += 1
            rest &= self._search(int(rest.argmax())) < 0
        if parts > 1:
            raise InputError(
                f"the network is not connected: it has {parts:,} parts",
                hint="give a network in which every node can reach every other node",
            )

    @property
    def diameter(self) -> int:
        """The largest distance between two nodes, by iFUB (Crescenzi et al. 2013).

        Raises:
            LimitError: too many searches are needed.
        """
        middle = self._find_middle()
        levels = self._search(middle)
        largest = int(levels.max())
        searches = 0
        for level in range(largest, 0, -1):
            # Two nodes that are both closer than this level have a distance of at most this.
            if largest >= 2 * level:
                break
            for node in np.flatnonzero(levels == level).tolist():
                searches += 1
                if searches > _MAX_SEARCHES:
                    raise LimitError(
                        f"the diameter of {self.spec} is not known: it is at least {largest}",
                        hint="ask for the distances from single nodes",
                    )
                largest = max(largest, int(self._search(node).max()))
        return largest

    def _find_middle(self) -> int:
        """Return a node in the middle of a long shortest path, from which iFUB starts."""
        first = int(self._search(int(self.degrees.argmax())).argmax())
        from_first = self._search(first)
        last = int(from_first.argmax())
        on_path = from_first + self._search(last) == from_first[last]
        return int(np.flatnonzero(on_path & (from_first == from_first[last] // 2))[0])

    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of ordered pairs of nodes at each distance.

        Raises:
            LimitError: the network has more than `MAX_PROFILE_NODES` nodes.
        """
        if self.nodes > MAX_PROFILE_NODES:
            raise LimitError(
                f"{self.spec} has {self.nodes:,} nodes, too many for the distances of all pairs",
                hint="ask for the distances from single nodes",
            )
        counts = np.zeros(self.nodes, dtype=np.int64)
        for root in range(self.nodes):
            found = np.bincount(self._search(root))
            counts[: len(found)] += found
        return tuple(np.trim_zeros(counts, "b").tolist())

    def reverse_port(self, port: int) -> int:
        """Return the port itself, because the two ends of a link use the same port."""
        return self._check_port(port)

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """Return the neighbours across a port; see `Topology.neighbours`."""
        row = self._table[self._check_port(port) - 1]
        return row.copy() if ranks is None else row[self._check_ranks(ranks)]

    def distances(self, root: int | str = 0) -> Distances:
        """Return the distance of every node from the root; see `Topology.distances`."""
        distances = self._search(self.node(root))
        return distances if distances.max() > MAX_UINT8_DISTANCE else distances.astype(np.uint8)

    def _search(self, root: int) -> NDArray[np.int32]:
        """Return the distances from a node, and -1 for nodes that it does not reach."""
        distances = np.full(self.nodes, -1, dtype=np.int32)
        frontier, distance = np.array([root]), 0
        while len(frontier):
            distances[frontier] = distance
            # The neighbours of node v are in the slice offsets[v]:offsets[v + 1] of the array.
            starts, counts = self._offsets[frontier], self.degrees[frontier]
            shifts = np.repeat(starts - np.cumsum(counts) + counts, counts)
            ends = self._ends[shifts + np.arange(len(shifts))]
            frontier = np.unique(ends[distances[ends] < 0])
            distance += 1
        return distances

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Return the labels of nodes; see `Topology.labels`."""
        return self._labels[slice(None) if ranks is None else self._check_ranks(ranks)]

    def rank(self, label: str) -> int:
        """Return the rank of the node with a label, whose case may differ if only one node fits.

        Raises:
            InputError: no node has this label, or several do.
        """
        for found in (
            np.flatnonzero(self._labels == label),
            np.flatnonzero(np.char.lower(self._labels) == str(label).lower()),
        ):
            if len(found) == 1:
                return int(found[0])
        labels = self._labels[found if len(found) else slice(None)].tolist()
        raise InputError(
            f"'{label}' is not a node of {self.spec}",
            hint=f"{did_you_mean(str(label), labels)}labels are those of `labels()`, such as"
            f" {labels[0]}",
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if self.family == Network.family:
            remember(self)


def network(links: Any, *, name: str = "network") -> Network:
    """Make a topology of any connected graph.

    Ports are the colours of a proper colouring of the links, so there are at most D+1 of them for
    the largest degree D. Parallel links count once.

    Args:
        links: a graph of NetworkX, igraph or rustworkx, a sparse matrix of SciPy, an array
            ``[links, 2]``, or pairs of labels.
        name: the first part of the spec: at most 43 letters, digits, ``_`` and ``.``.

    Returns:
        The network. Its spec, such as ``mine-3fa2c1``, is known in this process.

    Raises:
        InputError: the graph is empty, not connected or directed, or has a link from a node to
            itself; a node has more than 253 links; or the name is malformed.

    Example:
        >>> ring = network([("a", "b"), ("b", "c"), ("c", "d"), ("d", "a")], name="ring")
        >>> ring.nodes, ring.links, ring.diameter, ring.ports
        (4, 4, 2, (1, 2))
    """
    if not _NAME.fullmatch(name):
        raise InputError(
            f"the name '{name}' of the network is malformed",
            hint="give at most 43 letters, digits, '_' and '.', the first a letter or a digit",
        )
    titles, pairs = _read_graph(links)
    return remember(Network(name, titles, pairs))


def network_of_family(spec: str, family: str, links: Any) -> Network:
    """Make the topology of a spec of a family from the links that the family's function returns.

    Raises:
        InputError: see `network`.
    """
    titles, pairs = _read_graph(links)
    made = Network(family, titles, pairs)
    made.spec, made.family = spec, family
    return made


def remember(network: Network) -> Network:
    """Make a network known by its spec, and return it.

    Raises:
        InputError: another network with this spec is known.
    """
    known = _known.setdefault(network.spec, network)
    if known.sha256 != network.sha256:
        raise InputError(
            f"another network has the spec '{network.spec}'", hint="give it another name"
        )
    return known


def find_network(spec: str) -> Network | None:
    """Return the known network with a spec, or None."""
    return _known.get(spec)


def _read_graph(graph: Any) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the titles of the nodes of a graph, and its links as pairs of their positions."""
    directed = False
    if hasattr(graph, "get_edgelist"):  # igraph
        nodes = graph.vs["name"] if "name" in graph.vs.attributes() else range(graph.vcount())
        nodes, pairs, directed = list(nodes), graph.get_edgelist(), graph.is_directed()
        ends = [(nodes[u], nodes[v]) for u, v in pairs]
    elif hasattr(graph, "edge_list"):  # rustworkx
        nodes, pairs = graph.node_indices(), graph.edge_list()
        names = {node: graph[node] for node in nodes}
        directed = not hasattr(graph, "to_directed")
        nodes, ends = list(names.values()), [(names[u], names[v]) for u, v in pairs]
    elif hasattr(graph, "edges") and hasattr(graph, "is_directed"):  # NetworkX
        nodes, directed = list(graph.nodes), graph.is_directed()
        ends = [(u, v) for u, v, *_ in graph.edges]
    elif hasattr(graph, "tocoo"):  # SciPy
        matrix = graph.tocoo()
        if matrix.shape[0] != matrix.shape[1]:
            raise InputError("the matrix is not square", hint="give an adjacency matrix")
        nodes, directed = list(range(matrix.shape[0])), True
        ends = list(zip(matrix.row.tolist(), matrix.col.tolist(), strict=True))
    else:
        ends = [_as_link(link) for link in (graph.tolist() if hasattr(graph, "tolist") else graph)]
        nodes = list(dict.fromkeys(_as_title(end) for link in ends for end in link))
    titles = [_as_title(node) for node in nodes]
    numbers = {title: number for number, title in enumerate(titles)}
    if len(numbers) < len(titles):
        repeated = next(title for title in titles if titles.count(title) > 1)
        raise InputError(f"two nodes are named '{repeated}'", hint="rename one of them")
    pairs = [(numbers[_as_title(u)], numbers[_as_title(v)]) for u, v in ends]
    if directed:
        _check_directions(pairs, titles)
    return titles, pairs


def _as_title(node: Any) -> str:
    """Return a node as text; the nodes of grids are tuples, such as (0, 1), whose text is 0,1."""
    return ",".join(map(str, node)) if isinstance(node, tuple) else str(node)


def _as_link(link: Any) -> tuple[Any, Any]:
    try:
        first, second = link
    except (TypeError, ValueError):
        raise InputError(
            f"{link!r} is not a link", hint="give pairs of labels, such as ('a', 'b')"
        ) from None
    return first, second


def _check_directions(pairs: Iterable[tuple[int, int]], titles: Sequence[str]) -> None:
    given = set(pairs)
    for u, v in sorted(given):
        if (v, u) not in given:
            raise InputError(
                f"the link from '{titles[u]}' to '{titles[v]}' has no reverse",
                hint="give an undirected graph, because the links of a topology lead both ways",
            )


def _as_pair(u: int, v: int, titles: Sequence[str]) -> tuple[int, int]:
    if u == v:
        raise InputError(f"a link joins '{titles[u]}' to itself", hint="remove the link")
    return min(u, v), max(u, v)


def _as_labels(titles: Sequence[str]) -> list[str]:
    """Return a different label for each title, whatever the order of the titles is."""
    labels: dict[str, str] = {}
    taken = {EXPANDED}
    written = {title: re.sub(r"[^A-Za-z0-9_.]", "_", title)[:_LONGEST_LABEL] for title in titles}
    # A title that is a valid label keeps it; the others follow in the order of their code points.
    for title in sorted(titles, key=lambda title: (written[title] != title, title)):
        label, number = written[title] or "_", 1
        while label in taken:
            number += 1
            suffix = f".{number}"
            label = written[title][: _LONGEST_LABEL - len(suffix)] + suffix
        taken.add(label)
        labels[title] = label
    return [labels[title] for title in titles]


def _sort_key(label: str) -> tuple[bool, int, str]:
    return not label.isdigit(), int(label) if label.isdigit() else 0, label


def _number_ports(
    nodes: int, pairs: Sequence[tuple[int, int]]
) -> tuple[tuple[int, ...], NDArray[np.int32]]:
    """Return the ports of a network and its table of neighbours, int32 ``[ports, nodes]``."""
    colours, rows = np.unique(colour_links(nodes, pairs), return_inverse=True)
    table = np.tile(np.arange(nodes, dtype=np.int32), (len(colours), 1))
    first, second = np.array(pairs).T
    table[rows, first], table[rows, second] = second, first
    return tuple(range(1, len(colours) + 1)), freeze(table)
