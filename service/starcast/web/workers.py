"""Worker processes for computations; a worker that exceeds the time limit is killed.

Plug-ins contain users' code, which may never return, and the largest topologies take seconds. A
thread cannot be stopped, so computations run in separate processes. Their memory is limited too.
"""

import resource
import threading
import time
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from queue import Empty, LifoQueue
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

from starcast.catalogue import plugins
from starcast.support.errors import BusyError, LimitError, StarcastError, UnavailableError
from starcast.support.processes import ProcessExecutor, WorkerKilledError

#: Time limit in seconds for the imports of a new process, even on a busy machine.
START_SECONDS = 60.0
#: Number of computations that may run or wait. Further computations fail at once, so that server
#: threads remain for pages that need no computation.
MAX_COMPUTATIONS = 16
#: Bytes that a worker may use for computations, in addition to the memory of its imports.
MAX_BYTES = 400_000_000
_KIBIBYTE = 1024

P = ParamSpec("P")
Result = TypeVar("Result")


@dataclass
class _Slot:
    """A place for one worker process, empty until it starts and after it was killed."""

    executor: ProcessExecutor | None = None

    def clear(self) -> None:
        """Kill the worker, if it has been started."""
        executor, self.executor = self.executor, None
        if executor is not None:
            executor.kill()

    def run(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function in the worker, and kill the worker if the time limit is reached."""
        executor = self.executor
        if executor is None:
            raise _stopping()
        try:
            future = executor.submit(_perform, plugins.loadable(), function, arguments)
        except RuntimeError:  # the executor was shut down
            raise _stopping() from None
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done():  # the function itself raised this error
                raise
            self.clear()
            raise LimitError(
                f"the computation took longer than {seconds:.3g} s",
                hint="ask for a smaller topology or fewer units, or use the command line",
            ) from None
        except CancelledError:
            raise _stopping() from None
        except WorkerKilledError:
            raise LimitError(
                "a worker process ended while it was computing",
                hint="memory may have run out: ask for a smaller topology",
            ) from None


@dataclass
class Workers:
    """A fixed number of worker processes.

    Args:
        count: number of workers.
        seconds: the time limit of a request, including the wait for an idle worker, which may
            take at most half of that time.
    """

    count: int = 2
    seconds: float = 7.0
    _slots: list[_Slot] = field(default_factory=list)
    _idle: LifoQueue[_Slot] = field(default_factory=LifoQueue)
    _closed: threading.Event = field(default_factory=threading.Event)
    _places: threading.Semaphore = field(
        default_factory=lambda: threading.BoundedSemaphore(MAX_COMPUTATIONS)
    )
    _was_ready: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._slots = [_Slot() for _ in range(self.count)]
        for slot in self._slots:
            self._idle.put(slot)

    def run(self, function: Callable[P, Result], *arguments: P.args, **options: P.kwargs) -> Result:
        """Call a module-level function in a worker, and return its result.

        Raises:
            StarcastError: the error that the function raised.
            BusyError: no worker became idle in time.
            LimitError: the time limit was reached, or memory ran out.
        """
        if not self._places.acquire(blocking=False):
            raise self._busy()
        try:
            result: Result = self._run(partial(function, *arguments, **options))
            return result
        finally:
            self._places.release()

    def _run(self, function: Callable[[], Any]) -> Any:
        # Waiting for the first worker to start does not count towards the time limit.
        is_starting = not self._was_ready.is_set()
        patience = START_SECONDS if is_starting else self.seconds / 2
        began = time.monotonic()
        try:
            slot = self._idle.get(timeout=patience)
        except Empty:
            raise self._busy() from None
        # The waiting time is subtracted, so that every request ends within the limit.
        waited = 0.0 if is_starting else time.monotonic() - began
        try:
            return self._perform(slot, function, self.seconds - waited)
        finally:
            self._put_back(slot)

    def _busy(self) -> BusyError:
        return BusyError(f"all {self.count} workers are busy", hint="try again in a few seconds")

    def _put_back(self, slot: _Slot) -> None:
        """Make a worker available again, after replacing it if it was killed."""
        if slot.executor is not None or self._closed.is_set():
            self._idle.put(slot)
            return
        # Another worker is started in a thread, so that the current request need not wait for it.
        threading.Thread(target=self._restart, args=(slot,), daemon=True).start()

    def _restart(self, slot: _Slot) -> None:
        try:
            with suppress(StarcastError):  # the next request reports the error
                self._start(slot)
        finally:
            self._idle.put(slot)

    def start(self) -> None:
        """Start all processes in the background, so that the first requests need not wait."""
        for _ in range(self.count):
            threading.Thread(target=self._warm_up, daemon=True).start()

    def _warm_up(self) -> None:
        with suppress(StarcastError):  # the first request reports the error
            self.run(len, ())

    def close(self) -> None:
        """Kill all workers, so that all running computations fail."""
        self._closed.set()
        for slot in self._slots:
            with suppress(OSError):
                slot.clear()

    def _perform(self, slot: _Slot, function: Callable[[], Any], seconds: float) -> Any:
        if self._closed.is_set():
            raise _stopping()
        if slot.executor is None:
            self._start(slot)
        self._was_ready.set()
        return slot.run(seconds, function)

    def _start(self, slot: _Slot) -> None:
        slot.executor = ProcessExecutor(1)
        if self._closed.is_set():  # `close` ran in the meantime
            slot.clear()
        # This call returns after the imports, which therefore do not count towards the time limit
        # of a request.
        slot.run(START_SECONDS, len, ())


def _stopping() -> UnavailableError:
    return UnavailableError("the server is stopping", hint="start 'starcast serve' again")


def _perform(
    plugin_names: tuple[str, ...], function: Callable[..., Any], arguments: tuple[Any, ...]
) -> Any:
    computations = _prepare(plugin_names)
    try:
        return function(*arguments)
    except MemoryError:
        computations.forget()
    # Clearing the cache has freed memory, so the function may succeed now.
    return function(*arguments)


@cache
def _prepare(plugin_names: tuple[str, ...]) -> ModuleType:
    """Import slow modules and plug-ins in a new worker, then limit its memory."""
    computations = import_module("starcast.web.computations")
    plugins.load(plugin_names)
    _limit_memory()
    return computations


def _limit_memory() -> None:
    """Limit the memory of this process to its present use plus `MAX_BYTES`."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    used = next(line for line in status.splitlines() if line.startswith("VmData:"))
    most = int(used.split()[1]) * _KIBIBYTE + MAX_BYTES
    # RLIMIT_AS would also count address space that is reserved but never used.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or hard > most:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
