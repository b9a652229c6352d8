"""The schema and the way to it: migrations, models, foreign and newer databases, servers that cannot be reached."""

import threading

import pytest
from sqlalchemy import URL, Engine, inspect, select, text
from sqlalchemy.exc import IntegrityError

from starcast.errors import BusyError, RejectedError, UnavailableError
from starcast.progress import Silent
from starcast.runs import database, models


def tables(engine: Engine) -> set[str]:
    return set(inspect(engine).get_table_names())


class Told(Silent):
    """A reporter that remembers what it was told."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, text: str) -> None:
        """Remember it."""
        self.lines.append(text)


def test_the_schema_goes_from_empty_to_head_to_base_to_head(bare: Engine) -> None:
    assert database.current(bare) is None
    assert database.upgrade(bare, Silent())
    assert database.current(bare) == database.head()
    assert tables(bare) == {*models.Base.metadata.tables, "alembic_version"}
    database.downgrade(bare)
    assert database.current(bare) is None
    assert tables(bare) == {"alembic_version"}
    assert database.upgrade(bare, Silent())
    database.check(bare)


def test_the_migrations_make_exactly_the_models(engine: Engine) -> None:
    assert database.differences(engine) == []


def test_a_table_that_was_changed_by_hand_is_a_difference(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("alter table forest drop column height"))
        connection.execute(text("alter table topology alter column k set not null"))
    found = database.differences(engine)
    assert len(found) == 2
    assert any("add column" in line and "height" in line for line in found)
    assert any("modify nullable" in line and "topology" in line for line in found)


def test_upgrading_an_up_to_date_schema_does_nothing_and_says_so(engine: Engine) -> None:
    told = Told()
    assert not database.upgrade(engine, told)
    assert told.lines == [f"the schema is up to date ({database.head()})"]


def test_a_store_has_one_identity_that_survives_an_upgrade(engine: Engine) -> None:
    with database.session(engine) as session:
        first = session.scalars(select(models.Store.id)).all()
    database.upgrade(engine, Silent())
    with database.session(engine) as session:
        assert session.scalars(select(models.Store.id)).all() == first
    assert len(first) == 1
    with pytest.raises(IntegrityError, match="ix_store_one_row"), database.session(engine) as session:
        session.add(models.Store())


def test_a_database_without_schema_is_refused_with_the_command_that_makes_one(bare: Engine) -> None:
    with pytest.raises(RejectedError, match="no schema yet") as refused:
        database.check(bare)
    assert "starcast db upgrade" in refused.value.hint


def test_an_older_schema_is_refused_with_the_command_that_updates_it(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    now = database.head()
    monkeypatch.setattr(database, "head", lambda: "8888")
    with pytest.raises(RejectedError, match=f"is {now}, this starcast needs 8888") as refused:
        database.check(engine)
    assert "starcast db upgrade" in refused.value.hint


@pytest.mark.parametrize("call", ["check", "upgrade", "downgrade"])
def test_a_newer_schema_is_refused_and_left_as_it_is(engine: Engine, call: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("update alembic_version set version_num = '9999'"))
    with pytest.raises(RejectedError, match="newer than this starcast") as refused:
        getattr(database, call)(engine, *([Silent()] if call == "upgrade" else []))
    assert refused.value.hint == "update starcast"
    assert database.current(engine) == "9999"
    assert tables(engine) > {"run", "cost"}


@pytest.mark.parametrize("version_table", [False, True], ids=["without alembic", "with an alembic of its own"])
def test_somebody_else_s_database_is_refused_and_untouched(bare: Engine, version_table: bool) -> None:
    with bare.begin() as connection:
        connection.execute(text("create table invoice (id int primary key)"))
        if version_table:
            connection.execute(text("create table alembic_version (version_num varchar(32) not null)"))
            connection.execute(text("insert into alembic_version values ('4f00ba12')"))
    before = tables(bare)
    for call in (lambda: database.check(bare), lambda: database.upgrade(bare, Silent()), lambda: database.downgrade(bare)):
        with pytest.raises(RejectedError, match="tables of somebody else, 'invoice'") as refused:
            call()
        assert "empty database" in refused.value.hint
    assert tables(bare) == before


@pytest.mark.parametrize("revision", ["abc", database.head()])
def test_a_revision_without_our_tables_is_somebody_else_s(bare: Engine, revision: str) -> None:
    with bare.begin() as connection:
        connection.execute(text("create table alembic_version (version_num varchar(32) not null)"))
        connection.execute(text("insert into alembic_version values (:revision)"), {"revision": revision})
    for call in (lambda: database.check(bare), lambda: database.upgrade(bare, Silent()), lambda: database.downgrade(bare)):
        with pytest.raises(RejectedError, match="of somebody else, 'alembic_version'") as refused:
            call()
        assert "empty database" in refused.value.hint
    assert (tables(bare), database.current(bare)) == ({"alembic_version"}, revision)


def test_our_tables_without_a_revision_are_not_taken_for_ours(engine: Engine) -> None:
    with engine.begin() as connection:
        connection.execute(text("drop table alembic_version"))
    with pytest.raises(RejectedError, match="of somebody else"):
        database.upgrade(engine, Silent())


def test_two_upgrades_at_once_are_one_after_the_other(fresh_database: URL) -> None:
    engines = [database.connect(fresh_database) for _ in range(3)]
    did: list[bool] = []
    threads = [threading.Thread(target=lambda one=one: did.append(database.upgrade(one, Silent()))) for one in engines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(did) == [False, False, True]
    assert database.differences(engines[0]) == []
    for one in engines:
        one.dispose()


def test_an_upgrade_that_waits_too_long_says_that_another_is_at_it(
    fresh_database: URL, bare: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "UPGRADE_SECONDS", 1)
    other = database.connect(fresh_database)
    with other.begin() as connection:
        connection.execute(text("select pg_advisory_xact_lock(:key)"), {"key": database.UPGRADE_LOCK})
        with pytest.raises(BusyError, match="another process has been migrating"):
            database.upgrade(bare, Silent())
    other.dispose()
    assert database.upgrade(bare, Silent())


def test_a_lock_is_refused_while_somebody_holds_it_and_free_afterwards(engine: Engine) -> None:
    busy = BusyError("busy")
    with database.holding(engine, "experiment a", busy):
        with pytest.raises(BusyError), database.holding(engine, "experiment a", busy):
            pytest.fail("the lock was given twice")
        with database.holding(engine, "experiment b", busy):
            pass
    with database.holding(engine, "experiment a", busy):
        pass


def test_a_server_that_is_down_is_one_sentence_without_the_password(fresh_database: URL) -> None:
    with pytest.raises(UnavailableError, match="cannot be reached: Connection refused") as refused:
        database.connect(fresh_database.set(host="127.0.0.1", port=1, password="sesame"))
    assert "sesame" not in str(refused.value)
    assert refused.value.__suppress_context__


def test_a_wrong_password_is_told_apart_and_not_repeated(fresh_database: URL) -> None:
    with pytest.raises(UnavailableError, match="refuses the login of") as refused:
        database.connect(fresh_database.set(password="open-sesame"))
    assert "sesame" not in str(refused.value)
    assert "STARCAST_POSTGRES_PASSWORD_FILE" in refused.value.hint


def test_a_database_that_does_not_exist_is_told_apart(fresh_database: URL) -> None:
    with pytest.raises(UnavailableError, match="has no database 'nowhere'") as refused:
        database.connect(fresh_database.set(database="nowhere"))
    assert refused.value.hint == "create it: createdb nowhere"


def test_a_server_that_goes_away_in_the_middle_is_unavailable(engine: Engine, fresh_database: URL) -> None:
    other = database.connect(fresh_database)

    def work() -> None:
        with database.session(engine) as session:
            own = session.scalar(text("select pg_backend_pid()"))
            with other.begin() as connection:
                connection.execute(text("select pg_terminate_backend(:own)"), {"own": own})
            session.execute(text("select 1"))

    with pytest.raises(UnavailableError):
        work()
    other.dispose()


def test_errors_that_are_not_about_the_connection_pass_unchanged(engine: Engine) -> None:
    with pytest.raises(IntegrityError), database.session(engine) as session:
        session.add(models.Forest(id="S5:none:12345", topology="S5", construction="none", root=0, root_label="12345",
                                  trees=1, height=1, congestion=1))  # fmt: skip


def test_a_session_that_fails_leaves_nothing_behind(engine: Engine) -> None:
    def work() -> None:
        with database.session(engine) as session:
            session.add(models.Experiment(name="half", grid={}))
            session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    with database.session(engine) as session:
        assert session.scalars(select(models.Experiment)).all() == []
