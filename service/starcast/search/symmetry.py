"""Automorphisms of topologies, stored as arrays that contain the image of each node.

A search may use two kinds of automorphisms: translations, which can map any node to any other, and
automorphisms that fix the identity node (rank 0). The second kind is known only for star graphs,
(n,k)-stars and hypercubes.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import RejectedError
from starcast.topologies import Topology, permutations

NodeImages = NDArray[np.int64]


def fixing_root(graph: Topology) -> list[NodeImages]:
    """Return generators of a group of automorphisms that fix the node of rank 0.

    * S_n: rename the symbols 2..n and the positions 2..n in the same way;
    * S_{n,k}: rename the symbols 2..k and the positions 2..k in the same way, and the symbols
      k+1..n in any way;
    * Q_d: permute the bits;
    * other families: no generators.
    """
    size = graph.n
    if graph.family == "hypercube":
        return [_rename_bits(graph, order) for order in _generators(list(range(size)), size)]
    if graph.family not in ("star", "nk-star"):
        return []
    length = graph.k or size
    orders = _generators(list(range(1, length)), size)
    outside = [] if graph.k is None else _generators(list(range(length, size)), size)
    return [_rename_symbols(graph, order) for order in [*orders, *outside]]


def rotation(graph: Topology) -> NodeImages | None:
    """Return an automorphism that fixes rank 0 and permutes the links of rank 0 in a single cycle.

    The result is None for families other than star graphs and hypercubes.
    """
    if graph.family == "star":
        order = [0, *range(2, graph.n), 1]
        return _rename_symbols(graph, order)
    if graph.family == "hypercube":
        return _rename_bits(graph, [*range(1, graph.n), 0])
    return None


def translation_order(images: NodeImages) -> int:
    """Return the order of a translation that keeps ports (see `Topology.translation_keeps_ports`).

    The order is the smallest positive number of applications that together map every node to
    itself. All cycles of such a translation have the same length, so following the cycle of rank 0
    suffices.
    """
    order, image = 1, int(images[0])
    while image:
        order, image = order + 1, int(images[image])
    return order


def orbits(nodes: int, automorphisms: Sequence[NodeImages]) -> NodeImages:
    """Return, for each node, the lowest rank in its orbit.

    The orbits are those of the group that the given automorphisms generate.
    """
    least = np.arange(nodes)
    while True:
        smaller = least.copy()
        for images in automorphisms:
            np.minimum.at(smaller, images, least)
            smaller = np.minimum(smaller, smaller[images])
        if np.array_equal(smaller, least):
            return least
        least = smaller


def _generators(moved: list[int], size: int) -> list[list[int]]:
    """Return generators of the permutations of 0..size-1 that fix all numbers not in ``moved``."""
    # A single number has only one permutation.
    if len(moved) < 2:
        return []
    # A transposition and a cycle of all numbers generate all permutations.
    exchange, cycle = list(range(size)), list(range(size))
    exchange[moved[0]], exchange[moved[1]] = moved[1], moved[0]
    for number, image in zip(moved, [*moved[1:], moved[0]], strict=True):
        cycle[number] = image
    return [exchange, cycle] if len(moved) > 2 else [exchange]


def _rename_symbols(graph: Topology, order: Sequence[int]) -> NodeImages:
    """Return the image of each node under x -> c x c^-1, where a node x is a permutation.

    Args:
        graph: a star graph or an (n,k)-star.
        order: the permutation c of 0..n-1, as the image of each number.
    """
    length = graph.k or graph.n
    nodes = permutations.arrangements(graph.n, length)
    images = np.empty_like(nodes)
    renamed = np.array(order, dtype=nodes.dtype) + 1
    for position in range(length):
        images[:, order[position]] = renamed[nodes[:, position] - 1]
    ranks = permutations.arrangement_rank(images, graph.n)
    return check_automorphism(graph, ranks.astype(np.int64))


def _rename_bits(graph: Topology, order: Sequence[int]) -> NodeImages:
    ranks = np.arange(graph.nodes)
    images = np.zeros_like(ranks)
    for bit, image in enumerate(order):
        images |= (ranks >> bit & 1) << image
    return check_automorphism(graph, images)


def check_automorphism(graph: Topology, images: NodeImages) -> NodeImages:
    """Check that ``images``, the image of each node, maps links to links; return ``images``.

    Raises:
        RejectedError: the images do not map links to links.
    """
    links = link_list(graph)
    mapped = np.unique(np.sort(images[links], axis=1), axis=0)
    if not np.array_equal(mapped, links):
        raise RejectedError(
            f"a map of the nodes of {graph.spec} is not an automorphism",
            hint="this is a defect of starcast: please report it",
        )
    return images


def link_list(graph: Topology) -> NDArray[np.int64]:
    """Return all undirected links in ascending order, int64 ``[links, 2]``.

    The first end of each link has the smaller rank.
    """
    nodes = np.arange(graph.nodes)
    pairs = [np.stack([nodes, graph.neighbours(port)], axis=1) for port in graph.ports]
    both = np.concatenate(pairs).astype(np.int64)
    return np.unique(both[both[:, 0] < both[:, 1]], axis=0)
