"""Comparison tables: their columns, rows, and the best values of each row."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from starcast.comparison.compare import CHANGES, Comparison, shared_value, single_value
from starcast.comparison.crossovers import COLUMNS, all_crossovers, crossover_rows
from starcast.comparison.matching import Match, figure, gap
from starcast.support.table import Row, Table, with_numbers

#: The maximum number of sides shown next to each other; more sides get one line each.
MAX_ABREAST = 3


@dataclass(frozen=True)
class Layout:
    """A comparison as a table.

    Attributes:
        columns: the column names in order.
        rows: mappings with a value for each column, and possibly with values for other names.
        best: for each row, the columns that hold the best value of all sides.
        together: the number of consecutive rows per match.
        parameters: the number of leftmost columns that hold the parameters of a match.
    """

    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    best: tuple[frozenset[str], ...]
    together: int
    parameters: int

    @property
    def numeric(self) -> frozenset[str]:
        """The columns that hold only numbers or missing values."""
        table = Table.of(self.rows, self.columns)
        return frozenset(name for name in self.columns if table.is_numeric(name))


def lay_out(
    comparison: Comparison,
    *,
    everything: bool = False,
    stacked: bool | None = None,
    brief: bool = False,
) -> Layout:
    """Return a comparison as a table.

    Args:
        everything: show all parameters, figures and rows.
        stacked: show each match as a block with one line per side; by default if there are more
            than `MAX_ABREAST` sides.
        brief: omit the absolute change in time, unless ``everything`` is set.
    """
    if stacked is None:
        stacked = len(comparison.sides) > MAX_ABREAST
    make = _stack if stacked else _set_abreast
    layout = make(comparison, everything=everything)
    if not brief or everything:
        return layout
    absolute = {"change", *(comparison.change_columns(side)[0] for side in comparison.sides[1:])}
    return replace(layout, columns=tuple(name for name in layout.columns if name not in absolute))


def layouts(
    comparison: Comparison, *, everything: bool = False
) -> Iterator[tuple[Comparison, Layout]]:
    """Yield pairs of a comparison and its layout, from the widest layout to the narrowest.

    The sides of the comparison in a pair are renamed to the names that its layout shows.
    """
    short = comparison.with_short_names()
    candidates = [(short, True)]
    if len(comparison.sides) <= MAX_ABREAST:
        candidates.insert(0, (comparison.with_letters(), False))
    for shown, stacked in candidates:
        for brief in (False, True):
            yield shown, lay_out(shown, everything=everything, stacked=stacked, brief=brief)


def as_cells(row: Mapping[str, Any]) -> Row:
    """Return a row with exact figures converted to numbers, and gaps rounded to three decimals."""
    cells = with_numbers(row)
    for name, value in cells.items():
        if (name == "gap" or name.startswith("gap_")) and value is not None:
            cells[name] = round(value, 3)
    return cells


def tabulate(comparison: Comparison, *, everything: bool = False) -> Table:
    """Return a comparison as a table for programs, with a single value in each cell.

    The table's note states how many rows without a difference are omitted.
    """
    rows = list(map(as_cells, comparison.rows(everything=everything)))
    hidden = len(comparison.matches) - len(rows)
    note = f"{hidden} of {len(comparison.matches)} rows are the same on all sides"
    columns = comparison.data_columns(everything=everything)
    return Table.of(rows, columns, note if hidden else "")


def tabulate_layout(comparison: Comparison, *, everything: bool = False) -> Layout:
    """Return a comparison as a table for people, with short names of the sides."""
    layout = lay_out(comparison.with_short_names(), everything=everything)
    return replace(layout, rows=tuple(map(as_cells, layout.rows)))


def tabulate_crossovers(comparison: Comparison) -> Table:
    """Return all crossovers of a comparison as a table for programs."""
    return Table.of(map(with_numbers, crossover_rows(all_crossovers(comparison))), COLUMNS)


def _set_abreast(comparison: Comparison, *, everything: bool) -> Layout:
    """Return a table with one line per match."""
    times = {side.name: comparison.column("time", side) for side in comparison.sides}
    best = (
        frozenset(times[name] for name in comparison.best(match))
        for match in comparison.shown(everything=everything)
    )
    return Layout(
        tuple(comparison.columns(everything=everything)),
        tuple(comparison.rows(everything=everything)),
        tuple(best),
        1,
        len(comparison.parameters(everything=everything)),
    )


def _stack(comparison: Comparison, *, everything: bool) -> Layout:
    """Return a table with one line per side of each match.

    Parameters that differ between the sides of a match are shown in each side's line.
    """
    shown = comparison.shown(everything=everything)
    parameters = comparison.parameters(everything=everything)
    figures = comparison.default_figures(everything=everything)
    common = [name for name in parameters if all(len(match.values(name)) == 1 for match in shown)]
    own = [name for name in parameters if name not in common]
    columns = [*common, "side", *own, *figures, *CHANGES, "gap"]
    rows = [row for match in shown for row in _block(comparison, match, own)]
    if any(row["note"] for row in rows):
        columns.append("note")
    best = tuple(frozenset(("time",)) if row["best"] else frozenset() for row in rows)
    return Layout(tuple(columns), tuple(rows), best, len(comparison.sides), len(common))


def _block(comparison: Comparison, match: Match, own: Sequence[str]) -> list[dict[str, Any]]:
    """Return the lines of one match, one for each side; the baseline has no change."""
    common = {name: shared_value(match, name) for name in comparison.parameters(everything=True)}
    judgements = [(None, None, "baseline"), *comparison.judgements(match)]
    reasons = (None, *match.reasons)
    best = comparison.best(match)
    lines = []
    for side, run, judgement, reason in zip(
        comparison.sides, match.runs, judgements, reasons, strict=True
    ):
        lines.append({
            **common,
            **{name: single_value(run, name) for name in own},
            **{name: figure(run, name) for name in comparison.figures},
            **dict(zip(CHANGES, judgement, strict=True)),
            "side": side.name,
            "gap": gap(run),
            "note": reason,
            "best": side.name in best,
        })  # fmt: skip
    return lines
