"""Fixtures for the relational store, on real PostgreSQL databases."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import URL, Engine, inspect, text

from starcast.ingest.both_stores import open_engine
from starcast.stores import Role
from starcast.stores.database import migrations
from starcast.stores.database.models import Base
from starcast.support.installation import data_folder
from starcast.support.progress import Silent
from support.fix_cli import name_store
from support.fix_servers import new_database, plain_url


@pytest.fixture
def bare(fresh_database: URL) -> Iterator[Engine]:
    """An engine for a database without tables."""
    with open_engine(fresh_database) as engine:
        yield engine


@pytest.fixture
def migrated(bare: Engine) -> Engine:
    """A private database with the newest schema, which a test may change."""
    migrations.upgrade(bare, Silent())
    return bare


def all_rows(engine: Engine) -> dict[str, list[str]]:
    """Return the rows of each table as sorted JSON texts, by table name."""
    with engine.connect() as connection:
        return {
            table: sorted(connection.scalars(text(f"select to_jsonb(t)::text from {table} as t")))  # noqa: S608
            for table in inspect(connection).get_table_names()
        }


#: The newest revision of the schema, and a fictitious next one.
HEAD = migrations.head()
NEXT = f"{int(HEAD) + 1:04}"
#: A migration that fails if an experiment is named 'no'.
_NEXT_REVISION = f"""
from alembic import op

revision = "{NEXT}"
down_revision = "{HEAD}"


def upgrade() -> None:
    op.create_check_constraint("ck_experiment_next", "experiment", "name <> 'no'")
"""


@pytest.fixture
def add_revision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[], None]]:
    """A function that adds a migration to starcast, so that all existing databases are outdated."""

    def add() -> None:
        copied = tmp_path / "migrations"
        shutil.copytree(data_folder("migrations"), copied)
        (copied / "versions" / f"{NEXT}_next.py").write_text(_NEXT_REVISION, encoding="utf-8")
        monkeypatch.setattr(migrations, "data_folder", lambda _: copied)
        migrations.revisions.cache_clear()

    yield add
    monkeypatch.undo()
    migrations.revisions.cache_clear()


@pytest.fixture(scope="session")
def kept_database(store_url: URL) -> Iterator[URL]:
    """A database with the newest schema, shared by all tests that do not change the schema."""
    with new_database(store_url) as url:
        with open_engine(url) as engine:
            migrations.upgrade(engine, Silent())
        yield url


#: SQL that deletes all rows except the store's identity and the topology families. TRUNCATE would
#: take five times as long, since it creates new files for tables and indexes.
_DELETION = "; ".join(
    [
        *(
            f"DELETE FROM {table.name}"  # noqa: S608 - names of our tables
            for table in reversed(Base.metadata.sorted_tables)
            if table.name not in {"store", "family"}
        ),
        """SELECT setval(format('%I.%I', schemaname, sequencename)::regclass, 1, false)
           FROM pg_sequences WHERE last_value IS NOT NULL""",
    ]
).encode()


def _delete_rows(url: URL) -> None:
    """Execute `_DELETION` in one round trip to the server."""
    with psycopg.connect(plain_url(url), autocommit=True) as connection:
        connection.execute(_DELETION)


@pytest.fixture
def clean_database(kept_database: URL, role_url: Callable[[URL, Role], URL]) -> URL:
    """The writer's URL of the shared database, without runs, artifacts and other data of tests."""
    _delete_rows(kept_database)
    return role_url(kept_database, "writer")


#: A function that returns the URL of a database with rows, and sets it in the settings. Arguments
#: are a name and a function that stores the rows.
FilledDatabase = Callable[[str, Callable[[], None]], URL]


@pytest.fixture(scope="session")
def filled_before(
    kept_database: URL,  # noqa: ARG001 - its server must stop after these are dropped
) -> Iterator[tuple[ExitStack, dict[str, URL]]]:
    """The databases that `filled_database` copies, by name, and an exit stack that drops them."""
    with ExitStack() as databases:
        yield databases, {}


@pytest.fixture
def filled_database(
    filled_before: tuple[ExitStack, dict[str, URL]],
    kept_database: URL,
    store_url: URL,
    role_url: Callable[[URL, Role], URL],
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[FilledDatabase]:
    """A function that returns the URL of a copy of a named database, which is filled only once."""
    databases, filled = filled_before

    def named(database: URL) -> URL:
        url = role_url(database, "writer")
        name_store(monkeypatch, url)
        return url

    with ExitStack() as copies:

        def copy(name: str, fill: Callable[[], None]) -> URL:
            if name not in filled:
                _delete_rows(kept_database)
                url = databases.enter_context(new_database(store_url, kept_database))
                named(url)
                fill()
                filled[name] = url
            return named(copies.enter_context(new_database(store_url, filled[name])))

        yield copy


@pytest.fixture
def engine(clean_database: URL) -> Iterator[Engine]:
    """An engine for the clean database."""
    with open_engine(clean_database) as opened:
        yield opened
