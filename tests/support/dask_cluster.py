"""A Dask cluster for tests, with scheduler and workers in separate processes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil

from support.workers import workers_of

PATIENCE = 60


class Cluster:
    """A scheduler on the loopback interface, and its workers.

    Attributes:
        address: the scheduler's address, such as ``tcp://127.0.0.1:43121``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: list[subprocess.Popen[bytes]] = []
        file = folder / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        self._start("scheduler", *options, "--scheduler-file", str(file))
        self.address: str = self._read_address(file)

    @property
    def workers(self) -> str:
        """The value of the option ``--workers`` that names this cluster."""
        return f"dask:{self.address}"

    def add_workers(self, count: int, memory_limit: str = "0") -> list[subprocess.Popen[bytes]]:
        """Start workers with one thread each; a Dask nanny restarts each killed worker."""
        options = ("--nthreads", "1", "--memory-limit", memory_limit, "--no-dashboard")
        folder = ("--local-directory", str(self._folder))
        return [self._start("worker", self.address, *options, *folder) for _ in range(count)]

    def worker_processes(self) -> list[psutil.Process]:
        """Return the worker processes, which are the children of the nannies."""
        return [worker for nanny in self._processes[1:] for worker in workers_of(nanny.pid)]

    def kill_worker(self) -> None:
        """Wait until a worker process has used CPU time, then kill the busiest one."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(psutil.Error):
                workers = sorted(self.worker_processes(), key=lambda one: -one.cpu_times().user)
                if workers:
                    workers[0].kill()
                    return
            time.sleep(0.02)
        raise AssertionError("no worker is running")

    def close(self) -> None:
        """End all processes."""
        for process in reversed(self._processes):
            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(process.pid).children(recursive=True):
                    child.kill()
            process.kill()
            process.wait()

    def _start(self, *words: str) -> subprocess.Popen[bytes]:
        # Workers must be able to import the package under test from any working directory.
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        log = (self._folder / f"{words[0]}-{len(self._processes)}.log").open("wb")
        with log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *words],
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def _read_address(self, file: Path) -> str:
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with suppress(OSError, ValueError):
                return str(json.loads(file.read_text(encoding="utf-8"))["address"])
            time.sleep(0.05)
        raise AssertionError("the scheduler does not start")


@contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start a cluster that is stopped when the context ends."""
    started = Cluster(folder)
    try:
        started.add_workers(workers)
        yield started
    finally:
        started.close()
