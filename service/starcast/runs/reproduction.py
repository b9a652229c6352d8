"""Repeating stored runs, and judging whether the figures agree."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlalchemy import Engine

from starcast.progress import Reporter
from starcast.runs import models, repository
from starcast.runs.database import session
from starcast.runs.execution import priced
from starcast.runs.grid import sharing
from starcast.runs.parallel import executed, jobs_for
from starcast.runs.point import Point
from starcast.runs.profiles import COLUMNS

#: What is compared, in the order of reading.
FIGURES = ("status", "steps", "transmissions", "costs", "missing", "profile")

_SAME = "same"
_COSTS = ("steps", "start_ups", "transmissions", "bytes", "time")


@dataclass(frozen=True)
class Repetition:
    """A stored run and what became of its figures: for each of `FIGURES` ``same``, or what was and what is."""

    run: models.Run
    figures: dict[str, str]

    @property
    def agrees(self) -> bool:
        """Whether every figure is the same."""
        return set(self.figures.values()) == {_SAME}


def reproduce(engine: Engine, name: str, reporter: Reporter, jobs: int | None = None) -> list[Repetition]:
    """Execute every run of an experiment again, or one run, at the same point under the same faults; nothing is stored.

    Args:
        engine: a database whose schema was checked.
        name: of an experiment, or a run's number.
        reporter: hears of the progress.
        jobs: as in `starcast.runs.experiment.run_experiment`.

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
            runs = repository.load_runs(opened, repository.load_experiment(opened, name).id)
    with reporter.task(f"repeating {name}", len(runs), "runs") as task:
        repeated = []
        for repetition in _repeated(engine, runs, jobs):
            repeated.append(repetition)
            task.advance()
    return sorted(repeated, key=lambda repetition: repetition.run.id)


def _repeated(engine: Engine, runs: Sequence[models.Run], wanted: int | None) -> Iterator[Repetition]:
    stored = {Point.of(run): run for run in runs}
    together = {some[0]: some for some in sharing(stored)}
    with executed(list(together), jobs_for(list(together), wanted)) as executions:
        for first, execution in executions:
            steps = list(zip(*(column.tolist() for column in execution.profile), strict=True))
            for point in together[first]:
                run = stored[point]
                with session(engine) as opened:
                    kept = [tuple(getattr(step, name) for name in COLUMNS) for step in repository.load_profile(opened, run.id)]
                yield Repetition(run, _differences(run, priced(point, execution), kept, steps))


def _differences(
    stored: models.Run, now: models.Run, kept: list[tuple[int, ...]], steps: list[tuple[int, ...]]
) -> dict[str, str]:
    before, after = _words(stored, kept), _words(now, steps)
    pairs = {figure: (before[figure], after[figure]) for figure in FIGURES}
    return {figure: _SAME if was == became else _told(was, became) for figure, (was, became) in pairs.items()}


def _words(run: models.Run, steps: list[tuple[int, ...]]) -> dict[str, list[str]]:
    """Each figure as a list of words, so that the first that differs can be told."""
    costs = {cost.kind: cost for cost in run.costs}
    simulated = costs.get("simulated")
    return {
        "status": [run.status if run.error is None else f"{run.status}: {run.error}"],
        "steps": [str(simulated and simulated.steps)],
        "transmissions": [str(simulated and simulated.transmissions)],
        "costs": [f"{kind} {name} {_plain(getattr(costs[kind], name))}" for kind in sorted(costs) for name in _COSTS],
        "missing": [str(run.missing)],
        "profile": [f"step {step}: {' '.join(map(str, row))}" for step, row in enumerate(steps, start=1)],
    }


def _plain(value: Fraction | int | None) -> str:
    return "-" if value is None else str(value)


def _told(was: list[str], became: list[str]) -> str:
    """The first word that differs, as it was and as it is."""
    pairs = zip([*was, "nothing"], [*became, "nothing"], strict=False)
    before, after = next(pair for pair in pairs if pair[0] != pair[1])
    return f"was {before}, is {after}"
