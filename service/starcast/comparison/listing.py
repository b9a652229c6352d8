"""Listings of stored runs and experiments, and the papers' tables filled with stored runs."""

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

from sqlalchemy.orm import Session

from starcast.catalogue.plugins import name_plugins
from starcast.comparison.matching import Side, figure, gap
from starcast.costs.model import Machine
from starcast.costs.paper_tables import (
    Case,
    Find,
    PaperTable,
    RowExecution,
    RowFigures,
    paper_tables,
)
from starcast.experiments.design import examples, read_design, stored_axes
from starcast.experiments.point import Point
from starcast.experiments.running import REPEATED, SAME, Repetition
from starcast.judges.simulator.simulation import PROFILE_COLUMNS
from starcast.stores.database import models, repository
from starcast.support.axes import AXES, CENTRE, POINT_AXES
from starcast.support.errors import InputError, NotFoundError, RejectedError, StarcastError
from starcast.support.runs import FIGURES, Run
from starcast.support.table import Row, Table, rounded, with_numbers
from starcast.support.text import did_you_mean, format_value, pluralize
from starcast.topologies import as_topology, count_nodes

RUN_COLUMNS = (
    "run", "experiment", *POINT_AXES, "status", "error", "steps", "time", "gap", "missing",
    "finished",
)  # fmt: skip
PROVENANCE = (
    "version", "revision", "dirty", "host", "machine", "python", "numpy", "psycopg", "postgres",
    "jobs",
)  # fmt: skip
COST_COLUMNS = ("cost", "steps", "start_ups", "transmissions", "bytes", "time", "gap", "source")
EXPERIMENT_COLUMNS = ("experiment", "runs", "points", "failed", *AXES, "created")
#: Columns of axes that are omitted one by one, in this order, until a table fits the terminal.
_SPARE_AXES = tuple(
    sorted((name for name, axis in AXES.items() if axis.spare), key=lambda name: -AXES[name].spare)
)
_SPARE = ("finished", "steps", "missing", *_SPARE_AXES, "experiment", "error")
_USUAL_FIGURES = (("status", "complete"), ("error", None), ("missing", 0))
#: The maximum number of values per axis that a displayed listing of experiments shows.
_SHOWN_VALUES = 2


class RunList(Table):
    """A table with one row per run: its parameters, simulated figures and state."""

    def readable(self) -> Table:
        """Return the table without columns that have the same value in all rows.

        Columns other than parameters and ``experiment`` are omitted only if this value is a
        default. A note lists the omitted values that are not defaults.
        """
        columns = list(self.columns)
        shared = []
        for name, value in self.rows[0].items() if self.rows else ():
            if any(row[name] != value for row in self.rows):
                continue
            if _is_usual(name, value):
                columns.remove(name)
            elif name in (*POINT_AXES, "experiment"):
                columns.remove(name)
                shared.append(f"{name} {format_value(value)}")
        note = f"in all rows: {', '.join(shared)}" if shared else ""
        return Table.of(self.rows, columns, "\n".join(filter(None, [note, self.note])))


class ExperimentList(Table):
    """A table with one row per experiment: the values of its axes, and its number of runs."""

    def readable(self) -> Table:
        """Return the table with at most two values per axis, and without the column ``points``.

        For an incomplete grid, the column ``runs`` shows both numbers, such as ``3 of 8``.
        """
        rows = []
        for row in self.rows:
            incomplete = row["points"] is not None and row["runs"] < row["points"]
            runs = f"{row['runs']} of {row['points']}" if incomplete else row["runs"]
            axes = {axis: _abbreviate(row[axis]) for axis in AXES if row[axis]}
            rows.append({**row, "runs": runs, **axes})
        columns = [name for name in self.columns if name not in AXES or any(self[name])]
        columns.remove("points")
        return Table.of(rows, columns, self.note)


def _is_usual(name: str, value: Any) -> bool:
    """Return whether a value is a default of the named column; defaults need not be displayed."""
    if name in AXES and AXES[name].has_usual:
        return format_value(value) == format_value(AXES[name].usual)
    return value == SAME or (name, value) in _USUAL_FIGURES


def _abbreviate(values: Sequence[str]) -> list[str]:
    """Return the first two values and, if there are more, the number of others, such as ``+3``."""
    more = len(values) - _SHOWN_VALUES
    return [*values[:_SHOWN_VALUES], f"+{more}"] if more > 0 else list(values)


def list_experiments(session: Session) -> Table:
    """List the stored experiments with the axes of their grids and the numbers of their runs."""
    counts = repository.count_runs(session)
    rows: list[dict[str, Any]] = []
    for experiment in repository.list_experiments(session):
        runs, failed = counts.get(experiment.id, (0, 0))
        rows.append({
            **stored_axes(experiment.grid),
            "experiment": experiment.name,
            "runs": runs,
            "points": experiment.points,
            "failed": failed,
            "created": experiment.created_at.astimezone(),
        })  # fmt: skip
    return ExperimentList.of(rows, EXPERIMENT_COLUMNS, spare=("created", *_SPARE_AXES))


def list_examples() -> Table:
    """List the experiments that come with starcast, with their titles and numbers of runs."""
    designs = {name: read_design(str(file)) for name, file in examples().items()}
    rows = [
        {
            "example": name,
            "runs": len(design.points()),
            "title": design.title,
            "description": design.description,
        }
        for name, design in designs.items()
    ]
    columns = ("example", "runs", "title", "description")
    return Table.of(rows, columns, spare=("description",))


def list_runs(session: Session, experiment: str | None = None) -> Table:
    """List all stored runs, or the runs of one experiment.

    The runs are sorted by the name of the experiment, and then by number.

    Raises:
        NotFoundError: no such experiment is stored.
    """
    experiments = repository.list_experiments(session)
    if experiment is not None:
        experiments = [repository.load_experiment(session, experiment)]
    rows = [
        run_row(run, each.name)
        for each in experiments
        for run in repository.load_runs(session, each.id)
    ]
    return RunList.of(rows, RUN_COLUMNS, spare=_spare_columns(rows))


def list_grid(side: Side) -> Table:
    """List the runs of an experiment in the order of ``side.runs``.

    If runs are missing, the table's note contains their number.
    """
    rows = [run_row(run, side.name) for run in side.runs]
    columns = [name for name in RUN_COLUMNS if name != "experiment"]
    return RunList.of(rows, columns, side.incomplete or "", spare=_spare_columns(rows))


def _spare_columns(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the columns that a narrow table may omit; a column with errors is never omitted."""
    return _SPARE[:-1] if any(row["error"] for row in rows) else _SPARE


def list_repetitions(repetitions: Sequence[Repetition], name: str) -> Table:
    """List repeated runs, and whether the new figures agree with the stored figures.

    If figures differ, or runs could not be repeated, the table's ``failure`` is an error.
    """
    rows = [
        {**run_row(each.run, name), **each.figures, "agrees": each.agrees} for each in repetitions
    ]
    agreeing = sum(each.agrees is True for each in repetitions)
    different = sum(each.agrees is False for each in repetitions)
    obstacles = [each.obstacle for each in repetitions if each.obstacle]
    note = f"all figures agree in {agreeing} of {pluralize(len(repetitions), 'run')}"
    if obstacles:
        note += f"; {pluralize(len(obstacles), 'run was', 'runs were')} not repeated"
    failure: StarcastError | None = next(iter(obstacles), None)
    if different:
        failure = RejectedError(
            f"the new figures of {pluralize(different, 'run')} differ from the stored figures",
            hint="use 'starcast run show' to find the code and machine of a stored run",
        )
    columns = ("run", *POINT_AXES, "agrees", *REPEATED)
    return RunList.of(rows, columns, note, failure, _SPARE_AXES)


def list_profile(profile: Sequence[models.StepProfile | models.ScheduleStep]) -> Table:
    """Return the figures of each step, such as the links used, as a table with one row per step."""
    columns = ("step", *PROFILE_COLUMNS)
    return Table.of(({name: getattr(step, name) for name in columns} for step in profile), columns)


def run_row(run: Run, experiment: str) -> dict[str, Any]:
    """Return a stored run as a table row: its parameters, simulated figures, and gap."""
    return with_numbers(
        {
            **{name: getattr(run, name) for name in POINT_AXES},
            "run": run.id,
            "experiment": experiment,
            "status": run.status,
            "error": run.error,
            "steps": figure(run, "steps"),
            "time": figure(run, "time"),
            "gap": rounded(gap(run)),
            "missing": run.missing,
            "finished": run.finished_at.astimezone(),
        }
    )


def cost_rows(run: Run) -> list[dict[str, Any]]:
    """Return the costs of a run as rows, the simulated cost first, each with its gap."""
    kinds = ("simulated", "closed form", "lower bound")
    rows = []
    for cost in sorted(run.costs, key=lambda cost: kinds.index(cost.kind)):
        row = {name: getattr(cost, name) for name in COST_COLUMNS if hasattr(cost, name)}
        rows.append(with_numbers({"cost": cost.kind, **row, "gap": rounded(gap(run, cost.kind))}))
    return rows


def describe_loss(run: Run) -> str:
    """Return a sentence with a run's faults and the number of units missing due to these faults."""
    missing = pluralize(run.missing, "unit is", "units are")
    loss = f"{missing} missing at the end" if run.missing else "no unit is missing at the end"
    return f"with faults at {', '.join(run.faults)}: {loss}"


def require_complete(run: Run) -> None:
    """Check that a run is complete, so that it has results to show or compare.

    Raises:
        RejectedError: the run failed.
    """
    if run.status != "complete":
        raise RejectedError(
            f"the run failed: {run.error}",
            hint="correct the cause and repeat the run; failed runs are not compared",
        )


def run_facts(run: Run, experiment: str) -> dict[str, Any]:
    """Return the stored parameters, figures, timings and provenance of a run, by name."""
    row = run_row(run, experiment)
    facts = {name: row[name] for name in RUN_COLUMNS}
    facts["messages"] = run.messages
    if run.root == CENTRE and count_nodes(run.topology):
        topology = as_topology(run.topology)
        facts["root_label"] = topology.label(topology.centre())
    for cost in cost_rows(run):
        kind = cost["cost"].replace(" ", "_")
        facts |= {f"{kind}_{name}": cost[name] for name in ("steps", "time", "source")}
    for phase in ("build", "verify", "simulate", "price"):
        facts[f"{phase}_seconds"] = run.timings.get(phase)
    facts |= {name: run.provenance[name] for name in PROVENANCE if name in run.provenance}
    used = run.provenance.get("plugins", {})
    if used:
        facts["plugins"] = [
            f"{name}: {plugin['module']}, version {plugin['version'] or 'unknown'},"
            f" SHA-256 {plugin['sha256'] or 'unknown'}"
            for name, plugin in used.items()
        ]
    return facts | {"reproduce": name_plugins(Point.of(run).command(), [used])}


# The papers' tables, filled with the figures of stored runs.


def find_table(name: str) -> PaperTable:
    """Return the paper table with the given name.

    Raises:
        InputError: no table of a paper has this name.
    """
    tables = paper_tables()
    if name not in tables:
        raise InputError(
            f"'{name}' is not a table of a paper",
            hint=f"{did_you_mean(name, tables)}choose one of {', '.join(tables)}",
        )
    return tables[name]


def table_of(experiment: models.Experiment) -> str:
    """Return the name of the paper table for which an experiment was run.

    The experiment must have the title of the example that comes with starcast for this table.

    Raises:
        InputError: the experiment does not belong to a paper table.
    """
    title = experiment.grid.get("title")
    for name in paper_tables():
        if title and title == _shipped_title(name):
            return name
    raise InputError(
        f"the experiment '{experiment.name}' does not belong to a table of a paper",
        hint=f"name a table with `table`: {', '.join(paper_tables())}",
    )


@cache
def _shipped_title(name: str) -> str:
    """Return the title of the experiment that comes with starcast for a paper's table.

    The title is empty if there is no such experiment. The result is cached, because reading the
    experiment expands its grids.
    """
    return read_design(str(examples()[name])).title if name in examples() else ""


def tabulate(table: PaperTable, cases: Sequence[tuple[Case, list[Row]]]) -> Table:
    """Return one table with the rows of all cases; a case is a topology, message and machine."""
    records = [
        with_numbers({**case_values(table, case), **row}) for case, rows in cases for row in rows
    ]
    return Table.of(records, [*case_values(table, cases[0][0]), *table.headings])


def case_values(table: PaperTable, case: Case) -> dict[str, Any]:
    """Return the topology of a case and its values on the table's axes, by name."""
    values: dict[str, Any] = {"topology": case.topology.spec}
    for axis in table.axes:
        if axis == "machine":
            values |= {"t_s": case.machine.t_s, "t_c": case.machine.t_c}
        else:
            values[axis] = getattr(case, axis)
    return values


def paper_rows(table: PaperTable, runs: Sequence[Run]) -> list[tuple[Case, list[Row]]]:
    """Return the rows of a paper's table for each case (topology, message, machine) of the runs.

    Runs with faults, asynchronous runs, and failed runs are ignored.

    Raises:
        NotFoundError: none of the other runs has the parameters of a row of the table.
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
            f"no synchronous run without faults has the parameters of a row of {table.source}",
            hint="run the experiment of this table, which 'starcast experiment examples' lists",
        )
    return filled


def _cases(table: PaperTable, runs: Iterable[Run]) -> list[Case]:
    """Return the distinct cases of runs (topology, message, machine), in order of first appearance.

    If the table has an `axis_with_1`, such as copies, the rows of every case also show the figures
    for the value 1 on this axis. Cases with the value 1 are therefore omitted, unless all cases
    have this value.
    """
    cases = dict.fromkeys(_case(table, run) for run in runs)
    axis = table.axis_with_1
    several = [case for case in cases if axis is not None and getattr(case, axis) > 1]
    return several or list(cases)


def _case(table: PaperTable, run: Run) -> Case:
    values: dict[str, Any] = {
        "message_bytes": run.message_bytes,
        "machine": Machine(run.t_s, run.t_c),
        "messages": run.messages,
        "copies": run.copies,
    }
    return Case(as_topology(run.topology), **{axis: values[axis] for axis in table.axes})


def _finder(table: PaperTable, case: Case, runs: Iterable[Run]) -> tuple[Find, list[Run]]:
    """Return a function that finds the figures for a row of a paper's table in stored runs.

    The second item of the result is a list, to which the function appends every run that it finds.
    """
    chosen = [run for run in runs if run.topology == case.topology.spec]
    if "machine" in table.axes:
        wanted = (case.message_bytes, case.machine)
        chosen = [run for run in chosen if (run.message_bytes, Machine(run.t_s, run.t_c)) == wanted]
    used: list[Run] = []

    def find(execution: RowExecution) -> RowFigures | None:
        matching = [run for run in chosen if _executes(run, execution)]
        if not matching:
            return None
        best = min(matching, key=lambda run: (figure(run, "time"), run.segments))
        used.append(best)
        figures = {name: figure(best, name) for name in FIGURES}
        return RowFigures(segments=best.segments, **figures)

    return find, used


def _executes(run: Run, execution: RowExecution) -> bool:
    return (
        (run.collective, run.algorithm, run.ports, run.copies)
        == (execution.collective, execution.algorithm, execution.ports, execution.copies)
        and (execution.base is None or run.base == execution.base)
        and (execution.messages is None or run.messages == execution.messages)
    )
