"""Report the progress of long operations, and handle Ctrl-C (SIGINT) and SIGTERM during them.

`Silent` discards all reports. `ProgressLines` writes lines for a log or a pipe, every few seconds
even if the operation reports no progress.

Operations receive their reporter as an argument. Computations that are called from many places, and
take long only for large topologies, use `computing`, which reports to the `current_reporter`.
"""

import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from contextvars import ContextVar
from time import monotonic
from types import FrameType
from typing import Protocol, TypeVar, runtime_checkable

Result = TypeVar("Result")

#: Seconds after which `ProgressLines` writes a line if no other line was written.
INTERVAL = 5.0
#: Seconds after which a task of `computing` is reported.
LATE = 1.0


class Task(Protocol):
    """A part of an operation that consists of a fixed number of units of work."""

    def advance(self, amount: int = 1) -> None:
        """Report that ``amount`` more units are done."""


@runtime_checkable
class Reporter(Protocol):
    """A receiver of messages and progress, such as the terminal or a log."""

    def say(self, text: str) -> None:
        """Report a one-line message, such as a description of the operation's next step."""

    def task(self, text: str, total: int, unit: str = "") -> AbstractContextManager[Task]:
        """Begin a task of ``total`` units of work; the task ends with the context."""


class _SilentTask:
    def advance(self, amount: int = 1) -> None:
        pass


class Silent:
    """A `Reporter` that discards everything."""

    def say(self, text: str) -> None:
        """Discard the message."""

    @contextmanager
    def task(self, text: str, total: int, unit: str = "") -> Iterator[Task]:  # noqa: ARG002 - as in Reporter
        """Begin a task that discards its progress."""
        yield _SilentTask()


_current: ContextVar[Reporter] = ContextVar("reporter", default=Silent())  # noqa: B039 - has no state


def current_reporter() -> Reporter:
    """Return the reporter of this thread's innermost `reporting` context.

    Outside such a context, the result is a reporter that discards everything.
    """
    return _current.get()


@contextmanager
def reporting(reporter: Reporter) -> Iterator[None]:
    """Make a reporter this thread's `current_reporter` within the context."""
    previous = _current.get()
    _current.set(reporter)
    try:
        yield
    finally:
        _current.set(previous)


class _LateTask:
    def __init__(self, begin: Callable[[], Task]) -> None:
        self._begin = begin
        self._task: Task | None = None
        self._done = 0
        self._start = monotonic()

    def advance(self, amount: int = 1) -> None:
        self._done += amount
        if self._task is not None:
            self._task.advance(amount)
        elif monotonic() - self._start > LATE:
            self._task = self._begin()
            self._task.advance(self._done)


@contextmanager
def computing(text: str, total: int, unit: str) -> Iterator[Task]:
    """Begin a task that the current reporter shows only if it takes longer than `LATE` seconds."""
    with ExitStack() as stack:
        yield _LateTask(lambda: stack.enter_context(current_reporter().task(text, total, unit)))


class ProgressLines:
    """A `Reporter` that writes lines: each message, and the progress of long work.

    Args:
        say: function that writes a line.
        interval: the number of seconds without a line after which the progress is written.
    """

    def __init__(self, say: Callable[[str], None], interval: float = INTERVAL) -> None:
        self._say = say
        self._interval = interval
        self._step = ""
        self._step_start = self._last_line = monotonic()
        self._tasks: list[_LineTask] = []
        self._is_closed = False
        _reporters.add(self)
        # The thread holds a weak reference, so that it ends when the reporter is no longer used.
        watch = threading.Thread(target=_watch, args=(weakref.ref(self), interval), daemon=True)
        watch.start()

    def say(self, line: str) -> None:
        """Write a message."""
        self._step = line
        self._step_start = self._last_line = monotonic()
        self._say(line)

    @contextmanager
    def task(self, line: str, total: int, unit: str = "") -> Iterator[Task]:
        """Begin a task; its progress is written when no line was written within the interval."""
        task = _LineTask(line, total, unit)
        self._tasks.append(task)
        self._last_line = monotonic()
        try:
            yield task
        finally:
            self._tasks.remove(task)
            self._step = f"{line}: done"
            self._step_start = monotonic()

    def write_state(self) -> None:
        """Write the progress of the work if no line was written within the interval."""
        now = monotonic()
        is_due = now - self._last_line >= self._interval
        if self._is_closed or not is_due or not (self._tasks or self._step):
            return
        self._last_line = now
        if self._tasks:
            self._say(self._tasks[-1].describe(now))
        else:
            self._say(f"still working, {now - self._step_start:.0f} s after: {self._step}")

    def close(self) -> None:
        """Stop writing progress."""
        self._is_closed = True


# The set holds weak references, so that a reporter that is never closed does not stay in memory.
_reporters: "weakref.WeakSet[ProgressLines]" = weakref.WeakSet()


def close_all() -> None:
    """Close all `ProgressLines` reporters at the end of a command.

    Otherwise, a reporter that is still referenced by an error's traceback would continue to write.
    """
    for reporter in list(_reporters):
        reporter.close()


class _LineTask:
    def __init__(self, line: str, total: int, unit: str) -> None:
        self._line = line
        self._total = total
        self._unit = unit
        self._done = 0
        self._start = monotonic()

    def advance(self, amount: int = 1) -> None:
        self._done += amount

    def describe(self, now: float) -> str:
        """Return a line with the amount done and an estimate of the remaining time."""
        rate = self._done / max(now - self._start, 1e-9)
        if self._unit == "%":
            amounts = f"{self._done} %"
        elif self._unit == "bytes":
            amounts = f"{self._done / 1e6:,.0f} of {self._total / 1e6:,.0f} MB"
        else:
            amounts = f"{self._done:,} of {self._total:,} {self._unit}, {rate:,.0f} per second"
        left = f", about {(self._total - self._done) / rate:,.0f} s left" if self._done else ""
        return f"{self._line}: {amounts}{left}"


def _watch(reference: "weakref.ref[ProgressLines]", interval: float) -> None:
    pause = threading.Event()
    while not pause.wait(interval / 5):
        lines = reference()
        if lines is None:
            return
        lines.write_state()
        del lines


def run_in_thread(compute: Callable[[], Result]) -> Result:
    """Call a function in a new thread, and return its result; Ctrl-C ends the wait for the result.

    The function should be a long library call that releases the global interpreter lock. In the
    main thread, Ctrl-C would have no effect until the library returns, because Python handles
    signals only between its own instructions.
    """
    future: Future[Result] = Future()

    def run() -> None:
        try:
            future.set_result(compute())
        except BaseException as error:  # noqa: BLE001 - raised below
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    # A signal that another thread receives does not end a wait, so each wait is short.
    while not future.done():
        wait([future], timeout=0.5)
    return future.result()


_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def caused_by_interrupt(error: BaseException | None) -> bool:
    """Return whether a KeyboardInterrupt is among the causes of an error.

    Database drivers sometimes raise their own errors if Ctrl-C interrupts their communication.
    """
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Make SIGTERM raise KeyboardInterrupt, so that it ends work as cleanly as Ctrl-C."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextmanager
def defer_signals(cancel: Callable[[], None]) -> Iterator[None]:
    """Defer Ctrl-C and SIGTERM to the end of the context, if this is the main thread.

    In other threads, this context has no effect.

    Args:
        cancel: called when a signal arrives, to end the operation that the context waits for.
    """
    # In Python, signal handlers are set and run only in the main thread.
    in_main_thread = threading.current_thread() is threading.main_thread()
    previous = {int(number): signal.getsignal(number) for number in _SIGNALS if in_main_thread}
    handlers = {number: handler for number, handler in previous.items() if callable(handler)}
    received: list[tuple[int, FrameType | None]] = []

    def receive(number: int, frame: FrameType | None) -> None:
        received.append((number, frame))
        cancel()

    try:
        for number in handlers:
            signal.signal(number, receive)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        # Only the first signal is handled, because a second Ctrl-C has the same purpose.
        for number, frame in received[:1]:
            handlers[number](number, frame)
