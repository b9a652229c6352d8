"""PostgreSQL errors converted to starcast errors (message, exit code), and forms of URIs."""

import socket
from pathlib import Path

import psycopg
import pytest
from psycopg import errors
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy import URL
from sqlalchemy.exc import IntegrityError, OperationalError

from starcast.embedded.endpoints import store_url
from starcast.embedded.home import Home
from starcast.stores import GraphAddress
from starcast.stores.database.server_errors import conninfo, describe_address, describe_error
from starcast.stores.database.sessions import connect, translated_errors
from starcast.stores.graph.connection import Graph
from starcast.support.errors import InputError, StarcastError, UnavailableError
from starcast.support.settings import Settings

STORE = URL.create("postgresql+psycopg", "ann", None, "db.example", 5432, "store")
AT = "PostgreSQL at db.example:5432 "
FAILED = 'connection failed: connection to server at "10.0.0.1", port 5432 failed: FATAL:  '


@pytest.fixture(autouse=True)
def _no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the environment variables that libpq reads."""
    for name in ("HOST", "PORT", "USER", "DATABASE", "SERVICE"):
        monkeypatch.delenv(f"PG{name}", raising=False)


def described(error: Exception) -> StarcastError:
    """Return the starcast error for a driver error."""
    result = describe_error(error, STORE)
    assert result is not None
    assert result.hint
    return result


@pytest.mark.parametrize(
    ("sentence", "words"),
    [
        ('database "roles" does not exist', "has no database 'store'"),
        ('database "password" does not exist', "has no database 'store'"),
        ('password authentication failed for user "database"', "refuses the login of 'ann'"),
        ('Peer authentication failed for user "u"', "refuses the login of 'ann'"),
        ('role "database does not exist" does not exist', "refuses the login of 'ann'"),
        ('role "u" is not permitted to log in', "refuses the login of 'ann'"),
        (
            'no pg_hba.conf entry for host "h", user "u", database "d", no encryption',
            "refuses the login of 'ann'",
        ),
        ('too many connections for role "password"', "has no free connection for 'ann'"),
        ('too many connections for database "roles"', "has no free connection for 'ann'"),
        ("sorry, too many clients already", "has no free connection for 'ann'"),
        (
            "remaining connection slots are reserved for roles with the SUPERUSER attribute",
            "has no free connection for 'ann'",
        ),
        ('permission denied for database "role"', "refuses 'ann'"),
        ("the database system is starting up", "cannot be reached"),
        ("unsupported startup parameter: role", "cannot be reached"),
        ('database "password" is not currently accepting connections', "cannot be reached"),
    ],
)
def test_a_connection_error_is_classified_by_the_form_of_the_servers_message(
    sentence: str, words: str
) -> None:
    """A translated severity or words in quoted names do not change the classification."""
    for text in (FAILED + sentence, FAILED.replace("FATAL", "ВАЖНО") + sentence + "\nDETAIL: x"):
        error = described(psycopg.OperationalError(text))
        assert error.message == f"{AT}{words}: {sentence}"
        assert error.exit_code == 4


def test_the_hint_for_a_refused_login_names_the_variables_for_both_password_files() -> None:
    """The user and the owner of the tables have separate password files."""
    sentence = 'password authentication failed for user "lab_owner"'
    hint = described(psycopg.OperationalError(FAILED + sentence)).hint
    assert "STARCAST_POSTGRES_PASSWORD_FILE" in hint
    assert "STARCAST_POSTGRES_OWNER_PASSWORD_FILE" in hint
    assert "'starcast up' sets the passwords of the embedded PostgreSQL" in hint


def test_words_in_a_socket_path_do_not_change_the_classification_of_an_error() -> None:
    text = (
        'connection is bad: connection to server on socket "/tmp/password role/.s.PGSQL.5432"'
        " failed: No such file or directory\n\tIs the server running locally?"
    )
    error = described(psycopg.OperationalError(text))
    assert error.message == f"{AT}cannot be reached: No such file or directory"


@pytest.mark.parametrize(
    ("kind", "words", "code"),
    [
        (errors.DiskFull, "has a full disk", 7),
        (errors.TooManyConnections, "has no free connection for 'ann'", 4),
        (errors.OutOfMemory, "ran out of memory", 7),
        (errors.ReadOnlySqlTransaction, "does not accept writes of 'ann'", 4),
        (errors.InsufficientPrivilege, "refuses 'ann'", 4),
        (errors.AdminShutdown, "cannot be reached", 4),
        (errors.CannotConnectNow, "cannot be reached", 4),
        (errors.IdleInTransactionSessionTimeout, "cannot be reached", 4),
        (errors.DeadlockDetected, "canceled one of two conflicting transactions", 5),
        (errors.SerializationFailure, "canceled one of two conflicting transactions", 5),
        (errors.LockNotAvailable, "stopped waiting for another transaction", 5),
        (errors.QueryCanceled, "stopped a statement", 7),
        (errors.UndefinedTable, "does not have the tables that this starcast expects", 6),
        (errors.UndefinedColumn, "does not have the tables that this starcast expects", 6),
        (errors.InvalidSchemaName, "has no schema for the tables of 'ann'", 6),
        (errors.UntranslatableCharacter, "cannot store a character in 'store'", 6),
        (errors.ForeignKeyViolation, "rejected a row", 6),
        (errors.CharacterNotInRepertoire, "rejected a value", 2),
        (errors.IndexCorrupted, "failed", 4),
        (errors.IoError, "failed", 4),
    ],
)
def test_the_sqlstate_determines_the_message_and_the_exit_code(
    kind: type[psycopg.Error], words: str, code: int
) -> None:
    """The result does not depend on whether SQLAlchemy wraps the error of psycopg."""
    for error in (kind("it is so"), OperationalError("select 1", None, kind("it is so"))):
        found = described(error)
        assert (found.message, found.exit_code) == (f"{AT}{words}: it is so", code)


def test_an_sql_syntax_error_is_treated_as_an_internal_error() -> None:
    assert describe_error(errors.SyntaxError("at or near 'x'"), STORE) is None
    assert describe_error(ValueError("x"), STORE) is None


def test_integrity_errors_and_data_errors_are_raised_unchanged() -> None:
    rows = IntegrityError("insert", None, errors.UniqueViolation("twice"))
    with pytest.raises(IntegrityError), translated_errors(STORE):
        raise rows
    with pytest.raises(psycopg.DataError, match="NUL"), translated_errors(STORE):
        raise psycopg.DataError("text cannot contain NUL")
    with pytest.raises(StarcastError, match="cannot store"), translated_errors(STORE):
        raise errors.UntranslatableCharacter("no equivalent in encoding LATIN1")


@pytest.mark.parametrize(
    ("sentence", "hint"),
    [
        ("permission denied for schema public", "grant usage on the schema to 'ann'"),
        ("must be owner of table run", "name the role that owns the tables in STARCAST_POSTGRES"),
        ("permission denied for table schema", "log in as another role: starcast_writer may store"),
    ],
)
def test_the_hint_for_a_refused_statement_names_the_missing_privilege(
    sentence: str, hint: str
) -> None:
    assert described(errors.InsufficientPrivilege(sentence)).hint.startswith(hint)


@pytest.mark.parametrize(
    ("uri", "address", "user", "database"),
    [
        ("postgresql://u@%2Ftmp%2Fsock:5433/db", "/tmp/sock:5433", "u", "db"),
        ("postgres://u@/db?host=/tmp/sock", "/tmp/sock:5432", "u", "db"),
        ("postgresql:///db?host=/run/a&port=5433&user=u", "/run/a:5433", "u", "db"),
        ("postgresql://u@a:1,b:5432/db", "a:1,b:5432", "u", "db"),
        ("postgresql://u@a,b:7/db?target_session_attrs=any", "a:5432,b:7", "u", "db"),
        ("postgresql://u@a,b/db?port=7", "a:7,b:7", "u", "db"),
        ("postgresql+psycopg://u@[::1]:7/db", "::1:7", "u", "db"),
        ("postgresql://u@[fe80::1%25eth0]:7/db", "fe80::1%eth0:7", "u", "db"),
        ("postgresql://u%40x@h/d%20b?ssl=true", "h:5432", "u@x", "d b"),
        ("postgresql://", "env:99", "env-user", "env-database"),
        ("postgresql://h", "h:99", "env-user", "env-database"),
        ("postgresql://u@:7/db", "env:7", "u", "db"),
    ],
)
def test_postgresql_uris_in_the_forms_of_libpq_are_accepted(
    uri: str, address: str, user: str, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection string for PostgreSQL's programs has the same user and database."""
    if "env" in address + user:
        for name, value in {"HOST": "env", "PORT": "99"}.items():
            monkeypatch.setenv(f"PG{name}", value)
        monkeypatch.setenv("PGUSER", "env-user")
        monkeypatch.setenv("PGDATABASE", "env-database")
    url = store_url(Settings.load(postgres_uri=uri))
    assert (describe_address(url), url.username, url.database) == (address, user, database)
    given = conninfo_to_dict(conninfo(url, connect_timeout=5))
    assert given["connect_timeout"] == "5"
    assert (given["user"], given["dbname"]) == (user, database)


def test_a_postgresql_uri_without_a_user_uses_the_default_user_of_libpq(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The default database has the name of the user."""
    monkeypatch.setenv("PGUSER", "eve")
    url = store_url(Settings.load(postgres_uri="postgresql://127.0.0.1:1"))
    assert (url.username, url.database) == ("eve", "eve")


@pytest.mark.parametrize(
    ("uri", "reason", "hint"),
    [
        ("postgresql://u@h/db?schema=public", '"schema"', "remove the parameter"),
        ("postgresql://u@h/db?pgbouncer=true", '"pgbouncer"', "remove the parameter"),
        ("postgresql://u@h/db?a", "missing key/value separator", "write postgresql://USER@HOST"),
        ("postgresql://u%zz@h/db", '"u%zz"', "write postgresql://USER@HOST:PORT/DATABASE"),
    ],
)
def test_an_invalid_postgresql_uri_is_refused_with_the_message_of_libpq(
    uri: str, reason: str, hint: str
) -> None:
    with pytest.raises(InputError) as refused:
        store_url(Settings.load(postgres_uri=uri))
    assert refused.value.message.startswith(f"'{uri}' is not a PostgreSQL URI: ")
    assert reason in refused.value.message
    assert refused.value.hint.startswith(hint)


@pytest.mark.parametrize(
    ("uri", "sentence"),
    [
        (
            "postgresql://u@/d?host=/tmp/password-store",
            "PostgreSQL at /tmp/password-store:5432 cannot be reached: No such file or directory",
        ),
        (
            "postgresql://u@127.0.0.1:1,127.0.0.1:2/d",
            "PostgreSQL at 127.0.0.1:2 cannot be reached: Connection refused",
        ),
        (
            "postgresql://u@127.0.0.1:1/d?sslmode=perhaps",
            'PostgreSQL at 127.0.0.1:1 cannot be reached: invalid sslmode value: "perhaps"',
        ),
        (
            "postgresql:///?service=x",
            'PostgreSQL at localhost:5432 cannot be reached: definition of service "x" not found',
        ),
        (
            "postgresql://u@db..example/d",
            "PostgreSQL at db..example:5432 cannot be reached: ",
        ),
    ],
)
def test_a_failed_connection_is_reported_with_the_message_of_libpq(uri: str, sentence: str) -> None:
    with pytest.raises(UnavailableError) as failed:
        connect(store_url(Settings.load(postgres_uri=uri)))
    assert failed.value.message.startswith(sentence)


def test_the_error_for_an_unreadable_password_file_names_the_file(tmp_path: Path) -> None:
    """The file may belong to an embedded server or to a server of the user."""
    home = Home(tmp_path / "home")
    home.create()
    file = home.password_file("postgres")
    settings = Settings.load(postgres_uri="postgresql://u@h/d", postgres_password_file=file)
    for content, reason in (
        (None, "cannot be read: No such file or directory"),
        ("a folder", "cannot be read: Is a directory"),
        (b"p\xe4ss", "is not valid UTF-8"),
        ("pass".encode("utf-16"), "is not valid UTF-8"),
    ):
        if isinstance(content, bytes):
            if file.is_dir():
                file.rmdir()
            file.write_bytes(content)
        elif content:
            file.mkdir()
        for read in (lambda: home.password("postgres"), lambda: store_url(settings)):
            with pytest.raises(UnavailableError) as failed:
                read()
            assert failed.value.message == f"the password file {file} {reason}"
    file.write_bytes(b"\xef\xbb\xbfpass\r\n")
    assert store_url(settings).password == home.password("postgres") == "pass"


@pytest.mark.parametrize("host", ["127..0.1", "127.0.0.1\0"])
def test_an_invalid_neo4j_host_is_refused_before_connecting(host: str) -> None:
    # The driver would first connect, and then fail with a TypeError.
    with socket.create_server(("127.0.0.1", 0)) as server:
        uri = f"bolt+s://{host}:{server.getsockname()[1]}"
        with pytest.raises(InputError, match="is not the URI of a Neo4j server"):
            Graph.open(GraphAddress(uri, "neo4j", "x"))
