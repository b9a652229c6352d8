"""Measure the costs of tasks and of a verification by blocks on a Dask cluster on this machine.

CPU time depends little on other load of the machine. Elapsed time depends on this load, so it is
only a rough measure.
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from distributed import Client

from benchmarks.measure import Figure
from starcast.judges.blockwise import closed_form, combine, run_ranges
from starcast.support.dask_cluster import DaskExecutor, connect
from starcast.support.parallel import Workload, run_parallel
from starcast.support.progress import Silent

WORKERS = 8
TASKS = 10_000
#: Number of tasks that are submitted the way starcast does: at most one per worker at a time.
STEADY_TASKS = 2_000
#: The topology of the verification by blocks, whose forest has 400 million tree edges.
SPEC = "S11"
RANGES = 64


def figures() -> Iterator[Figure]:
    """Yield the costs of tasks, and of verifications with several workers and with one worker."""
    alone = _Blocks()
    with _cluster(1) as (address, _, workers), connect(address) as executor:
        alone.measure(executor, workers)
    together = _Blocks()
    with _cluster(WORKERS) as (address, scheduler, workers), connect(address) as executor:
        yield from _tasks(executor, scheduler, workers)
        together.measure(executor, workers)
    text = f"{SPEC} by blocks, {WORKERS} workers on {os.cpu_count()} cores"
    yield Figure(f"{text}: CPU", together.cpu, "s", f"< {1.2 * alone.cpu}", "1 worker", alone.cpu)
    yield Figure(
        f"{text}: elapsed", together.elapsed, "s", f"< {alone.elapsed}", "1 worker", alone.elapsed
    )


class _Blocks:
    """The elapsed time of a verification by blocks, and the CPU time of its workers, in seconds."""

    cpu = elapsed = 0.0

    def measure(self, executor: DaskExecutor, workers: list[psutil.Process]) -> None:
        """Verify twice; measure the second verification, because the first also loads numba."""
        _verify(executor)
        before, start = _cpu(workers), time.perf_counter()
        _verify(executor)
        self.elapsed = time.perf_counter() - start
        self.cpu = _cpu(workers) - before


def _tasks(
    executor: DaskExecutor, scheduler: psutil.Process, workers: list[psutil.Process]
) -> Iterator[Figure]:
    """Yield the costs of tasks that compute almost nothing, and the memory of the scheduler."""
    phases = (
        ("submitted at once", _submit_all, TASKS),
        ("as starcast runs them", _run_all, STEADY_TASKS),
    )
    for name, run, tasks in phases:
        measured = {"scheduler": [scheduler], "client": [psutil.Process()], "workers": workers}
        before = {each: _cpu(processes) for each, processes in measured.items()}
        start = time.perf_counter()
        run(executor)
        elapsed = time.perf_counter() - start
        text = f"{tasks:,} tasks on {WORKERS} workers, {name}"
        for each, processes in measured.items():
            used = (_cpu(processes) - before[each]) / tasks
            yield _overhead(f"{text}: CPU of the {each} per task", used)
        yield _overhead(f"{text}: elapsed per task", elapsed / tasks)
    memory = scheduler.memory_info().rss / 1e6
    yield Figure("memory of the scheduler", memory, "MB", "< 1000", "1 GB", 1000)


def _overhead(text: str, seconds: float) -> Figure:
    """Return a figure that compares the overhead per task with one second.

    One second is the minimum duration of the tasks that starcast plans.
    """
    return Figure(text, seconds * 1e6, "µs", "< 20000", "task of 1 s", 1e6)


def _submit_all(executor: DaskExecutor) -> None:
    futures = [executor.submit(pow, number, 2) for number in range(TASKS)]
    wait(futures)
    assert sum(future.result() for future in futures) == sum(n * n for n in range(TASKS))


def _run_all(executor: DaskExecutor) -> None:
    work = Workload(_square, lambda _: 1, lambda: 10**9, lambda *_: None)
    with run_parallel(range(STEADY_TASKS), work, executor) as results:
        assert sum(result for _, result in results) == sum(n * n for n in range(STEADY_TASKS))


def _square(number: int) -> int:
    return number * number


def _verify(executor: DaskExecutor) -> None:
    source = closed_form(SPEC, "multiple")
    step = -(-source.count // RANGES)
    ranges = [(first, min(first + step, source.count)) for first in range(0, source.count, step)]
    with run_ranges(source, ranges, None, Silent(), executor) as results:
        assert combine(source, results).congestion == 2


def _cpu(processes: list[psutil.Process]) -> float:
    times = [process.cpu_times() for process in processes]
    return sum(each.user + each.system for each in times)


@contextmanager
def _cluster(
    count: int,
) -> Iterator[tuple[str, psutil.Process, list[psutil.Process]]]:
    """Start a scheduler and workers, each with its own home and working folder."""
    processes: list[subprocess.Popen[bytes]] = []
    temporary = TemporaryDirectory()
    folder = Path(temporary.name)

    def start(name: str, *words: str) -> psutil.Process:
        home = folder / name
        home.mkdir()
        log = (home / "log").open("wb")
        environment = os.environ | {"HOME": str(home), "STARCAST_HOME": str(home)}
        # Scheduler and workers import the functions of this module.
        environment["PYTHONPATH"] = str(Path(__file__).parents[1])
        with log:
            command = [sys.executable, "-m", "dask", *words]
            process = subprocess.Popen(command, env=environment, cwd=home, stdout=log, stderr=log)
        processes.append(process)
        return psutil.Process(process.pid)

    try:
        file = folder / "scheduler.json"
        options = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard")
        scheduler = start("scheduler", "scheduler", *options, "--scheduler-file", str(file))
        while not file.is_file():
            time.sleep(0.1)
        single = ("--nthreads", "1", "--no-nanny", "--memory-limit", "0", "--no-dashboard")
        workers = [
            start(f"worker-{n}", "worker", "--scheduler-file", str(file), *single)
            for n in range(count)
        ]
        address = _wait_for_workers(file, count)
        yield address, scheduler, workers
    finally:
        for process in reversed(processes):
            process.kill()
            process.wait()
        temporary.cleanup()


def _wait_for_workers(file: Path, count: int) -> str:
    with Client(scheduler_file=str(file), set_as_default=False) as client:
        client.wait_for_workers(count, timeout=300)
        return str(client.scheduler.address)
