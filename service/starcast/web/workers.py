"""Worker processes for what requests compute: with a time limit, after which a process is killed.

Constructions of plug-ins are code of users, which may never return; and the largest topologies take
seconds. A thread cannot be stopped, so computations run in processes of their own.
"""

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from queue import Empty, LifoQueue
from typing import Any, ParamSpec, TypeVar

from starcast import plugins
from starcast.errors import BusyError, LimitError, StarcastError, UnavailableError
from starcast.support.processes import ProcessExecutor, WorkerKilledError

#: Seconds that a new process has for its imports, on a machine under load.
START_SECONDS = 60.0

P = ParamSpec("P")
Result = TypeVar("Result")


@dataclass
class _Slot:
    """The place of a worker process, which may have been killed or not started yet."""

    executor: ProcessExecutor | None = None

    def clear(self) -> None:
        """Kill the worker; the next computation starts another."""
        executor, self.executor = self.executor, None
        if executor is not None:
            executor.kill()

    def run(self, seconds: float, function: Callable[..., Any], *arguments: Any) -> Any:
        """Return the result of a function; the worker does not survive its time limit."""
        executor = self.executor
        if executor is None:
            raise _stopping()
        try:
            future = executor.submit(_perform, plugins.loadable(), function, arguments)
        except RuntimeError:  # it was shut down
            raise _stopping() from None
        try:
            return future.result(seconds)
        except TimeoutError:
            if future.done():  # the function has raised it
                raise
            self.clear()
            raise LimitError(
                f"the computation took longer than {seconds:g} s",
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
        count: their number.
        seconds: the time limit of a computation, and of waiting for an idle worker.
    """

    count: int = 2
    seconds: float = 20.0
    _slots: list[_Slot] = field(default_factory=list)
    _idle: LifoQueue[_Slot] = field(default_factory=LifoQueue)
    _closed: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._slots = [_Slot() for _ in range(self.count)]
        for slot in self._slots:
            self._idle.put(slot)

    def run(self, function: Callable[P, Result], *arguments: P.args, **options: P.kwargs) -> Result:
        """Return what a module-level function returns, computed in a worker.

        Raises:
            StarcastError: the error that the function raised.
            BusyError: no worker became idle in time.
            LimitError: the time limit was reached, or memory ran out.
        """
        try:
            slot = self._idle.get(timeout=self.seconds)
        except Empty:
            raise BusyError(
                f"all {self.count} workers are busy", hint="try again in a few seconds"
            ) from None
        try:
            result: Result = self._perform(slot, partial(function, *arguments, **options))
            return result
        finally:
            self._idle.put(slot)

    def start(self) -> None:
        """Start all processes in the background, so that the first requests find them ready."""
        for _ in range(self.count):
            threading.Thread(target=self._warm_up, daemon=True).start()

    def _warm_up(self) -> None:
        with suppress(StarcastError):  # the first request reports it
            self.run(len, ())

    def close(self) -> None:
        """Kill all workers; computations that are running fail."""
        self._closed.set()
        for slot in self._slots:
            with suppress(OSError):
                slot.clear()

    def _perform(self, slot: _Slot, function: Callable[[], Any]) -> Any:
        if self._closed.is_set():
            raise _stopping()
        if slot.executor is None:
            slot.executor = ProcessExecutor(1)
            slot.run(START_SECONDS, len, ())
        return slot.run(self.seconds, function)


def _stopping() -> UnavailableError:
    return UnavailableError("the server is stopping", hint="start 'starcast serve' again")


def _perform(
    plugin_names: tuple[str, ...], function: Callable[..., Any], arguments: tuple[Any, ...]
) -> Any:
    _prepare(plugin_names)
    return function(*arguments)


@cache
def _prepare(plugin_names: tuple[str, ...]) -> None:
    """Import in a new worker what takes time; the limit of a computation does not include it."""
    import_module("starcast.web.computations")
    plugins.load(plugin_names)
