"""The table that a comparison is read as: its columns, its rows, and which cells are the best of their row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starcast.runs.compare import Comparison, cell, gap
from starcast.runs.matching import Match, figure

#: Beyond so many sides a row becomes a block of one line for each side: nobody reads thirty columns.
MOST_ABREAST = 3


@dataclass(frozen=True)
class Layout:
    """A table.

    Attributes:
        columns: their names in order.
        rows: a value for each column, and maybe more.
        best: for each row the columns that hold the best of the sides.
        together: so many rows in succession belong to one point: 1, or the number of sides.
        parameters: how many of the columns, from the left, say what the point is.
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    best: tuple[frozenset[str], ...]
    together: int
    parameters: int


def laid_out(comparison: Comparison, *, everything: bool = False) -> Layout:
    """The comparison as people read it: abreast, or stacked where there are many sides."""
    stacked = len(comparison.sides) > MOST_ABREAST
    return _stacked(comparison, everything=everything) if stacked else _abreast(comparison, everything=everything)


def _abreast(comparison: Comparison, *, everything: bool) -> Layout:
    columns = tuple(comparison.columns(everything=everything))
    best = (frozenset(f"time {name}" for name in comparison.best(match)) for match in comparison.shown(everything=everything))
    rows = tuple(comparison.rows(everything=everything))
    return Layout(columns, rows, tuple(best), 1, len(comparison.parameters(everything=everything)))


def _stacked(comparison: Comparison, *, everything: bool) -> Layout:
    shown = comparison.shown(everything=everything)
    parameters, figures = comparison.parameters(everything=everything), comparison.telling(everything=everything)
    columns = [*parameters, "side", *figures, "change", "change %", "verdict", "gap"]
    rows = [row for match in shown for row in _block(comparison, match)]
    if any(row["note"] for row in rows):
        columns.append("note")
    best = tuple(frozenset(("time",)) if row["best"] else frozenset() for row in rows)
    return Layout(tuple(columns), tuple(rows), best, len(comparison.sides), len(parameters))


def _block(comparison: Comparison, match: Match) -> list[dict[str, Any]]:
    """A line for each side: the baseline's has no change."""
    point = {name: cell(match, name) for name in comparison.parameters(everything=True)}
    judgements = [(None, None, "baseline"), *comparison.judgements(match)]
    best = comparison.best(match)
    lines = []
    for side, run, judged, reason in zip(comparison.sides, match.runs, judgements, (None, *match.reasons), strict=True):
        figures = {what: figure(run, what) for what in comparison.figures}
        told = dict(zip(("change", "change %", "verdict"), judged, strict=True))
        lines.append({
            **point, **figures, **told, "side": side.name, "gap": gap(run), "note": reason, "best": side.name in best,
        })  # fmt: skip
    return lines
