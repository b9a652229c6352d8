"""The schema and the way to it: migrations, models, foreign and newer databases, servers that cannot be reached."""

import gc
import signal
import threading
import time
from collections.abc import Iterator
from fractions import Fraction

import pytest
from alembic import command
from sqlalchemy import URL, Engine, inspect, select, text
from sqlalchemy.exc import IntegrityError

from starcast.database import models, repository, sessions
from starcast.errors import BusyError, RejectedError, UnavailableError
from starcast.experiments.grid import Grid
from starcast.experiments.running import run_experiment
from starcast.progress import Silent
from support.striking import ctrl_c


def tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names())


@pytest.fixture
def engine(bare: Engine) -> Engine:
    """A database of the test's own with the newest schema, which it may alter."""
    sessions.upgrade(bare, Silent())
    return bare


class Told(Silent):
    """A reporter that remembers what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        """Remember it."""
        self.lines.append(text)


def test_the_schema_goes_from_empty_to_head_to_base_to_head(bare: Engine) -> None:
    assert sessions.current(bare) is None
    assert sessions.upgrade(bare, Silent())
    assert sessions.current(bare) == sessions.head()
    assert tables(bare) == {*models.Base.metadata.tables, "alembic_version"}
    sessions.downgrade(bare)
    assert sessions.current(bare) is None
    assert tables(bare) == {"alembic_version"}
    assert sessions.upgrade(bare, Silent())
    sessions.check(bare)


def test_the_migrations_make_exactly_the_models(engine: Engine) -> None:
    assert sessions.differences(engine) == []


#: What revision 0001 kept of an experiment with one run.
OLD = """
    insert into experiment (name, grid) values ('old', '{"collective": "broadcast", "topology": ["S4"],
        "algorithm": ["multiple"], "ports": ["all"], "segments": [2], "m": ["64"], "T_s": ["100"], "T_c": ["1"]}');
    insert into run (experiment, topology, collective, algorithm, ports, m, "M", "T_s", "T_c", p, status, started_at,
        finished_at) values (1, 'S4', 'broadcast', 'multiple', 'all', '64', 1, '100', '1', 2, 'complete', now(), now());
    insert into cost (run, kind, steps, start_ups, transmissions, bytes, time, source)
        values (1, 'simulated', 9, '9', 138, '96', '996', 'simulated');
    insert into step_profile (run, step, links_used, packets, largest_packet) values (1, 1, 4, 4, 1);
    insert into topology values ('S4', 'star', 4, null, 24, 36, 3, 4);
    insert into schedule values ('S4:old', 'S4', null, 'broadcast', 'multiple', 'all', '{}', 0, false, 9, 138, 2, 6)
"""


def test_data_of_the_first_revision_survives_the_second(bare: Engine) -> None:
    """Old runs are at the points of today, and their experiment is recognized; old schedules have no profile."""
    with bare.begin() as connection:
        command.upgrade(sessions._config(connection), "0001")
        for statement in OLD.split(";"):
            connection.exec_driver_sql(statement)
    sessions.upgrade(bare, Silent())
    assert sessions.differences(bare) == []
    with sessions.session(bare) as session:
        (run,) = repository.load_runs(session, 1)
        assert (run.tree, run.missing, run.copies, run.faults, run.seed) == (None, 0, 1, [], 0)
        assert [cost.time for cost in run.costs] == [996]
        assert len(repository.load_profile(session, run.id)) == 1
        assert repository.load_schedule_profile(session, "S4:old") == []
    again = Grid(("S4",), ("multiple",), (Fraction(64),), segments=(2,))
    assert run_experiment(bare, "old", again, Silent()).kept == 1
    sessions.downgrade(bare, "0001")
    with bare.connect() as connection:
        assert connection.scalar(text("select count(*) from run")) == 1
    assert "schedule_step" not in tables(bare)
    sessions.upgrade(bare, Silent())
    assert sessions.differences(bare) == []


def test_going_back_drops_the_runs_that_the_first_revision_could_not_tell_apart(
    engine: Engine,
) -> None:
    trees = Grid.from_json({
        "topology": "S3", "collective": "allgather", "algorithm": ["dimension-change", "necklace"], "m": 1,
        "tree": ["greedy", "necklace"],
    })  # fmt: skip
    run_experiment(engine, "trees", trees, Silent())
    sessions.downgrade(engine, "0001")
    with engine.connect() as connection:
        assert connection.scalars(text("select algorithm from run")).all() == ["necklace"]


def test_the_third_revision_makes_the_ledger_and_going_back_drops_it(bare: Engine) -> None:
    """The table of verdicts that it replaces was never written; experiments stay, both ways."""
    with bare.begin() as connection:
        command.upgrade(sessions._config(connection), "0002")
        for statement in OLD.split(";"):
            connection.exec_driver_sql(statement)
    assert {"ledger", "claim_evidence"} & tables(bare) == set()
    sessions.upgrade(bare, Silent())
    assert sessions.differences(bare) == []
    with sessions.session(bare) as session:
        session.add(models.Ledger(level="quick", version="1", fingerprint="f"))
        session.flush()
        session.add(
            models.ClaimEvidence(ledger=1, claim="TS.L5", size="S3", evidence={}, seconds=0.5)
        )
        session.add(
            models.ClaimVerdict(
                ledger=1,
                claim="TS.L5",
                verdict="fails",
                sizes=["S3"],
                counterexample={"n": 3},
                detail="",
            )
        )
    with bare.begin() as connection:
        connection.execute(text("delete from ledger"))
        assert connection.scalar(text("select count(*) from claim_evidence")) == 0
        assert connection.scalar(text("select count(*) from claim_verdict")) == 0
    sessions.downgrade(bare, "0002")
    with bare.begin() as connection:
        connection.execute(
            text(
                "insert into claim_verdict (claim, version, verdict, detail) values ('TS.L5', '1', 'holds', '')"
            )
        )
        assert connection.scalar(text("select count(*) from run")) == 1
    assert {"ledger", "claim_evidence"} & tables(bare) == set()
    sessions.upgrade(bare, Silent())
    assert sessions.differences(bare) == []


@pytest.mark.parametrize(
    ("row", "constraint"),
    [
        (
            "insert into ledger (level, sizes, version, fingerprint) values ('quick', '[]', '1', 'f')",
            "ck_ledger_sizes",
        ),
        ("insert into ledger (version, fingerprint) values ('1', 'f')", "ck_ledger_sizes"),
        (
            "insert into ledger (level, version, fingerprint) values ('slow', '1', 'f')",
            "ck_ledger_level",
        ),
        (
            "insert into claim_verdict values ((select max(id) from ledger), 'TS.L5', 'holds', '[]', '{}', '')",
            "ck_claim_verdict_counterexample",
        ),
        (
            "insert into claim_verdict values ((select max(id) from ledger), 'TS.L5', 'perhaps', '[]', null, '')",
            "ck_claim_verdict_verdict",
        ),
    ],
)
def test_the_ledger_refuses_what_cannot_be(engine: Engine, row: str, constraint: str) -> None:
    with engine.begin() as connection:
        connection.execute(
            text("insert into ledger (level, version, fingerprint) values ('quick', '1', 'f')")
        )
    with pytest.raises(IntegrityError, match=constraint), engine.begin() as connection:
        connection.execute(text(row))


def test_a_table_that_was_changed_by_hand_is_a_difference(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("alter table forest drop column height"))
        connection.execute(text("alter table topology alter column k set not null"))
    found = sessions.differences(engine)
    assert len(found) == 2
    assert any("add column" in line and "height" in line for line in found)
    assert any("modify nullable" in line and "topology" in line for line in found)


def test_upgrading_an_up_to_date_schema_does_nothing_and_says_so(engine: Engine) -> None:
    told = Told()
    assert not sessions.upgrade(engine, told)
    assert told.lines == [f"the schema is up to date ({sessions.head()})"]


def test_a_store_has_one_identity_that_survives_an_upgrade(engine: Engine) -> None:
    with sessions.session(engine) as session:
        first = session.scalars(select(models.Store.id)).all()
    sessions.upgrade(engine, Silent())
    with sessions.session(engine) as session:
        assert session.scalars(select(models.Store.id)).all() == first
    assert len(first) == 1
    with (
        pytest.raises(IntegrityError, match="ix_store_one_row"),
        sessions.session(engine) as session,
    ):
        session.add(models.Store())


def test_a_database_without_schema_is_refused_with_the_command_that_makes_one(bare: Engine) -> None:
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


@pytest.mark.parametrize("call", ["check", "upgrade", "downgrade"])
def test_a_newer_schema_is_refused_and_left_as_it_is(engine: Engine, call: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("update alembic_version set version_num = '9999'"))
    with pytest.raises(RejectedError, match="newer than this starcast") as refused:
        getattr(sessions, call)(engine, *([Silent()] if call == "upgrade" else []))
    assert refused.value.hint == "update starcast"
    assert sessions.current(engine) == "9999"
    assert tables(engine) > {"run", "cost"}


@pytest.mark.parametrize(
    "version_table", [False, True], ids=["without alembic", "with an alembic of its own"]
)
def test_somebody_else_s_database_is_refused_and_untouched(
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
        lambda: sessions.upgrade(bare, Silent()),
        lambda: sessions.downgrade(bare),
    ):
        with pytest.raises(RejectedError, match="tables of somebody else, 'invoice'") as refused:
            call()
        assert "empty database" in refused.value.hint
    assert tables(bare) == before


@pytest.mark.parametrize("revision", ["abc", sessions.head()])
def test_a_revision_without_our_tables_is_somebody_else_s(bare: Engine, revision: str) -> None:
    with bare.begin() as connection:
        connection.execute(text("create table alembic_version (version_num varchar(32) not null)"))
        connection.execute(
            text("insert into alembic_version values (:revision)"), {"revision": revision}
        )
    for call in (
        lambda: sessions.check(bare),
        lambda: sessions.upgrade(bare, Silent()),
        lambda: sessions.downgrade(bare),
    ):
        with pytest.raises(RejectedError, match="of somebody else, 'alembic_version'") as refused:
            call()
        assert "empty database" in refused.value.hint
    assert (tables(bare), sessions.current(bare)) == ({"alembic_version"}, revision)


def test_our_tables_without_a_revision_are_not_taken_for_ours(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("drop table alembic_version"))
    with pytest.raises(RejectedError, match="of somebody else"):
        sessions.upgrade(engine, Silent())


def test_two_upgrades_at_once_are_one_after_the_other(fresh_database: URL) -> None:
    engines = [sessions.connect(fresh_database) for _ in range(3)]
    did: list[bool] = []
    threads = [
        threading.Thread(target=lambda one=one: did.append(sessions.upgrade(one, Silent())))
        for one in engines
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(did) == [False, False, True]
    assert sessions.differences(engines[0]) == []
    for one in engines:
        one.dispose()


def test_an_upgrade_that_waits_too_long_says_that_another_is_at_it(
    fresh_database: URL, bare: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "UPGRADE_SECONDS", 1)
    other = sessions.connect(fresh_database)
    with other.begin() as connection:
        connection.execute(
            text("select pg_advisory_xact_lock(:key)"), {"key": sessions.UPGRADE_LOCK}
        )
        with pytest.raises(BusyError, match="another process has been migrating"):
            sessions.upgrade(bare, Silent())
    other.dispose()
    assert sessions.upgrade(bare, Silent())


def test_a_lock_is_refused_while_somebody_holds_it_and_free_afterwards(engine: Engine) -> None:
    busy = BusyError("busy")
    with sessions.holding(engine, "experiment a", busy):
        with pytest.raises(BusyError), sessions.holding(engine, "experiment a", busy):
            pytest.fail("the lock was given twice")
        with sessions.holding(engine, "experiment b", busy):
            pass
    with sessions.holding(engine, "experiment a", busy):
        pass


def cut_off(engine: Engine, pid: int) -> None:
    """End a connection on the server, as a network does that forgets it."""
    with engine.begin() as connection:
        assert connection.scalar(text("select pg_terminate_backend(:pid, 5000)"), {"pid": pid})


def test_a_lock_whose_connection_is_lost_is_noticed_and_others_may_have_it(engine: Engine) -> None:
    busy = BusyError("busy")
    done = []
    with sessions.holding(engine, "experiment a", busy) as lock:
        with sessions.session(engine) as opened:
            lock.demand(opened)
            with pytest.raises(
                UnavailableError, match="keeps others from the experiment b was lost"
            ):
                sessions.Lock("experiment b", lock.pid).demand(opened)
        cut_off(engine, lock.pid)
        with (
            sessions.session(engine) as opened,
            pytest.raises(UnavailableError, match="keeps others from the experiment a"),
        ):
            lock.demand(opened)
        with (
            sessions.holding(engine, "experiment a", busy) as another,
            sessions.session(engine) as opened,
        ):
            another.demand(opened)
            with pytest.raises(UnavailableError):
                lock.demand(opened)
        done.append("what was to be done")
    assert done  # and that nothing is left to be let go is no error


def test_a_lock_is_awaited_for_the_rest_of_a_transaction(engine: Engine) -> None:
    busy = BusyError("busy")
    with (
        sessions.holding(engine, "experiment a", busy),
        pytest.raises(BusyError, match="busy"),
        sessions.session(engine) as opened,
    ):
        sessions.await_lock(opened, "experiment a", 1, busy)
    with sessions.session(engine) as opened:
        sessions.await_lock(opened, "experiment a", 1, busy)
        with pytest.raises(BusyError), sessions.holding(engine, "experiment a", busy):
            pytest.fail("the lock was given twice")
    with sessions.holding(engine, "experiment a", busy):
        pass


def test_a_server_that_is_down_is_one_sentence_without_the_password(fresh_database: URL) -> None:
    with pytest.raises(UnavailableError, match="cannot be reached: Connection refused") as refused:
        sessions.connect(fresh_database.set(host="127.0.0.1", port=1, password="sesame"))
    assert "sesame" not in str(refused.value)
    assert refused.value.__suppress_context__


def test_a_wrong_password_is_told_apart_and_not_repeated(fresh_database: URL) -> None:
    with pytest.raises(UnavailableError, match="refuses the login of") as refused:
        sessions.connect(fresh_database.set(password="open-sesame"))
    assert "sesame" not in str(refused.value)
    assert "STARCAST_POSTGRES_PASSWORD_FILE" in refused.value.hint


def test_a_database_that_does_not_exist_is_told_apart(fresh_database: URL) -> None:
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
        session.add(models.Forest(id="S5:none:12345", topology="S5", construction="none", root=0, root_label="12345",
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
    """One transaction after another, under a lock, until it strikes."""
    with sessions.holding(engine, "this", BusyError("busy")) as lock:
        striking.start()
        while striking.is_alive():
            with sessions.session(engine) as session:
                lock.demand(session)
        time.sleep(1)


@pytest.fixture
def _no_garbage() -> Iterator[None]:
    """None is collected meanwhile: what strikes in the middle of that is lost, as Python has it."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_no_garbage")
def test_ctrl_c_in_the_middle_of_an_exchange_is_no_error_of_the_connection(
    engine: Engine, capfd: pytest.CaptureFixture[str]
) -> None:
    """Wherever it comes: the driver makes an error of its own of about one in ten, and the pool logs what it gives up."""
    for round_ in range(60):
        with ctrl_c(round_ / 2_000) as striking, pytest.raises(KeyboardInterrupt):
            busy(engine, striking)
        engine.dispose()
    assert capfd.readouterr().err == ""


def fails_while_interrupted(engine: Engine) -> None:
    """What the driver may do."""
    with sessions.session(engine) as session:
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            session.execute(text("select nothing"))


def test_an_error_that_an_interruption_has_left_behind_is_an_interruption(engine: Engine) -> None:
    with pytest.raises(KeyboardInterrupt):
        fails_while_interrupted(engine)
