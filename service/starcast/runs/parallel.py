"""Executing points in processes of their own, as many at once as there are jobs and as memory holds.

The processes only compute: they know no database. They end with the process that started them, however it ends.
"""

import multiprocessing
import os
import signal
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager

import psutil

from starcast.errors import InputError, LimitError
from starcast.runs.execution import Execution, demand_memory, execute, needed, perform
from starcast.runs.point import Point

#: Below so many bytes of schedules in all, processes take longer to start than to do the work.
_WORTH_IT = 200_000_000
_SIGNALS = {signal.SIGINT, signal.SIGTERM}


def check_jobs(wanted: int | None) -> None:
    """Accept how many processes are wanted; None leaves it to `jobs_for`.

    Raises:
        InputError: there are fewer than 1.
    """
    if wanted is not None and wanted < 1:
        raise InputError(f"{wanted} jobs cannot work", hint="give --jobs 1 or more")


def jobs_for(points: Sequence[Point], wanted: int | None = None) -> int:
    """How many processes to use: those wanted, else one a core where the work is worth starting them; 1 is this process.

    Raises:
        InputError: fewer than 1 are wanted.
    """
    check_jobs(wanted)
    if wanted is None:
        wanted = len(os.sched_getaffinity(0)) if sum(map(needed, points)) > _WORTH_IT else 1
    return max(1, min(wanted, len(points)))


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
    try:
        with _processes(jobs) as pool:
            yield _through(pool, deque(points), jobs)
    except BrokenProcessPool:
        raise LimitError(
            f"one of {jobs} processes was ended from outside",
            hint="memory may have run out: take fewer --jobs, or a smaller topology",
        ) from None


def _through(pool: ProcessPoolExecutor, waiting: deque[Point], jobs: int) -> Iterator[tuple[Point, Execution]]:
    running: dict[Future[Execution], tuple[Point, int]] = {}
    free = 0
    while waiting or running:
        if not running:  # what is free now is all there is for the jobs to come, until none of them runs any more
            free = psutil.virtual_memory().available
            demand_memory(waiting[0], free)
        while waiting and len(running) < jobs and needed(waiting[0]) + sum(size for _, size in running.values()) <= free:
            point = waiting.popleft()
            with _signals_wait():
                running[pool.submit(perform, point)] = point, needed(point)
        for done in wait(running, return_when=FIRST_COMPLETED).done:
            point, _ = running.pop(done)
            yield point, done.result()


@contextmanager
def _processes(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes are gone when the context is left; at once where an error or an interruption leaves it."""
    before = set(multiprocessing.active_children())
    # Started afresh, not forked: a fork would share this process's connection to the database.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), initializer=_end_with_parent)
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.kill()
        raise
    finally:
        with _signals_wait():
            pool.shutdown(cancel_futures=True)


@contextmanager
def _signals_wait() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back. A process started in here never sees them: whoever started it decides when it ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _end_with_parent() -> None:
    """Let this process end when the one that started it is gone, whatever ended that one."""
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
