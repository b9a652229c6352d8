"""Group the executed rows of a schedule into packets, with durations as exact integers.

A packet consists of all units that cross a directed link in a step. The rows of a symmetric
schedule represent all sources. If translation keeps ports, a row is translated to every directed
link of its port exactly once (see `starcast.judges.simulator.simulation`). All nodes then send and
receive packets of the same sizes at the same times. So one packet represents the packets of all
links of its port, and consists of the units of all rows with the same step and port.

All times in an execution are multiples of a tick, so they are computed as integers.
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from math import gcd, isfinite, lcm
from numbers import Rational
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.judges.simulator.rows import (
    Indices,
    Links,
    complete_steps,
    pack_sort,
    repeats_previous,
)
from starcast.judges.simulator.simulation import Executed, Simulation
from starcast.support.arrays import Integers, Mask
from starcast.support.errors import InputError
from starcast.topologies import Topology

#: Number of rows per batch, if steps are small enough to be executed in batches.
_BATCH = 2**16
#: Average number of rows per step above which steps are executed one by one, which is then faster
#: than executing batches.
_LARGE_STEP = 1000


class Chain(NamedTuple):
    """Resources of one kind, such as links, each of which serves one packet after another.

    Packets use a resource in the order of their steps.

    Attributes:
        name: ``link``, ``sender`` or ``receiver``.
        number: int ``[packets]``, the link or node that each packet uses.
        size: the number of resources; all values in ``number`` are smaller.
    """

    name: str
    number: Integers
    size: int


class PacketColumns(NamedTuple):
    """Packets as columns, in the order of steps.

    Attributes:
        step: int64 ``[packets]``, the step of each packet.
        sender: int64 ``[packets]``, the ranks of the senders.
        port: int64 ``[packets]``, the ports of the senders.
        receiver: int64 ``[packets]``, the ranks of the receivers.
        units: int64 ``[packets]``, the number of units in each packet.
    """

    step: Indices
    sender: Indices
    port: Indices
    receiver: Indices
    units: Indices


class Batch(NamedTuple):
    """Consecutive steps of an execution, with the ranges of their rows and packets."""

    rows: slice
    packets: slice


class Packets:
    """The packets of an execution, and its rows grouped by packet, in the order of steps.

    Attributes:
        step, sender, port, receiver, tree, unit: the columns of the rows, int ``[rows]`` each.
        combine: bool ``[rows]``, whether each row adds to the receiver's sum; only in reductions.
        symmetric: whether each row represents all sources.
        begins: int64 ``[packets]``, the first row of each packet.
        units: int64 ``[packets]``, the number of units in each packet.
        keeps_rows: whether the rows have the same order as the executed rows of the schedule.
        links: the directed links of the topology.
        one_port: whether the schedule uses the one-port model.
        single: whether every packet has only one unit.
    """

    step: Integers
    sender: Integers
    port: Integers
    receiver: Integers
    tree: Integers
    unit: Integers
    combine: Mask

    def __init__(self, executed: Executed) -> None:
        rows = executed.rows
        schedule = rows.schedule
        self.links = Links(schedule.topology)
        self.one_port = schedule.ports == "one"
        self.symmetric = executed.sources > 1
        self._names = tuple(schedule.columns.present())
        for name in self._names:
            setattr(self, name, getattr(rows, name)[executed.selection])
        # In a symmetric schedule whose units travel in packets, a packet can have rows of several
        # senders. These rows are not adjacent, so all rows are sorted by step and port.
        self.keeps_rows = not (self.symmetric and schedule.packets)
        if not self.keeps_rows:
            self._sort_by_port()
        if schedule.packets or schedule.topology.capacities is not None:
            same = (self.port,) if self.symmetric else (self.sender, self.port)
            self.begins = np.flatnonzero(~repeats_previous(self.step, *same))
        else:
            # Units do not travel in packets, and all links have capacity 1. The simulator has
            # checked that no link carries two units in a step, so every row is a packet of its own.
            self.begins = np.arange(len(self.step))
        self.units = np.diff(self.begins, append=len(self.step))
        self.single = len(self.begins) == len(self.step)

    def __len__(self) -> int:
        return len(self.begins)

    def first_of(self, column: Integers) -> Integers:
        """Return, for each packet, the value of its first row in the given column."""
        return column if self.single else column[self.begins]

    @cached_property
    def link(self) -> Indices:
        """The index of each row's directed link (see `Links`), ``[rows]``.

        In a symmetric schedule, it is the index of the port, since all links of a port are alike.
        """
        if self.symmetric:
            return self.links.port_index(self.port)
        return self.links.number(self.sender, self.port)

    def columns(self) -> PacketColumns:
        """Return the packets as columns; sender and receiver are those of a packet's first row."""
        return PacketColumns(
            step=self.first_of(self.step).astype(np.int64),
            sender=self.first_of(self.sender).astype(np.int64),
            port=self.first_of(self.port).astype(np.int64),
            receiver=self.first_of(self.receiver).astype(np.int64),
            units=self.units,
        )

    def durations(self, ticks: "Ticks") -> "Times":
        """Return the duration of each packet in ticks."""
        link = None if self.links.topology.has_equal_links else self.first_of(self.link)
        return ticks.durations(self.units, link)

    def chains(self) -> tuple[Chain, ...]:
        """Return the resources, other than units, for which packets wait.

        In the all-port model a packet waits for its directed link; in the one-port model, for its
        sender and its receiver. If one of them is a switch, the packet waits for the link instead
        of the switch. In a symmetric one-port schedule all packets of a step use the same port.
        Each node then sends one packet and receives one, so a single number represents all senders
        and receivers.
        """
        nodes = self.links.topology.nodes
        if self.symmetric and self.one_port:
            return (Chain("sender", np.zeros(len(self), dtype=np.int64), 1),)
        if self.symmetric:
            return (Chain("link", self.first_of(self.link), self.links.topology.port_count),)
        link = self.first_of(self.link)
        if not self.one_port:
            return (Chain("link", link, self.links.count),)
        ends = {"sender": self.first_of(self.sender), "receiver": self.first_of(self.receiver)}
        endpoints = self.links.topology.endpoints
        if endpoints == nodes:
            return tuple(Chain(name, end, nodes) for name, end in ends.items())
        # The packets of a switch wait for their links, which are numbered after the nodes.
        return tuple(
            Chain(name, np.where(end < endpoints, end, nodes + link), nodes + self.links.count)
            for name, end in ends.items()
        )

    def batches(self) -> Iterator[Batch]:
        """Yield batches of complete steps. If steps are large on average, yield each step alone."""
        steps = int(self.step[-1] - self.step[0]) + 1 if len(self.step) else 1
        size = 1 if len(self.step) > steps * _LARGE_STEP else _BATCH
        for rows in complete_steps(self.step, size):
            first, end = np.searchsorted(self.begins, (rows.start, rows.stop))
            yield Batch(rows, slice(int(first), int(end)))

    def _sort_by_port(self) -> None:
        port_count = self.links.topology.port_count
        key = np.multiply(self.step, port_count, dtype=np.int64) + self.links.port_index(self.port)
        order = pack_sort(key).order
        for name in self._names:
            setattr(self, name, getattr(self, name)[order])


def find_previous(number: Integers) -> Indices:
    """Return, for each packet, the previous packet on its link or at its node; -1 for the first.

    Args:
        number: ``[packets]``, the link or node that each packet uses (see `Chain`).
    """
    keys, order = pack_sort(number)
    previous = np.full(len(number), -1, dtype=np.int64)
    again = np.flatnonzero(repeats_previous(keys))
    previous[order[again]] = order[again - 1]
    return previous


#: Types of numbers that `exact_number` converts to fractions without rounding.
RealNumber = int | float | Fraction | Decimal | np.integer[Any] | np.floating[Any]
#: Times in ticks, int32 or int64, or Python integers (dtype object) if int64 could overflow.
Times = NDArray[Any]

# About half of the largest int64 and int32, so that the sum of two times does not overflow.
_MAX_VALUE = 2**62
_MAX_SHORT = 2**30


class Ticks:
    """Converts the times of an execution to integers that count ticks, and back.

    The tick is the largest time that divides T_s, all latencies and ``per_unit / c``, where c is
    the least common multiple of all capacities. If these times are all 0, the tick is 1.

    Args:
        topology: the topology with the links.
        start_up: T_s, the start-up time of a packet.
        per_unit: the time that a unit adds to its packet over a link of capacity 1.

    Attributes:
        tick: the duration of a tick.
        start_up: T_s in ticks.
        per_unit: the time per unit over a link of capacity 1, in ticks.
        start_ups: T_s plus the latency of each directed link, in ticks, with the indices of
            `Links`; a single number if no link has a latency.
        per_units: the time per unit on each directed link, in ticks, with the same indices; a
            single number if all capacities are 1.
        never: a time in ticks after the end of every execution; the arrival time of units that
            never arrive.
    """

    start_ups: "Times | int"
    per_units: "Times | int"

    def __init__(self, topology: Topology, start_up: Fraction, per_unit: Fraction) -> None:
        self._capacities, self._latencies = topology.capacities, topology.latencies
        capacities = [1] if self._capacities is None else np.unique(self._capacities).tolist()
        latencies = [0] if self._latencies is None else np.unique(self._latencies).tolist()
        capacities = [capacity for capacity in capacities if capacity]  # 0 means no link
        self._latency_unit = gcd(*latencies) or 1
        times = [start_up, per_unit / lcm(*capacities), Fraction(gcd(*latencies))]
        common = lcm(*(time.denominator for time in times))
        # If all times are 0, their gcd is 0; then any tick is valid, and the tick is 1.
        divisor = gcd(*(int(time * common) for time in times)) or common
        self.tick = Fraction(divisor, common)
        self.start_up = int(start_up / self.tick)
        self.per_unit = int(per_unit / self.tick)
        self._most_start_up = int((start_up + latencies[-1]) / self.tick)
        self._least_capacity = capacities[0]
        self._most_per_unit = self.per_unit // self._least_capacity
        self.never = 0
        self.dtype: type = object
        self.wide_dtype: type = object

    def choose_dtype(self, latest: int, links: int) -> None:
        """Choose the dtype of times, and a wider dtype for sums in the module `asynchronous`.

        Args:
            latest: an upper bound on all times, in ticks.
            links: the number of directed links.
        """
        self.never = max(latest, self._most_start_up + self._most_per_unit) + 1
        self.wide_dtype = np.int64 if 2 * (self.never + 1) * (links + 2) < _MAX_VALUE else object
        self.dtype = np.int32 if self.never < _MAX_SHORT else self.wide_dtype
        self.start_ups, self.per_units = self.start_up, self.per_unit
        if self._latencies is not None:
            multiples = (self._latencies.ravel() // self._latency_unit).astype(self.dtype)
            self.start_ups = self.start_up + multiples * int(self._latency_unit / self.tick)
        if self._capacities is not None:
            # A port without a link has capacity 0, which cannot be a divisor. It is replaced by the
            # smallest capacity of a link, because the times for a smaller divisor might not fit the
            # dtype.
            given = self._capacities.ravel()
            divisors = np.where(given, given, self._least_capacity).astype(object)
            self.per_units = np.asarray(self.per_unit // divisors).astype(self.dtype)

    def end_of_steps(self, simulation: Simulation) -> int:
        """Return an upper bound on the end of an execution, in ticks, given its simulation.

        The bound is exact for a synchronous execution if all links are equal. An asynchronous
        execution ends no later than a synchronous one.
        """
        sent = int(simulation.packet_sizes.sum())
        return simulation.steps * self._most_start_up + sent * self._most_per_unit

    def full(self, size: int, value: int) -> Times:
        """Return an array with ``size`` entries equal to ``value``, in the dtype of times."""
        return np.full(size, value, dtype=self.dtype)

    def durations(self, units: NDArray[np.int64], link: Integers | None = None) -> Times:
        """Return the durations, in ticks, of packets with the given numbers of units.

        Args:
            units: the number of units of each packet.
            link: the index of each packet's directed link; needed only if links differ.
        """
        start_up, per_unit = (
            each if isinstance(each, int) else each[link]
            for each in (self.start_ups, self.per_units)
        )
        return units.astype(self.dtype) * per_unit + start_up

    def time(self, ticks: int) -> int | Fraction:
        """Convert ticks to a time, as an int if the time is an integer."""
        return simplify(int(ticks) * self.tick)

    def times(self, ticks: Times) -> Times:
        """Convert ticks to times; `never` becomes -1.

        The dtype is int64, or object if the tick is not an integer or a time is 2^62 or more.
        """
        known = ticks < self.never
        latest = int(ticks[known].max(initial=0))
        if self.tick.denominator == 1 and max(latest, 1) * self.tick < _MAX_VALUE:
            known_times = np.full(ticks.shape, -1, dtype=np.int64)
            known_times[known] = ticks[known].astype(np.int64) * int(self.tick)
            return known_times
        exact = np.full(ticks.shape, -1, dtype=object)
        exact[known] = [self.time(value) for value in ticks[known].tolist()]
        return exact


def simplify(time: Fraction) -> int | Fraction:
    """Return a time as an int if the time is an integer; otherwise return it unchanged."""
    return int(time) if time.denominator == 1 else time


def exact_number(value: object, name: str, *, is_positive: bool = False) -> Fraction:
    """Convert a non-negative number to a fraction without rounding.

    Args:
        value: the number.
        name: the name of the number, for messages.
        is_positive: whether the number must not be 0.

    Raises:
        InputError: the value is not a finite number, or is too small.
    """
    # `isfinite` converts its argument to a float, which is impossible for large integers.
    is_finite = (
        isinstance(value, Rational | np.integer)
        or (isinstance(value, Decimal) and not value.is_snan() and isfinite(value))
        or (isinstance(value, float | np.floating) and isfinite(value))
    )
    if isinstance(value, bool) or not is_finite:
        raise InputError(
            f"{name} must be a finite number, but is {value!r}",
            hint="use an int, a Fraction, a Decimal or a finite float",
        )
    exact = Fraction(value.item() if isinstance(value, np.generic) else value)  # type: ignore[arg-type]
    if exact < 0 or (is_positive and exact == 0):
        rule, hint = (
            ("be positive", "use more than 0")
            if is_positive
            else ("not be negative", "use 0 or more")
        )
        raise InputError(f"{name} must {rule}, but is {value}", hint=hint)
    return exact
