"""Execute a schedule: check its rows, deliver its units, and report the results.

*Traffic* is the use of directed links by the rows. The traffic classes check the rules of the port
model, and count the links used in each step. There are three cases. If the schedule is not
symmetric, its rows contain all transmissions. If it is symmetric and translation keeps ports, the
rows of one source suffice to count the links of all sources. Otherwise the schedule is expanded to
all sources.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import Schedule
from starcast.judges.simulator.faults import FaultLike, Outages, execute_under_faults
from starcast.judges.simulator.ownership import (
    ArrivalTimes,
    Deliveries,
    Held,
    Journeys,
    Postcondition,
    check_size,
    derive_postcondition,
    find_missing,
)
from starcast.judges.simulator.rows import (
    Links,
    Rows,
    Violation,
    find_invalid_address,
    repeats_previous,
)
from starcast.judges.simulator.sums import Sums, find_double_count
from starcast.support.arrays import Integers, Mask
from starcast.support.errors import LimitError
from starcast.support.text import pluralize
from starcast.topologies import memory

Counts = NDArray[np.int64]
Checks = Iterator[tuple[Mask, str]]

_DUPLICATE = "the packet already carries this unit of this tree"
_BUSY = "the directed link already carries a unit in this step"
_FULL = "the directed link already carries as many units in this step as its capacity"
_TRANSLATED_BUSY = (
    "after translation to all sources, every directed link of that port already carries a unit in "
    "this step"
)
_SENDS_TWICE = "one-port: the sender already sends over another port in this step"
_RECEIVES_TWICE = "one-port: the receiver already receives from another node in this step"
_TRANSLATED_SENDS_TWICE = (
    "one-port: after translation to another source, the sender already sends over another port in "
    "this step"
)


class Traffic:
    """The traffic of a schedule that is not symmetric: each row is one transmission.

    Attributes:
        rows: the rows of the schedule.
        sources: the number of sources that each row represents; more than 1 only in a subclass.
    """

    def __init__(self, rows: Rows, sources: int = 1) -> None:
        self.rows = rows
        self.sources = sources

    def find_violation(self, end: int) -> Violation | None:
        """Find the first violation of the port model among the first ``end`` rows."""
        for batch in self.rows.batches(end):
            violation = self.rows.first_violation(batch.start, *self._checks(batch))
            if violation:
                return violation
        return None

    def measure(self, executed: slice | Mask) -> tuple[Counts, Counts]:
        """Count the links used in each step, and the units in the largest packet of each step.

        Args:
            executed: the rows to count, as a slice or as a mask of all rows.

        Returns:
            Two arrays, int64 ``[steps]`` each: the number of links, and the number of units.

        Raises:
            LimitError: there are too many steps.
        """
        step = self.rows.step[executed]
        steps = _last_step(step)
        same_packet = repeats_previous(step, self.rows.sender[executed], self.rows.port[executed])
        begins = np.flatnonzero(~same_packet)
        # Steps are sorted, so `searchsorted` can count them; `bincount` would copy them as int64.
        every_step = np.arange(1, steps + 1, dtype=step.dtype)
        links = np.diff(np.searchsorted(step[begins], every_step, side="right"), prepend=0)
        if len(begins) == len(step):  # every packet has one unit
            return links, (links > 0).astype(np.int64)
        return links, _greatest_per_step(np.diff(begins, append=len(step)), links)

    def _checks(self, batch: slice) -> Checks:
        rows = self.rows
        step = rows.step[batch]
        sender = rows.sender[batch]
        same_link = repeats_previous(step, sender, rows.port[batch])
        if rows.schedule.packets:
            yield same_link & repeats_previous(rows.tree[batch], rows.unit[batch]), _DUPLICATE
        elif (capacities := rows.schedule.topology.capacities) is None:
            yield same_link, _BUSY
        else:
            yield same_link & repeats_previous(rows.tree[batch], rows.unit[batch]), _DUPLICATE
            link = Links(rows.schedule.topology).number(sender, rows.port[batch])
            yield _count_in_run(same_link) >= capacities.ravel()[link], _FULL
        if rows.schedule.ports == "one":
            # Switches send and receive any number of packets.
            receiver, endpoints = rows.receiver[batch], rows.schedule.topology.endpoints
            again = repeats_previous(step, sender) & ~same_link
            yield again & (sender < endpoints), _SENDS_TWICE
            again = _receives_again(step, sender, receiver, ~same_link)
            yield again & (receiver < endpoints), _RECEIVES_TWICE


class TranslatedTraffic(Traffic):
    """The traffic of all sources of a symmetric schedule whose translations keep ports.

    The schedule has only the rows of one source. If all sources send, each row uses every directed
    link of its port once, for a unit of a different source. So in each step, a link carries as many
    units as the step has rows with the link's port.
    """

    def measure(self, executed: slice | Mask) -> tuple[Counts, Counts]:
        """Return the same counts as `Traffic.measure`, for the packets of all sources."""
        links = Links(self.rows.schedule.topology)
        port_count = links.topology.port_count
        step = self.rows.step[executed]
        steps = _last_step(step, port_count)
        first_cell = np.multiply(step, port_count, dtype=np.int64) - port_count
        cell = first_cell + links.port_index(self.rows.port[executed])
        units = np.bincount(cell, minlength=steps * port_count).reshape(steps, port_count)
        return self.sources * np.count_nonzero(units, axis=1), units.max(axis=1)

    def _checks(self, batch: slice) -> Checks:
        rows = self.rows
        step = rows.step[batch]
        port = rows.port[batch]
        if rows.schedule.packets:
            same_unit = repeats_previous(rows.tree[batch], rows.unit[batch])
            yield same_unit & repeats_previous(step, rows.sender[batch], port), _DUPLICATE
        else:
            yield _occurred_before(step, port), _TRANSLATED_BUSY
        if rows.schedule.ports == "one":
            begins = np.flatnonzero(~repeats_previous(step))
            first_port = np.repeat(port[begins], np.diff(begins, append=len(step)))
            yield port != first_port, _TRANSLATED_SENDS_TWICE


class ExpandedTraffic(Traffic):
    """The traffic of a symmetric schedule whose translations change ports.

    Such a schedule is expanded to the rows of all sources.

    Raises:
        LimitError: the expanded schedule does not fit into memory.
    """

    def find_violation(self, end: int) -> Violation | None:
        """Find the first row that violates the port model when all sources send."""
        self._all = Traffic(Rows(self.rows.first_rows(end).expand()))
        violation = self._all.find_violation(len(self._all.rows))
        if violation is None:
            return None
        # The violating row may belong to another source, whose rows were not given. The first given
        # row of the same step is reported instead.
        step = self._all.rows.step[violation.row]
        return Violation(int(np.searchsorted(self.rows.step, step)), violation.sentence)

    def measure(self, executed: slice | Mask) -> tuple[Counts, Counts]:
        """Return the same counts as `Traffic.measure`, for the packets of all sources.

        The rows must form complete steps, and `find_violation` must have checked them.
        """
        last = _last_step(self.rows.step[executed])
        end = int(np.searchsorted(self._all.rows.step, last, side="right"))
        return self._all.measure(slice(end))


def make_traffic(schedule: Schedule, rows: Rows) -> Traffic:
    """Return the traffic of a schedule; its class depends on the schedule's symmetry."""
    topology = schedule.topology
    if not schedule.symmetric:
        return Traffic(rows)
    kind = TranslatedTraffic if topology.translation_keeps_ports else ExpandedTraffic
    return kind(rows, topology.nodes)


def _count_in_run(same: Mask) -> Counts:
    """Return, for each row, the number of earlier rows in the same group of consecutive rows.

    Args:
        same: whether each row belongs to the group of the previous row.
    """
    row = np.arange(len(same))
    return np.asarray(row - np.maximum.accumulate(np.where(same, 0, row)))


def _receives_again(step: Integers, sender: Integers, receiver: Integers, packet: Mask) -> Mask:
    """Return which rows send to a node that already receives from another sender in the same step.

    Args:
        step: the steps, ascending.
        sender: the ranks of the senders.
        receiver: the ranks of the receivers.
        packet: whether each row is the first of its packet.
    """
    again = np.zeros(len(step), dtype=bool)
    # Sorting keys is much faster than sorting rows, and usually shows that there is no conflict.
    key = np.multiply(step[packet] - step[0], int(receiver.max()) + 1, dtype=np.int64)
    key += receiver[packet]
    key.sort()
    if repeats_previous(key).any():
        order = np.lexsort((sender, receiver, step))
        step = step[order]
        receiver = receiver[order]
        sender = sender[order]
        same_receiver = repeats_previous(step, receiver)
        again[order] = same_receiver & ~repeats_previous(step, receiver, sender)
    return again


def _occurred_before(step: Integers, port: Integers) -> Mask:
    """Return which rows of a symmetric schedule have the step and port of an earlier row.

    If all sources send, two rows with the same step and port use the same directed links.
    """
    repeated = np.zeros(len(step), dtype=bool)
    # Ports are uint8, so this factor gives different pairs of step and port different keys.
    key = np.multiply(step - step[0], 256, dtype=np.int64) + port
    if repeats_previous(np.sort(key)).any():
        order = np.argsort(key, kind="stable")
        repeated[order] = repeats_previous(key[order])
    return repeated


#: Maximum number of steps of a schedule with fewer rows than steps.
_MAX_SPARSE_STEPS = 1_000_000


def _last_step(step: Integers, width: int = 2) -> int:
    """Return a schedule's last step, after checking that arrays over all steps fit into memory.

    Steps come from files and plug-ins, so a few rows with large step numbers must not make these
    arrays large.

    Args:
        step: the steps, ascending.
        width: the number of array entries per step.

    Raises:
        LimitError: the arrays do not fit into memory, or the last step is larger than both the
            number of rows and `_MAX_SPARSE_STEPS`.
    """
    last = int(step[-1]) if len(step) else 0
    if last > max(_MAX_SPARSE_STEPS, len(step)):
        raise LimitError(
            f"{last:,} steps are too many for a schedule of {pluralize(len(step), 'row')}",
            hint="number the steps from 1, without gaps; gaps are allowed if the last step is at "
            f"most {_MAX_SPARSE_STEPS:,}",
        )
    if 8 * width * last > memory.physical():
        raise LimitError(
            f"the results of {last:,} steps do not fit into memory",
            hint="number the steps from 1, without gaps",
        )
    return last


def _greatest_per_step(sizes: Counts, counts: Counts) -> Counts:
    """Return the number of units in the largest packet of each step; 0 for a step without packets.

    Args:
        sizes: the sizes of all packets, in the order of steps.
        counts: the number of packets in each step.
    """
    greatest = np.zeros(len(counts), dtype=np.int64)
    used = counts > 0
    greatest[used] = np.maximum.reduceat(sizes, (np.cumsum(counts) - counts)[used])
    return greatest


#: Maximum number of pairs in `Simulation.undelivered`.
_EXAMPLES = 10


#: The columns of a stored step profile that follow the column ``step``, in order.
PROFILE_COLUMNS = ("links_used", "packets", "largest_packet")

#: The type of a step profile: the values of `PROFILE_COLUMNS` for each step. For a failed run, the
#: profile is empty.
Profile = Sequence[tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Simulation:
    """The results of a simulation; for a symmetric schedule, all sources are counted.

    Attributes:
        steps: the last step in which a unit moved.
        transmissions: the number of executed rows (each sends one unit over one link).
        largest_packet: the maximum number of units on one directed link in one step.
        complete: True if no row violates a rule, and every unit was delivered to all nodes that
            must receive it (see `simulate` for the exceptions under faults).
        missing: the number of (node, unit) pairs such that the unit was not delivered to the node,
            although the node must receive it.
        undelivered: at most the first 10 missing pairs, as (label, unit); ``missing`` counts all.
            For a symmetric schedule without faults, the pairs are those of the source whose rows
            are stored; under faults, those of the expanded schedule (`Schedule.expand`).
        violation: one sentence that names step, sender, port, receiver and the violated rule; None
            if there is no violation.
        links_used: int64 ``[steps]``, the number of directed links used in each step; each carries
            one packet.
        packet_sizes: int64 ``[steps]``, the number of units in the largest packet of each step.
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

    @property
    def step_profile(self) -> Profile:
        """The values of `PROFILE_COLUMNS` for each step, such as the number of links used."""
        # A directed link carries one packet per step, so there are as many packets as links used.
        links = self.links_used.tolist()
        return list(zip(links, links, self.packet_sizes.tolist(), strict=True))

    def list_steps(self) -> dict[str, NDArray[np.int64]]:
        """Return the links used and the largest packet of each step, as columns by name."""
        return {
            "step": np.arange(1, self.steps + 1),
            "links_used": self.links_used,
            "largest_packet": self.packet_sizes,
        }


class Executed(NamedTuple):
    """The executed rows of a schedule, with the results of their simulation.

    Attributes:
        simulation: the results of the simulation.
        rows: all rows in chronological order; under faults, the rows of all sources.
        selection: the executed rows, as a slice that starts at row 0 or, under faults, as a mask of
            ``rows``.
        sources: the number of sources that each row represents.
        postcondition: the postcondition of ``rows``.
        alive: bool ``[nodes]``, the nodes that do not fail in any step; None if there are no
            faults.
        deliveries: the deliveries of the rows; None under faults, except in reductions.
        violation: the violation that ended the execution, or None. Its row is an index in the given
            schedule before any expansion.
    """

    simulation: Simulation
    rows: Rows
    selection: slice | Mask
    sources: int
    postcondition: Postcondition
    alive: Mask | None
    deliveries: Deliveries | None
    violation: Violation | None


def simulate(schedule: Schedule, faults: Iterable[FaultLike] = ()) -> Simulation:
    """Execute a schedule and check it.

    Under faults, a row is dropped if its sender, receiver or link is down, or if its sender does
    not hold the unit. A dropped row is not a violation. Units need not be delivered to nodes that
    fail in any step. In an allgather, gather or alltoall, the units that come from these nodes need
    not be delivered either. Faults break the symmetry, so a symmetric schedule is expanded.

    In a reduction, a row violates a rule if it counts a contribution twice, passes on an incomplete
    unit as complete, or sends the sum of a switch that has no contribution yet. Under faults, rows
    of the last two kinds are dropped instead, and a unit is complete when it has the contributions
    of all nodes that do not fail in any step.

    Args:
        schedule: any schedule; it is checked, not trusted.
        faults: nodes (labels or ranks), links (pairs of neighbours), texts such as ``#6@3`` or
            ``12345-21345``, and `Fault` objects. If a node or link has several faults, the earliest
            counts.

    Returns:
        The results. If a row violates a rule, only the steps before the step of this row are
        executed.

    Raises:
        InputError: ``faults`` is not an iterable of faults, a fault is neither a node nor a link of
            the topology, or the number of units is not divisible by the number of sources,
            destinations or (source, destination) pairs.
        LimitError: the schedule has too many steps or units, or the rows of all sources do not fit
            into memory.

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
    rows = Rows(schedule)
    traffic = make_traffic(schedule, rows)
    # Faults break symmetry, so the rows of all sources are executed instead of one source's rows.
    check_size(postcondition, len(rows), traffic.sources if outages else 1)
    # Each check examines only the rows before the violation that earlier checks have found. So any
    # violation that the check finds comes before that violation.
    violation = find_invalid_address(rows)
    # The first row with an invalid node, port or unit and all later rows are not counted as
    # traffic, because their links may not exist.
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
    return _summarize(traffic, postcondition, slice(done), held, deliveries, violation)


def make_deliveries(postcondition: Postcondition, rows: Rows, end: int) -> Deliveries:
    """Return the deliveries of the first ``end`` rows; the collective determines their class."""
    if postcondition.reduces:
        return Sums(postcondition, rows, end)
    return (ArrivalTimes if postcondition.to_all else Journeys)(postcondition, rows, end)


def execute_outages(
    schedule: Schedule,
    outages: Outages,
    violation: Violation | None = None,
    attempted: Mask | None = None,
) -> Executed:
    """Execute a schedule under faults; its rows must have valid nodes, ports and units.

    Args:
        schedule: a schedule that is not symmetric.
        outages: the faulty nodes and links, with the first step of each outage.
        violation: the violation that was found before, for the result; None if there is none.
            ``schedule`` then has only the rows before the violation.
        attempted: bool ``[rows]``, the rows to execute if possible; all other rows are dropped. By
            default all rows.
    """
    postcondition = derive_postcondition(schedule)
    rows = Rows(schedule)
    executed, held, sums = execute_under_faults(rows, postcondition, outages, attempted)
    return _summarize(Traffic(rows), postcondition, executed, held, sums, violation, outages)


def _end(rows: Rows, violation: Violation | None) -> int:
    return len(rows) if violation is None else violation.row


def _summarize(
    traffic: Traffic,
    postcondition: Postcondition,
    executed: slice | Mask,
    held: Held,
    deliveries: Deliveries | None,
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
    rows, sources = traffic.rows, traffic.sources
    return Executed(
        simulation, rows, executed, sources, postcondition, alive, deliveries, violation
    )
