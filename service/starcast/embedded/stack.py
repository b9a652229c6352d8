"""The embedded stack of one home: start and stop its servers, report their state.

If `up` fails or is interrupted, it stops the servers that it started. The next `up` reuses
downloaded and written files.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from starcast.embedded import files, packages, processes
from starcast.embedded.endpoints import embedded_graph, embedded_store
from starcast.embedded.home import Home, Server, ServerProcess, UnreadableDataError
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.postgres import Postgres
from starcast.embedded.processes import LOOPBACK
from starcast.stores.database import sessions
from starcast.support.errors import InputError, UnavailableError
from starcast.support.progress import Reporter
from starcast.support.settings import Settings

ServerState = Literal["running", "not responding", "starting", "rebuilding", "stopped"]

#: Time limit in seconds for a server start. A start takes 5 seconds on an idle machine, but far
#: longer on a busy machine or after a crash.
_STARTUP_SECONDS = 180.0
#: Seconds allowed for a clean shutdown. The rest of the 15 seconds that `down` may take is for
#: killing processes.
_SHUTDOWN_SECONDS = 11.0
#: Seconds within which a running server answers, even on a busy machine.
_RESPONSE_SECONDS = 3.0
_MAX_PORT_ATTEMPTS = 3
#: Disk space required to restart a server that has run before, in megabytes.
_RESTART_MB = 50


@dataclass(frozen=True)
class ServerStatus:
    """The state of one server.

    Attributes:
        server: its name.
        state: its state. ``starting`` includes a server left behind by an interrupted start; ``not
            responding`` means that its process is alive but does not answer, such as a frozen one.
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


def all_servers(home: Home) -> tuple[Neo4j, Postgres]:
    """Return both servers of a home."""
    return Neo4j(home), Postgres(home)


def up(settings: Settings, reporter: Reporter) -> None:
    """Start the servers that are not running, after downloading missing files.

    The database is migrated to the newest revision; see `prepare_store`.

    Raises:
        InputError: a server is already running on another port than the settings request.
        RejectedError: a program file was changed after its download, or a newer starcast has
            created the tables; then the servers are running.
        UnavailableError: a download failed, or a server does not start.
        LimitError: the disk is full.
    """
    packages.require()
    _check_ports(settings)
    home = Home(settings.home)
    home.create()
    with home.locked(reporter, "starting the embedded stack"):
        clean_up(home)
        running = home.running()
        _check_running(home, running, settings)
        stopped = [server for server in all_servers(home) if server.name not in running]
        if stopped:
            _start(home, stopped, settings, reporter)
        else:
            reporter.say(f"the embedded stack in {home.root} is already running")
        # A running stack is prepared too, because the `up` that started it may have been
        # interrupted.
        prepare_store(home, reporter)


def _start(home: Home, servers: Sequence[Server], settings: Settings, reporter: Reporter) -> None:
    """Download what is missing, start servers, and write the archive of Neo4j's classes."""
    has_run = bool(home.published())
    size = sum(_RESTART_MB if has_run else server.required_mb for server in servers)
    files.require_space(home.root, size, "the embedded stack")
    neo4j = Neo4j(home)
    for jars in neo4j.jar_sets(settings):
        jars.download(settings.maven_repository, reporter)
    archive = neo4j.class_archive(settings)
    # No archive is written if Neo4j is already running, since it may have been started without
    # recording its classes.
    if any(server.name == neo4j.name for server in servers):
        archive.prepare(reporter)
    started = start(servers, settings, reporter)
    if neo4j.name in started:
        archive.record(home.neo4j, started[neo4j.name].pid, reporter)


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
    """Check that running servers have the requested ports, and Neo4j Browser if requested."""
    restart = "run 'starcast down', then 'starcast up' again"
    for server in all_servers(home):
        wanted = server.wanted_port(settings)
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


def prepare_store(home: Home, reporter: Reporter) -> None:
    """Create the roles in a running PostgreSQL, and upgrade its tables to the newest revision.

    If the database holds data in an older revision, they are first backed up to the folder
    ``backups`` of the home.

    Raises:
        RejectedError: a newer starcast or another program has created the tables.
        LimitError, UnavailableError, InputError: the backup cannot be written; nothing is changed.
    """
    reporter.say("checking the roles and tables of PostgreSQL")
    Postgres(home).set_up(home.port(Postgres.name))
    engine = sessions.connect(embedded_store(home.root, "owner"))
    try:
        revision = sessions.current(engine)
        if revision == sessions.head():
            return
        # Imported only here: alembic takes half a second, and most starts need no migration.
        from starcast.stores.database import backup, migrations  # noqa: PLC0415

        if revision in sessions.revisions() and backup.count_rows(engine):
            programs = packages.find_client_programs(backup.server_major(engine))
            file = home.backup_file(f"revision-{revision}")
            reporter.say(f"backing up the database before its upgrade: {file}")
            backup.create(engine, file, programs)
        migrations.upgrade(engine, reporter)
    finally:
        engine.dispose()


def list_addresses(home: Path) -> list[dict[str, str]]:
    """Return one row per address for the output of `up`: address, user and password file.

    Raises:
        UnavailableError: a server is not running.
    """
    stack_home = Home(home)
    neo4j, postgres = all_servers(stack_home)
    url = embedded_store(home)
    writer = stack_home.role_password_file("writer")
    postgres_uri = f"postgresql://{url.host}:{url.port}/{url.database}"
    rows = [
        (neo4j.title, embedded_graph(home).uri, neo4j.user, neo4j.password_file),
        (postgres.title, postgres_uri, url.username, writer),
    ]
    if neo4j.browser_port is not None:
        page = f"http://{LOOPBACK}:{neo4j.browser_port}/browser/"
        rows.append(("Neo4j Browser", page, neo4j.user, neo4j.password_file))
    names = ("server", "address", "user", "password_file")
    return [dict(zip(names, map(str, row), strict=True)) for row in rows]


def down(home: Path, reporter: Reporter) -> None:
    """Stop the servers of a home within 15 seconds; report if none is running."""
    stack_home = Home(home)
    stopped: dict[str, bool] = {}
    if stack_home.root.is_dir():
        with stack_home.locked(reporter, "stopping the embedded stack"):
            stopped = stop(all_servers(stack_home))
            with suppress(UnavailableError):  # the next 'up' reports this error
                Neo4j(stack_home).delete_stale()
    for title, clean in stopped.items():
        reporter.say(f"stopped {title}" if clean else f"{title} did not stop and was killed")
    if not stopped:
        reporter.say(f"no embedded stack is running in {home}")


def status(home: Path) -> list[ServerStatus]:
    """Return the state of both servers of a home."""
    stack_home = Home(home)
    running = stack_home.running()
    return [_status(server, running.get(server.name)) for server in all_servers(stack_home)]


def _status(server: Server, running: ServerProcess | None) -> ServerStatus:
    log = str(server.log)
    if running is None:
        state: ServerState = "stopped"
        if server.name == Neo4j.name and server.home.is_rebuilding:
            state = "rebuilding"
        elif server.find_processes():
            state = "starting"
        return ServerStatus(server.title, state, log)
    responds = processes.responds(running.port, server.greeting, _RESPONSE_SECONDS)
    return ServerStatus(
        server.title,
        "running" if responds else "not responding",
        log,
        running.pid,
        running.port,
        uptime_s=max(0, round(time.time() - running.started)),
        memory_mb=processes.memory_bytes(running.pid) // files.MB,
    )


def stop(servers: Sequence[Server], spare: int | None = None) -> dict[str, bool]:
    """End every process of these servers, except the process with the id ``spare``.

    Returns:
        By server title, whether each server that was running ended without being killed.
    """
    alive = {
        server: [process for process in server.find_processes() if process.pid != spare]
        for server in servers
    }
    for server, members in alive.items():
        # All servers stop at the same time, so that one time limit covers both.
        processes.send_signal(members, server.stop_signal)
    everything = [process for members in alive.values() for process in members]
    killed = set(processes.wait_or_kill(everything, _SHUTDOWN_SECONDS))
    return {server.title: not set(members) & killed for server, members in alive.items() if members}


def clean_up(home: Home) -> None:
    """Clean up after a killed rebuild: stop orphan processes, delete stale data directories.

    The caller must hold the lock of the home. The server listed in ``stack.json`` uses the current
    data directory and is left running.
    """
    published = home.running().get(Neo4j.name)
    neo4j = Neo4j(home)
    stop([neo4j], spare=published.pid if published else None)
    neo4j.delete_stale()


def start(
    servers: Sequence[Server], settings: Settings, reporter: Reporter, *, publish: bool = True
) -> dict[str, ServerProcess]:
    """Start either all servers or none, wait until all are ready, and list them in ``stack.json``.

    Args:
        servers: the servers of one home to start.
        settings: the settings, which name ports, caches and options.
        reporter: receives progress messages.
        publish: False if the caller lists them later with `Home.publish`.

    Raises:
        UnavailableError: a server does not start; then none of them is running.
        LimitError: the disk is full.
    """
    try:
        # Processes left behind by a killed server or 'starcast up' would keep the data locked.
        stop(servers)
        for server in servers:
            server.prepare(settings)
        started = {server.name: _launch(server, settings, reporter) for server in servers}
        for server in reversed(servers):  # PostgreSQL first, because it is ready at once
            reporter.say(f"waiting for {server.title}")
            started[server.name] = _wait(server, started[server.name], settings, reporter)
        if publish:
            servers[0].home.publish(started)
    except BaseException:
        stop(servers)
        raise
    return started


def _launch(server: Server, settings: Settings, reporter: Reporter) -> ServerProcess:
    previous = server.home.published().get(server.name)
    wanted = server.wanted_port(settings)
    port = processes.choose_port(wanted, previous.port if previous else None, server.title)
    files.rotate_log(server.log)
    reporter.say(f"starting {server.title} on {LOOPBACK}:{port}")
    pid = server.launch(settings, port)
    return ServerProcess(pid, time.time(), port)


def _wait(
    server: Server, started: ServerProcess, settings: Settings, reporter: Reporter
) -> ServerProcess:
    """Wait until a server is ready; start it again if its port is taken or its log is damaged."""
    attempts = _MAX_PORT_ATTEMPTS
    deadline = time.monotonic() + _STARTUP_SECONDS
    while time.monotonic() < deadline:
        try:
            if not processes.is_alive(started.pid):
                attempts -= 1
                # If another process has taken the port of the server, try another port.
                if attempts == 0 or not processes.is_listening(started.port):
                    raise processes.startup_error(server.title, server.log)
                started = _launch(server, settings, reporter)
                deadline = time.monotonic() + _STARTUP_SECONDS
            elif processes.owns_port(started.pid, started.port) and server.is_ready(started.port):
                reporter.say(f"{server.title} is ready")
                return started
        except UnreadableDataError:
            stop([server])
            if server.tolerates_damage:
                raise UnavailableError(
                    f"{server.title} cannot open its data",
                    hint=f"see the logs in {server.log.parent}, or move the graph's data directory"
                    " elsewhere, run 'starcast up' again, then 'starcast graph rebuild'",
                ) from None
            server.tolerates_damage = True
            reporter.say(
                f"{server.title} cannot open its data, perhaps because the disk was full. It is"
                " started again without the damaged end of its log. Run 'starcast graph verify'"
                " afterwards to see whether data are missing"
            )
            started = _launch(server, settings, reporter)
            attempts, deadline = _MAX_PORT_ATTEMPTS, time.monotonic() + _STARTUP_SECONDS
        time.sleep(0.1)
    raise UnavailableError(
        f"{server.title} is not ready after {_STARTUP_SECONDS:.0f} seconds",
        hint=f"see the log {server.log}",
    )
