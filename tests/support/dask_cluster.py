"""A Dask cluster for tests, with scheduler and workers in separate processes."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from support.workers import wait_until, workers_of


class Cluster:
    """A scheduler on the loopback interface, and its workers.

    Attributes:
        address: the scheduler's address, such as ``tcp://127.0.0.1:43121``.
        workers: the value of the option ``--workers`` that names this cluster.
    """

    def __init__(self, folder: Path, workers: int) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
        self._start("scheduler", *options)
        wait_until(lambda: file.exists() and file.read_text(encoding="utf-8").endswith("}"))
        self.address = str(json.loads(file.read_text(encoding="utf-8"))["address"])
        self.workers = f"dask:{self.address}"
        # Each worker has one thread and a Dask nanny, which restarts the worker if it is killed.
        options = ("--nthreads", "1", "--memory-limit", "0", "--local-directory", str(folder))
        for _ in range(workers):
            self._start("worker", self.address, *options)

    def kill_worker(self) -> None:
        """Wait until a worker process is running, then kill the busiest one."""

        def kill() -> bool:
            # A worker may end between these calls.
            with suppress(psutil.Error):
                workers = [each for nanny in self._processes[1:] for each in workers_of(nanny.pid)]
                if workers:
                    max(workers, key=lambda worker: worker.cpu_times().user).kill()
                    return True
            return False

        wait_until(kill)

    def close(self) -> None:
        """End all processes."""
        for process in reversed(self._processes):
            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
            process.kill()
            process.wait()

    def _start(self, *words: str) -> None:
        # Workers must be able to import the package under test from any working directory.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        with (self._folder / f"{words[0]}-{len(self._processes)}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *words, "--no-dashboard"],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start a cluster that is stopped when the context ends."""
    started = Cluster(folder, workers)
    try:
        yield started
    finally:
        started.close()
