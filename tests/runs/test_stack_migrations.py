"""The embedded database: `up` creates roles and runs migrations."""

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from starcast.embedded import stack
from starcast.embedded.endpoints import embedded_store
from starcast.embedded.home import Home
from starcast.embedded.postgres import Postgres
from starcast.embedded.stack import prepare_store
from starcast.stores import ROLE_NAMES
from starcast.stores.database import backup, migrations, sessions
from starcast.support.errors import InputError, UnavailableError
from starcast.support.progress import Silent
from starcast.support.settings import Settings
from support.fix_servers import execute, plain_url, scalars, superuser_url
from support.fix_store import HEAD
from support.recorder import Recorder

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    """A home in which only PostgreSQL is running, without tables."""
    home = Home(tmp_path_factory.mktemp("migrations"))
    home.create()
    server = Postgres(home)
    stack.start([server], Settings.load(home=home.root), Silent())
    yield home
    stack.stop([server])


def port(home: Home) -> int:
    return home.published()["postgres"].port


def reset(home: Home, *, with_tables: bool) -> None:
    """Drop the database and roles; if ``with_tables``, create them again with one stored row."""
    server = superuser_url(home, port(home)).set(database="postgres")
    with psycopg.connect(plain_url(server), autocommit=True) as connection:
        connection.execute("drop database starcast with (force)")
        for role in ROLE_NAMES:
            connection.execute(f"drop role if exists starcast_{role}".encode())
            home.role_password_file(role).unlink(missing_ok=True)
    if with_tables:
        Postgres(home).set_up(port(home))
        engine = sessions.connect(embedded_store(home.root, "owner"))
        migrations.upgrade(engine, Silent())
        execute(engine, "insert into experiment (name) values ('e')")
        engine.dispose()


def test_the_command_up_creates_tables_and_roles_without_superuser_rights(home: Home) -> None:
    reporter = Recorder()
    reset(home, with_tables=False)
    with pytest.raises(UnavailableError, match="the role starcast_writer is missing") as missing:
        embedded_store(home.root)
    assert missing.value.hint == "run 'starcast up', which creates the role"
    prepare_store(home, reporter)
    assert reporter.lines[1:] == [f"the schema was upgraded from nothing to {migrations.head()}"]
    assert not (home.root / "backups").exists()
    for role in ROLE_NAMES:
        engine = sessions.connect(embedded_store(home.root, role))
        migrations.check(engine)
        assert scalars(engine, "select current_user") == [f"starcast_{role}"]
        rights = (
            "select rolsuper or rolcreatedb or rolcreaterole from pg_roles"
            " where rolname = current_user"
        )
        assert scalars(engine, rights) == [False]
        engine.dispose()
        file = home.role_password_file(role)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    prepare_store(home, reporter)
    assert reporter.lines[2:] == reporter.lines[:1]


def test_the_command_up_backs_up_and_then_upgrades_an_earlier_revision(
    home: Home, add_revision: Callable[[], None]
) -> None:
    reporter = Recorder()
    reset(home, with_tables=True)
    add_revision()
    prepare_store(home, reporter)
    (file,) = (home.root / "backups").iterdir()
    assert reporter.lines[1] == f"backing up the database before its upgrade: {file}"
    manifest = backup.read_manifest(file)
    assert (manifest.revision, manifest.tables["experiment"].rows) == (HEAD, 1)
    engine = sessions.connect(embedded_store(home.root))
    migrations.check(engine)
    owners = "select distinct tableowner from pg_tables where schemaname = 'public'"
    assert scalars(engine, owners) == ["starcast_owner"]
    execute(engine, "delete from experiment where name = 'e'")
    engine.dispose()


def test_a_backup_that_cannot_be_written_prevents_the_upgrade(
    home: Home, add_revision: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    reset(home, with_tables=True)
    add_revision()
    missing = Path("/proc/nothing/file")
    monkeypatch.setattr("starcast.embedded.home.Home.backup_file", lambda *_: missing)
    with pytest.raises(InputError, match="cannot be written"):
        prepare_store(home, Silent())
    engine = sessions.connect(embedded_store(home.root, "owner"))
    assert migrations.current(engine) == HEAD
    engine.dispose()
