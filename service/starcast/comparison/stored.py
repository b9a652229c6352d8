"""Comparisons of stored experiments and runs by name, their tables, and their report."""

from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from starcast.comparison import crossovers
from starcast.comparison.compare import Comparison, compare
from starcast.comparison.layout import lay_out
from starcast.comparison.networks import check_crossed
from starcast.comparison.panel_plots import plot_files, profiled_runs
from starcast.comparison.report import render_report
from starcast.comparison.sides import load_side, read_conditions, select_runs
from starcast.database import repository
from starcast.errors import InputError
from starcast.progress import Reporter
from starcast.support.table import Row, Table, with_numbers


def compare_stored(
    session: Session,
    names: Iterable[str],
    reporter: Reporter,
    *,
    across: Iterable[str] = (),
    conditions: Iterable[str] = (),
    baseline: str | None = None,
    sort: str | None = None,
) -> Comparison:
    """Load experiments by name, or runs by number, and compare them.

    Args:
        session: a session of the database.
        names: the sides; a single experiment is split by algorithm, base and copies.
        reporter: receives how many runs of an experiment are missing.
        across: axes in which compared runs may differ, such as ``topology``.
        conditions: conditions on the runs, such as ``topology=S5``.
        baseline: the side that the others are compared with; by default the first.
        sort: the column to sort by; ``-COLUMN`` descends.

    Raises:
        NotFoundError: an experiment, a run or the baseline does not exist.
        InputError: an axis, a condition or a column is not valid, or nothing can be compared.
    """
    axes = check_crossed(across)
    selection = read_conditions(conditions)
    sides = [load_side(session, name) for name in names]
    for sentence in dict.fromkeys(side.incomplete for side in sides if side.incomplete):
        reporter.say(sentence)
    comparison = compare(select_runs(sides, selection), baseline, axes)
    return comparison if sort is None else comparison.sorted_by(sort)


def as_cells(row: Mapping[str, Any]) -> Row:
    """Return a row with exact figures as numbers, and gaps to three decimals."""
    cells = with_numbers(row)
    for name, value in cells.items():
        if (name == "gap" or name.startswith("gap_")) and value is not None:
            cells[name] = round(value, 3)
    return cells


def tabulate(comparison: Comparison, *, everything: bool = False) -> Table:
    """Return the rows of a comparison with a single value in each cell, for programs."""
    rows = map(as_cells, comparison.rows(everything=everything))
    return Table.of(rows, comparison.data_columns(everything=everything))


def tabulate_layout(
    comparison: Comparison, *, everything: bool = False
) -> tuple[Table, tuple[Collection[str], ...]]:
    """Return the rows of a comparison for people, and for each row its best columns."""
    layout = lay_out(comparison.with_short_names(), everything=everything)
    return Table.of(map(as_cells, layout.rows), layout.columns), layout.best


def tabulate_crossovers(comparison: Comparison) -> Table:
    """Return the message sizes at which another side becomes the fastest."""
    rows = crossovers.crossover_rows(crossovers.all_crossovers(comparison))
    return Table.of(map(with_numbers, rows), crossovers.COLUMNS)


def render_stored(
    session: Session, comparison: Comparison, reporter: Reporter, *, everything: bool = False
) -> str:
    """Return the HTML report of a comparison, with the stored step profiles.

    Raises:
        UnavailableError: matplotlib is not installed.
    """
    profiles = _load_profiles(session, comparison)
    now = datetime.now(UTC)
    return render_report(comparison, profiles, now, everything=everything, reporter=reporter)


def check_plot(file: Path) -> None:
    """Check that the name of a plot ends in one of its formats.

    Raises:
        InputError: it does not.
    """
    if file.suffix.lower() not in (".svg", ".pdf"):
        raise InputError(
            f"plots are written as svg and pdf, and the name ends in neither: {file}",
            hint="name a file that ends in .svg or .pdf",
        )


def plot_stored(
    session: Session, comparison: Comparison, file: Path, reporter: Reporter
) -> dict[Path, bytes]:
    """Return the plots of a comparison's report as files, named after ``file``.

    Raises:
        InputError: the comparison has no plots.
        UnavailableError: matplotlib is not installed.
    """
    return plot_files(comparison, _load_profiles(session, comparison), file, reporter)


def _load_profiles(session: Session, comparison: Comparison) -> dict[int, list[int]]:
    """Return the links used in each step of the runs that are plotted."""
    runs = dict.fromkeys(run.id for run in profiled_runs(comparison))
    return {
        run: [step.links_used for step in repository.load_profile(session, run)] for run in runs
    }
