"""Worker processes that a process has started."""

from contextlib import suppress

import psutil


def workers_of(pid: int) -> list[psutil.Process]:
    """Return the workers that a process has started and that have not ended."""
    workers = []
    with suppress(psutil.NoSuchProcess):
        for child in psutil.Process(pid).children():
            # A worker may have ended in the meantime, or be a zombie until its parent notices.
            with suppress(psutil.NoSuchProcess):
                if "spawn_main" in " ".join(child.cmdline()):
                    workers.append(child)
    return workers
