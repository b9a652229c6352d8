"""An executor of worker processes that survives killed workers.

The worker processes only compute and use no database. They end when the process that started them
ends, even if it is killed.

Every worker has its own pipe. In `concurrent.futures.ProcessPoolExecutor` and similar pools, the
workers share queues and locks. A killed worker of such a pool makes all other tasks fail, may hold
a lock for which other workers wait for ever, and leaves locks behind that Python's resource tracker
reports (docs/decisions/0020).
"""

import multiprocessing
import os
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any

from starcast.support import log
from starcast.support.errors import InputError, LimitError
from starcast.support.signals import block_signals, start_blocked

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
            hint="memory may have run out: use fewer --jobs, or a smaller topology",
        )


def check_jobs(jobs: int | None) -> None:
    """Check the number of processes that a user requests; None lets starcast choose.

    Raises:
        InputError: the number is less than 1.
    """
    if jobs is not None and jobs < 1:
        raise InputError(f"the number of jobs is {jobs}, less than 1", hint="give --jobs 1 or more")


def choose_jobs(items: int, jobs: int | None, *, worth_it: bool) -> int:
    """Return the number of processes to use, at most one per item; 1 means no further processes.

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
def local_processes(workers: int) -> Iterator["ProcessExecutor"]:
    """Open an executor with processes on this machine, which all end with the context."""
    executor = ProcessExecutor(workers)
    try:
        yield executor
    finally:
        # The caller needs no more results, so the workers can be killed.
        with block_signals():
            executor.kill()


@dataclass(eq=False)
class _Call:
    """A pickled call, its future, and the number of workers killed while they ran it."""

    pickled: bytes
    future: Future[Any] = field(default_factory=Future)
    kills: int = 0


class ProcessExecutor(Executor):
    """An executor whose tasks run again if their worker process is killed.

    Processes start when tasks need them, and end when `kill` is called. A task runs again up to
    `RERUNS` times; then its future raises a `WorkerKilledError`. All other tasks are unaffected.

    Args:
        workers: the maximum number of processes.
    """

    def __init__(self, workers: int) -> None:
        self.slots = workers
        self._lock = threading.Lock()
        self._waiting: deque[_Call] = deque()
        self._workers: list[_Worker] = []
        self._thread: threading.Thread | None = None
        self._is_killed = False
        self._wakeup, self._bell = multiprocessing.Pipe(duplex=False)

    def submit(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Submit a call to a worker process; see `concurrent.futures.Executor.submit`."""
        # The call is pickled here, so that `submit` raises an error if an argument cannot be
        # pickled.
        call = _Call(bytes(ForkingPickler.dumps((function, args, kwargs))))
        with self._lock:
            if self._is_killed:
                raise RuntimeError("the executor is shut down")
            self._waiting.append(call)
            if self._thread is None:
                self._thread = threading.Thread(target=self._manage, daemon=True)
                self._thread.start()
        self._ring()
        return call.future

    def kill(self) -> None:
        """Kill all processes at once, and cancel all calls that have no result yet."""
        with self._lock:
            self._is_killed = True
            cancelled = list(self._waiting)
            self._waiting.clear()
        for call in cancelled:
            # The future of a call that waits to run again is in the running state and cannot be
            # cancelled, so it gets an error instead.
            if not call.future.cancel():
                call.future.set_exception(CancelledError())
        self._ring()
        if self._thread is not None:
            self._thread.join()

    def _ring(self) -> None:
        # After the last task, the pipe may be closed already.
        with suppress(OSError, ValueError):
            self._bell.send_bytes(b"!")

    def _manage(self) -> None:
        """Assign calls to workers and collect results until the executor is killed.

        This runs in a thread of its own.
        """
        try:
            while not self._is_killed:
                self._start_calls()
                busy = [worker for worker in self._workers if worker.call is not None]
                ready = wait([self._wakeup, *(worker.connection for worker in busy)])
                if self._wakeup in ready:
                    self._wakeup.recv_bytes()
                for worker in busy:
                    if worker.connection in ready and not self._is_killed:
                        self._collect(worker)
        finally:
            for worker in self._workers:
                worker.kill()
                # The future must get a result or an error, or the caller would wait for ever.
                if worker.call is not None:
                    worker.call.future.set_exception(CancelledError())
            with self._lock:
                self._bell.close()
                self._wakeup.close()

    def _start_calls(self) -> None:
        while (worker := self._idle_worker()) is not None:
            with self._lock:
                call = self._waiting.popleft() if self._waiting else None
            if call is None:
                return
            # The future of a call that runs again is in the running state already.
            if call.kills or call.future.set_running_or_notify_cancel():
                try:
                    worker.start(call)
                except OSError as error:
                    reason = (error.strerror or str(error)).lower()
                    self._workers.remove(worker)
                    call.future.set_exception(
                        LimitError(
                            f"a worker process cannot be started: {reason}", hint="use fewer --jobs"
                        )
                    )

    def _idle_worker(self) -> "_Worker | None":
        """Return an idle or new worker; None if all workers are busy or no call is waiting."""
        if not self._waiting:
            return None
        idle = next((worker for worker in self._workers if worker.call is None), None)
        if idle is None and len(self._workers) < self.slots:
            idle = _Worker()
            self._workers.append(idle)
        return idle

    def _collect(self, worker: "_Worker") -> None:
        call = worker.call
        assert call is not None  # noqa: S101 - only busy workers are waited for
        try:
            result, error = worker.receive()
        except (EOFError, OSError):
            worker.kill()
            self._workers.remove(worker)
            call.kills += 1
            if call.kills <= RERUNS:
                with self._lock:
                    # The call is put first in the queue, because it was submitted before all
                    # waiting calls.
                    self._waiting.appendleft(call)
                return
            error = WorkerKilledError(call.kills)
        if error is None:
            call.future.set_result(result)
        else:
            call.future.set_exception(error)


class _Worker:
    """A process that performs one call at a time, and the pipe to it.

    Attributes:
        call: the call that the process performs, or None.
    """

    call: _Call | None = None
    connection: Connection
    _process: SpawnProcess | None = None

    def start(self, call: _Call) -> None:
        """Send a call to the process, which is started if it is not running yet.

        Raises:
            OSError: the process cannot be started.
        """
        if self._process is None:
            self._start_process()
        self.call = call
        # If the process has ended, the error is ignored here, because `receive` raises it.
        with suppress(BrokenPipeError):
            self.connection.send_bytes(call.pickled)

    def _start_process(self) -> None:
        self.connection, remote = multiprocessing.Pipe()
        # The process is spawned, because a forked process would share the parent's database
        # connection.
        arguments = (remote, log.current_target())
        process = SpawnProcess(target=_serve, args=arguments, daemon=True)
        try:
            start_blocked(process)
        except OSError:
            self.connection.close()
            raise
        finally:
            # Now only the worker holds its end of the pipe, so the pipe closes when it exits.
            remote.close()
        self._process = process

    def receive(self) -> tuple[Any, BaseException | None]:
        """Return the result of the call, and its error or None.

        Raises:
            EOFError, OSError: the process has ended.
        """
        result: tuple[Any, BaseException | None] = self.connection.recv()
        self.call = None
        return result

    def kill(self) -> None:
        """Kill the process, even while it performs a call."""
        if self._process is None:
            return
        self.connection.close()
        self._process.kill()
        self._process.join()


def _serve(connection: Connection, target: log.Target | None) -> None:
    """Perform arriving calls until the pipe is closed; log to the same file as the parent."""
    if target is not None:
        log.start(target)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):
        while True:
            connection.send(_attempt(connection))


def _attempt(connection: Connection) -> tuple[Any, BaseException | None]:
    received = connection.recv_bytes()
    try:
        # Unpickling is within the try block, because it imports modules, and an import can fail.
        function, args, kwargs = ForkingPickler.loads(received)
        return function(*args, **kwargs), None
    except Exception as error:  # noqa: BLE001 - the parent raises it
        return None, error


def _end_with_parent() -> None:
    """End this process when its parent process ends, for any reason."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        # `os._exit` is used because an exception might not interrupt the main thread's computation.
        os._exit(1)
