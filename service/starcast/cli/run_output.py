"""How stored runs look in a listing; `run`, `experiment` and `compare` share it."""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from starcast.cli.output import PAGE, Format, emit, fits, narrowed, text
from starcast.errors import RejectedError
from starcast.support.text import pluralize

if TYPE_CHECKING:
    from starcast.database.models import Run

#: Where a run stands.
POINT = (
    "topology",
    "collective",
    "algorithm",
    "ports",
    "base",
    "message_bytes",
    "segments",
    "copies",
    "faults",
    "seed",
    "t_s",
    "t_c",
)
RUN_COLUMNS = ("run", "experiment", *POINT, "status", "steps", "time", "gap", "missing", "finished")
#: What most runs have; a table in which all have it shows no such column.
_USUAL: dict[str, Any] = {
    "base": None,
    "copies": 1,
    "faults": [],
    "seed": 0,
    "missing": 0,
    "status": "complete",
}
#: The columns that leave a table which does not fit on the terminal, the first one first.
_SPARE = (
    "finished", "seed", "steps", "missing", "t_c", "t_s", "ports", "copies", "base", "collective", "experiment", "topology",
)  # fmt: skip
PROVENANCE = (
    "version",
    "revision",
    "dirty",
    "host",
    "machine",
    "python",
    "numpy",
    "psycopg",
    "postgres",
    "jobs",
)
COST_COLUMNS = ("cost", "steps", "start_ups", "transmissions", "bytes", "time", "gap", "source")


def plain(value: Any) -> Any:
    """An exact figure as people read it: a whole number where it is one, else a decimal."""
    if not isinstance(value, Fraction):
        return value
    return value.numerator if value.denominator == 1 else float(value)


def plain_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row with all its exact figures as people read them."""
    return {name: plain(value) for name, value in row.items()}


def run_row(run: "Run", experiment: str) -> dict[str, Any]:
    """A stored run in one row: where it stands, what its simulation took, and its time / lower bound."""
    from starcast.comparison.compare import gap
    from starcast.comparison.matching import figure

    figures = {"steps": figure(run, "steps"), "time": figure(run, "time"), "gap": ratio(gap(run))}
    point = {name: getattr(run, name) for name in RUN_COLUMNS if hasattr(run, name)}
    finished = run.finished_at.astimezone()
    return plain_row(
        {**point, **figures, "run": run.id, "experiment": experiment, "finished": finished}
    )


def emit_runs(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    output: Format,
    *,
    everything: bool = False,
    needed: Collection[str] = (),
) -> None:
    """Print rows of runs: all columns to programs, to people those that say something, and of a table what fits.

    Of a table that is too wide, what all rows have in common is told in the title, and a line below names what was left out;
    what is ``needed`` never is.
    """
    if everything or output in (Format.JSON, Format.CSV):
        emit(rows, columns, output)
        return
    said = [
        name
        for name in columns
        if name not in _USUAL or any(row[name] != _USUAL[name] for row in rows)
    ]
    if output is Format.MARKDOWN or fits(rows, said, PAGE):
        emit(rows, said, output)
        return
    short = [{**row, "faults": brief(row["faults"])} for row in rows]
    shared = _shared(rows, [name for name in said if name in POINT])
    spare = [name for name in _SPARE if name not in needed]
    shown = narrowed(short, [name for name in said if name not in shared], spare)
    title = ", ".join(
        f"{name} {text(value)}" for name, value in shared.items() if value is not None
    )
    emit(short, shown, output, title, below=not_shown(said, (*shown, *shared)))


def not_shown(said: Sequence[str], shown: Collection[str]) -> list[str]:
    """The line below a table that names what was left out."""
    gone = [name for name in said if name not in shown]
    return [f"not shown: {', '.join(gone)}; --all shows all columns"] if gone else []


def _shared(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, Any]:
    return (
        {name: rows[0][name] for name in columns if all(row[name] == rows[0][name] for row in rows)}
        if rows
        else {}
    )


def brief(values: Sequence[Any], most: int = 1) -> list[Any]:
    """The first of some values, and how many more there are."""
    more = len(values) - most
    return [*values[:most], f"+{more}"] if more > 0 else list(values)


def cost_rows(run: "Run") -> list[dict[str, Any]]:
    """The costs of a run, the simulated one first, each with its time / lower bound."""
    kinds = ("simulated", "closed form", "lower bound")
    bound = next((cost.time for cost in run.costs if cost.kind == "lower bound"), None)
    rows = []
    for cost in sorted(run.costs, key=lambda cost: kinds.index(cost.kind)):
        row = {name: getattr(cost, name) for name in COST_COLUMNS if hasattr(cost, name)}
        rows.append(
            plain_row(
                {"cost": cost.kind, **row, "gap": ratio(cost.time / bound) if bound else None}
            )
        )
    return rows


def loss(run: "Run") -> str:
    """What the faults of a run cost, in a sentence."""
    missing = pluralize(run.missing, "unit is", "units are")
    lost = f"{missing} missing in the end" if run.missing else "nobody alive lacks anything"
    return f"with faults at {', '.join(run.faults)}: {lost}"


def demand_complete(run: "Run") -> None:
    """Accept a run that has figures.

    Raises:
        RejectedError: the simulation found a violation, or somebody lacks something in the end.
    """
    if run.status != "complete":
        raise RejectedError(
            f"the run failed: {run.error}", hint="a failed run has no figures and is never compared"
        )


def run_facts(run: "Run", experiment: str) -> dict[str, Any]:
    """All that is stored of a run, by what it is called, in the order of reading."""
    from starcast.experiments.grid import Point

    row = run_row(run, experiment)
    facts = {name: row[name] for name in RUN_COLUMNS} | {"messages": run.messages, "error": run.error}
    for cost in cost_rows(run):
        facts |= {f"{cost['cost']} {name}": cost[name] for name in ("steps", "time", "source")}
    for phase in ("build", "verify", "simulate", "price"):
        facts[f"seconds to {phase}"] = run.timings.get(phase)
    facts |= {name: run.provenance[name] for name in PROVENANCE if name in run.provenance}
    return facts | {"reproduce": Point.of(run).command()}


def ratio(value: Fraction | None) -> float | None:
    """A gap or the like to three decimals."""
    return None if value is None else round(float(value), 3)
