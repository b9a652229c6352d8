"""Algorithms along edge-disjoint trees: with x copies, every live node survives any x-1 faults.

Fragopoulou & Akl 1996 on star graphs; on hypercubes, the broadcast along the trees of Johnsson & Ho
1989. The model is all-port, and a directed link carries one unit per step. The schedule is fixed in
advance, so no node needs to know about a fault.
"""

from collections.abc import Callable

from starcast.collectives import edge_disjoint_broadcast as broadcasts
from starcast.collectives import edge_disjoint_personalized as personalized
from starcast.collectives.algorithm import COPIES, MESSAGES, Algorithm, Arguments
from starcast.collectives.model import Schedule
from starcast.support.vocabulary import Collective
from starcast.topologies import Topology
from starcast.trees.edge_disjoint_levels import level_sum


def _algorithm(
    collective: Collective,
    section: str,
    build: Callable[..., Schedule],
    rows: Callable[[Topology, Arguments], int],
) -> Algorithm:
    """Return an algorithm along the trees of EDT on star graphs."""
    return Algorithm(
        collective,
        personalized.NAME,
        ("star",),
        ("all",),
        (MESSAGES, COPIES),
        f"Fragopoulou & Akl 1996, {section}",
        build,
        rows,
        lambda *_: personalized.NAME,
    )


def _messages_and_copies(arguments: Arguments) -> tuple[int, int]:
    return int(arguments["messages"]), int(arguments["copies"])


def _count_broadcast_rows(topology: Topology, arguments: Arguments) -> int:
    """Every copy crosses one link to every node except the root."""
    messages, copies = _messages_and_copies(arguments)
    return messages * copies * (topology.nodes - 1)


def _count_scatter_rows(topology: Topology, arguments: Arguments) -> int:
    return personalized.scatter_transmissions(topology, *_messages_and_copies(arguments))


def _count_alltoall_rows(topology: Topology, arguments: Arguments) -> int:
    """A copy crosses as many links as its destination's level; the level sums of trees agree."""
    messages, copies = _messages_and_copies(arguments)
    return messages * copies * level_sum(topology)


ALGORITHMS = (
    _algorithm(
        "broadcast", "sections 4.2 and 4.3", broadcasts.build_broadcast, _count_broadcast_rows
    ),
    Algorithm(
        "broadcast", "edge-disjoint-binomial", ("hypercube",), ("all",), (MESSAGES, COPIES),
        "Johnsson & Ho 1989",
        broadcasts.build_broadcast_on_cube, _count_broadcast_rows,
        lambda *_: "edge-disjoint-binomial", smallest=1,
    ),
    _algorithm("allgather", "section 4.4", broadcasts.build_allgather, _count_broadcast_rows),
    _algorithm("scatter", "section 4.5", personalized.build_scatter, _count_scatter_rows),
    _algorithm("alltoall", "section 4.6", personalized.build_alltoall, _count_alltoall_rows),
)  # fmt: skip
