"""Executes a schedule under its port model: proves that it keeps its promise, or names what breaks it.

The simulator knows nothing of how schedules are made. Its rules are those of store and forward: a unit that arrives in
step t can leave in step t+1 at the earliest. Without faults all rows are judged at once: let every row deliver, and note
when each node first gets each unit; if every sender had its unit before its row's step, then, by induction on the steps,
every row really delivers. Where some did not, those of the earliest step are real offenders, since all before were not.
With faults rows may fall out, and the steps are gone through one after the other.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.schedule import COLUMNS, Schedule
from starcast.errors import InputError, LimitError
from starcast.topologies import Topology

Fault = int | str | tuple[int | str, int | str]
Mask = NDArray[np.bool_]

_FEW = 10  # undelivered units that are named
_MOST_HOLDINGS = 2**31  # nodes times units: 8 GiB of arrival steps


@dataclass(frozen=True, eq=False)
class Simulation:
    """What happened.

    Attributes:
        steps: the last step in which anything moved.
        transmissions: rows carried out, units times links.
        largest_packet: most units on one directed link in one step.
        complete: everybody alive ends with what the collective promises.
        missing: how many (node, unit) pairs are missing.
        undelivered: the first few of them, (label, payload).
        violation: None, or one sentence: step, sender, port, receiver and the rule it breaks.
        link_use: int64 ``[steps]``: directed links busy in each step, one packet each.
        packet_sizes: int64 ``[steps]``: units in the largest packet of each step.
    """

    steps: int
    transmissions: int
    largest_packet: int
    complete: bool
    missing: int
    undelivered: tuple[tuple[str, int], ...]
    violation: str | None
    link_use: NDArray[np.int64]
    packet_sizes: NDArray[np.int64]


def simulate(schedule: Schedule, faults: Iterable[Fault] = ()) -> Simulation:
    """Execute a schedule.

    Args:
        schedule: any schedule; it is not believed.
        faults: nodes (label or rank) and links (pairs of neighbours), dead from the start. Under faults nothing is a
            violation of holding: a row whose node or link is down, or whose sender lacks the unit, is left out, and dead
            nodes are owed nothing.

    Raises:
        InputError: a fault is no node or no link.
        LimitError: there are too many units for memory.
    """
    if schedule.topology.nodes * schedule.units > _MOST_HOLDINGS:
        raise LimitError(
            f"{schedule.units} units on {schedule.topology.nodes} nodes are too many to simulate",
            hint="take fewer segments or messages, or a smaller topology",
        )
    rows = _Rows(schedule)
    dead_nodes, dead_links = _faults(schedule.topology, faults)
    under_faults = len(dead_nodes) > 0 or len(dead_links) > 0
    done, violation = rows.judge(believe_senders=under_faults)
    if violation or not under_faults:
        return _result(schedule, rows, done, rows.holdings(done), violation)
    done, held = rows.survive(dead_nodes, dead_links)
    held[dead_nodes] = True
    return _result(schedule, rows, done, held, None)


class _Rows:
    """The rows of a schedule in wide integers, sorted by step, sender and port."""

    def __init__(self, schedule: Schedule) -> None:
        columns = [np.asarray(getattr(schedule, name)).astype(np.int64) for name in COLUMNS]
        if not _ascending(columns[:3]):
            order = np.lexsort((columns[2], columns[1], columns[0]))
            columns = [column[order] for column in columns]
        self.step, self.sender, self.port, self.receiver, self.tree, self.payload = columns
        self.schedule = schedule
        self.nodes = schedule.topology.nodes

    def nothing(self) -> Mask:
        return np.zeros(len(self.step), dtype=bool)

    # ---- rules

    def judge(self, believe_senders: bool) -> tuple[Mask, str | None]:
        """Which rows are carried out, and the first violation: all rows, or those of the steps before it."""
        broken = [(mask, rule) for mask, rule in self._misaddressed() if mask.any()]
        sound = ~np.logical_or.reduce([mask for mask, _ in broken]) if broken else ~self.nothing()
        for mask, rule in (*self._crowded(), *(() if believe_senders else self._premature(sound))):
            if mask.any():
                broken.append((mask, rule))
        if not broken:
            return sound, None
        row, rule = min(((int(mask.argmax()), rule) for mask, rule in broken), key=lambda found: found[0])
        return sound & (self.step < self.step[row]), self._name(row, rule)

    def _misaddressed(self) -> Iterator[tuple[Mask, str]]:
        """Rows that name what does not exist: a step, a node, a port, a unit, or a receiver that is not across."""
        nodes, units, ports = self.nodes, self.schedule.units, self.schedule.topology.ports
        no_sender = (self.sender < 0) | (self.sender >= nodes)
        no_port = ~np.isin(self.port, ports)
        yield self.step < 1, "steps count from 1"
        yield no_sender, "the sender is no node"
        yield no_port, "the sender has no such port"
        yield self._not_beside(~(no_sender | no_port)), "the receiver is not across that port"
        yield (self.payload < 0) | (self.payload >= units), f"the collective has units 0 to {units - 1}"

    def _not_beside(self, sound: Mask) -> Mask:
        broken, topology = self.nothing(), self.schedule.topology
        for port in topology.ports:
            chosen = np.flatnonzero((self.port == port) & sound)
            senders = self.sender[chosen]
            # Many rows: the whole table once, at memory speed; few: only what they need.
            many = len(senders) > self.nodes // 8
            across = topology.neighbours(port)[senders] if many else topology.neighbours(port, senders)
            broken[chosen] = across != self.receiver[chosen]
        return broken

    def _crowded(self) -> Iterator[tuple[Mask, str]]:
        """Rows that the port model does not allow together; the rows are sorted by step, sender and port."""
        same_link = _runs(self.step, self.sender, self.port)
        if self.schedule.packets:
            yield self._repeated(same_link), "the packet already carries this unit of this tree"
        else:
            yield same_link, "the directed link already carries a unit in this step"
        if self.schedule.ports == "one":
            sends_more = _runs(self.step, self.sender) & ~same_link
            yield sends_more, "one-port: the sender already sends over another port in this step"
            yield self._receives_more(), "one-port: the receiver already receives from another node in this step"

    def _repeated(self, same_link: Mask) -> Mask:
        broken = self.nothing()
        # Only rows of packets with several units can repeat one another.
        crowd = np.flatnonzero(same_link | np.r_[same_link[1:], np.zeros(min(len(same_link), 1), dtype=bool)])
        columns = (self.step, self.sender, self.port, self.tree, self.payload)
        order = crowd[np.lexsort([column[crowd] for column in columns[::-1]])]
        broken[order] = _runs(*(column[order] for column in columns))
        return broken

    def _receives_more(self) -> Mask:
        order = np.lexsort((self.sender, self.receiver, self.step))
        step, receiver, sender = self.step[order], self.receiver[order], self.sender[order]
        broken = self.nothing()
        broken[order] = _runs(step, receiver) & ~_runs(step, receiver, sender)
        return broken

    def _premature(self, sound: Mask) -> Iterator[tuple[Mask, str]]:
        """Rows whose sender does not hold the unit when the step begins."""
        arrival = self._arrivals(sound)
        broken = self.nothing()
        broken[sound] = arrival[self.sender[sound], self.payload[sound]] >= self.step[sound]
        yield broken, "the sender does not hold the unit yet"

    def _name(self, row: int, rule: str) -> str:
        sender, receiver = self._label(self.sender[row]), self._label(self.receiver[row])
        sends = f"{sender} sends unit {self.payload[row]} over port {self.port[row]} to {receiver}"
        return f"step {self.step[row]}: {sends}: {rule}"

    def _label(self, rank: int) -> str:
        return self.schedule.topology.label(int(rank)) if 0 <= rank < self.nodes else f"node {rank}"

    # ---- execution

    def _arrivals(self, done: Mask) -> NDArray[np.int32]:
        """When each node first has each unit, int32 ``[nodes, units]``: 0 at the root, the greatest step where never."""
        never = np.iinfo(np.int32).max
        arrival = np.full((self.nodes, self.schedule.units), never, dtype=np.int32)
        # The rows are sorted by step, and of several values for one place the last one written stays.
        late_first = np.flatnonzero(done)[::-1]
        arrival[self.receiver[late_first], self.payload[late_first]] = self.step[late_first]
        arrival[self.schedule.root] = 0
        return arrival

    def holdings(self, done: Mask) -> Mask:
        """Who holds what in the end, bool ``[nodes, units]``."""
        return np.asarray(self._arrivals(done) < np.iinfo(np.int32).max)

    def survive(self, dead_nodes: NDArray[np.int64], dead_links: set[tuple[int, int]]) -> tuple[Mask, Mask]:
        """Step by step: which rows are carried out under faults, and who holds what in the end."""
        alive = ~(np.isin(self.sender, dead_nodes) | np.isin(self.receiver, dead_nodes))
        for one, other in dead_links:
            alive &= ~((self.sender == one) & (self.receiver == other))
        held = np.zeros((self.nodes, self.schedule.units), dtype=bool)
        held[self.schedule.root] = True
        done = self.nothing()
        for begin, end in _groups(self.step):
            rows = np.arange(begin, end)
            rows = rows[alive[rows] & held[self.sender[rows], self.payload[rows]]]
            held[self.receiver[rows], self.payload[rows]] = True
            done[rows] = True
        return done, held


def _runs(*columns: NDArray[np.int64]) -> Mask:
    """Where a row agrees with the row before in all columns; never the first row."""
    same = np.ones(len(columns[0]), dtype=bool)
    same[:1] = False
    for column in columns:
        same[1:] &= column[1:] == column[:-1]
    return same


def _ascending(columns: list[NDArray[np.int64]]) -> bool:
    """Whether rows are sorted by these columns, the first one first."""
    in_order = np.ones(max(len(columns[0]) - 1, 0), dtype=bool)
    for column in columns[::-1]:
        in_order = (column[1:] > column[:-1]) | ((column[1:] == column[:-1]) & in_order)
    return bool(in_order.all())


def _groups(values: NDArray[np.int64]) -> list[tuple[int, int]]:
    begins = np.flatnonzero(~_runs(values)).tolist()
    return list(zip(begins, [*begins[1:], len(values)], strict=True))


def _faults(topology: Topology, faults: Iterable[Fault]) -> tuple[NDArray[np.int64], set[tuple[int, int]]]:
    """Dead nodes, and dead links in both directions."""
    if isinstance(faults, str) or not isinstance(faults, Iterable):
        raise InputError(f"the faults are {faults!r}, not a list", hint="give a list of nodes and pairs: faults=['21345']")
    nodes, links = set[int](), set[tuple[int, int]]()
    for fault in faults:
        if not isinstance(fault, tuple):
            nodes.add(topology.node(fault))
            continue
        if len(fault) != 2:
            raise InputError(f"{fault!r} is neither a node nor a link", hint="a faulty link is a pair of neighbours")
        one, other = (topology.node(end) for end in fault)
        if other not in {int(topology.neighbours(port, [one])[0]) for port in topology.ports}:
            raise InputError(
                f"{topology.label(one)} and {topology.label(other)} are not linked in {topology.spec}",
                hint="a faulty link is a pair of neighbours",
            )
        links |= {(one, other), (other, one)}
    return np.array(sorted(nodes), dtype=np.int64), links


def _result(schedule: Schedule, rows: _Rows, done: Mask, held: Mask, violation: str | None) -> Simulation:
    step, sender, port = rows.step[done], rows.sender[done], rows.port[done]
    steps = int(step.max(initial=0))
    begins = np.flatnonzero(~_runs(step, sender, port))
    sizes = np.diff(np.r_[begins, len(step)])
    packet_sizes = np.zeros(steps + 1, dtype=np.int64)
    np.maximum.at(packet_sizes, step[begins], sizes)
    lacking = np.argwhere(~held[:, :])
    return Simulation(
        steps=steps,
        transmissions=len(step),
        largest_packet=int(packet_sizes.max()),
        complete=violation is None and not len(lacking),
        missing=len(lacking),
        undelivered=tuple((schedule.topology.label(int(node)), int(unit)) for node, unit in lacking[:_FEW]),
        violation=violation,
        link_use=np.bincount(step[begins], minlength=steps + 1)[1:],
        packet_sizes=packet_sizes[1:],
    )
