"""Comparison of the times computed by SimGrid with those of starcast's function `timing`."""

from collections.abc import Sequence

import numpy as np

from starcast import timing
from starcast.judges.simulator.simgrid import SimGridRequest, SimGridRun
from starcast.support.errors import StarcastError


def assert_same_clocks(
    requests: Sequence[SimGridRequest], results: Sequence[SimGridRun | StarcastError]
) -> None:
    """Assert that `timing` computes the same times as SimGrid; otherwise list all differences."""
    differences = find_differences(requests, results)
    assert not differences, "\n".join(["the times differ:", *differences])


def find_differences(
    requests: Sequence[SimGridRequest], results: Sequence[SimGridRun | StarcastError]
) -> list[str]:
    """Describe each SimGrid result with a total time or an arrival that differs from `timing`."""
    pairs = zip(requests, results, strict=True)
    differences = [(request, find_difference(request, result)) for request, result in pairs]
    return [f"{name(request)}: {found}" for request, found in differences if found]


def find_difference(request: SimGridRequest, result: SimGridRun | StarcastError) -> str | None:
    """Describe how a SimGrid result differs from `timing`, or return None if it agrees."""
    if isinstance(result, StarcastError):
        return result.message
    expected = timing(
        request.schedule.expand(),
        request.unit_bytes,
        request.t_s,
        request.t_c,
        request.execution,
        request.faults,
    )
    if result.time != expected.time:
        return f"takes {expected.time} by starcast and {result.time} by SimGrid"
    if request.execution == "synchronous" and expected.simulation.largest_packet > 1:
        return None  # SimGrid reports that small packets arrive before their step ends
    ends = np.repeat(expected.packets.end, expected.packets.units).tolist()
    for row, (end, other) in enumerate(zip(ends, result.ends, strict=True)):
        if end != other:
            return f"row {row} arrives at {end} by starcast and at {other} by SimGrid"
    return None


def name(request: SimGridRequest) -> str:
    """Return a text that identifies an execution: schedule, mode, cost parameters and faults."""
    machine = f"{request.unit_bytes}, {request.t_s}, {request.t_c}"
    faults = ", ".join(map(str, request.faults)) or "no faults"
    return f"{request.schedule.id} {request.execution} ({machine}; {faults})"
