"""Star graphs S_n (Akers & Krishnamurthy 1989) and (n,k)-stars S_{n,k} (Li, Chen, Xiang & Yao).

The nodes of S_n are the permutations of 1..n; port i exchanges positions 1 and i.

The nodes p of S_{n,k} are the arrangements of k symbols of 1..n (docs/definitions/nk-star.md). Port
i = 2..k exchanges positions 1 and i, as in S_n. The links of ports k+s, s = 1..n-k, are called
residual: they replace p_1 by a missing symbol, so the n-k+1 nodes that differ only in p_1 form a
clique. Port k+s leads to the node whose p_1 is s places later in the sorted first symbols of the
clique, counted cyclically. Every port is thus a permutation of the nodes, and port k + (n-k+1-s) is
the reverse of port k+s.

Arrays over all nodes are computed block by block, which takes about one nanosecond per node in S_n
(see `starcast.topologies.blocks`).

The nodes at each distance are counted by cycle structure, without a node array. A polynomial is a
list of coefficients: entry d counts the arrangements at distance d. The distance is the sum of
these costs (docs/definitions/nk-star.md, formulas (1) and (2)):

* Each cycle of two or more positions costs its length + 1.
* External chains begin with a symbol that the root lacks. If there are external chains, their
  total cost is the number of their positions + the number of chains + 1.
* If position 1 is on such a cycle or chain, the distance is 2 smaller.
"""

from collections.abc import Callable, Iterable
from itertools import zip_longest
from math import comb, factorial, perm

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.errors import InputError
from starcast.topologies import blocks, permutations
from starcast.topologies.base import Topology, ValueReader, kept_table, read_by_rank
from starcast.topologies.families import family
from starcast.topologies.permutations import Perms, Ranks

MAX_NODES = factorial(12)  # as many nodes as the largest star graph; their ranks fit into int32

# Number of nodes processed at a time. The symbols in their labels, and the first symbols of their
# cliques, fit into the cache.
_ROWS = 2**15


class ArrangementGraph(Topology):
    """A graph whose nodes are the arrangements of ``length`` symbols of 1..n, ranked by label.

    Attributes:
        length: the number of symbols in a label.
    """

    length: int
    has_translations = True
    _keeps_tables = True

    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of nodes at each distance from any node, without visiting the nodes."""
        return _profile(self.n, self.length)

    def reverse_port(self, port: int) -> int:
        """Return the port that leads back: ``port`` itself up to k, and port n+1-s for port k+s."""
        self._check_port(port)
        return int(port) if port <= self.length else self.n + 1 - (int(port) - self.length)

    def _neighbour_array(self, port: int) -> blocks.Neighbours:
        return blocks.Neighbours(self.n, self.length, port)

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """Return the neighbours across a port; see `Topology.neighbours`."""
        self._check_port(port)
        if ranks is None:
            self._require_memory(4, "neighbours")
        if self._has_kept_table:
            kept = kept_table(self)[port - 2]
            # The kept table is shared, so it is copied.
            return kept.copy() if ranks is None else np.take(kept, self._check_ranks(ranks))
        if ranks is None:
            return self._neighbour_array(port).all()
        rows = self.rows(self._check_ranks(ranks))
        if port <= self.length:
            rows[:, [0, port - 1]] = rows[:, [port - 1, 0]]
        else:
            rows[:, 0] = _along_clique(self.n, rows, port - self.length)
        return permutations.arrangement_rank(rows, self.n)

    def _fill_neighbours(self, port: int, out: Ranks) -> None:
        self._neighbour_array(port).fill(out)

    def neighbour_ranks(self, port: int) -> Callable[[slice], Ranks]:
        """Return a function that maps nodes to neighbours; see `Topology.neighbour_ranks`."""
        return self._neighbour_array(self._check_port(port)).part

    def neighbour_values(self, port: int) -> ValueReader:
        """Return a function that reads an array's values at the neighbours across a port.

        A block is the set of nodes with the same prefix. A port within the prefix maps each block
        to a block and keeps the order of the nodes, so the values of complete blocks are copied.
        """
        neighbours = self._neighbour_array(self._check_port(port))
        if neighbours.within_prefix:
            return neighbours.read_values
        return read_by_rank(neighbours.part)

    def chunks(self) -> list[slice]:
        """Return slices that cover all ranks; each slice consists of complete blocks.

        A block is the set of nodes with the same prefix.
        """
        return blocks.chunks(self.n, self.length)

    def distances(self, root: int | str = 0) -> NDArray[np.uint8]:
        """Return the distance of every node from the root; see `Topology.distances`."""
        rank = self.node(root)
        self._require_memory(1, "distances")
        return self._distance_array(rank).all()

    def _distance_array(self, root: int) -> blocks.Distances:
        return blocks.Distances(self.n, self.length, self.extension(root))

    def translation(self, root: int | str) -> Ranks:
        """Return each node's image under the translation that maps the identity to the root."""
        rank = self.node(root)
        self._require_memory(4, "images")
        return blocks.Images(self.n, self.length, self.extension(rank)).all()

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Return the labels of nodes, with one character for each symbol."""
        if ranks is None:
            self._require_memory(5 * self.length, "labels")
            return permutations.labels(permutations.arrangements(self.n, self.length))
        return permutations.labels(self.rows(self._check_ranks(ranks)))

    def rank(self, label: str) -> int:
        """Return the lexicographic rank of the arrangement with the given label."""
        row = permutations.parse(label, self.n, self.length)
        return int(permutations.arrangement_rank(row[None, :], self.n)[0])

    def rows(self, ranks: ArrayLike) -> Perms:
        """Return the symbols of nodes, one row per node, uint8 ``[count, length]``."""
        return permutations.arrangement_unrank(self.n, self.length, ranks)

    def extension(self, root: int | str) -> Perms:
        """Return the symbols of a node, then the symbols that it lacks, ascending, uint8 ``[n]``.

        Raises:
            InputError: no node has this label or rank.
        """
        rows = self.rows(self.node(root))
        return np.concatenate([rows[0], blocks.missing_symbols(rows, self.n)[0]])

    def residual_port(self, rows: Perms, new_symbol: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return, for each node, the port that replaces the first symbol by a given new symbol.

        Such ports are called residual. The new symbol is not in the node's label.

        Args:
            rows: the nodes' symbols, uint8 ``[count, k]``.
            new_symbol: the first symbol of each node's neighbour, uint8 ``[count]``.
        """
        inner = rows[:, 1:]
        # A symbol's index among the clique's first symbols is its index among all symbols minus the
        # number of smaller symbols in the other positions.
        steps = new_symbol.astype(np.intp) - (inner < new_symbol[:, None]).sum(axis=1)
        steps -= rows[:, 0].astype(np.intp) - (inner < rows[:, :1]).sum(axis=1)
        return np.asarray(self.length + steps % (self.n - self.length + 1), dtype=np.uint8)


class Star(ArrangementGraph):
    """The star graph S_n for 2 <= n <= 12, with n! nodes and degree n-1.

    The diameter is floor(3(n-1)/2). The distance from the identity is the number of displaced
    symbols, plus the number of cycles of length two or more, minus 2 if the first symbol is
    displaced. The translation that maps the identity to q maps x to (q[x_1], .., q[x_n]).
    """

    family = "star"

    def __init__(self, n: int) -> None:
        self.spec = f"S{n}"
        self.n = self.length = n
        self.k = None
        self.nodes = factorial(n)
        self.ports = tuple(range(2, n + 1))

    @property
    def diameter(self) -> int:
        """The largest distance, floor(3(n-1)/2)."""
        return 3 * (self.n - 1) // 2

    def _distance_array(self, root: int) -> blocks.Distances:
        return blocks.StarDistances(self.n, self.rows(root)[0])

    def step(self, ports: NDArray[np.uint8], ranks: NDArray[np.integer]) -> Ranks:
        """Return each node's neighbour across the port chosen for it; see `Topology.step`."""
        index = ports.astype(np.intp) - 1
        if self._has_kept_table:
            return np.asarray(kept_table(self)[index - 1, ranks])
        perms = self.rows(ranks)
        row = np.arange(len(perms))
        # Indexing by arrays copies, so both values are read before either is written.
        perms[row, 0], perms[row, index] = perms[row, index], perms[row, 0]
        return permutations.rank(perms)


@family(
    "star", pattern=r"S(\d+)", source="Akers & Krishnamurthy 1989", noun="star graphs",
    sizes=range(2, 13),
)  # fmt: skip
def _star(n: int) -> Star:
    return Star(n)


def largest_k(n: int) -> int:
    """Return the largest k for which S_{n,k} has at most `MAX_NODES` nodes."""
    return max(k for k in range(1, n) if perm(n, k) <= MAX_NODES)


class NkStar(ArrangementGraph):
    """The (n,k)-star S_{n,k} for 2 <= n <= 35 and 1 <= k <= n-1.

    It has n!/(n-k)! nodes, at most 12!, and degree n-1. Distances follow formulas (1) and (2) of
    Li, Chen, Xiang & Yao. The translation that maps the identity to a root maps p to
    (q[p_1], .., q[p_k]), where q is the root's `extension`.
    """

    family = "nk-star"

    def __init__(self, n: int, k: int) -> None:
        self.spec = f"S{n},{k}"
        self.n = n
        self.k: int = k
        self.length = k
        self.nodes = perm(n, k)
        self.ports = tuple(range(2, n + 1))
        # Residual ports are numbered by the order of the first symbols in a clique, which a
        # translation may change. If n - k = 1, each node has only one residual port, so this port
        # cannot change.
        self.translation_keeps_ports = n - k == 1

    @property
    def diameter(self) -> int:
        """The largest distance, which is 2k-1 if k <= n/2, else k + floor((n-1)/2)."""
        n, k = self.n, self.k
        return 2 * k - 1 if k <= n // 2 else k + (n - 1) // 2

    def carried_ports(self, root: int | str, ports: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the ports of translated links; see `Topology.carried_ports`.

        The ports of links that replace the first symbol (residual links) may change, because a
        translation may change the order of the first symbols in a clique.
        """
        q = self.extension(root)
        carried = ports.copy()
        residual = np.flatnonzero(ports > self.k)
        for start in range(0, len(residual), _ROWS):
            nodes = residual[start : start + _ROWS]
            rows = self.rows(nodes)
            new_symbol = _along_clique(self.n, rows, ports[nodes].astype(np.intp) - self.k)
            carried[nodes] = self.residual_port(
                permutations.compose(q, rows), permutations.compose(q, new_symbol)
            )
        return carried


def _along_clique(n: int, rows: Perms, steps: int | NDArray[np.intp]) -> NDArray[np.uint8]:
    """Return the symbol ``steps`` places after each node's first symbol, within the node's clique.

    A clique consists of the nodes whose labels differ only in the first symbol. The places are
    counted cyclically through the sorted first symbols of these nodes.

    Returns:
        uint8 ``[count]``.
    """
    clique = blocks.missing_symbols(rows[:, 1:], n)
    index = (clique < rows[:, :1]).sum(axis=1)
    chosen: NDArray[np.uint8] = clique[np.arange(len(rows)), (index + steps) % clique.shape[1]]
    return chosen


@family(
    "nk-star", pattern=r"S(\d+),(\d+)", source="Li, Chen, Xiang & Yao", noun="(n,k)-stars",
    spelling="S6,3 for an (n,k)-star", sizes=range(2, len(permutations.SYMBOLS) + 1),
)  # fmt: skip
def _nk_star(n: int, k: int) -> NkStar:
    if not 1 <= k <= n - 1:
        raise InputError(
            f"the (n,k)-star S{n},{k} is out of range",
            hint=f"with n = {n}, use a k from 1 to {n - 1}",
        )
    if k > largest_k(n):
        raise InputError(
            f"the (n,k)-star S{n},{k} has more than {MAX_NODES:,} nodes",
            hint=f"with n = {n}, use a k from 1 to {largest_k(n)}",
        )
    return NkStar(n, k)


#: The coefficients of a polynomial. Entry d is the number of arrangements of distance or cost d.
Polynomial = list[int]


def _profile(n: int, k: int) -> tuple[int, ...]:
    """Return the number of nodes of S_{n,k} at each distance 0, 1, .. from any node.

    For k = n, the result is that of S_n.
    """
    # free[j] counts the ways to fill j positions other than position 1, by cost. Position 1 is a
    # fixed point (at_home), or it is on a cycle of m positions or on one of the chains.
    cycles = _cycles(k)
    chains = [_chains(length, n - k) for length in range(k + 1)]
    free = [
        _sum(_times(cycles[j - i], chains[i], comb(j, i)) for i in range(j + 1)) for j in range(k)
    ]
    at_home = free[k - 1]
    in_cycle = (_shifted(free[k - m], m - 1, perm(k - 1, m - 1)) for m in range(2, k + 1))
    in_chain = (_times(cycles[k - j], chains[j][2:], comb(k - 1, j - 1)) for j in range(1, k + 1))
    counts = _sum([at_home, *in_cycle, *in_chain])
    # The zeros at the end are removed, because no node has these distances.
    return tuple(counts[: max(distance for distance, count in enumerate(counts) if count) + 1])


def _cycles(largest: int) -> list[Polynomial]:
    """Return, for j = 0..largest, the polynomial that counts permutations of j positions by cost.

    The cost of a permutation is the sum of the costs of its cycles (see the module's docstring).
    Coefficient d is the number of permutations of cost d.
    """
    ways: list[Polynomial] = [[1]]
    for j in range(1, largest + 1):
        # The last position is a fixed point, or it is on a cycle of m positions.
        in_cycle = (_shifted(ways[j - m], m + 1, perm(j - 1, m - 1)) for m in range(2, j + 1))
        ways.append(_sum([ways[j - 1], *in_cycle]))
    return ways


def _chains(positions: int, externals: int) -> Polynomial:
    """Return the polynomial that counts the divisions of positions into external chains, by cost.

    Coefficient d is the number of divisions of cost d (see the module's docstring).

    Args:
        positions: the number of positions.
        externals: the number of symbols that the root lacks, with which chains can begin.
    """
    if positions == 0:
        return [1]
    counts = [0] * (2 * positions + 2)
    for beta in range(1, min(positions, externals) + 1):
        # A Lah number, which counts the divisions of the positions into beta sequences. Each
        # sequence begins with its own external symbol.
        sequences = comb(positions - 1, beta - 1) * perm(positions, positions - beta)
        counts[positions + beta + 1] = sequences * perm(externals, beta)
    return counts


def _sum(terms: Iterable[Polynomial]) -> Polynomial:
    return [sum(column) for column in zip_longest(*terms, fillvalue=0)]


def _shifted(polynomial: Polynomial, distance: int, factor: int) -> Polynomial:
    return [0] * distance + [factor * count for count in polynomial]


def _times(left: Polynomial, right: Polynomial, factor: int) -> Polynomial:
    return _sum([_shifted(right, distance, factor * count) for distance, count in enumerate(left)])
