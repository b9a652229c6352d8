"""The (n,k)-star S_{n,k} (Li, Chen, Xiang & Yao; docs/definitions/nk-star.md).

Nodes are the arrangements of k symbols of 1..n. Ports 2..k exchange positions 1 and i, as in S_n.
Ports k+s, s = 1..n-k, are the residual links. They replace p_1 by a missing symbol, so they link
n-k+1 nodes to a clique. Port k+s leads s places further in the sorted cyclic order of the clique's
first symbols. Every port is thus a permutation of the nodes, and port k + (n-k+1-s) leads back over
port k+s.
"""

from collections.abc import Callable
from math import perm

import numpy as np
from numpy.typing import ArrayLike, NDArray

from starcast.support.errors import InputError
from starcast.topologies import nk_blocks, permutations
from starcast.topologies.base import Topology, kept_table
from starcast.topologies.families import family
from starcast.topologies.permutations import Perms, Ranks
from starcast.topologies.profiles import nk_star_profile

SMALLEST, LARGEST = 2, len(permutations.SYMBOLS)
MAX_NODES = perm(12, 12)  # the number of nodes of the largest star graph; ranks are int32

# Number of labels processed at a time, so that they and their cliques fit into the cache.
_ROWS = 2**15


def largest_k(n: int) -> int:
    """Return the largest k for which S_{n,k} has at most `MAX_NODES` nodes."""
    return max(k for k in range(1, n) if perm(n, k) <= MAX_NODES)


class NkStar(Topology):
    """S_{n,k} for 2 <= n <= 35, 1 <= k <= n-1: n!/(n-k)! nodes, at most 12!, and degree n-1."""

    family = "nk-star"
    _keeps_tables = True

    def __init__(self, n: int, k: int) -> None:
        self.spec = f"S{n},{k}"
        self.n = n
        self.k: int = k
        self.nodes = perm(n, k)
        self.ports = tuple(range(2, n + 1))
        # Residual ports are numbered by the order of a clique's symbols, which a translation may
        # change. If n - k = 1, a clique has two nodes and each of them only one residual port,
        # which cannot change.
        self.translation_keeps_ports = n - k == 1

    @property
    def diameter(self) -> int:
        """The largest distance: 2k-1 if k <= n/2, else k + floor((n-1)/2)."""
        n, k = self.n, self.k
        return 2 * k - 1 if k <= n // 2 else k + (n - 1) // 2

    def distance_profile(self) -> tuple[int, ...]:
        """Return the number of nodes at each distance from any node, by cycle structure."""
        return nk_star_profile(self.n, self.k)

    def reverse_port(self, port: int) -> int:
        """Return the port that leads back; in a clique, port k + (n-k+1-s) undoes port k+s."""
        self._check_port(port)
        return int(port) if port <= self.k else self.n + 1 - (int(port) - self.k)

    def neighbours(self, port: int, ranks: ArrayLike | None = None) -> Ranks:
        """Return the neighbours across an exchange port or a residual port."""
        self._check_port(port)
        if ranks is None:
            self._require_memory(4, "neighbours")
        if self._has_kept_table:
            kept = kept_table(self)[port - 2]
            # A copy, because the kept table is shared.
            return kept.copy() if ranks is None else np.take(kept, self._check_ranks(ranks))
        if ranks is None:
            return nk_blocks.Neighbours(self.n, self.k, port).all()
        rows = self.rows(self._check_ranks(ranks))
        if port <= self.k:
            rows[:, [0, port - 1]] = rows[:, [port - 1, 0]]
        else:
            rows[:, 0] = _along_clique(self.n, rows, port - self.k)
        return permutations.arrangement_rank(rows, self.n)

    def _fill_neighbours(self, port: int, out: Ranks) -> None:
        nk_blocks.Neighbours(self.n, self.k, port).fill(out)

    def neighbour_ranks(self, port: int) -> Callable[[slice], Ranks]:
        """Return a function that takes a chunk and returns its neighbours across a port."""
        return nk_blocks.Neighbours(self.n, self.k, self._check_port(port)).part

    def chunks(self) -> list[slice]:
        """Return slices that together cover all ranks, each of several complete blocks."""
        return nk_blocks.chunks(self.n, self.k)

    def distances(self, root: int | str = 0) -> NDArray[np.uint8]:
        """Return the distances from the root by formulas (1) and (2) of Li, Chen, Xiang & Yao."""
        extended = self.extension(root)
        self._require_memory(1, "distances")
        return nk_blocks.Distances(self.n, self.k, extended).all()

    def translation(self, root: int | str) -> Ranks:
        """Return the image (q[p_1], .., q[p_k]) of each node p for the root's `extension` q."""
        extended = self.extension(root)
        self._require_memory(4, "images")
        return nk_blocks.Images(self.n, self.k, extended).all()

    def carried_ports(self, root: int | str, ports: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the ports of translated links; see `Topology.carried_ports`.

        Residual ports change, because the translation changes the order of a clique's symbols.
        """
        q = self.extension(root)
        carried = ports.copy()
        residual = np.flatnonzero(ports > self.k)
        for start in range(0, len(residual), _ROWS):
            nodes = residual[start : start + _ROWS]
            rows = self.rows(nodes)
            newcomer = _along_clique(self.n, rows, ports[nodes].astype(np.intp) - self.k)
            carried[nodes] = self.residual_port(
                permutations.compose(q, rows), permutations.compose(q, newcomer)
            )
        return carried

    def labels(self, ranks: ArrayLike | None = None) -> NDArray[np.str_]:
        """Return the labels of nodes: one character for each of the k symbols."""
        if ranks is None:
            self._require_memory(5 * self.k, "labels")
            return permutations.labels(permutations.arrangements(self.n, self.k))
        return permutations.labels(self.rows(self._check_ranks(ranks)))

    def rank(self, label: str) -> int:
        """Return the lexicographic rank of the arrangement with a label."""
        row = permutations.parse(label, self.n, self.k)
        return int(permutations.arrangement_rank(row[None, :], self.n)[0])

    def rows(self, ranks: ArrayLike) -> Perms:
        """Return the symbols of nodes, one row per node, uint8 ``[count, k]``."""
        return permutations.arrangement_unrank(self.n, self.k, ranks)

    def extension(self, root: int | str) -> Perms:
        """Return the root's k symbols and then the other symbols, ascending, uint8 ``[n]``.

        Raises:
            InputError: there is no such node.
        """
        row = self.rows(self.node(root))[0]
        missing = np.setdiff1d(np.arange(1, self.n + 1, dtype=np.uint8), row)
        return np.concatenate([row, missing])

    def residual_port(self, rows: Perms, newcomer: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Return the residual ports from nodes to the neighbours with given first symbols."""
        inner = rows[:, 1:]
        # A symbol's index in the clique is its index among all symbols less the number of smaller
        # symbols that are not in the clique.
        steps = newcomer.astype(np.intp) - (inner < newcomer[:, None]).sum(axis=1)
        steps -= rows[:, 0].astype(np.intp) - (inner < rows[:, :1]).sum(axis=1)
        return np.asarray(self.k + steps % (self.n - self.k + 1), dtype=np.uint8)


def _along_clique(n: int, rows: Perms, steps: int | NDArray[np.intp]) -> NDArray[np.uint8]:
    """Return the symbol ``steps`` places after each node's first, cyclically in its sorted clique.

    Returns:
        uint8 ``[count]``.
    """
    is_member = np.ones((len(rows), n + 1), dtype=bool)
    is_member[:, 0] = False
    np.put_along_axis(is_member, rows[:, 1:], values=False, axis=1)
    clique = np.nonzero(is_member)[1].reshape(len(rows), -1)
    index = (clique < rows[:, :1]).sum(axis=1)
    chosen = clique[np.arange(len(rows)), (index + steps) % clique.shape[1]]
    return np.asarray(chosen, dtype=np.uint8)


@family(
    "nk-star", pattern=r"S(\d+),(\d+)", source="Li, Chen, Xiang & Yao", noun="(n,k)-stars",
    spelling="S6,3 for an (n,k)-star", sizes=range(SMALLEST, LARGEST + 1),
)  # fmt: skip
def _nk_star(n: int, k: int) -> NkStar:
    if not 1 <= k <= n - 1:
        raise InputError(
            f"the (n,k)-star S{n},{k} is out of range",
            hint=f"with n = {n}, k goes from 1 to {n - 1}",
        )
    if k > largest_k(n):
        raise InputError(
            f"the (n,k)-star S{n},{k} has more than {MAX_NODES:,} nodes",
            hint=f"with n = {n}, k goes from 1 to {largest_k(n)}",
        )
    return NkStar(n, k)
