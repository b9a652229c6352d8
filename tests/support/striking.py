"""Ctrl-C, as it comes: to Python's first thread, at a moment that nobody chose."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ctrl_c(seconds: float) -> Iterator[threading.Thread]:
    """It strikes so long after this thread is started, and has struck when the context is left."""

    def strike() -> None:
        time.sleep(seconds)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    striking = threading.Thread(target=strike)
    try:
        yield striking
    finally:
        striking.join()
