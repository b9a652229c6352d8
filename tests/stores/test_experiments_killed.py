"""Killed parallel experiments keep complete runs, leave no processes, and can be resumed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from sqlalchemy import URL, Engine, func, select

from starcast.experiments import Point
from starcast.experiments.design import Design, read_design
from starcast.experiments.running import run_experiment
from starcast.stores.database import models, repository
from starcast.stores.database.sessions import open_session
from starcast.support.progress import Silent
from support.experiments import figures
from support.fix_servers import environment_for
from support.workers import workers_of

pytestmark = pytest.mark.slow

#: Schedules of 0.2 to 0.3 million rows, each of which takes some tenths of a second.
GRID = (
    'topology = "S7"\nalgorithm = "multiple"\n'
    "segments = [6, 7, 8, 9, 10, 11, 12, 13]\nmessage_bytes = 64\n"
)
PATIENCE = 180


class Started:
    """An experiment that runs in another process and session, as from a terminal."""

    def __init__(self, engine: Engine, environment: dict[str, str], file: Path) -> None:
        words = ("experiment", "run", "grid", "--grid", str(file), "--jobs", "2")
        self.engine = engine
        self.process = subprocess.Popen(
            [sys.executable, "-m", "starcast.cli.app", *words],
            env=environment,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.workers: list[psutil.Process] = []

    def stored(self) -> int:
        """Return the number of stored runs."""
        with open_session(self.engine) as session:
            return session.scalar(select(func.count()).select_from(models.Run)) or 0

    def wait_for_a_run(self) -> None:
        """Wait until the first run is stored and others are being executed."""
        until(lambda: self.stored() > 0 or self.process.poll() is not None)
        assert self.process.poll() is None, self.process.communicate()
        self.workers = psutil.Process(self.process.pid).children(recursive=True)
        assert self.workers

    def ends(self) -> tuple[int, str]:
        """Wait for the process and its workers to end, and return the exit code and stderr."""
        _, errors = self.process.communicate(timeout=PATIENCE)
        _, alive = psutil.wait_procs(self.workers, timeout=PATIENCE)
        assert alive == []
        return self.process.returncode, errors


def until(holds: Callable[[], bool]) -> None:
    """Wait until the condition holds."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.fixture
def design(tmp_path: Path) -> tuple[Path, Design]:
    """A grid file and the experiment design read from it."""
    file = tmp_path / "grid.toml"
    file.write_text(GRID, encoding="utf-8")
    return file, read_design(str(file))


@pytest.fixture
def started(
    engine: Engine, clean_database: URL, design: tuple[Path, Design], tmp_path: Path
) -> Iterator[Started]:
    """A running experiment: one run is stored, others are being executed."""
    running = Started(engine, environment_for(clean_database, tmp_path), design[0])
    try:
        running.wait_for_a_run()
        yield running
    finally:
        running.process.kill()
        running.process.wait()
        if running.process.stderr:
            running.process.stderr.close()


def all_whole(engine: Engine) -> list[models.Run]:
    """Check that each stored run has its costs and a complete profile, and return the runs."""
    with open_session(engine) as session:
        runs = repository.load_runs(session, repository.load_experiment(session, "grid").id)
        for run in runs:
            assert run.status == "complete"
            steps = {cost.kind: cost.steps for cost in run.costs}
            assert set(steps) == {"simulated", "closed form", "lower bound"}
            profile = repository.load_profile(session, run.id)
            assert [step.step for step in profile] == list(range(1, (steps["simulated"] or 0) + 1))
    return runs


def finishes(engine: Engine, design: Design) -> None:
    """Check that a second run executes only the missing points, so that each is stored once."""
    kept = {run.id: run.finished_at for run in all_whole(engine)}
    outcome = run_experiment(engine, "grid", design, Silent(), jobs=2)
    assert (outcome.kept, outcome.created) == (len(kept), len(design.points()) - len(kept))
    runs = all_whole(engine)
    assert sorted(Point.of(run) for run in runs) == sorted(design.points())
    assert {run.id: run.finished_at for run in runs if run.id in kept} == kept


def test_ctrl_c_ends_all_processes_and_the_next_run_completes_the_experiment(
    started: Started, design: tuple[Path, Design]
) -> None:
    """The signal goes to the process and all its children, as from a terminal."""
    os.killpg(started.process.pid, signal.SIGINT)
    code, errors = started.ends()
    assert (code, errors.splitlines()[-1]) == (130, "interrupted")
    assert "Traceback" not in errors
    assert 0 < len(all_whole(started.engine)) < len(design[1].points())
    finishes(started.engine, design[1])


def test_kill_9_ends_the_workers_too_and_the_next_run_completes_the_experiment(
    started: Started, design: tuple[Path, Design]
) -> None:
    """Workers notice that their parent process has ended, and end too."""
    started.process.kill()
    assert started.ends()[0] == -signal.SIGKILL
    finishes(started.engine, design[1])


def test_sigterm_ends_an_experiment_like_ctrl_c(started: Started) -> None:
    started.process.terminate()
    code, errors = started.ends()
    assert (code, "Traceback" in errors) == (130, False)
    assert all_whole(started.engine)


def test_killed_workers_lose_no_run(started: Started, design: tuple[Path, Design]) -> None:
    """The results equal those of an undisturbed run, even if the kernel kills a worker."""
    found: list[psutil.Process] = []

    def has_begun() -> bool:
        found[:] = computing(started)
        return bool(found)

    until(has_begun)
    found[0].kill()
    code, errors = started.ends()
    assert (code, "Traceback" in errors) == (0, False)
    run_experiment(started.engine, "undisturbed", design[1], Silent(), jobs=1)
    assert figures(started.engine, "grid") == figures(started.engine, "undisturbed")


def computing(started: Started) -> list[psutil.Process]:
    """Return the worker processes, the one that has used the most CPU time first."""
    return sorted(workers_of(started.process.pid), key=lambda worker: -worker.cpu_times().user)
