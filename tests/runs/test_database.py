"""The relational schema: migrations, models, foreign and newer databases, unreachable servers."""

import gc
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from alembic import command
from alembic.util import CommandError
from sqlalchemy import URL, Engine, inspect, text

from starcast import forest
from starcast.experiments.design import Grid
from starcast.experiments.running import run_experiment
from starcast.stores.database import migrations, models, repository, sessions
from starcast.stores.database.views import ARTIFACT
from starcast.support.errors import BusyError, RejectedError, UnavailableError
from starcast.support.progress import Silent
from support.experiments import cut_off_lock_holder
from support.fix_servers import execute, scalars
from support.fix_store import HEAD, NEXT, all_rows
from support.recorder import Recorder
from support.striking import ctrl_c


def tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names())


@pytest.fixture
def engine(migrated: Engine) -> Engine:
    """A private database with the newest schema, which a test may change."""
    return migrated


def test_the_schema_can_be_dropped_and_created_again(bare: Engine) -> None:
    assert migrations.current(bare) is None
    with pytest.raises(RejectedError, match="the database has no schema yet") as missing:
        migrations.check(bare)
    assert missing.value.hint == "run 'starcast db upgrade'"
    migrations.drop(bare)
    assert migrations.upgrade(bare, Silent())
    assert migrations.current(bare) == migrations.head()
    assert tables(bare) == {*models.Base.metadata.tables, "alembic_version"}
    migrations.drop(bare)
    assert migrations.current(bare) is None
    assert tables(bare) == set()
    assert migrations.upgrade(bare, Silent())
    migrations.check(bare)


def test_waiting_for_a_statement_does_not_keep_the_processor_busy(
    bare: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks: list[float] = []

    def clock() -> float:
        checks.append(time.monotonic())
        return checks[-1]

    monkeypatch.setattr(sessions, "monotonic", clock)
    execute(bare, "select pg_sleep(1)")
    # The clock is read ten times per second while the statement runs, and a few times for each
    # message of the server.
    assert 5 < len(checks) < 100


def test_a_drop_keeps_a_foreign_view_named_like_a_former_view(bare: Engine) -> None:
    """Until revision 0015, starcast itself had a view named comparison."""
    migrations.upgrade(bare, Silent())
    execute(bare, "create view comparison as select 5 as theirs")
    migrations.drop(bare)
    assert scalars(bare, "select theirs from comparison") == [5]


def test_a_view_of_another_program_is_not_replaced(bare: Engine) -> None:
    execute(bare, "create view artifact as select 5 as theirs")
    with pytest.raises(RejectedError, match="holds the view 'artifact', which belongs"):
        migrations.upgrade(bare, Silent())
    assert scalars(bare, "select theirs from artifact") == [5]


def test_an_upgrade_keeps_all_rows(engine: Engine, add_revision: Callable[[], None]) -> None:
    """A store of the previous revision is refused until it is upgraded."""
    points = Grid({
        "topology": "S4", "algorithm": ["multiple", "greedy"], "message_bytes": 64, "segments": 2,
    })  # fmt: skip
    run_experiment(engine, "e", points, Silent())
    before = all_rows(engine) | {"alembic_version": []}
    add_revision()
    with pytest.raises(RejectedError, match=f"is {HEAD}, but this starcast needs {NEXT}") as caught:
        migrations.check(engine)
    assert "starcast db upgrade" in caught.value.hint
    recorder = Recorder()
    assert migrations.upgrade(engine, recorder)
    assert recorder.lines == [f"the schema was upgraded from {HEAD} to {NEXT}"]
    assert all_rows(engine) | {"alembic_version": []} == before
    assert run_experiment(engine, "e", points, Silent()).kept == 2


@pytest.mark.parametrize(
    ("revision", "statements", "query", "expected"),
    [
        ("0009", ("insert into claim_run (level, version, fingerprint, finished_at)"
         " values ('quick', '1', 'f', now()), ('quick', '1', 'f', null)"),
         "select id from claim_run", [1]),
        ("0010", ("insert into experiment (name) values ('e');"
         "insert into run (experiment, topology, collective, algorithm, ports, message_bytes,"
         " segments, messages, t_s, t_c, status, started_at, finished_at)"
         " select 1, 'S6,3', 'broadcast', algorithm, 'all', '64', 4, 1, '1', '1', 'complete',"
         " now(), now() from unnest(array['nk-multiple', 'nk-greedy', 'forest']) as algorithm"),
         "select message_units from run order by id", [20, 4, None]),
        ("0013", ("insert into record (id, problem, topology, value, bound, optimal, reason, proof,"
         " verification, witness, solver, version, seconds, command)"
         " select format, 'fault-diameter', 'S4', 6, 6, true, '',"
         " case format when 'theory' then null else jsonb_build_object('format', format) end,"
         " 'verified', '', '', '', 0, '' from unnest(array['LRAT', 'second solver', 'theory'])"
         " as format"),
         "select verification from record order by id",
         ["not made again", "not checked", "verified"]),
        ("0014", "create view comparison as select id from run",
         "select count(*) from pg_views where viewname = 'comparison'", [0]),
        # The number is derived from the CRC-32 of the spec, as in earlier versions.
        ("0016", ("insert into family values ('f', 'f graphs'), ('star', 'star graphs')"
         " on conflict do nothing;"
         "insert into topology (spec, family, n, nodes, links, degree, diameter)"
         " values ('net-2', 'f', 2, 2, 1, 1, 1), ('S2', 'star', 2, 2, 1, 1, 1)"),
         "select topology || ' ' || number from node_key", ["net-2 1408479"]),
        ("0020", ("insert into family values ('star', 'star graphs') on conflict do nothing;"
         "insert into topology (spec, family, n, nodes, links, degree, diameter)"
         " values ('S2', 'star', 2, 2, 1, 1, 1)"),
         "select endpoints from topology", [2]),
    ],
)  # fmt: skip
def test_an_upgrade_converts_the_rows_of_an_earlier_revision(
    bare: Engine, revision: str, statements: str, query: str, expected: list[int | str | None]
) -> None:
    """An upgrade deletes unfinished verification runs and an old view, and fills in new columns."""
    with bare.begin() as connection:
        command.upgrade(migrations._config(connection), revision)
    execute(bare, *statements.split(";"))
    migrations.upgrade(bare, Silent())
    assert migrations.differences(bare) == []
    assert scalars(bare, query) == expected


def test_a_store_upgraded_by_revision_0013_accepts_large_tree_heights(bare: Engine) -> None:
    with bare.begin() as connection:
        command.upgrade(migrations._config(connection), "0012")
        # Revision 0013 changes the type of the heights in this view. Its column `endpoints` did not
        # exist then, so the column `nodes` replaces it.
        query = ARTIFACT.query.replace("topology.endpoints", "topology.nodes as endpoints")
        migrations._create(connection, replace(ARTIFACT, query=query))
    migrations.upgrade(bare, Silent())
    assert migrations.differences(bare) == []
    hamiltonian = forest("S8", "hamiltonian-cycle")
    with sessions.open_session(bare) as session:
        repository.save_topology(session, hamiltonian.topology)
        repository.save_forest(session, hamiltonian)
        heights = session.execute(text("select forest.height, tree.height from forest, tree"))
        assert heights.all() == [(40_319, 40_319)]


def test_an_upgrade_names_a_user_view_that_reads_a_changed_column(bare: Engine) -> None:
    with bare.begin() as connection:
        command.upgrade(migrations._config(connection), "0012")
    execute(bare, "create view mine as select height from forest")
    with pytest.raises(RejectedError, match=r"used by a view .* on view mine depends on column"):
        migrations.upgrade(bare, Silent())
    assert migrations.current(bare) == "0012"


def test_an_upgrade_names_the_constraint_that_stored_rows_violate(
    engine: Engine, add_revision: Callable[[], None]
) -> None:
    with sessions.open_session(engine) as session:
        repository.save_experiment(session, "no", {})
    add_revision()
    with pytest.raises(RejectedError, match="ck_experiment_next"):
        migrations.upgrade(engine, Silent())
    assert migrations.current(engine) == HEAD


def test_a_downgrade_names_the_command_that_restores_a_backup(engine: Engine) -> None:
    with engine.begin() as connection, pytest.raises(CommandError, match="'starcast restore'"):
        command.downgrade(migrations._config(connection), "base")
    migrations.check(engine)


def test_deleting_a_verification_run_deletes_its_evidence_and_verdicts(engine: Engine) -> None:
    with sessions.open_session(engine) as session:
        session.add(models.ClaimRun(level="quick", version="1"))
        session.flush()
        claim = {"claim_run": 1, "claim": "TS.L5"}
        session.add(models.ClaimEvidence(**claim, size="S3", evidence={}, seconds=0.5))
        session.add(models.ClaimVerdict(**claim, verdict="holds", sizes=["S3"], detail=""))
    execute(engine, "delete from claim_run")
    found = all_rows(engine)
    assert found["claim_evidence"] == found["claim_verdict"] == []


OURS = "create table store (id int); create table materialization (id int)"
REVISION = (
    "create table alembic_version (version_num varchar(32) not null);"
    "insert into alembic_version values ('{}')"
)
#: Statements that create tables of other programs, and the table that the error names.
FOREIGN = {
    "create table invoice (id int)": "invoice",
    "create table invoice (id int);" + REVISION.format("4f00ba12"): "invoice",
    OURS: "materialization",
    REVISION.format("abc"): "alembic_version",
    REVISION.format(migrations.head()): "alembic_version",
}


@pytest.mark.whole
@pytest.mark.parametrize(
    ("statements", "message", "hint"),
    [
        (f"{OURS};{REVISION.format(9999)}", "that this starcast supports", "update starcast"),
        (f"{OURS};{REVISION.format('0003')}", "database (0003) is too old", "docs/upgrades.md"),
        *(
            (statements, f"tables of another program, such as '{table}'", "empty database")
            for statements, table in FOREIGN.items()
        ),
    ],
)
def test_tables_of_another_revision_or_program_are_refused_and_unchanged(
    bare: Engine, statements: str, message: str, hint: str
) -> None:
    execute(bare, *statements.split(";"))
    before = (tables(bare), migrations.current(bare))
    for call in (
        lambda: migrations.check(bare),
        lambda: migrations.upgrade(bare, Silent()),
        lambda: migrations.drop(bare),
    ):
        with pytest.raises(RejectedError) as caught:
            call()
        assert message in caught.value.message
        assert hint in caught.value.hint
    assert (tables(bare), migrations.current(bare)) == before


def test_concurrent_upgrades_run_one_after_the_other(fresh_database: URL) -> None:
    engines = [sessions.connect(fresh_database) for _ in range(3)]
    with ThreadPoolExecutor() as pool:
        changed = pool.map(migrations.upgrade, engines, [Silent()] * 3)
    assert sorted(changed) == [False, False, True]
    assert migrations.differences(engines[0]) == []
    for one in engines:
        one.dispose()


@pytest.mark.slow
def test_an_upgrade_that_waits_too_long_for_another_upgrade_fails(
    bare: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "UPGRADE_SECONDS", 1)
    with (
        sessions.advisory_lock(bare, migrations.UPGRADE_LOCK, BusyError("")),
        pytest.raises(BusyError, match="another process has been migrating"),
    ):
        migrations.upgrade(bare, Silent())
    assert migrations.upgrade(bare, Silent())


def test_a_lock_cannot_be_acquired_while_it_is_held(engine: Engine) -> None:
    busy = BusyError("busy")
    with sessions.advisory_lock(engine, "experiment a", busy):
        with pytest.raises(BusyError), sessions.advisory_lock(engine, "experiment a", busy):
            pytest.fail("the lock was acquired twice")
        with sessions.advisory_lock(engine, "experiment b", busy):
            pass
    with sessions.open_session(engine) as session:
        sessions.wait_for_lock(session, "experiment a", 1, busy)
        with pytest.raises(BusyError), sessions.advisory_lock(engine, "experiment a", busy):
            pytest.fail("the lock was acquired twice")
    with sessions.advisory_lock(engine, "experiment a", busy):
        pass


def test_a_lock_does_not_block_vacuum_and_does_not_time_out(clean_database: URL) -> None:
    """The lock's transaction has no snapshot, and no idle timeout ends it."""
    options = "-c default_transaction_isolation=serializable"
    options += " -c idle_in_transaction_session_timeout=500"
    engine = sessions.connect(clean_database.update_query_dict({"options": options}))
    query = text("select pg_sleep(1), state, backend_xmin, backend_xid from pg_stat_activity"
                 " where pid = :pid")  # fmt: skip
    with (
        sessions.advisory_lock(engine, "experiment a", BusyError("busy")) as lock,
        sessions.open_session(engine) as session,
    ):
        lock.verify(session)
        row = session.execute(query, {"pid": lock.pid}).one()
        assert tuple(row)[1:] == ("idle in transaction", None, None)
    engine.dispose()


def test_a_lost_lock_is_detected_and_can_be_acquired_again(engine: Engine) -> None:
    busy = BusyError("busy")
    done = []
    with sessions.advisory_lock(engine, "experiment a", busy) as lock:
        with sessions.open_session(engine) as session:
            lock.verify(session)
            with pytest.raises(UnavailableError, match="holds the lock 'experiment b' was lost"):
                sessions.Lock("experiment b", lock.pid).verify(session)
        cut_off_lock_holder(engine)
        with (
            sessions.open_session(engine) as session,
            pytest.raises(UnavailableError, match="holds the lock 'experiment a'"),
        ):
            lock.verify(session)
        with (
            sessions.advisory_lock(engine, "experiment a", busy) as another,
            sessions.open_session(engine) as session,
        ):
            another.verify(session)
            with pytest.raises(UnavailableError):
                lock.verify(session)
        done.append("work")
    assert done, "releasing a lost lock is not an error"


@pytest.mark.parametrize(
    ("changes", "message", "hint"),
    [
        ({"host": "127.0.0.1", "port": 1}, "cannot be reached: Connection refused", "starcast up"),
        ({}, "refuses the login of", "STARCAST_POSTGRES_PASSWORD_FILE"),
        ({"database": "nowhere"}, "has no database 'nowhere'", "create it: createdb nowhere"),
    ],
)
def test_the_error_for_a_failed_connection_names_the_cause_but_not_the_password(
    fresh_database: URL, changes: dict[str, Any], message: str, hint: str
) -> None:
    password = fresh_database.password if "database" in changes else "open-sesame"
    with pytest.raises(UnavailableError, match=message) as failed:
        sessions.connect(fresh_database.set(**changes, password=password))
    assert password is None or password not in str(failed.value)
    assert hint in failed.value.hint
    assert failed.value.__suppress_context__


def test_a_server_that_stops_during_a_statement_is_unavailable(engine: Engine) -> None:
    with pytest.raises(UnavailableError), sessions.open_session(engine) as session:
        session.execute(text("select pg_terminate_backend(pg_backend_pid())"))


def busy(engine: Engine, striking: threading.Thread) -> None:
    """Run transactions under a lock until the signal arrives."""
    with sessions.advisory_lock(engine, "this", BusyError("busy")) as lock:
        striking.start()
        while striking.is_alive():
            with sessions.open_session(engine) as session:
                lock.verify(session)
        time.sleep(1)


@pytest.fixture
def _no_garbage(engine: Engine) -> Iterator[None]:  # noqa: ARG001 - its database is dropped later
    """Disable garbage collection in a test, since Python ignores interrupts during a collection.

    Afterwards, a collection closes interrupted connections. While such a connection is open,
    dropping the database takes up to a minute.
    """
    gc.collect()
    gc.disable()
    yield
    # The garbage collector closes a connection that was interrupted before it reached the pool.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.enable()
        gc.collect()


@pytest.mark.slow
@pytest.mark.usefixtures("_no_garbage")
def test_ctrl_c_during_a_statement_is_not_reported_as_a_connection_error(
    engine: Engine, capfd: pytest.CaptureFixture[str]
) -> None:
    """Interrupts arrive at different moments; the driver turns some of them into its own errors."""
    for round_ in range(60):
        with ctrl_c(round_ / 2_000) as striking, pytest.raises(KeyboardInterrupt):
            busy(engine, striking)
        engine.dispose()
    assert capfd.readouterr().err == ""


def test_an_error_during_the_handling_of_ctrl_c_does_not_hide_the_interrupt(engine: Engine) -> None:
    """The driver may raise an error of its own while an interrupt is being handled."""

    def fail_while_interrupted() -> None:
        with sessions.open_session(engine) as session:
            try:
                signal.raise_signal(signal.SIGINT)
            finally:
                session.execute(text("select nothing"))

    with pytest.raises(KeyboardInterrupt):
        fail_while_interrupted()
