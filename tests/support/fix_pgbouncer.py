"""Fixtures for PgBouncer, if it is available, in front of the test run's PostgreSQL."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import URL

from starcast.stores import ROLE_NAMES, Role
from support.fix_servers import plain_url

#: `make` unpacks PgBouncer here.
FOLDER = Path(sys.prefix) / ".pgbouncer"
_DEADLINE = 10.0

# Consecutive transactions of a client use different server processes, so that no transaction can
# rely on session state that an earlier one has left.
_CONFIGURATION = """
[databases]
* = host=127.0.0.1 port={server}
nothing = host=127.0.0.1 port=1
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
pool_mode = transaction
server_round_robin = 1
default_pool_size = 5
min_pool_size = 3
server_lifetime = 3600
query_wait_timeout = 5
"""


def _find() -> tuple[Path, dict[str, str]]:
    """Return the path of PgBouncer and its environment; skip the test if it is not available."""
    unpacked = FOLDER / "usr" / "sbin" / "pgbouncer"
    if unpacked.exists():
        libraries = {str(path.parent) for path in FOLDER.glob("usr/lib/**/*.so*")}
        return unpacked, os.environ | {"LD_LIBRARY_PATH": ":".join(sorted(libraries))}
    installed = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if installed:
        return Path(installed), dict(os.environ)
    reason = FOLDER / "reason"
    pytest.skip(
        reason.read_text(encoding="utf-8").strip()
        if reason.exists()
        else "PgBouncer is not installed: 'make' unpacks it"
    )


@pytest.fixture(scope="session")
def pgbouncer(
    store_url: URL,
    role_url: Callable[[URL, Role], URL],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[int]:
    """The port of a running PgBouncer in transaction mode that knows all roles."""
    program, environment = _find()
    # PgBouncer refuses to run as root, so another user must be able to read the files.
    folder = tmp_path_factory.mktemp("pgbouncer")
    logins = [store_url, *(role_url(store_url, role) for role in ROLE_NAMES)]
    users = folder / "users"
    users.write_text("".join(f'"{url.username}" "{url.password}"\n' for url in logins))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])
    configuration = folder / "pgbouncer.ini"
    text = _CONFIGURATION.format(server=store_url.port, port=port, users=users)
    configuration.write_text(text)
    command: list[str | Path] = [program, "-q", configuration]
    if os.geteuid() == 0:
        command[1:1] = ["-u", "nobody"]
    log = folder / "log"
    with log.open("w") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
    try:
        _wait(process, store_url.set(port=port), log)
        yield port
    finally:
        process.terminate()
        process.wait()


def _wait(process: "subprocess.Popen[bytes]", url: URL, log: Path) -> None:
    end = time.monotonic() + _DEADLINE
    while True:
        try:
            psycopg.connect(plain_url(url)).close()
        except psycopg.OperationalError as error:
            if process.poll() is not None or time.monotonic() > end:
                pytest.fail(f"PgBouncer does not start: {error}\n{log.read_text()}", pytrace=False)
            time.sleep(0.05)
        else:
            return


@pytest.fixture
def pooled(fresh_database: URL, pgbouncer: int) -> URL:
    """The superuser's URL of a new, empty database that is reached through PgBouncer."""
    return fresh_database.set(port=pgbouncer)
