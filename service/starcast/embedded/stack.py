"""The embedded stack of one home: where it is, starting it, stopping it, what it does.

`up` ends with both servers running and published, or with one error and nothing of what it began: whatever breaks
it off, the servers it started are stopped again, and what it wrote is whole and used by the next try.
"""

import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import URL

from starcast.embedded import data_directories, files, lifecycle, packages, processes
from starcast.embedded.home import Home, Running
from starcast.embedded.jars import JarSet
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.postgres import Postgres
from starcast.embedded.processes import LOOPBACK
from starcast.embedded.server import Server
from starcast.errors import UnavailableError
from starcast.progress import Reporter
from starcast.settings import Settings

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
    """What one server does: ``running``, ``starting`` (or left behind by a broken start), ``rebuilding`` or ``stopped``.

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
    running = lifecycle.running(Home(home.resolve()))
    if server.name not in running:
        if server.name == Neo4j.name and Home(home.resolve()).is_rebuilt:
            raise UnavailableError(
                f"the embedded {server.title} in {home} is away while its data are replaced by what was imported",
                hint="try again in a minute; 'starcast status' says when it is back",
            )
        what = f"the embedded {server.title}" if running else "the embedded stack"
        raise UnavailableError(f"{what} in {home} does not run", hint="run 'starcast up'")
    return running[server.name].port


def addresses(home: Path, running: Endpoints) -> list[dict[str, str]]:
    """For people: where each server is, who logs in, and which file holds the password."""
    neo4j, postgres = lifecycle.servers(Home(home.resolve()))
    url = running.postgres_url
    topology: dict[Server, str] = {
        neo4j: running.neo4j_uri,
        postgres: f"postgresql://{url.host}:{url.port}/{url.database}",
    }
    return [
        {
            "server": server.title,
            "address": address,
            "user": server.user,
            "password_file": str(server.password_file),
        }
        for server, address in topology.items()
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
            lifecycle.tidy(home)
            running = lifecycle.running(home)
            asleep = [server for server in lifecycle.servers(home) if server.name not in running]
            if not asleep:
                reporter.say(f"the embedded stack in {home.root} runs already")
                return endpoints(home.root)
            space = sum(_SOME_SPACE if home.published() else server.space for server in asleep)
            files.need_space(home.root, space, "the embedded stack")
            JarSet.of(settings.cache).fetch(settings.maven_repository, reporter)
            lifecycle.Start(home, settings, reporter).run(asleep)
            return endpoints(home.root)


def down(home: Path, reporter: Reporter) -> None:
    """Stop the servers of this home, cleanly and within fifteen seconds; says so when none runs."""
    place = Home(home.resolve())
    if not place.root.is_dir():
        reporter.say(f"no embedded stack runs in {home}")
        return
    with files.writing(home), place.locked(reporter):
        stopped = lifecycle.stop(lifecycle.servers(place))
        with suppress(UnavailableError):  # 'up' will say which directory is in force cannot be told
            data_directories.sweep(place.neo4j)
    for title, politely in stopped.items():
        reporter.say(f"stopped {title}" if politely else f"{title} did not stop, and was killed")
    if not stopped:
        reporter.say(f"no embedded stack runs in {home}")


def status(home: Path) -> list[ServerStatus]:
    """What the servers of this home do."""
    place = Home(home.resolve())
    running = lifecycle.running(place)
    return [_status(place, server, running.get(server.name)) for server in lifecycle.servers(place)]


def _status(home: Home, server: Server, running: Running | None) -> ServerStatus:
    if running is None and server.name == Neo4j.name and home.is_rebuilt:
        return ServerStatus(server.title, "rebuilding")
    if running is None:
        return ServerStatus(server.title, "starting" if server.leftovers() else "stopped")
    uptime = max(0, round(time.time() - running.started))
    memory = processes.memory(running.pid) // files.MB
    return ServerStatus(server.title, "running", running.pid, running.port, uptime, memory)
