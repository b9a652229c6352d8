"""A comparison as tables and sentences, for the terminal, files, notebooks and pages."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from starcast.comparison.compare import CHANGES, Comparison, shared_value
from starcast.comparison.crossovers import (
    COLUMNS,
    all_crossovers,
    best_crossovers,
    crossover_rows,
)
from starcast.comparison.matching import MESSAGE_UNITS
from starcast.support.table import Row, Table, with_numbers

#: The maximum number of sides shown next to each other; more sides get one line each.
MAX_ABREAST = 3
#: Maximum number of crossovers in the text; the option --crossovers lists all.
_MAX_CROSSOVERS = 12


@dataclass(frozen=True, repr=False)
class Layout(Table):
    """A comparison as a table for people.

    Attributes:
        columns: the column names in order.
        rows: one dictionary per line, with values for all columns and possibly for other names.
        best: for each line, the columns that hold the best value of all sides.
        together: the number of consecutive lines per match.
        parameters: the number of leftmost columns that hold the parameters of a match.
    """

    best: Sequence[Collection[str]] = ()  # type: ignore[misc]
    together: int = 1
    parameters: int = 0

    @cached_property
    def numeric(self) -> frozenset[str]:
        """The columns that hold only numbers or missing values."""
        return frozenset(filter(self.is_numeric, self.columns))


def lay_out(comparison: Comparison, *, stacked: bool | None = None, brief: bool = False) -> Layout:
    """Return a comparison as a table.

    Args:
        stacked: show each match as a block with one line per side; by default if there are more
            than `MAX_ABREAST` sides.
        brief: omit the absolute change in time, unless all figures are shown.
    """
    if stacked is None:
        stacked = len(comparison.sides) > MAX_ABREAST
    make = _stack if stacked else _set_abreast
    layout = make(comparison)
    if not brief or comparison.everything:
        return layout
    absolute = {"change", *(comparison.change_columns(side)[0] for side in comparison.sides[1:])}
    return replace(layout, columns=tuple(name for name in layout.columns if name not in absolute))


def layouts(comparison: Comparison) -> Iterator[tuple[Comparison, Layout]]:
    """Yield pairs of a comparison and its layout, from the widest layout to the narrowest.

    The sides of the comparison in a pair are renamed to the names that its layout shows.
    """
    short = comparison.with_short_names()
    candidates = [(short, True)]
    if len(comparison.sides) <= MAX_ABREAST:
        candidates.insert(0, (comparison.with_letters(), False))
    for shown, stacked in candidates:
        for brief in (False, True):
            yield shown, lay_out(shown, stacked=stacked, brief=brief)


def as_cells(row: Mapping[str, Any]) -> Row:
    """Return a row with exact figures converted to numbers, and gaps rounded to three decimals."""
    cells = with_numbers(row)
    for name, value in cells.items():
        if (name == "gap" or name.startswith("gap_")) and value is not None:
            cells[name] = round(value, 3)
    return cells


def tabulate(comparison: Comparison) -> Table:
    """Return a comparison as a table for programs, with a single value in each cell.

    The table's note states how many rows without a difference are omitted.
    """
    rows = list(map(as_cells, comparison.rows()))
    hidden = len(comparison.matches) - len(rows)
    note = f"{hidden} of {len(comparison.matches)} rows are the same on all sides"
    columns = comparison.data_columns()
    return Table.of(rows, columns, note if hidden else "")


def tabulate_crossovers(comparison: Comparison) -> Table:
    """Return all crossovers of a comparison as a table for programs."""
    return Table.of(map(with_numbers, crossover_rows(all_crossovers(comparison))), COLUMNS)


def _set_abreast(comparison: Comparison) -> Layout:
    """Return a table with one line per match."""
    times = {side.name: comparison.column("time", side) for side in comparison.sides}
    return Layout(
        tuple(comparison.columns()),
        list(map(as_cells, comparison.rows())),
        best=[{times[name] for name in comparison.best(each)} for each in comparison.shown()],
        parameters=len(comparison.parameters()),
    )


def _stack(comparison: Comparison) -> Layout:
    """Return a table with one line per side of each match.

    Parameters that differ between the sides of a match are shown in each side's line.
    """
    shown = comparison.shown()
    parameters = comparison.parameters()
    figures = comparison.default_figures()
    common = [name for name in parameters if all(len(match.values(name)) == 1 for match in shown)]
    own = [name for name in parameters if name not in common]
    rows = [
        as_cells(line | {name: shared_value(match, name) for name in common} | {"side": side.name})
        for match in shown
        for side, line in zip(comparison.sides, comparison.lines(match), strict=True)
    ]
    note = ["note"] if any(row["note"] for row in rows) else []
    return Layout(
        (*common, "side", *own, *figures, *CHANGES, "gap", *note),
        rows,
        best=[{"time"} if row["best"] else set() for row in rows],
        together=len(comparison.sides),
        parameters=len(common),
    )


def explain(comparison: Comparison) -> list[str]:
    """Describe what is compared, what all rows share, and what is hidden or not comparable."""
    baseline, *others = (side.name for side in comparison.sides)
    head = f"{', '.join(others)} against {baseline}"
    lines = [f"{head}; gap = time / lower bound; {matched_by(comparison)}"]
    if shared := _shared(comparison):
        lines.append(f"in all rows: {shared}")
    if comparison.across:
        several = len(comparison.networks) > 1
        what = "networks of different size" if several else "different conditions"
        lines.append(
            f"across {', '.join(comparison.across)}: {what}; no value is scaled, and each"
            " gap refers to the side's own lower bound"
        )
    elif blocking := comparison.blocking_axes():
        options = " ".join(f"--across {axis}" for axis in blocking)
        lines.append(
            "some rows are not comparable, because they answer different questions;"
            f" {options} compares them all the same"
        )
    hidden = len(comparison.matches) - len(comparison.different)
    if hidden and not comparison.everything:
        total = len(comparison.matches)
        lines.append(f"{hidden} of {total} rows are the same on all sides; --all shows them")
    sources = comparison.sources()
    if len(sources) > 1:
        lines.append(f"the runs come from different code: {'; '.join(sources)}")
    return lines


def matched_by(comparison: Comparison) -> str:
    """Return a phrase that states whether rows are matched by message units or by segments."""
    if comparison.by == MESSAGE_UNITS:
        return "rows matched by message_units, the pieces of a message"
    return "rows matched by segments"


def tell_crossovers(comparison: Comparison) -> list[str]:
    """Return one line per crossover of algorithms at their best numbers of segments."""
    crossings = best_crossovers(all_crossovers(comparison))
    single = len({crossing.question for crossing in crossings}) == 1
    lines = [
        f"crossover {crossing.change if single else crossing}"
        for crossing in crossings[:_MAX_CROSSOVERS]
    ]
    if len(crossings) > _MAX_CROSSOVERS:
        more = len(crossings) - _MAX_CROSSOVERS
        lines.append(f"and {more} more crossovers; --crossovers lists all")
    return lines


def tell_commands(comparison: Comparison) -> list[str]:
    """Return headings, each followed by commands that execute the runs again."""
    repeat = dict.fromkeys(side.repeat for side in comparison.sides if side.repeat)
    elsewhere = dict.fromkeys(command for side in comparison.sides for command in side.commands)
    lines = []
    for heading, commands in (
        ("reproduce with:", repeat),
        ("on another machine, or in another database, with:", elsewhere),
    ):
        lines += [heading, *(f"  {command}" for command in commands)] if commands else []
    return lines


def legend(comparison: Comparison, shown: Comparison) -> list[str]:
    """Return lines with the full names of renamed sides, and with the networks if they differ."""
    renamed = [
        f"{short.name} = {side.name}"
        for short, side in zip(shown.sides, comparison.sides, strict=True)
        if not f"/{side.name}".endswith(f"/{short.name}")
    ]
    names = [", ".join(renamed)] if renamed else []
    return names + comparison.networks


def caption(comparison: Comparison, shown: Comparison, columns: Iterable[str]) -> str:
    """Return a table's caption: the sides compared, and the parameters that all rows share."""
    baseline, *others = (side.name for side in shown.sides)
    pieces = "pieces per message" if comparison.by == MESSAGE_UNITS else "segments"
    has_gap = any(name.startswith("gap") for name in columns)
    parts = [
        f"{', '.join(others)} compared with {baseline}, at equal numbers of {pieces}",
        "the gap is the time divided by a lower bound" if has_gap else "",
        _shared(comparison),
        *legend(comparison, shown),
    ]
    return "; ".join(filter(None, parts))


def _shared(comparison: Comparison) -> str:
    shared = comparison.shared_parameters()
    return ", ".join(f"{name} {value}" for name, value in shared.items())
