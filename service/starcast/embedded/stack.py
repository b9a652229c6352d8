"""The embedded stack of one home: start it, stop it, report its state.

If `up` fails or is interrupted, it stops the servers that it started; the next `up` reuses what was
downloaded and written before.
"""

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from starcast.embedded import (
    data_directories,
    files,
    lifecycle,
    packages,
    processes,
    store_setup,
)
from starcast.embedded.addresses import Endpoints, endpoints, running_servers
from starcast.embedded.home import Home, ServerProcess
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.processes import LOOPBACK
from starcast.embedded.server import Server
from starcast.errors import InputError, UnavailableError
from starcast.progress import Reporter
from starcast.settings import Settings

ServerState = Literal["running", "not responding", "starting", "rebuilding", "stopped"]

#: Seconds in which a running server answers, also on a busy machine.
_RESPONSE_SECONDS = 3.0
#: Disk space required to restart a server that has run before, in megabytes.
_RESTART_MB = 50


@dataclass(frozen=True)
class ServerStatus:
    """The state of one server.

    Attributes:
        server: its name.
        state: its state; ``starting`` also if an interrupted start left it behind, ``not
            responding`` if its process is alive but does not answer, for example when it is frozen.
        pid: its process id.
        port: its TCP port on 127.0.0.1.
        uptime_s: seconds since its start.
        memory_mb: resident memory in 10^6 bytes; pages that its processes share count once.
        log: the file with its output.
    """

    server: str
    state: ServerState
    log: str
    pid: int | None = None
    port: int | None = None
    uptime_s: int | None = None
    memory_mb: int | None = None


def list_addresses(home: Path, running: Endpoints) -> list[dict[str, str]]:
    """Return one row per address for the output of `up`: address, user and password file."""
    resolved = Home(home.resolve())
    neo4j, postgres = lifecycle.all_servers(resolved)
    url = running.postgres_url
    writer = str(resolved.role_password_file("writer"))
    postgres_uri = f"postgresql://{url.host}:{url.port}/{url.database}"
    neo4j_login = (neo4j.user, str(neo4j.password_file))
    rows: list[tuple[str, str, tuple[str, str]]] = [
        (neo4j.title, running.neo4j_uri, neo4j_login),
        (postgres.title, postgres_uri, (str(url.username), writer)),
    ]
    if neo4j.browser_port is not None:
        page = f"http://{LOOPBACK}:{neo4j.browser_port}/browser/"
        rows.append(("Neo4j Browser", page, neo4j_login))
    return [
        {"server": title, "address": address, "user": user, "password_file": password_file}
        for title, address, (user, password_file) in rows
    ]


def up(settings: Settings, reporter: Reporter) -> Endpoints:
    """Start the servers that are not running, after downloading what is missing.

    The database is migrated to the newest revision; see `store_setup`.

    Raises:
        InputError: a server is running with other ports than those of the settings.
        RejectedError: a program file was changed after its download, or a newer starcast has
            created the tables; then the servers are running.
        UnavailableError: a download failed, or a server does not start.
        LimitError: the disk is full.
    """
    packages.require()
    _check_ports(settings)
    home = Home(settings.home.resolve())
    with files.translate_os_errors(settings.home):
        home.create()
        with home.locked(reporter, "starting the embedded stack"):
            lifecycle.clean_up(home)
            running = running_servers(home)
            _check_running(home, running, settings)
            stopped = [each for each in lifecycle.all_servers(home) if each.name not in running]
            if not stopped:
                reporter.say(f"the embedded stack in {home.root} is already running")
                return _prepare(home, reporter)
            space = sum(_RESTART_MB if home.published() else each.required_mb for each in stopped)
            files.require_space(home.root, space, "the embedded stack")
            _download(Neo4j(home), settings, reporter)
            lifecycle.Startup(home, settings, reporter).start_and_publish(stopped)
            return _prepare(home, reporter)


def _prepare(home: Home, reporter: Reporter) -> Endpoints:
    """Migrate the database of the running servers, and return their addresses."""
    store_setup.prepare_store(home, reporter)
    return endpoints(home.root)


def _check_ports(settings: Settings) -> None:
    chosen = [settings.neo4j_port, settings.postgres_port]
    chosen += [settings.neo4j_http_port] if settings.browser else []
    ports = [port for port in chosen if port is not None]
    if len(set(ports)) < len(ports):
        raise InputError(
            f"two servers cannot have the same port: {', '.join(map(str, ports))}",
            hint="choose different ports",
        )


def _check_running(home: Home, running: dict[str, ServerProcess], settings: Settings) -> None:
    """Check that the servers that are running have the ports and the Browser of the settings."""
    restart = "run 'starcast down', then 'starcast up' again"
    for server in lifecycle.all_servers(home):
        wanted = getattr(settings, server.port_setting)
        if server.name in running and wanted not in {None, running[server.name].port}:
            raise InputError(
                f"the embedded {server.title} is already running on port "
                f"{running[server.name].port}, not {wanted}",
                hint=restart,
            )
    if Neo4j.name in running and settings.browser:
        port = Neo4j(home).browser_port
        if port is None or settings.neo4j_http_port not in {None, port}:
            served = "without Neo4j Browser" if port is None else f"with Neo4j Browser on {port}"
            raise InputError(f"the embedded Neo4j is already running {served}", hint=restart)


def _download(neo4j: Neo4j, settings: Settings, reporter: Reporter) -> None:
    """Download and verify Neo4j's jars; files in the cache of the settings are used."""
    sets = [neo4j.jars(settings)]
    sets += [neo4j.browser(settings)] if settings.browser else []
    for jars in sets:
        earlier = settings.cache / jars.folder.name
        jars.download(settings.maven_repository, reporter, earlier)


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
    running = running_servers(resolved)
    servers = lifecycle.all_servers(resolved)
    return [_status(resolved, server, running.get(server.name)) for server in servers]


def _status(home: Home, server: Server, running: ServerProcess | None) -> ServerStatus:
    log = str(server.logs[0])
    if running is None and server.name == Neo4j.name and home.is_rebuilding:
        return ServerStatus(server.title, "rebuilding", log)
    if running is None:
        state: ServerState = "starting" if server.find_processes() else "stopped"
        return ServerStatus(server.title, state, log)
    responds = processes.responds(running.port, server.greeting, _RESPONSE_SECONDS)
    uptime = max(0, round(time.time() - running.started))
    memory = processes.memory_bytes(running.pid) // files.MB
    return ServerStatus(
        server.title,
        "running" if responds else "not responding",
        log,
        running.pid,
        running.port,
        uptime,
        memory,
    )
