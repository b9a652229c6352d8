"""Neighbour tables, forests, verification and simulation against the speed of memory."""

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Figure, seconds
from starcast import forest, schedule, simulate, topology

COPY = "copy the same bytes"


def figures() -> Iterator[Figure]:
    """Measure S_10 against copying as many bytes, and a simulation against sorting its rows."""
    s10 = topology("S10")
    links = s10.nodes * s10.degree
    table = np.zeros(links, dtype=np.int32)
    copying = seconds(table.copy) / links * 1e9
    crossing = seconds(s10.table) / links * 1e9
    yield Figure("S10 neighbour table", crossing, "ns per directed link", "< 2", COPY, copying)

    trees = forest("S10", "multiple")
    copying = seconds(trees.parent_port.copy)
    building = seconds(lambda: forest("S10", "multiple"))
    yield Figure("S10 multiple: build", building, "s", "< 1", COPY, copying)
    verifying = seconds(lambda: forest("S10", "multiple").verify())
    yield Figure("S10 multiple: build and verify", verifying, "s", "< 1", COPY, copying)

    stream = schedule("S7", "broadcast", "multiple", segments=50)
    simulating = len(stream) / seconds(lambda: simulate(stream))
    shuffled = np.random.default_rng(0).permutation(len(stream))
    sorting = len(stream) / seconds(lambda: np.sort(shuffled))
    name = "simulate S7 multiple, 50 segments"
    yield Figure(name, simulating, "rows/s", "> 500 000", "sort as many integers", sorting)
