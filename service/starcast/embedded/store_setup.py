"""The last part of ``starcast up``: roles, backup and migrations of the embedded PostgreSQL."""

from datetime import UTC, datetime
from pathlib import Path

from starcast.database import backup, migrations, sessions
from starcast.embedded.addresses import server_port, store_endpoint
from starcast.embedded.client_programs import find_client_programs
from starcast.embedded.home import Home
from starcast.embedded.postgres import Postgres
from starcast.progress import Reporter


def prepare_store(home: Home, reporter: Reporter) -> None:
    """Bring the database of a running server to the newest revision.

    If it holds data in an older revision, a backup is written to ``backups`` of the home first.

    Raises:
        RejectedError: a newer starcast or another program has created the tables.
        LimitError, UnavailableError, InputError: the backup cannot be written; nothing is changed.
    """
    Postgres(home).set_up(server_port(Postgres.name, home.root))
    engine = sessions.connect(store_endpoint(home.root, "owner"))
    try:
        revision = sessions.current(engine)
        if revision == sessions.head():
            return
        if revision is not None and sessions.is_known(revision) and backup.count_rows(engine):
            programs = find_client_programs(backup.server_major(engine))
            file = _backup_file(home, revision)
            reporter.say(f"backing up the database before its upgrade: {file}")
            backup.create(engine, file, programs)
        migrations.upgrade(engine, reporter)
    finally:
        engine.dispose()


def _backup_file(home: Home, revision: str) -> Path:
    folder = home.root / "backups"
    folder.mkdir(mode=0o700, exist_ok=True)
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
    return folder / f"revision-{revision}-{moment}.backup"
