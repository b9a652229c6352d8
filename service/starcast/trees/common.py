"""Functions that several constructions share."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import freeze
from starcast.topologies import Topology, permutations
from starcast.topologies.permutations import Perms

Places = NDArray[np.uint8]


class Slab(NamedTuple):
    """The nodes of S_n with one first symbol, (n-1)! successive ranks.

    The other symbols run through all their orders, so one table of positions serves all slabs.

    Attributes:
        first: the first symbol.
        place: ``[n+1, (n-1)!]``: the position of each symbol in each node; row 0 is unused.
    """

    first: int
    place: Places


def write_greedy_ports(topology: Topology, root: Perms, out: NDArray[np.uint8]) -> None:
    """Write alpha_root(v) for every node v of S_n into ``out``, 0 at the root.

    In rank order the values form runs. For the (n-1)! nodes with one first symbol, other than the
    root's, it is the position of that symbol in the root. For the other nodes it is the first
    position from 2 on where the node differs from the root, the same for all nodes that continue
    the common prefix with the same symbol.

    Args:
        topology: a star graph.
        root: the root's symbols, uint8 ``[n]``.
        out: uint8 ``[n!]``.

    Reference: Tseng & Sheu 1997, Def. 1.
    """
    n = topology.n
    position = permutations.inverse(root).tolist()
    block, start = topology.nodes, 0
    # `start` is the first node that agrees with the root on its first `depth` symbols.
    for depth in range(n):
        symbols = sorted(set(range(1, n + 1)) - set(root[:depth].tolist()))
        block //= len(symbols)
        for index, symbol in enumerate(symbols):
            port = position[symbol - 1] if depth == 0 else depth + 1
            out[start + index * block : start + (index + 1) * block].fill(port)
        start += symbols.index(int(root[depth])) * block
    out[start] = 0


def greedy_path(start: Perms, root: Perms) -> tuple[Perms, list[int]]:
    """Return the path from a node to the root of L(root).

    Returns:
        The nodes, uint8 ``[length + 1, n]``, and the ports crossed, ``length`` of them.
    """
    node, goal = start.tolist(), root.tolist()
    nodes, ports = [list(node)], []
    while node != goal:
        index = goal.index(node[0])
        if index == 0:
            index = next(i for i in range(1, len(goal)) if node[i] != goal[i])
        node[0], node[index] = node[index], node[0]
        nodes.append(list(node))
        ports.append(index + 1)
    return np.array(nodes, dtype=np.uint8), ports


def translate_ports(topology: Topology, rows: NDArray[np.uint8], root: int) -> NDArray[np.uint8]:
    """Move a forest from the identity to another root by the topology's translation.

    Args:
        topology: the topology of the forest.
        rows: the ports towards the parents, uint8 ``[trees, nodes]``; the caller must own it.
        root: the rank of the new root.

    Returns:
        The ports of the translated forest, read-only uint8 ``[trees, nodes]``; ``rows`` itself if
        the root is the identity.
    """
    if root == 0:
        return freeze(rows)
    image = topology.translation(root)
    translated = np.empty_like(rows)
    for target, row in zip(translated, rows, strict=True):
        target[image] = topology.carried_ports(root, row)
    return freeze(translated)


def slabs(n: int, rows: NDArray[np.uint8]) -> Iterator[tuple[Slab, NDArray[np.uint8]]]:
    """Iterate over the slabs 2..n, with their parts of ``rows``, ``[trees, (n-1)!]``."""
    later = _places(n - 1) + np.uint8(1)
    for first, part in enumerate(np.split(rows, n, axis=1)[1:], start=2):
        yield Slab(first, np.insert(later, first, 1, axis=0)), part


def _places(n: int) -> Places:
    """Return the position of symbol s in the permutation of rank x, uint8 ``[n+1, n!]``.

    The indices are s and x; row 0 is unused.
    """
    table = np.zeros((1, 1), dtype=np.uint8)
    for size in range(1, n + 1):
        later = table + np.uint8(1)
        parts = [np.insert(later, first, 1, axis=0) for first in range(1, size + 1)]
        table = np.concatenate(parts, axis=1)
    return table
