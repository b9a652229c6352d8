"""Collectives along edge-disjoint trees: every message is sent in copies down several trees.

**Assignment.** Copies are assigned to the trees in turn, so the numbers of copies in two trees
differ by at most one. Fragopoulou & Akl 1996, section 4.3, assign packets of messages, so the
number of copies x must divide the number of trees. Here copies are assigned one by one, message
after message. Then any x up to the number of trees is possible, because x consecutive copies go to
x different trees.

**Broadcast and allgather**: a copy crosses every link of one tree. No directed link is in two
trees, so copies in different trees never wait for one another, and the copies in x trees reach a
node over x paths without a common internal node. So every node that has not failed receives the
message despite any x-1 faults (Fragopoulou & Akl 1996, sections 4.2 to 4.4; Johnsson & Ho 1989 on
hypercubes). The model is all-port, and a directed link carries one unit per step. The schedule is
fixed in advance, so no node needs to know about a fault.

**Scatter, gather and alltoall**: the x copies of a message travel down x different trees. The paths
to a node in different trees have no internal node in common, so at least one copy arrives despite
x-1 faults (Fragopoulou & Akl 1996, sections 4.5 and 4.6).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast import trees
from starcast.collectives.algorithm import Copies, Messages, algorithm, count_messages
from starcast.collectives.model import Draft
from starcast.collectives.one_to_all import sizes_of_earlier_siblings, sum_from_root
from starcast.collectives.rows import Units, flood_units, order_furthest_first, route_units
from starcast.support.integers import ceil_div
from starcast.support.vocabulary import Arguments, Ports
from starcast.topologies import Topology
from starcast.topologies.necklaces import necklaces, rotation, short_necklaces
from starcast.topologies.permutations import Ranks
from starcast.trees import Forest
from starcast.trees.edge_disjoint import Detours, detours, level_sum

#: The name of the algorithms on S_n, and of the construction whose forest they use.
_NAME = "edge-disjoint"


class Assignment(NamedTuple):
    """The assignment of copies to trees; each array is int64 ``[messages * copies]``.

    Copies are sorted by message.

    Attributes:
        message: the number of each copy's message, from 0.
        tree: the tree that carries each copy.
        position: for each copy, the number of earlier copies that were assigned to its tree.
        largest: the largest number of copies assigned to one tree: ceil(messages * copies / trees).
    """

    message: NDArray[np.int64]
    tree: NDArray[np.int64]
    position: NDArray[np.int64]
    largest: int


def assign_round_robin(messages: int, copies: int, trees: int) -> Assignment:
    """Assign copies to trees in turn: copy a of message j to tree (j * copies + a) mod trees.

    The number of copies per message must not exceed the number of trees.
    """
    number = np.arange(messages * copies)
    largest = ceil_div(messages * copies, trees)
    return Assignment(number // copies, number % trees, number // trees, largest)


def count_copies(topology: Topology, arguments: Arguments) -> int:
    """Return the number of rows: each copy has one row per node other than the root."""
    return int(arguments["copies"]) * count_messages(topology, arguments)


def _declare_broadcast(name: str, source: str, family: str, smallest: int) -> None:
    """Declare the broadcast that sends copies down the edge-disjoint trees of a construction.

    Unit q = 0, 1, .. of a tree crosses the links to level l in step q + l. With M messages in x
    copies the broadcast takes ceil(Mx / trees) + height - 1 steps, because all trees have the same
    height. On S_n and on hypercubes, the paths to a node in different trees have no internal node
    in common.
    """

    @algorithm(
        "broadcast", name, families=[family], source=source, smallest=smallest, rows=count_copies,
        forest_construction=lambda *_: name,
    )  # fmt: skip
    def build(
        topology: Topology, root: int, ports: Ports, messages: Messages, copies: Copies
    ) -> Draft:
        forest = trees.forest(topology, name)
        assignment = assign_round_robin(messages, copies, forest.trees)
        rows = flood_units(
            forest, assignment.tree, assignment.position, assignment.message, forest.levels()
        )
        return Draft(rows, messages, forest)


_declare_broadcast(_NAME, "Fragopoulou & Akl 1996, sections 4.2 and 4.3", "star", smallest=2)
_declare_broadcast("edge-disjoint-binomial", "Johnsson & Ho 1989", "hypercube", smallest=1)


@algorithm(
    "allgather", _NAME, families=["star"], source="Fragopoulou & Akl 1996, section 4.4",
    rows=count_copies, forest_construction=lambda *_: _NAME,
)  # fmt: skip
def _build_allgather(
    topology: Topology, root: int, ports: Ports, messages: Messages, copies: Copies
) -> Draft:
    """Build the allgather that traverses every tree depth first.

    All units of a tree cross a link before any of them crosses the next link. With M messages in x
    copies, a tree has at most c = ceil(Mx / (n-1)) units. These units cross the h-th link of the
    traversal in the steps (h-1)c+1 to hc, so the traversal takes c (n! - 1) steps. In Fragopoulou &
    Akl 1996, section 4.4, nodes wait for acknowledgements; here the steps are fixed, so a fault
    does not stop the traversal. The links that are crossed in a step have different dimensions, so
    all sources can send at the same time (Lemma 7).
    """
    forest = trees.forest(topology, _NAME)
    assignment = assign_round_robin(messages, copies, forest.trees)
    # Every hop takes as many steps as the tree with the most units needs, so that the hops of all
    # trees begin and end together.
    first = (hop_numbers(forest) - 1) * assignment.largest + 1
    rows = flood_units(
        forest, assignment.tree, assignment.position, assignment.message, first=first
    )
    return Draft(rows, messages, forest, symmetric=True)


def hop_numbers(forest: Forest) -> Ranks:
    """Return each node's position in a depth-first traversal (preorder) of each tree.

    In tree k (k = 2..n) the children of a node are visited in the cyclic order of their dimensions
    that starts with k: k, k+1, .., n, 2, .., k-1. The trees are rotations of one another, and these
    orders are too. So for every h, the h-th links of the n-1 trees have n-1 different dimensions.

    Args:
        forest: n-1 spanning trees on S_n, tree k in row k-2.

    Returns:
        int32 ``[trees, nodes]``: the number, from 1, of the link from each node's parent to the
        node, in the order in which the links are first crossed; 0 for the root.

    Reference:
        Fragopoulou & Akl 1996, section 3.
    """
    numbers = np.zeros(forest.parent_port.shape, dtype=np.int32)
    dimensions = forest.topology.reverse_ports()[forest.parent_port].astype(np.int32)
    for tree, (parents, levels, sizes) in enumerate(
        zip(forest.parents(), forest.levels(), forest.subtree_sizes(), strict=True)
    ):
        phi = (dimensions[tree] - 2 - tree) % forest.trees
        before = sizes_of_earlier_siblings(parents, phi, sizes)
        numbers[tree] = sum_from_root(parents, levels, before + 1)
    return numbers


def scatter_transmissions(topology: Topology, messages: int, copies: int) -> int:
    """Return the number of rows of a scatter that sends copies, without building the trees.

    The length of a copy's path is the level of its destination in the copy's tree. This level is
    the destination's distance plus its *detour* in that tree. Nodes on necklaces of n-1 nodes use
    the trees with their smallest detours. Nodes on shorter necklaces start with 1; in tree l, their
    detour is 2 if symbol l is in position l, and otherwise 0.
    """
    tree_count = topology.degree
    short = short_necklaces(topology.n)
    # Nodes on short necklaces begin with 1, so only the other symbols can be displaced.
    fixed = short[:, 1:] == np.arange(2, topology.n + 1)
    detour_sum = sum(kind.nodes * kind.least(copies) for kind in detours(topology.n))
    # The sum above contains the smallest detours of all nodes. But the copies for nodes on short
    # necklaces go to the trees in turn, not to those with the smallest detours, so the terms of
    # these nodes are subtracted.
    detour_sum -= sum(
        Detours(1, tree_count - count, count, 0).least(copies)
        for count in np.count_nonzero(fixed, axis=1).tolist()
    )
    # Each tree gets `rounds` copies for every node on a short necklace. The remaining copies for a
    # node go to the trees that follow those of the previous node.
    rounds, rest = divmod(messages * copies, tree_count)
    first = np.arange(len(short))[:, None] * rest
    extra = (np.arange(tree_count) - first) % tree_count < rest
    # The product can exceed 64 bits, so it is computed with Python integers.
    short_detours = rounds * int(fixed.sum()) + int((fixed & extra).sum())
    return messages * (copies * topology.distance_sum + detour_sum) + 2 * short_detours


def _count_scatter_rows(topology: Topology, arguments: Arguments) -> int:
    return scatter_transmissions(topology, int(arguments["messages"]), int(arguments["copies"]))


@algorithm(
    "scatter", _NAME, families=["star"], source="Fragopoulou & Akl 1996, section 4.5",
    rows=_count_scatter_rows, forest_construction=lambda *_: _NAME,
)  # fmt: skip
def _build_scatter(
    topology: Topology, root: int, ports: Ports, messages: Messages, copies: Copies
) -> Draft:
    """Build the scatter in which each tree sends one unit per step, deepest levels first.

    Units never wait on their paths (Fragopoulou & Akl 1996, section 4.5). The paper uses all n-1
    trees. If only x of them are used, `assign_copies` chooses them. A tree with s units takes s
    steps if, for each i, the i-th unit from the end goes to a node on a level of at most i. The
    tests verify this condition for n = 3..8, every number of copies x and every number of messages
    M. Then the schedule takes ceil(Mx (n! - 1) / (n-1)) steps, the minimum for x copies. With n-1
    copies, it takes M (n! - 1) steps.
    """
    forest = trees.forest(topology, _NAME)
    levels = forest.levels()
    units = assign_copies(forest, levels, messages, copies)
    departure = order_furthest_first(units.tree, levels[units.tree, units.destination], units.unit)
    rows = route_units(forest, units.tree, units.destination, departure, units.unit)
    return Draft(rows, topology.nodes * messages, forest)


def assign_copies(forest: Forest, levels: Ranks, messages: int, copies: int) -> Units:
    """Assign copies to trees, so that the numbers of copies per tree differ by at most one.

    Most nodes are on necklaces of n-1 nodes. In such a necklace, the node with the lowest rank uses
    the x trees in which this node has the smallest levels (on ties, the tree with the smaller
    index). The other nodes use the rotated trees, in which these nodes have the same levels. So
    a necklace adds the same number of copies to every tree, on each level. The few nodes on shorter
    necklaces, which begin with 1, are assigned to trees in turn, with all copies of a message in
    consecutive trees.
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
    """Return, for each node on a full necklace, the trees in which the node's level is smallest.

    A full necklace has n-1 nodes, a short necklace has fewer.

    Returns:
        Two arrays: int64 ``[copies, nodes]``, the trees of each node, meaningless for nodes on
        short necklaces; and the ranks of the nodes on short necklaces, without the root.
    """
    rings = necklaces(forest.topology.n)
    full = rings.period == forest.trees
    leaders = np.flatnonzero(full & (rings.turns == 0))
    nearest = np.zeros((copies, forest.topology.nodes), dtype=np.int64)
    nearest[:, leaders] = np.argsort(levels[:, leaders], axis=0, kind="stable")[:copies]
    short = np.flatnonzero(~full)
    return (nearest[:, rings.leader] + rings.turns) % forest.trees, short[short > 0]


def _count_alltoall_rows(topology: Topology, arguments: Arguments) -> int:
    """Return the number of rows per source: messages * copies * sum of the levels in one tree."""
    return int(arguments["messages"]) * int(arguments["copies"]) * level_sum(topology)


@algorithm(
    "alltoall", _NAME, families=["star"], source="Fragopoulou & Akl 1996, section 4.6",
    rows=_count_alltoall_rows, forest_construction=lambda *_: _NAME,
)  # fmt: skip
def _build_alltoall(
    topology: Topology, root: int, ports: Ports, messages: Messages, copies: Copies
) -> Draft:
    """Build the alltoall that serves n-1 rotations of a node together, each through its own tree.

    R is the rotation. For one node i after another, the units for R^(k-2)(i) travel through tree k,
    k = 2..n (Fragopoulou & Akl 1996, section 4.6). These n-1 paths are rotations of one another, so
    in every step the links have different dimensions (Lemma 7). If the necklace of i is short, some
    of the nodes R^(k-2)(i) are equal. But i runs through all n!-1 nodes, so each node still uses
    each tree once. Nodes i are ordered by their level in tree 2, then by rank. For M messages in x
    copies, a tree has at most c = ceil(Mx / (n-1)) units for a destination. All these units cross a
    link before any of them crosses the next link, so the schedule takes c steps times the sum of
    the levels in a tree.
    """
    forest = trees.forest(topology, _NAME)
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
    return Draft(rows, topology.nodes * messages, forest, symmetric=True)


def _group_begins(level: Ranks, group_units: int, n: int) -> NDArray[np.int64]:
    """Return, for each tree and node, the step in which the alltoall begins to serve the node.

    The nodes that the trees serve at the same time are rotations of one another.

    Args:
        level: the level of each node in tree 2, int32 ``[nodes]``.
        group_units: the maximum number of units that a tree has for one destination.
        n: the number of symbols.

    Returns:
        int64 ``[trees, nodes]``.
    """
    order = np.argsort(level, kind="stable")
    duration = group_units * level[order].astype(np.int64)
    first = np.empty(len(level), dtype=np.int64)
    first[order] = np.cumsum(duration) - duration + 1
    begins = np.empty((n - 1, len(level)), dtype=np.int64)
    rotated = rotation(n)
    node = np.arange(len(level), dtype=np.int32)
    # Each tree serves node R(x) in the steps in which the previous tree serves node x.
    for row in begins:
        row[node] = first
        node = rotated[node]
    return begins
