"""Simulation of Ctrl-C: a thread that sends SIGINT to the main thread after a delay."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c(seconds: float) -> Iterator[threading.Thread]:
    """Yield a thread that sends SIGINT to the main thread after the caller has started it.

    The context does not end before the signal has been sent.
    """

    def interrupt() -> None:
        time.sleep(seconds)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    try:
        yield thread
    finally:
        thread.join()
