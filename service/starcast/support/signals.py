"""Handling of Ctrl-C (SIGINT) and SIGTERM."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

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
    """Defer Ctrl-C and SIGTERM to the end of the context.

    Args:
        cancel: called when a signal arrives, to end the operation that the context waits for.

    In threads other than the main thread, this has no effect.
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
