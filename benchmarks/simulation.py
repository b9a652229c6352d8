"""Measure the rows per second of the simulator and of both execution models."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from benchmarks import libraries
from benchmarks.measure import Figure, Growth, seconds
from starcast import Schedule, schedule, simulate, timing
from starcast.judges.simulator import FaultLike
from starcast.support.vocabulary import EXECUTION_MODELS

#: The simulated schedules: topology, collective, algorithm, ports, arguments, and whether the two
#: execution models are measured as well.
CASES: tuple[tuple[str, str, str, Any, dict[str, Any], bool], ...] = (
    ("S8", "broadcast", "multiple", "all", {"segments": 4}, True),
    ("S8", "broadcast", "multiple", "one", {"segments": 4}, True),
    ("S9", "broadcast", "multiple", "all", {"segments": 4}, False),
    ("S8", "allgather", "dimension-change", "all", {}, True),
    ("S8", "allgather", "edge-disjoint", "all", {"copies": 7}, False),
    ("S8", "scatter", "perfectly-balanced", "all", {"messages": 7}, True),
    ("S8", "alltoall", "exact", "all", {"messages": 7}, True),
)
SORT = "sort as many integers"
_ROWS = "rows per second"


def figures() -> Iterator[Figure | Growth]:
    """Yield the speed of the simulator, of both execution models, and of other libraries."""
    for spec, collective, algorithm, ports, arguments, is_timed in CASES:
        judged = schedule(spec, collective, algorithm, ports, **arguments)
        listed = "".join(f", {value} {name}" for name, value in arguments.items())
        what = f"{spec} {collective} {algorithm}, {ports}-port{listed}"
        yield _figure(f"simulate {what}", judged, partial(simulate, judged))
        for execution in EXECUTION_MODELS if is_timed else ():
            yield _figure(
                f"time {what}, {execution}", judged, partial(timing, judged, execution=execution)
            )
    expanded = schedule("S6", "allgather", "dimension-change").expand()
    faults: list[FaultLike] = ["654321", ("123456", "213456")]
    what = "simulate S6 allgather dimension-change, all sources"
    yield _figure(what, expanded, partial(simulate, expanded))
    yield _figure(f"{what}, with faults", expanded, partial(simulate, expanded, faults))
    yield from _against_libraries()


def _figure(what: str, judged: Schedule, work: Callable[[], object]) -> Figure:
    speed = len(judged) / seconds(work, repeats=2)
    shuffled = np.random.default_rng(0).permutation(len(judged))
    sorting = len(judged) / seconds(lambda: np.sort(shuffled), repeats=2)
    return Figure(what, speed, _ROWS, "> 5 000 000", SORT, sorting)


def _against_libraries() -> Iterator[Figure | Growth]:
    """Compare the simulator with a loop in Python that uses the graphs of other libraries."""
    costs: dict[str, dict[str, float]] = {}
    for n in range(4, 8):
        judged = schedule(f"S{n}", "broadcast", "multiple", segments=4)
        graphs = _graphs(judged)
        rows = list_rows(judged)
        for name, has_link in graphs.items():
            work = partial(libraries.execute, rows, has_link)
            cost = seconds(work, repeats=1 if n == 7 else 2) / len(rows)
            costs.setdefault(name, {})[judged.topology.spec] = cost * 1e9
        cost = seconds(partial(simulate, judged)) / len(rows)
        costs.setdefault("starcast", {})[judged.topology.spec] = cost * 1e9
    larger = schedule("S8", "broadcast", "multiple", segments=4)
    costs["starcast"]["S8"] = seconds(partial(simulate, larger)) / len(larger) * 1e9
    what = "simulate S7 broadcast multiple, 4 segments"
    ours = costs["starcast"]["S7"]
    for name, sizes in costs.items():
        if name != "starcast":
            yield Figure(what, ours, "ns per row", "< 200", f"sets on {name}", sizes["S7"])
    yield Growth("Processor time to simulate a broadcast, in ns per row", costs)


def _graphs(judged: Schedule) -> dict[str, Callable[[int, int], bool]]:
    """Return each library's function that tests whether two nodes are adjacent."""
    links = libraries.list_links(judged.topology)
    neighbours = judged.topology.table().T.tolist()
    return {
        "NetworkX": libraries.build_networkx(links).has_edge,
        "igraph": libraries.build_igraph(links).are_adjacent,
        "rustworkx": libraries.build_rustworkx(links).has_edge,
        "lists": lambda one, other: other in neighbours[one],
    }


def list_rows(judged: Schedule) -> Sequence[Sequence[int]]:
    """Return the step, sender, receiver and unit of all rows, sorted by step."""
    columns = [judged.step, judged.sender, judged.receiver, judged.unit]
    rows: list[list[int]] = np.column_stack(columns).tolist()
    return sorted(rows)
