"""Broadcast and scatter, in which one root sends to all other nodes, down the trees of a forest.

**Broadcast**: the root's message, split into units, reaches every node. Each tree is a pipeline, in
which unit j follows unit j-1.

**Scatter**: the root sends separate messages to every other node. The scatter trees of Fragopoulou
& Akl 1993 (sections 5 and 6) differ in the sizes of the root's subtrees. With Rule 5, a scatter
takes as many steps as there are messages for the largest subtree. `build_scatter` applies Rules 5
and 8 to any forest.
"""

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from starcast import trees
from starcast.catalogue.entries import Argument
from starcast.collectives.algorithm import Messages, Refusal, Segments, algorithm, count_messages
from starcast.collectives.model import Draft
from starcast.collectives.rows import (
    Columns,
    Units,
    flood_units,
    order_furthest_first,
    route_units,
    serialize_ports,
)
from starcast.support.errors import InputError
from starcast.support.vocabulary import Arguments, Ports
from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks
from starcast.trees import Forest
from starcast.trees.balanced import running_numbers
from starcast.trees.construction import CONSTRUCTIONS, numbered_dimensions
from starcast.trees.metrics import root_ports
from starcast.trees.model import split_levels


def build_pipeline(
    forest: Forest, ports: Ports, units_per_tree: int, *, packets: bool | None = None
) -> Draft:
    """Return the broadcast that pipelines units down all trees of a forest at the same time.

    In slot t the links to level l carry unit number t-l+1 of their tree, counted from 1, so trees
    of height h take h + ``units_per_tree`` - 1 slots. In the all-port model a slot is a step. In
    the one-port model a slot becomes ``port_count`` sub-slots, one per port. A port maps nodes to
    nodes one to one, so no node sends or receives twice in a sub-slot.

    Args:
        forest: any forest.
        ports: the port model.
        units_per_tree: the number of units that travel down each tree.
        packets: whether a link may carry several units per step; by default, True only if two trees
            share a directed link.

    Reference:
        Tseng & Sheu 1997, Algorithm 1 (section 4.1); one-port: section 4.2.
    """
    draft = _build_stream(forest, units_per_tree, forest.levels(), gap=1)
    if ports == "one":
        draft = draft._replace(rows=serialize_ports(forest.topology, draft.rows))
    if packets is None:
        packets = forest.congestion > 1
    return draft._replace(packets=packets)


def build_rounds(
    topology: Topology, parent_port: NDArray[np.uint8], rounds: NDArray[np.integer[Any]]
) -> Draft:
    """Return the one-port broadcast of one unit in which each node is informed in a given round.

    Args:
        topology: the topology on which the unit travels.
        parent_port: uint8 ``[nodes]``, for each node the port to the node that informs it; 0 for
            rank 0, where the message starts.
        rounds: ``[nodes]``, the round in which each node is informed; 0 for rank 0.
    """
    forest = Forest(topology, parent_port[None, :])
    receiver = np.arange(1, topology.nodes)
    rows = Columns.along_one_tree(
        step=rounds[1:],
        sender=forest.parents()[0, 1:],
        port=topology.reverse_ports()[parent_port[1:]],
        receiver=receiver,
        unit=np.zeros_like(receiver),
    )
    return Draft(rows, 1, forest)


def _one_port_steps(forest: Forest) -> NDArray[np.int32]:
    """Return the step in which each node of a single tree receives the first message.

    The model is one-port: a node sends the message to one child per step.

    Returns:
        int32 ``[1, nodes]``; 0 for the root.
    """
    arrival = forest.parent_port[0].astype(np.int32)
    parents = forest.parents()[0]
    # Ports are used in ascending cyclic order, starting after the port of arrival.
    turn = (arrival - arrival[parents]) % (forest.topology.ports[-1] + 1)
    earlier = sizes_of_earlier_siblings(parents, turn, np.ones_like(parents))
    return sum_from_root(parents, forest.levels()[0], earlier + 1)[None, :]


def sizes_of_earlier_siblings(
    parents: Ranks, turn: NDArray[np.int32], sizes: Ranks
) -> NDArray[np.int64]:
    """Return, for each node of a tree, the total size of its earlier siblings.

    Siblings are nodes with the same parent.

    Args:
        parents: the parent of each node, int32 ``[nodes]``.
        turn: numbers by which the children of a node are ordered, int32 ``[nodes]``.
        sizes: the size of each node, such as the number of nodes in its subtree, int32 ``[nodes]``.

    Returns:
        int64 ``[nodes]``; 0 for the first child of each node.
    """
    order = np.lexsort((turn, parents))
    # One cumulative sum covers all nodes; the part before the first sibling is subtracted below.
    before = np.cumsum(sizes[order], dtype=np.int64) - sizes[order]
    parent = parents[order]
    eldest = np.flatnonzero(np.r_[True, parent[1:] != parent[:-1]])
    count = np.diff(np.r_[eldest, len(order)])
    earlier = np.empty(len(order), dtype=np.int64)
    earlier[order] = before - np.repeat(before[eldest], count)
    return earlier


def sum_from_root(parents: Ranks, levels: Ranks, values: NDArray[np.int64]) -> Ranks:
    """Return, for each node of a tree, the sum of the values on the path from the root to the node.

    The sum includes the node's own value, but not the root's. It is 0 for nodes outside the tree.

    Args:
        parents: the parent of each node, int32 ``[nodes]``.
        levels: the level of each node, int32 ``[nodes]``.
        values: the value of each node, int64 ``[nodes]``.

    Returns:
        int32 ``[nodes]``.
    """
    sums = np.zeros(len(parents), dtype=np.int32)
    # The loop runs level by level, because a node's sum depends on its parent's sum.
    for nodes in split_levels(levels):
        sums[nodes] = sums[parents[nodes]] + values[nodes]
    return sums


def _build_stream(forest: Forest, units_per_tree: int, first: NDArray[np.int32], gap: int) -> Draft:
    """Return the broadcast that sends units down each tree one after another, ``gap`` steps apart.

    Args:
        forest: the trees down which the units travel.
        units_per_tree: the number of units that travel down each tree.
        first: int32 ``[trees, nodes]``, the step in which each node receives its tree's first unit.
        gap: the number of steps from one unit to the next on each link.
    """
    unit = np.arange(forest.trees * units_per_tree)
    tree, position = np.divmod(unit, units_per_tree)
    rows = flood_units(forest, tree, gap * position, unit, first)
    return Draft(rows, len(unit), forest)


def _declare_segmented(construction: str, source: str) -> None:
    """Declare a broadcast that pipelines the segments of a message down a construction's trees."""
    entry = CONSTRUCTIONS[construction]

    @algorithm(
        "broadcast", construction, families=entry.families, ports=["all", "one"], source=source,
        smallest=entry.smallest, forest_construction=lambda *_: construction,
        # On topologies without the greedy tree, the name `greedy` selects `greedy-matching`.
        elsewhere="greedy-matching" if construction == "greedy" else "",
        rows=lambda topology, arguments: (
            entry.count_trees(topology) * count_messages(topology, arguments)
        ),
    )  # fmt: skip
    def build(topology: Topology, root: int, ports: Ports, segments: Segments) -> Draft:
        return build_pipeline(trees.forest(topology, construction, root), ports, segments)


_declare_segmented("greedy", "Tseng & Sheu 1997, section 4")
_declare_segmented("multiple", "Tseng & Sheu 1997, Algorithm 1, Theorems 1 and 2")


@algorithm(
    "broadcast", "recursive-substar", families=["star"], ports=["all", "one"],
    source="Sheu, Liaw & Chen 1993, section 2",
    forest_construction=lambda *_: "recursive-substar",
)  # fmt: skip
def _build_recursive_substar(
    topology: Topology, root: int, ports: Ports, messages: Messages
) -> Draft:
    """Build the broadcast of M messages, one after another, down the tree of Sheu et al. 1993.

    In the all-port model, one message leaves the root per step, and M messages take 2n-4+M steps.
    In the one-port model, a node sends to one child per step. The node uses the ports above its
    port of arrival first (Rule 2), then the lower ports, both in ascending order. The next message
    follows n-1 steps later, so M messages take n(n-1)/2 + (M-1)(n-1) steps
    (docs/definitions/tseng-sheu.md, B2).
    """
    forest = trees.forest(topology, "recursive-substar", root)
    if ports == "all":
        return _build_stream(forest, messages, forest.levels(), gap=1)
    return _build_stream(forest, messages, _one_port_steps(forest), gap=topology.degree)


# These declarations come after the others, because algorithms are listed in the order of
# declaration.
_declare_segmented("nk-greedy", "Li, Chen, Xiang & Yao, section 4")
_declare_segmented("nk-multiple", "Li, Chen, Xiang & Yao, section 5")
_declare_segmented("binomial", "Johnsson & Ho 1989")


def build_scatter(forest: Forest, ports: Ports, messages: int, units: Units | None = None) -> Draft:
    """Return the schedule that scatters messages down the trees of a forest.

    * Rule 5 (all-port): in every step, the root sends the next message of each subtree.
    * Rule 8 (one-port): in every step, the root sends one message; the messages of a subtree
      precede the messages of the next subtree.

    Both rules send the messages for the furthest nodes first; at equal distance, lower ranks come
    first. Messages never wait on their paths, so two messages of a subtree are never on the same
    level at the same time. In a single tree, and in trees that differ only in their leaves, no link
    carries two messages in a step, and no message arrives after the step in which the root sends
    its last message. The schedule then takes as many steps as there are messages for the largest
    subtree (all-port), or messages in total (one-port). In other trees messages can collide; the
    simulator reports such collisions.

    Args:
        forest: the trees; every node must be in at least one.
        ports: the port model.
        messages: M, the number of unit messages per destination.
        units: the units and their trees; by default assigned by `assign_trees`.

    Raises:
        InputError: a node is in no tree.

    Reference:
        Fragopoulou & Akl 1993, Rules 5 and 8.
    """
    if units is None:
        units = assign_trees(forest, messages)
    subtree = root_ports(forest)[units.tree, units.destination]
    level = forest.levels()[units.tree, units.destination]
    departure = order_furthest_first(subtree, level, units.unit, sequential=ports == "one")
    rows = route_units(forest, units.tree, units.destination, departure, units.unit)
    return Draft(rows, forest.topology.endpoints * messages, forest)


def assign_trees(forest: Forest, messages: int) -> Units:
    """Assign each destination's messages in turn to the trees that contain the destination.

    Message i for a destination in k trees travels down tree i mod k of these trees.

    Raises:
        InputError: a node is in no tree.
    """
    trees_per_node = count_trees(forest)
    _check_all_reached(forest, trees_per_node)
    node, tree = np.nonzero(forest.parent_port.T)
    # In the transposed array, the trees of a node are consecutive and start at `begins`.
    begins = np.searchsorted(node, np.arange(forest.topology.nodes))
    destination, message = (
        column.reshape(-1)
        for column in np.meshgrid(np.unique(node), np.arange(messages), indexing="ij")
    )
    chosen = begins[destination] + message % trees_per_node[destination]
    return Units(tree[chosen], destination, destination * messages + message)


def count_trees(forest: Forest) -> NDArray[np.int64]:
    """Return the number of trees that contain each node, int64 ``[nodes]``; 0 for the root."""
    return np.asarray(np.count_nonzero(forest.parent_port, axis=0), dtype=np.int64)


def _check_all_reached(forest: Forest, trees_per_node: NDArray[np.int64]) -> None:
    outside = trees_per_node == 0
    outside[forest.root] = False
    if outside.any():
        label = forest.topology.label(int(outside.argmax()))
        raise InputError(
            f"messages cannot be scattered along {forest.id}: {label} is in none of its trees",
            hint="use a forest that reaches every node, such as 'balanced'",
        )


def balanced_forest(topology: Topology, messages: int) -> Forest:
    """Return the balanced trees for several messages: one tree per message, but at most n-1 trees.

    Message c travels down tree c mod (n-1). In a balanced tree, the nodes that start with 1 have
    the numbers m = 1, 2, .., and v(m) is the dimension from such a node to its parent. The numbers
    continue from message to message, so all messages together fill the root's subtrees as equally
    as a single message does (Fragopoulou & Akl 1993, section 5.1). Each message uses (n-1)! - 1
    numbers. For n >= 3 this is -1 modulo n-1, and v(m) depends on m modulo n-1. Hence the tree of
    message c depends only on c modulo n-1.

    Args:
        topology: the star graph.
        messages: the number of messages per destination.
    """
    first = trees.forest(topology, "balanced")
    if messages == 1:
        return first
    rows = np.repeat(first.parent_port, min(messages, topology.degree), axis=0)
    for copy, row in enumerate(rows):
        dimensions = numbered_dimensions(topology.n, running_numbers(topology, copy))
        row[1 : len(dimensions)] = dimensions[1:]
    return Forest(topology, rows)


def count_rows(topology: Topology, arguments: Arguments) -> int:
    """Return the number of rows of a schedule along shortest paths: messages times distance sum."""
    return int(arguments.get("messages", 1)) * topology.distance_sum


def if_single(construction: str) -> Callable[[Topology, str, Arguments], str | None]:
    """Return a function for `Algorithm.forest_construction` that depends on ``messages``.

    The returned function returns ``construction`` if there is a single message, and otherwise None,
    because no construction builds the trees of several messages.
    """
    return lambda _topology, _ports, values: construction if values["messages"] == 1 else None


def refuse_uneven(topology: Topology, arguments: Arguments) -> Refusal | None:
    """Return why the perfectly balanced trees cannot share the messages equally, or None."""
    messages = int(arguments["messages"])
    if messages % topology.degree == 0:
        return None
    examples = ", ".join(str(times * topology.degree) for times in (1, 2, 3))
    return Refusal(
        f"messages must be a multiple of n-1 = {topology.degree}, but is {messages}",
        f"use {examples}, ... messages",
    )


#: The smallest n for which perfectly balanced trees are defined. In S_2 there is nothing to rotate
#: (docs/definitions/fragopoulou-akl.md, pitfall 18).
SMALLEST_BALANCED = 3
#: The argument ``messages`` of algorithms along perfectly balanced trees. A node whose necklace has
#: p nodes is in (n-1)/p trees, so n-1 messages can be divided equally among the trees of any node.
MultipleMessages = Annotated[
    int,
    Argument(
        "messages",
        "number of messages, each of one unit (M); a multiple of n-1",
        default=lambda topology: topology.degree,
    ),
]


@algorithm(
    "scatter", "balanced", families=["star"], source="Fragopoulou & Akl 1993, section 5.1, Rule 5",
    rows=count_rows, forest_construction=if_single("balanced"),
)  # fmt: skip
def _scatter_balanced(topology: Topology, root: int, ports: Ports, messages: Messages) -> Draft:
    return build_scatter(balanced_forest(topology, messages), ports, messages)


def _declare_near_balanced(name: str, source: str, ports: Ports) -> None:
    @algorithm(
        "scatter", name, families=["star"], ports=[ports], source=source, rows=count_rows,
        forest_construction=lambda *_: "near-balanced",
    )  # fmt: skip
    def build(topology: Topology, root: int, ports: Ports, messages: Messages) -> Draft:
        return build_scatter(trees.forest(topology, "near-balanced"), ports, messages)


_declare_near_balanced("near-balanced", "Fragopoulou & Akl 1993, Def. 13, Rule 5", "all")


@algorithm(
    "scatter", "perfectly-balanced", families=["star"],
    source="Fragopoulou & Akl 1993, Def. 15, Rule 5", smallest=SMALLEST_BALANCED, rows=count_rows,
    forest_construction=lambda *_: "perfectly-balanced", refusal=refuse_uneven,
)  # fmt: skip
def _scatter_perfectly_balanced(
    topology: Topology, root: int, ports: Ports, messages: MultipleMessages
) -> Draft:
    return build_scatter(trees.forest(topology, "perfectly-balanced"), ports, messages)


_declare_near_balanced("one-port", "Fragopoulou & Akl 1993, section 6, Rule 8", "one")
