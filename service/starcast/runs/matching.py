"""Which stored runs stand beside each other in a comparison, and why some do not.

Two runs are comparable where they answer the same question: the same topology, collective, port model, m, T_s and T_c.
Beyond that, runs are matched on p and on the algorithm where the two sides have values in common; where they have none,
that is the difference to look at.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from starcast.runs import models
from starcast.topologies import topology

#: What two runs must share to be comparable, and what they are matched on if they can.
QUESTION = ("topology", "collective", "ports", "T_s", "T_c", "m")
CHOICE = ("p", "algorithm")
PARAMETERS = (*QUESTION, *CHOICE)

FIGURES = ("steps", "transmissions", "start_ups", "bytes", "time")


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a name, its runs, and the command lines that reproduce them."""

    name: str
    runs: tuple[models.Run, ...]
    commands: tuple[str, ...] = ()


@dataclass(frozen=True)
class Match:
    """Runs that stand in one row, the baseline's first, and for each of the others why it is no comparison, if so."""

    runs: tuple[models.Run | None, ...]
    reasons: tuple[str | None, ...]

    def cell(self, parameter: str) -> tuple[Any, ...]:
        """The value of a parameter that all share, as one, or each side's."""
        values = tuple(None if run is None else getattr(run, parameter) for run in self.runs)
        present = {value for value in values if value is not None}
        return (present.pop(),) if len(present) == 1 else values

    def differs(self) -> bool:
        """Whether there is anything to see: a figure that differs, or a reason why there is none."""
        figures = {tuple(figure(run, name) for name in FIGURES) for run in self.runs}
        return len(figures) > 1 or any(self.reasons)


def figure(run: models.Run | None, name: str, kind: str = "simulated") -> Any:
    """A figure of one of a run's costs; None where there is no run or no such cost."""
    if run is None:
        return None
    return next((getattr(cost, name) for cost in run.costs if cost.kind == kind), None)


def matches(sides: Sequence[Side]) -> list[Match]:
    """Every run of every side in at least one row, the first side being the baseline; by topology and parameters."""
    baseline, *others = sides
    beside = [_beside(baseline.runs, other.runs) for other in others]
    rows = [
        Match((run, *chosen), tuple(_reason(baseline, run, *pair) for pair in zip(others, chosen, strict=True)))
        for run in baseline.runs
        for chosen in product(*(found[id(run)] for found in beside))
    ]
    for place, (other, found) in enumerate(zip(others, beside, strict=True), start=1):
        used = {id(run) for runs in found.values() for run in runs}
        rows += [_lonely(len(sides), place, run, baseline) for run in other.runs if id(run) not in used]
    return sorted(rows, key=_order)


def words(value: Any) -> str:
    """A parameter's value as text; a dash where there is none."""
    return "-" if value is None else str(value)


def _beside(baseline: Sequence[models.Run], others: Sequence[models.Run]) -> dict[int, list[models.Run | None]]:
    """For each run of the baseline, by identity, the runs to put beside it.

    These are its matches; where it has none, the nearest run that answers another question, so that the row can show
    both and say what keeps them apart; else nothing.
    """
    choice = [axis for axis in CHOICE if _values(baseline, axis) & _values(others, axis)]
    by_key: dict[tuple[Any, ...], list[models.Run | None]] = {}
    for run in others:
        by_key.setdefault(_key(run, (*QUESTION, *choice)), []).append(run)
    found = {id(run): by_key.get(_key(run, (*QUESTION, *choice)), []) for run in baseline}
    used = {id(run) for runs in found.values() for run in runs}
    lacking = [run for run in baseline if not found[id(run)]]
    strangers = _pairs(lacking, [run for run in others if id(run) not in used], choice)
    return found | {id(run): [strangers.get(id(run))] for run in lacking}


def _pairs(ones: Sequence[models.Run], others: Sequence[models.Run], choice: Sequence[str]) -> dict[int, models.Run]:
    """For runs without a match, by identity, the nearest run that answers another question, each taken once."""
    strange = [
        (one, other)
        for one, other in product(ones, others)
        if _key(one, choice) == _key(other, choice) and _key(one, QUESTION) != _key(other, QUESTION)
    ]
    chosen: dict[int, models.Run] = {}
    taken: set[int] = set()
    for one, other in sorted(strange, key=lambda pair: len(_differing(*pair))):
        if id(one) not in chosen and id(other) not in taken:
            chosen[id(one)] = other
            taken.add(id(other))
    return chosen


def _lonely(sides: int, place: int, run: models.Run, baseline: Side) -> Match:
    runs: list[models.Run | None] = [None] * sides
    reasons: list[str | None] = [None] * (sides - 1)
    runs[place], reasons[place - 1] = run, _no_counterpart(run, baseline)
    return Match(tuple(runs), tuple(reasons))


def _reason(baseline: Side, run: models.Run, side: Side, other: models.Run | None) -> str | None:
    """Why these two are no comparison, or None if they are one."""
    if other is None:
        return _no_counterpart(run, side)
    apart = [axis for axis in QUESTION if getattr(run, axis) != getattr(other, axis)]
    if apart:
        pairs = (f"{axis} ({words(getattr(run, axis))}, {words(getattr(other, axis))})" for axis in apart)
        return f"different {', '.join(pairs)}"
    for side_of, one in ((baseline, run), (side, other)):
        if one.status != "complete":
            return f"{side_of.name} failed: {one.error}"
        if figure(one, "time") is None:
            return f"{side_of.name} has no simulated time"
    return None


def _no_counterpart(run: models.Run, side: Side) -> str:
    nearest = _nearest(run, side.runs)
    if nearest is None:
        return f"{side.name} has no runs"
    lacking = " and ".join(f"{axis} = {words(getattr(run, axis))}" for axis in _differing(run, nearest))
    return f"{side.name} has no run with {lacking}"


def _nearest(run: models.Run, others: Sequence[models.Run]) -> models.Run | None:
    return min(others, key=lambda other: len(_differing(run, other)), default=None)


def _differing(one: models.Run, other: models.Run) -> list[str]:
    return [axis for axis in PARAMETERS if getattr(one, axis) != getattr(other, axis)]


def _values(runs: Iterable[models.Run], axis: str) -> set[Any]:
    return {getattr(run, axis) for run in runs}


def _key(run: models.Run, axes: Iterable[str]) -> tuple[Any, ...]:
    return tuple(getattr(run, axis) for axis in axes)


def _order(match: Match) -> tuple[Any, ...]:
    run = next(run for run in match.runs if run is not None)
    return topology(run.topology).nodes, *_key(run, PARAMETERS)
