"""Comparing stored runs: judge each match, name what differs. Pure: loading and printing are elsewhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from starcast.comparison import side_names
from starcast.comparison.matching import (
    FIGURES,
    MISSING,
    PARAMETERS,
    Match,
    Side,
    figure,
    matches,
    value,
    words,
)
from starcast.comparison.networks import CROSSABLE, Network, apart, crossed, facts, networks
from starcast.database import models
from starcast.errors import InputError

#: The figures of a table that nobody asked to be complete.
USUAL = ("steps", "time", MISSING)

BETTER, WORSE, SAME, NOT_COMPARABLE = "better", "worse", "same", "not comparable"

#: Change in time, change in per cent, verdict.
Judgement = tuple[Fraction | None, float | None, str | None]

#: What most runs share in these, so that it need not be said.
_SILENT = {"faults": "none", "copies": "1", "base": "-"}


@dataclass(frozen=True)
class Comparison:
    """All matches of the sides, the baseline being the first side; ``across`` are the axes that are no part of the question."""

    sides: tuple[Side, ...]
    matches: tuple[Match, ...]
    across: tuple[str, ...] = ()

    @cached_property
    def different(self) -> tuple[Match, ...]:
        """The matches in which something differs."""
        return tuple(match for match in self.matches if match.differs())

    @cached_property
    def figures(self) -> tuple[str, ...]:
        """What is compared: what is missing in the end only where a run has faults."""
        faulty = any(run.faults for side in self.sides for run in side.runs)
        return (*FIGURES, MISSING) if faulty else FIGURES

    def shown(self, *, everything: bool = False) -> tuple[Match, ...]:
        """The matches that are rows: those in which something differs, or all."""
        return self.matches if everything else self.different

    def parameters(self, *, everything: bool = False) -> list[str]:
        """The parameters that are columns: those that are not the same in all rows, or all."""
        return [name for name in PARAMETERS if everything or _varies(name, self.different)]

    def telling(self, *, everything: bool = False) -> list[str]:
        """The figures that are columns: the time, and the usual ones where they differ; or all."""
        usual = [what for what in self.figures if what in USUAL]
        shown = [
            what
            for what in usual
            if what == "time" or any(_unequal(what, match) for match in self.different)
        ]
        return list(self.figures) if everything else shown

    def shared(self, *, everything: bool = False) -> dict[str, str]:
        """The parameters that are no column, since all rows agree in them: the value, or each side's."""
        columns = self.parameters(everything=everything)
        told = {name: self._common(name) for name in PARAMETERS if name not in columns}
        return {name: word for name, word in told.items() if word and word != _SILENT.get(name)}

    def worth_saying(self, *, everything: bool = False) -> dict[str, str]:
        """Of these what the sides' names do not say already."""
        shared = self.shared(everything=everything)
        return {
            name: word for name, word in shared.items() if not side_names.telling(self.sides, word)
        }

    def lettered(self) -> "Comparison":
        """The same with the sides called A, B, ...: for a table that has to be narrow; reasons keep the names."""
        return replace(self, sides=side_names.lettered(self.sides))

    def briefly(self) -> "Comparison":
        """The same without the experiment of which all sides are parts; reasons keep the names."""
        return replace(self, sides=side_names.brief(self.sides))

    def sources(self) -> list[str]:
        """The versions and revisions of starcast that made the runs; more than one is worth a word."""
        return sorted({_stamp(run) for side in self.sides for run in side.runs})

    def columns(self, *, everything: bool = False) -> list[str]:
        """The columns of `rows`: parameters, figures, changes, gaps; those that say nothing only if asked for."""
        names = [side.name for side in self.sides]
        columns = self.parameters(everything=everything)
        columns += [
            f"{what} {name}" for what in self.telling(everything=everything) for name in names
        ]
        for name in names[1:]:
            columns += [f"{word}{self._suffix(name)}" for word in ("change", "change %", "verdict")]
        columns += [f"gap {name}" for name in names]
        noted = any(any(match.reasons) for match in self.shown(everything=everything))
        return columns + (["note"] if noted else [])

    def listed(self, *, everything: bool = False) -> list[str]:
        """The columns of `rows` for programs: cells of one value each, of the crossed axes too, and the best.

        A parameter in which the sides of some row differ has a column for each side, ``p NAME``, and none of its own.
        """
        parameters, shown = (
            self.parameters(everything=everything),
            self.shown(everything=everything),
        )
        apart = {name for name in parameters if any(len(match.cell(name)) > 1 for match in shown)}
        each = [self._each(name) if name in apart else [name] for name in parameters]
        rest = self.columns(everything=everything)[len(parameters) :]
        note = [name for name in rest if name == "note"]
        rest = [*rest[: len(rest) - len(note)], *self.crossed_columns(), "best", *note]
        return list(dict.fromkeys([*(name for names in each for name in names), *rest]))

    def crossed_columns(self) -> list[str]:
        """What `rows` tell of each side where axes are crossed: its values on them, and how large its network is."""
        return [f"{name} {side.name}" for side in self.sides for name in facts(side, self.across)]

    @property
    def networks(self) -> tuple[Network, ...]:
        """The networks that are compared, where the comparison is across them."""
        return (
            networks(run for side in self.sides for run in side.runs)
            if "topology" in self.across
            else ()
        )

    def kept_apart(self) -> list[str]:
        """The axes by which rows are not comparable, and that might be crossed."""
        pairs = [
            (match.runs[0], run)
            for match in self.matches
            for run in match.runs[1:]
            if match.runs[0] and run
        ]
        uncrossed = (axis for axis in CROSSABLE if axis not in self.across)
        return [
            axis
            for axis in uncrossed
            if any(getattr(one, axis) != getattr(other, axis) for one, other in pairs)
        ]

    def rows(self, *, everything: bool = False) -> list[dict[str, Any]]:
        """One row a match: exact figures, changes against the baseline in time, each run's time / lower bound, the best."""
        return [self._row(match) for match in self.shown(everything=everything)]

    def best(self, match: Match) -> tuple[str, ...]:
        """Of the sides that can be compared in a match, those with the least time; none where all take the same."""
        judged = (
            match.runs[0],
            *(
                run
                for run, reason in zip(match.runs[1:], match.reasons, strict=True)
                if reason is None
            ),
        )
        times = {figure(run, "time") for run in judged}
        if len(times) < 2:
            return ()
        return tuple(
            side.name
            for side, run in zip(self.sides, match.runs, strict=True)
            if any(run is one for one in judged) and figure(run, "time") == min(times)
        )

    def ordered(self, column: str) -> "Comparison":
        """The same with its rows in the order of a column, ascending; ``-column`` descending; rows without a value last.

        A figure, a gap or a change without a side's name is the least that a side has in the row.

        Raises:
            InputError: there is no such column, neither under the sides' names nor under their letters or brief names.
        """
        name = column.removeprefix("-")
        known, least = self.sortable(), (*self.figures, "gap", "change", "change %")
        others = [
            dict(zip(same.sortable(), known, strict=True))
            for same in (self.briefly(), self.lettered())
        ]
        meant = {**others[0], **others[1], **dict(zip(known, known, strict=True))}
        if name not in meant and name not in least:
            alone = f"{', '.join(least)} alone are the least of the sides"
            shown = ", ".join([*self.columns(), "best"])
            raise InputError(
                f"'{name}' is no column of this comparison", hint=f"there are {shown}; {alone}"
            )
        cells = [(self._cell(match, meant.get(name, name)), match) for match in self.matches]
        valued = [pair for pair in cells if pair[0] is not None]
        # A cell is a number, or words where it is each side's.
        valued.sort(
            key=lambda pair: (isinstance(pair[0], str), pair[0]), reverse=column.startswith("-")
        )
        return replace(
            self,
            matches=(
                *(match for _, match in valued),
                *(match for of, match in cells if of is None),
            ),
        )

    def sortable(self) -> list[str]:
        """Every column that a row has."""
        each = [name for parameter in PARAMETERS for name in self._each(parameter)]
        return [
            *self.columns(everything=True),
            *each,
            *(name for name in self.crossed_columns() if name not in each),
            "best",
        ]

    def judgements(self, match: Match) -> list[Judgement]:
        """For every side but the baseline: change in time, change in per cent, verdict; nothing where neither has a run."""
        return [
            _judge(match.runs[0], run) if reason is None else (None, None, NOT_COMPARABLE)
            for run, reason in zip(match.runs[1:], match.reasons, strict=True)
        ]

    def _each(self, parameter: str) -> list[str]:
        return [f"{parameter} {side.name}" for side in self.sides]

    def _cell(self, match: Match, name: str) -> Any:
        row = self._row(match)
        values = [row.get(f"{name} {side.name}") for side in self.sides]
        return (
            row[name]
            if name in row
            else min((each for each in values if each is not None), default=None)
        )

    def _row(self, match: Match) -> dict[str, Any]:
        row: dict[str, Any] = {parameter: cell(match, parameter) for parameter in PARAMETERS}
        for side, run in zip(self.sides, match.runs, strict=True):
            row |= {f"{what} {side.name}": figure(run, what) for what in self.figures}
            row[f"gap {side.name}"] = gap(run)
            row |= {f"{parameter} {side.name}": single(run, parameter) for parameter in PARAMETERS}
            row |= {f"{name} {side.name}": of for name, of in facts(side, self.across).items()}
        for side, judged in zip(self.sides[1:], self.judgements(match), strict=True):
            labels = (
                f"{word}{self._suffix(side.name)}" for word in ("change", "change %", "verdict")
            )
            row |= dict(zip(labels, judged, strict=True))
        row["best"] = ", ".join(self.best(match)) or None
        row["note"] = "; ".join(dict.fromkeys(reason for reason in match.reasons if reason)) or None
        return row

    def _common(self, parameter: str) -> str | None:
        """The value that all rows have, or that each side has in all rows; None where a side has several."""
        columns = zip(*(match.runs for match in self.different or self.matches), strict=True)
        each = [
            {words(value(run, parameter)) for run in column if run is not None}
            for column in columns
        ]
        if any(len(values) > 1 for values in each):
            return None
        present = set[str]().union(*each)
        return (
            present.pop()
            if len(present) == 1
            else side_names.EACH.join("".join(values) or "-" for values in each)
        )

    def _suffix(self, name: str) -> str:
        return "" if len(self.sides) == 2 else f" {name}"


def compare(
    sides: Sequence[Side], baseline: str | None = None, across: Iterable[str] = ()
) -> Comparison:
    """Match the runs of every side with those of the baseline.

    Args:
        sides: two or more; a single one is taken apart by algorithm, and an algorithm's runs by tree and by copies.
        baseline: the name of the side that the others are compared with; the first unless given.
        across: axes of `CROSSABLE` that are a choice here; every side is taken apart by them.

    Raises:
        InputError: there is nothing to compare with, or an axis cannot be crossed.
        NotFoundError: no side has the baseline's name.
    """
    axes = crossed(across)
    parts = side_names.distinct(
        part for side in sides for part in apart(side, axes, alone=len(sides) == 1)
    )
    if len(parts) < 2:
        raise InputError(
            f"'{sides[0].name}' alone leaves nothing to compare"
            if sides
            else "there is nothing to compare",
            hint="name two experiments or runs, or one experiment with several algorithms",
        )
    first = 0 if baseline is None else side_names.place(parts, baseline)
    ordered = (parts[first], *parts[:first], *parts[first + 1 :])
    return Comparison(ordered, tuple(matches(ordered, axes)), axes)


def gap(run: models.Run | None) -> Fraction | None:
    """A run's simulated time divided by the lower bound; None where it has none, or where the bound is 0.

    Nor has a run that leaves something missing: the bound is one for delivering everything.
    """
    if run is None or run.missing:
        return None
    bound, time = figure(run, "time", "lower bound"), figure(run, "time")
    return time / bound if bound and time is not None else None


def cell(match: Match, parameter: str) -> Any:
    """A parameter of a row: the value that all share, else each side's in words."""
    values = match.cell(parameter)
    if len(values) > 1:
        return side_names.EACH.join(map(words, values))
    return _plain(values[0], parameter)


def single(run: models.Run | None, parameter: str) -> Any:
    """A parameter of one run, its faults in words; None where there is no run."""
    return None if run is None else _plain(value(run, parameter), parameter)


def _plain(of: Any, parameter: str) -> Any:
    return words(of) if parameter == "faults" else of


def _judge(baseline: models.Run | None, run: models.Run | None) -> Judgement:
    if baseline is None and run is None:
        return None, None, None
    before, after = figure(baseline, "time"), figure(run, "time")
    if before is None or after is None:
        return None, None, NOT_COMPARABLE
    change = after - before
    relative = round(float(100 * change / before), 1) if before else None
    return change, relative, SAME if change == 0 else BETTER if change < 0 else WORSE


def _varies(parameter: str, shown: Sequence[Match]) -> bool:
    """Whether a side has several values; of a single row, whether the sides differ."""
    if len(shown) == 1:
        return len(shown[0].cell(parameter)) > 1
    columns = zip(*(match.runs for match in shown), strict=True)
    return any(
        len({value(run, parameter) for run in column if run is not None}) > 1 for column in columns
    )


def _unequal(what: str, match: Match) -> bool:
    return len({figure(run, what) for run in match.runs if run is not None}) > 1


def _stamp(run: models.Run) -> str:
    source = run.provenance or {}
    revision = str(source.get("revision") or "")[:12]
    return " ".join(
        filter(
            None,
            [
                str(source.get("version", "")),
                revision,
                "with changes" if source.get("dirty") else "",
            ],
        )
    )
