"""Labels, translations, the rotation R and necklaces of star graphs, by their definitions.

Translation and R are defined in docs/definitions/conventions.md (Fragopoulou & Akl 1993,
Definitions 2 and 5), and necklaces are the orbits of R. The arrays use neither `starcast.trees` nor
the ranking of `starcast.topologies.permutations`. The number 0 is not a symbol, but the functions
accept 0 and leave it unchanged, because it occurs in labels that the mutation tests corrupt.
"""

from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import CachedTopology, cached
from starcast.topologies.permutations import Perms, Ranks


@cached
def symbols(network: CachedTopology) -> Perms:
    """Return the symbols x_1, .., x_n of every node, in rank order, uint8 ``[nodes, n]``.

    Nodes of an (n,k)-star have k symbols.
    """
    length = int(network.topology.k or network.n)
    return np.array(list(permutations(range(1, network.n + 1), length)), dtype=np.uint8)


def ranks_of(network: CachedTopology, rows: NDArray[np.integer]) -> Ranks:
    """Return the lexicographic ranks of labels of S_n (rows of n symbols), int32 ``[rows]``."""
    # Read as numbers in base n+1, labels ascend in rank order, so a binary search finds ranks.
    weights = (network.n + 1) ** np.arange(network.n - 1, -1, -1)
    found = np.searchsorted(symbols(network) @ weights, rows @ weights)
    # A label that a mutation test corrupted can be larger than all labels.
    return np.minimum(found, network.nodes - 1).astype(np.int32)


@cached
def translation(network: CachedTopology, q: int) -> Ranks:
    """Return the image of every node x under the translation by node q, int32 ``[nodes]``.

    Each symbol s of x is replaced by q_s, the symbol in position s of q. The papers call this
    translation F_q(x), T_q(x), LC(q, .) or q∘x.

    Args:
        network: the star graph.
        q: rank of the node q, which is the image of the identity 12..n.
    """
    rows = symbols(network)
    return ranks_of(network, np.append(0, rows[q])[rows])


@cached
def translations(network: CachedTopology) -> Ranks:
    """Return the rank of node x translated by node q, for all q and x, int32 ``[q, x]``."""
    rows = symbols(network)
    return np.stack([ranks_of(network, np.append(0, q)[rows]) for q in rows])


@cached
def rotation(network: CachedTopology) -> Ranks:
    """Return the rank of R(x), the rotation of node x, for every node x, int32 ``[nodes]``.

    R(x) has the symbol r(x_s) in position r(s), where r is the function that `rotation_function`
    returns. In cycle notation (Definition 5), r(s) is followed by r(x_s) in R(x) if s is followed
    by x_s in x.
    """
    rows, to = symbols(network), rotation_function(network.n)
    out = np.empty_like(rows)
    out[:, to[1:] - 1] = to[rows]
    return ranks_of(network, out)


def rotations(network: CachedTopology) -> Ranks:
    """Return the images of all nodes after 0, 1, .., n-2 rotations, int32 ``[n-1, nodes]``."""
    rotated = rotation(network)
    rows = [np.arange(network.nodes, dtype=np.int32)]
    for _ in range(network.n - 2):
        rows.append(rotated[rows[-1]])
    return np.stack(rows)


def return_times(network: CachedTopology) -> NDArray[np.int64]:
    """Return how often R must be applied to each node to get the node itself, int64 ``[nodes]``.

    The number is 0 for a node that fewer than 4n applications of R do not map to itself.
    """
    node = rotated = rotation(network)
    times = np.zeros(network.nodes, dtype=np.int64)
    for count in range(1, 4 * network.n):
        times = np.where((node == np.arange(network.nodes)) & (times == 0), count, times)
        node = rotated[node]
    return times


# Necklaces (Fragopoulou & Akl 1993)


@cached
def leaders(network: CachedTopology) -> NDArray[np.int32]:
    """Return the smallest rank in each node's necklace, int32 ``[nodes]``.

    A necklace is an orbit of the rotation R.
    """
    return np.asarray(rotations(network).min(axis=0))


def leader_distances(network: CachedTopology) -> NDArray[np.int32]:
    """Return the distance from 12..n to each necklace except {12..n}, int32 ``[necklaces]``.

    Necklaces are orbits of the rotation R, sorted by their smallest rank. All nodes of a necklace
    have the same distance from 12..n.
    """
    distinct = np.unique(leaders(network))
    return network.distances()[distinct[distinct > 0]]


@cached
def periods(network: CachedTopology) -> NDArray[np.int64]:
    """Return each node's period: the number of nodes in its necklace, int64 ``[nodes]``."""
    leader = leaders(network)
    return np.asarray(np.bincount(leader, minlength=network.nodes)[leader])


@cached
def named_generators(network: CachedTopology) -> NDArray[np.bool_]:
    """Return whether each node is a generator of its necklace (Definition 7), bool ``[nodes]``.

    In a necklace whose nodes do not start with 1, the generator is the node with symbol 1 in
    position 2. In other necklaces, only nodes in which 2 is not in position 2 are considered. Of
    these nodes, the generators are those whose cycle of 2, written from 2 on, is lexicographically
    smallest. The identity 12..n is not a generator, because 2 is in position 2.
    """
    labels = symbols(network)
    leader = leaders(network).tolist()
    is_generator = np.asarray(labels[:, 1] == 1)
    starting = np.flatnonzero((labels[:, 0] == 1) & (labels[:, 1] != 2)).tolist()
    cycles = {node: cycle_of(labels[node].tolist(), 2) for node in starting}
    least: dict[int, tuple[int, ...]] = {}
    for node, cycle in cycles.items():
        least[leader[node]] = min(cycle, least.get(leader[node], cycle))
    for node, cycle in cycles.items():
        is_generator[node] = cycle == least[leader[node]]
    return is_generator


@cached
def displacements(network: CachedTopology) -> NDArray[np.int64]:
    """Return the displacement of each node (Definition 8).

    The displacement is the number of times that the rotation R must be applied to the generator of
    the node's necklace to reach the node.

    Returns:
        int64 ``[nodes]``, counted from the generator of lowest rank if there are several; -1 for
        the identity node 12..n.
    """
    leader = leaders(network)
    rotated = rotation(network)
    generators = np.flatnonzero(named_generators(network))
    _, first = np.unique(leader[generators], return_index=True)
    displacement = np.full(network.nodes, -1, dtype=np.int64)
    members = generators[first].astype(np.int32)
    for turns in range(network.n - 1):
        displacement[members[displacement[members] < 0]] = turns
        members = rotated[members]
    return displacement


def branches(parent: Ranks, root: int) -> Ranks:
    """Return, for each node, the root's child whose subtree contains the node, int32 ``[nodes]``.

    Args:
        parent: rank of each node's parent; -1 for a node outside the tree.
        root: rank of the root.

    Returns:
        ranks of children of the root; -1 for the root, and for nodes without a path to it.
    """
    current = np.arange(len(parent), dtype=np.int32)
    for _ in range(len(parent)):
        above = parent[current]
        higher = np.where((above == root) | (above < 0), current, above)
        if np.array_equal(higher, current):
            break
        current = higher
    return np.where(parent[current] == root, current, np.int32(-1))


def positions(rows: Perms) -> NDArray[np.int64]:
    """Return the position (from 1) of every symbol in each node's label, int64 ``[n, nodes]``.

    The row with index s contains the positions of symbol s+1.
    """
    return np.argsort(rows, axis=1).T + 1


def rotation_function(n: int) -> NDArray[np.int64]:
    """Return the function r that the rotation R applies to symbols, int64 ``[n+1]``.

    R applies r to positions and dimensions too. r(0) = 0, r(1) = 1, r(n) = 2, and r(s) = s+1 for
    any other s.
    """
    return np.array([0, 1, *range(3, n + 1), 2][: n + 1])


def cycle_of(label: list[int], symbol: int) -> tuple[int, ...]:
    """Return the cycle of a label that begins with the given symbol.

    Each symbol s of the cycle is followed by x_s, the symbol in position s of the label x.
    """
    cycle = [symbol]
    while label[cycle[-1] - 1] != symbol:
        cycle.append(label[cycle[-1] - 1])
    return tuple(cycle)
