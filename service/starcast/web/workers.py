"""Run computations in worker processes; a worker that exceeds the time limit is killed.

A computation takes seconds on the largest topologies, and might never end if it calls a plug-in.
Threads cannot be stopped, so computations run in separate processes. The memory of these processes
is limited too.
"""

import resource
import threading
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from concurrent.futures import CancelledError, Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from queue import Empty, LifoQueue
from types import ModuleType
from typing import Any, Generic, ParamSpec, TypeVar

from starcast.catalogue import plugins
from starcast.support.errors import BusyError, LimitError, StarcastError, UnavailableError
from starcast.support.parallel import ProcessExecutor, WorkerKilledError
from starcast.support.text import format_value

#: Time limit in seconds for the start of a new process, which imports slow modules.
START_SECONDS = 60.0
#: Maximum number of computations that run or wait.
MAX_COMPUTATIONS = 16
#: Memory in bytes that a worker may use for computations, not counting its imported modules.
MAX_BYTES = 400_000_000
_KIBIBYTE = 1024

P = ParamSpec("P")
Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass
class Slot(Generic[Item]):
    """A place for one item of a pool, such as a process; the item is None until it is created."""

    item: Item | None = None


class Pool(Generic[Item]):
    """A fixed number of slots for items, each of which can be lent to one request at a time.

    A request gets the slot that was returned last, so that no more items are created than there
    were concurrent requests.

    Args:
        count: number of slots.
        places: maximum number of requests that use slots or wait for slots. Further requests fail
            at once, so that server threads remain for other pages.
        busy: the message of the BusyError if a request gets no slot.
    """

    def __init__(self, count: int, places: int, busy: str) -> None:
        self.slots = [Slot[Item]() for _ in range(count)]
        self._busy = busy
        self._idle: LifoQueue[Slot[Item]] = LifoQueue()
        for slot in self.slots:
            self._idle.put(slot)
        self._places = threading.BoundedSemaphore(places)

    @contextmanager
    def borrow(self, seconds: float) -> Iterator[Slot[Item]]:
        """Lend an idle slot until the context ends; wait at most ``seconds`` for an idle slot.

        Raises:
            BusyError: no slot became idle in time, or too many requests are waiting.
        """
        busy = BusyError(self._busy, hint="try again in a few seconds")
        if not self._places.acquire(blocking=False):
            raise busy
        try:
            try:
                slot = self._idle.get(timeout=seconds)
            except Empty:
                raise busy from None
            try:
                yield slot
            finally:
                self.give_back(slot)
        finally:
            self._places.release()

    @property
    def used(self) -> int:
        """The number of slots that are lent to requests."""
        return len(self.slots) - self._idle.qsize()

    def give_back(self, slot: Slot[Item]) -> None:
        """Make a slot available to other requests again."""
        self._idle.put(slot)


class _Worker:
    """A process that performs one call at a time. Creating the object starts the process."""

    def __init__(self) -> None:
        self._executor = ProcessExecutor(1)
        self._started = self._submit(len, ())
        self.is_killed = False

    def wait(self) -> None:
        """Wait until the process has started and has imported the modules for computations."""
        late = UnavailableError(
            f"a worker process did not start within {START_SECONDS:g} s",
            hint="try again when the machine is less busy",
        )
        try:
            self._result(self._started, START_SECONDS, late)
        except Exception:
            self.kill()  # a killed worker is replaced; otherwise all later requests would fail too
            raise

    def run(self, function: Callable[[], Any], seconds: float) -> Any:
        """Call a function in the worker process, and kill the process at the time limit."""
        late = LimitError(
            f"the computation took longer than {format_value(seconds)} s",
            hint="request a smaller topology or fewer units, or use the command line",
        )
        return self._result(self._submit(function), seconds, late)

    def kill(self) -> None:
        """Kill the process, which makes a running call fail."""
        self.is_killed = True
        self._executor.kill()

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        try:
            return self._executor.submit(_perform, plugins.loadable(), function, arguments)
        except RuntimeError:  # the executor was shut down
            raise _stopping() from None

    def _result(self, future: Future[Any], seconds: float, late: StarcastError) -> Any:
        # `future.result(seconds)` is not used: a TimeoutError could come from the time limit or
        # from the function.
        if not futures.wait([future], seconds).done:
            self.kill()
            raise late
        try:
            return future.result()
        except CancelledError:
            raise _stopping() from None
        except WorkerKilledError:
            raise LimitError(
                "a worker process was killed during the computation; memory may have run out",
                hint="request a smaller topology",
            ) from None


class Workers(Pool[_Worker]):
    """A fixed number of worker processes.

    Args:
        count: number of workers.
        seconds: the time limit of a request, in seconds. At most half of this time is spent
            waiting for an idle worker.
    """

    def __init__(self, count: int = 2, seconds: float = 7.0) -> None:
        super().__init__(count, MAX_COMPUTATIONS, f"all {count} workers are busy")
        self.seconds = seconds
        self._was_ready = threading.Event()
        self._is_closed = False

    def run(self, function: Callable[P, Result], *arguments: P.args, **options: P.kwargs) -> Result:
        """Call a module-level function in a worker, and return its result.

        Raises:
            StarcastError: the error that the function raised.
            BusyError: no worker became idle in time, or too many requests are waiting.
            LimitError: the time limit was reached, or the worker was killed, perhaps because memory
                ran out.
            UnavailableError: the server is stopping, or a worker process did not start in time.
        """
        # The time until the first worker has started does not count towards the time limit.
        is_starting = not self._was_ready.is_set()
        began = time.monotonic()
        with self.borrow(START_SECONDS if is_starting else self.seconds / 2) as slot:
            # The waiting time is subtracted, so that every request ends within the limit.
            waited = 0.0 if is_starting else time.monotonic() - began
            worker = self._fill(slot)
            worker.wait()
            self._was_ready.set()
            call = partial(function, *arguments, **options)
            result: Result = worker.run(call, self.seconds - waited)
            return result

    def give_back(self, slot: Slot[_Worker]) -> None:
        """Make a worker available to other requests again, or replace it if it was killed."""
        if slot.item is not None and slot.item.is_killed and not self._is_closed:
            # The slot becomes available only when the new process has started. Until then, requests
            # get other workers, or an error.
            threading.Thread(target=self._replace, args=(slot,), daemon=True).start()
        else:
            super().give_back(slot)

    def _replace(self, slot: Slot[_Worker]) -> None:
        slot.item = None
        try:
            with suppress(StarcastError):  # the next request reports the error
                self._fill(slot).wait()
        finally:
            super().give_back(slot)

    def _fill(self, slot: Slot[_Worker]) -> _Worker:
        worker = slot.item = slot.item or _Worker()
        if self._is_closed:
            worker.kill()
            raise _stopping()
        return worker

    def start(self) -> None:
        """Start all processes in the background, so that the first requests wait less."""
        for slot in self.slots:
            self._fill(slot)

    def close(self) -> None:
        """Kill all workers, which makes running computations fail."""
        self._is_closed = True
        for slot in self.slots:
            if slot.item is not None:
                slot.item.kill()


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
    """Limit the memory of this process to its current use plus `MAX_BYTES`."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    used = next(line for line in status.splitlines() if line.startswith("VmData:"))
    most = int(used.split()[1]) * _KIBIBYTE + MAX_BYTES
    # RLIMIT_AS would also count address space that is reserved but never used.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard == resource.RLIM_INFINITY or hard > most:
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
