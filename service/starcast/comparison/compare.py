"""Compare stored runs: compute time changes and verdicts, and choose the table columns."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import chain, count
from typing import Any, get_args

from starcast.comparison import sides as side_names
from starcast.comparison.matching import (
    MESSAGE_UNITS,
    MISSING,
    PARAMETERS,
    Match,
    Side,
    as_text,
    figure,
    find_matches,
    gap,
    value,
)
from starcast.support.axes import AXES
from starcast.support.errors import InputError
from starcast.support.runs import FIGURES, Run
from starcast.support.text import letter
from starcast.support.vocabulary import PairedBy

#: The figures (costs and counts of a run) that a comparison can show by default. The time is always
#: shown, the other figures only if they differ between sides.
USUAL = ("steps", "time", MISSING)

BETTER, WORSE, SAME, NOT_COMPARABLE = "better", "worse", "same", "not comparable"
#: Columns that compare a side's time with the baseline's time. The baseline has no such columns.
CHANGES = ("change", "change_percent", "verdict")

#: One side's values of `CHANGES`: the change in time, absolute and in per cent, and the verdict. An
#: undefined value is None.
Judgement = tuple[Fraction | None, float | None, str | None]

#: The default value of each parameter as text; headers omit default values.
_USUAL_VALUES = {name: as_text(axis.usual) for name, axis in AXES.items() if axis.has_usual}


@dataclass(frozen=True)
class Comparison:
    """The matched runs of several sides (named sets of runs).

    Attributes:
        sides: the sides; the first side is the baseline.
        matches: the matched runs, one match per row.
        across: the axes on which the runs in a row may differ; a subset of `QUESTION`, the run
            parameters that define a problem.
        by: the parameter on which runs are matched last: ``message_units``, the number of pieces of
            a message, or ``segments``, the number of segments per tree.
        everything: whether all parameters, figures and rows are shown; if False, only parameters,
            figures and rows with differences are shown.
    """

    sides: tuple[Side, ...]
    matches: tuple[Match, ...]
    across: tuple[str, ...] = ()
    by: str = MESSAGE_UNITS
    everything: bool = False

    @cached_property
    def complete(self) -> "Comparison":
        """A copy of this comparison that shows all parameters, figures and rows."""
        return replace(self, everything=True)

    @cached_property
    def different(self) -> tuple[Match, ...]:
        """The matches (rows) in which a figure differs between runs, or a run is not comparable."""
        return tuple(match for match in self.matches if match.differs())

    @cached_property
    def figures(self) -> tuple[str, ...]:
        """The names of the compared figures.

        The number of undelivered units, ``missing``, is included only if a run has faults.
        """
        faulty = any(run.faults for side in self.sides for run in side.runs)
        return (*FIGURES, MISSING) if faulty else FIGURES

    @cached_property
    def suffixes(self) -> dict[str, str]:
        """For each side name, the unique suffix that marks the side's columns."""
        suffixes: dict[str, str] = {}
        for side in self.sides:
            word = re.sub(r"\W+", "_", side.name).strip("_")
            # Two names can differ only in punctuation, but column names must be unique.
            numbered = (f"{word}_{number}" for number in count(2))
            known = suffixes.values()
            suffixes[side.name] = next(
                each for each in chain([word], numbered) if each not in known
            )
        return suffixes

    def column(self, what: str, side: Side) -> str:
        """Return the column name of a side's figure or parameter, such as ``time_greedy``."""
        return f"{what}_{self.suffixes[side.name]}"

    def shown(self) -> tuple[Match, ...]:
        """Return the matches to show as rows: all matches, or only matches with a difference."""
        return self.matches if self.everything else self.different

    def parameters(self) -> list[str]:
        """Return the names of the parameters to show as columns.

        If `everything` is True, these are all parameters, otherwise the parameters that vary
        between the rows with differences. If only one row has differences, these are the parameters
        that vary between its sides.
        """
        return [
            name
            for name in PARAMETERS
            if self.everything or (_varies(name, self.different) and name not in self._redundant)
        ]

    def default_figures(self) -> list[str]:
        """Return the names of the figures to show.

        If `everything` is True, these are all figures, otherwise the time, and the figures in
        `USUAL` that differ between the sides of a row.
        """
        if self.everything:
            return list(self.figures)
        return [
            name
            for name in self.figures
            if name == "time"
            or (name in USUAL and any(_is_unequal(name, match) for match in self.different))
        ]

    def shared_parameters(self) -> dict[str, str]:
        """Return the values of parameters without a column, as text, for a table's header.

        Default values are omitted, and so are values that the names of the sides contain.
        """
        columns = self.parameters()
        values = {name: self._common(name) for name in PARAMETERS if name not in columns}
        return {
            name: text
            for name, text in values.items()
            if text
            and text != _USUAL_VALUES.get(name)
            and name not in self._redundant
            and not side_names.names_contain(self.sides, text)
        }

    def with_letters(self) -> "Comparison":
        """Return the comparison with sides named A, B, ... for narrow tables.

        The reasons why runs are not comparable keep the original names.
        """
        named = (replace(side, name=letter(place)) for place, side in enumerate(self.sides))
        return replace(self, sides=tuple(named))

    def with_short_names(self) -> "Comparison":
        """Return the comparison, with sides named ``PART`` if all names are ``EXPERIMENT/PART``.

        The experiment must be the same for all sides. The reasons why runs are not comparable keep
        the original names.
        """
        return replace(self, sides=side_names.with_short_names(self.sides))

    def sources(self) -> list[str]:
        """Return the starcast versions and revisions that produced the runs."""
        return sorted({_source(run) for side in self.sides for run in side.runs})

    def columns(self) -> list[str]:
        """Return the names of the columns to display: parameters, figures, changes, gaps and notes.

        A run's gap is the run's simulated time divided by the lower bound. A note is the reason why
        runs are not comparable.
        """
        columns = self.parameters()
        return columns + self._result_columns() + self._note_column()

    def change_columns(self, side: Side) -> list[str]:
        """Return the names of the columns that compare a side's time with the baseline's.

        The names are `CHANGES`; if there are more than two sides, they contain the side's name.
        """
        return [name if len(self.sides) == 2 else self.column(name, side) for name in CHANGES]

    def data_columns(self) -> list[str]:
        """Return the names of the columns of a machine-readable table, with one value per cell.

        A parameter that differs between the sides of a row has one column per side, such as
        ``segments_NAME`` for the side NAME. Further columns contain each side's values on the axes
        in ``across``, and the best sides.
        """
        shown = self.shown()
        columns = []
        for name in self.parameters():
            differs = any(len(match.values(name)) > 1 for match in shown)
            columns += self._each(name) if differs else [name]
        columns += self._result_columns()
        columns += [*self.columns_across(), "best", *self._note_column()]
        # Duplicates are removed, because an axis in `across` can be a parameter column as well.
        return list(dict.fromkeys(columns))

    def columns_across(self) -> list[str]:
        """For each side, return the names of the columns for the axes in ``across``.

        If the topology is among these axes, the columns include the nodes, degree and links of the
        side's network.
        """
        return [
            self.column(name, side)
            for side in self.sides
            for name in side_names.values_across(side, self.across)
        ]

    @property
    def networks(self) -> list[str]:
        """Descriptions of the compared networks; empty unless ``across`` includes the topology."""
        if "topology" not in self.across:
            return []
        return side_names.describe_networks(run for side in self.sides for run in side.runs)

    def blocking_axes(self) -> list[str]:
        """Return the axes to add to ``across`` so that more runs in the same row are comparable."""
        pairs = [
            (match.runs[0], run)
            for match in self.matches
            for run in match.runs[1:]
            if match.runs[0] and run
        ]
        return [
            axis
            for axis in side_names.ALLOWED_ACROSS
            if axis not in self.across
            and any(getattr(run, axis) != getattr(other, axis) for run, other in pairs)
        ]

    def rows(self) -> list[dict[str, Any]]:
        """Return a row per shown match: parameters, exact figures, changes, gaps, best sides."""
        return [self._row(match) for match in self.shown()]

    def lines(self, match: Match) -> list[dict[str, Any]]:
        """Return the figures of a match as one dict per side, the baseline first.

        A dict has the parameters and figures of the side's run, its change relative to the
        baseline, its gap, and whether the side is among the fastest (``best``). If the run is not
        comparable with the baseline's run, ``note`` is the reason.
        """
        best = self.best(match)
        return [
            {
                **{name: single_value(run, name) for name in PARAMETERS},
                **{name: figure(run, name) for name in self.figures},
                **dict(zip(CHANGES, judgement, strict=True)),
                "gap": gap(run),
                "best": side.name in best,
                "note": reason,
            }
            for side, run, reason, judgement in zip(
                self.sides, match.runs, match.reasons, self.judgements(match), strict=True
            )
        ]

    def best(self, match: Match) -> tuple[str, ...]:
        """Return the names of the fastest sides in a match, among those with comparable runs.

        If all of these runs have the same time, the result is empty.
        """
        times = {
            side.name: figure(run, "time")
            for side, run, reason in zip(self.sides, match.runs, match.reasons, strict=True)
            if reason is None
        }
        if len(set(times.values())) < 2:
            return ()
        return tuple(name for name, time in times.items() if time == min(times.values()))

    def sorted_by(self, column: str) -> "Comparison":
        """Return the comparison sorted by a column, or in descending order by ``-column``.

        Rows without a value come last. If a figure, gap or change is named without a side, rows are
        sorted by its minimum over all sides. Sides can be named in full, by letters or by short
        names.

        Raises:
            InputError: the comparison has no column of this name.
        """
        name = column.removeprefix("-")
        known = self.sortable_columns()
        least = (*self.figures, "gap", "change", "change_percent")
        aliases: dict[str, str] = {}
        # Full names are added last, because they take precedence over equal short names.
        for renamed in (self.with_short_names(), self.with_letters(), self):
            aliases |= zip(renamed.sortable_columns(), known, strict=True)
        if name not in aliases and name not in least:
            shown = ", ".join([*self.columns(), "best"])
            raise InputError(
                f"'{name}' is not a column of this comparison",
                hint=f"use one of {shown}; to sort by the smallest value in each row, "
                f"use one of {', '.join(least)} without the name of an experiment or run",
            )
        cells = [(self._cell(match, aliases.get(name, name)), match) for match in self.matches]
        valued = [pair for pair in cells if pair[0] is not None]
        # A cell of a parameter is text if the sides have different values. Numbers and texts cannot
        # be compared, so in ascending order all numbers precede all texts.
        valued.sort(
            key=lambda pair: (isinstance(pair[0], str), pair[0]), reverse=column.startswith("-")
        )
        empty = [pair for pair in cells if pair[0] is None]
        return replace(self, matches=tuple(match for _, match in (*valued, *empty)))

    def sortable_columns(self) -> list[str]:
        """Return all columns by which rows can be sorted."""
        each = [name for parameter in PARAMETERS for name in self._each(parameter)]
        values = [name for name in self.columns_across() if name not in each]
        return [*self.complete.columns(), *each, *values, "best"]

    def judgements(self, match: Match) -> list[Judgement]:
        """Return, for each side, the change in time, absolute and in per cent, and the verdict."""
        sides = zip(match.runs, match.reasons, strict=True)
        _, *others = [_judge(match.runs[0], run, reason) for run, reason in sides]
        return [(None, None, "baseline"), *others]

    @cached_property
    def _redundant(self) -> set[str]:
        """The parameters that are shown only if `everything` is True.

        The set contains ``message_units`` if runs are matched by segments; otherwise it is empty.
        """
        return set() if self.by == MESSAGE_UNITS else {MESSAGE_UNITS}

    def _result_columns(self) -> list[str]:
        names = self.default_figures()
        columns = [self.column(name, side) for name in names for side in self.sides]
        columns += [name for side in self.sides[1:] for name in self.change_columns(side)]
        return columns + [self.column("gap", side) for side in self.sides]

    def _note_column(self) -> list[str]:
        is_noted = any(any(match.reasons) for match in self.shown())
        return ["note"] if is_noted else []

    def _each(self, parameter: str) -> list[str]:
        return [self.column(parameter, side) for side in self.sides]

    def _cell(self, match: Match, name: str) -> Any:
        row = self._row(match)
        if name in row:
            return row[name]
        values = [row.get(self.column(name, side)) for side in self.sides]
        return min((value for value in values if value is not None), default=None)

    def _row(self, match: Match) -> dict[str, Any]:
        row: dict[str, Any] = {name: shared_value(match, name) for name in PARAMETERS}
        lines = self.lines(match)
        for side, line in zip(self.sides, lines, strict=True):
            cells = line | side_names.values_across(side, self.across)
            row |= {self.column(name, side): cell for name, cell in cells.items()}
        for side, line in zip(self.sides[1:], lines[1:], strict=True):
            columns = zip(self.change_columns(side), CHANGES, strict=True)
            row |= {column: line[name] for column, name in columns}
        row["best"] = ", ".join(self.best(match)) or None
        row["note"] = "; ".join(dict.fromkeys(filter(None, match.reasons))) or None
        return row

    def _common(self, parameter: str) -> str | None:
        """Return the value that a parameter has in all rows with differences, as text.

        If no row has differences, all rows are considered. If the sides have different values, the
        text contains one value per side. The result is None if the runs of one side have different
        values.
        """
        values = []
        for column in zip(*(match.runs for match in self.different or self.matches), strict=True):
            present = {as_text(value(run, parameter)) for run in column if run is not None}
            if len(present) > 1:
                return None
            values.append("".join(present))
        distinct = set(filter(None, values))
        if len(distinct) == 1:
            return distinct.pop()
        return side_names.EACH.join(text or "-" for text in values)


def compare(
    sides: Sequence[Side],
    baseline: str | None = None,
    across: Iterable[str] = (),
    by: PairedBy = "message_units",
) -> Comparison:
    """Match the runs of every side (a set of runs) with the runs of the baseline side.

    Args:
        sides: two or more sides; a single side is split by algorithm, base and copies.
        baseline: the name of the side with which the other sides are compared (default: the first).
        across: axes of `ALLOWED_ACROSS` on which matched runs may differ. Each side is split into
            sides whose runs have equal values on these axes.
        by: the parameter on which runs are matched last: the number of message units, or of
            segments per tree. If these numbers are equal in all runs, ``segments`` is used.

    Raises:
        InputError: there are fewer than two sides after splitting, ``across`` contains an axis that
            is not in `ALLOWED_ACROSS`, or ``by`` is unknown.
        NotFoundError: no side has the name of the baseline.
    """
    axes = side_names.check_across(across)
    if by not in get_args(PairedBy):
        raise InputError(
            f"runs cannot be paired by '{by}'", hint=f"choose {' or '.join(get_args(PairedBy))}"
        )
    parts = side_names.with_distinct_names(
        part for side in sides for part in side_names.split_side(side, axes, alone=len(sides) == 1)
    )
    if len(parts) < 2:
        raise InputError(
            f"there is nothing to compare in '{sides[0].name}': all its runs have the same"
            " algorithm, base and number of copies"
            if sides
            else "there is nothing to compare",
            hint="name two experiments or runs, or one experiment with several algorithms",
        )
    first = 0 if baseline is None else side_names.find_side(parts, baseline)
    ordered = (parts[first], *parts[:first], *parts[first + 1 :])
    # If the segments equal the message units in every run, one column shows both.
    if all(value(run, MESSAGE_UNITS) == run.segments for side in ordered for run in side.runs):
        by = "segments"
    return Comparison(ordered, tuple(find_matches(ordered, axes, by)), axes, by)


def shared_value(match: Match, parameter: str) -> Any:
    """Return a parameter's value in a match; if the sides differ, all their values as one text."""
    values = match.values(parameter)
    if len(values) > 1:
        return side_names.EACH.join(map(as_text, values))
    return as_text(values[0]) if parameter == "faults" else values[0]


def single_value(run: Run | None, parameter: str) -> Any:
    """Return the value of a run's parameter, with faults as text; None if there is no run."""
    if run is None:
        return None
    return as_text(value(run, parameter)) if parameter == "faults" else value(run, parameter)


def _judge(baseline: Run | None, run: Run | None, reason: str | None) -> Judgement:
    if reason is not None:
        return None, None, NOT_COMPARABLE
    if baseline is None and run is None:
        return None, None, None
    before, after = figure(baseline, "time"), figure(run, "time")
    if before is None or after is None:
        return None, None, NOT_COMPARABLE
    change = after - before
    # Three significant digits are kept, because rounding to tenths would turn small changes into 0.
    relative = float(f"{float(100 * change / before):.3g}") if before else None
    if change == 0:
        return change, relative, SAME
    return change, relative, BETTER if change < 0 else WORSE


def _varies(parameter: str, matches: Sequence[Match]) -> bool:
    """Return whether a parameter varies between matches or, with a single match, between sides."""
    # With a single row, only differences between the sides of this row can be shown.
    if len(matches) == 1:
        return len(matches[0].values(parameter)) > 1
    columns = zip(*(match.runs for match in matches), strict=True)
    return any(
        len({value(run, parameter) for run in column if run is not None}) > 1 for column in columns
    )


def _is_unequal(name: str, match: Match) -> bool:
    return len({figure(run, name) for run in match.runs if run is not None}) > 1


def _source(run: Run) -> str:
    source = run.provenance
    revision = str(source.get("revision") or "")[:12]
    words = [str(source.get("version", "")), revision, "with changes" * bool(source.get("dirty"))]
    return " ".join(filter(None, words))
