"""Helpers of the constructions: translation, re-rooting, and iteration over slabs of nodes."""

from collections.abc import Iterator
from dataclasses import replace
from math import perm
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import freeze
from starcast.topologies import Topology
from starcast.topologies.permutations import Perms
from starcast.trees.model import Forest

Positions = NDArray[np.uint8]


class Slab(NamedTuple):
    """All nodes of S_n with the same first symbol: (n-1)! consecutive ranks.

    In every slab, the other symbols occur in all their orders. So the positions in all slabs follow
    from one table.

    Attributes:
        first: the first symbol.
        positions: ``[n+1, (n-1)!]``: the position of each symbol in each node; row 0 is unused.
    """

    first: int
    positions: Positions


def translate_ports(topology: Topology, rows: NDArray[np.uint8], root: int) -> NDArray[np.uint8]:
    """Move a forest from the identity to another root by the topology's translation.

    Args:
        topology: the topology of the forest.
        rows: the ports towards the parents, uint8 ``[trees, nodes]``; the function may keep this
            array.
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


def translate_forest(forest: Forest, root: int) -> Forest:
    """Translate a forest rooted at the identity to another root."""
    rows = translate_ports(forest.topology, forest.parent_port, root)
    # Each hub is translated like its tree, so that it still makes `verify` fast.
    hubs = forest.verify_hubs
    if hubs is not None:
        hubs = tuple(forest.topology.translation(root)[list(hubs)].tolist())
    return replace(forest, parent_port=rows, root=root, verify_hubs=hubs)


def numbered_dimensions(n: int, numbers: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return v(m) = (m-1) mod (n-1) + 2 for each number m >= 1; 0 for the root's number 0.

    Consecutive numbers cycle through all n-1 dimensions, so the root's branches are equally large.

    Reference: Fragopoulou & Akl 1993, sections 3.2 and 5.1.
    """
    return np.where(numbers == 0, 0, (numbers - 1) % (n - 1) + 2).astype(np.uint8)


def reroot(topology: Topology, row: NDArray[np.uint8], root: int) -> None:
    """Re-root a tree in place: reverse the links between the new root and the old one.

    Args:
        topology: the topology of the tree.
        row: the ports towards the parents, uint8 ``[nodes]``.
        root: the rank of the new root.
    """
    node, port, back = root, int(row[root]), 0
    # Reversed links keep their dimensions, so only the path between the two roots changes.
    while True:
        row[node] = back
        if not port:
            return
        node = int(topology.neighbours(port, [node])[0])
        port, back = int(row[node]), topology.reverse_port(port)


def write_first_differences(n: int, root: Perms, start: int, out: NDArray[np.uint8]) -> None:
    """Write the ports of the nodes with the root's first symbol, which begin at rank ``start``.

    Such a port is the first position from 2 on in which the node differs from the root.

    Args:
        n: the number of symbols of S_n or S_{n,k}.
        root: the root's symbols.
        start: the rank of the first of these nodes.
        out: uint8 ``[nodes]``.
    """
    # `start` is the first node that agrees with the root on its first `depth` symbols.
    for depth in range(1, len(root)):
        symbols = sorted(set(range(1, n + 1)) - set(root[:depth].tolist()))
        block = perm(n - depth - 1, len(root) - depth - 1)
        out[start : start + len(symbols) * block].fill(depth + 1)
        start += symbols.index(int(root[depth])) * block
    out[start] = 0


def slabs(n: int, rows: NDArray[np.uint8]) -> Iterator[tuple[Slab, NDArray[np.uint8]]]:
    """Yield the slab of each first symbol 2..n, and a view of its nodes' columns of ``rows``."""
    later = _position_table(n - 1) + np.uint8(1)
    for first, part in enumerate(np.split(rows, n, axis=1)[1:], start=2):
        yield Slab(first, np.insert(later, first, 1, axis=0)), part


def _position_table(n: int) -> Positions:
    """Return the position of symbol s in the permutation of rank x, uint8 ``[n+1, n!]``.

    The indices are s and x; row 0 is unused.
    """
    table = np.zeros((1, 1), dtype=np.uint8)
    for size in range(1, n + 1):
        later = table + np.uint8(1)
        parts = [np.insert(later, first, 1, axis=0) for first in range(1, size + 1)]
        table = np.concatenate(parts, axis=1)
    return table
