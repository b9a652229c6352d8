"""Comparisons of stored experiments and runs by name, and the stored steps of their runs."""

from collections.abc import Iterable
from typing import Literal

from sqlalchemy.orm import Session

from starcast.comparison.compare import Comparison, compare
from starcast.comparison.curves import profiled_runs
from starcast.comparison.networks import check_crossed
from starcast.comparison.sides import load_side, read_conditions, select_runs
from starcast.stores.database import repository
from starcast.support.progress import Reporter


def compare_stored(
    session: Session,
    names: Iterable[str],
    reporter: Reporter,
    *,
    across: Iterable[str] = (),
    conditions: Iterable[str] = (),
    baseline: str | None = None,
    by: Literal["message_units", "segments"] = "message_units",
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
        by: match runs by the pieces of a message, or by segments per tree.
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
    comparison = compare(select_runs(sides, selection), baseline, axes, by)
    return comparison if sort is None else comparison.sorted_by(sort)


def load_profiles(session: Session, comparison: Comparison) -> dict[int, list[int]]:
    """Return the links used in each step, by the numbers of the runs of `profiled_runs`."""
    runs = dict.fromkeys(run.id for run in profiled_runs(comparison))
    return {
        run: [step.links_used for step in repository.load_profile(session, run)] for run in runs
    }
