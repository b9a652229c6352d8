"""Start and stop servers: the common part of `up`, `down` and a rebuild."""

import signal
import time
from collections.abc import Sequence
from contextlib import suppress

import psutil

from starcast.embedded import data_directories, files, processes
from starcast.embedded.addresses import running_servers
from starcast.embedded.home import Home, ServerProcess
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.postgres import Postgres
from starcast.embedded.processes import LOOPBACK
from starcast.embedded.server import PasswordRefusedError, Server, UnreadableDataError
from starcast.errors import UnavailableError
from starcast.progress import Reporter
from starcast.settings import Settings

#: Seconds until a server must be ready: 5 on an idle machine, far more on a busy one or after a
#: crash.
_STARTUP_SECONDS = 180.0
#: Seconds for a clean shutdown; killing takes the rest of the 15 that `down` may take.
_SHUTDOWN_SECONDS = 11.0
_MAX_PORT_ATTEMPTS = 3


def all_servers(home: Home) -> tuple[Neo4j, Postgres]:
    """Return both servers of a home."""
    return Neo4j(home), Postgres(home)


def stop(servers: Sequence[Server]) -> dict[str, bool]:
    """End every process of these servers.

    Returns:
        For the title of each server that was running, whether it ended without being killed.
    """
    alive = {server: server.find_processes() for server in servers}
    for server, members in alive.items():
        processes.send_signal(members, server.stop_signal)
    everything = [process for members in alive.values() for process in members]
    killed = set(processes.wait_or_kill(everything, _SHUTDOWN_SECONDS))
    return {server.title: not set(members) & killed for server, members in alive.items() if members}


def clean_up(home: Home) -> None:
    """Clean up after a killed rebuild: stop orphan processes, delete stale data directories.

    The caller holds the lock of the home. The published server uses the current data directory and
    is left running.
    """
    published = running_servers(home).get(Neo4j.name)
    pid = None if published is None else published.pid
    orphans = [process for process in Neo4j(home).find_processes() if process.pid != pid]
    _end(orphans, Neo4j.stop_signal)
    data_directories.delete_stale(home.neo4j)


def _end(members: Sequence[psutil.Process], number: signal.Signals) -> None:
    processes.send_signal(members, number)
    processes.wait_or_kill(members, _SHUTDOWN_SECONDS)


class Startup:
    """One attempt to start servers: all of them or none."""

    def __init__(self, home: Home, settings: Settings, reporter: Reporter) -> None:
        self._home = home
        self._settings = settings
        self._reporter = reporter

    def start_and_publish(self, servers: Sequence[Server]) -> None:
        """Start servers and publish them when all are ready; see `start`."""
        try:
            self.publish(self.start(servers))
        except BaseException:
            stop(servers)
            raise

    def start(self, servers: Sequence[Server]) -> dict[str, ServerProcess]:
        """Start servers and wait until all are ready, without publishing them.

        Raises:
            UnavailableError: a server does not start; then none of them is running.
            LimitError: the disk is full.
        """
        try:
            # Processes that a killed server or 'starcast up' left behind hold the lock of the data.
            stop(servers)
            for server in servers:
                server.prepare(self._settings)
            started = {server.name: self._launch(server) for server in servers}
            for server in reversed(servers):  # PostgreSQL first: it is ready at once
                started[server.name] = self._wait(server, started[server.name])
        except BaseException:
            stop(servers)
            raise
        return started

    def publish(self, started: dict[str, ServerProcess]) -> None:
        """Publish these servers, in addition to those that are running already."""
        self._home.publish(running_servers(self._home) | started)

    def _launch(self, server: Server) -> ServerProcess:
        previous = self._home.published().get(server.name)
        wanted = getattr(self._settings, server.port_setting)
        port = processes.choose_port(wanted, previous.port if previous else None, server.title)
        for log in server.logs:
            files.rotate_log(log)
        self._reporter.say(f"starting {server.title} on {LOOPBACK}:{port}")
        pid = server.launch(self._settings, port)
        with suppress(psutil.NoSuchProcess):
            return ServerProcess(pid, psutil.Process(pid).create_time(), port)
        return ServerProcess(pid, time.time(), port)

    def _wait(self, server: Server, started: ServerProcess) -> ServerProcess:
        for _ in range(_MAX_PORT_ATTEMPTS):
            try:
                if self._becomes_ready(server, started):
                    return started
            except UnreadableDataError:
                return self._wait(server, self._start_with_damage(server))
            # It exited. If another process has taken its port, another port will help.
            if not processes.is_listening(started.port):
                break
            started = self._launch(server)
        raise processes.startup_error(server.title, server.logs)

    def _start_with_damage(self, server: Server) -> ServerProcess:
        """Start a server again that cannot open its data, so that it does.

        Raises:
            UnavailableError: it cannot.
        """
        stop([server])
        if not server.tolerate_damage():
            raise UnavailableError(
                f"{server.title} cannot open its data",
                hint=f"see the logs in {server.logs[0].parent}, or move the data of the graph away,"
                " repeat 'starcast up' and run 'starcast graph rebuild'",
            )
        self._reporter.say(
            f"{server.title} cannot open its data, as after a full disk: trying without the damaged"
            " end of its log; then 'starcast graph verify' says whether anything is missing"
        )
        return self._launch(server)

    def _becomes_ready(self, server: Server, started: ServerProcess) -> bool:
        """Wait for a server; return False if its process ends before it is ready."""
        deadline = time.monotonic() + _STARTUP_SECONDS
        while time.monotonic() < deadline:
            if not processes.is_alive(started.pid):
                return False
            if self._is_ready(server, started):
                self._reporter.say(f"{server.title} is ready")
                return True
            time.sleep(0.1)
        raise UnavailableError(
            f"{server.title} is not ready after {_STARTUP_SECONDS:.0f} seconds",
            hint=f"see the log {server.logs[0]}",
        )

    def _is_ready(self, server: Server, started: ServerProcess) -> bool:
        try:
            listening = processes.owns_port(started.pid, started.port)
            return listening and server.is_ready(started.port)
        except PasswordRefusedError:
            raise UnavailableError(
                f"the embedded {server.title} refuses the password in {server.password_file}",
                hint=f"restore that file, or delete {self._home.root} and repeat 'starcast up' and "
                "your ingests",
            ) from None
