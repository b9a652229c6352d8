"""Automorphisms of topologies, as arrays of images; each array is checked against the links.

A search may use the translations, which map any node to any other, and the automorphisms that
fix the identity (rank 0). For families of plug-ins, the identity is the only known automorphism of
the latter kind.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import RejectedError
from starcast.topologies import Topology, permutations

Images = NDArray[np.int64]


def fixing_root(graph: Topology) -> list[Images]:
    """Return generators of a group of automorphisms that fix rank 0.

    * S_n: rename the symbols 2..n and the positions 2..n in the same way;
    * S_{n,k}: rename the symbols 2..k and the positions 2..k in the same way, and the symbols
      k+1..n in any way;
    * Q_d: rename the bits.
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


def rotation(graph: Topology) -> Images | None:
    """Return an automorphism that fixes rank 0 and permutes its links in one cycle, or None."""
    if graph.family == "star":
        order = [0, *range(2, graph.n), 1]
        return _rename_symbols(graph, order)
    if graph.family == "hypercube":
        return _rename_bits(graph, [*range(1, graph.n), 0])
    return None


def translation_order(images: Images) -> int:
    """Return the order of a translation: how often it is repeated until each node is in its place.

    A translation moves either no node or all nodes, in cycles that all have the same length as the
    cycle of rank 0.
    """
    order, image = 1, int(images[0])
    while image:
        order, image = order + 1, int(images[image])
    return order


def orbits(nodes: int, automorphisms: Sequence[Images]) -> Images:
    """Return the lowest node in the orbit of each node under the group that given maps generate."""
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
    """Return generators of all permutations of some of the numbers 0..size-1."""
    # A single symbol has no other permutation.
    if len(moved) < 2:
        return []
    # A transposition and a cycle generate all permutations.
    exchange, cycle = list(range(size)), list(range(size))
    exchange[moved[0]], exchange[moved[1]] = moved[1], moved[0]
    for number, image in zip(moved, [*moved[1:], moved[0]], strict=True):
        cycle[number] = image
    return [exchange, cycle] if len(moved) > 2 else [exchange]


def _rename_symbols(graph: Topology, order: Sequence[int]) -> Images:
    """Return the map x -> c x c^-1 for the permutation c = ``order`` of the numbers 0..n-1."""
    length = graph.k or graph.n
    nodes = permutations.arrangements(graph.n, length)
    images = np.empty_like(nodes)
    renamed = np.array(order, dtype=nodes.dtype) + 1
    for position in range(length):
        images[:, order[position]] = renamed[nodes[:, position] - 1]
    ranks = permutations.arrangement_rank(images, graph.n)
    return check_automorphism(graph, ranks.astype(np.int64))


def _rename_bits(graph: Topology, order: Sequence[int]) -> Images:
    ranks = np.arange(graph.nodes)
    images = np.zeros_like(ranks)
    for bit, image in enumerate(order):
        images |= (ranks >> bit & 1) << image
    return check_automorphism(graph, images)


def check_automorphism(graph: Topology, images: Images) -> Images:
    """Return the images of all nodes after checking that they map links to links.

    Raises:
        RejectedError: the images do not map links to links.
    """
    links = {tuple(sorted(link)) for link in link_list(graph).tolist()}
    mapped = {tuple(sorted(link)) for link in images[link_list(graph)].tolist()}
    if links != mapped:
        raise RejectedError(
            f"a map of the nodes of {graph.spec} is not an automorphism",
            hint="please report it: a symmetry of the search is wrong",
        )
    return images


def link_list(graph: Topology) -> NDArray[np.int64]:
    """Return all undirected links, int64 ``[links, 2]``, the smaller rank first, sorted."""
    nodes = np.arange(graph.nodes)
    pairs = [np.stack([nodes, graph.neighbours(port)], axis=1) for port in graph.ports]
    both = np.concatenate(pairs).astype(np.int64)
    return np.unique(both[both[:, 0] < both[:, 1]], axis=0)
