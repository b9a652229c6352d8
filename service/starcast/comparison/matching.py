"""Match stored runs: find the runs for each row of a comparison, and explain missing matches.

Two runs are comparable if they solve the same problem, that is, if they have the same values on the
axes of `QUESTION`, such as topology, message_bytes and faults. If a comparison names some
of these axes in ``across``, comparable runs may differ on them. Comparable runs may always differ
on the axes of `CHOICE`, such as the algorithm and its segments. Below, the axes in ``across`` and
the axes of `CHOICE` are called choice axes.

Runs of two sides that solve the same problem are matched on one choice axis after the other. If the
sides have a common value on an axis, runs with equal values on this axis are matched; otherwise
the axis is the difference to be compared. The last choice axis is the number of units into which a
message is split or, on request, ``segments``. (The segments of `multiple` are pieces of each tree's
share of a message; those of `edge-disjoint` are pieces of the entire message.) A run whose number
of units does not occur on the other side is not matched at first. Then the fastest of these runs of
each side are matched, so that each algorithm is compared at its best number of units.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import chain, combinations, product
from typing import Any

import numpy as np

from starcast.support.axes import CHOICE, QUESTION
from starcast.support.runs import FIGURES, Run
from starcast.topologies import count_nodes

#: The parameters on which runs can be matched last: the number of units of a message, and the
#: number of segments per tree.
MESSAGE_UNITS, SEGMENTS = "message_units", "segments"
#: All parameters used for matching. The parameter ``messages`` is omitted, because it equals the
#: segments if an algorithm has an argument ``messages``.
PARAMETERS = (*QUESTION, *CHOICE, MESSAGE_UNITS)

_COLUMNS = {axis: column for column, axis in enumerate(PARAMETERS)}

#: The name of the figure that counts the (node, unit) pairs that a run with faults did not deliver.
MISSING = "missing"


@dataclass(frozen=True)
class Side:
    """One of the compared sides: an experiment, a run, or a part of an experiment.

    Attributes:
        name: the name of the side.
        runs: the runs of the side.
        commands: the command lines that execute the runs and store the results in another database.
        title: the title of the experiment; empty if there is none.
        repeat: the command line that executes the stored runs again and compares the figures.
        incomplete: a sentence with the number of missing runs; None if no run is missing.
    """

    name: str
    runs: tuple[Run, ...]
    commands: tuple[str, ...] = ()
    title: str = ""
    repeat: str = ""
    incomplete: str | None = None


@dataclass(frozen=True)
class Match:
    """The runs in one row of a comparison.

    Attributes:
        runs: one run per side, the baseline's run first; None if a side has no matching run.
        reasons: for each side, why its run is not comparable with the baseline's run; None for
            comparable runs and for the baseline.
    """

    runs: tuple[Run | None, ...]
    reasons: tuple[str | None, ...]

    def values(self, parameter: str) -> tuple[Any, ...]:
        """Return a parameter's value as a tuple of length 1, if all runs share the value.

        Otherwise, the tuple has one value per side. The value of a side without a run is None.
        """
        values = tuple(None if run is None else value(run, parameter) for run in self.runs)
        present = {value for value, run in zip(values, self.runs, strict=True) if run is not None}
        return (present.pop(),) if len(present) == 1 else values

    def differs(self) -> bool:
        """Return whether a figure differs between the runs, or a run is not comparable."""
        figures = {tuple(figure(run, name) for name in (*FIGURES, MISSING)) for run in self.runs}
        return len(figures) > 1 or any(self.reasons)


def count_unmatched(matches: Iterable[Match]) -> int:
    """Return the number of matches (rows of a comparison) in which a side has no run."""
    return sum(None in match.runs for match in matches)


def value(run: Run, parameter: str) -> Any:
    """Return the value of a run's parameter; faults are a sorted tuple.

    Older versions did not store ``message_units``. For their runs, the value of this parameter is
    the number of segments.
    """
    if parameter == MESSAGE_UNITS:
        return run.message_units or run.segments
    return tuple(sorted(run.faults)) if parameter == "faults" else getattr(run, parameter)


def figure(run: Run | None, name: str, kind: str = "simulated") -> Any:
    """Return a figure of a run, such as its simulated time; None if the run or figure is missing.

    Args:
        run: the run, or None.
        name: an attribute of a cost, such as ``time``, or `MISSING`.
        kind: the kind of cost: ``simulated``, ``closed form`` or ``lower bound``.
    """
    if run is None:
        return None
    if name == MISSING:
        return run.missing if run.status == "complete" else None
    return next((getattr(cost, name) for cost in run.costs if cost.kind == kind), None)


def gap(run: Run | None, kind: str = "simulated") -> Fraction | None:
    """Return a run's time, simulated or from the closed form, divided by the lower bound.

    The result is None if the time or the bound is missing or the bound is 0. The gap of the
    simulated time is also None if units are missing or a node is faulty, because the bound applies
    only to the delivery of all units to all nodes.

    Args:
        run: the run, or None.
        kind: the kind of cost whose time is used: ``simulated`` or ``closed form``.
    """
    # A faulty link is written as two labels joined by "-", a faulty node as one label.
    if run is None or (
        kind == "simulated" and (run.missing or any("-" not in fault for fault in run.faults))
    ):
        return None
    bound, time = figure(run, "time", "lower bound"), figure(run, "time", kind)
    return time / bound if bound and time is not None else None


def find_matches(
    sides: Sequence[Side], across: Sequence[str] = (), by: str = MESSAGE_UNITS
) -> list[Match]:
    """Return the rows of a comparison, sorted by the number of nodes and then by the parameters.

    If several runs of a side have equal parameters and figures, only the first of them is used.
    Every other run of every side is in at least one row. The first side is the baseline. Matched
    runs may differ on the axes in ``across``. Runs are matched last on the parameter ``by``:
    `MESSAGE_UNITS` or `SEGMENTS`.
    """
    baseline, *others = (replace(side, runs=tuple(_distinct(side.runs))) for side in sides)
    points = _Points([baseline, *others], across, by)
    pairings = [_Pairing(points, baseline, other) for other in others]
    matches = []
    for run in baseline.runs:
        for row in _divide_into_rows([each.partners[run] for each in pairings], points):
            pairs = zip(pairings, row, strict=True)
            reasons = (pairing.find_reason(run, other) for pairing, other in pairs)
            matches.append(Match((run, *row), (None, *reasons)))
    for place, pairing in enumerate(pairings, start=1):
        before, after = (None,) * place, (None,) * (len(pairings) - place)
        for run in pairing.find_unmatched():
            reason = pairing.describe_missing(run, baseline)
            matches.append(Match((*before, run, *after), (*before, reason, *after)))
    return sorted(matches, key=points.order)


def as_text(value: Any) -> str:
    """Return the value of a parameter as text: ``-`` for None, ``none`` for an empty tuple."""
    if isinstance(value, tuple):
        return " ".join(value) or "none"
    return "-" if value is None else str(value)


class _Points:
    """The parameters of all compared runs, encoded as integers for fast comparison.

    Attributes:
        question: the axes that define the problem, on which comparable runs agree.
        choice: the axes on which comparable runs may differ, in the order of matching.
        by: the last axis of ``choice``, `MESSAGE_UNITS` or `SEGMENTS`.
        codes: for each run, one number per parameter; equal values of a parameter have equal
            numbers.
    """

    def __init__(self, sides: Iterable[Side], across: Sequence[str], by: str) -> None:
        self.question = tuple(axis for axis in QUESTION if axis not in across)
        self.by = by
        self.choice = (*across, *(axis for axis in CHOICE if axis != SEGMENTS), by)
        numbers: dict[str, dict[Any, int]] = {axis: {} for axis in PARAMETERS}
        self.codes = {
            run: tuple(
                known.setdefault(value(run, axis), len(known)) for axis, known in numbers.items()
            )
            for side in sides
            for run in side.runs
        }

    def key(self, run: Run, axes: Iterable[str]) -> tuple[int, ...]:
        """Return the encoded values of a run on the given axes."""
        codes = self.codes[run]
        return tuple(codes[_COLUMNS[axis]] for axis in axes)

    def group(self, runs: Iterable[Run], axes: Sequence[str]) -> dict[tuple[int, ...], list[Run]]:
        """Group runs by their values on the given axes."""
        groups: dict[tuple[int, ...], list[Run]] = {}
        for run in runs:
            groups.setdefault(self.key(run, axes), []).append(run)
        return groups

    def differing(self, run: Run, other: Run, axes: Iterable[str]) -> list[str]:
        """Return the given axes on which two runs have different values."""
        ours, theirs = self.codes[run], self.codes[other]
        return [axis for axis in axes if ours[_COLUMNS[axis]] != theirs[_COLUMNS[axis]]]

    def order(self, match: Match) -> tuple[Any, ...]:
        """Return the key by which the rows of a comparison are sorted."""
        run = next(run for run in match.runs if run is not None)
        values = [value(run, axis) for axis in (*self.question, *self.choice)]
        size = count_nodes(run.topology) if "topology" in self.question else 0
        return size, *("" if value is None else value for value in values)


class _Pairing:
    """The matching of the baseline with one other side: the partners of each baseline run.

    Attributes:
        partners: for each run of the baseline, a list of matching runs of the other side. If no run
            of the other side solves the same problem, the list contains one similar run that is not
            comparable. Such a run solves a problem that no baseline run solves, and is used for
            only one baseline run. Without a matching or similar run, the list contains only None.
    """

    def __init__(self, points: _Points, baseline: Side, other: Side) -> None:
        self._points = points
        self._baseline = baseline
        self._other = other
        # The codes of each side's runs are kept as an array, to find the most similar run quickly.
        self._codes = {
            side.name: np.array([points.codes[run] for run in side.runs])
            for side in (baseline, other)
        }
        self.partners: dict[Run, list[Run | None]] = {run: [] for run in baseline.runs}
        #: The axes of ``points.choice`` on which the two sides have a value in common, except
        #: ``points.by``.
        self._common = [
            axis
            for axis in points.choice
            if axis != points.by
            and points.group(baseline.runs, [axis]).keys() & points.group(other.runs, [axis]).keys()
        ]
        #: The choice axes on which each run was matched.
        self._matched: dict[Run, tuple[str, ...]] = {}
        #: For a run that was not paired, the faster run of the same side that was paired instead.
        self._faster: dict[Run, Run] = {}
        ours = points.group(baseline.runs, points.question)
        theirs = points.group(other.runs, points.question)
        for question, runs in ours.items():
            self._match(runs, theirs.get(question, []), points.choice, ())
        self._pair_nearest(
            [run for key, runs in ours.items() if key not in theirs for run in runs],
            [run for key, runs in theirs.items() if key not in ours for run in runs],
        )
        for partners in self.partners.values():
            if not partners:
                partners.append(None)

    def _match(
        self,
        ours: Sequence[Run],
        theirs: Sequence[Run],
        choice: Sequence[str],
        matched: tuple[str, ...],
    ) -> None:
        """Match runs of both sides that solve the same problem, on one choice axis after another.

        ``choice`` contains the axes on which the runs are still to be matched, ``matched`` the axes
        on which the runs already agree.
        """
        if not choice or not ours or not theirs:
            self._matched |= dict.fromkeys((*ours, *theirs), matched)
            for run in ours:
                self.partners[run].extend(theirs)
            return
        axis, *rest = choice
        mine, others = self._points.group(ours, [axis]), self._points.group(theirs, [axis])
        common = mine.keys() & others.keys()
        # The sides have no common value on this axis, so the axis is the difference to be compared,
        # and runs are matched on the remaining axes only.
        if not common and axis != self._points.by:
            self._match(ours, theirs, rest, matched)
            return
        for key in common:
            self._match(mine.pop(key), others.pop(key), rest, (*matched, axis))
        left, right = list(chain(*mine.values())), list(chain(*others.values()))
        self._matched |= dict.fromkeys((*left, *right), (*matched, axis))
        # Only the fastest runs are paired: pairing all numbers of units would multiply the rows,
        # and most rows would compare an algorithm at a number of units that is not its best.
        if axis == self._points.by and left and right:
            for runs, fastest in ((left, _fastest(left)), (right, _fastest(right))):
                self._faster |= {run: fastest[0] for run in runs if run not in fastest}
            self._match(_fastest(left), _fastest(right), rest, matched)

    def _pair_nearest(self, ours: Sequence[Run], theirs: Sequence[Run]) -> None:
        """Pair runs that solve different problems; pairs with the fewest differences come first."""
        waiting, free = dict.fromkeys(ours), dict.fromkeys(theirs)
        question = self._points.question
        for size in range(1, len(question) + 1):
            for apart, last in product(combinations(question, size), ((self._points.by,), ())):
                # Runs with equal values of `by` are paired first: a row should have as few
                # differences as possible, so that the reason names only relevant differences.
                if not waiting or not free:
                    return
                axes = [axis for axis in (*question, *self._common, *last) if axis not in apart]
                groups = self._points.group(free, axes)
                for run in list(waiting):
                    candidates = groups.get(self._points.key(run, axes))
                    if candidates:
                        partner = candidates.pop(0)
                        self.partners[run].append(partner)
                        del waiting[run], free[partner]

    def find_unmatched(self) -> list[Run]:
        """Return the runs of the other side that do not share a row with any baseline run."""
        used = {run for runs in self.partners.values() for run in runs}
        return [run for run in self._other.runs if run not in used]

    def find_reason(self, run: Run, other: Run | None) -> str | None:
        """Return the reason why a run and its partner are not comparable, or None."""
        if other is None:
            return self.describe_missing(run, self._other)
        apart = self._points.differing(run, other, self._points.question)
        if apart:
            pairs = (
                f"{axis} ({as_text(value(run, axis))}, {as_text(value(other, axis))})"
                for axis in apart
            )
            return f"different {', '.join(pairs)}"
        pair = ((self._baseline.name, run), (self._other.name, other))
        for name, each in pair:
            if each.status != "complete":
                return f"{name} failed: {each.error}"
            if figure(each, "time") is None:
                return f"{name} has no simulated time"
        # The time of a run that does not deliver all units cannot be compared.
        incomplete = [
            f"{name} does not deliver all units under its faults ({each.missing} missing)"
            for name, each in pair
            if each.missing
        ]
        return " and ".join(incomplete) or None

    def describe_missing(self, run: Run, side: Side) -> str:
        """Return the reason why a run of one side has no match on the given side."""
        if not side.runs:
            return f"{side.name} has no runs"
        question = self._points.question
        axes = (*question, *(self._matched.get(run) or self._common))
        columns = [_COLUMNS[axis] for axis in axes]
        apart = self._codes[side.name][:, columns] != self._points.key(run, axes)
        # The weights make any run of the same problem more similar than a run of another problem.
        weights = [len(axes) if axis in question else 1 for axis in axes]
        nearest = side.runs[int((apart @ weights).argmin())]
        missing = " and ".join(
            f"{axis} = {as_text(value(run, axis))}"
            for axis in self._points.differing(run, nearest, axes)
        )
        reason = f"{side.name} has no run with {missing}"
        if run not in self._faster:
            return reason
        own = self._other if side is self._baseline else self._baseline
        by = self._points.by
        return f"{reason}, and {own.name} is faster with {by} = {value(self._faster[run], by)}"


def _divide_into_rows(
    partners: Sequence[Sequence[Run | None]], points: _Points
) -> list[tuple[Run | None, ...]]:
    """Return the comparison rows for a run of the baseline and its partners on other sides.

    Each partner is in at least one row. A partner that is in no earlier row gets a new row,
    together with the most similar partner on every other side. Rows for all combinations would be
    too many.
    """
    rows: list[tuple[Run | None, ...]] = []
    for place, candidates in enumerate(partners):
        for lead in candidates:
            if all(row[place] is not lead for row in rows):
                row = tuple(
                    lead if others is candidates else _most_similar(lead, others, points)
                    for others in partners
                )
                rows.append(row)
    return rows


def _most_similar(run: Run | None, others: Sequence[Run | None], points: _Points) -> Run | None:
    """Return the run among ``others`` that differs from ``run`` on the fewest choice axes.

    If ``run`` is None, or ``others`` contains only None, the first of ``others`` is returned.
    """
    present = [other for other in others if other is not None]
    if run is None or not present:
        return others[0]
    return min(present, key=lambda other: len(points.differing(run, other, points.choice)))


def _distinct(runs: Iterable[Run]) -> Iterable[Run]:
    """Return the runs without repetitions: of runs with equal parameters and figures, the first."""
    distinct: dict[tuple[Any, ...], Run] = {}
    for run in runs:
        figures = (run.status, *(figure(run, name) for name in (*FIGURES, MISSING)))
        distinct.setdefault((*(value(run, axis) for axis in PARAMETERS), *figures), run)
    return distinct.values()


def _fastest(runs: Iterable[Run]) -> list[Run]:
    """Return the fastest of the runs that deliver all units, or of all runs if none does.

    Runs with equal times are returned together; if no run has a time, all runs are returned.
    """
    times = {run: (bool(run.missing), figure(run, "time")) for run in runs}
    timed = [time for time in times.values() if time[1] is not None]
    return [run for run, time in times.items() if not timed or time == min(timed)]
