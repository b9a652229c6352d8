"""Collectives that are others run backwards in time: gather, reduce and reduce-scatter.

A gather is a scatter backwards (Fragopoulou & Akl 1993, section 6). A broadcast backwards adds
contributions on their way to the root, which is a reduce; an allgather backwards is a
reduce-scatter (Chan, Heimlich, Purkayastha & van de Geijn 2007, section 3).
"""

from dataclasses import replace

import numpy as np

from starcast.collectives.algorithm import REGISTRIES, Algorithm
from starcast.collectives.model import REDUCTIONS, Schedule
from starcast.collectives.rows import Columns
from starcast.support.errors import InputError
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology

#: The collectives whose algorithms are reversed, and what they become.
REVERSED: dict[str, Collective] = {
    "scatter": "gather",
    "broadcast": "reduce",
    "allgather": "reduce-scatter",
}
_INVERSES: dict[str, Collective] = {
    **REVERSED,
    "gather": "scatter",
    "reduce": "broadcast",
    "reduce-scatter": "allgather",
}


def reverse_schedule(schedule: Schedule) -> Schedule:
    """Return the schedule that runs backwards in time and over every link.

    What crosses a link in step t of T crosses the opposite link in step T+1-t, along the same tree
    of the same forest. The unit that the root sends to a node becomes the unit that it receives
    from that node, with the same number. Where a broadcast passes a unit on, a reduce adds.

    Raises:
        InputError: the schedule is of another collective.
    """
    if schedule.collective not in _INVERSES:
        raise InputError(
            f"a schedule of a {schedule.collective} cannot be reversed",
            hint=f"only {', '.join(_INVERSES)} can",
        )
    collective = _INVERSES[schedule.collective]
    rows = Columns(
        step=schedule.steps + 1 - schedule.step,
        sender=schedule.receiver,
        port=schedule.topology.reverse_ports()[schedule.port],
        receiver=schedule.sender,
        tree=schedule.tree,
        unit=schedule.unit,
        combine=np.ones(len(schedule), dtype=bool) if collective in REDUCTIONS else None,
    )
    return schedule.replace_rows(rows, collective=collective)


def _declare_reversed(algorithm: Algorithm) -> None:
    """Declare an algorithm reversed, with its arguments, port models, trees and steps."""

    def build(topology: Topology, root: int, ports: Ports, **arguments: int | str) -> Schedule:
        return reverse_schedule(algorithm.build(topology, root, ports, **arguments))

    collective = REVERSED[algorithm.collective]
    REGISTRIES[collective].register(replace(algorithm, collective=collective, build=build))


for _collective in REVERSED:
    for _algorithm in REGISTRIES[_collective].values():
        _declare_reversed(_algorithm)
