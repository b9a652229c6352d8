"""Fixtures for servers: one embedded stack per test run, started by the first test that needs it.

``STARCAST_TEST_HOME`` names a home folder to keep: a stack running there is used and left running.
``STARCAST_TEST_NEO4J`` is the URI of a Neo4j server for the query-pack tests, which need no other
server; `tests/lts` sets it together with a password file. If a server cannot start, no test is
skipped: every test that needs the server fails with the message of `starcast up`.
"""

import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from neo4j import Driver, GraphDatabase
from sqlalchemy import URL, Engine, text

from starcast.embedded import stack
from starcast.embedded.endpoints import embedded_store
from starcast.embedded.endpoints import graph_address as address_of
from starcast.embedded.endpoints import store_url as url_of
from starcast.embedded.home import Home
from starcast.embedded.neo4j import CONFIGURATION, Neo4j
from starcast.embedded.postgres import Postgres
from starcast.embedded.system import LOOPBACK
from starcast.stores import GraphAddress, Role
from starcast.stores.graph.connection import Graph
from starcast.support.errors import StarcastError
from starcast.support.installation import PREFIX
from starcast.support.progress import Silent
from starcast.support.settings import Settings

#: JVM options of every Neo4j in the tests. These servers run too briefly for optimising compilation
#: to pay off. With TLS, Neo4j encrypts its private key in memory for every new connection.
#: By default, deriving the key takes 10,000 rounds, a fifth of the server time in the tests.
QUICK_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Dkeystore.pkcs12.keyPbeIterationCount=1"

#: The tests repeatedly empty the graph store and fill it again. By default the server would then
#: plan each statement again every ten seconds, which takes longer than executing the statements. An
#: ingest would discard all plans too, which `stack_settings` prevents.
_KEEP_PLANS = "dbms.cypher.min_replan_interval=1h\n"

#: Neo4j settings that accept connections with and without TLS on the same port.
_TLS = """
dbms.ssl.policy.bolt.enabled=true
dbms.ssl.policy.bolt.base_directory={folder}
dbms.ssl.policy.bolt.client_auth=NONE
server.bolt.tls_level=OPTIONAL
"""

#: A file system in memory, and the number of free bytes required to use it.
MEMORY = Path("/dev/shm")
MIN_MEMORY = 4 << 30

_KEPT = ("STARCAST_CACHE", "STARCAST_MAVEN_REPOSITORY", "STARCAST_NEO4J_JAVA_OPTIONS")
_USED = pytest.StashKey[str]()
_HOME = pytest.StashKey[str | None]()
_FOREIGN = pytest.StashKey[GraphAddress | None]()


def pytest_configure(config: pytest.Config) -> None:
    """Remove the settings of the user who runs the tests, which may name other servers."""
    config.stash[_HOME] = os.environ.get("STARCAST_TEST_HOME")
    config.stash[_FOREIGN] = _foreign()
    for name in [name for name in os.environ if name.startswith(PREFIX) and name not in _KEPT]:
        del os.environ[name]
    os.environ["STARCAST_CONFIG"] = os.devnull
    os.environ.setdefault("STARCAST_NEO4J_JAVA_OPTIONS", QUICK_OPTIONS)
    config.stash[_USED] = ""


def superuser_url(home: Home, port: int) -> URL:
    """Return the superuser's URL of the embedded database."""
    server = Postgres(home)
    driver = "postgresql+psycopg"
    return URL.create(driver, server.user, server.password, LOOPBACK, port, server.database)


def _foreign() -> GraphAddress | None:
    uri = os.environ.get("STARCAST_TEST_NEO4J")
    if uri is None:
        return None
    password = (
        Path(os.environ["STARCAST_TEST_NEO4J_PASSWORD_FILE"]).read_text(encoding="utf-8").strip()
    )
    return GraphAddress(uri, "neo4j", password, "neo4j")


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the versions that the running servers have reported."""
    terminalreporter.write_line(
        f"servers used: {config.stash[_USED] or 'none, no test needed one'}"
    )


@pytest.fixture(scope="session")
def stack_home(request: pytest.FixtureRequest) -> Iterator[Path]:
    """The home folder of the stack, in memory if it fits, since commits to a disk take longer."""
    kept = request.config.stash[_HOME]
    if kept:
        yield Path(kept)
        return
    in_memory = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MIN_MEMORY
    folder = MEMORY if in_memory else None
    with tempfile.TemporaryDirectory(prefix="starcast-stack-", dir=folder) as name:
        yield Path(name) / "home"


@pytest.fixture(scope="session")
def stack_settings(stack_home: Path, request: pytest.FixtureRequest) -> Iterator[Settings]:
    """The settings of the embedded stack, which is running."""
    kept = request.config.stash[_HOME]
    settings = Settings.load(home=stack_home)
    was_running = all(server.state == "running" for server in stack.status(stack_home))
    try:
        with pytest.MonkeyPatch.context() as patch:
            tls = "" if kept else _TLS.format(folder=request.getfixturevalue("tls_folder"))
            patch.setattr(Neo4j, "configuration", CONFIGURATION + _KEEP_PLANS + tls)
            stack.up(settings, Silent())
    except StarcastError as error:
        pytest.fail(f"the servers for the tests do not start: {error}", pytrace=False)
    try:
        with psycopg.connect(plain_url(url_of(settings))) as connection:
            version = connection.info.parameter_status("server_version")
        used = f"{_neo4j_version(address_of(settings))}, PostgreSQL {version}"
        request.config.stash[_USED] = used
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("starcast.ingest.loaders.refresh_plans", lambda _: None)
            yield settings
    finally:
        if not was_running:
            stack.down(settings.home, Silent())


@pytest.fixture(scope="session")
def tls_folder() -> Iterator[Path]:
    """A folder with a self-signed certificate, which the server can read."""
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -noenc -days 30"
    command += " -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    command += " -keyout private.key -out public.crt"
    # If root starts the servers, they run as another user, who has no access to pytest's folders.
    with tempfile.TemporaryDirectory(prefix="starcast-tls-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        subprocess.run(command.split(), cwd=folder, check=True, capture_output=True)
        (folder / "private.key").chmod(0o644)
        yield folder


@pytest.fixture
def certificate(tls_folder: Path, graph_address: GraphAddress) -> Path:
    """The TLS certificate of the test run's Neo4j."""
    query = "SHOW SETTINGS 'server.bolt.tls_level' YIELD value"
    with _driver(graph_address) as driver:
        level = driver.execute_query(query).records[0]["value"]
    if level != "OPTIONAL":
        pytest.skip("the server was restarted without TLS, or belongs to a kept home")
    return tls_folder / "public.crt"


def _neo4j_version(address: GraphAddress) -> str:
    query = """
        CALL dbms.components() YIELD name, versions, edition
        RETURN name + ' ' + versions[0] + ' ' + edition AS version"""
    with _driver(address) as driver:
        return str(driver.execute_query(query).records[0]["version"])


@pytest.fixture(scope="session")
def graph_address(request: pytest.FixtureRequest) -> GraphAddress:
    """The address of the test run's Neo4j."""
    if address := request.config.stash[_FOREIGN]:
        request.config.stash[_USED] = _neo4j_version(address)
        return address
    settings: Settings = request.getfixturevalue("stack_settings")
    return address_of(settings)


@pytest.fixture(scope="session")
def store_url(stack_settings: Settings) -> URL:
    """The URL of the database ``starcast`` for the superuser, who can create databases."""
    port = url_of(stack_settings).port
    assert port is not None
    return superuser_url(Home(stack_settings.home), port)


@pytest.fixture(scope="session")
def role_url(stack_settings: Settings) -> Callable[[URL, Role], URL]:
    """A function that returns the URL of a database for a role, such as ``writer``."""

    def as_role(url: URL, role: Role) -> URL:
        login = embedded_store(stack_settings.home, role)
        return url.set(username=login.username, password=login.password)

    return as_role


@pytest.fixture
def fresh_database(store_url: URL) -> Iterator[URL]:
    """A new, empty database for one test."""
    with new_database(store_url) as url:
        yield url


@contextmanager
def new_database(store_url: URL, template: URL | None = None) -> Iterator[URL]:
    """Create a database, empty or copied from a template, and drop it when the context ends."""
    name = f"test_{secrets.token_hex(6)}"
    source = template.database if template else "template1"
    with psycopg.connect(plain_url(store_url), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {source}".encode())
        try:
            yield store_url.set(database=name)
        finally:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)".encode())


@pytest.fixture(scope="session")
def graph_driver(graph_address: GraphAddress) -> Iterator[Driver]:
    """A Neo4j driver shared by all tests, which reconnects after a restart of the server."""
    with _driver(graph_address) as driver:
        yield driver


@pytest.fixture
def clean_graph(graph_address: GraphAddress, graph_driver: Driver) -> GraphAddress:
    """The address of the graph store after all its nodes have been deleted."""
    empty(graph_address, graph_driver)
    return graph_address


def empty(target: GraphAddress | Graph, driver: Driver) -> None:
    """Delete all nodes of the graph store."""
    # A node of S5 has thousands of SEND relationships. Deleting a batch of nodes together with
    # their relationships would exceed the memory limit of a transaction.
    with driver.session(database=target.database) as session:
        for pattern in ("()-[e]->()", "(e)"):
            deletion = f"MATCH {pattern} CALL (e) {{ DELETE e }} IN TRANSACTIONS OF 20000 ROWS"
            session.run(deletion).consume()


def _driver(address: GraphAddress) -> Driver:
    return GraphDatabase.driver(
        address.uri, auth=(address.user, address.password), liveness_check_timeout=0
    )


def without_password(url: URL) -> str:
    """Return the URL without its password, as the setting ``postgres_uri`` requires."""
    named = URL.create("postgresql", url.username, None, url.host, url.port, url.database)
    # SQLAlchemy does not escape blanks in names, and libpq 18 refuses them.
    return str(named).replace(" ", "%20")


def settings_for(url: URL, graph: GraphAddress) -> Settings:
    """Return settings that name a database and a graph store."""
    return Settings.load(
        postgres_uri=without_password(url), postgres_password=url.password,
        neo4j_uri=graph.uri, neo4j_password=graph.password,
    )  # fmt: skip


def execute(engine: Engine, *statements: str) -> None:
    """Execute SQL statements in one transaction."""
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(text(statement))


def scalars(engine: Engine, query: str) -> list[Any]:
    """Return the first column of the rows that a query finds."""
    with engine.connect() as connection:
        return list(connection.scalars(text(query)))


def environment_for(url: URL, folder: Path) -> dict[str, str]:
    """Return the environment of a process that uses a database; the password is in a file."""
    secret = folder / "password"
    secret.write_text(str(url.password), encoding="utf-8")
    database = {"URI": without_password(url), "PASSWORD_FILE": str(secret)}
    return os.environ | {f"STARCAST_POSTGRES_{name}": value for name, value in database.items()}


def plain_url(url: URL) -> str:
    """Return the URL in the form that psycopg accepts."""
    return url.set(drivername="postgresql").render_as_string(hide_password=False)
