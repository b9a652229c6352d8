"""Rows of schedules on S_8 that `timing` executes per second, in both execution models."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.measure import Figure, seconds
from starcast import Schedule, schedule, timing
from starcast.vocabulary import EXECUTION_MODELS, ExecutionModel

CASES: tuple[tuple[Any, ...], ...] = (
    ("broadcast", "multiple", "all", {"segments": 4}),
    ("broadcast", "multiple", "one", {"segments": 4}),
    ("allgather", "dimension-change", "all", {}),
    ("scatter", "perfectly-balanced", "all", {"messages": 7}),
    ("alltoall", "exact", "all", {"messages": 7}),
)


def figures() -> Iterator[Figure]:
    """Measure a broadcast with large steps, and collectives with tens of thousands of steps."""
    for collective, algorithm, ports, arguments in CASES:
        timed = schedule("S8", collective, algorithm, ports, **arguments)
        for execution in EXECUTION_MODELS:
            yield _figure(
                f"S8 {collective} {algorithm}, {ports}-port, {execution}", timed, execution
            )


def _figure(what: str, timed: Schedule, execution: ExecutionModel) -> Figure:
    """Measure rows per second, the simulation included, against sorting as many integers."""
    speed = len(timed) / seconds(lambda: timing(timed, execution=execution))
    shuffled = np.random.default_rng(0).permutation(len(timed))
    sorting = len(timed) / seconds(lambda: np.sort(shuffled))
    return Figure(f"time {what}", speed, "rows/s", "> 5 000 000", "sort as many integers", sorting)
