"""Asks a starting server whether it is ready. Apart from the rest, for it alone needs the drivers."""

from collections.abc import Callable
from contextlib import suppress

import neo4j
import psycopg
from neo4j.exceptions import AuthError, DriverError, Neo4jError

from starcast.embedded.processes import LOOPBACK

#: What a fresh Neo4j accepts, for the one purpose of being changed.
_FIRST_PASSWORD = "neo4j"  # noqa: S105 - its documented one, of no use once it is changed
_CHANGE = "ALTER CURRENT USER SET PASSWORD FROM $first TO $own"


class PasswordRefusedError(Exception):
    """A server answers, and refuses the password of its home."""


def neo4j_is_ready(port: int, user: str, password: str, database: str) -> bool:
    """Whether Neo4j answers on that port, after giving a fresh store its password.

    Raises:
        PasswordRefusedError: it takes neither our password nor the first one.
    """
    try:
        with suppress(AuthError), _driver(port, user, password) as driver:
            driver.execute_query("RETURN 1", database_=database)
            return True
        with _driver(port, user, _FIRST_PASSWORD) as driver:
            driver.execute_query(_CHANGE, first=_FIRST_PASSWORD, own=password, database_="system")
    except AuthError as error:
        raise PasswordRefusedError from error
    except (DriverError, Neo4jError):  # it listens, and its database is still starting
        return False
    return neo4j_is_ready(port, user, password, database)


def _driver(port: int, user: str, password: str) -> neo4j.Driver:
    return neo4j.GraphDatabase.driver(
        f"bolt://{LOOPBACK}:{port}",
        auth=(user, password),
        connection_timeout=5,
        max_transaction_retry_time=0,
    )


def postgres_is_ready(port: int, user: str, password: str, database: str) -> bool:
    """Whether PostgreSQL answers on that port, after making the database if it is not there.

    Raises:
        PasswordRefusedError: it does not take our password.
    """
    try:
        with psycopg.connect(
            host=LOOPBACK,
            port=port,
            user=user,
            password=password,
            dbname="postgres",
            connect_timeout=5,
            autocommit=True,
        ) as connection:
            with suppress(psycopg.errors.DuplicateDatabase):
                connection.execute(f"CREATE DATABASE {database}".encode())
            return True
    except psycopg.OperationalError as error:
        # Before a session stands, the driver knows no error codes, and PostgreSQL's words are fixed by LC_ALL.
        if "password authentication failed" in str(error):
            raise PasswordRefusedError from error
        return False


CHECKS: dict[str, Callable[[int, str, str, str], bool]] = {
    "neo4j": neo4j_is_ready,
    "postgres": postgres_is_ready,
}
