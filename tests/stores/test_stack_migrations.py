"""The embedded database: `up` creates roles and runs migrations."""

import stat
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text

from starcast.embedded import stack
from starcast.embedded.endpoints import embedded_store
from starcast.embedded.home import Home
from starcast.embedded.postgres import Postgres
from starcast.embedded.stack import prepare_store
from starcast.stores import ROLE_NAMES
from starcast.stores.database import backup, migrations, repository, sessions
from starcast.support.errors import InputError, RejectedError, UnavailableError
from starcast.support.progress import Silent
from starcast.support.settings import Settings
from support.fix_servers import superuser_url
from support.fix_store import HEAD
from support.recorder import Recorder

pytestmark = pytest.mark.slow

ROLES = tuple(ROLE_NAMES)


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
    url = superuser_url(home, port(home))
    server = sessions.connect(url.set(database="postgres")).execution_options(
        isolation_level="AUTOCOMMIT"
    )
    with server.connect() as connection:
        connection.execute(text("drop database starcast with (force)"))
        for role in ROLES:
            connection.execute(text(f"drop role if exists starcast_{role}"))
            home.role_password_file(role).unlink(missing_ok=True)
    server.dispose()
    if with_tables:
        Postgres(home).set_up(port(home))
        engine = sessions.connect(embedded_store(home.root, "owner"))
        migrations.upgrade(engine, Silent())
        with sessions.open_session(engine) as session:
            repository.save_experiment(session, "e", {})
        engine.dispose()


@pytest.fixture
def reporter() -> Recorder:
    return Recorder()


def test_up_creates_the_tables_and_roles_without_superuser_rights(
    home: Home, reporter: Recorder
) -> None:
    reset(home, with_tables=False)
    with pytest.raises(UnavailableError, match="has no role starcast_writer yet") as missing:
        embedded_store(home.root)
    assert missing.value.hint == "run 'starcast up', which creates it"
    prepare_store(home, reporter)
    assert reporter.lines[1:] == [f"the schema was upgraded from nothing to {migrations.head()}"]
    assert not (home.root / "backups").exists()
    for role in ROLES:
        engine = sessions.connect(embedded_store(home.root, role))
        migrations.check(engine)
        with engine.connect() as connection:
            user = connection.scalar(text("select current_user"))
            assert user == f"starcast_{role}"
            rights = (
                "select rolsuper or rolcreatedb or rolcreaterole from pg_roles"
                " where rolname = current_user"
            )
            assert connection.scalar(text(rights)) is False
        engine.dispose()
        file = home.role_password_file(role)
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    prepare_store(home, reporter)
    assert reporter.lines[2:] == reporter.lines[:1]


def test_up_upgrades_an_earlier_revision_after_a_backup(
    home: Home, reporter: Recorder, add_revision: Callable[[], None]
) -> None:
    reset(home, with_tables=True)
    add_revision()
    prepare_store(home, reporter)
    (file,) = (home.root / "backups").iterdir()
    assert reporter.lines[1] == f"backing up the database before its upgrade: {file}"
    manifest = backup.read_manifest(file)
    assert (manifest.revision, manifest.tables["experiment"].rows) == (HEAD, 1)
    engine = sessions.connect(embedded_store(home.root))
    migrations.check(engine)
    with engine.begin() as connection:
        owners = "select distinct tableowner from pg_tables where schemaname = 'public'"
        assert connection.scalars(text(owners)).all() == ["starcast_owner"]
        connection.execute(text("delete from experiment where name = 'e'"))
    engine.dispose()


def test_a_backup_that_cannot_be_written_prevents_the_upgrade(
    home: Home,
    reporter: Recorder,
    add_revision: Callable[[], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reset(home, with_tables=True)
    add_revision()
    missing = Path("/proc/nothing/file")
    monkeypatch.setattr("starcast.embedded.home.Home.backup_file", lambda *_: missing)
    with pytest.raises(InputError, match="cannot be written"):
        prepare_store(home, reporter)
    engine = sessions.connect(embedded_store(home.root, "owner"))
    assert migrations.current(engine) == HEAD
    engine.dispose()


def test_a_newer_schema_is_refused_and_unchanged(home: Home, reporter: Recorder) -> None:
    reset(home, with_tables=True)
    url = superuser_url(home, port(home))
    engine = sessions.connect(url)
    with engine.begin() as connection:
        connection.execute(text("update alembic_version set version_num = '9999'"))
    with pytest.raises(RejectedError, match="newer than this starcast"):
        prepare_store(home, reporter)
    assert migrations.current(engine) == "9999"
    engine.dispose()
