"""The mathematics at the speed of memory: neighbour tables, forests, proofs, simulation."""

from collections.abc import Iterator

import numpy as np

from benchmarks.measure import Figure, seconds
from starcast import forest, schedule, simulate, topology


def figures() -> Iterator[Figure]:
    """Neighbour table and `multiple` trees of S_10 against copying as many bytes; a simulation against sorting its rows."""
    s10 = topology("S10")
    links = s10.nodes * s10.degree
    table = np.zeros(links, dtype=np.int32)
    copying = seconds(table.copy) / links * 1e9
    across = seconds(s10.table) / links * 1e9
    yield Figure(
        "S10 neighbour table", across, "ns a directed link", "< 2", "copy the same bytes", copying
    )

    trees = forest("S10", "multiple")
    copying = seconds(trees.parent_port.copy)
    yield Figure(
        "S10 multiple: build",
        seconds(lambda: forest("S10", "multiple")),
        "s",
        "< 1",
        "copy the same bytes",
        copying,
    )
    proving = seconds(lambda: forest("S10", "multiple").verify())
    yield Figure(
        "S10 multiple: build and verify", proving, "s", "< 1", "copy the same bytes", copying
    )

    stream = schedule("S7", "broadcast", "multiple", segments=50)
    executing = len(stream) / seconds(lambda: simulate(stream))
    shuffled = np.random.default_rng(0).permutation(len(stream))
    sorting = len(stream) / seconds(lambda: np.sort(shuffled))
    yield Figure(
        "simulate S7 multiple, 50 segments",
        executing,
        "rows/s",
        "> 500 000",
        "sort as many integers",
        sorting,
    )
