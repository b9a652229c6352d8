"""Experiment runs with invented costs, for tests of comparisons."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from itertools import count
from typing import Any

from starcast.comparison.matching import Side
from starcast.support.runs import Run, RunCost

NUMBERS = count(1)
PROVENANCE = {
    "version": "0.1.0",
    "revision": "c0ffee" * 6 + "c0ff",
    "dirty": False,
    "host": "loom",
    "postgres": "18.4",
}


def bare_run(**changes: Any) -> Run:
    """Return a run without costs; the arguments replace fields of the run.

    The algorithm is the broadcast `multiple` on S5 with 1 segment, t_s = 100 and t_c = 1.
    """
    return Run(**{
        "id": next(NUMBERS), "topology": "S5", "collective": "broadcast", "algorithm": "multiple",
        "ports": "all", "segments": 1,
        "messages": 1, "message_bytes": Fraction(64), "t_s": Fraction(100), "t_c": Fraction(1),
        "message_units": None, "missing": 0, "status": "complete", "error": None,
        "timings": {}, "provenance": PROVENANCE,
        "started_at": datetime(2026, 11, 20, 11, tzinfo=UTC),
        "finished_at": datetime(2026, 11, 20, 12, tzinfo=UTC), **changes,
    })  # fmt: skip


def priced_run(steps: int, rate: Fraction | int, m: Fraction | int, **changes: Any) -> Run:
    """Return a run with ``steps`` start-ups and ``rate * m`` bytes for a message of m bytes.

    Further arguments replace fields of `bare_run`. ``closed`` is the rate in the closed-form cost.
    The lower bound has ``bound`` start-ups and m/4 bytes.
    """
    closed, bound = changes.pop("closed", rate), changes.pop("bound", 1)
    run = bare_run(message_bytes=Fraction(m), **changes)
    start_up, byte, size = run.t_s, run.t_c, run.message_bytes
    counted = {"steps": steps, "start_ups": Fraction(steps), "transmissions": 119}
    costs = []
    for kind, each in (("simulated", Fraction(rate)), ("closed form", Fraction(closed))):
        time = steps * start_up + each * size * byte
        costs.append(invented_cost(kind, **counted, bytes=each * size, time=time))
    least = {"start_ups": Fraction(bound), "bytes": size / 4}
    time = max(least["start_ups"] * start_up, least["bytes"] * byte)
    costs.append(invented_cost("lower bound", time, **least))
    return replace(run, costs=tuple(costs))


def invented_cost(kind: str, time: Fraction, **figures: Any) -> RunCost:
    """Return a cost of a run; figures that are not given are None."""
    missing = dict.fromkeys(("steps", "start_ups", "transmissions", "bytes"))
    return RunCost(kind=kind, time=time, source="made up", **{**missing, **figures})


def along(steps: int, rate: Fraction | int, sizes: Iterable[int], **changes: Any) -> list[Run]:
    """Return one run for each of several message sizes, with the arguments of `priced_run`."""
    return [priced_run(steps, rate, m, **changes) for m in sizes]


def side(name: str, runs: Sequence[Run]) -> Side:
    """Return one side of a comparison: an experiment's name, runs, and invented commands."""
    commands = (f"starcast experiment run {name}",)
    return Side(name, tuple(runs), commands, repeat=f"starcast experiment reproduce {name}")


def cells(rows: Iterable[Mapping[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    """Return the values of some columns of a table, as one tuple per row."""
    return [tuple(row[name] for name in columns) for row in rows]
