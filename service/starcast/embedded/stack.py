"""The embedded stack of one home: start it, stop it, report its state and its addresses.

If `up` fails or is interrupted, it stops the servers that it started; the next `up` reuses what was
downloaded and written before.
"""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from sqlalchemy import URL

from starcast.database.roles import Role
from starcast.embedded import (
    data_directories,
    files,
    lifecycle,
    packages,
    processes,
    store_setup,
)
from starcast.embedded.home import Home, ServerProcess
from starcast.embedded.jars import JarSet
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.postgres import Postgres
from starcast.embedded.processes import LOOPBACK
from starcast.embedded.server import Server
from starcast.errors import UnavailableError
from starcast.progress import Reporter
from starcast.settings import Settings

ServerState = Literal["running", "starting", "rebuilding", "stopped"]

#: Disk space required to restart a server that has run before, in megabytes.
_RESTART_MB = 50


@dataclass(frozen=True)
class Endpoints:
    """Addresses and passwords of the running servers of a home."""

    neo4j_uri: str
    neo4j_password: str = field(repr=False)
    postgres_url: URL


@dataclass(frozen=True)
class ServerStatus:
    """The state of one server.

    Attributes:
        server: its name.
        state: its state; ``starting`` also if an interrupted start left it behind.
        pid: its process id.
        port: its TCP port on 127.0.0.1.
        uptime_s: seconds since its start.
        memory_mb: resident memory in 10^6 bytes; pages that its processes share count once.
    """

    server: str
    state: ServerState
    pid: int | None = None
    port: int | None = None
    uptime_s: int | None = None
    memory_mb: int | None = None


def endpoints(home: Path) -> Endpoints:
    """Return the addresses of both servers of a home.

    Raises:
        UnavailableError: a server is not running.
    """
    return Endpoints(*graph_endpoint(home), store_endpoint(home))


def graph_endpoint(home: Path) -> tuple[str, str]:
    """Return the Bolt URI and the password of a home's Neo4j; PostgreSQL need not be running.

    Raises:
        UnavailableError: Neo4j is not running.
    """
    server = Neo4j(Home(home.resolve()))
    return f"bolt://{LOOPBACK}:{_port(server, home)}", server.password


def store_endpoint(home: Path, role: Role = "writer") -> URL:
    """Return the URL of a home's PostgreSQL database for a role; Neo4j need not be running.

    Raises:
        UnavailableError: PostgreSQL is not running.
    """
    server = Postgres(Home(home.resolve()))
    return server.url(_port(server, home), role)


def _port(server: Server, home: Path) -> int:
    running = lifecycle.running_servers(Home(home.resolve()))
    if server.name in running:
        return running[server.name].port
    if server.name == Neo4j.name and Home(home.resolve()).is_rebuilding:
        raise UnavailableError(
            f"the embedded Neo4j in {home} is restarting on a newly imported store: "
            f"{Home(home.resolve()).activity}",
            hint="try again in a minute; 'starcast status' shows when it is running",
        )
    subject = f"the embedded {server.title}" if running else "the embedded stack"
    raise UnavailableError(f"{subject} in {home} is not running", hint="run 'starcast up'")


def addresses(home: Path, running: Endpoints) -> list[dict[str, str]]:
    """Return one row per server for the output of `up`: address, user and password file."""
    neo4j, postgres = lifecycle.all_servers(Home(home.resolve()))
    url = running.postgres_url
    postgres_user = str(url.username)
    uris: dict[Server, str] = {
        neo4j: running.neo4j_uri,
        postgres: f"postgresql://{url.host}:{url.port}/{url.database}",
    }
    return [
        {
            "server": server.title,
            "address": uri,
            "user": postgres_user if server is postgres else server.user,
            "password_file": str(
                postgres.role_password_file("writer")
                if server is postgres
                else server.password_file
            ),
        }
        for server, uri in uris.items()
    ]


def up(settings: Settings, reporter: Reporter) -> Endpoints:
    """Start the servers that are not running, after downloading what is missing.

    The database is migrated to the newest revision; see `store_setup`.

    Raises:
        RejectedError: a newer starcast has created the tables; the servers are running.
        UnavailableError: a download failed, or a server does not start.
        LimitError: the disk is full.
    """
    packages.require()
    home = Home(settings.home.resolve())
    with files.translate_os_errors(settings.home):
        home.create()
        with home.locked(reporter, "starting the embedded stack"):
            lifecycle.clean_up(home)
            running = lifecycle.running_servers(home)
            stopped = [each for each in lifecycle.all_servers(home) if each.name not in running]
            if not stopped:
                reporter.say(f"the embedded stack in {home.root} is already running")
                return _prepare(home, reporter)
            space = sum(_RESTART_MB if home.published() else each.required_mb for each in stopped)
            files.require_space(home.root, space, "the embedded stack")
            JarSet.from_lock(settings.cache).download(settings.maven_repository, reporter)
            lifecycle.Startup(home, settings, reporter).start_and_publish(stopped)
            return _prepare(home, reporter)


def _prepare(home: Home, reporter: Reporter) -> Endpoints:
    """Migrate the database of the running servers, and return their addresses."""
    store_setup.prepare_store(home, _port(Postgres(home), home.root), reporter)
    return endpoints(home.root)


def down(home: Path, reporter: Reporter) -> None:
    """Stop the servers of a home within 15 seconds; report if none is running."""
    resolved = Home(home.resolve())
    if not resolved.root.is_dir():
        reporter.say(f"no embedded stack is running in {home}")
        return
    task = "stopping the embedded stack"
    with files.translate_os_errors(home), resolved.locked(reporter, task):
        stopped = lifecycle.stop(lifecycle.all_servers(resolved))
        with suppress(UnavailableError):  # the next 'up' reports an invalid pointer file
            data_directories.delete_stale(resolved.neo4j)
    for title, clean in stopped.items():
        reporter.say(f"stopped {title}" if clean else f"{title} did not stop and was killed")
    if not stopped:
        reporter.say(f"no embedded stack is running in {home}")


def status(home: Path) -> list[ServerStatus]:
    """Return the state of both servers of a home."""
    resolved = Home(home.resolve())
    running = lifecycle.running_servers(resolved)
    servers = lifecycle.all_servers(resolved)
    return [_status(resolved, server, running.get(server.name)) for server in servers]


def _status(home: Home, server: Server, running: ServerProcess | None) -> ServerStatus:
    if running is None and server.name == Neo4j.name and home.is_rebuilding:
        return ServerStatus(server.title, "rebuilding")
    if running is None:
        return ServerStatus(server.title, "starting" if server.find_processes() else "stopped")
    uptime = max(0, round(time.time() - running.started))
    memory = processes.memory_bytes(running.pid) // files.MB
    return ServerStatus(server.title, "running", running.pid, running.port, uptime, memory)
