"""Comparison of computed times with those of the event-by-event simulation."""

from fractions import Fraction
from itertools import pairwise
from typing import Any

from oracles import event_times
from starcast import Schedule, Timing, timing
from starcast.judges.simulator import Fault
from starcast.support.vocabulary import ExecutionModel
from support.simulator_cases import down, plan_of

#: Bytes per unit, T_s and T_c.
Numbers = tuple[Any, Any, Any]


def assert_same_times(
    judged: Schedule, execution: ExecutionModel, machine: Numbers, faults: list[Fault] | None = None
) -> Timing:
    """Return the timing, after comparing all times with the event-by-event simulation."""
    found = timing(judged, *machine, execution=execution, faults=faults or ())
    expected = event_times.timed(
        plan_of(judged),
        event_times.Machine(*map(Fraction, machine)),
        down(faults or ()),
        by_steps=execution == "synchronous",
    )
    assert found.time == expected.time
    nodes = judged.topology.labels().tolist()
    assert found.arrivals.tolist() == [
        -1 if expected.arrivals[node] is None else expected.arrivals[node] for node in nodes
    ]
    assert found.link_busy.tolist() == [
        [expected.link_busy.get((node, port), 0) for port in judged.topology.ports]
        for node in nodes
    ]
    if execution == "asynchronous" and not judged.symmetric:
        assert found.packets.end.tolist() == [packet.end for packet in expected.packets]
    assert_path_is_tight(found, expected)
    return found


def assert_path_is_tight(found: Timing, expected: event_times.Times) -> None:
    """Assert that the critical path consists of executed packets and ends at the total time.

    In the asynchronous model, the packets must also follow each other without a gap.
    """
    path = found.critical_path
    if not path:
        assert found.time == 0 or found.execution == "synchronous"
        return
    executed = {
        (packet.rows[0].step, packet.rows[0].sender, packet.rows[0].port, packet.start, packet.end)
        for packet in expected.packets
    }
    assert all((s.step, s.sender, s.port, s.start, s.end) in executed for s in path)
    assert path[-1].end == found.time
    if found.execution == "asynchronous":
        assert path[0].start == 0
        assert all(before.end == after.start for before, after in pairwise(path))
        assert [send.waits_for == "" for send in path] == [True] + [False] * (len(path) - 1)
