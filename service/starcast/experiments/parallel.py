"""Executing points in processes of their own, as many at once as there are jobs and as memory holds."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psutil

from starcast.experiments.execution import Execution, demand_memory, execute, needed, perform
from starcast.experiments.point import Point
from starcast.support import processes

#: Below so many bytes of schedules in all, processes take longer to start than to do the work.
_WORTH_IT = 200_000_000


def jobs_for(points: Sequence[Point], wanted: int | None = None) -> int:
    """How many processes to use: those wanted, else one a core where the work is worth starting them; 1 is this process.

    Raises:
        InputError: fewer than 1 are wanted.
    """
    worth_it = wanted is None and sum(map(needed, points)) > _WORTH_IT
    return processes.choose_jobs(len(points), wanted, worth_it=worth_it)


@contextmanager
def executed(points: Sequence[Point], jobs: int) -> Iterator[Iterator[tuple[Point, Execution]]]:
    """Each point with its execution, in the order in which they finish; of one job, in the order given.

    The processes are gone when the context is left: at once where an error or an interruption leaves it.

    Raises:
        LimitError: a point does not fit into the memory that is free, or a process was ended from outside; the executions
            that were under way before have been given.
    """
    if jobs == 1:
        yield ((point, execute(point)) for point in points)
        return
    with processes.run_parallel(
        points, processes.Workload(perform, needed, _free, demand_memory), jobs
    ) as done:
        yield done


def _free() -> int:
    return int(psutil.virtual_memory().available)
