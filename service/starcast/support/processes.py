"""Work in processes of its own, as many at once as there are jobs and as memory holds.

The processes only compute: they know no database. They end with the process that started them, however it ends.
"""

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Generic, TypeVar

from starcast.errors import InputError, LimitError
from starcast.support.signals import block_signals

Piece = TypeVar("Piece")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Work(Generic[Piece, Result]):
    """What is done to a piece of work, and what it takes.

    Attributes:
        perform: does it; a function of a module, since it is called in another process.
        needed: the bytes that a piece takes, about.
        free: the bytes that are free now.
        demand: raises `LimitError` for a piece that does not fit into so many bytes although it is alone.
    """

    perform: Callable[[Piece], Result]
    needed: Callable[[Piece], int]
    free: Callable[[], int]
    demand: Callable[[Piece, int], object]


def check_jobs(wanted: int | None) -> None:
    """Accept how many processes are wanted; None leaves it to others.

    Raises:
        InputError: there are fewer than 1.
    """
    if wanted is not None and wanted < 1:
        raise InputError(f"{wanted} jobs cannot work", hint="give --jobs 1 or more")


def jobs_for(pieces: int, wanted: int | None, *, worth_it: bool) -> int:
    """How many processes to use: those wanted, else one a core where the work is worth starting them; 1 is this process.

    Raises:
        InputError: fewer than 1 are wanted.
    """
    check_jobs(wanted)
    if wanted is None:
        wanted = len(os.sched_getaffinity(0)) if worth_it else 1
    return max(1, min(wanted, pieces))


@contextmanager
def performed(
    pieces: Sequence[Piece], work: Work[Piece, Result], jobs: int
) -> Iterator[Iterator[tuple[Piece, Result]]]:
    """Each piece with its result, in the order in which they finish; they begin in the order given.

    The processes are gone when the context is left: at once where an error or an interruption leaves it.

    Raises:
        LimitError: a piece does not fit into the memory that is free, or a process was ended from outside; the results of
            those that were under way before have been given.
    """
    try:
        with _pool(jobs) as pool:
            yield _through(pool, deque(pieces), work, jobs)
    except BrokenProcessPool:
        raise LimitError(
            f"one of {jobs} processes was ended from outside",
            hint="memory may have run out: take fewer --jobs, or a smaller topology",
        ) from None


def _through(
    pool: ProcessPoolExecutor, waiting: deque[Piece], work: Work[Piece, Result], jobs: int
) -> Iterator[tuple[Piece, Result]]:
    running: dict[Future[Result], tuple[Piece, int]] = {}
    free = 0
    while waiting or running:
        if not running:  # what is free now is all there is for the jobs to come, until none of them runs any more
            free = work.free()
            work.demand(waiting[0], free)
        while waiting and len(running) < jobs and _fits(work.needed(waiting[0]), running, free):
            piece = waiting.popleft()
            with block_signals():
                running[pool.submit(work.perform, piece)] = piece, work.needed(piece)
        for done in wait(running, return_when=FIRST_COMPLETED).done:
            piece, _ = running.pop(done)
            yield piece, done.result()


def _fits(needed: int, running: dict[Future[Result], tuple[Piece, int]], free: int) -> bool:
    """Whether a piece may begin: beside others only where all fit together; whether it fits alone was asked before."""
    return not running or needed + sum(size for _, size in running.values()) <= free


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """A pool whose processes are gone when the context is left; at once where an error or an interruption leaves it."""
    before = set(multiprocessing.active_children())
    # Started afresh, not forked: a fork would share this process's connection to the database.
    pool = ProcessPoolExecutor(
        jobs, multiprocessing.get_context("spawn"), initializer=_end_with_parent
    )
    try:
        yield pool
    except BaseException:
        for process in set(multiprocessing.active_children()) - before:
            process.kill()
        raise
    finally:
        with block_signals():
            pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Let this process end when the one that started it is gone, whatever ended that one."""
    threading.Thread(target=_watch, daemon=True).start()


def _watch() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
