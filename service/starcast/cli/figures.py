"""How stored runs look in a listing; `run`, `experiment` and `compare` share it."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from starcast.cli.output import Format
from starcast.errors import RejectedError

if TYPE_CHECKING:
    from starcast.runs.models import Run

RUN_COLUMNS = (
    "run", "experiment", "topology", "collective", "algorithm", "ports", "tree", "m", "p", "copies", "faults", "seed",
    "T_s", "T_c", "status", "steps", "time", "gap", "missing", "finished",
)  # fmt: skip
#: What most runs do not have; a table in which none has it shows no such column.
_RARE: dict[str, Any] = {"tree": None, "copies": 1, "faults": [], "seed": 0, "missing": 0}
PROVENANCE = ("version", "revision", "dirty", "host", "machine", "python", "numpy", "psycopg", "postgres", "jobs")
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
    from starcast.runs.compare import gap
    from starcast.runs.matching import figure

    figures = {"steps": figure(run, "steps"), "time": figure(run, "time"), "gap": ratio(gap(run))}
    point = {name: getattr(run, name) for name in RUN_COLUMNS if hasattr(run, name)}
    finished = run.finished_at.astimezone()
    return plain_row({**point, **figures, "run": run.id, "experiment": experiment, "finished": finished})


def run_columns(rows: Sequence[Mapping[str, Any]], output: Format, *, leave_out: str = "") -> list[str]:
    """The columns to show of such rows: all to programs, to people those that say something."""
    quiet = _RARE if output in (Format.TABLE, Format.MARKDOWN) else {}
    return [
        name
        for name in RUN_COLUMNS
        if name != leave_out and (name not in quiet or any(row[name] != quiet[name] for row in rows))
    ]


def cost_rows(run: "Run") -> list[dict[str, Any]]:
    """The costs of a run, the simulated one first, each with its time / lower bound."""
    kinds = ("simulated", "closed form", "lower bound")
    bound = next((cost.time for cost in run.costs if cost.kind == "lower bound"), None)
    rows = []
    for cost in sorted(run.costs, key=lambda cost: kinds.index(cost.kind)):
        row = {name: getattr(cost, name) for name in COST_COLUMNS if hasattr(cost, name)}
        rows.append(plain_row({"cost": cost.kind, **row, "gap": ratio(cost.time / bound) if bound else None}))
    return rows


def loss(run: "Run") -> str:
    """What the faults of a run cost, in a sentence."""
    lost = f"{run.missing:,} units are missing in the end" if run.missing else "nobody alive lacks anything"
    return f"with faults at {', '.join(run.faults)}: {lost}"


def demand_complete(run: "Run") -> None:
    """Accept a run that has figures.

    Raises:
        RejectedError: the simulation found a violation, or somebody lacks something in the end.
    """
    if run.status != "complete":
        raise RejectedError(f"the run failed: {run.error}", hint="a failed run has no figures and is never compared")


def run_facts(run: "Run", experiment: str) -> dict[str, Any]:
    """All that is stored of a run, by what it is called, in the order of reading."""
    from starcast.runs.grid import Point

    row = run_row(run, experiment)
    facts = {name: row[name] for name in RUN_COLUMNS} | {"M": run.M, "error": run.error}
    for cost in cost_rows(run):
        facts |= {f"{cost['cost']} {name}": cost[name] for name in ("steps", "time", "source")}
    for phase in ("build", "verify", "simulate", "price"):
        facts[f"seconds to {phase}"] = run.timings.get(phase)
    facts |= {name: run.provenance[name] for name in PROVENANCE if name in run.provenance}
    return facts | {"reproduce": Point.of(run).command()}


def ratio(value: Fraction | None) -> float | None:
    """A gap or the like to three decimals."""
    return None if value is None else round(float(value), 3)
