"""Scatter: the root sends separate messages to every other node, along the paths of trees.

The scatter trees of Fragopoulou & Akl 1993 (sections 5 and 6) differ in the sizes of the root's
subtrees. With Rule 5, a scatter takes as many steps as there are messages for the largest subtree.
`build_scatter` applies Rules 5 and 8 to any tree.
"""

from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from starcast import trees
from starcast.catalogue import Argument
from starcast.collectives.algorithm import Arguments, Messages, Refusal, algorithm
from starcast.collectives.model import Draft
from starcast.collectives.rows import Units, order_furthest_first, route_units
from starcast.support.errors import InputError
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology
from starcast.trees import Forest
from starcast.trees.balanced import running_numbers
from starcast.trees.construction import numbered_dimensions
from starcast.trees.metrics import root_ports


def build_scatter(forest: Forest, ports: Ports, messages: int, units: Units | None = None) -> Draft:
    """Return the schedule that scatters down the trees of a forest.

    * Rule 5 (all-port): in every step, the root sends the next message of each subtree.
    * Rule 8 (one-port): in every step, the root sends one message; the messages of a subtree
      precede those of the next.

    Both rules send messages to the furthest nodes first, then by rank and message number. Messages
    never wait on their way, so two messages of a subtree are never on the same level. In a single
    tree, and in trees that differ only in their leaves, no link carries two messages in a step, and
    every message is followed by messages to all nodes above its destination. The schedule then
    takes as many steps as there are messages for the largest subtree (all-port), or messages in
    total (one-port). In other trees messages can collide; the simulator reports such collisions.

    Args:
        forest: the trees; every node must be in at least one.
        ports: the port model.
        messages: M, the number of unit messages per destination.
        units: the units and their trees; by default those of `assign_trees`.

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
    return Draft(rows, forest.topology.nodes * messages, forest)


def assign_trees(forest: Forest, messages: int) -> Units:
    """Assign each destination's messages to its k trees in turn: message i to tree i mod k.

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
    """Return one balanced tree per copy of a message, up to n-1; copy c uses tree c mod (n-1).

    A balanced tree numbers its leaves m = 1, 2, .., and each number determines the dimension v(m)
    towards the parent. The numbers continue from copy to copy, so all copies together fill the
    subtrees as equally as one copy does (Fragopoulou & Akl 1993, section 5.1). Each copy takes
    (n-1)! - 1 numbers. For n >= 3 that is -1 modulo n-1, and v(m) depends on m modulo n-1. Hence
    the tree of copy c depends only on c modulo n-1, and there are at most n-1 trees.
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
    """Return the number of rows: the distance sum times the messages, as all paths are shortest."""
    return int(arguments.get("messages", 1)) * topology.distance_sum


def _balanced_construction(_topology: Topology, _ports: str, arguments: Arguments) -> str | None:
    return "balanced" if arguments["messages"] == 1 else None


def refuse_uneven(topology: Topology, arguments: Arguments) -> Refusal | None:
    """Return a refusal if the perfectly balanced trees cannot share the messages equally."""
    messages = int(arguments["messages"])
    if messages % topology.degree == 0:
        return None
    examples = ", ".join(str(times * topology.degree) for times in (1, 2, 3))
    return Refusal(
        f"messages is {messages}, not a multiple of n-1 = {topology.degree}",
        f"give messages {examples}, ...",
    )


#: The smallest n with perfectly balanced trees: in S_2 there is nothing to rotate
#: (docs/definitions/fragopoulou-akl.md, pitfall 18).
SMALLEST_BALANCED = 3
#: The messages to a node whose necklace has p nodes are shared by (n-1)/p paths.
MultipleMessages = Annotated[
    int,
    Argument(
        "messages", "unit messages, M, a multiple of n-1", default=lambda topology: topology.degree
    ),
]


@algorithm(
    "scatter", "balanced", families=["star"], source="Fragopoulou & Akl 1993, section 5.1, Rule 5",
    rows=count_rows, forest_construction=_balanced_construction,
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
