"""Upgrades of old stores with their data, and downgrades that lose none unnoticed.

``dumps/revision-NNNN.dump`` were written by starcast of that revision and by pg_dump.
"""

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import pytest
from sqlalchemy import Engine, func, select, text

from starcast.database import artifact_rows, migrations, models, repository, sessions
from starcast.errors import InputError, RejectedError
from starcast.experiments.grid import Grid
from starcast.experiments.point import Point
from starcast.experiments.reproduction import FIGURES, SAME, reproduce
from starcast.experiments.running import run_experiment
from starcast.progress import Silent
from support.dumps import load_dump
from support.experiments import runs
from support.fix_cli import name_store

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
#: For each dump: runs, an experiment that is quick to reproduce, and its number of runs.
STORED = {"0001": (51, "one-port", 2), "0003": (324, "price-of-fault-tolerance", 36)}


def count(engine: Engine, table: type[models.Base]) -> int:
    with sessions.session(engine) as opened:
        return opened.scalar(select(func.count()).select_from(table)) or 0


@pytest.mark.parametrize("revision", STORED)
def test_a_store_of_an_old_revision_is_upgraded_with_all_its_data(
    bare: Engine, revision: str
) -> None:
    load_dump(bare, revision)
    assert sessions.current(bare) == revision
    runs, name, reproduced = STORED[revision]
    with bare.connect() as connection:
        assert connection.scalar(text("select count(*) from run")) == runs
        identity = connection.scalar(text("select id from store"))
        costs = connection.scalar(text("select count(*) from cost"))
        steps = connection.scalar(text("select count(*) from step_profile"))
        times = connection.scalars(text("select time from cost order by run, kind")).all()
    assert migrations.upgrade(bare, Silent())
    sessions.check(bare)
    assert migrations.differences(bare) == []
    assert (count(bare, models.Run), count(bare, models.Cost)) == (runs, costs)
    assert count(bare, models.StepProfile) == steps
    with bare.connect() as connection:
        assert connection.scalar(text("select id from store")) == identity
        assert connection.scalars(text("select time from cost order by run, kind")).all() == times
        assert connection.scalar(text("select count(*) from run_summary")) == runs
    with sessions.session(bare) as opened:
        for experiment in repository.list_experiments(opened):
            for run in repository.load_runs(opened, experiment.id):
                Point.of(run)
        for forest in opened.scalars(select(models.Forest.id)):
            artifact_rows.load_forest(opened, forest).verify()
    repetitions = reproduce(bare, name, Silent(), jobs=1)
    assert len(repetitions) == reproduced
    # Lower bounds have more figures than those that revision 0001 stored.
    simulated = [figure for figure in FIGURES if figure != "costs"]
    different = [
        each.figures
        for each in repetitions
        if any(each.figures[figure] != SAME for figure in simulated)
    ]
    assert different == []


def test_the_dumps_hold_data_in_every_table_of_their_revision(bare: Engine) -> None:
    load_dump(bare, "0003")
    with bare.connect() as connection:
        for table in ("topology", "forest", "tree", "schedule", "schedule_step", "materialization",
                      "experiment", "run", "cost", "step_profile", "ledger", "claim_evidence",
                      "claim_verdict"):  # fmt: skip
            assert connection.scalar(select(func.count()).select_from(text(table))), table
        assert connection.scalar(text("select count(*) from run where tree is not null"))
        assert connection.scalar(text("select count(*) from run where missing > 0"))


@pytest.fixture
def stored(bare: Engine) -> Engine:
    """A store of the newest revision with a verification run and many runs."""
    load_dump(bare, "0003")
    migrations.upgrade(bare, Silent())
    return bare


def test_a_downgrade_keeps_rows_or_is_refused(stored: Engine) -> None:
    migrations.downgrade(stored, "0003")
    assert sessions.current(stored) == "0003"
    with pytest.raises(RejectedError, match="0002 would delete 1 verification run ") as refused:
        migrations.downgrade(stored, "0002")
    assert "starcast backup" in refused.value.hint
    assert sessions.current(stored) == "0003"
    with stored.connect() as connection:
        assert connection.scalar(text("select count(*) from ledger")) == 1
    migrations.downgrade(stored, "0002", allow_data_loss=True)
    assert sessions.current(stored) == "0002"


def test_the_losses_of_a_downgrade_are_counted_without_changing_anything(stored: Engine) -> None:
    assert migrations.downgrade_losses(stored, "0004") == []
    losses = migrations.downgrade_losses(stored, "base")
    assert losses == [
        "1 verification run",
        "15 runs with a base",
        "14 numbers of missing units",
        "25 step profiles of schedules",
        "1 topology",
        "13 forests",
        "25 schedules",
        "11 experiments",
        "309 runs",
    ]
    assert sessions.current(stored) == sessions.head()
    assert count(stored, models.Run) == 324
    assert migrations.differences(stored) == []


def test_asynchronous_runs_are_lost_with_their_column(bare: Engine) -> None:
    migrations.upgrade(bare, Silent())
    grid = Grid(("S4",), ("greedy",), (Fraction(8),), execution=("synchronous", "asynchronous"))
    run_experiment(bare, "models", grid, Silent())
    assert migrations.downgrade_losses(bare, "0006") == ["1 asynchronous run"]
    with pytest.raises(RejectedError, match="would delete 1 asynchronous run"):
        migrations.downgrade(bare, "0006")
    migrations.downgrade(bare, "0006", allow_data_loss=True)
    migrations.upgrade(bare, Silent())
    assert [run.execution for run in runs(bare, "models")] == ["synchronous"]


@pytest.mark.parametrize("revision", ["9999", "nonsense", "+1"])
def test_an_unknown_revision_is_refused(stored: Engine, revision: str) -> None:
    with pytest.raises(InputError, match=f"is not a revision before {sessions.head()}"):
        migrations.downgrade(stored, revision)
    assert sessions.current(stored) == sessions.head()


def test_an_empty_store_is_downgraded_without_a_question_of_loss(bare: Engine) -> None:
    migrations.upgrade(bare, Silent())
    assert migrations.downgrade_losses(bare, "base") == []
    migrations.downgrade(bare)


def alembic(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "alembic", "-c", "migrations/alembic.ini", *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_bare_alembic_drops_no_verification_run_unasked(
    stored: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_store(monkeypatch, stored.url)
    assert alembic("downgrade", "0003").returncode == 0
    refused = alembic("downgrade", "-1")
    assert refused.returncode != 0
    assert "would delete 1 verification run; nothing was changed" in refused.stdout
    assert "Traceback" not in refused.stderr
    assert sessions.current(stored) == "0003"
    with stored.connect() as connection:
        assert connection.scalar(text("select count(*) from ledger")) == 1
    allowed = alembic("-x", "allow-data-loss=yes", "downgrade", "-1")
    assert allowed.returncode == 0, allowed.stderr
    assert sessions.current(stored) == "0002"
