"""Parallel worker processes: killed workers lose no results, and no worker outlives its parent."""

import gc
import multiprocessing
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import partial
from itertools import takewhile
from multiprocessing import get_context
from multiprocessing.context import SpawnProcess
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest

from starcast.support.errors import InputError, LimitError
from starcast.support.parallel import (
    RERUNS,
    ProcessExecutor,
    WorkerKilledError,
    Workload,
    choose_jobs,
    local_processes,
    run_parallel,
)
from support.workers import workers_of

PATIENCE = 120

#: Error output of a starting worker whose parent was killed before it sent the arguments.
INTERRUPTED_START = re.compile(r"\ATraceback .*in spawn_main\n.*\nEOFError: [^\n]*\n\Z", re.DOTALL)

#: The module of the function that `SCRIPT` calls: workers do not execute the script.
MODULE = """
    import os, time

    def perform(pause, size, item):
        time.sleep(pause)
        return item, os.getpid(), b"x" * size
"""
#: A parallel run that prints every item with the process id of the worker that executed it.
SCRIPT = """
    import sys
    from functools import partial
    from task import perform
    from starcast.support.parallel import Workload, local_processes, run_parallel
    from starcast.support.progress import sigterm_as_interrupt

    def main():
        work = Workload(
            partial(perform, {pause}, {size}), lambda _: 1, lambda: 1_000, lambda item, free: None
        )
        with (
            sigterm_as_interrupt(),
            local_processes(3) as executor,
            run_parallel(range({items}), work, executor) as results,
        ):
            for item, (_, pid, _) in results:
                print(item, pid, flush=True)
            print("all", flush=True)
            sys.stdin.readline()
        print("end", flush=True)

    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
"""


@contextmanager
def running(
    folder: Path, *, items: int = 6, pause: float = 0.01, size: int = 10
) -> Iterator[subprocess.Popen[str]]:
    """Run `SCRIPT` in its own session, as if it were started from a terminal."""
    (folder / "task.py").write_text(textwrap.dedent(MODULE))
    script = folder / "parallel.py"
    script.write_text(textwrap.dedent(SCRIPT.format(items=items, pause=pause, size=size)))
    process = subprocess.Popen(
        [sys.executable, script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        for worker in workers_of(process.pid):
            with suppress(psutil.NoSuchProcess):
                worker.kill()
        process.kill()
        process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("killed", [1, 2, 3])
def test_workers_that_are_killed_at_the_end_of_a_run_do_not_delay_its_end(
    tmp_path: Path, killed: int
) -> None:
    """A killed idle worker may have held a lock for which the other workers wait."""
    with running(tmp_path) as process:
        assert process.stdout
        assert len(list(takewhile("all\n".__ne__, process.stdout))) == 6
        for worker in workers_of(process.pid)[:killed]:
            worker.kill()
        output, errors = process.communicate("go\n", timeout=PATIENCE)
        assert (process.returncode, output, errors) == (0, "end\n", "")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_no_result_is_lost_if_workers_are_killed_at_random_moments(
    tmp_path: Path, seed: int
) -> None:
    """The results are large, so that a worker may be killed in the middle of sending one."""
    draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
    with running(tmp_path, items=30, size=3_000_000) as process:
        while not workers_of(process.pid):
            time.sleep(0.02)
        for _ in range(3):
            time.sleep(draw.uniform(0.0, 0.2))
            workers = workers_of(process.pid)
            if workers:
                with suppress(psutil.NoSuchProcess):
                    draw.choice(workers).kill()
        output, errors = process.communicate("go\n", timeout=PATIENCE)
        lines = output.splitlines()
        assert (process.returncode, errors, lines[-2:]) == (0, "", ["all", "end"])
        assert sorted(int(line.split()[0]) for line in lines[:-2]) == list(range(30))


def blocks(process: psutil.Process, number: signal.Signals) -> bool:
    """Return whether the main thread of a process blocks a signal."""
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    mask = next(line.split()[1] for line in status.splitlines() if line.startswith("SigBlk:"))
    return bool(int(mask, 16) >> (number - 1) & 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_whose_worker_does_not_respond(
    tmp_path: Path, number: signal.Signals
) -> None:
    """Workers block the signals of a terminal, so the parent process must end the workers."""
    with running(tmp_path, pause=1_000) as process:
        while len(workers_of(process.pid)) < 3:
            time.sleep(0.05)
        workers = workers_of(process.pid)
        assert all(blocks(worker, number) for worker in workers)
        workers[0].suspend()
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (130, "")
        assert psutil.wait_procs(workers, timeout=PATIENCE)[1] == []


@pytest.mark.slow
@pytest.mark.parametrize("moment", [0.05, 0.15, 0.3, 0.5, 0.8])
def test_killing_the_parent_with_sigkill_prints_nothing_and_ends_the_workers(
    tmp_path: Path, moment: float
) -> None:
    """Neither the workers nor the resource tracker of Python writes a traceback.

    One exception is accepted: a worker that is still starting and has not read its arguments ends
    with an `EOFError` of Python.
    """
    with running(tmp_path, items=1_000) as process:
        time.sleep(moment)
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        # The call returns when all processes have closed their ends of the pipe.
        _, errors = process.communicate(timeout=PATIENCE)
        assert process.returncode == -signal.SIGKILL
        assert INTERRUPTED_START.sub("", errors, count=1) == ""
        assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []


def square(number: int) -> int:
    """Return the square of a number; 13 is refused, and 14 ends the worker."""
    if number == 13:
        raise InputError("13 is refused", hint="use another number")
    if number == 14:
        os._exit(3)
    return number * number


def work(needed: int = 1, free: int = 1_000) -> Workload[int, int]:
    """Return a workload that calls `square` for every item."""
    return Workload(square, lambda _: needed, lambda: free, lambda *_: None)


@contextmanager
def results_of(
    items: Sequence[int], workload: Workload[int, int], jobs: int
) -> Iterator[Iterator[tuple[int, int]]]:
    """Run a workload in new worker processes, and yield its results."""
    with local_processes(jobs) as executor, run_parallel(items, workload, executor) as results:
        yield results
    assert multiprocessing.active_children() == []


@pytest.mark.whole
@pytest.mark.parametrize(
    "pool",
    [
        partial(local_processes, 3),
        partial(ThreadPoolExecutor, 2),
        partial(ProcessPoolExecutor, 2, get_context("spawn")),
    ],
    ids=["own processes", "threads", "processes"],
)
def test_a_parallel_run_yields_every_item_once_with_its_result(
    pool: Callable[[], AbstractContextManager[Executor]],
) -> None:
    """The test also uses the executors of the standard library, which give the same results."""
    with pool() as executor, run_parallel(range(6), work(), executor) as results:
        assert sorted(results) == [(number, number * number) for number in range(6)]


def test_items_of_a_parallel_run_wait_until_memory_is_free() -> None:
    """Two items of 600 bytes do not fit into 1000 bytes, so all items run one by one."""
    with results_of([3, 1, 2], work(needed=600), 3) as results:
        assert list(results) == [(3, 9), (1, 1), (2, 4)]


def test_an_error_in_a_worker_process_is_raised_in_the_parent_with_its_hint() -> None:
    with (
        pytest.raises(InputError, match="13 is refused") as caught,
        results_of([13, 1], work(), 2) as results,
    ):
        list(results)
    assert caught.value.hint == "use another number"


def test_a_task_that_always_kills_its_worker_is_reported_after_all_other_tasks() -> None:
    done: list[tuple[int, int]] = []
    with (
        pytest.raises(LimitError, match="14 was given up after 4 workers that ran it were killed"),
        results_of([1, 14, 2, 3], work(), 2) as results,
    ):
        done.extend(results)
    assert sorted(done) == [(1, 1), (2, 4), (3, 9)]


def count_runs(folder: str) -> int:
    """Record a run in a file and return the number of runs; the first runs kill their worker."""
    runs = len(list(Path(folder).iterdir()))
    (Path(folder) / str(runs)).touch()
    if runs < RERUNS:
        os.kill(os.getpid(), signal.SIGKILL)
    return runs + 1


def test_a_task_whose_worker_is_killed_is_repeated_up_to_three_times(tmp_path: Path) -> None:
    with local_processes(1) as executor:
        assert executor.submit(count_runs, str(tmp_path)).result(PATIENCE) == 1 + RERUNS


@pytest.mark.slow
def test_a_remote_worker_refuses_a_task_that_exceeds_its_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The client of a remote executor does not know the memory of its workers."""

    class Remote(ThreadPoolExecutor):
        is_remote = True
        slots = 2

    def demand(item: int, free: int) -> None:
        if free < 600:
            raise LimitError(f"{item} needs 600, {free} are free")

    monkeypatch.setattr("starcast.support.parallel.MEMORY_PATIENCE", 0.2)
    workload = Workload(square, lambda _: 600, lambda: 1_000, demand)
    with Remote() as executor, run_parallel([1, 2, 3], workload, executor) as results:
        assert sorted(results) == [(1, 1), (2, 4), (3, 9)]
    small = replace(workload, free=lambda: 500)
    with (
        Remote() as executor,
        pytest.raises(LimitError, match="needs 600, 500 are free"),
        run_parallel([1], small, executor) as results,
    ):
        list(results)


def test_a_worker_that_cannot_be_started_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The operating system may limit the number of processes."""
    error = BlockingIOError(11, "Resource temporarily unavailable")
    monkeypatch.setattr(SpawnProcess, "start", Mock(side_effect=error))
    with (
        pytest.raises(LimitError, match="a worker process cannot be started: resource"),
        results_of([1, 2], work(), 2) as results,
    ):
        list(results)


@pytest.mark.parametrize("is_file", [True, False])
def test_workers_do_not_execute_the_script_that_starts_them(tmp_path: Path, is_file: bool) -> None:
    """Scripts without a test of ``__name__``, and scripts from standard input, can use workers."""
    text = """
from starcast.support.parallel import local_processes
print("once")
with local_processes(2) as executor:
    print(sorted(executor.map(abs, [-1, -2])))
"""
    script = tmp_path / "plain.py"
    script.write_text(text)
    ended = subprocess.run(
        [sys.executable, script if is_file else "-"],
        check=True,
        capture_output=True,
        cwd=tmp_path,
        input=text,
        text=True,
    )
    assert (ended.stdout, ended.stderr) == ("once\n[1, 2]\n", "")


def test_processes_that_the_user_starts_execute_the_script_as_usual() -> None:
    with local_processes(1) as executor:
        assert list(executor.map(abs, [-1])) == [1]
    keys = multiprocessing.spawn.get_preparation_data("a process of the user").keys()
    assert keys & {"init_main_from_name", "init_main_from_path"}


def test_workers_are_not_started_in_a_daemon(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker of `multiprocessing.Pool` is a daemon, which must not start processes."""
    monkeypatch.setitem(multiprocessing.current_process()._config, "daemon", True)  # type: ignore[attr-defined]
    with (
        pytest.raises(LimitError, match="a daemonic process, such as a worker of"),
        results_of([1, 2], work(), 2) as results,
    ):
        list(results)


def test_there_are_at_most_as_many_worker_processes_as_items() -> None:
    assert [choose_jobs(2, 5, worth_it=True), choose_jobs(0, 5, worth_it=True)] == [2, 1]
    assert choose_jobs(9, None, worth_it=False) == 1


def test_all_calls_without_a_result_are_cancelled_when_the_executor_is_killed() -> None:
    executor = ProcessExecutor(1)
    running, waiting = (executor.submit(time.sleep, 1_000) for _ in range(2))
    while not workers_of(os.getpid()):
        time.sleep(0.01)
    executor.kill()
    assert isinstance(running.exception(timeout=0), CancelledError)
    assert waiting.cancelled()
    with pytest.raises(RuntimeError, match="shutdown"):
        executor.submit(square, 4)


def test_an_executor_does_not_wait_for_a_program_that_a_killed_worker_started() -> None:
    """The program still holds the end of the pipe that belonged to the worker."""
    executor = ProcessExecutor(1)
    running = executor.submit(os.system, "exec sleep 60")
    programs: list[psutil.Process] = []
    while not programs:
        time.sleep(0.01)
        programs = [each for worker in workers_of(os.getpid()) for each in worker.children()]
    executor.kill()
    assert isinstance(running.exception(timeout=0), CancelledError)
    (program,) = programs
    assert program.is_running()
    program.kill()


def test_killed_workers_leave_no_open_files() -> None:
    gc.collect()  # close files of earlier tests
    counts = []
    with local_processes(1) as executor:
        for _ in range(3):
            with pytest.raises(WorkerKilledError):
                executor.submit(signal.raise_signal, signal.SIGKILL).result()
            counts.append(psutil.Process().num_fds())
    assert counts[0] == counts[-1]
