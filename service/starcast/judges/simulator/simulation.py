"""Execution of a schedule: check its rows, deliver its units, and report the results."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import Schedule
from starcast.judges.simulator.fault_execution import execute_under_faults
from starcast.judges.simulator.faults import FaultLike, Outages
from starcast.judges.simulator.links import find_invalid_address
from starcast.judges.simulator.ownership import (
    ArrivalTimes,
    Deliveries,
    Held,
    Journeys,
    check_size,
    find_missing,
)
from starcast.judges.simulator.postconditions import Postcondition, derive_postcondition
from starcast.judges.simulator.rows import Mask, Rows, Violation
from starcast.judges.simulator.sums import Sums, find_double_count
from starcast.judges.simulator.traffic import Traffic, make_traffic

_EXAMPLES = 10  # undelivered units that are named


@dataclass(frozen=True, eq=False)
class Simulation:
    """The results of a simulation; for a symmetric schedule, counts are those of all sources.

    Attributes:
        steps: the last step in which a unit moved.
        transmissions: the number of executed rows (units times links).
        largest_packet: the maximum number of units on one directed link in one step.
        complete: True if the postcondition holds: every live node received all of its units.
        missing: the number of (node, unit) pairs that are missing.
        undelivered: the first missing pairs, (label, unit). For a symmetric schedule without
            faults, those of the source whose rows are given, with the units of these rows; under
            faults, those of `Schedule.expand`.
        violation: None, or one sentence: step, sender, port, receiver and the violated rule.
        links_used: int64 ``[steps]``, directed links busy in each step, with one packet each.
        packet_sizes: int64 ``[steps]``, units in the largest packet of each step.
        remarks: sentences that explain the results, for example that the root is dead.
    """

    steps: int
    transmissions: int
    largest_packet: int
    complete: bool
    missing: int
    undelivered: tuple[tuple[str, int], ...]
    violation: str | None
    links_used: NDArray[np.int64]
    packet_sizes: NDArray[np.int64]
    remarks: tuple[str, ...] = ()


class Executed(NamedTuple):
    """The executed rows of a schedule, with the results of their simulation.

    Attributes:
        simulation: the results.
        rows: all rows in the order of time; under faults, those of all sources.
        selection: the executed rows: the first ones, or under faults a mask of ``rows``.
        sources: the number of sources that each row represents.
        postcondition: the postcondition of ``rows``.
        alive: bool ``[nodes]``, the nodes that never die; None without faults.
        deliveries: the deliveries of the rows; under faults None, unless it is a reduction.
        violation: the violation that ended the execution; its row is one of ``rows``.
    """

    simulation: Simulation
    rows: Rows
    selection: slice | Mask
    sources: int
    postcondition: Postcondition
    alive: Mask | None
    deliveries: Deliveries | None = None
    violation: Violation | None = None


def simulate(schedule: Schedule, faults: Iterable[FaultLike] = ()) -> Simulation:
    """Execute a schedule and check it.

    Under faults a row whose node or link is down, or whose sender does not hold the unit, is
    dropped; this is not a violation. Nothing need be delivered to nodes that die, at whatever step,
    and in an allgather, gather or alltoall none of the units that they would have sent. Faults
    break the symmetry, so a symmetric schedule is expanded.

    In a reduction, counting a contribution twice is a violation, and so is passing on an incomplete
    unit as complete. Under faults such a row is dropped instead, and a unit is complete with the
    contributions of all nodes that never die.

    Args:
        schedule: any schedule; it is checked, not trusted.
        faults: nodes (labels or ranks), links (pairs of neighbours), and `Fault` objects for
            outages that start in a later step. Of several faults of a node or link the earliest
            counts.

    Returns:
        The results. Execution stops at the first violation.

    Raises:
        InputError: a fault is neither a node nor a link, or the number of units does not fit the
            collective.
        LimitError: the units, or the rows of all sources, do not fit into memory.

    Example:
        >>> simulation = starcast.simulate(starcast.schedule("S4", "broadcast", "greedy"))
        >>> simulation.complete, simulation.steps, simulation.violation
        (True, 4, None)
    """
    return execute(schedule, faults).simulation


def execute(schedule: Schedule, faults: Iterable[FaultLike] = ()) -> Executed:
    """Execute a schedule like `simulate`, and return the executed rows with the results."""
    outages = Outages(schedule.topology, faults)
    postcondition = derive_postcondition(schedule)
    check_size(postcondition)
    rows = Rows(schedule)
    traffic = make_traffic(schedule, rows)
    # Each check ends at the violation that is known, so that one it finds is an earlier one.
    violation = find_invalid_address(rows)
    # The rows from an invalid address on have no link that could be counted.
    violation = traffic.find_violation(_end(rows, violation)) or violation
    if postcondition.reduces:
        violation = find_double_count(postcondition, rows, _end(rows, violation)) or violation
    if outages:
        valid = rows.first_rows(rows.count_before(_end(rows, violation)))
        return execute_outages(valid.expand(), outages, violation)
    deliveries = make_deliveries(postcondition, rows, _end(rows, violation))
    violation = deliveries.find_early_send() or violation
    done = rows.count_before(_end(rows, violation))
    held = deliveries.held_after(done)
    executed = _summarize(traffic, postcondition, slice(done), held, violation)
    return executed._replace(deliveries=deliveries)


def make_deliveries(postcondition: Postcondition, rows: Rows, end: int) -> Deliveries:
    """Return the deliveries of the first ``end`` rows, in the form that suits the collective."""
    if postcondition.reduces:
        return Sums(postcondition, rows, end)
    return (ArrivalTimes if postcondition.to_all else Journeys)(postcondition, rows, end)


def execute_outages(
    schedule: Schedule,
    outages: Outages,
    violation: Violation | None = None,
    attempted: Mask | None = None,
) -> Executed:
    """Execute a schedule whose rows have valid addresses under faults.

    Args:
        schedule: a schedule that is not symmetric.
        outages: the faults.
        violation: the violation that ended the schedule, if any.
        attempted: bool ``[rows]``, the rows that are attempted at all; by default all rows.
    """
    postcondition = derive_postcondition(schedule)
    rows = Rows(schedule)
    check_size(postcondition)
    executed, held, sums = execute_under_faults(rows, postcondition, outages, attempted)
    summary = _summarize(Traffic(rows), postcondition, executed, held, violation, outages)
    return summary._replace(deliveries=sums)


def _end(rows: Rows, violation: Violation | None) -> int:
    return len(rows) if violation is None else violation.row


def _summarize(
    traffic: Traffic,
    postcondition: Postcondition,
    executed: slice | Mask,
    held: Held,
    violation: Violation | None,
    outages: Outages | None = None,
) -> Executed:
    alive = outages.alive() if outages else None
    missing, examples = find_missing(postcondition, held, alive, _EXAMPLES)
    links_used, packet_sizes = traffic.measure(executed)
    label = traffic.rows.schedule.topology.label
    simulation = Simulation(
        steps=len(links_used),
        transmissions=len(traffic.rows.step[executed]) * traffic.sources,
        largest_packet=int(packet_sizes.max(initial=0)),
        complete=violation is None and not missing,
        missing=missing * traffic.sources,
        undelivered=tuple((label(node), unit) for node, unit in examples),
        violation=violation.sentence if violation else None,
        links_used=links_used,
        packet_sizes=packet_sizes,
        remarks=outages.remarks(postcondition) if outages else (),
    )
    rows = traffic.rows
    return Executed(
        simulation,
        rows,
        executed,
        traffic.sources,
        postcondition,
        alive,
        violation=violation,
    )
