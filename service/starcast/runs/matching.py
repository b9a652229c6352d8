"""Which stored runs stand beside each other in a comparison, and why some do not.

Two runs are comparable where they answer the same question: the same topology, collective, port model, m, T_s, T_c, faults and
seed. What answers it is a choice: the algorithm, p (segments or messages), copies, the tree. Runs are matched on a choice
where the two sides have values in common; where they have none, that is the difference to look at.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from starcast.runs import models
from starcast.topologies import topology

#: What two runs must share to be comparable, and what they are matched on if they can. p covers messages: there p = M.
QUESTION = ("topology", "collective", "ports", "T_s", "T_c", "m", "faults", "seed")
CHOICE = ("p", "copies", "tree", "algorithm")
PARAMETERS = (*QUESTION, *CHOICE)

FIGURES = ("steps", "transmissions", "start_ups", "bytes", "time")
#: The figure of runs under faults: how many (node, unit) pairs lack something in the end.
MISSING = "missing"


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
        values = tuple(None if run is None else value(run, parameter) for run in self.runs)
        present = {value for value, run in zip(values, self.runs, strict=True) if run is not None}
        return (present.pop(),) if len(present) == 1 else values

    def differs(self) -> bool:
        """Whether there is anything to see: a figure that differs, or a reason why there is none."""
        figures = {tuple(figure(run, name) for name in (*FIGURES, MISSING)) for run in self.runs}
        return len(figures) > 1 or any(self.reasons)


def value(run: models.Run, parameter: str) -> Any:
    """A parameter of a run; its faults as a tuple, since their order means nothing."""
    return tuple(sorted(run.faults)) if parameter == "faults" else getattr(run, parameter)


def figure(run: models.Run | None, name: str, kind: str = "simulated") -> Any:
    """A figure of one of a run's costs, or what is missing in the end; None where there is no run or no such cost."""
    if run is None:
        return None
    if name == MISSING:
        return run.missing if run.status == "complete" else None
    return next((getattr(cost, name) for cost in run.costs if cost.kind == kind), None)


def matches(sides: Sequence[Side]) -> list[Match]:
    """Every run of every side in at least one row, the first side being the baseline; by topology and parameters."""
    return _Matcher(sides).matches()


def words(value: Any) -> str:
    """A parameter's value as text; a dash where there is none."""
    if isinstance(value, tuple):
        return " ".join(value) or "none"
    return "-" if value is None else str(value)


class _Matcher:
    """The sides with the parameters of every run, read once."""

    def __init__(self, sides: Sequence[Side]) -> None:
        self._sides = sides
        self._points = {run: {axis: value(run, axis) for axis in PARAMETERS} for side in sides for run in side.runs}
        #: For each side the choices that it has in common with the baseline, on which they are matched.
        self._common = [
            [axis for axis in CHOICE if self._values(sides[0].runs, axis) & self._values(side.runs, axis)] for side in sides
        ]

    def matches(self) -> list[Match]:
        baseline, *others = self._sides
        beside = [self._beside(place) for place in range(1, len(self._sides))]
        rows = [row for run in baseline.runs for row in self._rows(run, [found[run] for found in beside])]
        for place, (other, found) in enumerate(zip(others, beside, strict=True), start=1):
            used = {run for runs in found.values() for run in runs}
            rows += [self._lonely(place, run) for run in other.runs if run not in used]
        return sorted(rows, key=self._order)

    def _beside(self, place: int) -> Mapping[models.Run, Sequence[models.Run | None]]:
        """For each run of the baseline the runs of another side to put beside it.

        These are its matches; where it has none, the nearest run that answers another question, so that the row can show
        both and say what keeps them apart; else nothing.
        """
        choice, others = self._common[place], self._sides[place].runs
        by_key = self._by_key(others, (*QUESTION, *choice))
        found = {run: by_key.get(self._key(run, (*QUESTION, *choice)), []) for run in self._sides[0].runs}
        used = {run for runs in found.values() for run in runs}
        lacking = [run for run in found if not found[run]]
        strangers = self._strangers(lacking, [run for run in others if run not in used], choice)
        return {run: runs or [strangers.get(run)] for run, runs in found.items()}

    def _strangers(
        self, ones: Sequence[models.Run], others: Sequence[models.Run], choice: Sequence[str]
    ) -> dict[models.Run, models.Run]:
        """For runs without a match, the nearest run that answers another question, each taken once."""
        chosen: dict[models.Run, models.Run] = {}
        free = dict.fromkeys(others)
        for size in range(1, len(QUESTION) + 1):
            for apart in combinations(QUESTION, size):
                if len(chosen) == len(ones) or not free:
                    return chosen
                axes = [axis for axis in (*QUESTION, *choice) if axis not in apart]
                waiting = self._by_key(free, axes)
                for one in ones:
                    if one not in chosen and (there := waiting.get(self._key(one, axes))):
                        chosen[one] = there.pop(0)
                        del free[chosen[one]]
        return chosen

    def _rows(self, run: models.Run, beside: Sequence[Sequence[models.Run | None]]) -> list[Match]:
        """A run of the baseline with what stands beside it.

        Where several runs of the others do, those stand together that are nearest to one another, so that each is seen and
        the rows do not multiply.
        """
        rows: list[tuple[models.Run | None, ...]] = []
        for place, candidates in enumerate(beside):
            for lead in candidates:
                if all(row[place] is not lead for row in rows):
                    rows.append(tuple(lead if there is candidates else self._alike(lead, there) for there in beside))
        return [Match((run, *row), self._reasons(run, row)) for row in rows]

    def _lonely(self, place: int, run: models.Run) -> Match:
        runs: list[models.Run | None] = [None] * len(self._sides)
        reasons: list[str | None] = [None] * (len(self._sides) - 1)
        runs[place], reasons[place - 1] = run, self._no_counterpart(run, 0, place)
        return Match(tuple(runs), tuple(reasons))

    def _reasons(self, run: models.Run, others: Sequence[models.Run | None]) -> tuple[str | None, ...]:
        return tuple(self._reason(run, place, other) for place, other in enumerate(others, start=1))

    def _reason(self, run: models.Run, place: int, other: models.Run | None) -> str | None:
        """Why these two are no comparison, or None if they are one."""
        if other is None:
            return self._no_counterpart(run, place, place)
        apart = self._differing(run, other, QUESTION)
        if apart:
            pairs = (f"{axis} ({words(value(run, axis))}, {words(value(other, axis))})" for axis in apart)
            return f"different {', '.join(pairs)}"
        pair = ((self._sides[0], run), (self._sides[place], other))
        return next((reason for of, one in pair if (reason := _without_figures(of, one))), None) or _undelivered(pair)

    def _no_counterpart(self, run: models.Run, where: int, place: int) -> str:
        """Why nothing in the side ``where`` stands beside a run: of the baseline and the side ``place``, the other one's."""
        side, axes = self._sides[where], (*QUESTION, *self._common[place])
        nearest = min(side.runs, key=lambda other: self._distance(run, other, axes), default=None)
        if nearest is None:
            return f"{side.name} has no runs"
        lacking = " and ".join(f"{axis} = {words(value(run, axis))}" for axis in self._differing(run, nearest, axes))
        return f"{side.name} has no run with {lacking}"

    def _alike(self, run: models.Run | None, others: Sequence[models.Run | None]) -> models.Run | None:
        """Of the runs that may stand in one row with a run, the most similar."""
        present = [other for other in others if other is not None]
        if run is None or not present:
            return others[0]
        return min(present, key=lambda other: self._distance(run, other, CHOICE))

    def _differing(self, one: models.Run, other: models.Run, axes: Iterable[str]) -> list[str]:
        ours, theirs = self._points[one], self._points[other]
        return [axis for axis in axes if ours[axis] != theirs[axis]]

    def _distance(self, one: models.Run, other: models.Run, axes: Iterable[str]) -> int:
        return len(self._differing(one, other, axes))

    def _values(self, runs: Iterable[models.Run], axis: str) -> set[Any]:
        return {self._points[run][axis] for run in runs}

    def _by_key(self, runs: Iterable[models.Run], axes: Sequence[str]) -> dict[tuple[Any, ...], list[models.Run]]:
        found: dict[tuple[Any, ...], list[models.Run]] = {}
        for run in runs:
            found.setdefault(self._key(run, axes), []).append(run)
        return found

    def _key(self, run: models.Run, axes: Iterable[str]) -> tuple[Any, ...]:
        point = self._points[run]
        return tuple(point[axis] for axis in axes)

    def _order(self, match: Match) -> tuple[Any, ...]:
        run = next(run for run in match.runs if run is not None)
        return topology(run.topology).nodes, *("" if of is None else of for of in self._points[run].values())


def _without_figures(side: Side, run: models.Run) -> str | None:
    if run.status != "complete":
        return f"{side.name} failed: {run.error}"
    return None if figure(run, "time") is not None else f"{side.name} has no simulated time"


def _undelivered(pair: Sequence[tuple[Side, models.Run]]) -> str | None:
    """Who does not bring everything under its faults: however short its time, it is no answer to the question."""
    lacking = [f"{side.name} leaves {run.missing} missing under its faults" for side, run in pair if run.missing]
    return " and ".join(lacking) or None
