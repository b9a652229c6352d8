"""A relational store for tests: a real PostgreSQL database of its own for each test, empty but for the schema."""

from collections.abc import Iterator

import pytest
from sqlalchemy import URL, Engine

from starcast.progress import Silent
from starcast.runs import database


@pytest.fixture
def bare(fresh_database: URL) -> Iterator[Engine]:
    """A database without a schema."""
    engine = database.connect(fresh_database)
    yield engine
    engine.dispose()


@pytest.fixture
def engine(bare: Engine) -> Engine:
    """A database with the newest schema and no rows."""
    database.upgrade(bare, Silent())
    return bare
