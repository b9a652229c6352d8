"""Compute the time that a schedule takes, in the synchronous and the asynchronous model."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from starcast.collectives.model import Schedule
from starcast.judges.simulator.asynchronous import (
    AsynchronousExecution,
    CriticalSend,
    trace_data,
    trace_steps,
)
from starcast.judges.simulator.dependencies import SumDependencies, make_dependencies
from starcast.judges.simulator.faults import FaultLike
from starcast.judges.simulator.ownership import Postcondition
from starcast.judges.simulator.packets import Packets, RealNumber, Ticks, Times, exact_number
from starcast.judges.simulator.rows import Indices
from starcast.judges.simulator.simulation import Executed, Simulation, execute
from starcast.judges.simulator.sums import Sums
from starcast.support.axes import check_execution
from starcast.support.errors import RejectedError
from starcast.support.vocabulary import ExecutionModel
from starcast.topologies import Topology, memory


class PacketTimes(NamedTuple):
    """The start and end times of packets, as arrays.

    Packets are sorted by step, sender and port. In a symmetric schedule that may send several units
    as one packet, they are sorted by step and port only.

    Attributes:
        step: the steps, int64 ``[packets]``.
        sender: the ranks of the senders, int64 ``[packets]``.
        port: the ports of the senders, int64 ``[packets]``.
        receiver: the ranks of the receivers, int64 ``[packets]``.
        units: the number of units in each packet, int64 ``[packets]``.
        start: the times at which the packets start, int64 or object (see `Timing`).
        end: the times at which all units of the packets are at the receivers, int64 or object.
    """

    step: Indices
    sender: Indices
    port: Indices
    receiver: Indices
    units: Indices
    start: Times
    end: Times


@dataclass(frozen=True, eq=False)
class Timing:
    """The exact times of an execution.

    Times are in the unit of T_s, as integers where possible and as fractions otherwise.

    Attributes:
        execution: ``synchronous`` or ``asynchronous``.
        time: the end of the last packet; in a synchronous execution, the end of the last step.
        arrivals: ``[nodes]``, the time at which each node has received all of its units. The value
            is 0 for switches and for nodes that receive no units, and -1 for dead nodes and for
            nodes with missing units.
        link_busy: ``[nodes, ports]``, the total time in which each directed link carries packets.
            Ports are in the order of ``topology.ports``.
        simulation: the results of `starcast.simulate` for the same schedule and faults.

    The dtype of an array is int64, or object if T_s or the time per unit over a link is not an
    integer, or if a time in the array is 2^62 or more.
    """

    execution: ExecutionModel
    time: int | Fraction
    arrivals: Times
    link_busy: Times
    simulation: Simulation
    _path: Callable[[], tuple[CriticalSend, ...]] = field(repr=False)
    _packets: Callable[[], PacketTimes] = field(repr=False)

    @cached_property
    def critical_path(self) -> tuple[CriticalSend, ...]:
        """The packets that determine the total time, in chronological order.

        Synchronous model: the longest packet of each step that has packets (the first one if
        several are equal). Asynchronous model: a chain of packets that ends with the last packet;
        each packet started when the packet before it ended. If a packet waited equally long for a
        unit and for its link, sender or receiver, its ``waits_for`` names the link, sender or
        receiver. If the schedule is symmetric and is not expanded (see `packets`), only packets of
        the source whose rows are stored are listed.
        """
        return self._path()

    @cached_property
    def packets(self) -> PacketTimes:
        """The start and end times of every packet.

        In a symmetric schedule, each packet represents the packets of all links of its port, and
        has the sender and receiver of its first row. Under faults, or if the topology's translation
        changes ports, a symmetric schedule is expanded, and each packet represents only itself.
        """
        return self._packets()


def timing(
    schedule: Schedule,
    unit_bytes: RealNumber = 64,
    t_s: RealNumber = 100,
    t_c: RealNumber = 1,
    execution: ExecutionModel = "synchronous",
    faults: Iterable[FaultLike] = (),
) -> Timing:
    """Return the exact times of a schedule's execution.

    A packet consists of all units with the same step, sender and port. Over a link of capacity c
    and latency l, a packet lasts ``t_s + l + units * unit_bytes * t_c / c``, and its units are at
    the receiver when it ends. In most topologies, c is 1 and l is 0 for every link.

    *synchronous*: all packets of a step start together, and a step lasts as long as its longest
    packet. A step without packets lasts ``t_s``. The total time is the sum over all steps.

    *asynchronous*: a packet starts as soon as all its units are at the sender and its directed link
    is free. The packets of a link keep the order of their steps. In the one-port model, an endpoint
    sends one packet at a time and receives one at a time, both in the order of steps. A unit that
    several packets deliver is at the receiver when the earliest packet ends.

    All times are computed as integer multiples of the largest time that divides ``t_s``, all
    latencies and all times per unit. The integers have 32 or 64 bits if they fit; otherwise they
    are Python integers, which are about 50 times slower. A float is replaced by its exact binary
    value. Under faults, the same rows are dropped as in `starcast.simulate`. A symmetric schedule
    is executed without expanding it, unless translation changes ports (in most S_{n,k}) or there
    are faults.

    Args:
        schedule: any schedule that `starcast.simulate` accepts.
        unit_bytes: bytes per unit.
        t_s: T_s, the start-up time of a packet, in any time unit.
        t_c: T_c, the time per byte, in the same time unit.
        execution: the execution model, as described above.
        faults: the faulty nodes and links, in the form that `starcast.simulate` accepts.

    Raises:
        InputError: a number is negative or infinite, a unit has 0 bytes, the execution model is
            unknown, a fault is invalid, or the collective cannot have this number of units.
        LimitError: the schedule has too many steps or units, or the rows of all sources or the
            arrival times of all units do not fit into memory.
        RejectedError: the schedule has a violation; the message describes it.

    Example:
        >>> schedule = starcast.schedule("S4", "broadcast", "multiple", segments=4)
        >>> starcast.timing(schedule).time
        2444
        >>> starcast.timing(schedule, execution="asynchronous").time
        2124
    """
    ticks = make_ticks(schedule.topology, unit_bytes, t_s, t_c, execution)
    # If translation changes ports, packets of different sources can wait for each other on a link.
    # So the rows of one source do not determine the times.
    if schedule.symmetric and not schedule.topology.translation_keeps_ports:
        schedule = schedule.expand()
    return time_executed(execute_valid(schedule, faults), ticks, execution)


def execute_valid(schedule: Schedule, faults: Iterable[FaultLike]) -> Executed:
    """Execute a schedule; reject a schedule with a violation, because its times are undefined.

    Raises:
        InputError: a fault is invalid, or the collective cannot have this number of units.
        LimitError: the schedule is too large to execute.
        RejectedError: the schedule has a violation; the message describes it.
    """
    executed = execute(schedule, faults)
    violation = executed.simulation.violation
    if violation is not None:
        raise RejectedError(
            f"the time of {schedule.id} is undefined, because the schedule is invalid: {violation}",
            hint="correct the rows of the schedule",
        )
    return executed


def time_executed(executed: Executed, ticks: Ticks, execution: ExecutionModel) -> Timing:
    """Return the result of `timing` for rows that have been executed without a violation."""
    simulation = executed.simulation
    topology = executed.rows.schedule.topology
    ticks.choose_dtype(ticks.end_of_steps(simulation), topology.port_count * topology.nodes)
    # The synchronous times are an upper bound in both models, so they also determine the dtype.
    clock = ticks.full(simulation.steps + 1, 0)
    packets = Packets(executed)
    if topology.has_equal_links:
        clock[1:] = np.cumsum(ticks.durations(simulation.packet_sizes))
    else:
        # A step without packets lasts T_s.
        longest = ticks.full(simulation.steps, ticks.start_up)
        step = packets.first_of(packets.step)
        np.maximum.at(longest, step - 1, packets.durations(ticks))
        clock[1:] = np.cumsum(longest)
    if execution == "synchronous":
        return _time_steps(executed, packets, ticks, clock)
    return _time_data(executed, packets, ticks, clock)


def make_ticks(
    topology: Topology, unit_bytes: RealNumber, t_s: RealNumber, t_c: RealNumber, execution: str
) -> Ticks:
    """Check the parameters of an execution; return the object that converts times to integers.

    Raises:
        InputError: a number is negative or infinite, a unit has 0 bytes, or the execution model is
            unknown.
    """
    check_execution(execution)
    bytes_per_unit = exact_number(unit_bytes, "unit_bytes", is_positive=True)
    start_up = exact_number(t_s, "t_s")
    return Ticks(topology, start_up, bytes_per_unit * exact_number(t_c, "t_c"))


def _time_steps(executed: Executed, packets: Packets, ticks: Ticks, clock: Times) -> Timing:
    """Return the times of an execution in the synchronous model.

    Args:
        executed: the executed rows and their postcondition.
        packets: the same rows, grouped by packet.
        ticks: the conversion between times and ticks.
        clock: ``[steps + 1]``, the end of each step in ticks; the first value is 0.
    """
    postcondition = executed.postcondition
    end = clock[packets.step]
    if isinstance(executed.deliveries, Sums):
        node, _, step = _find_required(executed.deliveries)
        first = clock[np.minimum(step, len(clock) - 1)]
        first[step == Sums.never] = ticks.never
        arrivals = _find_completions(executed, packets, ticks, node, first)
    else:
        table = None
        if postcondition.to_all:
            _check_memory(postcondition)
            table = ticks.full(postcondition.nodes * postcondition.units, ticks.never)
            pair = packets.receiver * np.int64(postcondition.units) + packets.unit
            # A unit can arrive at a node several times. numpy keeps the last value written, which
            # is the earliest step because the rows are reversed.
            table[pair[::-1]] = end[::-1]
        arrivals = _find_arrivals(executed, packets, ticks, end, table)
    return Timing(
        "synchronous",
        ticks.time(clock[-1]),
        ticks.times(arrivals),
        ticks.times(_sum_link_times(packets, ticks)),
        executed.simulation,
        lambda: trace_steps(packets, ticks, clock),
        lambda: _describe_packets(packets, ticks, clock[packets.first_of(packets.step) - 1]),
    )


def _time_data(executed: Executed, packets: Packets, ticks: Ticks, clock: Times) -> Timing:
    """Return the times of an execution in the asynchronous model.

    The parameters are those of `_time_steps`. The synchronous times in ``clock`` are upper bounds.
    """
    if executed.postcondition.to_all:
        _check_memory(executed.postcondition)
    dependencies = make_dependencies(packets, executed)
    execution = AsynchronousExecution(packets, dependencies, ticks, clock)
    if isinstance(dependencies, SumDependencies):
        node, unit, step = _find_required(dependencies.sums)
        first = dependencies.completes(node, unit).latest(execution.arrival)
        first[step == Sums.never] = ticks.never
        arrivals = _find_completions(executed, packets, ticks, node, first)
    else:
        end = execution.end if packets.single else np.repeat(execution.end, packets.units)
        arrivals = _find_arrivals(executed, packets, ticks, end, execution.arrival)
    return Timing(
        "asynchronous",
        ticks.time(execution.end.max(initial=0)),
        ticks.times(arrivals),
        ticks.times(_sum_link_times(packets, ticks)),
        executed.simulation,
        lambda: trace_data(packets, ticks, dependencies, execution),
        lambda: _describe_packets(packets, ticks, execution.end - execution.duration),
    )


def _find_required(sums: Sums) -> tuple[Indices, Indices, Indices]:
    """Return the (node, unit) pairs of a reduction whose node must have the complete unit.

    Returns:
        Three arrays: for each required pair, the node, the unit, and the step after which the node
        has the complete unit (`Sums.never` if the node never has it).
    """
    postcondition = sums.postcondition
    unit = np.arange(postcondition.units)
    if postcondition.to_all:
        node = np.repeat(np.arange(postcondition.endpoints), len(unit))
        unit = np.tile(unit, postcondition.endpoints)
    else:
        node = postcondition.destination(unit)
    return node, unit, sums.complete(node, unit)


def _find_completions(
    executed: Executed, packets: Packets, ticks: Ticks, node: Indices, first: Times
) -> Times:
    """Return the time in ticks at which each node of a reduction has all of its units, ``[nodes]``.

    Args:
        executed: the executed rows and their postcondition.
        packets: the same rows, grouped by packet.
        ticks: the conversion between times and ticks.
        node: the node of each required (node, unit) pair; the node needs the complete unit.
        first: for each of these pairs, the time in ticks at which the node first has the complete
            unit.
    """
    arrivals = ticks.full(executed.postcondition.nodes, 0)
    np.maximum.at(arrivals, node, first)
    return _represent_all(arrivals, executed, packets, ticks)


def _describe_packets(packets: Packets, ticks: Ticks, start: Times) -> PacketTimes:
    """Return the packets with their start and end times, given their start times in ticks."""
    end = start + packets.durations(ticks)
    return PacketTimes(*packets.columns(), ticks.times(start), ticks.times(end))


def _check_memory(postcondition: Postcondition) -> None:
    memory.require(
        8 * postcondition.nodes * postcondition.units,
        "the arrivals of all units",
        "use fewer segments or messages",
    )


def _find_arrivals(
    executed: Executed, packets: Packets, ticks: Ticks, end: Times, first: Times | None
) -> Times:
    """Return the time in ticks at which each node has all of its units, ``[nodes]``.

    Args:
        executed: the executed rows and their postcondition.
        packets: the same rows, grouped by packet.
        ticks: the conversion between times and ticks.
        end: ``[rows]``, the end time of each row's packet.
        first: ``[nodes * units]``, the time at which each unit first arrives at each node; used if
            every endpoint must receive every unit.
    """
    postcondition = executed.postcondition
    alive = executed.alive
    units = np.arange(postcondition.units)
    source = postcondition.source(units)
    if alive is not None and postcondition.many_senders:
        units = units[alive[source]]
        source = source[alive[source]]
    if postcondition.to_all and first is not None:
        table = first.reshape(postcondition.nodes, postcondition.units)
        table[source, units] = 0
        required = table if len(units) == postcondition.units else table[:, units]
        arrivals: Times = required.max(axis=1, initial=0)
        arrivals[postcondition.endpoints :] = 0
    else:
        destination = postcondition.destination(np.arange(postcondition.units))
        delivery = ticks.full(postcondition.units, ticks.never)
        delivers = packets.receiver == destination[packets.unit]
        # If several rows deliver a unit, the earliest delivery determines its arrival.
        np.minimum.at(delivery, packets.unit[delivers], end[delivers])
        delivery[units[source == destination[units]]] = 0
        arrivals = ticks.full(postcondition.nodes, 0)
        np.maximum.at(arrivals, destination[units], delivery[units])
    return _represent_all(arrivals, executed, packets, ticks)


def _represent_all(arrivals: Times, executed: Executed, packets: Packets, ticks: Ticks) -> Times:
    """Extend arrival times to the units of all sources; set dead nodes' times to `Ticks.never`.

    In a symmetric schedule, the given times are those for the units of one source only.
    """
    alive = executed.alive
    # By symmetry, all nodes receive their last unit at the same time.
    if packets.symmetric:
        arrivals[:] = arrivals.max(initial=0)
    if alive is not None:
        arrivals[~alive] = ticks.never
    return arrivals


def _sum_link_times(packets: Packets, ticks: Ticks) -> Times:
    """Return the total time in ticks for which each directed link is busy, ``[nodes, ports]``."""
    topology = packets.links.topology
    shape = topology.port_count, (1 if packets.symmetric else topology.nodes)
    count = shape[0] * shape[1]
    sent: Times = np.bincount(packets.first_of(packets.link), minlength=count).astype(ticks.dtype)
    units = sent
    if not packets.single:
        units = np.bincount(packets.link, minlength=count).astype(ticks.dtype)
    busy = (sent * ticks.start_ups + units * ticks.per_units).reshape(shape).T
    return np.broadcast_to(busy, (topology.nodes, topology.port_count))
