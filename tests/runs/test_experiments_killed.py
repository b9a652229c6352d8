"""Killed parallel experiments keep complete runs, leave no processes, and can be resumed."""

import os
import signal
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import URL, Engine

from starcast.experiments.design import Grid, grid_command
from starcast.experiments.point import Point
from starcast.experiments.running import run_experiment
from starcast.stores.database import repository
from starcast.stores.database.sessions import open_session
from starcast.support.progress import Silent
from starcast.support.runs import Run
from support.experiments import figures
from support.fix_servers import environment_for, scalars
from support.workers import end_by, running_command, wait_until, workers_of

pytestmark = pytest.mark.slow

#: Schedules of 0.2 to 0.4 million rows; each run takes some tenths of a second.
GRID = Grid({
    "topology": "S7", "algorithm": "multiple", "segments": [*range(6, 14)], "message_bytes": 64,
})  # fmt: skip


@pytest.fixture
def started(engine: Engine, clean_database: URL, tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A running experiment, of which at least one run is stored."""
    words = (*grid_command(GRID.as_json(), "grid").split()[1:], "--jobs", "2")
    with running_command(environment_for(clean_database, tmp_path), *words) as process:
        wait_until(lambda: process.poll() is not None or scalars(engine, "select id from run"))
        assert process.poll() is None, process.communicate()
        yield process


def check_runs(engine: Engine) -> list[Run]:
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


def assert_resumable(engine: Engine) -> None:
    """Check that repeating the experiment executes only the points without a stored run."""
    kept = {run.id: run.finished_at for run in check_runs(engine)}
    outcome = run_experiment(engine, "grid", GRID, Silent(), jobs=2)
    assert (outcome.kept, outcome.created) == (len(kept), len(GRID.points()) - len(kept))
    runs = check_runs(engine)
    assert sorted(Point.of(run) for run in runs) == sorted(GRID.points())
    assert {run.id: run.finished_at for run in runs if run.id in kept} == kept


def test_ctrl_c_ends_all_processes_and_the_next_run_completes_the_experiment(
    engine: Engine, started: subprocess.Popen[str]
) -> None:
    """The signal goes to the process and all its children, as from a terminal."""
    code, errors = end_by(partial(os.killpg, started.pid, signal.SIGINT), started)
    assert (code, errors.splitlines()[-1]) == (130, "interrupted")
    assert "Traceback" not in errors
    assert 0 < len(check_runs(engine)) < len(GRID.points())
    assert_resumable(engine)


def test_kill_9_ends_the_workers_too_and_the_next_run_completes_the_experiment(
    engine: Engine, started: subprocess.Popen[str]
) -> None:
    """Workers notice that their parent process has ended, and end too."""
    assert end_by(started.kill, started)[0] == -signal.SIGKILL
    assert_resumable(engine)


def test_sigterm_ends_an_experiment_like_ctrl_c(
    engine: Engine, started: subprocess.Popen[str]
) -> None:
    code, errors = end_by(started.terminate, started)
    assert (code, "Traceback" in errors) == (130, False)
    assert check_runs(engine)


def test_a_killed_worker_loses_no_run(engine: Engine, started: subprocess.Popen[str]) -> None:
    """After the busiest worker is killed, the results equal those of an undisturbed run."""
    wait_until(lambda: workers_of(started.pid))
    busiest = max(workers_of(started.pid), key=lambda worker: worker.cpu_times().user)
    code, errors = end_by(busiest.kill, started)
    assert (code, "Traceback" in errors) == (0, False)
    run_experiment(engine, "undisturbed", GRID, Silent(), jobs=1)
    assert figures(engine, "grid") == figures(engine, "undisturbed")
