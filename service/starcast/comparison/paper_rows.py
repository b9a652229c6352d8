"""The papers' tables, filled with the figures of stored runs."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from starcast.comparison.matching import FIGURES, figure
from starcast.costs.machine import Machine
from starcast.costs.paper_tables import (
    PAPER_TABLES,
    Case,
    Find,
    PaperTable,
    Row,
    RowExecution,
    RowFigures,
)
from starcast.experiments.design import examples, read_design
from starcast.stores.database import models
from starcast.support.errors import InputError, NotFoundError
from starcast.support.table import Table, with_numbers
from starcast.support.text import did_you_mean
from starcast.topologies import as_topology


def find_table(name: str) -> PaperTable:
    """Return the paper table with the given name.

    Raises:
        InputError: there is no such table.
    """
    if name not in PAPER_TABLES:
        raise InputError(
            f"'{name}' is not a table of a paper",
            hint=f"{did_you_mean(name, PAPER_TABLES)}the tables are {', '.join(PAPER_TABLES)}",
        )
    return PAPER_TABLES[name]


def table_of(experiment: models.Experiment) -> str:
    """Return the name of the paper table for which an experiment was run.

    The experiment must have the title of the example that comes with starcast for this table.

    Raises:
        InputError: the experiment is not that of a paper table.
    """
    title = experiment.grid.get("title")
    for name in PAPER_TABLES:
        if title and title == _shipped_title(name):
            return name
    raise InputError(
        f"the experiment '{experiment.name}' does not belong to a table of a paper",
        hint=f"name a table with --table: {', '.join(PAPER_TABLES)}",
    )


@cache
def _shipped_title(name: str) -> str:
    """Return the title of the experiment that comes with starcast for a table.

    The result is cached, because reading the experiment expands its grids.
    """
    return read_design(str(examples()[name])).title


def tabulate(table: PaperTable, cases: Sequence[tuple[Case, list[Row]]]) -> Table:
    """Return one table with the rows of all cases, each with the parameters of its case."""
    records = [
        with_numbers({**case_values(table, case), **row}) for case, rows in cases for row in rows
    ]
    return Table.of(records, [*case_values(table, cases[0][0]), *table.headings])


def case_values(table: PaperTable, case: Case) -> dict[str, Any]:
    """Return the parameters that distinguish a case, by axis name."""
    values: dict[str, Any] = {"topology": case.topology.spec}
    for axis in table.axes:
        if axis == "machine":
            values |= {"t_s": case.machine.t_s, "t_c": case.machine.t_c}
        else:
            values[axis] = getattr(case, axis)
    return values


def paper_rows(table: PaperTable, runs: Sequence[models.Run]) -> list[tuple[Case, list[Row]]]:
    """Return each case of the runs (topology, message and machine) with its rows of the table.

    Runs with faults, asynchronous runs, and failed runs are ignored.

    Raises:
        NotFoundError: no run executes a row of the table.
    """
    usable = [
        run
        for run in runs
        if run.execution == "synchronous"  # the papers' model
        and not run.faults
        and figure(run, "time") is not None
    ]
    filled = []
    for case in _cases(table, usable):
        find, used = _finder(table, case, usable)
        rows = table.rows(case, find)
        if used:
            filled.append((case, rows))
    if not filled:
        raise NotFoundError(
            f"no run executes a row of {table.source}",
            hint="run the grid of the table, which 'starcast experiment examples' lists",
        )
    return filled


def _cases(table: PaperTable, runs: Iterable[models.Run]) -> list[Case]:
    """Return the distinct cases of the runs, in order of first appearance.

    Cases with the value 1 on the table's `axis_with_1` are omitted if there are other cases: the
    rows of the other cases include the values for 1.
    """
    cases = dict.fromkeys(_case(table, run) for run in runs)
    axis = table.axis_with_1
    several = [case for case in cases if axis is not None and getattr(case, axis) > 1]
    return several or list(cases)


def _case(table: PaperTable, run: models.Run) -> Case:
    values: dict[str, Any] = {
        "message_bytes": run.message_bytes,
        "machine": Machine(run.t_s, run.t_c),
        "messages": run.messages,
        "copies": run.copies,
    }
    return Case(as_topology(run.topology), **{axis: values[axis] for axis in table.axes})


def _finder(
    table: PaperTable, case: Case, runs: Iterable[models.Run]
) -> tuple[Find, list[models.Run]]:
    """Return a function that finds the figures of a row, and the list of the runs found so far."""
    chosen = [run for run in runs if run.topology == case.topology.spec]
    if "machine" in table.axes:
        wanted = (case.message_bytes, case.machine)
        chosen = [run for run in chosen if (run.message_bytes, Machine(run.t_s, run.t_c)) == wanted]
    used: list[models.Run] = []

    def find(execution: RowExecution) -> RowFigures | None:
        matching = [run for run in chosen if _executes(run, execution)]
        if not matching:
            return None
        best = min(matching, key=lambda run: (figure(run, "time"), run.segments))
        used.append(best)
        figures = {name: figure(best, name) for name in FIGURES}
        return RowFigures(segments=best.segments, **figures)

    return find, used


def _executes(run: models.Run, execution: RowExecution) -> bool:
    return (
        (run.collective, run.algorithm, run.ports, run.copies)
        == (execution.collective, execution.algorithm, execution.ports, execution.copies)
        and (execution.base is None or run.base == execution.base)
        and (execution.messages is None or run.messages == execution.messages)
    )
