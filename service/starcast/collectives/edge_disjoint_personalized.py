"""Scatter, gather and alltoall along edge-disjoint trees: x copies, each down a different tree.

The paths of the trees to a node have no inner node in common, so x copies survive x-1 faults
(Fragopoulou & Akl 1996, sections 4.5 and 4.6).
"""

import numpy as np
from numpy.typing import NDArray

from starcast import trees
from starcast.collectives.algorithm import Arguments, Copies, Messages, algorithm
from starcast.collectives.injection_order import Units, order_furthest_first
from starcast.collectives.model import Schedule
from starcast.collectives.round_robin import assign_round_robin, build_copies_schedule
from starcast.collectives.rows import route_units
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology
from starcast.topologies.necklaces import necklaces, rotation, short_necklaces
from starcast.topologies.permutations import Ranks
from starcast.trees import Forest
from starcast.trees.edge_disjoint import Detours, detours, level_sum

NAME = "edge-disjoint"


def scatter_transmissions(topology: Topology, messages: int, copies: int) -> int:
    """Return the number of rows of the scatter, exact for every n, without building trees.

    A copy's path is as long as the distance of its destination plus a detour. Nodes on necklaces
    of n-1 nodes have the least detours. Nodes on shorter necklaces, in S^1, have detours of 2 in
    the assigned trees whose symbol they fix.
    """
    tree_count = topology.degree
    short = short_necklaces(topology.n)
    fixed = short[:, 1:] == np.arange(2, topology.n + 1)
    detour_sum = sum(kind.nodes * kind.least(copies) for kind in detours(topology.n))
    detour_sum -= sum(
        Detours(1, tree_count - count, count, 0).least(copies)
        for count in np.count_nonzero(fixed, axis=1).tolist()
    )
    # Every node gets `rounds` copies in each tree, and the rest from where the last node ended.
    rounds, rest = divmod(messages * copies, tree_count)
    first = np.arange(len(short))[:, None] * rest
    extra = (np.arange(tree_count) - first) % tree_count < rest
    short_detours = rounds * np.count_nonzero(fixed) + np.count_nonzero(fixed & extra)
    return messages * (copies * topology.distance_sum + detour_sum) + 2 * int(short_detours)


def _count_scatter_rows(topology: Topology, arguments: Arguments) -> int:
    return scatter_transmissions(topology, int(arguments["messages"]), int(arguments["copies"]))


@algorithm(
    "scatter", NAME, families=["star"], source="Fragopoulou & Akl 1996, section 4.5",
    rows=_count_scatter_rows, forest_construction=lambda *_: NAME,
)  # fmt: skip
def _build_scatter(
    topology: Topology, root: int, ports: Ports, messages: Messages, copies: Copies
) -> Schedule:
    """Build the scatter in which each tree sends one unit per step, furthest levels first.

    Units never wait on their way (section 4.5). The paper uses all n-1 trees; for x of them see
    `assign_copies`. A tree with s units takes s steps if its last units go to its first levels,
    which holds for n = 2..8, every x and every M (the tests count the units of each level). Then
    the schedule takes ceil(Mx (n! - 1) / (n-1)) steps, which no schedule of x copies beats:
    M (n! - 1) with all n-1 trees.
    """
    forest = trees.forest(topology, NAME)
    levels = forest.levels()
    units = assign_copies(forest, levels, messages, copies)
    departure = order_furthest_first(units.tree, levels[units.tree, units.destination], units.unit)
    rows = route_units(forest, units.tree, units.destination, departure, units.unit)
    return build_copies_schedule(
        rows,
        forest,
        root,
        messages,
        copies,
        collective="scatter",
        ports=ports,
        units=topology.nodes * messages,
    )


def assign_copies(forest: Forest, levels: Ranks, messages: int, copies: int) -> Units:
    """Assign the copies for each destination to trees whose loads differ by at most one.

    Most nodes are on necklaces of n-1 nodes. The node with the lowest rank of such a necklace uses
    the x trees in which it has the lowest levels (the lower tree on ties), and the other nodes use
    the rotated trees, in which they have the same levels. So a necklace gives each tree the same
    load, level by level. The few nodes on shorter necklaces (they begin with 1) are assigned to
    trees round robin, all copies of a message in a row.
    """
    nearest, short = _nearest_trees(forest, levels, copies)
    tree = np.empty((messages, copies, forest.topology.nodes), dtype=np.int64)
    tree[:] = nearest
    short_trees = assign_round_robin(len(short) * messages, copies, forest.trees).tree
    tree[:, :, short] = short_trees.reshape(len(short), messages, copies).transpose(1, 2, 0)
    message, _, node = np.indices(tree.shape, sparse=True)
    unit = np.broadcast_to(node * messages + message, tree.shape)
    destination = np.broadcast_to(node, tree.shape)
    return Units(*(column[:, :, 1:].reshape(-1) for column in (tree, destination, unit)))


def _nearest_trees(
    forest: Forest, levels: Ranks, copies: int
) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """Return the nearest trees of nodes on full necklaces, and the nodes on shorter ones.

    Returns:
        The trees, int64 ``[copies, nodes]``, and the ranks of the other nodes except the root.
    """
    rings = necklaces(forest.topology.n)
    full = rings.period == forest.trees
    leaders = np.flatnonzero(full & (rings.turns == 0))
    nearest = np.zeros((copies, forest.topology.nodes), dtype=np.int64)
    nearest[:, leaders] = np.argsort(levels[:, leaders], axis=0, kind="stable")[:copies]
    short = np.flatnonzero(~full)
    return (nearest[:, rings.leader] + rings.turns) % forest.trees, short[short > 0]


def _count_alltoall_rows(topology: Topology, arguments: Arguments) -> int:
    """A copy crosses as many links as its destination's level; the level sums of trees agree."""
    return int(arguments["messages"]) * int(arguments["copies"]) * level_sum(topology)


@algorithm(
    "alltoall", NAME, families=["star"], source="Fragopoulou & Akl 1996, section 4.6",
    rows=_count_alltoall_rows, forest_construction=lambda *_: NAME,
)  # fmt: skip
def _build_alltoall(
    topology: Topology, root: int, ports: Ports, messages: Messages, copies: Copies
) -> Schedule:
    """Build the alltoall that serves n-1 rotated nodes at a time, one through each tree.

    For one node i after another, the units for R^(k-2)(i) travel through tree k, k = 2..n
    (section 4.6). These n-1 paths are rotations of one another, so in every step the links have
    different dimensions (Lemma 7). On short necklaces R^(k-2)(i) repeats nodes; as i runs through
    all n!-1 nodes, each node still uses each tree once. Nodes on low levels of tree 2 come first,
    then nodes of lower rank. The units of a tree for a destination, at most c = ceil(Mx / (n-1)),
    cross a hop before they cross the next hop, which takes c times the level sum of a tree.
    """
    forest = trees.forest(topology, NAME)
    assignment = assign_round_robin(messages, copies, forest.trees)
    begin = _group_begins(forest.levels()[0], assignment.largest, topology.n)
    node = np.arange(1, topology.nodes)
    shape = (len(assignment.tree), len(node))
    departure = begin[assignment.tree, 1:] + assignment.position[:, None]
    rows = route_units(
        forest,
        tree=np.broadcast_to(assignment.tree[:, None], shape).reshape(-1),
        destination=np.broadcast_to(node, shape).reshape(-1),
        departure=departure.reshape(-1),
        unit=(node * messages + assignment.message[:, None]).reshape(-1),
        gap=assignment.largest,
    )
    return build_copies_schedule(
        rows,
        forest,
        root,
        messages,
        copies,
        collective="alltoall",
        ports=ports,
        units=topology.nodes * messages,
        symmetric=True,
    )


def _group_begins(level: Ranks, group_units: int, n: int) -> NDArray[np.int64]:
    """Return the first step of the group that reaches a node through a tree, ``[trees, nodes]``."""
    order = np.argsort(level, kind="stable")
    duration = group_units * level[order].astype(np.int64)
    first = np.empty(len(level), dtype=np.int64)
    first[order] = np.cumsum(duration) - duration + 1
    begins = np.empty((n - 1, len(level)), dtype=np.int64)
    rotated = rotation(n)
    node = np.arange(len(level), dtype=np.int32)
    for row in begins:
        row[node] = first
        node = rotated[node]
    return begins
