"""Starting and stopping servers: what `up`, `down` and a rebuilding have in common."""

import signal
import time
from collections.abc import Sequence
from contextlib import suppress

import psutil

from starcast.embedded import data_directories, files, processes
from starcast.embedded.home import Home, Running
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.postgres import Postgres
from starcast.embedded.processes import LOOPBACK
from starcast.embedded.server import Server
from starcast.errors import UnavailableError
from starcast.progress import Reporter
from starcast.settings import Settings

#: Seconds that a server may take to be ready: five on an idle machine, much more on a busy one or after a crash.
_PATIENCE = 180.0
#: Seconds that the servers get to stop by themselves; killing takes the rest of the fifteen that `down` may take.
_GRACE = 11.0
_PORTS_TRIED = 3


def servers(home: Home) -> tuple[Neo4j, Postgres]:
    """Both servers of a home."""
    return Neo4j(home), Postgres(home)


def running(home: Home) -> dict[str, Running]:
    """Those of the published servers that live."""
    published = home.published()
    return {
        server.name: published[server.name]
        for server in servers(home)
        if processes.find(published.get(server.name), server.marks)
    }


def stop(what: Sequence[Server]) -> dict[str, bool]:
    """End every process of these servers; for each title that ran, whether it ended by itself."""
    found = {server: server.leftovers() for server in what}
    for server, living in found.items():
        processes.ask(living, server.polite)
    stubborn = processes.wait([process for living in found.values() for process in living], _GRACE)
    return {
        server.title: not set(living) & set(stubborn) for server, living in found.items() if living
    }


def tidy(home: Home) -> None:
    """End and remove what a rebuilding that was killed has left: an import, a server that nobody knows, data. Under the lock.

    What is published runs on the directory in force, so it is left alone.
    """
    known = running(home).get(Neo4j.name)
    strangers = [
        process for process in Neo4j(home).leftovers() if known is None or process.pid != known.pid
    ]
    _end(strangers, Neo4j.polite)
    data_directories.sweep(home.neo4j)


def _end(living: Sequence[psutil.Process], polite: signal.Signals) -> None:
    processes.ask(living, polite)
    processes.wait(living, _GRACE)


class Start:
    """One attempt to start servers: all of them, or none."""

    def __init__(self, home: Home, settings: Settings, reporter: Reporter) -> None:
        self._home, self._settings, self._reporter = home, settings, reporter

    def run(self, what: Sequence[Server]) -> None:
        """Start servers, and publish them when all are ready."""
        try:
            self.publish(self.ready(what))
        except BaseException:
            stop(what)
            raise

    def ready(self, what: Sequence[Server]) -> dict[str, Running]:
        """Start servers, and wait until all are ready; nobody is told of them.

        Raises:
            UnavailableError: one does not start; none of them runs then.
            LimitError: the disk is full.
        """
        try:
            stop(
                what
            )  # what a killed server or a killed 'starcast up' left behind holds the data's lock
            for server in what:
                server.prepare(self._settings)
            started = {server.name: self._launch(server) for server in what}
            for server in reversed(what):  # PostgreSQL first: it is ready at once
                started[server.name] = self._wait(server, started[server.name])
        except BaseException:
            stop(what)
            raise
        return started

    def publish(self, started: dict[str, Running]) -> None:
        """Tell everybody of these servers, and of those that run already."""
        self._home.publish(running(self._home) | started)

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
        raise UnavailableError(
            f"{server.title} is not ready after {_PATIENCE:.0f} seconds",
            hint=f"look into {server.logs[0]}",
        )

    def _is_ready(self, server: Server, port: int) -> bool:
        from starcast.embedded import readiness  # noqa: PLC0415 - who only asks for endpoints pays for no driver

        password = server.password
        try:
            return readiness.CHECKS[server.name](port, server.user, password, server.database)
        except readiness.PasswordRefusedError:
            raise UnavailableError(
                f"the embedded {server.title} refuses the password in {server.password_file}",
                hint=f"restore that file, or delete {self._home.root} and run 'starcast up' and your ingests again",
            ) from None
