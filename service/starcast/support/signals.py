"""Ctrl-C, and SIGTERM where it is to end work as Ctrl-C does."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def interrupted(error: BaseException | None) -> bool:
    """Whether an error came up because Ctrl-C struck in the middle of something: drivers make errors of it at times."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


@contextmanager
def sigterm_as_interrupt() -> Iterator[None]:
    """Let SIGTERM end the work as Ctrl-C does: processes are ended, what is stored is whole, the exit code is 130."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def block_signals() -> Iterator[None]:
    """Hold Ctrl-C and SIGTERM back. A process started in here never sees them: whoever started it decides when it ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def defer_signals(act: Callable[[], None]) -> Iterator[None]:
    """Keep Ctrl-C from striking in here: instead this acts, to end what is waited for, and it strikes at the end.

    Only Python's first thread hears of signals; in others this does nothing.
    """
    here = threading.current_thread() is threading.main_thread()
    handlers = {int(number): signal.getsignal(number) for number in _SIGNALS if here}
    ours = {number: handler for number, handler in handlers.items() if callable(handler)}
    struck: list[tuple[int, FrameType | None]] = []

    def strike(number: int, frame: FrameType | None) -> None:
        struck.append((number, frame))
        act()

    try:
        for number in ours:
            signal.signal(number, strike)
        yield
    finally:
        for number, handler in ours.items():
            signal.signal(number, handler)
        for number, frame in struck[:1]:
            ours[number](number, frame)
