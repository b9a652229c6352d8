"""Trees of Fragopoulou & Akl 1993: Definitions 13 to 16, and random trees of section 5.1.

The functions of Definitions 13 to 16 exist as printed and as repaired. Nothing here uses
`starcast.trees`. A parent or children function is an array bool ``[nodes, n]``: whether the parent
or a child of a node is across dimension j, at index j-1. Dimension 1 leads nowhere; it is included
because the printed functions may name it.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import CachedTopology
from starcast.claims.reference import bfs, necklaces, star_labels
from starcast.topologies.permutations import Ranks

#: Parent or children function, bool ``[nodes, n]``.
Dimensions = NDArray[np.bool_]
_SEED = 1993


def canonical_notation(label: list[int]) -> list[tuple[int, ...]]:
    """Return the canonical cycle notation of Definition 12.

    Each cycle ends with its smallest symbol in the ordering of the position of symbol 1; these
    symbols decrease from the left to the right.
    """
    n = len(label)
    k = label.index(1) + 1
    cycles = []
    for symbol in range(1, n + 1):
        cycle = necklaces.cycle_of(label, symbol)
        if len(cycle) > 1 and symbol == min(cycle, key=lambda s: order_index(s, k, n)):
            cycles.append((*cycle[1:], symbol))
    return sorted(cycles, key=lambda cycle: -order_index(cycle[-1], k, n))


def order_index(symbol: int, k: int, n: int) -> int:
    """Return the index of a symbol in the k-th ordering 1, k, k+1, .., n, 2, .., k-1 (Def. 10)."""
    return 0 if symbol == 1 else 1 + (symbol - k) % (n - 1)


def parents(
    network: CachedTopology, second: Literal["left", "right"], *, repeated: bool = False
) -> Dimensions:
    """Return the parent function of Definition 13, or of Definition 15 if nodes are repeated.

    The second cycle is counted from the side ``second``.
    """

    def create() -> Dimensions:
        labels = star_labels.symbols(network)
        function = np.zeros((network.nodes, network.n), dtype=bool)
        index = 1 if second == "left" else -2
        for node in np.flatnonzero(labels[:, 0] != 1).tolist():
            cycles = canonical_notation(labels[node].tolist())
            dimension = int(labels[node, 0]) if len(cycles) == 1 else cycles[index][-1]
            function[node, dimension - 1] = True
        starting = np.flatnonzero(labels[:, 0] == 1)[1:]
        identity = np.arange(network.nodes, dtype=np.int32)
        leaves = leaf_parents(network, identity, repeated=repeated)
        function[starting] = leaves[starting]
        return function

    name = f"parents, second from the {second}, repeated {repeated}"
    return network.array(name, create)


def leaf_parents(network: CachedTopology, c: Ranks, *, repeated: bool) -> Dimensions:
    """Return the condition for parents of nodes i that start with 1, with c(i) = F_r^{-1}(i).

    It is d(c) = d(c') = j-2 or, if nodes are repeated, d(c') = d(c) + k p(c) = j-2; i' = g_j(i).
    """
    d = necklaces.displacements(network)[c]
    p = necklaces.periods(network)[c]
    function = np.zeros((network.nodes, network.n), dtype=bool)
    for j, heads in zip(network.ports, network.neighbours, strict=True):
        in_subtree = d == j - 2
        if repeated:
            for k in range(1, network.n - 1):
                in_subtree |= (d + k * p == j - 2) & ((k + 1) * p < network.n)
        function[:, j - 1] = in_subtree & (d[heads] == j - 2) & (d >= 0)
    return function


def children(network: CachedTopology, *, repaired: bool, repeated: bool = False) -> Dimensions:
    """Return the printed or repaired children function of Definition 13, or 15 with repetition."""

    def create() -> Dimensions:
        n = network.n
        labels = star_labels.symbols(network)
        d = necklaces.displacements(network)
        p = necklaces.periods(network)
        neighbours = network.neighbours
        function = np.zeros((network.nodes, n), dtype=bool)
        function[0, 1:] = True
        for node in np.flatnonzero(labels[:, 0] != 1).tolist():
            label = labels[node].tolist()
            k = label.index(1) + 1
            leaf = int(neighbours[k - 2, node])
            turns = range(0, n - 1, int(p[leaf])) if repeated else (0,)
            is_parent = any(d[node] == d[leaf] + turn == k - 2 for turn in turns)
            function[node, k - 1] = leaf != 0 and is_parent
            for j in _inner_children(label, repaired=repaired):
                function[node, j - 1] = True
        return function

    name = f"children, repaired {repaired}, repeated {repeated}"
    return network.array(name, create)


def _inner_children(label: list[int], *, repaired: bool) -> list[int]:
    """Return the dimensions of the children that do not start with 1.

    As printed: fixed symbols, and left minima of the cycle of 1. Repaired: fixed symbols of nodes
    with one cycle only, and left minima of the complete canonical notation.
    """
    n = len(label)
    k = label.index(1) + 1
    *others, last = canonical_notation(label)
    fixed = [j for j in range(2, n + 1) if label[j - 1] == j]
    before = [symbol for cycle in others for symbol in cycle] if repaired else []
    minima = []
    for index in range(1, len(last) - 2):
        least = min(order_index(symbol, k, n) for symbol in (*before, *last[:index]))
        if order_index(last[index], k, n) < least:
            minima.append(last[index])
    return minima if repaired and others else [*fixed, *minima]


def seen_from_children(network: CachedTopology, below: Dimensions) -> Dimensions:
    """Return whether each node y is among the children of g_j(y), across j."""
    function = np.zeros_like(below)
    for j, heads in zip(network.ports, network.neighbours, strict=True):
        function[:, j - 1] = below[heads, j - 1]
    return function


def translation_and_inverse(network: CachedTopology, root: int) -> tuple[Ranks, Ranks]:
    """Return F_r(x) and F_r^{-1}(x) for every node x."""
    forward = star_labels.translation(network, root)
    return forward, np.argsort(forward).astype(np.int32)


def parents_at_root(network: CachedTopology, root: int, *, repeated: bool) -> Dimensions:
    """Return the parent function of Definition 14 (16 if nodes are repeated), repaired as 13."""
    _, c = translation_and_inverse(network, root)
    starts_with_1 = star_labels.symbols(network)[c][:, 0] == 1
    leaves = leaf_parents(network, c, repeated=repeated)
    function = np.where(starts_with_1[:, None], leaves, parents(network, "right")[c])
    function[root] = False
    return function


def translated_parents(network: CachedTopology, root: int, above: Dimensions) -> Dimensions:
    """Return a parent function at 12..n, every node and its parent translated to another root."""
    forward, inverse = translation_and_inverse(network, root)
    function = np.zeros_like(above)
    for j, heads in zip(network.ports, network.neighbours, strict=True):
        parent = forward[heads[inverse]]
        function[:, 1:] |= above[inverse, j - 1][:, None] & (network.neighbours == parent).T
    return function


def random_trees(network: CachedTopology, count: int) -> NDArray[np.uint8]:
    """Return random trees among those that section 5.1 allows, uint8 ``[count, nodes]``."""

    def create() -> NDArray[np.uint8]:
        generators = [np.random.default_rng([_SEED, seed]) for seed in range(count)]
        return np.stack([_random_tree(network, rng) for rng in generators])

    return network.array("balanced trees drawn at random", create)


def _random_tree(network: CachedTopology, rng: np.random.Generator) -> NDArray[np.uint8]:
    labels = star_labels.symbols(network)
    ports = np.zeros(network.nodes, dtype=np.uint8)
    for node in np.flatnonzero(labels[:, 0] != 1).tolist():
        *others, _ = canonical_notation(labels[node].tolist())
        candidates = [symbol for cycle in others for symbol in cycle]
        ports[node] = rng.choice(candidates) if candidates else labels[node, 0]
    leader = necklaces.leaders(network)
    rotated = star_labels.rotation(network)
    distance = bfs.distances(network)
    leaders = rng.permutation(np.unique(leader[1 : len(leader) // network.n]))
    m = 1
    for first in leaders[np.argsort(distance[leaders], kind="stable")].tolist():
        members = np.flatnonzero(leader == first)
        v = (m - 1) % (network.n - 1) + 2
        node = int(rng.choice(members[labels[members, v - 1] != v]))
        for _ in range(len(members)):
            ports[node] = (m - 1) % (network.n - 1) + 2
            node = int(rotated[node])
            m += 1
    return ports
