"""Parallel work on any `concurrent.futures.Executor`, and an executor of worker processes.

`run_parallel` starts one task per item, in the order of the items. The number of workers and the
free memory limit how many tasks run at a time. If the worker of a task is killed, the executor
(`ProcessExecutor` or Dask) runs the task again. If the executor gives up a task, the other tasks
continue, and an error at the end names the tasks that were given up.

The processes of `ProcessExecutor` only compute and use no database. The processes end with the
process that started them, even if that process is killed. Every process has its own pipe. In
`concurrent.futures.ProcessPoolExecutor` and similar pools, the workers share queues and locks. A
killed worker of such a pool makes all other tasks fail, may hold a lock for which other workers
wait forever, and leaves locks behind that Python's resource tracker reports (docs/decisions/0020).
"""

import logging
import multiprocessing
import os
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import resource_tracker, spawn
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from time import perf_counter
from typing import Any, Generic, TypeVar

from starcast.support import log
from starcast.support.errors import InputError, LimitError
from starcast.support.progress import defer_signals
from starcast.support.text import pluralize

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Maximum number of seconds for which a task on a remote worker waits for free memory.
MEMORY_PATIENCE = 60.0
#: Maximum duration of a single wait for results, in seconds. If a signal arrives just before a
#: wait, Python handles it only when the wait ends. So without this limit, Ctrl-C might have no
#: effect until a result arrives. The limit also ensures that new workers of a remote executor are
#: noticed soon.
_PAUSE = 1.0
#: The maximum number of tasks named in an error message.
_SHOWN = 5
_KILLED = ("worker that ran it was killed", "workers that ran it were killed")
#: Maximum number of times that a task runs again after its worker was killed.
RERUNS = 3


class WorkerKilledError(LimitError):
    """A task was given up, because each worker that ran it was killed.

    Args:
        kills: the number of killed workers.
    """

    def __init__(self, kills: int) -> None:
        self.kills = kills
        super().__init__(
            f"a task was given up after {kills} workers that ran it were killed",
            hint="memory may have run out: use fewer `jobs`, or a smaller topology",
        )


def check_jobs(jobs: int | None) -> None:
    """Check the number of processes that a user requests; None lets starcast choose.

    Raises:
        InputError: the number is less than 1.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"the number of jobs is {jobs}, less than 1", hint="use `jobs` 1 or more")


def choose_jobs(items: int, jobs: int | None, *, worth_it: bool) -> int:
    """Return the number of processes to use, at most one per item; 1 means this process only.

    Args:
        items: the number of items.
        jobs: the number of processes that the user requests; None lets starcast choose.
        worth_it: whether the work takes longer than starting processes. If it does not, and
            ``jobs`` is None, the result is 1.

    Raises:
        InputError: ``jobs`` is less than 1.
    """
    check_jobs(jobs)
    if jobs is None:
        jobs = len(os.sched_getaffinity(0)) if worth_it else 1
    return max(1, min(jobs, items))


@contextmanager
def block_signals() -> Iterator[None]:
    """Block Ctrl-C and SIGTERM in this thread within the context.

    A process started in this context inherits the block and never receives these signals, so that
    only its parent decides when it ends.
    """
    previous = signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, previous)


def start_blocked(process: BaseProcess) -> None:
    """Start a process that never receives Ctrl-C or SIGTERM; its parent decides when it ends.

    Raises:
        OSError: the process cannot be started.
        LimitError: this process is a daemon, which must not start processes.
    """
    if multiprocessing.current_process().daemon:
        raise LimitError(
            "a daemonic process, such as a worker of multiprocessing.Pool, cannot start processes",
            hint="start your own workers with concurrent.futures",
        )
    # With the first process, Python also starts its resource tracker, which unblocks the signals.
    # So the tracker is started here, before the signals are blocked.
    resource_tracker.ensure_running()
    _starting.is_own = True
    try:
        with block_signals():
            process.start()
    finally:
        _starting.is_own = False


def _preparation_data(name: str) -> dict[str, Any]:
    """Return the data with which `multiprocessing` prepares a new process.

    By default, `multiprocessing` executes the user's script again in every new process. This fails
    if the script was read from standard input, and if it lacks the test ``if __name__ ==
    "__main__"``. So processes that `start_blocked` starts do not execute the script. They do not
    need it: everything that they call is imported from modules.
    """
    data: dict[str, Any] = _prepare(name)
    if getattr(_starting, "is_own", False):
        data.pop("init_main_from_name", None)
        data.pop("init_main_from_path", None)
    return data


_prepare = spawn.get_preparation_data
#: Whether the current thread is starting a process of starcast (``is_own``), not of the user.
_starting = threading.local()
# `multiprocessing` has no parameter for this.
spawn.get_preparation_data = _preparation_data


@contextmanager
def local_processes(workers: int) -> Iterator["ProcessExecutor"]:
    """Open an executor whose processes run on this machine and end with the context."""
    executor = ProcessExecutor(workers)
    try:
        yield executor
    finally:
        # The caller needs no more results, so the workers can be killed.
        with defer_signals(lambda: None):
            executor.kill()


@dataclass(frozen=True)
class Workload(Generic[Item, Result]):
    """A function to apply to items, and functions that estimate and check the memory for an item.

    Attributes:
        perform: computes the result of an item; a module-level function, so that it can be pickled.
        needed: takes an item, and returns the approximate number of bytes that the item needs.
        free: returns the number of free bytes on the machine that calls this function.
        demand: takes an item and a number of bytes; raises `LimitError` if the item needs more.
        name: takes an item, and returns its name for messages.
    """

    perform: Callable[[Item], Result]
    needed: Callable[[Item], int]
    free: Callable[[], int]
    demand: Callable[[Item, int], object]
    name: Callable[[Item], str] = str


@contextmanager
def run_parallel(
    items: Sequence[Item],
    workload: Workload[Item, Result],
    executor: Executor | None = None,
    jobs: int = 1,
) -> Iterator[Iterator[tuple[Item, Result]]]:
    """Apply a function to items in parallel, within a context.

    The value of the context is an iterator of pairs (item, result), in the order of completion.
    When the context ends, tasks that have not begun are cancelled. Processes that this function has
    started are killed; the caller must end the tasks that run on an executor passed to it.

    Args:
        items: the arguments of the function, one per task.
        workload: the function, and the estimate of its memory. With an executor on this machine, an
            item starts when this machine has enough free memory. With an executor that has the
            attribute ``is_remote``, every worker checks its own memory.
        executor: runs the tasks; its attribute ``slots`` is the maximum number of tasks at a time.
            A remote executor may have a function ``memory_limit``, which is called on a worker and
            returns the number of bytes that the worker may still use.
        jobs: without an executor, the number of processes on this machine; with 1, this process
            performs the tasks without checking the memory.

    Raises:
        LimitError: an item does not fit into the free memory, a process cannot be started, or each
            worker that ran an item was killed. In the last case, all other items have been yielded
            before the error.
    """
    if executor is None and jobs == 1:
        yield ((item, workload.perform(item)) for item in items)
        return
    with ExitStack() as stack:
        run = _Run(workload, executor or stack.enter_context(local_processes(jobs)))
        stack.callback(run.cancel)
        yield run.results(deque(items))


class _Run(Generic[Item, Result]):
    """The state of one `run_parallel` call.

    Attributes:
        running: for each task that was submitted and has not finished, its item and the number of
            bytes that the item needs.
    """

    def __init__(self, workload: Workload[Item, Result], executor: Executor) -> None:
        self.running: dict[Future[Any], tuple[Item, int]] = {}
        self._workload = workload
        self._executor = executor
        self._is_remote = bool(getattr(executor, "is_remote", False))
        self._killed: list[tuple[Item, WorkerKilledError]] = []

    def cancel(self) -> None:
        """Cancel the tasks that have not begun."""
        for future in self.running:
            future.cancel()

    def results(self, waiting: deque[Item]) -> Iterator[tuple[Item, Result]]:
        """Run the tasks of all items; yield each item with its result as soon as it is ready."""
        yield from self._work(waiting)
        if self._is_remote and self._killed:
            # Dask also gives up tasks that were still waiting in the queue of a killed worker. So
            # every task that Dask gave up runs once more, one at a time. Only tasks that kill a
            # worker themselves are then given up again.
            suspects = deque(item for item, _ in self._killed)
            self._killed.clear()
            yield from self._work(suspects, slots=1)
        if self._killed:
            kills = max(error.kills for _, error in self._killed)
            raise _given_up([self._workload.name(item) for item, _ in self._killed], kills)

    def _work(
        self, waiting: deque[Item], slots: int | None = None
    ) -> Iterator[tuple[Item, Result]]:
        """Run the tasks of the waiting items, and yield each item with its result.

        At most ``slots`` tasks run at a time (default: the executor's limit).
        """
        free = 0
        while waiting or self.running:
            # Free memory is measured only while no item is running. Items that start later must
            # fit, together with all running items, into the measured amount.
            if not self.running and not self._is_remote:
                free = self._workload.free()
                self._workload.demand(waiting[0], free)
            # Slots are counted before each start, because workers may join and leave a cluster.
            while waiting and len(self.running) < (slots or count_slots(self._executor)):
                size = self._workload.needed(waiting[0])
                used = sum(size for _, size in self.running.values())
                # If no other item is running, the call of `demand` above has already checked this
                # item.
                if self.running and not self._is_remote and size + used > free:
                    break
                self._start(waiting.popleft(), size)
            yield from self._completed()

    def _start(self, item: Item, size: int) -> None:
        admit: Callable[[], AbstractContextManager[None]] = nullcontext
        if self._is_remote:
            limit = getattr(self._executor, "memory_limit", None)
            admit = partial(
                _reserved, item, size, self._workload.free, self._workload.demand, limit
            )
        future = self._executor.submit(_perform, self._workload.perform, item, admit)
        self.running[future] = (item, size)

    def _completed(self) -> Iterator[tuple[Item, Result]]:
        """Wait briefly, yield new results with their items, and then raise the first new error."""
        done, _ = wait(self.running, timeout=_PAUSE, return_when=FIRST_COMPLETED)
        failure: BaseException | None = None
        for future in [future for future in self.running if future in done]:
            item, _ = self.running.pop(future)
            error = future.exception()
            if isinstance(error, WorkerKilledError):
                self._killed.append((item, error))
            elif error is not None:
                failure = failure or error
            else:
                yield item, future.result()
        if failure is not None:
            raise failure


def count_slots(executor: Executor) -> int:
    """Return the maximum number of tasks that an executor runs at a time."""
    known = getattr(executor, "slots", None) or getattr(executor, "_max_workers", None)
    return int(known or len(os.sched_getaffinity(0)))


def _perform(
    perform: Callable[[Any], Any], item: Any, admit: Callable[[], AbstractContextManager[None]]
) -> Any:
    """Compute the result of an item in a worker, and log its duration."""
    start = perf_counter()
    try:
        with admit():
            return perform(item)
    finally:
        seconds = round(perf_counter() - start, 3)
        log.event("worker item", logging.DEBUG, item=item, parent=os.getppid(), seconds=seconds)


_memory = threading.Condition()
#: The bytes that the running tasks of this worker process have reserved.
_reservations: list[int] = []


@contextmanager
def _reserved(
    item: Item,
    needed: int,
    free: Callable[[], int],
    demand: Callable[[Item, int], object],
    limit: Callable[[], int] | None,
) -> Iterator[None]:
    """Wait until enough memory for a task is free; reserve this memory within the context.

    A task that needs more than the machine's entire memory does not wait.

    Args:
        item: the argument of the task's function.
        needed: the approximate number of bytes that the task needs.
        free: returns the number of free bytes on this machine.
        demand: takes an item and a number of bytes; raises `LimitError` if the item needs more.
        limit: returns the number of bytes that this worker may still use; None for all free
            memory.

    Raises:
        LimitError: the task needs more memory than the machine has, or not enough memory becomes
            free within `MEMORY_PATIENCE` seconds.
    """
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    # Waiting does not help a task that needs more than the machine's memory.
    patience = MEMORY_PATIENCE if needed <= physical else 0
    deadline = time.monotonic() + patience
    with _memory:
        while True:
            usable = free() if limit is None else min(free(), limit())
            left = usable - sum(_reservations)
            if left >= needed:
                break
            if time.monotonic() >= deadline:
                demand(item, left)
                break
            # Other processes do not announce that they free memory, so check it every second.
            _memory.wait(1.0)
        _reservations.append(needed)
    try:
        yield
    finally:
        with _memory:
            _reservations.remove(needed)
            _memory.notify_all()


def _given_up(names: Sequence[str], kills: int) -> LimitError:
    """Return the error for tasks that were given up, with the number of killed workers."""
    shown = "; ".join(names[:_SHOWN])
    more = f"; and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    after = f"after {pluralize(kills, *_KILLED)}"
    message = f"{len(names)} tasks were given up, each {after}: {shown}{more}"
    return LimitError(
        f"{shown} was given up {after}" if len(names) == 1 else message,
        hint="memory may have run out: use fewer `jobs`, or a smaller topology; all other tasks are"
        " finished",
    )


class ProcessExecutor(ThreadPoolExecutor):
    """An executor whose tasks run again if their worker process is killed.

    Every thread of the executor has a worker process, which starts with the first task of the
    thread and ends when `kill` is called. A task runs again up to `RERUNS` times; then its future
    raises a `WorkerKilledError`. All other tasks are unaffected.

    Args:
        workers: the maximum number of processes.
    """

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.slots = workers
        self._thread = threading.local()
        self._workers: list[tuple[SpawnProcess, Connection]] = []
        self._lock = threading.Lock()
        self._is_killed = False

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a function call to a worker process; see `concurrent.futures.Executor.submit`."""
        # The call is pickled here, so that `submit` raises an error if an argument cannot be
        # pickled.
        pickled = bytes(ForkingPickler.dumps((function, args, kwargs)))
        try:
            return super().submit(self._call, pickled)
        except RuntimeError as error:
            if self._is_killed:
                raise
            raise _start_error(str(error)) from None

    def kill(self) -> None:
        """Kill all processes at once, and cancel all calls that have no result yet."""
        # All workers are killed before the first wait, which a second Ctrl-C might interrupt.
        with self._lock:
            self._is_killed = True
            for process, connection in self._workers:
                process.kill()
                # If a child process of the worker keeps the other end open, `recv` might never see
                # the end of file, so the socket is shut down.
                with suppress(OSError), socket.socket(fileno=os.dup(connection.fileno())) as end:
                    end.shutdown(socket.SHUT_RDWR)
        self.shutdown(cancel_futures=True)
        for process, _ in self._workers:
            process.join()

    def _call(self, pickled: bytes) -> Any:
        """Perform a call in the worker process of the current thread, and return its result."""
        for _ in range(1 + RERUNS):
            process, connection = self._worker()
            try:
                connection.send_bytes(pickled)
                result, error = connection.recv()
            except (EOFError, OSError):
                process.kill()
                process.join()
                with self._lock:
                    connection.close()
                    self._workers.remove(self._thread.worker)
                del self._thread.worker
                continue
            if error is None:
                return result
            try:
                raise error
            finally:
                del error, pickled  # avoid a reference cycle through the error's traceback
        raise WorkerKilledError(1 + RERUNS)

    def _worker(self) -> tuple[SpawnProcess, Connection]:
        """Return the worker process of the current thread, and its pipe; start it if necessary.

        Raises:
            CancelledError: the executor was killed.
            LimitError: the process cannot be started.
        """
        if not hasattr(self._thread, "worker"):
            with self._lock:
                if self._is_killed:
                    raise CancelledError
                self._thread.worker = _start_process()
                self._workers.append(self._thread.worker)
        worker: tuple[SpawnProcess, Connection] = self._thread.worker
        return worker


def _start_process() -> tuple[SpawnProcess, Connection]:
    try:
        connection, remote = multiprocessing.Pipe()
        # A forked process would share the parent's database connection, so the process is spawned.
        process = SpawnProcess(target=_serve, args=(remote, log.current_target()), daemon=True)
        # This process closes its copy of the worker's end, so that the pipe closes when the worker
        # exits.
        with remote:
            start_blocked(process)
    except OSError as error:
        raise _start_error(error.strerror or str(error)) from None
    return process, connection


def _start_error(reason: str) -> LimitError:
    return LimitError(
        f"a worker process cannot be started: {reason.lower()}", hint="use fewer `jobs`"
    )


def _serve(connection: Connection, target: log.Target | None) -> None:
    """Perform the calls that are received over a pipe, until the pipe is closed.

    The process writes its log to the same file as its parent.
    """
    if target is not None:
        log.start(target)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            connection.send(_attempt(connection))


def _attempt(connection: Connection) -> tuple[Any, BaseException | None]:
    """Receive and perform a call; return ``(result, None)``, or ``(None, error)`` if it fails."""
    received = connection.recv_bytes()
    try:
        # Unpickling is within the try block, because it imports modules, and an import can fail.
        function, args, kwargs = ForkingPickler.loads(received)
        return function(*args, **kwargs), None
    except Exception as error:  # noqa: BLE001 - the parent raises it
        return None, error


def _end_with_parent() -> None:
    """Wait until the parent process ends for any reason; then end this process."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        # `os._exit` is used because an exception might not interrupt the main thread's computation.
        os._exit(1)
