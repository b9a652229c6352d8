"""The embedded stack of one home: where it is, starting it, stopping it, what it does.

`up` ends with both servers running and published, or with one error and nothing of what it began: whatever breaks
it off, the servers it started are stopped again, and what it wrote is whole and used by the next try.
"""

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from sqlalchemy import URL

from starcast.errors import UnavailableError
from starcast.local import files, packages, processes
from starcast.local.home import Home, Running
from starcast.local.jars import JarSet
from starcast.local.neo4j import Neo4j
from starcast.local.postgres import Postgres
from starcast.local.processes import LOOPBACK
from starcast.local.server import Server
from starcast.progress import Reporter
from starcast.settings import Settings

#: Seconds that a server may take to be ready: five on an idle machine, much more on a busy one or after a crash.
_PATIENCE = 180.0
#: Seconds that the servers get to stop by themselves; killing takes the rest of the fifteen that `down` may take.
_GRACE = 11.0
_PORTS_TRIED = 3
#: Megabytes below which a server that has run before is not started again.
_SOME_SPACE = 50


@dataclass(frozen=True)
class Endpoints:
    """Where the running servers of a home are, and how to log in."""

    neo4j_uri: str
    neo4j_password: str = field(repr=False)
    postgres_url: URL


@dataclass(frozen=True)
class ServerStatus:
    """What one server does: ``running``, ``starting`` (or left behind by a broken start) or ``stopped``.

    Attributes:
        server: its name.
        state: see above.
        pid: its process.
        port: the TCP port on 127.0.0.1.
        uptime_s: seconds since it was started.
        memory_mb: resident memory in 10^6 bytes, pages shared between its processes counted once.
    """

    server: str
    state: str
    pid: int | None = None
    port: int | None = None
    uptime_s: int | None = None
    memory_mb: int | None = None


def _servers(home: Home) -> tuple[Neo4j, Postgres]:
    return Neo4j(home), Postgres(home)


def _running(home: Home) -> dict[str, Running]:
    """Those of the published servers that live."""
    published = home.published()
    return {
        server.name: published[server.name]
        for server in _servers(home)
        if processes.find(published.get(server.name), server.marks)
    }


def endpoints(home: Path) -> Endpoints:
    """Where both servers of this home are.

    Raises:
        UnavailableError: one of them does not run.
    """
    return Endpoints(*graph_endpoint(home), store_endpoint(home))


def graph_endpoint(home: Path) -> tuple[str, str]:
    """The Bolt URI of this home's Neo4j and its password, whatever PostgreSQL does.

    Raises:
        UnavailableError: it does not run.
    """
    server = Neo4j(Home(home.resolve()))
    return f"bolt://{LOOPBACK}:{_port(server, home)}", server.password


def store_endpoint(home: Path) -> URL:
    """The URL of this home's PostgreSQL database, whatever Neo4j does.

    Raises:
        UnavailableError: it does not run.
    """
    server = Postgres(Home(home.resolve()))
    return server.url(_port(server, home))


def _port(server: Server, home: Path) -> int:
    running = _running(Home(home.resolve()))
    if server.name not in running:
        what = f"the embedded {server.title}" if running else "the embedded stack"
        raise UnavailableError(f"{what} in {home} does not run", hint="run 'starcast up'")
    return running[server.name].port


def addresses(home: Path, running: Endpoints) -> list[dict[str, str]]:
    """For people: where each server is, who logs in, and which file holds the password."""
    neo4j, postgres = _servers(Home(home.resolve()))
    url = running.postgres_url
    where: dict[Server, str] = {neo4j: running.neo4j_uri, postgres: f"postgresql://{url.host}:{url.port}/{url.database}"}
    return [
        {"server": server.title, "address": address, "user": server.user, "password_file": str(server.password_file)}
        for server, address in where.items()
    ]


def up(settings: Settings, reporter: Reporter) -> Endpoints:
    """Start what does not run, after fetching what is missing; says so when there is nothing to do.

    Raises:
        UnavailableError: something could not be fetched, or a server does not start.
        LimitError: the disk is full.
    """
    packages.require()
    home = Home(settings.home.resolve())
    with files.writing(settings.home):
        home.create()
        with home.locked(reporter):
            running = _running(home)
            asleep = [server for server in _servers(home) if server.name not in running]
            if not asleep:
                reporter.say(f"the embedded stack in {home.root} runs already")
                return endpoints(home.root)
            space = sum(_SOME_SPACE if home.published() else server.space for server in asleep)
            files.need_space(home.root, space, "the embedded stack")
            JarSet.of(settings.cache).fetch(settings.maven_repository, reporter)
            _Start(home, settings, reporter).run(asleep)
            return endpoints(home.root)


class _Start:
    """One attempt to start servers: all of them, or none."""

    def __init__(self, home: Home, settings: Settings, reporter: Reporter) -> None:
        self._home, self._settings, self._reporter = home, settings, reporter

    def run(self, servers: Sequence[Server]) -> None:
        try:
            _stop(servers)  # what a killed server or a killed 'starcast up' left behind holds the data's lock
            for server in servers:
                server.prepare(self._settings)
            started = {server.name: self._launch(server) for server in servers}
            for server in reversed(servers):  # PostgreSQL first: it is ready at once
                started[server.name] = self._wait(server, started[server.name])
            self._home.publish(_running(self._home) | started)
        except BaseException:
            _stop(servers)
            raise

    def _launch(self, server: Server) -> Running:
        """Start a server, on the port it had before if that is free."""
        before = self._home.published().get(server.name)
        port = processes.free_port(before.port if before else None)
        for log in server.logs:
            files.put_aside(log)
        self._reporter.say(f"starting {server.title} on {LOOPBACK}:{port}")
        pid = server.launch(self._settings, port)
        with suppress(psutil.NoSuchProcess):
            return Running(pid, psutil.Process(pid).create_time(), port)
        return Running(pid, time.time(), port)

    def _wait(self, server: Server, started: Running) -> Running:
        for _ in range(_PORTS_TRIED):
            if self._becomes_ready(server, started):
                return started
            # It ended. If somebody else has its port now, another port will help.
            if not processes.listens(started.port):
                break
            started = self._launch(server)
        raise processes.died(server.title, server.logs)

    def _becomes_ready(self, server: Server, started: Running) -> bool:
        """Wait; False when the process ends before it is ready."""
        deadline = time.monotonic() + _PATIENCE
        while time.monotonic() < deadline:
            if not processes.lives(started.pid):
                return False
            if processes.serves(started.pid, started.port) and self._is_ready(server, started.port):
                self._reporter.say(f"{server.title} is ready")
                return True
            time.sleep(0.1)
        raise UnavailableError(f"{server.title} is not ready after {_PATIENCE:.0f} seconds", hint=f"look into {server.logs[0]}")

    def _is_ready(self, server: Server, port: int) -> bool:
        from starcast.local import login  # noqa: PLC0415 - who only asks for endpoints pays for no driver

        password = server.password
        try:
            return login.CHECKS[server.name](port, server.user, password, server.database)
        except login.PasswordRefusedError:
            raise UnavailableError(
                f"the embedded {server.title} refuses the password in {server.password_file}",
                hint=f"restore that file, or delete {self._home.root} and run 'starcast up' and your ingests again",
            ) from None


def down(home: Path, reporter: Reporter) -> None:
    """Stop the servers of this home, cleanly and within fifteen seconds; says so when none runs."""
    place = Home(home.resolve())
    if not place.root.is_dir():
        reporter.say(f"no embedded stack runs in {home}")
        return
    with files.writing(home), place.locked(reporter):
        stopped = _stop(_servers(place))
    for title, politely in stopped.items():
        reporter.say(f"stopped {title}" if politely else f"{title} did not stop, and was killed")
    if not stopped:
        reporter.say(f"no embedded stack runs in {home}")


def status(home: Path) -> list[ServerStatus]:
    """What the servers of this home do."""
    place = Home(home.resolve())
    running = _running(place)
    return [_status(server, running.get(server.name)) for server in _servers(place)]


def _status(server: Server, running: Running | None) -> ServerStatus:
    if running is None:
        return ServerStatus(server.title, "starting" if server.leftovers() else "stopped")
    uptime = max(0, round(time.time() - running.started))
    memory = processes.memory(running.pid) // files.MB
    return ServerStatus(server.title, "running", running.pid, running.port, uptime, memory)


def _stop(servers: Sequence[Server]) -> dict[str, bool]:
    """End every process of these servers; for each title that ran, whether it ended by itself."""
    found = {server: server.leftovers() for server in servers}
    for server, living in found.items():
        processes.ask(living, server.polite)
    stubborn = processes.wait([process for living in found.values() for process in living], _GRACE)
    return {server.title: not set(living) & set(stubborn) for server, living in found.items() if living}
