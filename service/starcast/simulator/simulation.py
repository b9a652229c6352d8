"""Executes a schedule: judges its rows, and tells what happened."""

from collections.abc import Iterable

from starcast.collectives.model import Schedule
from starcast.simulator.arrivals import arrivals
from starcast.simulator.fault_execution import carried_out
from starcast.simulator.faults import FaultLike, Outages
from starcast.simulator.ownership import Held, check_size, lacking
from starcast.simulator.postconditions import Promise, promised
from starcast.simulator.results import Simulation
from starcast.simulator.rows import Broken, Mask, Rows
from starcast.simulator.rules import misaddressed
from starcast.simulator.traffic import Traffic, traffic

_FEW = 10  # undelivered units that are named


def simulate(schedule: Schedule, faults: Iterable[FaultLike] = ()) -> Simulation:
    """Execute a schedule.

    Args:
        schedule: any schedule; it is not believed.
        faults: nodes (label or rank), links (pairs of neighbours), or a `Fault` from some step on; of several at one place the
            earliest counts. Under faults nothing is a
            violation of holding: a row whose node or link is down, or whose sender lacks the unit, is left out. Dead nodes
            (whenever they die) are owed nothing, and in an allgather, gather or alltoall nobody is owed what they had to
            send. Faults break the symmetry, so that a symmetric schedule is expanded.

    Raises:
        InputError: a fault is no node and no link, or the number of units does not fit the collective.
        LimitError: there are too many units, or rows of all sources, for memory.
    """
    outages = Outages(schedule.topology, faults)
    promise = promised(schedule)
    check_size(promise)
    rows = Rows(schedule)
    carried = traffic(schedule, rows)
    broken = misaddressed(rows)
    broken = carried.crowded(_end(rows, broken)) or broken
    if outages:
        return under_faults(rows.of_time(rows.before(_end(rows, broken))).expand(), outages, broken)
    delivered = arrivals(promise, rows, _end(rows, broken))
    broken = delivered.premature() or broken
    done = rows.before(_end(rows, broken))
    return _told(carried, promise, slice(done), delivered.held(done), broken)


def under_faults(
    schedule: Schedule, outages: Outages, broken: Broken | None = None, sent: Mask | None = None
) -> Simulation:
    """Execute a schedule of well-addressed rows under faults.

    Args:
        schedule: not symmetric.
        outages: the faults.
        broken: the row that ended it, if one did.
        sent: bool ``[rows]``: the rows that are tried at all; all unless given.
    """
    promise, rows = promised(schedule), Rows(schedule)
    check_size(promise)
    done, held = carried_out(rows, promise, outages, sent)
    return _told(Traffic(rows), promise, done, held, broken, outages)


def _end(rows: Rows, broken: Broken | None) -> int:
    return len(rows) if broken is None else broken.row


def _told(
    carried: Traffic,
    promise: Promise,
    done: slice | Mask,
    held: Held,
    broken: Broken | None,
    outages: Outages | None = None,
) -> Simulation:
    missing, named = lacking(promise, held, outages.alive() if outages else None, _FEW)
    links_used, packet_sizes = carried.packets(done)
    label = carried.rows.schedule.topology.label
    return Simulation(
        steps=len(links_used),
        transmissions=len(carried.rows.step[done]) * carried.sources,
        largest_packet=int(packet_sizes.max(initial=0)),
        complete=broken is None and not missing,
        missing=missing * carried.sources,
        undelivered=tuple((label(node), unit) for node, unit in named),
        violation=broken.sentence if broken else None,
        links_used=links_used,
        packet_sizes=packet_sizes,
        remarks=outages.remarks(promise) if outages else (),
    )
