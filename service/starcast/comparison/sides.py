"""What a user names to be compared: an experiment, or a run by its number."""

from sqlalchemy.orm import Session

from starcast.comparison.matching import Side
from starcast.database import repository
from starcast.experiments.design import in_order, incomplete, stored_design
from starcast.experiments.grid import Point


def load_side(session: Session, name: str) -> Side:
    """The runs behind a name, how to repeat them, and how to run them elsewhere: an experiment by its grid, others one by one.

    Raises:
        NotFoundError: no experiment has that name, or no run that number.
    """
    repeat = f"starcast experiment reproduce {name}"
    if name.isdecimal():
        run = repository.load_run(session, int(name))
        return Side(f"run {name}", (run,), (Point.of(run).command(),), repeat=repeat)
    experiment = repository.load_experiment(session, name)
    runs = tuple(in_order(experiment, repository.load_runs(session, experiment.id)))
    if experiment.grid:
        design = stored_design(experiment)
        return Side(
            name, runs, design.commands(name), design.title, repeat, incomplete(experiment, runs)
        )
    return Side(
        name,
        runs,
        tuple(f"{Point.of(run).command()} --experiment {name}" for run in runs),
        repeat=repeat,
    )
