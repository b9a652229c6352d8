"""The table that a comparison is read as: its columns, its rows, and which cells are the best of their row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starcast.comparison.compare import Comparison, cell, gap, single
from starcast.comparison.matching import Match, figure

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


def laid_out(
    comparison: Comparison,
    *,
    everything: bool = False,
    stacked: bool | None = None,
    brief: bool = False,
) -> Layout:
    """The comparison as people read it.

    Args:
        comparison: what it is about.
        everything: whether it shows all parameters, figures and rows.
        stacked: whether a row is a block of one line for each side; unless given, where there are many sides.
        brief: whether the change in time is left out, where it is told in per cent.
    """
    piled = len(comparison.sides) > MOST_ABREAST if stacked is None else stacked
    layout = (
        _stacked(comparison, everything=everything)
        if piled
        else _abreast(comparison, everything=everything)
    )
    if not brief or everything:
        return layout
    columns = (
        name
        for name in layout.columns
        if name != "change" and not (name.startswith("change ") and "%" not in name)
    )
    return replace(layout, columns=tuple(columns))


def _abreast(comparison: Comparison, *, everything: bool) -> Layout:
    columns = tuple(comparison.columns(everything=everything))
    best = (
        frozenset(f"time {name}" for name in comparison.best(match))
        for match in comparison.shown(everything=everything)
    )
    rows = tuple(comparison.rows(everything=everything))
    return Layout(columns, rows, tuple(best), 1, len(comparison.parameters(everything=everything)))


def _stacked(comparison: Comparison, *, everything: bool) -> Layout:
    """A parameter in which the sides of a row differ is told of each side in its own line."""
    shown = comparison.shown(everything=everything)
    parameters, figures = (
        comparison.parameters(everything=everything),
        comparison.telling(everything=everything),
    )
    point = [name for name in parameters if all(len(match.cell(name)) == 1 for match in shown)]
    own = [name for name in parameters if name not in point]
    columns = [*point, "side", *own, *figures, "change", "change %", "verdict", "gap"]
    rows = [row for match in shown for row in _block(comparison, match, own)]
    if any(row["note"] for row in rows):
        columns.append("note")
    best = tuple(frozenset(("time",)) if row["best"] else frozenset() for row in rows)
    return Layout(tuple(columns), tuple(rows), best, len(comparison.sides), len(point))


def _block(comparison: Comparison, match: Match, own: Sequence[str]) -> list[dict[str, Any]]:
    """A line for each side: the baseline's has no change."""
    point = {name: cell(match, name) for name in comparison.parameters(everything=True)}
    judgements = [(None, None, "baseline"), *comparison.judgements(match)]
    best = comparison.best(match)
    lines = []
    for side, run, judged, reason in zip(
        comparison.sides, match.runs, judgements, (None, *match.reasons), strict=True
    ):
        figures = {what: figure(run, what) for what in comparison.figures}
        told = dict(zip(("change", "change %", "verdict"), judged, strict=True))
        mine = {name: single(run, name) for name in own}
        lines.append({
            **point, **mine, **figures, **told, "side": side.name,
            "gap": gap(run), "note": reason, "best": side.name in best,
        })  # fmt: skip
    return lines
