"""Scatter, gather and alltoall along edge-disjoint trees: x copies of a message, each down the path of another tree.

Fragopoulou & Akl 1996, sections 4.5 and 4.6. The paths of the trees to a node have no inner node in common, so that x copies
survive x-1 faults.
"""

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.injection_order import Units, furthest_first
from starcast.collectives.model import Schedule
from starcast.collectives.round_robin import carried, dealt
from starcast.collectives.rows import routed
from starcast.permutations import Ranks
from starcast.topologies import Topology
from starcast.topologies.necklaces import necklaces, rotation, short_necklaces
from starcast.trees import Forest, forest
from starcast.trees.edge_disjoint_levels import Detours, detours

NAME = "edge-disjoint"


def scatter(topology: Topology, root: int, ports: str, messages: int, copies: int) -> Schedule:
    """In each tree the units for the nodes on its furthest levels go first, one a step, and never wait (section 4.5).

    The paper uses all n-1 trees; for x of them `copies_of` says which. A tree with s units takes s steps if its last ones go to
    its first levels, as they do for n = 2..8, every x and every M (the tests count the units of each level). Then the steps are
    ceil(Mx (n! - 1) / (n-1)), which no schedule of x copies beats: M (n! - 1) with all n-1.
    """
    along = forest(topology, NAME)
    levels = along.levels()
    sent = copies_of(along, levels, messages, copies)
    departure = furthest_first(sent.tree, levels[sent.tree, sent.destination], sent.unit)
    rows = routed(along, sent.tree, sent.destination, departure, sent.unit)
    return carried(
        rows, along, "scatter", ports, root, messages, copies, units=topology.nodes * messages
    )


def copies_of(along: Forest, levels: Ranks, messages: int, copies: int) -> Units:
    """Which trees the copies for each destination take, so that the trees' loads differ by one at most.

    Most nodes are on necklaces of n-1. Of such a one the node with the lowest rank takes the x trees in which it has the
    lowest levels (of equal ones, the lower tree), and the others take the rotated trees, in which they have the same levels:
    so a necklace gives each tree the same load, level by level. The few nodes on shorter necklaces (they begin with 1) are
    dealt to the trees, all copies of a message after one another.
    """
    nearest, short = _nearest_trees(along, levels, copies)
    tree = np.empty((messages, copies, along.topology.nodes), dtype=np.int64)
    tree[:] = nearest
    cards = dealt(len(short) * messages, copies, along.trees).tree
    tree[:, :, short] = cards.reshape(len(short), messages, copies).transpose(1, 2, 0)
    message, _, node = np.indices(tree.shape, sparse=True)
    unit = np.broadcast_to(node * messages + message, tree.shape)
    destination = np.broadcast_to(node, tree.shape)
    return Units(*(column[:, :, 1:].reshape(-1) for column in (tree, destination, unit)))


def scatter_transmissions(topology: Topology, messages: int, copies: int) -> int:
    """The rows of `scatter`, exact for every n and counted without growing trees.

    A copy's path is as long as its destination is away, and by a detour longer. Detours are the least ones for nodes on
    necklaces of n-1; for those on shorter ones, in S^1, they are 2 in the trees of fixed symbols that they are dealt.
    """
    trees, short = topology.degree, short_necklaces(topology.n)
    fixed = short[:, 1:] == np.arange(2, topology.n + 1)
    least = sum(kind.nodes * kind.least(copies) for kind in detours(topology.n))
    least -= sum(
        Detours(1, trees - count, count, 0).least(copies)
        for count in np.count_nonzero(fixed, axis=1).tolist()
    )
    rounds, rest = divmod(
        messages * copies, trees
    )  # each node is dealt so many cards, from where the one before ended
    first = np.arange(len(short))[:, None] * rest
    more = (np.arange(trees) - first) % trees < rest
    dealt_two = rounds * np.count_nonzero(fixed) + np.count_nonzero(fixed & more)
    return messages * (copies * topology.distance_sum + least) + 2 * int(dealt_two)


def _nearest_trees(
    along: Forest, levels: Ranks, copies: int
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """The trees for each node on a necklace of n-1 nodes, int64 ``[copies, nodes]``, and the other nodes but the root."""
    loop = necklaces(along.topology.n)
    whole = loop.period == along.trees
    leaders = np.flatnonzero(whole & (loop.turns == 0))
    nearest = np.zeros((copies, along.topology.nodes), dtype=np.int64)
    nearest[:, leaders] = np.argsort(levels[:, leaders], axis=0, kind="stable")[:copies]
    short = np.flatnonzero(~whole)
    return (nearest[:, loop.leader] + loop.turns) % along.trees, short[short > 0]


def alltoall(topology: Topology, root: int, ports: str, messages: int, copies: int) -> Schedule:
    """For one node i after another, the units for R^(k-2)(i) go through tree k, k = 2..n, all trees together (section 4.6).

    The n-1 paths are rotations of one another, so that in every step the links have different dimensions (Lemma 7). Where
    necklaces are short, R^(k-2)(i) repeats nodes; i runs through all n!-1 nodes, and so each node meets each tree once. Nodes
    on low levels of tree 2 come first, then those of lower rank. c = ceil(Mx / (n-1)) units at most, a tree's part of
    a destination's, cross a hop before they go on to the next: c times the sum of the levels of a tree are the steps.
    """
    along = forest(topology, NAME)
    deal = dealt(messages, copies, along.trees)
    begin = _group_begins(along.levels()[0], deal.most, topology.n)
    node = np.arange(1, topology.nodes)
    shape = (len(deal.tree), len(node))
    rows = routed(
        along,
        tree=np.broadcast_to(deal.tree[:, None], shape).reshape(-1),
        destination=np.broadcast_to(node, shape).reshape(-1),
        departure=(begin[deal.tree, 1:] + deal.place[:, None]).reshape(-1),
        unit=(node * messages + deal.message[:, None]).reshape(-1),
        gap=deal.most,
    )
    units = topology.nodes * messages
    return carried(
        rows, along, "alltoall", ports, root, messages, copies, units=units, symmetric=True
    )


def _group_begins(level: Ranks, most: int, n: int) -> NDArray[np.int64]:
    """The first step of the group in which a destination is reached through a tree, int64 ``[trees, nodes]``."""
    order = np.argsort(level, kind="stable")
    length = most * level[order].astype(np.int64)
    base = np.empty(len(level), dtype=np.int64)
    base[order] = np.cumsum(length) - length + 1
    begin = np.empty((n - 1, len(level)), dtype=np.int64)
    turn, at = rotation(n), np.arange(len(level), dtype=np.int32)
    for row in begin:
        row[at] = base
        at = turn[at]
    return begin
