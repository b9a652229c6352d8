"""Databases on servers that the user runs: settings, encodings, limits, missing rights."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from typing import Any

import psycopg
import pytest
from sqlalchemy import URL, Engine, text

from starcast.embedded.doctor import Verdict, examine
from starcast.stores import GraphAddress
from starcast.stores.database import migrations, sessions
from starcast.support.errors import RejectedError, StarcastError
from starcast.support.progress import Silent
from support.fix_cli import Starcast, name_store, refused
from support.fix_servers import execute, new_database, plain_url, settings_for

#: Settings that change the meaning of values: the database's value, and starcast's value.
UNLIKE_OURS = {
    "datestyle": ("German", "ISO, MDY"),
    "intervalstyle": ("iso_8601", "postgres"),
    "timezone": ("Asia/Kathmandu", "UTC"),
    "standard_conforming_strings": ("off", "on"),
    "extra_float_digits": ("-15", "1"),
    "bytea_output": ("escape", "hex"),
    "client_encoding": ("SQL_ASCII", "UTF8"),
    "default_transaction_isolation": ("serializable", None),
    "transaction_isolation": (None, "read committed"),
    "idle_in_transaction_session_timeout": ("30000", "0"),
}
RUN = "experiment run grid --topology S3 --algorithm greedy --message-bytes 64 --ports one"


def set_up(url: URL, **values: str) -> None:
    """Change settings of a database."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        for name, value in values.items():
            connection.execute(f"alter database {url.database} set {name} = '{value}'".encode())


def encoded(store_url: URL, encoding: str) -> Iterator[URL]:
    """Create a database with the given encoding, yield its URL, and drop it at the end."""
    with new_database(store_url) as url:
        change(store_url, f"drop database {url.database}")
        change(
            store_url,
            f"create database {url.database} encoding '{encoding}' template template0"
            " locale_provider libc lc_collate 'C' lc_ctype 'C'",
        )
        yield url


@pytest.fixture
def sql_ascii(store_url: URL) -> Iterator[URL]:
    """A database with the encoding SQL_ASCII."""
    yield from encoded(store_url, "SQL_ASCII")


@pytest.fixture
def latin1(store_url: URL) -> Iterator[URL]:
    """A database with the encoding LATIN1."""
    yield from encoded(store_url, "LATIN1")


@pytest.fixture
def limited(migrated: Engine, store_url: URL) -> Iterator[URL]:
    """The login URL of a new role without rights, whose name contains the word "password"."""
    role = f"password_role_{os.getpid()}"
    with psycopg.connect(plain_url(store_url), autocommit=True) as connection:
        connection.execute(f"create role {role} login password 'x'".encode())
        yield migrated.url.set(username=role, password="x")
        connection.execute(f"drop owned by {role}".encode())
        connection.execute(f"drop role {role}".encode())


def change(url: URL, statement: str) -> None:
    """Execute a statement as the superuser."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        connection.execute(statement.encode())


def execute_all(engine: Engine, statements: list[str]) -> None:
    """Execute statements in one session of starcast."""
    with sessions.open_session(engine) as session:
        for statement in statements:
            session.execute(text(statement))


@pytest.mark.parametrize("pooled", [False, True], ids=["direct", "pooled"])
def test_transactions_override_the_settings_of_a_database(
    pooled: bool, migrated: Engine, request: pytest.FixtureRequest
) -> None:
    """Starcast's settings apply to its own transactions only, even behind a connection pooler."""
    set_up(migrated.url, **{name: ours[0] for name, ours in UNLIKE_OURS.items() if ours[0]})
    url = migrated.url
    if pooled:
        url = url.set(port=request.getfixturevalue("pgbouncer"))
    wanted = {name: ours[1] for name, ours in UNLIKE_OURS.items() if ours[1]}
    engine = sessions.connect(url)
    for _ in range(4):
        with sessions.open_session(engine) as session:
            for name, value in wanted.items():
                found = session.scalar(text("select current_setting(:name)"), {"name": name})
                assert found == value, name
            assert session.scalar(text(r"select 'a\b' || chr(233)")) == "a\\bé"
            assert session.scalar(text("select 0.1::float8 + 0.2")) == 0.30000000000000004
    engine.dispose()
    with psycopg.connect(plain_url(url)) as other:
        # This session has the encoding SQL_ASCII, so psycopg returns bytes.
        assert other.execute("show datestyle").fetchone() == (b"German, DMY",)


@pytest.mark.parametrize("style", ["German", "SQL, DMY", "Postgres, DMY"])
def test_experiments_work_in_databases_with_other_date_styles(
    style: str, migrated: Engine, starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(migrated.url, datestyle=style, client_encoding="SQL_ASCII")
    name_store(monkeypatch, migrated.url)
    assert starcast(RUN).code == 0
    result = starcast("run list --format json")
    assert (result.code, len(result.json)) == (0, 1), result.err


def test_libpq_environment_variables_do_not_change_the_meaning_of_values(
    migrated: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    monkeypatch.setenv("PGDATESTYLE", "SQL, DMY")
    monkeypatch.setenv("PGOPTIONS", "-c intervalstyle=sql_standard")
    engine = sessions.connect(migrated.url)
    with sessions.open_session(engine) as session:
        assert session.scalar(text("select '2026-02-01'::date::text || chr(8364)")) == "2026-02-01€"
    engine.dispose()


@pytest.mark.parametrize("encoding", ["sql_ascii", "latin1"])
def test_upgrade_and_doctor_report_a_database_with_an_unsupported_encoding(
    encoding: str, request: pytest.FixtureRequest, starcast: Starcast,
    monkeypatch: pytest.MonkeyPatch, graph_address: GraphAddress,
) -> None:  # fmt: skip
    url: URL = request.getfixturevalue(encoding)
    name_store(monkeypatch, url)
    error, hint = refused(starcast("db upgrade"), 6)
    words = f"the database '{url.database}' has the encoding {encoding.upper()}, but starcast"
    assert error == f"{words} needs UTF8"
    assert hint == "create another database: createdb -E UTF8 -T template0 NAME"
    found = {each.check: each for each in examine(settings_for(url, graph_address))}
    assert found["PostgreSQL"].verdict is Verdict.WRONG
    assert found["PostgreSQL"].found.endswith(error)
    assert found["schema"].found == "the database has no schema yet"


def test_an_existing_store_with_an_encoding_other_than_utf8_can_be_used(
    sql_ascii: URL, latin1: URL, starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A value is refused if it has a character that the encoding lacks."""
    monkeypatch.setattr(migrations, "check_server", lambda _: None)
    for url in (sql_ascii, latin1):
        engine = sessions.connect(url)
        migrations.upgrade(engine, Silent())
        name_store(monkeypatch, url)
        assert starcast(RUN).code == 0
        assert len(starcast("run list --format json").json) == 1
        if url is latin1:
            with (
                pytest.raises(RejectedError, match=f"cannot store a character in '{url.database}'"),
                sessions.open_session(engine) as session,
            ):
                session.execute(text("select cast(:text as text)"), {"text": "≤"})
        engine.dispose()


def test_the_error_names_the_role_that_has_no_free_connection(
    limited: URL, store_url: URL, starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_store(monkeypatch, limited)
    change(store_url, f"alter role {limited.username} connection limit 0")
    error, hint = refused(starcast("run list"), 4)
    assert error == (
        f"PostgreSQL at 127.0.0.1:{limited.port} has no free connection for '{limited.username}':"
        f' too many connections for role "{limited.username}"'
    )
    assert "CONNECTION LIMIT" in hint


@pytest.mark.slow
def test_the_error_names_the_server_whose_connections_are_all_in_use(
    limited: URL, starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_store(monkeypatch, limited)
    with ExitStack() as connections:
        with suppress(psycopg.OperationalError):
            while True:
                connections.enter_context(psycopg.connect(plain_url(limited)))
        error, hint = refused(starcast("run list"), 4)
    assert error.startswith(f"PostgreSQL at 127.0.0.1:{limited.port} has no free connection")
    assert "max_connections" in hint


def test_the_doctor_counts_free_connections(
    limited: URL, store_url: URL, graph_address: GraphAddress
) -> None:
    for limit, found in ((3, "2 connections available"), (0, None)):
        change(store_url, f"alter role {limited.username} connection limit {limit}")
        findings = {each.check: each for each in examine(settings_for(limited, graph_address))}
        if found:
            assert findings["connections"].found == found
            assert findings["connections"].verdict is Verdict.WARNING
        else:
            assert findings["PostgreSQL"].verdict is Verdict.DOWN
        assert findings["Neo4j"].verdict is Verdict.OK


def test_the_error_for_a_role_without_rights_suggests_another_role(
    limited: URL, starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_store(monkeypatch, limited)
    error, hint = refused(starcast("run list"), 4)
    assert "permission denied for table" in error
    assert hint.startswith("log in as another role")


@pytest.mark.parametrize("table", ["run", "step_profile"])
def test_a_full_disk_of_the_server_is_reported_for_inserts_and_for_copy(
    table: str, migrated: Engine, starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLAlchemy inserts the runs; psycopg copies their steps and raises the errors itself."""
    name_store(monkeypatch, migrated.url)
    execute(
        migrated,
        "create function fill() returns trigger language plpgsql as $$ begin"
        " raise exception 'could not extend file: No space left on device'"
        " using errcode = '53100'; end $$",
        f"create trigger full_disk before insert on {table} execute function fill()",
    )
    error, hint = refused(starcast(RUN), 7, remarks=True)
    assert error == (
        f"PostgreSQL at 127.0.0.1:{migrated.url.port} has a full disk: could not extend file: No"
        " space left on device"
    )
    assert hint.startswith("free some space")


@pytest.mark.parametrize(
    ("statements", "words", "code"),
    [
        (["set local statement_timeout = 50", "select pg_sleep(9)"], "stopped a statement", 7),
        (["set transaction read only", "create table t (i int)"], "does not accept writes", 4),
        (["select * from runs"], 'the tables that this starcast expects: relation "runs"', 6),
        (["set local search_path = 'nowhere'", "create table t (i int)"], "has no schema", 6),
        (["select pg_terminate_backend(pg_backend_pid())"], "cannot be reached: terminating", 4),
    ],
)
def test_server_errors_are_translated_to_messages_and_exit_codes(
    statements: list[str], words: str, code: int, migrated: Engine
) -> None:
    with pytest.raises(StarcastError) as failed:
        execute_all(migrated, statements)
    assert words in failed.value.message
    assert failed.value.exit_code == code


def test_a_long_statement_continues_if_the_server_refuses_the_probe(
    limited: URL, store_url: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The probe connection tests whether the server still answers, and a refusal is an answer."""
    monkeypatch.setattr(sessions, "SILENT_SECONDS", 0.3)
    engine = sessions.connect(limited)
    with sessions.open_session(engine) as session:
        change(store_url, f"alter role {limited.username} connection limit 1")
        answer: Any = session.scalar(text("select pg_sleep(1)::text || 'done'"))
    assert answer == "done"
    engine.dispose()
