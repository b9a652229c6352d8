"""The simulator: rows judged a second, for schedules of all collectives, with and without faults."""

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Figure, seconds
from starcast import Schedule, schedule, simulate
from starcast.simulator import FaultLike


def figures() -> Iterator[Figure]:
    """Broadcasts, allgathers of one source and written out, and units of one destination; against sorting as many integers."""
    for segments in (4, 16):
        stream = schedule("S8", "broadcast", "multiple", segments=segments)
        yield _judging(f"S8 broadcast multiple, {segments} segments", stream)
    yield _judging(
        "S9 broadcast multiple, 4 segments", schedule("S9", "broadcast", "multiple", segments=4)
    )
    yield _judging(
        "S8 broadcast multiple, one-port, 4 segments",
        schedule("S8", "broadcast", "multiple", "one", segments=4),
    )

    packets = schedule("S9", "allgather", "dimension-change")
    yield _judging("S9 allgather dimension-change, one source for all", packets)
    yield _judging(
        "S9 allgather edge-disjoint, one source for all",
        schedule("S9", "allgather", "edge-disjoint", copies=8),
    )
    everybody = schedule("S6", "allgather", "dimension-change").expand()
    yield _judging("S6 allgather dimension-change, all sources", everybody)
    yield _judging(
        "the same with a dead node and a dead link", everybody, ["654321", ("123456", "213456")]
    )

    yield _judging("S8 scatter perfectly-balanced", schedule("S8", "scatter", "perfectly-balanced"))
    yield _judging(
        "S8 alltoall exact, one source for all", schedule("S8", "alltoall", "exact", messages=7)
    )


def _judging(
    what: str, made: Schedule, faults: tuple[FaultLike, ...] | list[FaultLike] = ()
) -> Figure:
    """Rows a second, of a schedule that is right."""
    speed = len(made) / seconds(lambda: simulate(made, faults))
    shuffled = np.random.default_rng(0).permutation(len(made))
    sorting = len(made) / seconds(lambda: np.sort(shuffled))
    return Figure(
        f"simulate {what}", speed, "rows/s", "> 5 000 000", "sort as many integers", sorting
    )
