"""The store lock: commands that write share the lock, and a restore excludes these commands."""

import inspect
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, Engine, func, insert, select, update

from starcast import Lab, network
from starcast.ingest import open_stores
from starcast.ingest.verification import verify
from starcast.stores import GraphAddress, Role
from starcast.stores.database import backup, migrations, models, sessions
from starcast.support.errors import BusyError, UnavailableError
from starcast.support.progress import Silent
from starcast.support.settings import Settings
from support.experiments import cut_off_lock_holder
from support.fix_servers import environment_for, execute, scalars, without_password
from support.workers import wait_until

GRID = {"topology": "S3", "algorithm": "multiple", "message_bytes": 1}
RESTORING = r"another process has been restoring a backup since \d\d:\d\d:\d\d, for \d+ (ms|s)"
#: Each operation of `Lab` that writes to the stores, with arguments.
WRITERS: dict[str, Callable[[Lab, Path], Any]] = {
    "add_network": lambda lab, _: lab.add_network(network([("a", "b")])),
    "check_claims": lambda lab, _: lab.check_claims("TS.L5", sizes=["S3"], jobs=1),
    "drop": lambda lab, _: lab.drop("S3", kind="topology"),
    "drop_experiment": lambda lab, _: lab.drop_experiment("stored"),
    "experiment": lambda lab, _: lab.experiment("new", grid=GRID),
    "import_experiment": lambda lab, file: lab.import_experiment(file.with_name("runs.json")),
    "ingest": lambda lab, _: lab.ingest("S3"),
    "merge_experiment": lambda lab, file: lab.merge_experiment(file.with_name("part.json")),
    "rebuild": lambda lab, _: lab.rebuild(),
    "restore": lambda lab, file: lab.restore(file, replace=True, graph=False),
    "run": lambda lab, _: lab.run("S3", "broadcast", "multiple", message_bytes=1),
    "store_records": lambda lab, _: lab.store_records(proofs=False),
}


@pytest.fixture
def settings(migrated: Engine, clean_graph: GraphAddress, tmp_path: Path) -> Settings:
    """Settings that name a private database, the graph store, and a home for kept backups."""
    return Settings.load(
        postgres_uri=without_password(migrated.url), postgres_password=migrated.url.password,
        neo4j_uri=clean_graph.uri, neo4j_password=clean_graph.password, home=tmp_path / "home",
    )  # fmt: skip


@pytest.fixture
def lab(settings: Settings) -> Iterator[Lab]:
    with Lab(settings) as opened:
        yield opened


@pytest.fixture
def file(lab: Lab, tmp_path: Path) -> Path:
    """A backup of the database, made while it holds one run and no artifacts."""
    lab.experiment("stored", grid=GRID)
    lab.backup(tmp_path / "store.backup")
    return tmp_path / "store.backup"


def kept_backups(settings: Settings) -> list[Path]:
    """Return the backups that restores have made before replacing the rows."""
    return sorted(Path(settings.home).glob("backups/*"))


def count_runs(engine: Engine) -> int:
    with sessions.open_session(engine) as session:
        return session.scalar(select(func.count()).select_from(models.Run)) or 0


def test_every_operation_that_writes_is_refused_during_a_restore(
    lab: Lab, file: Path, migrated: Engine
) -> None:
    """The refusal names the restore; nothing is written. Operations that read are not refused."""
    operations = inspect.getmembers(Lab, inspect.isfunction)
    waiting = {name for name, each in operations if "wait" in inspect.signature(each).parameters}
    assert {name for name in waiting if not name.startswith("_")} == set(WRITERS)
    lab.export_experiment("stored", out=file.with_name("runs.json"))
    lab.experiment("sharded", grid=GRID, shard="1/1", out=file.with_name("part.json"))
    with sessions.lock_store(migrated, "restoring a backup", Silent(), exclusive=True):
        for write in WRITERS.values():
            with pytest.raises(BusyError, match=RESTORING) as caught:
                write(lab, file)
            assert "`wait`" in caught.value.hint
        assert lab.experiments()["experiment"] == ["stored"]
        assert len(lab.runs()) == 1
        assert len(lab.topologies()) == len(lab.claim_runs()) == 0
        assert lab.reproduce("stored", jobs=1)
        assert lab.backup(file)["tables"]["run"] == 1
    assert lab.experiments()["experiment"] == ["stored"]


def test_a_session_without_the_lock_can_only_read(lab: Lab) -> None:
    """Thus, an operation that writes without the lock fails, not only during a restore."""
    row = {"name": "forgotten", "grid": {}}
    with (
        pytest.raises(UnavailableError, match="read-only transaction"),
        lab._session() as session,
    ):
        session.execute(insert(models.Experiment).values(row))
    with (
        pytest.raises(UnavailableError, match="read-only transaction"),
        lab._stores() as stores,
        stores.session() as session,
    ):
        session.execute(update(models.Materialization).values(error="forgotten"))
    with lab._writing("testing", wait=False) as engine, sessions.open_session(engine) as session:
        session.execute(insert(models.Experiment).values(row))
    assert lab.experiments()["experiment"] == ["forgotten"]
    # Only these three operations use an engine without this restriction.
    users = [
        name
        for name, each in inspect.getmembers(Lab, inspect.isfunction)
        if "self.database" in inspect.getsource(each)
    ]
    assert sorted(users) == ["_drop_network", "_writing", "schema"]


def test_commands_that_write_block_a_restore_but_not_each_other(
    lab: Lab, file: Path, migrated: Engine
) -> None:
    """The message of the refused restore names one writer and counts the other writers."""
    with (
        sessions.lock_store(migrated, "running the experiment 'a'", Silent()),
        sessions.lock_store(migrated, "checking claims", Silent()),
    ):
        lab.experiment("b", grid=GRID)
        with pytest.raises(BusyError) as caught:
            lab.restore(file, replace=True, graph=False)
        assert "another process has been running the experiment 'a' since" in caught.value.message
        assert caught.value.message.endswith("(and 1 other process)")
    assert count_runs(migrated) == 2
    lab.restore(file, replace=True, graph=False)
    assert count_runs(migrated) == 1


def test_a_waiting_restore_names_the_writer_it_waits_for(
    settings: Settings, lab: Lab, file: Path, migrated: Engine
) -> None:
    """While the restore waits, no other writer can start, so the restore runs next."""
    reported: list[str] = []
    with ThreadPoolExecutor() as pool, Lab(settings, reported.append) as other:
        with sessions.lock_store(migrated, "running the experiment 'a'", Silent()):
            waiting = pool.submit(other.restore, file, replace=True, graph=False, wait=True)
            blocked = "select 1 from pg_locks where locktype = 'advisory' and not granted"
            wait_until(lambda: scalars(migrated, blocked))
            assert not waiting.done()
            assert reported[0].startswith(
                "waiting: another process has been running the experiment 'a' since "
            )
            with pytest.raises(BusyError, match=RESTORING):
                lab.experiment("new", grid=GRID)
        waiting.result(60)
    lab.experiment("new", grid=GRID)


def test_an_upgrade_does_not_run_during_a_restore(
    migrated: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "UPGRADE_SECONDS", 1)
    with (
        sessions.lock_store(migrated, "restoring a backup", Silent(), exclusive=True) as holder,
    ):
        with pytest.raises(BusyError, match="migrating or restoring the database for 1 s"):
            migrations.upgrade(migrated, Silent())
        assert not migrations.upgrade(holder, Silent()), "the restore itself upgrades"
    with sessions.lock_store(migrated, "running the experiment 'a'", Silent()):
        assert not migrations.upgrade(migrated, Silent())


def test_stores_in_two_schemas_of_a_database_do_not_block_each_other(
    fresh_database: URL,
) -> None:
    with ExitStack() as stack:
        engines = []
        for name in ("first", "second"):
            options = {"options": f"-csearch_path={name}"}
            engine = sessions.connect(fresh_database.update_query_dict(options))
            stack.callback(engine.dispose)
            execute(engine, f"create schema {name}")
            engines.append(engine)
        first, second = engines
        with sessions.lock_store(first, "restoring a backup", Silent(), exclusive=True):
            with sessions.lock_store(second, "restoring a backup", Silent(), exclusive=True):
                pass
            with sessions.advisory_lock(second, "experiment a", BusyError("busy")):
                pass
            with pytest.raises(BusyError), sessions.lock_store(first, "writing", Silent()):
                pytest.fail("a command wrote during a restore")
        with sessions.advisory_lock(first, "experiment a", BusyError("busy")):
            with sessions.advisory_lock(second, "experiment a", BusyError("busy")):
                pass
            with sessions.open_session(second) as session:
                sessions.wait_for_lock(session, "experiment a", 1, BusyError("busy"))


def test_a_writer_whose_lock_is_lost_stores_nothing(lab: Lab, migrated: Engine) -> None:
    with lab._writing("testing", wait=False) as engine:
        cut_off_lock_holder(migrated)
        with (
            pytest.raises(UnavailableError, match="holds the lock 'store' was lost"),
            sessions.open_session(engine),
        ):
            pytest.fail("a session was opened without the lock")


def test_a_read_only_role_needs_no_lock(
    lab: Lab,
    file: Path,
    settings: Settings,
    migrated: Engine,
    role_url: Callable[[URL, Role], URL],
) -> None:
    url = role_url(migrated.url, "reader")
    reading = Settings.load(
        postgres_uri=without_password(url), postgres_password=url.password,
        neo4j_uri=settings.neo4j_uri, neo4j_password=settings.neo4j_password,
    )  # fmt: skip
    with (
        sessions.lock_store(migrated, "restoring a backup", Silent(), exclusive=True),
        Lab(reading) as reader,
    ):
        assert reader.runs()["experiment"] == lab.runs()["experiment"] == ["stored"]
        reader.backup(file)
    with Lab(reading) as reader, pytest.raises(UnavailableError, match="permission denied"):
        reader.experiment("new", grid=GRID)


def repeat_until(
    ended: threading.Event, settings: Settings, write: Callable[[Lab, int], Any]
) -> int:
    """Write repeatedly until restores have ended, and return the number of attempts that succeed.

    The other attempts are refused because of a restore, and fail for no other reason.
    """
    written = attempt = 0
    with Lab(settings) as other:
        while not ended.is_set():
            attempt += 1
            try:
                write(other, attempt)
                written += 1
            except BusyError:
                time.sleep(0.03)
    return written


@pytest.mark.parametrize("rounds", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_every_run_is_in_the_store_or_in_a_backup_kept_by_a_restore(
    settings: Settings, lab: Lab, file: Path, migrated: Engine, rounds: int
) -> None:
    """Experiments store runs while restores replace the store; no run may be lost."""
    ended = threading.Event()

    def run(other: Lab, number: int) -> None:
        name = f"{threading.get_ident()}-{number}"
        other.experiment(name, grid=GRID | {"message_bytes": [1, 2, 3]}, jobs=1)

    with ThreadPoolExecutor() as pool:
        writers = [pool.submit(repeat_until, ended, settings, run) for _ in range(2)]
        try:
            for _ in range(rounds):
                lab.restore(file, replace=True, graph=False, wait=True)
        finally:
            ended.set()
        written = 3 * sum(writer.result(60) for writer in writers)
    kept = [backup.read_manifest(each).tables["run"].rows for each in kept_backups(settings)]
    assert len(kept) == rounds
    # Each count includes the single run of the backup, which no writer has stored.
    assert sum(count - 1 for count in [*kept, count_runs(migrated)]) == written


@pytest.mark.slow
@pytest.mark.parametrize("rounds", [50])
def test_the_graph_has_all_complete_artifacts_after_concurrent_ingests_and_restores(
    settings: Settings, lab: Lab, file: Path, rounds: int
) -> None:
    ended = threading.Event()

    def ingest(other: Lab, number: int) -> None:
        other.ingest("S3", trees=["greedy"] if number % 2 else ["multiple"])

    with ThreadPoolExecutor() as pool:
        writer = pool.submit(repeat_until, ended, settings, ingest)
        try:
            for _ in range(rounds):
                lab.restore(file, replace=True, wait=True)
        finally:
            ended.set()
        writer.result(60)
    with open_stores(settings) as stores:
        assert verify(stores) == []


@pytest.mark.parametrize("rounds", [1, pytest.param(50, marks=pytest.mark.slow)])
def test_concurrent_restores_run_one_after_the_other(
    settings: Settings, file: Path, migrated: Engine, rounds: int
) -> None:
    def restore() -> None:
        with Lab(settings) as other:
            other.restore(file, replace=True, graph=False, wait=True)

    for _ in range(rounds):
        with ThreadPoolExecutor() as pool:
            for restored in [pool.submit(restore) for _ in range(2)]:
                restored.result(60)
        assert count_runs(migrated) == 1
    kept = [backup.read_manifest(each).tables["run"].rows for each in kept_backups(settings)]
    assert kept == [1] * (2 * rounds)


_HANGING = """
import sys, time
from starcast.cli.app import main
from starcast.stores.database import backup

def restore(*arguments, **options):
    # During an operation, `print` writes to stderr.
    print("restoring", file=sys.__stdout__, flush=True)
    time.sleep(600)

backup.restore = restore
main()
"""


@pytest.mark.slow
def test_a_killed_restore_releases_the_lock(
    lab: Lab, file: Path, migrated: Engine, tmp_path: Path
) -> None:
    words = ["restore", str(file), "--replace", "--no-graph"]
    with subprocess.Popen(
        [sys.executable, "-c", _HANGING, *words],
        env=environment_for(migrated.url, tmp_path),
        # Without a terminal, the command does not ask for confirmation.
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "restoring\n"
            with pytest.raises(BusyError, match=RESTORING):
                lab.experiment("new", grid=GRID)
        finally:
            process.kill()
    lab.experiment("new", grid=GRID, wait=True)
    lab.restore(file, replace=True, graph=False)
    assert count_runs(migrated) == 1
