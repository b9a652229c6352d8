"""A relational store for tests: a real PostgreSQL database, empty but for the schema."""

from collections.abc import Iterator

import pytest
from sqlalchemy import URL, Engine, text

from support.fix_servers import new_database
from starcast.progress import Silent
from starcast.database import connection
from starcast.database.models import Base


@pytest.fixture
def bare(fresh_database: URL) -> Iterator[Engine]:
    """A database without a schema."""
    engine = connection.connect(fresh_database)
    yield engine
    engine.dispose()


@pytest.fixture(scope="session")
def kept_database(store_url: URL) -> Iterator[URL]:
    """A database with the newest schema, for all tests that leave the schema alone: to make it takes longer than most."""
    with new_database(store_url) as url:
        opened = connection.connect(url)
        connection.upgrade(opened, Silent())
        opened.dispose()
        yield url


@pytest.fixture
def clean_database(kept_database: URL) -> URL:
    """The same, with no rows but the one that names it."""
    opened = connection.connect(kept_database)
    with opened.begin() as connection:
        connection.execute(text(f"TRUNCATE {', '.join(Base.metadata.tables.keys() - {'store'})} RESTART IDENTITY"))
    opened.dispose()
    return kept_database


@pytest.fixture
def engine(clean_database: URL) -> Iterator[Engine]:
    """A way to the clean database."""
    opened = connection.connect(clean_database)
    yield opened
    opened.dispose()
