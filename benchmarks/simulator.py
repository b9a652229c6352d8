"""Rows that the simulator judges per second: all collectives, with and without faults."""

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.measure import Figure, seconds
from starcast import Schedule, schedule, simulate
from starcast.simulator import FaultLike


def figures() -> Iterator[Figure]:
    """Measure broadcasts, allgathers of one and of all sources, scatter and alltoall."""
    for segments in (4, 16):
        stream = schedule("S8", "broadcast", "multiple", segments=segments)
        yield _figure(f"S8 broadcast multiple, {segments} segments", stream)
    stream = schedule("S9", "broadcast", "multiple", segments=4)
    yield _figure("S9 broadcast multiple, 4 segments", stream)
    stream = schedule("S8", "broadcast", "multiple", "one", segments=4)
    yield _figure("S8 broadcast multiple, one-port, 4 segments", stream)

    packets = schedule("S9", "allgather", "dimension-change")
    yield _figure("S9 allgather dimension-change, one source for all", packets)
    copies = schedule("S9", "allgather", "edge-disjoint", copies=8)
    yield _figure("S9 allgather edge-disjoint, one source for all", copies)
    expanded = schedule("S6", "allgather", "dimension-change").expand()
    yield _figure("S6 allgather dimension-change, all sources", expanded)
    faults: list[FaultLike] = ["654321", ("123456", "213456")]
    yield _figure("the same with a dead node and a dead link", expanded, faults)

    personalized = schedule("S8", "scatter", "perfectly-balanced")
    yield _figure("S8 scatter perfectly-balanced", personalized)
    exchange = schedule("S8", "alltoall", "exact", messages=7)
    yield _figure("S8 alltoall exact, one source for all", exchange)


def _figure(what: str, judged: Schedule, faults: Sequence[FaultLike] = ()) -> Figure:
    """Measure rows per second of a correct schedule against sorting as many integers."""
    speed = len(judged) / seconds(lambda: simulate(judged, faults))
    shuffled = np.random.default_rng(0).permutation(len(judged))
    sorting = len(judged) / seconds(lambda: np.sort(shuffled))
    return Figure(
        f"simulate {what}", speed, "rows/s", "> 5 000 000", "sort as many integers", sorting
    )
