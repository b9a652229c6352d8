"""Scatter: the root has messages of its own for every other node, and each travels along a tree path of its own.

The scattering trees of Fragopoulou & Akl 1993 (sections 5 and 6) differ in how equal the subtrees of the root are, and Rule 5
takes as many steps as the fullest of them has messages. `scattered` applies both rules to any tree.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.algorithm import MESSAGES, Algorithm, Arguments, Refusal
from starcast.collectives.injection_order import Units, furthest_first
from starcast.collectives.model import Schedule
from starcast.collectives.rows import arranged, routed
from starcast.collectives.translation import moved
from starcast.errors import InputError
from starcast.registry import Argument
from starcast.topologies import Topology
from starcast.trees import Forest, forest
from starcast.trees.balanced import numbered_dimension, running_numbers


def scattered(along: Forest, ports: str, messages: int, **parameters: Any) -> Schedule:
    """``messages`` unit messages to every node down the trees of any forest, by Rule 5, or one-port by Rule 8.

    * Rule 5 (all-port): in every step, each link of the root sends the next message of its subtree.
    * Rule 8 (one-port): in every step one message, those of the first subtree before those of the next.

    Both send messages to the furthest nodes first, then by rank and number, and messages never wait on their way. Thus two
    messages of a subtree are never equally deep. In a single tree, or in trees that are the same but for their leaves, no
    link carries two, and it takes as many steps as the fullest subtree has messages, or one-port as there are messages:
    whoever is sent first is followed by messages to all nodes above. Other trees may get in one another's way.

    Args:
        along: the trees; every node must be in one.
        ports: ``all`` or ``one``.
        messages: M, for each destination.
        parameters: the others of the `Schedule`.

    Raises:
        InputError: a node is in no tree.
    """
    units = spread(along, messages)
    place = (units.tree, units.destination)
    departure = furthest_first(
        root_ports(along)[place], along.levels()[place], units.unit, in_turn=ports == "one"
    )
    rows = routed(along, *place, departure, units.unit)
    return arranged(
        rows,
        topology=along.topology,
        collective="scatter",
        ports=ports,
        root=along.root,
        units=along.topology.nodes * messages,
        packets=False,
        forest=along,
        **parameters,
    )


def spread(along: Forest, messages: int) -> Units:
    """Every destination's messages in turn over the trees that it is in: message i takes the (i mod k)-th of k.

    Raises:
        InputError: a node is in no tree.
    """
    counts = tree_counts(along)
    _check_all_reached(along, counts)
    holder, tree = np.nonzero(along.parent_port.T)
    begins = np.searchsorted(holder, np.arange(along.topology.nodes))
    destination, message = (
        column.reshape(-1)
        for column in np.meshgrid(np.unique(holder), np.arange(messages), indexing="ij")
    )
    chosen = begins[destination] + message % counts[destination]
    return Units(tree[chosen], destination, destination * messages + message)


def tree_counts(along: Forest) -> NDArray[np.int64]:
    """In how many trees each node is, int64 ``[nodes]``; 0 at the root, which is in all of them."""
    return np.asarray(np.count_nonzero(along.parent_port, axis=0), dtype=np.int64)


def root_ports(along: Forest) -> NDArray[np.uint8]:
    """The root's port above each node in each tree, uint8 ``[trees, nodes]``; 0 at the root and outside the tree."""
    back, nodes = along.topology.reverse_ports(), np.arange(along.topology.nodes)
    ports = np.empty_like(along.parent_port)
    for row, parents, out in zip(along.parent_port, along.parents(), ports, strict=True):
        top = np.where((parents < 0) | (parents == along.root), nodes, parents)
        for _ in range(
            along.height.bit_length()
        ):  # paths may be as long as a Hamiltonian one, so twice as far each time
            top = top[top]
        out[:] = back[row[top]]
    return ports


def _check_all_reached(along: Forest, counts: NDArray[np.int64]) -> None:
    outside = counts == 0
    outside[along.root] = False
    if outside.any():
        topology, node = along.topology, int(outside.argmax())
        raise InputError(
            f"nothing can be scattered along {along.id}: {topology.label(node)} is in none of its trees",
            hint="take a forest that reaches every node, such as 'balanced'",
        )


def balanced_copies(topology: Topology, messages: int) -> Forest:
    """The balanced trees of copies 0, 1, .. of a message, rooted at the identity; copy c uses tree c mod (n-1).

    The running number m goes on over the copies, so that these together fill the subtrees as equally as one does (section
    5.1). Each copy takes (n-1)! - 1 numbers. From n = 3 on that is -1 modulo n-1, of which v(m) is a function; hence the
    tree of a copy depends on the copy modulo n-1 alone, and there are at most n-1 trees.
    """
    first = forest(topology, "balanced")
    if messages == 1:
        return first
    rows = np.repeat(first.parent_port, min(messages, topology.degree), axis=0)
    for copy, row in enumerate(rows):
        dimensions = numbered_dimension(running_numbers(topology, copy), topology.n)
        row[1 : len(dimensions)] = dimensions[1:]
    return Forest(topology, rows)


def _along(construction: str) -> Callable[[Topology, int], Forest]:
    return lambda topology, _messages: forest(topology, construction)


def _scatter(name: str, trees: Callable[[Topology, int], Forest]) -> Callable[..., Schedule]:
    """The builder of an algorithm that scatters along these trees, which topology and messages decide."""

    def build(topology: Topology, root: int, ports: str, messages: int) -> Schedule:
        made = scattered(
            trees(topology, messages),
            ports,
            messages,
            algorithm=name,
            arguments={"messages": messages},
        )
        return moved(made, root)

    return build


def shortest_rows(topology: Topology, arguments: Arguments) -> int:
    """M t_n: each of M messages to every node over as many links as it is away."""
    return int(arguments.get("messages", 1)) * topology.distance_sum


def _balanced_along(_where: Topology, _ports: str, arguments: Arguments) -> str | None:
    return "balanced" if arguments["messages"] == 1 else None


def uneven(topology: Topology, arguments: Arguments) -> Refusal | None:
    """Why the perfectly balanced trees do not share the messages of a node equally, None where they do."""
    messages = int(arguments["messages"])
    if messages % topology.degree == 0:
        return None
    some = ", ".join(str(times * topology.degree) for times in (1, 2, 3))
    return Refusal(
        f"messages is {messages}, no multiple of n-1 = {topology.degree}",
        f"give messages {some}, ...",
    )


#: Where they begin, as the trees do: in S_2 the rotation has nothing to turn (docs/definitions/fragopoulou-akl.md, pitfall 18).
SMALLEST_BALANCED = 3
#: M, where it has to be a multiple of n-1: a node of a necklace of period p has (n-1)/p paths that share its messages.
MULTIPLE_MESSAGES = Argument(
    "messages", "unit messages, M, a multiple of n-1", default=lambda where: where.degree
)

ALGORITHMS = (
    Algorithm(
        "scatter", "balanced", ("star",), ("all",), (MESSAGES,), "Fragopoulou & Akl 1993, section 5.1, Rule 5",
        _scatter("balanced", balanced_copies), shortest_rows, _balanced_along,
    ),
    Algorithm(
        "scatter", "near-balanced", ("star",), ("all",), (MESSAGES,), "Fragopoulou & Akl 1993, Def. 13, Rule 5",
        _scatter("near-balanced", _along("near-balanced")), shortest_rows, lambda *_: "near-balanced",
    ),
    Algorithm(
        "scatter", "perfectly-balanced", ("star",), ("all",), (MULTIPLE_MESSAGES,), "Fragopoulou & Akl 1993, Def. 15, Rule 5",
        _scatter("perfectly-balanced", _along("perfectly-balanced")), shortest_rows,
        lambda *_: "perfectly-balanced", smallest=SMALLEST_BALANCED, refusal=uneven,
    ),
    Algorithm(
        "scatter", "one-port", ("star",), ("one",), (MESSAGES,), "Fragopoulou & Akl 1993, section 6, Rule 8",
        _scatter("one-port", _along("near-balanced")), shortest_rows, lambda *_: "near-balanced",
    ),
)  # fmt: skip
