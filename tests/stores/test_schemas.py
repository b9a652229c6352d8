"""Two stores in one database, in schemas other than ``public``, each with its own roles."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import URL, Engine
from sqlalchemy.exc import DBAPIError

from starcast.stores.database import backup, migrations, sessions
from starcast.support.errors import RejectedError, UnavailableError
from starcast.support.progress import Silent
from support.fix_cli import Starcast, name_store
from support.fix_servers import execute, plain_url, scalars
from support.fix_store import all_rows

#: Roles whose names begin with starcast_test; one of the names needs quotes.
ROLES = ("starcast_test_a", "starcast_test_b", "starcast_test Writer", "starcast_test_reader")
PASSWORD = "x"


def admin(url: URL, *statements: str) -> None:
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


@pytest.fixture
def shared(fresh_database: URL) -> Iterator[URL]:
    """A database with a writer, a reader, and two owners, each with a schema of the same name."""
    database = fresh_database.database
    admin(
        fresh_database, *(f"create role \"{role}\" login password '{PASSWORD}'" for role in ROLES)
    )
    try:
        admin(
            fresh_database,
            "create schema starcast_test_a authorization starcast_test_a",
            "create schema starcast_test_b authorization starcast_test_b",
            *(
                f'alter role "{role}" in database {database} set search_path = starcast_test_a'
                for role in ROLES[2:]
            ),
        )
        yield fresh_database
    finally:
        for role in ROLES:
            admin(fresh_database, f'drop owned by "{role}" cascade', f'drop role "{role}"')


def login(url: URL, role: str) -> URL:
    return url.set(username=role, password=PASSWORD)


@contextmanager
def as_role(url: URL, role: str) -> Iterator[Engine]:
    engine = sessions.connect(login(url, role))
    yield engine
    engine.dispose()


@pytest.fixture
def first(shared: URL) -> Iterator[Engine]:
    """The store of the first owner, with one experiment."""
    with as_role(shared, ROLES[0]) as engine:
        migrations.upgrade(engine, Silent(), ROLES[2])
        execute(engine, "insert into experiment (name) values ('first')")
        yield engine


@pytest.fixture
def second(shared: URL) -> Iterator[Engine]:
    """The store of the second owner, with one experiment."""
    with as_role(shared, ROLES[1]) as engine:
        migrations.upgrade(engine, Silent())
        execute(engine, "insert into experiment (name) values ('second')")
        yield engine


def test_a_backup_is_not_restored_into_another_schema_that_has_rows(
    first: Engine, second: Engine, tmp_path: Path
) -> None:
    file = tmp_path / "first.backup"
    ours, others = all_rows(first), all_rows(second)
    assert ours["experiment"] != others["experiment"]
    assert backup.create(first, file).tables["experiment"].rows == 1
    with pytest.raises(RejectedError, match="the store is not empty: it has 1 row in experiment"):
        backup.restore(second, file)
    execute(first, "delete from experiment")
    backup.restore(first, file)
    assert (all_rows(first), all_rows(second)) == (ours, others)
    assert migrations.differences(second) == migrations.find_others(second) == []


def test_role_and_schema_names_that_need_quotes_are_accepted(shared: URL, tmp_path: Path) -> None:
    owner, schema = f'"{ROLES[2]}"', '"starcast_test Mine"'
    database = shared.database
    admin(
        shared,
        f"create schema {schema} authorization {owner}",
        f"alter role {owner} in database {database} set search_path = missing, {schema}, public",
    )
    file = tmp_path / "quoted.backup"
    with as_role(shared, ROLES[2]) as engine:
        migrations.upgrade(engine, Silent(), ROLES[3])
        migrations.check(engine)
        rows = all_rows(engine)
        backup.create(engine, file)
        backup.restore(engine, file)
        assert all_rows(engine) == rows
        assert migrations.differences(engine) == migrations.find_others(engine) == []


@pytest.mark.slow
def test_replacing_or_dropping_a_store_keeps_the_other_store_of_the_database(
    first: Engine, second: Engine, tmp_path: Path
) -> None:
    file, kept = tmp_path / "first.backup", tmp_path / "kept.backup"
    ours, others = all_rows(first), all_rows(second)
    backup.create(first, file)
    backup.restore(second, file, keep=kept)
    assert (all_rows(first), all_rows(second)) == (ours, ours)
    backup.restore(second, kept, keep=tmp_path / "again.backup")
    assert (all_rows(first), all_rows(second)) == (ours, others)
    migrations.drop(first)
    assert (migrations.current(first), all_rows(second)) == (None, others)


def test_another_store_in_the_schema_public_is_neither_used_nor_dropped(
    shared: URL, second: Engine, tmp_path: Path
) -> None:
    """The search path of each role has public after the role's own schema."""
    public = sessions.connect(shared)
    migrations.upgrade(public, Silent())
    execute(public, "insert into experiment (name) values ('public')")
    admin(shared, f"grant select, insert, delete on all tables in schema public to {ROLES[0]}")
    before = all_rows(public)
    with as_role(shared, ROLES[0]) as engine:
        with pytest.raises(RejectedError, match="no schema yet, so there is nothing to back up"):
            backup.create(engine, tmp_path / "none.backup")
        assert (migrations.current(engine), backup.count_rows(engine)) == (None, {})
        migrations.drop(engine)
        backup.create(second, tmp_path / "second.backup")
        backup.restore(engine, tmp_path / "second.backup")
        assert all_rows(engine)["experiment"] == all_rows(second)["experiment"]
        execute(engine, "drop table record")
        with pytest.raises(RejectedError, match="tables or rows are missing: record"):
            backup.create(engine, tmp_path / "part.backup")
    assert not list(tmp_path.glob("none*")) + list(tmp_path.glob("part*"))
    assert all_rows(public) == before
    public.dispose()


@pytest.mark.slow
def test_owner_writer_and_reader_of_a_schema_can_run_their_commands(
    shared: URL,
    starcast: Starcast,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    secret = tmp_path / "owner"
    secret.write_text(PASSWORD, encoding="utf-8")
    name_store(monkeypatch, login(shared, ROLES[2]))
    monkeypatch.setenv("STARCAST_POSTGRES_OWNER", ROLES[0])
    monkeypatch.setenv("STARCAST_POSTGRES_OWNER_PASSWORD_FILE", str(secret))
    run = ("experiment", "run", "e", "--topology", "S3", "--algorithm", "greedy", "-m", "1")
    assert starcast("db", "upgrade").code == 0
    assert starcast(*run).code == 0
    file = str(tmp_path / "own.backup")
    assert starcast("backup", file).code == 0
    assert starcast("restore", file, "--no-graph").code == 6
    assert starcast("restore", file, "--no-graph", "--replace").code == 0
    assert starcast(*run[:2], "f", *run[3:]).code == 0
    admin(shared, f"grant starcast_reader to {ROLES[3]}")
    name_store(monkeypatch, login(shared, ROLES[3]))
    assert starcast("run", "list").code == 0
    assert starcast("backup", file).code == 0
    refused = starcast(*run[:2], "g", *run[3:])
    assert (refused.code, "permission denied" in refused.err) == (4, True)
    with as_role(shared, ROLES[3]) as reader:
        for schema in ("starcast_test_a", "public"):
            with pytest.raises(DBAPIError, match="permission denied for schema"):
                execute(reader, f"create table {schema}.mine (id int)")


def test_an_upgrade_revokes_the_right_of_other_roles_to_create_in_the_schema(shared: URL) -> None:
    """Databases from PostgreSQL 14 or older grant this right on public to every role."""
    admin(shared, "grant create on schema starcast_test_a to public")
    with as_role(shared, ROLES[0]) as engine:
        migrations.upgrade(engine, Silent())
        query = "select has_schema_privilege('{}', 'starcast_test_a', 'create')"
        assert scalars(engine, query.format(ROLES[3])) == [False]
        assert scalars(engine, query.format(ROLES[0])) == [True]


def test_the_error_of_an_upgrade_names_the_missing_schema_or_privilege(shared: URL) -> None:
    with as_role(shared, ROLES[2]) as engine:
        with pytest.raises(RejectedError, match="can access no schema in its search path"):
            migrations.upgrade(engine, Silent())
        admin(shared, f'grant usage on schema starcast_test_a to "{ROLES[2]}"')
        with pytest.raises(UnavailableError, match="lacks the privilege CREATE on the schema"):
            migrations.upgrade(engine, Silent())


def test_db_check_reports_harmful_objects_and_lists_foreign_objects(first: Engine) -> None:
    execute(
        first,
        "create function strike() returns trigger language plpgsql as 'begin return null; end'",
        "create trigger strike before insert on run for each row execute function strike()",
        "create rule keep as on delete to cost do instead nothing",
        "create policy hide on record using (false)",
        "create table invoice (run bigint references run)",
        "create table heir () inherits (family)",
        "alter table record enable row level security",
        "create view mine as select id from run",
    )
    schema = ROLES[0]
    assert migrations.differences(first) == [
        f"remove policy hide on {schema}.record",
        "remove row security on record",
        f"remove rule keep on {schema}.cost",
        f"remove table constraint invoice_run_fkey on {schema}.invoice",
        f"remove table {schema}.heir",
        f"remove trigger strike on {schema}.run",
    ]
    assert migrations.find_others(first) == [
        f"function {schema}.strike()",
        f"table {schema}.heir",
        f"table {schema}.invoice",
        f"view {schema}.mine",
    ]
