"""Listings of stored runs, for ``run``, ``experiment`` and ``compare``."""

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from starcast.cli.output import PAGE, Format, emit, fits, narrowed
from starcast.errors import RejectedError
from starcast.support.text import format_value, pluralize

if TYPE_CHECKING:
    from starcast.database.models import Run

#: The parameters of a run.
POINT = (
    "topology", "collective", "algorithm", "ports", "base", "message_bytes", "segments", "copies",
    "faults", "seed", "t_s", "t_c",
)  # fmt: skip
RUN_COLUMNS = ("run", "experiment", *POINT, "status", "steps", "time", "gap", "missing", "finished")
#: Usual values; a table omits a column in which all runs have them.
_USUAL: dict[str, Any] = {
    "base": None,
    "copies": 1,
    "faults": [],
    "seed": 0,
    "missing": 0,
    "status": "complete",
}
#: The columns that a table omits until it fits on the terminal, the first one first.
_SPARE = (
    "finished", "seed", "steps", "missing", "t_c", "t_s", "ports", "copies", "base", "collective",
    "experiment", "topology", "message_bytes",
)  # fmt: skip
PROVENANCE = (
    "version", "revision", "dirty", "host", "machine", "python", "numpy", "psycopg", "postgres",
    "jobs",
)  # fmt: skip
COST_COLUMNS = ("cost", "steps", "start_ups", "transmissions", "bytes", "time", "gap", "source")


def as_number(value: Any) -> Any:
    """Return an exact figure as an integer if it is integral, else as a decimal."""
    if not isinstance(value, Fraction):
        return value
    return value.numerator if value.denominator == 1 else float(value)


def with_numbers(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its exact figures as integers or decimals."""
    return {name: as_number(value) for name, value in row.items()}


def run_row(run: "Run", experiment: str) -> dict[str, Any]:
    """Return a stored run as a row: parameters, simulated figures, and gap."""
    from starcast.comparison.matching import figure, gap

    figures = {
        "steps": figure(run, "steps"),
        "time": figure(run, "time"),
        "gap": rounded(gap(run)),
    }
    point = {name: getattr(run, name) for name in RUN_COLUMNS if hasattr(run, name)}
    finished = run.finished_at.astimezone()
    row = {**point, **figures, "run": run.id, "experiment": experiment, "finished": finished}
    return with_numbers(row)


def emit_runs(
    rows: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
    output: Format,
    *,
    everything: bool = False,
    needed: Collection[str] = (),
) -> None:
    """Print rows of runs: all columns as JSON and CSV, only informative ones in tables.

    If a table is too wide, parameters that all rows share go into its title, and a line below it
    names the omitted columns. The columns of ``needed`` and the parameters that tell rows apart are
    never omitted.
    """
    if everything or output in (Format.JSON, Format.CSV):
        emit(rows, columns, output)
        return
    informative = [
        name
        for name in columns
        if name not in _USUAL or any(row[name] != _USUAL[name] for row in rows)
    ]
    if output is not Format.TABLE or fits(rows, informative, PAGE):
        emit(rows, informative, output)
        return
    short = [{**row, "faults": abbreviate(row["faults"])} for row in rows]
    shared = _shared_values(rows, [name for name in informative if name in POINT])
    kept = [name for name in informative if name not in shared]
    distinctive = _distinctive(short, [name for name in kept if name in POINT])
    spare = [name for name in _SPARE if name not in {*needed, *distinctive}]
    shown = narrowed(short, kept, spare)
    parts = [f"{name} {format_value(value)}" for name, value in shared.items() if value is not None]
    below = omitted_columns(informative, (*shown, *shared))
    emit(short, shown, output, ", ".join(parts), below=below)


def omitted_columns(columns: Sequence[str], shown: Collection[str]) -> list[str]:
    """Return the line below a table that names the omitted columns, if there are any."""
    omitted = [name for name in columns if name not in shown]
    return [f"not shown: {', '.join(omitted)}; --all shows all columns"] if omitted else []


def _distinctive(rows: Sequence[Mapping[str, Any]], parameters: Sequence[str]) -> list[str]:
    """Return parameters by which all rows differ that differ in any, without superfluous ones."""

    def count(names: Sequence[str]) -> int:
        return len({tuple(format_value(row[name]) for name in names) for row in rows})

    kept = list(parameters)
    for name in _SPARE:
        others = [other for other in kept if other != name]
        if count(others) == count(parameters):
            kept = others
    return kept


def _shared_values(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> dict[str, Any]:
    if not rows:
        return {}
    first = rows[0]
    return {name: first[name] for name in columns if all(row[name] == first[name] for row in rows)}


def abbreviate(values: Sequence[Any], most: int = 1) -> list[Any]:
    """Return the first values, and the number of further ones as ``+3``."""
    more = len(values) - most
    return [*values[:most], f"+{more}"] if more > 0 else list(values)


def cost_rows(run: "Run") -> list[dict[str, Any]]:
    """Return the costs of a run, the simulated one first, each with its time / lower bound."""
    kinds = ("simulated", "closed form", "lower bound")
    bound = next((cost.time for cost in run.costs if cost.kind == "lower bound"), None)
    rows = []
    for cost in sorted(run.costs, key=lambda cost: kinds.index(cost.kind)):
        row = {name: getattr(cost, name) for name in COST_COLUMNS if hasattr(cost, name)}
        gap = rounded(cost.time / bound) if bound else None
        rows.append(with_numbers({"cost": cost.kind, **row, "gap": gap}))
    return rows


def describe_loss(run: "Run") -> str:
    """Return a sentence with the units missing because of the faults of a run."""
    missing = pluralize(run.missing, "unit is", "units are")
    loss = f"{missing} missing at the end" if run.missing else "no unit is missing at the end"
    return f"with faults at {', '.join(run.faults)}: {loss}"


def require_complete(run: "Run") -> None:
    """Check that a run has figures.

    Raises:
        RejectedError: the run failed.
    """
    if run.status != "complete":
        raise RejectedError(
            f"the run failed: {run.error}", hint="a failed run has no figures and is never compared"
        )


def run_facts(run: "Run", experiment: str) -> dict[str, Any]:
    """Return everything that is stored of a run, by name."""
    from starcast.experiments.grid import Point

    row = run_row(run, experiment)
    facts = {name: row[name] for name in RUN_COLUMNS}
    facts |= {"messages": run.messages, "error": run.error}
    for cost in cost_rows(run):
        kind = cost["cost"].replace(" ", "_")
        facts |= {f"{kind}_{name}": cost[name] for name in ("steps", "time", "source")}
    for phase in ("build", "verify", "simulate", "price"):
        facts[f"{phase}_seconds"] = run.timings.get(phase)
    facts |= {name: run.provenance[name] for name in PROVENANCE if name in run.provenance}
    return facts | {"reproduce": Point.of(run).command()}


def rounded(value: Fraction | None) -> float | None:
    """Return a gap to three decimals."""
    return None if value is None else round(float(value), 3)
