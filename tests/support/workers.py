"""Commands in another process, and the worker processes that a process has started."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress

import psutil

#: Maximum number of seconds to wait.
PATIENCE = 180


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


def wait_until(holds: Callable[[], object]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def run_program(program: str, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run a Python program, given as text, in another process; return its exit code and output."""
    command = [sys.executable, "-c", program, *words]
    return subprocess.run(command, capture_output=True, text=True, check=check)


@contextmanager
def running_command(environment: Mapping[str, str], *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run a starcast command in its own session, as from a terminal, until the context ends."""
    with subprocess.Popen(
        [sys.executable, "-m", "starcast.cli.app", *words],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def end_by(action: Callable[[], object], process: subprocess.Popen[str]) -> tuple[int, str]:
    """Return exit code and stderr of a process after an action that ends it and its workers."""
    workers = psutil.Process(process.pid).children(recursive=True)
    assert workers
    action()
    _, errors = process.communicate(timeout=PATIENCE)
    assert psutil.wait_procs(workers, timeout=PATIENCE)[1] == []
    return process.returncode, errors
