"""Reproduction: execute stored runs again and compare new and stored figures."""

from concurrent.futures import Executor
from dataclasses import dataclass
from fractions import Fraction

from sqlalchemy import Engine, select
from sqlalchemy.orm import Session

from starcast.catalogue.origin import require_plugins
from starcast.experiments.design import describe_missing
from starcast.experiments.execution import execute_all, list_steps, price_run
from starcast.experiments.point import Point
from starcast.judges.simulator.simulation import PROFILE_COLUMNS
from starcast.stores.database import models, repository
from starcast.stores.database.sessions import open_session
from starcast.support.progress import Reporter

#: The figures that are compared, in the order in which they are listed.
FIGURES = ("status", "steps", "transmissions", "costs", "missing", "profile")

#: The step profile of a simulation: for each step number, the values of `PROFILE_COLUMNS`.
Steps = dict[int, tuple[int, ...]]

SAME, _NOTHING = "same", "nothing"
# Every kind of cost has a time, so comparing times also detects a missing kind.
_COSTS = ("time", "steps", "start_ups", "transmissions", "bytes")


@dataclass(frozen=True)
class Repetition:
    """The figures of a stored run, compared with those of its repetition.

    Attributes:
        run: the stored run.
        figures: for each of `FIGURES` either ``same``, or a text with the stored and the new
            value.
    """

    run: models.Run
    figures: dict[str, str]

    @property
    def agrees(self) -> bool:
        """Whether all new figures equal the stored figures."""
        return set(self.figures.values()) == {SAME}


def reproduce(
    engine: Engine,
    name: str,
    reporter: Reporter,
    jobs: int | None = None,
    executor: Executor | None = None,
) -> list[Repetition]:
    """Execute a single run, or every run of an experiment, again with the same faults.

    Nothing is stored.

    Args:
        engine: a database with a checked schema.
        name: the name of an experiment, or the number of a run.
        reporter: receives the progress and the number of missing runs of the experiment.
        jobs: the number of processes; by default one per core, or only this process if the work is
            small.
        executor: executes the points instead of processes on this machine.

    Returns:
        The repetitions in the order in which the runs were stored.

    Raises:
        NotFoundError: no such experiment or run is stored.
        PluginMissingError: the plug-in that defines a run's algorithm is not loaded.
        LimitError: a point does not fit into memory.
    """
    with open_session(engine) as session:
        if name.isdecimal():
            runs = [repository.load_run(session, int(name))]
        else:
            experiment = repository.load_experiment(session, name)
            runs = repository.load_runs(session, experiment.id)
            missing = describe_missing(experiment, runs)
            if missing:
                reporter.say(missing)
    for run in runs:
        require_plugins(f"run {run.id}", (run.provenance or {}).get("plugins", {}))
    stored = {Point.of(run): run for run in runs}
    repetitions = []
    with (
        reporter.task(f"repeating {name}", len(runs), "runs") as task,
        execute_all(stored, jobs, executor) as (executions, _),
    ):
        for point, execution in executions:
            run, new = stored[point], price_run(point, execution)
            with open_session(engine) as session:
                old_steps = load_steps(session, run.id)
            new_steps = dict(enumerate(list_steps(execution.profile), start=1))
            figures = compare_figures(run, new, old_steps, new_steps)
            repetitions.append(Repetition(run, figures))
            task.advance()
    return sorted(repetitions, key=lambda repetition: repetition.run.id)


def load_steps(session: Session, run: int) -> Steps:
    """Return the stored step profile of the run with this number."""
    table = models.StepProfile
    columns = (table.step, *(getattr(table, name) for name in PROFILE_COLUMNS))
    query = select(*columns).where(table.run == run).order_by(table.step)
    return {step: tuple(row) for step, *row in session.execute(query)}


def compare_figures(
    stored: models.Run, new: models.Run, old_steps: Steps, new_steps: Steps
) -> dict[str, str]:
    """Return, for each of `FIGURES`, ``same`` or a text with the stored and the new value."""
    before = _figures(stored, old_steps)
    after = _figures(new, new_steps)
    return {figure: _first_difference(before[figure], after[figure]) for figure in FIGURES}


def _figures(run: models.Run, steps: Steps) -> dict[str, dict[str, str]]:
    """Return each figure as a mapping of named parts, so that a difference names its part."""
    costs = {cost.kind: cost for cost in run.costs}
    simulated = costs.get("simulated")
    return {
        "status": {"": run.status if run.error is None else f"{run.status}: {run.error}"},
        "steps": {"": _as_text(simulated.steps if simulated else None)},
        "transmissions": {"": _as_text(simulated.transmissions if simulated else None)},
        "costs": {
            f"{kind} {name}": _as_text(getattr(costs[kind], name))
            for kind in sorted(costs)
            for name in _COSTS
        },
        "missing": {"": str(run.missing)},
        "profile": {f"step {step}": " ".join(map(str, row)) for step, row in steps.items()},
    }


def _as_text(value: Fraction | int | None) -> str:
    return _NOTHING if value is None else str(value)


def _first_difference(before: dict[str, str], after: dict[str, str]) -> str:
    for part in before | after:
        old, new = before.get(part, _NOTHING), after.get(part, _NOTHING)
        if old != new:
            return f"{part}: was {old}, is {new}".removeprefix(": ")
    return SAME
