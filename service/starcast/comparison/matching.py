"""Matching of stored runs: which runs share a row of a comparison, and why some do not.

Two runs are comparable if they answer the same question: if they have the same values on the axes
of `QUESTION`, such as the topology, message_bytes and the faults. Axes that a comparison crosses
(``across``) are not part of the question. How a run answers it is a choice: the crossed axes, and
those of `CHOICE`, such as the algorithm and its segments.

Among the runs with the same question, those of two sides are matched on one choice after the
other. If the sides have common values of a choice, runs with equal values are matched; otherwise
that choice is the difference to be compared. Values of segments that remain on both sides after
matching the common ones are such a difference too: runs with the best number of segments are
matched with each other whatever that number is, also if both sides have runs with one segment.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.axes.parameters import CHOICE, QUESTION
from starcast.database import models
from starcast.topologies import as_topology

#: All parameters that are matched. Segments include messages, which equal them if an algorithm
#: takes messages.
PARAMETERS = (*QUESTION, *CHOICE)

FIGURES = ("steps", "transmissions", "start_ups", "bytes", "time")
#: The figure of runs under faults: the number of undelivered (node, unit) pairs.
MISSING = "missing"


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        name: its name.
        runs: its runs.
        commands: the command lines that execute and store them in another database.
        title: the title of the experiment.
        repeat: the command line that executes the stored runs again and compares the figures.
        incomplete: a sentence with the number of missing runs; None if none is missing.
    """

    name: str
    runs: tuple[models.Run, ...]
    commands: tuple[str, ...] = ()
    title: str = ""
    repeat: str = ""
    incomplete: str | None = None


@dataclass(frozen=True)
class Match:
    """The runs of one row.

    Attributes:
        runs: a run of each side, the baseline's first; None if a side has no matching run.
        reasons: for each other side why its run is not comparable; None if it is.
    """

    runs: tuple[models.Run | None, ...]
    reasons: tuple[str | None, ...]

    def values(self, parameter: str) -> tuple[Any, ...]:
        """Return the common value of a parameter as the only element, or the value of each run."""
        values = tuple(None if run is None else value(run, parameter) for run in self.runs)
        present = {value for value, run in zip(values, self.runs, strict=True) if run is not None}
        return (present.pop(),) if len(present) == 1 else values

    def differs(self) -> bool:
        """Return whether a figure differs or a run is not comparable."""
        figures = {tuple(figure(run, name) for name in (*FIGURES, MISSING)) for run in self.runs}
        return len(figures) > 1 or any(self.reasons)


def value(run: models.Run, parameter: str) -> Any:
    """Return a parameter of a run; faults as a sorted tuple."""
    return tuple(sorted(run.faults)) if parameter == "faults" else getattr(run, parameter)


def figure(run: models.Run | None, name: str, kind: str = "simulated") -> Any:
    """Return a figure of one kind of cost, or the number of missing units.

    The result is None if there is no run or no such cost.
    """
    if run is None:
        return None
    if name == MISSING:
        return run.missing if run.status == "complete" else None
    return next((getattr(cost, name) for cost in run.costs if cost.kind == kind), None)


def gap(run: models.Run | None) -> Fraction | None:
    """Return a run's simulated time divided by the lower bound.

    The result is None if there is no time, if the bound is 0, or if units are missing: the bound
    holds for complete delivery.
    """
    if run is None or run.missing:
        return None
    bound, time = figure(run, "time", "lower bound"), figure(run, "time")
    return time / bound if bound and time is not None else None


def find_matches(sides: Sequence[Side], across: Sequence[str] = ()) -> list[Match]:
    """Return the rows of a comparison, sorted by topology and parameters.

    Every run of every side is in at least one row. The first side is the baseline. The axes
    ``across`` are the first choices instead of parts of the question.
    """
    return _Matcher(sides, across).find_matches()


def as_text(value: Any) -> str:
    """Return the value of a parameter as text; a dash for None."""
    if isinstance(value, tuple):
        return " ".join(value) or "none"
    return "-" if value is None else str(value)


class _Matcher:
    """The matching of several sides; the parameters of every run are read once."""

    def __init__(self, sides: Sequence[Side], across: Sequence[str]) -> None:
        self._sides = tuple(replace(side, runs=tuple(_distinct(side.runs))) for side in sides)
        self._question = tuple(axis for axis in QUESTION if axis not in across)
        self._choice = (*across, *CHOICE)
        self._points = {
            run: {axis: value(run, axis) for axis in PARAMETERS}
            for side in self._sides
            for run in side.runs
        }
        self._numbers: dict[str, dict[Any, int]] = {axis: {} for axis in PARAMETERS}
        self._codes = [np.array([self._code(run) for run in side.runs]) for side in self._sides]
        #: For each side: the choices on which its runs and those of the baseline are matched.
        self._matched: list[dict[models.Run, tuple[str, ...]]] = [{} for _ in sides]

    def find_matches(self) -> list[Match]:
        baseline, *others = self._sides
        partners = [self._partners(place) for place in range(1, len(self._sides))]
        rows = []
        for run in baseline.runs:
            rows += self._rows(run, [candidates[run] for candidates in partners])
        for place, (other, candidates) in enumerate(zip(others, partners, strict=True), start=1):
            used = {run for runs in candidates.values() for run in runs}
            rows += [self._unmatched(place, run) for run in other.runs if run not in used]
        return sorted(rows, key=self._order)

    def _partners(self, place: int) -> Mapping[models.Run, Sequence[models.Run | None]]:
        """Return, for each run of the baseline, the runs of another side in its rows.

        These are its matches. If the side has no run with its question, the partner is the nearest
        run with a question that the baseline does not have, so that the row can show both and the
        reason why they are not comparable.
        """
        ours = self._by_key(self._sides[0].runs, self._question)
        theirs = self._by_key(self._sides[place].runs, self._question)
        found: dict[models.Run, list[models.Run]] = {run: [] for run in self._sides[0].runs}
        for question, runs in ours.items():
            self._match(place, runs, theirs.get(question, []), self._choice, (), found)
        only_ours = _joined({key: runs for key, runs in ours.items() if key not in theirs})
        only_theirs = _joined({key: runs for key, runs in theirs.items() if key not in ours})
        nearest = self._pair_nearest(only_ours, only_theirs, place)
        return {run: runs or [nearest.get(run)] for run, runs in found.items()}

    def _match(
        self,
        place: int,
        ours: Sequence[models.Run],
        theirs: Sequence[models.Run],
        choice: Sequence[str],
        matched: tuple[str, ...],
        found: dict[models.Run, list[models.Run]],
    ) -> None:
        """Match runs with the same question on one choice after the other."""
        if not choice or not ours or not theirs:
            self._matched[place] |= dict.fromkeys((*ours, *theirs), matched)
            for run in ours:
                found[run].extend(theirs)
            return
        axis, *rest = choice
        mine, others = self._by_key(ours, [axis]), self._by_key(theirs, [axis])
        common = mine.keys() & others.keys()
        if not common:
            self._match(place, ours, theirs, rest, matched, found)
            return
        for key in common:
            self._match(place, mine.pop(key), others.pop(key), rest, (*matched, axis), found)
        # The best number of segments depends on everything else, so remaining ones are matched.
        if axis == "segments" and mine and others:
            self._match(place, _joined(mine), _joined(others), rest, matched, found)
        else:
            remaining = (*_joined(mine), *_joined(others))
            self._matched[place] |= dict.fromkeys(remaining, (*matched, axis))

    def _common_choices(self, place: int) -> tuple[str, ...]:
        """Return the choices but segments of which a side and the baseline have common values."""
        ours, theirs = self._sides[0].runs, self._sides[place].runs
        return tuple(
            axis
            for axis in self._choice
            if axis != "segments" and self._values(ours, axis) & self._values(theirs, axis)
        )

    def _pair_nearest(
        self, ours: Sequence[models.Run], theirs: Sequence[models.Run], place: int
    ) -> dict[models.Run, models.Run]:
        """Pair runs of different questions, those that differ in the fewest parameters first."""
        chosen: dict[models.Run, models.Run] = {}
        free = dict.fromkeys(theirs)
        common = self._common_choices(place)
        for size in range(1, len(self._question) + 1):
            for apart, last in product(combinations(self._question, size), (("segments",), ())):
                if len(chosen) == len(ours) or not free:
                    return chosen
                axes = [axis for axis in (*self._question, *common, *last) if axis not in apart]
                waiting = self._by_key(free, axes)
                for run in ours:
                    candidates = [] if run in chosen else waiting.get(self._key(run, axes), [])
                    if candidates:
                        chosen[run] = candidates.pop(0)
                        del free[chosen[run]]
        return chosen

    def _rows(
        self, run: models.Run, partners: Sequence[Sequence[models.Run | None]]
    ) -> list[Match]:
        """Return the rows of a run of the baseline.

        If other sides have several partners, the most similar ones share a row, so that each
        appears and the rows are not multiplied.
        """
        rows: list[tuple[models.Run | None, ...]] = []
        for place, candidates in enumerate(partners):
            for lead in candidates:
                if all(row[place] is not lead for row in rows):
                    row = tuple(
                        lead if others is candidates else self._most_similar(lead, others)
                        for others in partners
                    )
                    rows.append(row)
        return [Match((run, *row), self._reasons(run, row)) for row in rows]

    def _unmatched(self, place: int, run: models.Run) -> Match:
        runs: list[models.Run | None] = [None] * len(self._sides)
        runs[place] = run
        reasons: list[str | None] = [None] * (len(self._sides) - 1)
        reasons[place - 1] = self._no_counterpart(run, 0, place)
        return Match(tuple(runs), tuple(reasons))

    def _reasons(
        self, run: models.Run, others: Sequence[models.Run | None]
    ) -> tuple[str | None, ...]:
        return tuple(self._reason(run, place, other) for place, other in enumerate(others, start=1))

    def _reason(self, run: models.Run, place: int, other: models.Run | None) -> str | None:
        """Return why two runs are not comparable, or None if they are."""
        if other is None:
            return self._no_counterpart(run, place, place)
        apart = self._differing(run, other, self._question)
        if apart:
            pairs = (
                f"{axis} ({as_text(value(run, axis))}, {as_text(value(other, axis))})"
                for axis in apart
            )
            return f"different {', '.join(pairs)}"
        pair = ((self._sides[0], run), (self._sides[place], other))
        no_figures = (_without_figures(side, each) for side, each in pair)
        return next(filter(None, no_figures), None) or _undelivered(pair)

    def _no_counterpart(self, run: models.Run, lacking: int, place: int) -> str:
        """Return why no run of a side matches a run.

        Args:
            run: a run of the baseline or of the side ``place``.
            lacking: the side without a match.
            place: the side that is not the baseline.
        """
        side = self._sides[lacking]
        if not side.runs:
            return f"{side.name} has no runs"
        axes = (*self._question, *(self._matched[place].get(run) or self._common_choices(place)))
        places = [PARAMETERS.index(axis) for axis in axes]
        apart = self._codes[lacking][:, places] != self._code(run)[places]
        # A run with the same question is nearer than any run with a different question.
        weights = [len(axes) if axis in self._question else 1 for axis in axes]
        nearest = side.runs[int((apart @ weights).argmin())]
        missing = " and ".join(
            f"{axis} = {as_text(value(run, axis))}" for axis in self._differing(run, nearest, axes)
        )
        return f"{side.name} has no run with {missing}"

    def _most_similar(
        self, run: models.Run | None, others: Sequence[models.Run | None]
    ) -> models.Run | None:
        """Return the candidate with the fewest choices that differ from those of a run."""
        present = [other for other in others if other is not None]
        if run is None or not present:
            return others[0]
        return min(present, key=lambda other: len(self._differing(run, other, self._choice)))

    def _differing(self, run: models.Run, other: models.Run, axes: Iterable[str]) -> list[str]:
        ours, theirs = self._points[run], self._points[other]
        return [axis for axis in axes if ours[axis] != theirs[axis]]

    def _code(self, run: models.Run) -> NDArray[np.int64]:
        """Return the parameters of a run as numbers, to find the nearest of thousands of runs."""
        point = self._points[run]
        codes = []
        for axis in PARAMETERS:
            numbers = self._numbers[axis]
            codes.append(numbers.setdefault(point[axis], len(numbers)))
        return np.array(codes)

    def _values(self, runs: Iterable[models.Run], axis: str) -> set[Any]:
        return {self._points[run][axis] for run in runs}

    def _by_key(
        self, runs: Iterable[models.Run], axes: Sequence[str]
    ) -> dict[tuple[Any, ...], list[models.Run]]:
        groups: dict[tuple[Any, ...], list[models.Run]] = {}
        for run in runs:
            groups.setdefault(self._key(run, axes), []).append(run)
        return groups

    def _key(self, run: models.Run, axes: Iterable[str]) -> tuple[Any, ...]:
        point = self._points[run]
        return tuple(point[axis] for axis in axes)

    def _order(self, match: Match) -> tuple[Any, ...]:
        run = next(run for run in match.runs if run is not None)
        point = (self._points[run][axis] for axis in (*self._question, *self._choice))
        size = as_topology(run.topology).nodes if "topology" in self._question else 0
        return size, *("" if value is None else value for value in point)


def _distinct(runs: Iterable[models.Run]) -> Iterable[models.Run]:
    """Return each run once: two seeds may draw the same faults and give the same execution."""
    distinct: dict[tuple[Any, ...], models.Run] = {}
    for run in runs:
        figures = (run.status, *(figure(run, name) for name in (*FIGURES, MISSING)))
        distinct.setdefault((*(value(run, axis) for axis in PARAMETERS), *figures), run)
    return distinct.values()


def _joined(groups: Mapping[tuple[Any, ...], Sequence[models.Run]]) -> list[models.Run]:
    return [run for group in groups.values() for run in group]


def _without_figures(side: Side, run: models.Run) -> str | None:
    if run.status != "complete":
        return f"{side.name} failed: {run.error}"
    return None if figure(run, "time") is not None else f"{side.name} has no simulated time"


def _undelivered(pair: Sequence[tuple[Side, models.Run]]) -> str | None:
    """Return which runs leave units missing: however short their time, it is not comparable."""
    incomplete = [
        f"{side.name} leaves {run.missing} missing under its faults"
        for side, run in pair
        if run.missing
    ]
    return " and ".join(incomplete) or None
