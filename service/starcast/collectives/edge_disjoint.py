"""The algorithms along edge-disjoint trees: any x-1 faults leave a copy of every message to everybody who is alive.

Fragopoulou & Akl 1996 on star graphs; on hypercubes the broadcast along the trees of Johnsson & Ho 1989. The model is all-port,
and a directed link carries one unit in a step. Who sends what when is fixed before any fault: nobody needs to know of one.
"""

from collections.abc import Callable

from starcast.collectives import edge_disjoint_broadcast as spread
from starcast.collectives import edge_disjoint_personalized as addressed
from starcast.collectives.algorithm import COPIES, MESSAGES, Algorithm, Arguments
from starcast.collectives.gather import gathering
from starcast.collectives.model import Schedule
from starcast.topologies import Topology
from starcast.trees.edge_disjoint_levels import level_sum
from starcast.vocabulary import Collective


def _rule(
    collective: Collective,
    section: str,
    build: Callable[..., Schedule],
    rows: Callable[[Topology, Arguments], int],
) -> Algorithm:
    """An algorithm along the trees of EDT on star graphs."""
    return Algorithm(
        collective,
        addressed.NAME,
        ("star",),
        ("all",),
        (MESSAGES, COPIES),
        f"Fragopoulou & Akl 1996, {section}",
        build,
        rows,
        lambda *_: addressed.NAME,
    )


def _units(arguments: Arguments) -> tuple[int, int]:
    return int(arguments["messages"]), int(arguments["copies"])


def _spread_rows(topology: Topology, arguments: Arguments) -> int:
    """Every copy crosses a link to every node but the root."""
    messages, copies = _units(arguments)
    return messages * copies * (topology.nodes - 1)


def _scatter_rows(topology: Topology, arguments: Arguments) -> int:
    return addressed.scatter_transmissions(topology, *_units(arguments))


def _alltoall_rows(topology: Topology, arguments: Arguments) -> int:
    """Every copy over as many links as its destination's level; through every tree the levels have the same sum."""
    messages, copies = _units(arguments)
    return messages * copies * level_sum(topology)


_SCATTER = _rule("scatter", "section 4.5", addressed.scatter, _scatter_rows)
ALGORITHMS = (
    _rule("broadcast", "sections 4.2 and 4.3", spread.broadcast, _spread_rows),
    Algorithm(
        "broadcast", "edge-disjoint-binomial", ("hypercube",), ("all",), (MESSAGES, COPIES), "Johnsson & Ho 1989",
        spread.broadcast_on_cube, _spread_rows, lambda *_: "edge-disjoint-binomial", smallest=1,
    ),
    _rule("allgather", "section 4.4", spread.allgather, _spread_rows),
    _SCATTER,
    gathering(_SCATTER),
    _rule("alltoall", "section 4.6", addressed.alltoall, _alltoall_rows),
)  # fmt: skip
