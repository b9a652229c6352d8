"""Repeating stored runs, and judging whether the figures agree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlalchemy import Engine

from starcast.database import models, repository
from starcast.database.sessions import session
from starcast.experiments.design import incomplete
from starcast.experiments.execution import priced
from starcast.experiments.grid import sharing
from starcast.experiments.parallel import executed, jobs_for
from starcast.experiments.point import Point
from starcast.progress import Reporter
from starcast.simulator.step_profile import COLUMNS

#: What is compared, in the order of reading.
FIGURES = ("status", "steps", "transmissions", "costs", "missing", "profile")

#: The profile of a simulation, by step.
_Steps = dict[int, tuple[int, ...]]

_SAME, _NOTHING = "same", "nothing"
# The time first: every way of counting gives one, so that it tells where a whole row is missing.
_COSTS = ("time", "steps", "start_ups", "transmissions", "bytes")


@dataclass(frozen=True)
class Repetition:
    """A stored run and what became of its figures: for each of `FIGURES` ``same``, or what was and what is."""

    run: models.Run
    figures: dict[str, str]

    @property
    def agrees(self) -> bool:
        """Whether every figure is the same."""
        return set(self.figures.values()) == {_SAME}


def reproduce(
    engine: Engine, name: str, reporter: Reporter, jobs: int | None = None
) -> list[Repetition]:
    """Execute every run of an experiment again, or one run, at the same point under the same faults; nothing is stored.

    Args:
        engine: a database whose schema was checked.
        name: of an experiment, or a run's number.
        reporter: hears of the progress, and what an experiment lacks that is incomplete.
        jobs: as in `starcast.experiments.running.run_experiment`.

    Returns:
        The repetitions in the order in which the runs were stored.

    Raises:
        NotFoundError: there is no such experiment or run.
        LimitError: a point does not fit into memory.
    """
    with session(engine) as opened:
        if name.isdecimal():
            runs = [repository.load_run(opened, int(name))]
        else:
            experiment = repository.load_experiment(opened, name)
            runs = repository.load_runs(opened, experiment.id)
            lacking = incomplete(experiment, runs)
            if lacking:
                reporter.say(lacking)
    with reporter.task(f"repeating {name}", len(runs), "runs") as task:
        repeated = []
        for repetition in _repeated(engine, runs, jobs):
            repeated.append(repetition)
            task.advance()
    return sorted(repeated, key=lambda repetition: repetition.run.id)


def _repeated(
    engine: Engine, runs: Sequence[models.Run], wanted: int | None
) -> Iterator[Repetition]:
    stored = {Point.of(run): run for run in runs}
    together = {some[0]: some for some in sharing(stored)}
    with executed(list(together), jobs_for(list(together), wanted)) as executions:
        for first, execution in executions:
            rows = zip(*(column.tolist() for column in execution.profile), strict=True)
            steps = dict(enumerate(rows, start=1))
            for point in together[first]:
                run = stored[point]
                with session(engine) as opened:
                    profile = repository.load_profile(opened, run.id)
                kept = {
                    step.step: tuple(getattr(step, name) for name in COLUMNS) for step in profile
                }
                yield Repetition(run, _differences(run, priced(point, execution), kept, steps))


def _differences(
    stored: models.Run, now: models.Run, kept: _Steps, steps: _Steps
) -> dict[str, str]:
    before, after = _words(stored, kept), _words(now, steps)
    return {figure: _told(before[figure], after[figure]) for figure in FIGURES}


def _words(run: models.Run, steps: _Steps) -> dict[str, dict[str, str]]:
    """Each figure as the parts that it has, by what they are called, so that the first that differs can be told."""
    costs = {cost.kind: cost for cost in run.costs}
    simulated = costs.get("simulated")
    return {
        "status": {"": run.status if run.error is None else f"{run.status}: {run.error}"},
        "steps": {"": _plain(simulated.steps if simulated else None)},
        "transmissions": {"": _plain(simulated.transmissions if simulated else None)},
        "costs": {
            f"{kind} {name}": _plain(getattr(costs[kind], name))
            for kind in sorted(costs)
            for name in _COSTS
        },
        "missing": {"": str(run.missing)},
        "profile": {f"step {step}": " ".join(map(str, row)) for step, row in steps.items()},
    }


def _plain(value: Fraction | int | None) -> str:
    return _NOTHING if value is None else str(value)


def _told(was: dict[str, str], became: dict[str, str]) -> str:
    """The first part that differs, as it was and as it is."""
    for part in was | became:
        before, after = was.get(part, _NOTHING), became.get(part, _NOTHING)
        if before != after:
            return f"{part}: was {before}, is {after}".removeprefix(": ")
    return _SAME
