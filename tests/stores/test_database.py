"""The relational schema: migrations, models, foreign and newer databases, unreachable servers."""

import gc
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from fractions import Fraction

import pytest
from alembic import command
from sqlalchemy import URL, Engine, Text, column, func, inspect, select, text
from sqlalchemy.exc import IntegrityError

from starcast.comparison.compare import compare
from starcast.comparison.sides import load_side
from starcast.database import artifact_rows, migrations, models, repository, sessions
from starcast.errors import BusyError, RejectedError, UnavailableError
from starcast.experiments.design import missing_points
from starcast.experiments.grid import Grid
from starcast.experiments.reproduction import reproduce
from starcast.experiments.running import run_experiment
from starcast.progress import Silent
from support.recorder import Recorder
from support.striking import ctrl_c


def tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names())


@pytest.fixture
def engine(bare: Engine) -> Engine:
    """A private database with the newest schema, which a test may change."""
    migrations.upgrade(bare, Silent())
    return bare


def test_the_schema_goes_from_empty_to_head_to_base_to_head(bare: Engine) -> None:
    assert sessions.current(bare) is None
    assert migrations.upgrade(bare, Silent())
    assert sessions.current(bare) == sessions.head()
    assert tables(bare) == {*models.Base.metadata.tables, "alembic_version"}
    migrations.downgrade(bare)
    assert sessions.current(bare) is None
    assert tables(bare) == {"alembic_version"}
    assert migrations.upgrade(bare, Silent())
    sessions.check(bare)


def test_the_migrations_make_exactly_the_models(engine: Engine) -> None:
    assert migrations.differences(engine) == []


#: The rows of revision 0001 for an experiment with one run.
OLD = """
    insert into experiment (name, grid) values ('old', '{"collective": "broadcast",
    "topology": ["S4"],
        "algorithm": ["multiple"], "ports": ["all"], "segments": [2], "m": ["64"],
        "T_s": ["100"], "T_c": ["1"]}');
    insert into run (experiment, topology, collective, algorithm, ports, m, "M", "T_s", "T_c", p,
    status, started_at,
        finished_at) values (1, 'S4', 'broadcast', 'multiple', 'all', '64', 1, '100', '1', 2,
        'complete', now(), now());
    insert into cost (run, kind, steps, start_ups, transmissions, bytes, time, source)
        values (1, 'simulated', 9, '9', 138, '96', '996', 'simulated');
    insert into step_profile (run, step, links_used, packets, largest_packet)
        values (1, 1, 4, 4, 1);
    insert into topology values ('S4', 'star', 4, null, 24, 36, 3, 4);
    insert into schedule
        values ('S4:old', 'S4', null, 'broadcast', 'multiple', 'all', '{}', 0, false, 9, 138, 2, 6)
"""


def test_data_of_the_first_revision_survives_the_second(bare: Engine) -> None:
    """Old runs keep their points, their experiment is recognized; old schedules have no profile."""
    with bare.begin() as connection:
        command.upgrade(migrations._config(connection), "0001")
        for statement in OLD.split(";"):
            connection.exec_driver_sql(statement)
    migrations.upgrade(bare, Silent())
    assert migrations.differences(bare) == []
    with sessions.session(bare) as session:
        (run,) = repository.load_runs(session, 1)
        assert (run.base, run.missing, run.copies, run.faults, run.seed) == (None, 0, 1, [], 0)
        assert [cost.time for cost in run.costs] == [996]
        assert len(repository.load_profile(session, run.id)) == 1
        assert artifact_rows.load_schedule_profile(session, "S4:old") == []
    again = Grid(("S4",), ("multiple",), (Fraction(64),), segments=(2,))
    assert run_experiment(bare, "old", again, Silent()).kept == 1
    migrations.downgrade(bare, "0001", allow_data_loss=True)
    with bare.connect() as connection:
        assert connection.scalar(text("select count(*) from run")) == 1
    assert "schedule_step" not in tables(bare)
    migrations.upgrade(bare, Silent())
    assert migrations.differences(bare) == []


def test_the_downgrade_to_the_first_revision_drops_runs_that_it_cannot_distinguish(
    engine: Engine,
) -> None:
    bases = Grid.from_json({
        "topology": "S3", "collective": "allgather", "algorithm": ["dimension-change", "necklace"],
        "message_bytes": 1,
        "base": ["greedy", "necklace"],
    })  # fmt: skip
    run_experiment(engine, "bases", bases, Silent())
    migrations.downgrade(engine, "0001", allow_data_loss=True)
    with engine.connect() as connection:
        assert connection.scalars(text("select algorithm from run")).all() == ["necklace"]


def test_the_third_revision_creates_verification_runs_and_its_downgrade_drops_them(
    bare: Engine,
) -> None:
    """The table of verdicts that it replaces was never used; experiments survive both ways."""
    with bare.begin() as connection:
        command.upgrade(migrations._config(connection), "0002")
        for statement in OLD.split(";"):
            connection.exec_driver_sql(statement)
    assert {"claim_run", "claim_evidence"} & tables(bare) == set()
    migrations.upgrade(bare, Silent())
    assert migrations.differences(bare) == []
    with sessions.session(bare) as session:
        session.add(models.ClaimRun(level="quick", version="1", fingerprint="f"))
        session.flush()
        session.add(
            models.ClaimEvidence(claim_run=1, claim="TS.L5", size="S3", evidence={}, seconds=0.5)
        )
        session.add(
            models.ClaimVerdict(
                claim_run=1,
                claim="TS.L5",
                verdict="fails",
                sizes=["S3"],
                counterexample={"n": 3},
                detail="",
            )
        )
    with bare.begin() as connection:
        connection.execute(text("delete from claim_run"))
        assert connection.scalar(text("select count(*) from claim_evidence")) == 0
        assert connection.scalar(text("select count(*) from claim_verdict")) == 0
    migrations.downgrade(bare, "0002", allow_data_loss=True)
    with bare.begin() as connection:
        connection.execute(
            text(
                "insert into claim_verdict (claim, version, verdict, detail)"
                " values ('TS.L5', '1', 'holds', '')"
            )
        )
        assert connection.scalar(text("select count(*) from run")) == 1
    assert {"claim_run", "claim_evidence"} & tables(bare) == set()
    migrations.upgrade(bare, Silent())
    assert migrations.differences(bare) == []


#: Rows of revision 0003 with the names that revision 0004 replaces.
THIRD = """
    insert into experiment (name, grid) values ('allgather', '{"title": "m and T_s", "grid": [
        {"topology": ["S4"], "collective": ["allgather"], "algorithm": ["dimension-change"],
         "tree": ["necklace", "greedy"], "m": ["64"], "T_s": ["23/3"], "T_c": ["1/2"]}]}');
    insert into run (experiment, topology, collective, algorithm, ports, m, "M", "T_s", "T_c", p,
        tree, status, started_at, finished_at) values (1, 'S4', 'allgather', 'dimension-change',
        'all', '64', 1, '23/3', '1/2', 1, 'necklace', 'complete', now(), now());
    insert into topology values ('S4', 'star', 4, null, 24, 36, 3, 4);
    insert into forest (id, topology, construction, arguments, root, root_label, trees, height,
        congestion) values
        ('S4:dimension-change(i=2,tree=multiple):1234', 'S4', 'dimension-change',
            '{"i": 2, "tree": "multiple"}', 0, '1234', 3, 5, 2),
        ('S4:label-change(tree=greedy):2134', 'S4', 'label-change',
            '{"tree": "greedy"}', 1, '2134', 1, 4, 1);
    insert into tree values ('S4:label-change(tree=greedy):2134', 0, 4, 12, 24, '');
    insert into schedule values
        ('S4:allgather:dimension-change:all:tree=necklace:1234', 'S4', null, 'allgather',
            'dimension-change', 'all', '{"tree": "necklace"}', 0, true, 9, 138, 2, 6),
        ('S4:broadcast:mine:all::1234', 'S4', 'S4:dimension-change(i=2,tree=multiple):1234',
            'broadcast', 'mine', 'all', '{}', 0, false, 9, 138, 2, 6);
    insert into schedule_step
        values ('S4:allgather:dimension-change:all:tree=necklace:1234', 1, 1, 1, 1);
    insert into materialization (kind, key, state, way, expected_nodes, expected_relationships,
        expected_checksum) values
        ('forest', 'S4:dimension-change(i=2,tree=multiple):1234', 'complete', 'bolt', 1, 1, 'x'),
        ('schedule', 'S4:allgather:dimension-change:all:tree=necklace:1234', 'complete', 'import',
            1, 1, 'x');
    insert into ledger (level, version, fingerprint) values ('quick', '1', 'f');
    insert into claim_evidence values (1, 'TS.L5', 'S3', '{}', 0.5);
    insert into claim_verdict values (1, 'TS.L5', 'fails', '["S4"]', '{"n": 4, "tree": 1}', '',
        'S4:dimension-change(i=2,tree=multiple):1234')
"""
#: Queries on revisions 0003 and 0004, each with the result that both revisions must give.
RENAMED_IDS = {
    "select id from forest": {
        "S4:dimension-change(base=multiple,i=2):1234", "S4:label-change(base=greedy):2134",
    },
    "select forest from tree": {"S4:label-change(base=greedy):2134"},
    "select id from schedule": {
        "S4:allgather:dimension-change:all:base=necklace:1234", "S4:broadcast:mine:all::1234",
    },
    "select forest from schedule where forest is not null": {
        "S4:dimension-change(base=multiple,i=2):1234"
    },
    "select schedule from schedule_step": {"S4:allgather:dimension-change:all:base=necklace:1234"},
    "select id from materialization": {
        "S4:dimension-change(base=multiple,i=2):1234",
        "S4:allgather:dimension-change:all:base=necklace:1234",
    },
    "select subject from claim_verdict": {"S4:dimension-change(base=multiple,i=2):1234"},
    "select arguments::text from forest": {'{"i": 2, "base": "multiple"}', '{"base": "greedy"}'},
    "select arguments ->> 'base' from schedule where arguments <> '{}'": {"necklace"},
    "select counterexample::text from claim_verdict": {'{"n": 4, "tree": 1}'},
    "select concat_ws(' ', segments, messages, message_bytes, t_s, base) from run": {
        "1 1 64 23/3 necklace"
    },
    "select message_bytes_value || ' ' || t_c_value from run": {"64 0.5"},
    "select grid -> 'grid' -> 0 ->> 'base' from experiment": {'["necklace", "greedy"]'},
    "select method from materialization": {"bolt", "import"},
    "select claim_run::text from claim_evidence": {"1"},
}  # fmt: skip


def everything(engine: Engine) -> dict[str, list[str]]:
    """Return all rows of all tables but alembic's as text, sorted."""
    with engine.connect() as connection:
        return {
            table: sorted(
                connection.scalars(
                    select(func.to_jsonb(column(table)).cast(Text)).select_from(text(table))
                )
            )
            for table in tables(engine) - {"alembic_version"}
        }


def test_data_of_the_third_revision_get_plain_names_and_back(bare: Engine) -> None:
    """Columns, ids, arguments and axes are renamed; a downgrade restores every row."""
    with bare.begin() as connection:
        command.upgrade(migrations._config(connection), "0003")
        for statement in THIRD.split(";"):
            connection.exec_driver_sql(statement)
    before = everything(bare)
    migrations.upgrade(bare, Silent())
    assert migrations.differences(bare) == []
    with bare.connect() as connection:
        for query, expected in RENAMED_IDS.items():
            assert set(connection.scalars(text(query))) == expected, query
    with sessions.session(bare) as session:
        (run,) = repository.load_runs(session, 1)
        experiment = repository.load_experiment(session, "allgather")
        (missing,) = missing_points(experiment, [run])
        assert (missing.base, missing.t_s) == ("greedy", Fraction(23, 3))
    migrations.downgrade(bare, "0003")
    assert everything(bare) == before
    migrations.upgrade(bare, Silent())
    assert migrations.differences(bare) == []


def test_a_run_stored_by_an_old_version_is_reproduced_and_compared(bare: Engine) -> None:
    points = Grid(("S4",), ("multiple", "greedy"), (Fraction(64),), segments=(2,))
    migrations.upgrade(bare, Silent())
    run_experiment(bare, "old", points, Silent())
    migrations.downgrade(bare, "0003")
    migrations.upgrade(bare, Silent())
    assert run_experiment(bare, "old", points, Silent()).kept == 2
    assert all(each.agrees for each in reproduce(bare, "old", Silent()))
    with sessions.session(bare) as session:
        (row,) = compare([load_side(session, "old")]).rows()
    assert row["verdict"] == "worse"


@pytest.mark.parametrize(
    ("row", "constraint"),
    [
        (
            (
                "insert into claim_run (level, sizes, version, fingerprint)"
                " values ('quick', '[]', '1', 'f')"
            ),
            "ck_claim_run_sizes",
        ),
        ("insert into claim_run (version, fingerprint) values ('1', 'f')", "ck_claim_run_sizes"),
        (
            "insert into claim_run (level, version, fingerprint) values ('slow', '1', 'f')",
            "ck_claim_run_level",
        ),
        (
            (
                "insert into claim_verdict"
                " values ((select max(id) from claim_run), 'TS.L5', 'holds', '[]', '{}', '')"
            ),
            "ck_claim_verdict_counterexample",
        ),
        (
            (
                "insert into claim_verdict"
                " values ((select max(id) from claim_run), 'TS.L5', 'perhaps', '[]', null, '')"
            ),
            "ck_claim_verdict_verdict",
        ),
    ],
)
def test_verification_runs_refuse_impossible_rows(
    engine: Engine, row: str, constraint: str
) -> None:
    with engine.begin() as connection:
        connection.execute(
            text("insert into claim_run (level, version, fingerprint) values ('quick', '1', 'f')")
        )
    with pytest.raises(IntegrityError, match=constraint), engine.begin() as connection:
        connection.execute(text(row))


def test_a_table_that_was_changed_by_hand_is_a_difference(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("alter table forest drop column height cascade"))
        connection.execute(text("alter table topology alter column k set not null"))
    found = migrations.differences(engine)
    assert len(found) == 3
    assert "add view artifact" in found
    assert any("add column" in line and "height" in line for line in found)
    assert any("modify nullable" in line and "topology" in line for line in found)


def test_upgrading_an_up_to_date_schema_does_nothing_and_reports_it(engine: Engine) -> None:
    recorder = Recorder()
    assert not migrations.upgrade(engine, recorder)
    assert recorder.lines == [f"the schema is up to date ({sessions.head()})"]


def test_a_store_has_one_identity_that_survives_an_upgrade(engine: Engine) -> None:
    with sessions.session(engine) as session:
        first = session.scalars(select(models.Store.id)).all()
    migrations.upgrade(engine, Silent())
    with sessions.session(engine) as session:
        assert session.scalars(select(models.Store.id)).all() == first
    assert len(first) == 1
    with (
        pytest.raises(IntegrityError, match="ix_store_one_row"),
        sessions.session(engine) as session,
    ):
        session.add(models.Store())


def test_a_database_without_schema_is_refused_with_the_command_that_creates_it(
    bare: Engine,
) -> None:
    with pytest.raises(RejectedError, match="no schema yet") as refused:
        sessions.check(bare)
    assert "starcast db upgrade" in refused.value.hint


def test_an_older_schema_is_refused_with_the_command_that_updates_it(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = sessions.head()
    monkeypatch.setattr(sessions, "head", lambda: "8888")
    with pytest.raises(RejectedError, match=f"is {now}, this starcast needs 8888") as refused:
        sessions.check(engine)
    assert "starcast db upgrade" in refused.value.hint


@pytest.mark.parametrize(
    "call",
    [sessions.check, lambda engine: migrations.upgrade(engine, Silent()), migrations.downgrade],
    ids=["check", "upgrade", "downgrade"],
)
def test_a_newer_schema_is_refused_and_unchanged(
    engine: Engine, call: Callable[[Engine], object]
) -> None:
    with engine.begin() as connection:
        connection.execute(text("update alembic_version set version_num = '9999'"))
    with pytest.raises(RejectedError, match="newer than this starcast") as refused:
        call(engine)
    assert refused.value.hint == "update starcast"
    assert sessions.current(engine) == "9999"
    assert tables(engine) > {"run", "cost"}


@pytest.mark.parametrize(
    "version_table", [False, True], ids=["without alembic", "with an alembic of its own"]
)
def test_a_database_of_another_program_is_refused_and_unchanged(
    bare: Engine, version_table: bool
) -> None:
    with bare.begin() as connection:
        connection.execute(text("create table invoice (id int primary key)"))
        if version_table:
            connection.execute(
                text("create table alembic_version (version_num varchar(32) not null)")
            )
            connection.execute(text("insert into alembic_version values ('4f00ba12')"))
    before = tables(bare)
    for call in (
        lambda: sessions.check(bare),
        lambda: migrations.upgrade(bare, Silent()),
        lambda: migrations.downgrade(bare),
    ):
        with pytest.raises(
            RejectedError, match="tables of another program, such as 'invoice'"
        ) as refused:
            call()
        assert "empty database" in refused.value.hint
    assert tables(bare) == before


@pytest.mark.parametrize("revision", ["abc", sessions.head()])
def test_a_revision_without_our_tables_belongs_to_another_program(
    bare: Engine, revision: str
) -> None:
    with bare.begin() as connection:
        connection.execute(text("create table alembic_version (version_num varchar(32) not null)"))
        connection.execute(
            text("insert into alembic_version values (:revision)"), {"revision": revision}
        )
    for call in (
        lambda: sessions.check(bare),
        lambda: migrations.upgrade(bare, Silent()),
        lambda: migrations.downgrade(bare),
    ):
        with pytest.raises(
            RejectedError, match="of another program, such as 'alembic_version'"
        ) as refused:
            call()
        assert "empty database" in refused.value.hint
    assert (tables(bare), sessions.current(bare)) == ({"alembic_version"}, revision)


def test_our_tables_without_a_revision_are_not_taken_for_ours(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("drop table alembic_version"))
    with pytest.raises(RejectedError, match="of another program"):
        migrations.upgrade(engine, Silent())


def test_two_upgrades_at_once_are_one_after_the_other(fresh_database: URL) -> None:
    engines = [sessions.connect(fresh_database) for _ in range(3)]
    did: list[bool] = []
    threads = [
        threading.Thread(target=lambda one=one: did.append(migrations.upgrade(one, Silent())))
        for one in engines
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(did) == [False, False, True]
    assert migrations.differences(engines[0]) == []
    for one in engines:
        one.dispose()


@pytest.mark.slow
def test_an_upgrade_that_waits_too_long_reports_another_process(
    fresh_database: URL, bare: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(migrations, "UPGRADE_SECONDS", 1)
    other = sessions.connect(fresh_database)
    with other.begin() as connection:
        connection.execute(
            text("select pg_advisory_xact_lock(:key)"), {"key": migrations.UPGRADE_LOCK}
        )
        with pytest.raises(BusyError, match="another process has been migrating"):
            migrations.upgrade(bare, Silent())
    other.dispose()
    assert migrations.upgrade(bare, Silent())


def test_a_lock_is_refused_while_it_is_held_and_free_afterwards(engine: Engine) -> None:
    busy = BusyError("busy")
    with sessions.advisory_lock(engine, "experiment a", busy):
        with pytest.raises(BusyError), sessions.advisory_lock(engine, "experiment a", busy):
            pytest.fail("the lock was given twice")
        with sessions.advisory_lock(engine, "experiment b", busy):
            pass
    with sessions.advisory_lock(engine, "experiment a", busy):
        pass


def test_a_lock_does_not_prevent_the_clean_up_of_the_server(clean_database: URL) -> None:
    """It has no snapshot, and is not ended for being idle, whatever the defaults are."""
    options = "-c default_transaction_isolation=serializable"
    options += " -c idle_in_transaction_session_timeout=500"
    engine = sessions.connect(clean_database.update_query_dict({"options": options}))
    query = text("select pg_sleep(1), state, backend_xmin, backend_xid from pg_stat_activity"
                 " where pid = :pid")  # fmt: skip
    with (
        sessions.advisory_lock(engine, "experiment a", BusyError("busy")) as lock,
        sessions.session(engine) as opened,
    ):
        lock.verify(opened)
        row = opened.execute(query, {"pid": lock.pid}).one()
        assert tuple(row)[1:] == ("idle in transaction", None, None)
    engine.dispose()


def cut_off(engine: Engine, pid: int) -> None:
    """End a connection on the server, as a failing network does."""
    with engine.begin() as connection:
        assert connection.scalar(text("select pg_terminate_backend(:pid, 5000)"), {"pid": pid})


def test_a_lost_lock_is_detected_and_can_be_taken_again(engine: Engine) -> None:
    busy = BusyError("busy")
    done = []
    with sessions.advisory_lock(engine, "experiment a", busy) as lock:
        with sessions.session(engine) as opened:
            lock.verify(opened)
            with pytest.raises(UnavailableError, match="holds the lock 'experiment b' was lost"):
                sessions.Lock("experiment b", lock.pid).verify(opened)
        cut_off(engine, lock.pid)
        with (
            sessions.session(engine) as opened,
            pytest.raises(UnavailableError, match="holds the lock 'experiment a'"),
        ):
            lock.verify(opened)
        with (
            sessions.advisory_lock(engine, "experiment a", busy) as another,
            sessions.session(engine) as opened,
        ):
            another.verify(opened)
            with pytest.raises(UnavailableError):
                lock.verify(opened)
        done.append("work")
    assert done, "releasing a lost lock is not an error"


@pytest.mark.slow
def test_waiting_for_a_lock_takes_it_for_the_rest_of_the_transaction(engine: Engine) -> None:
    busy = BusyError("busy")
    with (
        sessions.advisory_lock(engine, "experiment a", busy),
        pytest.raises(BusyError, match="busy"),
        sessions.session(engine) as opened,
    ):
        sessions.wait_for_lock(opened, "experiment a", 1, busy)
    with sessions.session(engine) as opened:
        sessions.wait_for_lock(opened, "experiment a", 1, busy)
        with pytest.raises(BusyError), sessions.advisory_lock(engine, "experiment a", busy):
            pytest.fail("the lock was given twice")
    with sessions.advisory_lock(engine, "experiment a", busy):
        pass


def test_a_server_that_is_down_is_one_sentence_without_the_password(fresh_database: URL) -> None:
    with pytest.raises(UnavailableError, match="cannot be reached: Connection refused") as refused:
        sessions.connect(fresh_database.set(host="127.0.0.1", port=1, password="sesame"))
    assert "sesame" not in str(refused.value)
    assert refused.value.__suppress_context__


def test_a_wrong_password_has_its_own_error_that_does_not_repeat_it(fresh_database: URL) -> None:
    with pytest.raises(UnavailableError, match="refuses the login of") as refused:
        sessions.connect(fresh_database.set(password="open-sesame"))
    assert "sesame" not in str(refused.value)
    assert "STARCAST_POSTGRES_PASSWORD_FILE" in refused.value.hint


def test_a_database_that_does_not_exist_has_its_own_error(fresh_database: URL) -> None:
    with pytest.raises(UnavailableError, match="has no database 'nowhere'") as refused:
        sessions.connect(fresh_database.set(database="nowhere"))
    assert refused.value.hint == "create it: createdb nowhere"


def test_a_server_that_goes_away_in_the_middle_is_unavailable(
    engine: Engine, fresh_database: URL
) -> None:
    other = sessions.connect(fresh_database)

    def work() -> None:
        with sessions.session(engine) as session:
            own = session.scalar(text("select pg_backend_pid()"))
            with other.begin() as connection:
                connection.execute(text("select pg_terminate_backend(:own)"), {"own": own})
            session.execute(text("select 1"))

    with pytest.raises(UnavailableError):
        work()
    other.dispose()


def test_errors_that_are_not_about_the_connection_pass_unchanged(engine: Engine) -> None:
    with pytest.raises(IntegrityError), sessions.session(engine) as session:
        session.add(models.Forest(id="S5:none:12345", topology="S5", construction="none", root=0,
        root_label="12345",
                                  trees=1, height=1, congestion=1))  # fmt: skip


def test_a_session_that_fails_leaves_nothing_behind(engine: Engine) -> None:
    def work() -> None:
        with sessions.session(engine) as session:
            session.add(models.Experiment(name="half", grid={}))
            session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    with sessions.session(engine) as session:
        assert session.scalars(select(models.Experiment)).all() == []


def busy(engine: Engine, striking: threading.Thread) -> None:
    """Run transactions under a lock until the signal arrives."""
    with sessions.advisory_lock(engine, "this", BusyError("busy")) as lock:
        striking.start()
        while striking.is_alive():
            with sessions.session(engine) as session:
                lock.verify(session)
        time.sleep(1)


@pytest.fixture
def _no_garbage(engine: Engine) -> Iterator[None]:  # noqa: ARG001 - its database is dropped later
    """Disable garbage collection: Python ignores exceptions that are raised during it.

    PostgreSQL drops no database for a minute while a connection to it is interrupted but open.
    """
    gc.collect()
    gc.disable()
    yield
    # A connection that is interrupted before the pool has it is closed by the garbage collection.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)
        gc.enable()
        gc.collect()


@pytest.mark.slow
@pytest.mark.usefixtures("_no_garbage")
def test_ctrl_c_during_an_exchange_is_not_a_connection_error(
    engine: Engine, capfd: pytest.CaptureFixture[str]
) -> None:
    """At any moment: the driver turns about one in ten into its own error, and the pool logs it."""
    for round_ in range(60):
        with ctrl_c(round_ / 2_000) as striking, pytest.raises(KeyboardInterrupt):
            busy(engine, striking)
        engine.dispose()
    assert capfd.readouterr().err == ""


def fails_while_interrupted(engine: Engine) -> None:
    """Raise an error while an interruption is being handled, as the driver may do."""
    with sessions.session(engine) as session:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            session.execute(text("select nothing"))


def test_an_error_caused_by_an_interruption_is_an_interruption(engine: Engine) -> None:
    with pytest.raises(KeyboardInterrupt):
        fails_while_interrupted(engine)
