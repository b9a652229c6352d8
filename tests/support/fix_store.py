"""Fixtures of the relational store: real PostgreSQL databases with an empty schema."""

from collections.abc import Callable, Iterator

import pytest
from sqlalchemy import URL, Engine, text

from starcast.database import sessions
from starcast.database.models import Base
from starcast.database.roles import Role
from starcast.progress import Silent
from support.fix_servers import new_database


@pytest.fixture
def bare(fresh_database: URL) -> Iterator[Engine]:
    """A database without a schema."""
    engine = sessions.connect(fresh_database)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def kept_database(store_url: URL) -> Iterator[URL]:
    """A database with the newest schema, shared by all tests that do not change the schema."""
    with new_database(store_url) as url:
        opened = sessions.connect(url)
        sessions.upgrade(opened, Silent())
        opened.dispose()
        yield url


@pytest.fixture
def clean_database(kept_database: URL, role_url: Callable[[URL, Role], URL]) -> URL:
    """The shared database without rows, except that of its identity, for the writer."""
    tables = Base.metadata.tables.keys() - {"store", "family"}
    opened = sessions.connect(kept_database)
    with opened.begin() as connection:
        connection.execute(text(f"TRUNCATE {', '.join(tables)} RESTART IDENTITY"))
    opened.dispose()
    return role_url(kept_database, "writer")


@pytest.fixture
def engine(clean_database: URL) -> Iterator[Engine]:
    """An engine for the clean database."""
    opened = sessions.connect(clean_database)
    yield opened
    opened.dispose()
