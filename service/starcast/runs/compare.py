"""Comparing stored runs: judge each match, lay out what differs. Pure: loading and printing are elsewhere."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from starcast.errors import InputError, NotFoundError
from starcast.runs import models
from starcast.runs.matching import FIGURES, PARAMETERS, Match, Side, figure, matches, words

#: The figures of a table that nobody asked to be complete.
USUAL = ("steps", "time")

BETTER, WORSE, SAME, NOT_COMPARABLE = "better", "worse", "same", "not comparable"


@dataclass(frozen=True)
class Comparison:
    """All matches of the sides, the baseline being the first side."""

    sides: tuple[Side, ...]
    matches: tuple[Match, ...]

    @cached_property
    def different(self) -> tuple[Match, ...]:
        """The matches in which something differs."""
        return tuple(match for match in self.matches if match.differs())

    def shared(self, *, everything: bool = False) -> dict[str, str]:
        """The parameters that are no column, since all rows agree in them: the value, or each side's."""
        rest = [name for name in PARAMETERS if name not in self.columns(everything=everything)]
        cells = {name: {match.cell(name) for match in self.different or self.matches} for name in rest}
        return {name: " | ".join(map(words, values.pop())) for name, values in cells.items() if len(values) == 1}

    def lettered(self) -> "Comparison":
        """The same with the sides called A, B, ...: for a table that has to be narrow; reasons keep the names."""
        letters = (chr(ord("A") + place) for place in range(len(self.sides)))
        return replace(self, sides=tuple(replace(side, name=letter) for side, letter in zip(self.sides, letters, strict=True)))

    def sources(self) -> list[str]:
        """The versions and revisions of starcast that made the runs; more than one is worth a word."""
        return sorted({_stamp(run) for side in self.sides for run in side.runs})

    def columns(self, *, everything: bool = False) -> list[str]:
        """The columns of `rows`: parameters, figures, changes, gaps; those that say nothing only if asked for."""
        shown = self.matches if everything else self.different
        names = [side.name for side in self.sides]
        columns = [name for name in PARAMETERS if everything or _varies(name, shown)]
        for what in FIGURES if everything else USUAL:
            if everything or what == "time" or any(_unequal(what, match) for match in shown):
                columns += [f"{what} {name}" for name in names]
        for name in names[1:]:
            columns += [f"{word}{self._suffix(name)}" for word in ("change", "change %", "verdict")]
        columns += [f"gap {name}" for name in names]
        return columns + (["note"] if any(any(match.reasons) for match in shown) else [])

    def rows(self, *, everything: bool = False) -> list[dict[str, Any]]:
        """One row a match: exact figures, changes against the baseline in time, and each run's time / lower bound."""
        return [self._row(match) for match in (self.matches if everything else self.different)]

    def _row(self, match: Match) -> dict[str, Any]:
        row: dict[str, Any] = {}
        for parameter in PARAMETERS:
            values = match.cell(parameter)
            row[parameter] = values[0] if len(values) == 1 else " | ".join(words(value) for value in values)
        for side, run in zip(self.sides, match.runs, strict=True):
            row |= {f"{what} {side.name}": figure(run, what) for what in FIGURES}
            row[f"gap {side.name}"] = gap(run)
        baseline = match.runs[0]
        for side, run, reason in zip(self.sides[1:], match.runs[1:], match.reasons, strict=True):
            judged = _judge(baseline, run) if reason is None else (None, None, NOT_COMPARABLE)
            labels = (f"{word}{self._suffix(side.name)}" for word in ("change", "change %", "verdict"))
            row |= dict(zip(labels, judged, strict=True))
        row["note"] = "; ".join(dict.fromkeys(reason for reason in match.reasons if reason)) or None
        return row

    def _suffix(self, name: str) -> str:
        return "" if len(self.sides) == 2 else f" {name}"


def compare(sides: Sequence[Side], baseline: str | None = None) -> Comparison:
    """Match the runs of every side with those of the baseline.

    Args:
        sides: two or more; a single one that has several algorithms is taken apart by algorithm.
        baseline: the name of the side that the others are compared with; the first unless given.

    Raises:
        InputError: there is nothing to compare with.
        NotFoundError: no side has the baseline's name.
    """
    parts = _distinct(_apart(sides[0]) if len(sides) == 1 else sides)
    if len(parts) < 2:
        raise InputError(
            f"'{sides[0].name}' alone leaves nothing to compare" if sides else "there is nothing to compare",
            hint="name two experiments or runs, or one experiment with several algorithms",
        )
    first = 0 if baseline is None else _place(parts, baseline)
    ordered = (parts[first], *parts[:first], *parts[first + 1 :])
    return Comparison(ordered, tuple(matches(ordered)))


def gap(run: models.Run | None) -> Fraction | None:
    """A run's simulated time divided by the lower bound; None where it has none, or where the bound is 0."""
    bound, time = figure(run, "time", "lower bound"), figure(run, "time")
    return time / bound if bound and time is not None else None


def _place(sides: Sequence[Side], name: str) -> int:
    names = [side.name for side in sides]
    named = next((known for known in names if known in (name, f"run {name}")), None)
    if named is None:
        raise NotFoundError(f"the baseline '{name}' is not compared", hint=f"take one of {', '.join(names)}")
    return names.index(named)


def _apart(side: Side) -> list[Side]:
    algorithms = list(dict.fromkeys(run.algorithm for run in side.runs))
    if len(algorithms) < 2:
        return [side]
    return [
        Side(f"{side.name}/{name}", tuple(run for run in side.runs if run.algorithm == name), side.commands)
        for name in algorithms
    ]


def _distinct(sides: Iterable[Side]) -> tuple[Side, ...]:
    """The sides under different names: an experiment may be compared with itself."""
    seen: dict[str, int] = {}
    renamed = []
    for side in sides:
        seen[side.name] = seen.get(side.name, 0) + 1
        name = side.name if seen[side.name] == 1 else f"{side.name} ({seen[side.name]})"
        renamed.append(Side(name, side.runs, side.commands))
    return tuple(renamed)


def _judge(baseline: models.Run | None, run: models.Run | None) -> tuple[Fraction | None, float | None, str]:
    before, after = figure(baseline, "time"), figure(run, "time")
    if before is None or after is None:
        return None, None, NOT_COMPARABLE
    change = after - before
    relative = round(float(100 * change / before), 1) if before else None
    return change, relative, SAME if change == 0 else BETTER if change < 0 else WORSE


def _varies(parameter: str, shown: Sequence[Match]) -> bool:
    cells = {match.cell(parameter) for match in shown}
    return len(cells) > 1 or (len(shown) == 1 and len(cells.pop()) > 1)


def _unequal(what: str, match: Match) -> bool:
    return len({figure(run, what) for run in match.runs if run is not None}) > 1


def _stamp(run: models.Run) -> str:
    source = run.provenance or {}
    revision = str(source.get("revision") or "")[:12]
    return " ".join(filter(None, [str(source.get("version", "")), revision, "with changes" if source.get("dirty") else ""]))
