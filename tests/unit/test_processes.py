"""Parallel work in other processes: killed workers and killed parents end in a sentence."""

import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.context import SpawnProcess

import psutil
import pytest

from starcast.errors import InputError, LimitError
from starcast.support.processes import Workload, choose_jobs, run_parallel

PATIENCE = 30

#: What a process prints whose parent was killed before it passed the arguments on.
INTERRUPTED_START = re.compile(r"\ATraceback .*in spawn_main\n.*\nEOFError: [^\n]*\n\Z", re.DOTALL)

#: A parallel run that prints its results, and the process ids of its workers with the last one.
SCRIPT = """
    import os, sys, time
    import psutil
    from starcast.errors import StarcastError
    from starcast.support.processes import Workload, run_parallel
    from starcast.support.signals import sigterm_as_interrupt

    def perform(item):
        time.sleep({pause})
        return item, os.getpid(), b"x" * {size}

    def main():
        work = Workload(perform, lambda _: 1, lambda: 1_000, lambda item, free: None)
        with sigterm_as_interrupt(), run_parallel(range({items}), work, 3) as results:
            for item, (_, pid, _) in results:
                print(item, pid, flush=True)
            print("all", flush=True)
            sys.stdin.readline()
        print("end", flush=True)

    if __name__ == "__main__":
        try:
            main()
        except KeyboardInterrupt:
            sys.exit(130)
        except StarcastError as error:
            print(f"error: {{error.message}}", file=sys.stderr)
            sys.exit(error.exit_code)
"""


@contextmanager
def running(
    tmp_path_factory: pytest.TempPathFactory, *, items: int = 6, pause: float = 0.01, size: int = 10
) -> Iterator[subprocess.Popen[str]]:
    """Run `SCRIPT` in a session of its own, as from a terminal."""
    script = tmp_path_factory.mktemp("parallel") / "parallel.py"
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
        for child in psutil.Process(process.pid).children() if process.poll() is None else ():
            child.kill()
        process.kill()
        process.communicate()


def read_until(process: subprocess.Popen[str], last: str) -> list[str]:
    """Return the lines that a process prints up to this one."""
    assert process.stdout
    lines = []
    for line in process.stdout:
        lines.append(line.rstrip())
        if lines[-1] == last:
            break
    return lines


def workers_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    """Return the workers of a parallel run."""
    return [
        child
        for child in psutil.Process(process.pid).children()
        if "spawn_main" in " ".join(child.cmdline())
    ]


@pytest.mark.parametrize("killed", [1, 2, 3])
def test_workers_killed_while_a_run_ends_do_not_keep_it(
    tmp_path_factory: pytest.TempPathFactory, killed: int
) -> None:
    """An idle worker may hold a lock that the others wait for; it must not matter."""
    with running(tmp_path_factory) as process:
        assert len(read_until(process, "all")) == 7
        for worker in workers_of(process)[:killed]:
            worker.kill()
        output, errors = process.communicate("go\n", timeout=PATIENCE)
        assert (process.returncode, output, errors) == (0, "end\n", "")


@pytest.mark.parametrize("seed", range(4))
def test_a_worker_killed_at_a_random_moment_ends_the_run_in_time(
    tmp_path_factory: pytest.TempPathFactory, seed: int
) -> None:
    """Large results: a worker may be killed in the middle of sending one."""
    draw = random.Random(seed)  # noqa: S311 - repeatable, not secret
    with running(tmp_path_factory, items=30, size=3_000_000) as process:
        time.sleep(draw.uniform(0.3, 0.8))
        workers = workers_of(process)
        if workers:
            draw.choice(workers).kill()
        output, errors = process.communicate("go\n", timeout=PATIENCE)
        if process.returncode:
            assert process.returncode == 7
            assert errors == "error: one of 3 worker processes was killed\n"
        else:
            assert output.endswith("end\n")
            assert errors == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_run_whose_worker_does_not_answer(
    tmp_path_factory: pytest.TempPathFactory, number: signal.Signals
) -> None:
    with running(tmp_path_factory, pause=1_000) as process:
        while len(workers_of(process)) < 3:
            time.sleep(0.05)
        workers = workers_of(process)
        workers[0].suspend()
        process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
        assert (process.returncode, errors) == (130, "")
        assert psutil.wait_procs(workers, timeout=PATIENCE)[1] == []


@pytest.mark.parametrize("moment", [0.05, 0.15, 0.3, 0.5, 0.8])
def test_kill_9_prints_nothing_and_ends_the_workers(
    tmp_path_factory: pytest.TempPathFactory, moment: float
) -> None:
    """Neither the workers nor Python's resource tracker write a traceback.

    One worker at most is being started: before it has read its arguments, Python itself reports
    that they have ended.
    """
    with running(tmp_path_factory, items=1_000) as process:
        time.sleep(moment)
        children = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        _, errors = process.communicate(timeout=PATIENCE)  # returns when all copies are closed
        assert process.returncode == -signal.SIGKILL
        assert INTERRUPTED_START.sub("", errors, count=1) == ""
        assert psutil.wait_procs(children, timeout=PATIENCE)[1] == []


def square(number: int) -> int:
    """Return the square; 13 is refused, and 14 ends the worker."""
    if number == 13:
        raise InputError("13 is refused", hint="take another number")
    if number == 14:
        os._exit(3)
    return number * number


def work(needed: int = 1, free: int = 1_000) -> Workload[int, int]:
    """Return the workload of `square`."""
    return Workload(square, lambda _: needed, lambda: free, lambda *_: None)


def test_every_item_is_yielded_once_with_its_result() -> None:
    with run_parallel(range(12), work(), 3) as results:
        assert sorted(results) == [(number, number * number) for number in range(12)]


def test_items_wait_until_memory_is_free() -> None:
    """Two items of 600 bytes do not fit into 1000: they run one after the other, in order."""
    with run_parallel([3, 1, 2], work(needed=600), 3) as results:
        assert list(results) == [(3, 9), (1, 1), (2, 4)]


def test_an_error_in_a_worker_is_raised_with_its_hint() -> None:
    with (
        pytest.raises(InputError, match="13 is refused") as caught,
        run_parallel([13, 1], work(), 2) as results,
    ):
        list(results)
    assert caught.value.hint == "take another number"


def test_a_worker_that_ends_is_an_error() -> None:
    with (
        pytest.raises(LimitError, match="one of 2 worker processes was killed"),
        run_parallel([1, 14, 2], work(), 2) as results,
    ):
        list(results)


def test_a_worker_that_cannot_be_started_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a limit on the number of processes."""

    def refuse(*_: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(SpawnProcess, "start", refuse)
    with (
        pytest.raises(LimitError, match="a worker process cannot be started: resource"),
        run_parallel([1, 2], work(), 2) as results,
    ):
        list(results)


def test_as_many_processes_as_items_at_most() -> None:
    assert [choose_jobs(2, 5, worth_it=True), choose_jobs(0, 5, worth_it=True)] == [2, 1]
    assert choose_jobs(9, None, worth_it=False) == 1
