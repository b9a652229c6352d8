"""Gather, reduce and reduce-scatter, which reverse other collectives in time, and allreduce.

A gather is a reversed scatter (Fragopoulou & Akl 1993, section 6). A reversed broadcast is a
reduce: it adds contributions along the paths to the root. A reversed allgather is a reduce-scatter
(Chan, Heimlich, Purkayastha & van de Geijn 2007, section 3).

An allreduce is a reduce-scatter followed by an allgather, or a reduce followed by a broadcast.

References: R. Rabenseifner, "Optimization of Collective Reduction Operations", ICCS 2004;
P. Patarasuk and X. Yuan, "Bandwidth optimal all-reduce algorithms for clusters of workstations",
JPDC 69(2), 2009; E. Chan, M. Heimlich, A. Purkayastha and R. van de Geijn, "Collective
communication: theory, practice, and experience", CCPE 19(13), 2007.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.algorithm import REGISTRIES, Algorithm
from starcast.collectives.model import REDUCTIONS, Schedule
from starcast.collectives.rows import Columns, concatenate_rows
from starcast.support.errors import InputError
from starcast.support.text import with_article
from starcast.support.vocabulary import Arguments, Collective, Ports
from starcast.topologies import Topology

#: The collectives whose algorithms are reversed, with the resulting collectives.
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
    """Return the schedule reversed in time and in the direction of every link.

    A unit that crosses a link in step t of T crosses the opposite link in step T+1-t, along the
    same tree of the same forest. If a scatter is reversed, the unit that the root sends to a node
    becomes the unit that the root receives from that node, with the same number. Where a broadcast
    or an allgather passes on a unit, the reversed schedule adds contributions.

    Raises:
        InputError: the collective is an alltoall or an allreduce, which cannot be reversed.
    """
    if schedule.collective not in _INVERSES:
        raise InputError(
            f"a schedule of {with_article(schedule.collective)} cannot be reversed",
            hint=f"use a schedule of one of these collectives: {', '.join(_INVERSES)}",
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


def build_allreduce(spread: Schedule) -> Schedule:
    """Return the allreduce that executes ``spread`` reversed (the first part), then forwards.

    ``spread`` is an allgather or a broadcast. An allgather begins after the first part, a
    reduce-scatter, has ended. A broadcast may begin before the first part, a reduce, has ended: the
    root sends the units in the order in which it completes their sums. The broadcast starts in the
    earliest step such that every sum is complete in time and the two parts do not conflict. They
    conflict if they use the same link in a step and the link can carry only one unit. In the
    one-port model, they conflict if an endpoint sends, or receives, in both parts in a step.
    """
    reduce = reverse_schedule(spread)
    backward = reduce.columns
    shift = spread.steps
    if spread.collective == "broadcast":
        first = _first_steps(spread)
        backward = backward._replace(unit=_exchange_units(first)[reduce.unit])
        shift = _earliest_shift(spread, reduce, first)
    forward = spread.columns._replace(
        step=spread.step + shift, combine=np.zeros(len(spread), dtype=bool)
    )
    rows = concatenate_rows([backward, forward])
    return spread.replace_rows(rows, collective="allreduce")


def _first_steps(spread: Schedule) -> NDArray[np.int64]:
    """Return, for each unit of a broadcast, the first step in which the unit is sent.

    Returns:
        int64 ``[units]``; the last step of the broadcast for units without rows.
    """
    # With this initial value, units without rows do not delay the broadcast part of an allreduce.
    first = np.full(spread.units, spread.steps, dtype=np.int64)
    np.minimum.at(first, spread.unit, spread.step)
    return first


def _exchange_units(first: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return new numbers for the units of the reduce, the first part of an allreduce.

    The reduce is the reversed broadcast, so the unit that the broadcast sends first would be the
    last unit that the reduce completes. All units are alike, so they are renumbered: the unit that
    the reduce completes first gets the number of the unit that the broadcast sends first, and so
    on. Then the broadcast can begin early.

    Args:
        first: the step in which the broadcast first sends each unit, ``[units]``.

    Returns:
        int64 ``[units]``.
    """
    unit = np.arange(len(first))
    exchanged = np.empty_like(unit)
    exchanged[np.lexsort((unit, -first))] = np.lexsort((unit, first))
    return exchanged


def _earliest_shift(spread: Schedule, reduce: Schedule, first: NDArray[np.int64]) -> int:
    """Return the number of steps by which an allreduce must delay its broadcast.

    Args:
        spread: the broadcast, before it is delayed.
        reduce: the reduce, which is the reversed broadcast.
        first: the step in which the broadcast first sends each unit, ``[units]``.
    """
    steps = spread.steps
    completed = np.sort(steps + 1 - first)
    least = int((completed + 1 - np.sort(first)).max(initial=1))
    pairs = list(zip(_busy(reduce), _busy(spread), strict=True))
    # No conflict is possible after the last step of the reduce, so the search ends there.
    for shift in range(least, steps):
        if not any((one[:, shift:] & other[:, : steps - shift]).any() for one, other in pairs):
            return shift
    return steps


def _busy(schedule: Schedule) -> list[NDArray[np.bool_]]:
    """Return which nodes or links are busy in each step, as a list of arrays.

    Returns:
        In the one-port model, an array for senders and an array for receivers. In the all-port
        model, an array for links, or no array if a link can carry several units as one packet. Each
        array is bool ``[numbers, steps]``, indexed by the number of the node or link, and by the
        step, from 0.
    """
    topology = schedule.topology
    used: list[NDArray[np.integer]] = []
    width = max(topology.ports) + 1
    link = schedule.sender * width + schedule.port
    if schedule.ports == "one":
        # A switch may use several links in a step, so its links are numbered one by one, after the
        # nodes.
        used = [
            np.where(end < topology.endpoints, end, topology.nodes + link)
            for end in (schedule.sender, schedule.receiver)
        ]
    elif not schedule.packets:
        used = [link]
    busy = []
    for number in used:
        rows = topology.nodes * (width + 1)
        busy.append(np.zeros((rows, schedule.steps), dtype=bool))
        busy[-1][number, schedule.step - 1] = True
    return busy


def _declare(
    algorithm: Algorithm,
    collective: Collective,
    turn: Callable[[Schedule], Schedule],
    passes: int = 1,
) -> None:
    """Declare an algorithm whose schedules are derived from those of another algorithm.

    Args:
        algorithm: the other algorithm, which has the same arguments, port models and trees.
        collective: the collective of the derived algorithm.
        turn: a function that derives a schedule from a schedule of the other algorithm.
        passes: the number of rows in the derived schedule for each row in the other schedule.
    """

    def build(topology: Topology, root: int, ports: Ports, **arguments: int | str) -> Schedule:
        built = turn(algorithm.build(topology, root, ports, **arguments))
        # The schedules of `greedy-matching` are built as schedules of the allgather `greedy`.
        is_same = built.algorithm == algorithm.name
        return built if is_same else replace(built, algorithm=algorithm.name)

    def count_rows(topology: Topology, arguments: Arguments) -> int:
        return passes * algorithm.rows(topology, arguments)

    REGISTRIES[collective].register(
        replace(algorithm, collective=collective, build=build, rows=count_rows)
    )


# These loops run when the module is imported, before plug-ins are loaded. So algorithms of plug-ins
# are not reversed.
for _collective, _reversed in REVERSED.items():
    for _algorithm in REGISTRIES[_collective].values():
        _declare(_algorithm, _reversed, reverse_schedule)
# If an allgather and a broadcast have the same name, the allreduce uses the allgather.
_SPREADS = {**REGISTRIES["broadcast"], **REGISTRIES["allgather"]}
# The allgather `greedy` and the broadcast of Tseng & Sheu have the same name, but are unrelated.
_SPREADS["greedy"] = REGISTRIES["broadcast"]["greedy"]
_SPREADS["greedy-matching"] = replace(REGISTRIES["allgather"]["greedy"], name="greedy-matching")
for _algorithm in _SPREADS.values():
    _declare(_algorithm, "allreduce", build_allreduce, passes=2)
