"""Which stored runs stand beside each other in a comparison, and why some do not.

Two runs are comparable where they answer the same question: the same topology, collective, port model, m, T_s, T_c and faults,
however these were drawn; less those axes that the comparison is across (`across`). What answers it is a choice: the axes that
are crossed, the algorithm, its tree, copies, p (segments or messages). Of the runs that answer a question, those of two sides
are matched on a choice where they have values in common, one choice after the other; where they have none, that is the
difference to look at. Of p, what is left over on both sides once the common ones are matched is such a difference too. So
runs in the best number of pieces, whatever it is, stand beside each other, also where each side has runs in one piece as well.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.database import models
from starcast.topologies import topology

#: What two runs must share to be comparable, and what they are matched on if they can, in this order. p covers messages,
#: which are p where an algorithm takes them; it comes last, since it depends on all the others.
QUESTION = ("topology", "collective", "ports", "t_s", "t_c", "message_bytes", "faults")
CHOICE = ("algorithm", "base", "copies", "segments")
PARAMETERS = (*QUESTION, *CHOICE)

#: The choice of which what is left over on both sides is matched: how many pieces are best depends on all the rest.
_LEFT_OVER = "segments"

FIGURES = ("steps", "transmissions", "start_ups", "bytes", "time")
#: The figure of runs under faults: how many (node, unit) pairs lack something in the end.
MISSING = "missing"


@dataclass(frozen=True)
class Side:
    """One side of a comparison.

    Attributes:
        name: what it is called.
        runs: what is compared.
        commands: the command lines that run them where they are not stored.
        title: what the experiment says it is.
        repeat: the command line that executes them again where they are stored, and says whether the figures agree.
        lacking: the sentence that says what the experiment lacks; None where it lacks nothing.
    """

    name: str
    runs: tuple[models.Run, ...]
    commands: tuple[str, ...] = ()
    title: str = ""
    repeat: str = ""
    lacking: str | None = None


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


def matches(sides: Sequence[Side], across: Sequence[str] = ()) -> list[Match]:
    """Every run of every side in at least one row, the first side being the baseline; by topology and parameters.

    The axes ``across`` are no part of the question, but the first of the choices.
    """
    return _Matcher(sides, across).matches()


def words(value: Any) -> str:
    """A parameter's value as text; a dash where there is none."""
    if isinstance(value, tuple):
        return " ".join(value) or "none"
    return "-" if value is None else str(value)


class _Matcher:
    """The sides with the parameters of every run, read once."""

    def __init__(self, sides: Sequence[Side], across: Sequence[str]) -> None:
        self._sides = tuple(replace(side, runs=tuple(_once(side.runs))) for side in sides)
        self._question = tuple(axis for axis in QUESTION if axis not in across)
        self._choice = (*across, *CHOICE)
        self._points = {
            run: {axis: value(run, axis) for axis in PARAMETERS}
            for side in self._sides
            for run in side.runs
        }
        self._numbers: dict[str, dict[Any, int]] = {axis: {} for axis in PARAMETERS}
        self._codes = [np.array([self._code(run) for run in side.runs]) for side in self._sides]
        #: For each side, for runs of the baseline and of that side, the choices on which they are matched.
        self._matched: list[dict[models.Run, tuple[str, ...]]] = [{} for _ in sides]

    def matches(self) -> list[Match]:
        baseline, *others = self._sides
        beside = [self._beside(place) for place in range(1, len(self._sides))]
        rows = [
            row
            for run in baseline.runs
            for row in self._rows(run, [found[run] for found in beside])
        ]
        for place, (other, found) in enumerate(zip(others, beside, strict=True), start=1):
            used = {run for runs in found.values() for run in runs}
            rows += [self._lonely(place, run) for run in other.runs if run not in used]
        return sorted(rows, key=self._order)

    def _beside(self, place: int) -> Mapping[models.Run, Sequence[models.Run | None]]:
        """For each run of the baseline the runs of another side to put beside it.

        These are its matches; where the side does not answer its question at all, the nearest run that answers one which the
        baseline does not, so that the row can show both and say what keeps them apart; else nothing.
        """
        ours, theirs = (
            self._by_key(self._sides[0].runs, self._question),
            self._by_key(self._sides[place].runs, self._question),
        )
        found: dict[models.Run, list[models.Run]] = {run: [] for run in self._sides[0].runs}
        for question, runs in ours.items():
            self._match(place, runs, theirs.get(question, []), self._choice, (), found)
        ones, others = (
            [run for key, runs in one.items() if key not in other for run in runs]
            for one, other in ((ours, theirs), (theirs, ours))
        )
        strangers = self._strangers(ones, others, place)
        return {run: runs or [strangers.get(run)] for run, runs in found.items()}

    def _match(
        self,
        place: int,
        ours: Sequence[models.Run],
        theirs: Sequence[models.Run],
        choice: Sequence[str],
        matched: tuple[str, ...],
        found: dict[models.Run, list[models.Run]],
    ) -> None:
        """Match runs of one question, on one choice after the other."""
        if not choice or not ours or not theirs:
            self._matched[place] |= dict.fromkeys((*ours, *theirs), matched)
            for run in ours:
                found[run].extend(theirs)
            return
        axis, *rest = choice
        mine, others = self._by_key(ours, [axis]), self._by_key(theirs, [axis])
        if not mine.keys() & others.keys():
            self._match(place, ours, theirs, rest, matched, found)
            return
        for key in mine.keys() & others.keys():
            self._match(place, mine.pop(key), others.pop(key), rest, (*matched, axis), found)
        if axis == _LEFT_OVER and mine and others:
            self._match(place, _joined(mine), _joined(others), rest, matched, found)
        else:
            self._matched[place] |= dict.fromkeys(
                (*_joined(mine), *_joined(others)), (*matched, axis)
            )

    def _common(self, place: int) -> tuple[str, ...]:
        """The choices in which a side and the baseline have values in common, over all questions; p is no reason here."""
        ours, theirs = self._sides[0].runs, self._sides[place].runs
        return tuple(
            axis
            for axis in self._choice
            if axis != "segments" and self._values(ours, axis) & self._values(theirs, axis)
        )

    def _strangers(
        self, ones: Sequence[models.Run], others: Sequence[models.Run], place: int
    ) -> dict[models.Run, models.Run]:
        """For runs of questions that the others do not answer, the nearest of the others, each taken once."""
        chosen: dict[models.Run, models.Run] = {}
        free = dict.fromkeys(others)
        common = self._common(place)
        for size in range(1, len(self._question) + 1):
            for apart, last in product(combinations(self._question, size), (("segments",), ())):
                if len(chosen) == len(ones) or not free:
                    return chosen
                axes = [axis for axis in (*self._question, *common, *last) if axis not in apart]
                waiting = self._by_key(free, axes)
                for one in ones:
                    there = [] if one in chosen else waiting.get(self._key(one, axes), [])
                    if there:
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
                    rows.append(
                        tuple(
                            lead if there is candidates else self._alike(lead, there)
                            for there in beside
                        )
                    )
        return [Match((run, *row), self._reasons(run, row)) for row in rows]

    def _lonely(self, place: int, run: models.Run) -> Match:
        runs: list[models.Run | None] = [None] * len(self._sides)
        reasons: list[str | None] = [None] * (len(self._sides) - 1)
        runs[place], reasons[place - 1] = run, self._no_counterpart(run, 0, place)
        return Match(tuple(runs), tuple(reasons))

    def _reasons(
        self, run: models.Run, others: Sequence[models.Run | None]
    ) -> tuple[str | None, ...]:
        return tuple(self._reason(run, place, other) for place, other in enumerate(others, start=1))

    def _reason(self, run: models.Run, place: int, other: models.Run | None) -> str | None:
        """Why these two are no comparison, or None if they are one."""
        if other is None:
            return self._no_counterpart(run, place, place)
        apart = self._differing(run, other, self._question)
        if apart:
            pairs = (
                f"{axis} ({words(value(run, axis))}, {words(value(other, axis))})" for axis in apart
            )
            return f"different {', '.join(pairs)}"
        pair = ((self._sides[0], run), (self._sides[place], other))
        return next(
            (reason for of, one in pair if (reason := _without_figures(of, one))), None
        ) or _undelivered(pair)

    def _no_counterpart(self, run: models.Run, topology: int, place: int) -> str:
        """Why nothing in the side ``where`` stands beside a run: of the baseline and the side ``place``, the other one's."""
        side = self._sides[topology]
        if not side.runs:
            return f"{side.name} has no runs"
        axes = (*self._question, *(self._matched[place].get(run) or self._common(place)))
        places = [PARAMETERS.index(axis) for axis in axes]
        apart = self._codes[topology][:, places] != self._code(run)[places]
        # A run of the same question is nearer than any of another, whatever else it has.
        weights = [len(axes) if axis in self._question else 1 for axis in axes]
        nearest = side.runs[int((apart @ weights).argmin())]
        lacking = " and ".join(
            f"{axis} = {words(value(run, axis))}" for axis in self._differing(run, nearest, axes)
        )
        return f"{side.name} has no run with {lacking}"

    def _alike(
        self, run: models.Run | None, others: Sequence[models.Run | None]
    ) -> models.Run | None:
        """Of the runs that may stand in one row with a run, the most similar."""
        present = [other for other in others if other is not None]
        if run is None or not present:
            return others[0]
        return min(present, key=lambda other: len(self._differing(run, other, self._choice)))

    def _differing(self, one: models.Run, other: models.Run, axes: Iterable[str]) -> list[str]:
        ours, theirs = self._points[one], self._points[other]
        return [axis for axis in axes if ours[axis] != theirs[axis]]

    def _code(self, run: models.Run) -> NDArray[np.int64]:
        """The parameters of a run as numbers that are equal where they are: of thousands of runs the nearest is looked up."""
        point = self._points[run]
        return np.array(
            [
                self._numbers[axis].setdefault(point[axis], len(self._numbers[axis]))
                for axis in PARAMETERS
            ]
        )

    def _values(self, runs: Iterable[models.Run], axis: str) -> set[Any]:
        return {self._points[run][axis] for run in runs}

    def _by_key(
        self, runs: Iterable[models.Run], axes: Sequence[str]
    ) -> dict[tuple[Any, ...], list[models.Run]]:
        found: dict[tuple[Any, ...], list[models.Run]] = {}
        for run in runs:
            found.setdefault(self._key(run, axes), []).append(run)
        return found

    def _key(self, run: models.Run, axes: Iterable[str]) -> tuple[Any, ...]:
        point = self._points[run]
        return tuple(point[axis] for axis in axes)

    def _order(self, match: Match) -> tuple[Any, ...]:
        run = next(run for run in match.runs if run is not None)
        point = (self._points[run][axis] for axis in (*self._question, *self._choice))
        size = topology(run.topology).nodes if "topology" in self._question else 0
        return size, *("" if of is None else of for of in point)


def _once(runs: Iterable[models.Run]) -> Iterable[models.Run]:
    """Each run once: two seeds may draw the same faults, and what is executed then is the same."""
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
    """Who does not bring everything under its faults: however short its time, it is no answer to the question."""
    lacking = [
        f"{side.name} leaves {run.missing} missing under its faults"
        for side, run in pair
        if run.missing
    ]
    return " and ".join(lacking) or None
