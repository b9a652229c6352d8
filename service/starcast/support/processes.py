"""Parallel work in other processes, limited by the number of jobs and by free memory.

The worker processes only compute: they use no database. They end when the process that started them
ends, however it ends.

Every worker has a pipe of its own. `concurrent.futures` shares queues and their locks among its
workers instead: a worker that is killed while it holds such a lock blocks all others for ever, and
the locks of a killed run are left to Python's resource tracker, which reports them.
"""

import logging
import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from time import perf_counter
from typing import Any, Generic, TypeVar

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
        LimitError: an item does not fit into the free memory, or a process was killed or cannot be
            started; the results completed before have been yielded.
    """
    workers: list[Worker] = []
    try:
        yield _results(workers, deque(items), workload, jobs)
    finally:
        # All results that are needed have arrived, and a worker cannot ignore this signal.
        with block_signals():
            for worker in workers:
                worker.kill()


class Worker:
    """A process that performs one item at a time, with the pipe to it.

    Args:
        perform: computes the result of an item; a function that can be pickled.

    Attributes:
        item: the item that it performs.
        size: the memory that the item needs; 0 if the worker is idle.
    """

    item: Any = None
    size = 0

    def __init__(self, perform: Callable[[Any], Any]) -> None:
        self.connection, remote = multiprocessing.Pipe()
        # Spawned, not forked: a fork would share this process's database connection.
        arguments = (remote, perform, log.current_target())
        self._process = SpawnProcess(target=_serve, args=arguments, daemon=True)
        try:
            # The worker inherits the block: Ctrl-C in a terminal is for its parent to handle.
            with block_signals():
                self._process.start()
        except OSError:
            self.connection.close()
            raise
        finally:
            # The worker's copy is the only one left, so its end closes the pipe.
            remote.close()

    def send(self, item: Any, size: int) -> None:
        """Start an item; the end of the worker shows when its result is received."""
        self.item = item
        self.size = size
        with suppress(BrokenPipeError):
            self.connection.send(item)

    def receive(self) -> tuple[Any, BaseException | None]:
        """Return the result of the item, or its error.

        Raises:
            EOFError, OSError: the worker has ended.
        """
        result: tuple[Any, BaseException | None] = self.connection.recv()
        self.size = 0
        return result

    def wait(self, seconds: float) -> bool:
        """Wait for a result, or for the end of the process; return whether either came in time."""
        return self.connection.poll(seconds)

    def kill(self) -> None:
        """End the process, whatever it does."""
        self.connection.close()
        self._process.kill()
        self._process.join()


def _results(
    workers: list[Worker],
    waiting: deque[Item],
    workload: Workload[Item, Result],
    jobs: int,
) -> Iterator[tuple[Item, Result]]:
    free = 0
    busy: list[Worker] = []
    while waiting or busy:
        if not busy:  # the memory that is free now must suffice until no item is running again
            free = workload.free()
            workload.demand(waiting[0], free)
        while waiting and len(busy) < jobs:
            size = workload.needed(waiting[0])
            # Whether an item fits by itself was checked before.
            if busy and size + sum(worker.size for worker in busy) > free:
                break
            worker = _idle_worker(workers, busy, workload.perform)
            worker.send(waiting.popleft(), size)
            busy.append(worker)
        yield from _completed(busy, jobs)


def _idle_worker(
    workers: list[Worker], busy: list[Worker], perform: Callable[[Any], Any]
) -> Worker:
    """Return a worker that is not busy, a new process if there is none."""
    idle = [worker for worker in workers if worker not in busy]
    if idle:
        return idle[0]
    try:
        workers.append(Worker(perform))
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise LimitError(
            f"a worker process cannot be started: {reason}", hint="use fewer --jobs"
        ) from None
    return workers[-1]


def _completed(busy: list[Worker], jobs: int) -> Iterator[tuple[Any, Any]]:
    """Wait for results; yield them with their items, then raise the error of a killed worker."""
    ready = wait([worker.connection for worker in busy])
    results = []
    killed = False
    for worker in [worker for worker in busy if worker.connection in ready]:
        busy.remove(worker)
        try:
            results.append((worker.item, *worker.receive()))
        except (EOFError, OSError):
            killed = True
    for item, result, error in results:
        if error is not None:
            raise error
        yield item, result
    if killed:
        raise LimitError(
            f"one of {jobs} worker processes was killed",
            hint="memory may have run out: use fewer --jobs, or a smaller topology",
        )


def _serve(
    connection: Connection, perform: Callable[[Any], Any], target: log.Target | None
) -> None:
    """Perform the items that arrive until the pipe is closed; log to the parent's file."""
    if target is not None:
        log.start(target)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            connection.send(_attempt(perform, connection.recv()))


def _attempt(perform: Callable[[Any], Any], item: object) -> tuple[Any, BaseException | None]:
    start = perf_counter()
    try:
        return perform(item), None
    except Exception as error:  # noqa: BLE001 - the parent raises it
        return None, error
    finally:
        seconds = round(perf_counter() - start, 3)
        parent = os.getppid()
        log.event("worker item", logging.DEBUG, item=item, parent=parent, seconds=seconds)


def _end_with_parent() -> None:
    """End this process when its parent ends, for whatever reason."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
