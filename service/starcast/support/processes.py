"""Parallel work in other processes, limited by the number of jobs and by free memory.

The worker processes only compute: they use no database. They end when the process that started them
ends, however it ends.
"""

import logging
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Generic, TypeVar

from starcast.errors import InputError, LimitError
from starcast.support import log
from starcast.support.signals import block_signals

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True)
class Workload(Generic[Item, Result]):
    """The function to apply to items, and its memory.

    Attributes:
        perform: computes the result of an item; a module-level function, so that it can be pickled.
        needed: returns the approximate number of bytes that an item needs.
        free: returns the number of free bytes.
        demand: raises `LimitError` for an item that does not fit into that many bytes by itself.
    """

    perform: Callable[[Item], Result]
    needed: Callable[[Item], int]
    free: Callable[[], int]
    demand: Callable[[Item, int], object]


def check_jobs(jobs: int | None) -> None:
    """Check a number of processes; None means that starcast chooses it.

    Raises:
        InputError: it is less than 1.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"the number of jobs is {jobs}, less than 1", hint="give --jobs 1 or more")


def choose_jobs(items: int, jobs: int | None, *, worth_it: bool) -> int:
    """Return the number of processes to use, at most one per item; 1 means this process.

    Args:
        items: the number of items.
        jobs: the number that the user wants; None for one per core.
        worth_it: whether the work takes longer than starting processes, if ``jobs`` is None.

    Raises:
        InputError: ``jobs`` is less than 1.
    """
    check_jobs(jobs)
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if worth_it else 1
    return max(1, min(jobs, items))


@contextmanager
def run_parallel(
    items: Sequence[Item], workload: Workload[Item, Result], jobs: int
) -> Iterator[Iterator[tuple[Item, Result]]]:
    """Start items in the given order; yield each with its result in the order of completion.

    When the context ends, the processes have ended: at once after an error or an interruption.

    Raises:
        LimitError: an item does not fit into the free memory, or a process was killed; the results
            completed before have been yielded.
    """
    try:
        with _pool(jobs) as pool:
            yield _results(pool, deque(items), workload, jobs)
    except BrokenProcessPool:
        raise LimitError(
            f"one of {jobs} worker processes was killed",
            hint="memory may have run out: use fewer --jobs, or a smaller topology",
        ) from None


def _results(
    pool: ProcessPoolExecutor, waiting: deque[Item], workload: Workload[Item, Result], jobs: int
) -> Iterator[tuple[Item, Result]]:
    running: dict[Future[Result], tuple[Item, int]] = {}
    free = 0
    while waiting or running:
        if not running:  # the memory that is free now must suffice until no item is running again
            free = workload.free()
            workload.demand(waiting[0], free)
        while waiting and len(running) < jobs and _fits(workload.needed(waiting[0]), running, free):
            item = waiting.popleft()
            with block_signals():
                future = pool.submit(_perform, workload.perform, item)
                running[future] = item, workload.needed(item)
        for done in wait(running, return_when=FIRST_COMPLETED).done:
            item, _ = running.pop(done)
            yield item, done.result()


def _perform(perform: Callable[[Item], Result], item: Item) -> Result:
    start = perf_counter()
    try:
        return perform(item)
    finally:
        seconds = round(perf_counter() - start, 3)
        parent = os.getppid()
        log.event("worker item", logging.DEBUG, item=item, parent=parent, seconds=seconds)


def _fits(needed: int, running: dict[Future[Result], tuple[Item, int]], free: int) -> bool:
    """Return whether an item may start; whether it fits by itself was checked before."""
    return not running or needed + sum(size for _, size in running.values()) <= free


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Yield a pool; end its processes with the context, at once after an error or interruption."""
    before = set(multiprocessing.active_children())
    # Spawned, not forked: a fork would share this process's database connection.
    pool = ProcessPoolExecutor(
        jobs,
        multiprocessing.get_context("spawn"),
        initializer=_start_worker,
        initargs=(log.current_target(),),
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


def _start_worker(target: log.Target | None) -> None:
    """Log to the parent's file, and end when the parent ends, for whatever reason."""
    if target is not None:
        log.start(target)
    threading.Thread(target=_watch_parent, daemon=True).start()


def _watch_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
