"""The star graph S_n (Akers & Krishnamurthy 1989).

Nodes are the permutations of 1..n; port i exchanges positions 1 and i. Arrays over all n! nodes
are computed block by block, in about one nanosecond per node: see `starcast.topologies.blocks`.
"""

from collections.abc import Callable
from math import factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.topologies import blocks, permutations
from starcast.topologies.base import RankedValueReader, Topology, ValueReader, kept_table
from starcast.topologies.families import family
from starcast.topologies.permutations import Ranks
from starcast.topologies.profiles import star_profile

SMALLEST, LARGEST = 2, 12


class Star(Topology):
    """S_n for 2 <= n <= 12: n! nodes, degree n-1, diameter floor(3(n-1)/2)."""

    family = "star"
    _keeps_tables = True

    def __init__(self, n: int) -> None:
        self.spec = f"S{n}"
        self.n = n
        self.k = None
        self.nodes = factorial(n)
        self.ports = tuple(range(2, n + 1))

    @property
    def diameter(self) -> int:
        """The largest distance, floor(3(n-1)/2)."""
        return 3 * (self.n - 1) // 2

    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of nodes at each distance from any node, by cycle structure."""
        return star_profile(self.n)

    def reverse_port(self, port: int) -> int:
        """Return the port itself, because exchanging the same two symbols twice leads back."""
        return self._check_port(port)

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """Return the neighbours across port i, which exchanges positions 1 and i."""
        index = self._check_port(port) - 1
        if ranks is None:
            self._require_memory(4, "neighbours")
        if self._has_kept_table:
            kept = kept_table(self)[index - 1]
            # A copy, because the kept table is shared.
            return kept.copy() if ranks is None else np.take(kept, self._check_ranks(ranks))
        if ranks is None:
            return blocks.Neighbours(self.n, index).all()
        perms = permutations.unrank(self.n, self._check_ranks(ranks))
        perms[:, [0, index]] = perms[:, [index, 0]]
        return permutations.rank(perms)

    def _fill_neighbours(self, port: int, out: Ranks) -> None:
        blocks.Neighbours(self.n, port - 1).fill(out)

    def neighbour_ranks(self, port: int) -> Callable[[slice], Ranks]:
        """Return a function that takes a chunk and returns its neighbours across a port."""
        return blocks.Neighbours(self.n, self._check_port(port) - 1).part

    def neighbour_values(self, port: int) -> ValueReader:
        """Return a function that reads an array at the neighbours across a port.

        A port within the prefix maps each block to another block in the same order of nodes, so
        complete blocks are copied.
        """
        neighbours = blocks.Neighbours(self.n, self._check_port(port) - 1)
        if neighbours.within_prefix:
            return neighbours.read_values
        return RankedValueReader(neighbours.part)

    def chunks(self) -> list[slice]:
        """Return slices that together cover all ranks, each of several complete blocks."""
        return blocks.chunks(self.n)

    def step(self, ports: NDArray[np.uint8], ranks: NDArray[np.integer]) -> Ranks:
        """Return each node's neighbour across its own port; see `Topology.step`."""
        index = ports.astype(np.intp) - 1
        if self._has_kept_table:
            return np.asarray(kept_table(self)[index - 1, ranks])
        perms = permutations.unrank(self.n, ranks)
        row = np.arange(len(perms))
        # Indexing by arrays copies, so both values are read before either is written.
        perms[row, 0], perms[row, index] = perms[row, index], perms[row, 0]
        return permutations.rank(perms)

    def distances(self, root: int | str = 0) -> NDArray[np.uint8]:
        """Return the distances from the root.

        The distance is the number of displaced symbols, plus the number of cycles of length two or
        more, minus 2 if the first symbol is displaced.
        """
        perm = permutations.unrank(self.n, self.node(root))[0]
        self._require_memory(1, "distances")
        return blocks.Distances(self.n, perm).all()

    def translation(self, root: int | str) -> Ranks:
        """Return the image (q[x_1], .., q[x_n]) of each node x, where q is the root."""
        perm = permutations.unrank(self.n, self.node(root))[0]
        self._require_memory(4, "images")
        return blocks.Images(self.n, perm).all()

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Return the labels of nodes: one character for each symbol."""
        if ranks is None:
            self._require_memory(5 * self.n, "labels")
            return permutations.labels(permutations.arrangements(self.n, self.n))
        return permutations.labels(permutations.unrank(self.n, self._check_ranks(ranks)))

    def rank(self, label: str) -> int:
        """Return the lexicographic rank of the permutation with a label."""
        return int(permutations.rank(permutations.parse(label, self.n)[None, :])[0])


@family(
    "star", pattern=r"S(\d+)", source="Akers & Krishnamurthy 1989", noun="star graphs",
    sizes=range(SMALLEST, LARGEST + 1),
)  # fmt: skip
def _star(n: int) -> Star:
    return Star(n)
