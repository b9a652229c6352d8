"""The embedded servers refuse dangerous requests even from clients that bypass starcast.

The statements go straight to the server over Bolt, with the password stored in the home. The stack
is separate, since a test starts it on a home owned by root, like homes of earlier releases.
"""

import os
import re
import shutil
import signal
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import psutil
import pytest
from neo4j import Driver
from neo4j.exceptions import Neo4jError
from playwright.sync_api import Browser, Page, expect

import starcast
from starcast.embedded import doctor, programs, stack, system
from starcast.embedded.endpoints import embedded_graph
from starcast.embedded.home import Home
from starcast.embedded.neo4j import PROCEDURES, Neo4j
from starcast.embedded.programs import NEO4J_VERSION
from starcast.embedded.stack import find_traces, remove
from starcast.stores.graph.connection import Graph
from starcast.support.errors import InputError, RejectedError, UnavailableError
from starcast.support.progress import Silent
from starcast.support.settings import Settings
from support.endpoints import endpoints, listening, start_stack
from support.fix_browser import PATIENCE
from support.packs.stored_data import loaded

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """The settings of a running stack that only this module uses."""
    settings = Settings.load(home=tmp_path_factory.mktemp("confined") / "home")
    stack.up(settings, Silent())
    yield settings
    stack.down(settings.home, Silent())


@pytest.fixture
def driver(own: Settings) -> Iterator[Driver]:
    """A connection to the Neo4j of the stack `own`."""
    with endpoints(own.home).driver() as driver:
        yield driver


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    """A socket on the loopback interface to which Neo4j must not connect."""
    with socket.create_server((system.LOOPBACK, 0)) as server:
        yield server


#: URLs that LOAD CSV refuses, each with a pattern for the error; {port} is a local port.
REFUSED = {
    **dict.fromkeys(("file:///etc/passwd", "file:///etc/shadow", "file:///x.csv"), "."),
    **dict.fromkeys(("/etc/passwd", "file:x"), "."),
    **dict.fromkeys(("s3://bucket/x.csv", "gs://bucket/x.csv", "azb://a/b/x.csv"), "."),
    **{
        f"{scheme}://{host}:{{port}}/x.csv": "blocked|Cannot load"
        for scheme in ("http", "https", "ftp")
        for host in ("127.0.0.1", "[::ffff:127.0.0.1]", "localhost", socket.gethostname())
    },
    # Resolving a name could send data to a name server.
    "http://example.org/x.csv": "Couldn't load the external resource",
}


@pytest.mark.whole
@pytest.mark.parametrize("url", REFUSED)
def test_load_csv_reads_no_file_makes_no_connection_and_resolves_no_name(
    driver: Driver, own: Settings, listener: socket.socket, url: str
) -> None:
    """Even a file in the import folder, which is normally empty, cannot be read."""
    file = own.home / "neo4j" / "import" / "x.csv"
    file.write_text("secret\n", encoding="utf-8")
    statement = "LOAD CSV FROM $url AS row RETURN row"
    called = url.format(port=listener.getsockname()[1])
    with pytest.raises(Neo4jError, match=REFUSED[url]) as caught:
        driver.execute_query(statement, url=called, database_="neo4j")
    file.unlink()
    assert caught.value.message
    assert "secret" not in caught.value.message
    assert "root" not in caught.value.message
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):  # the kernel would keep a connection until it is accepted
        listener.accept()


def test_neo4j_has_no_procedures_or_functions_of_extensions(driver: Driver) -> None:
    """The procedures that starcast calls exist; the allowlist excludes all extensions."""
    rows = driver.execute_query("SHOW PROCEDURES YIELD name", database_="neo4j").records
    names = {row["name"] for row in rows}
    assert names >= set(PROCEDURES)
    own = ("db.", "dbms.", "tx.", "fleetManagement.")
    assert {name for name in names if not name.startswith(own)} == set()
    functions = driver.execute_query(
        "SHOW FUNCTIONS YIELD name, isBuiltIn WHERE NOT isBuiltIn RETURN name", database_="neo4j"
    )
    assert functions.records == []
    setting = driver.execute_query(
        "SHOW SETTINGS 'dbms.security.procedures.allowlist' YIELD value", database_="neo4j"
    )
    assert setting.records[0]["value"] == ",".join(PROCEDURES)


def test_the_allowlist_of_neo4j_has_exactly_the_procedures_that_starcast_calls() -> None:
    package = Path(starcast.__file__).parent
    text = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    assert set(re.findall(r"\bCALL (\w+(?:\.\w+)+)", text)) == set(PROCEDURES)


def test_no_server_runs_as_root(own: Settings) -> None:
    """If root starts the servers, both run as the system user, without the groups of root."""
    for server in Home(own.home).published().values():
        process = psutil.Process(server.pid)
        for ids in (process.uids(), process.gids()):
            assert 0 not in {ids.real, ids.effective, ids.saved}
        status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
        groups = next(line for line in status.splitlines() if line.startswith("Groups:"))
        assert "0" not in groups.split()[1:]


def test_neo4j_owns_only_its_data_logs_and_runtime_files(own: Settings) -> None:
    """Configuration, import folder and passwords belong to the user; others cannot change them."""
    neo4j = own.home / "neo4j"
    user = os.geteuid()
    account = system.server_account()
    uid = account.pw_uid if account else user
    writable = {"data", "logs", "run"}
    owners = {path.name: path.lstat().st_uid for path in neo4j.iterdir()}
    assert owners == {name: uid if name in writable else user for name in owners}
    assert {path.stat().st_uid for path in (neo4j / "data").rglob("*")} == {uid}
    for folder in (neo4j, neo4j / "conf", neo4j / "import", neo4j / "plugins"):
        assert (folder.stat().st_uid, folder.stat().st_mode & 0o022) == (user, 0)
    for folder in (own.home, own.home / "secrets"):
        assert (folder.stat().st_uid, stat.S_IMODE(folder.stat().st_mode)) == (user, 0o700)


def test_a_home_of_an_earlier_release_is_adapted(own: Settings) -> None:
    """At the next start, data owned by root are given to the system user and stay readable."""
    with endpoints(own.home).driver() as driver:
        driver.execute_query("MERGE (:Kept {n: 7})", database_="neo4j")
    stack.down(own.home, Silent())
    neo4j = own.home / "neo4j"
    user = os.geteuid()
    for path in (neo4j, *neo4j.rglob("*")):
        os.chown(path, user, -1, follow_symlinks=False)
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o700)
    stack.up(own, Silent())
    account = system.server_account()
    uid = account.pw_uid if account else user
    for name in ("data", "logs", "run"):
        assert {path.lstat().st_uid for path in (neo4j / name).rglob("*")} <= {uid}
    with endpoints(own.home).driver() as driver:
        records = driver.execute_query("MATCH (k:Kept) RETURN k.n AS n", database_="neo4j").records
    assert [record["n"] for record in records] == [7]


def test_servers_that_do_not_answer_are_not_reported_as_running(own: Settings) -> None:
    """The servers are suspended: the kernel still accepts connections for their processes."""
    published = Home(own.home).published()
    for server in published.values():
        os.kill(server.pid, signal.SIGSTOP)
    try:
        states = [status.state for status in stack.status(own.home)]
        findings = {finding.check: finding for finding in doctor.check_embedded(own)}
    finally:
        for server in published.values():
            os.kill(server.pid, signal.SIGCONT)
    assert states == ["not responding", "not responding"]
    for title in ("Neo4j", "PostgreSQL"):
        finding = findings[f"embedded {title}"]
        assert finding.verdict is doctor.Verdict.DOWN
        assert finding.found.endswith(", not responding")
    assert [status.state for status in stack.status(own.home)] == ["running", "running"]


def test_a_changed_jar_is_refused_at_the_next_start(own: Settings, tmp_path: Path) -> None:
    """`up` and `doctor` name the jar; nothing is started, and no replacement is downloaded."""
    stack.down(own.home, Silent())
    original = Neo4j(Home(own.home)).jars(own)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(programs, "SHARED", tmp_path / "programs")
        settings = own.model_copy(update={"cache": tmp_path / "cache"})
        jars = Neo4j(Home(own.home)).jars(settings)
        shutil.copytree(original.folder, jars.folder, copy_function=os.symlink)
        jar = jars.folder / "jars" / f"neo4j-kernel-{jars.version}.jar"
        content = bytearray(jar.read_bytes())
        content[len(content) // 2] ^= 1
        jar.unlink()  # the jar is a link to the original, which is kept
        jar.write_bytes(content)
        with pytest.raises(RejectedError, match=f"^1 jar in {jars.folder}.*{jar.name}"):
            stack.up(settings, Silent())
        finding = doctor.check_jars(jars)
    assert finding.verdict is doctor.Verdict.WRONG
    assert jar.name in finding.found
    assert not Neo4j(Home(own.home)).find_processes()
    assert doctor.check_jars(original).verdict is doctor.Verdict.OK


def test_the_stack_uses_chosen_ports_and_serves_neo4j_browser(
    own: Settings, browser: Browser
) -> None:
    """Both servers listen on the chosen ports, and Browser is served, on loopback only.

    The next start keeps the ports, but serves Browser only on request.
    """
    stack.down(own.home, Silent())
    neo4j_port, postgres_port, http_port = (system.free_port() for _ in range(3))
    chosen = {"neo4j_port": neo4j_port, "postgres_port": postgres_port, "browser": True}
    settings = own.model_copy(update=chosen | {"neo4j_http_port": http_port})
    running = start_stack(settings)
    assert running.neo4j_uri == f"bolt://127.0.0.1:{neo4j_port}"
    assert running.postgres_url.port == postgres_port
    rows = {row["server"]: row for row in stack.list_addresses(own.home)}
    address = f"http://127.0.0.1:{http_port}/browser/"
    assert rows["Neo4j Browser"]["address"] == address
    pid = Home(own.home).published()["neo4j"].pid
    assert listening(pid) == {("127.0.0.1", neo4j_port), ("127.0.0.1", http_port)}
    with urlopen(address) as page:
        assert page.status == 200
        policy = page.headers["Content-Security-Policy"]
        assert "Neo4j Browser" in page.read().decode()
    assert "connect-src 'self' ws://127.0.0.1" in policy
    assert set(re.findall(r"\w+://([^/:; ]+)", policy)) == {"127.0.0.1"}
    with pytest.raises(HTTPError, match="404"), urlopen(f"http://127.0.0.1:{http_port}/db/neo4j"):
        pass
    with browser.new_page() as tab:
        assert_a_pasted_tree_is_shown_alone(tab, own, address)
    for other, words in (
        ({"neo4j_port": postgres_port + 1}, "already running on port"),
        ({"neo4j_port": neo4j_port, "postgres_port": neo4j_port}, "are not distinct"),
        ({"browser": True, "neo4j_http_port": http_port + 1}, "with Neo4j Browser on port"),
    ):
        with pytest.raises(InputError, match=words):
            stack.up(own.model_copy(update=other), Silent())
    stack.down(own.home, Silent())
    taken = pytest.raises(UnavailableError, match=f"port {neo4j_port} for Neo4j is used")
    with socket.create_server(("127.0.0.1", neo4j_port)), taken:
        stack.up(settings, Silent())
    kept = start_stack(own)
    assert kept == running
    assert [row["server"] for row in stack.list_addresses(own.home)] == [
        "Neo4j",
        "PostgreSQL",
    ]
    assert not system.is_listening(http_port)


def assert_a_pasted_tree_is_shown_alone(tab: Page, settings: Settings, address: str) -> None:
    """Check that Neo4j Browser shows the 23 edges of a tree, but no other relationships."""
    neo4j = embedded_graph(settings.home)
    with Graph.open(neo4j) as graph, loaded(graph, ["S4"]):
        tab.set_default_timeout(PATIENCE)
        tab.goto(address)
        tab.get_by_test_id("username").fill("neo4j")
        tab.get_by_test_id("password").fill(neo4j.password)
        tab.get_by_test_id("connect").click()
        expect(tab.get_by_text(":config {autoComplete: false}")).to_be_visible()
        tab.keyboard.insert_text(
            "MATCH (parent:Node)-[edge:TREE_EDGE {forest: 'S4:multiple:1234', tree: 1}]->(child) "
            "RETURN parent, edge, child"
        )
        tab.keyboard.press("Control+Enter")
        expect(tab.get_by_text("Displaying 24 nodes, 23 relationships.")).to_be_visible()
        expect(tab.get_by_text("TREE_EDGE (23)")).to_be_visible()


def test_uninstalling_stops_the_servers_and_removes_only_files_of_starcast(
    own: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The home is tested here; `tests/unit/test_embedded_uninstall.py` tests the other files."""
    monkeypatch.setattr(programs, "SHARED", tmp_path / "programs")
    monkeypatch.setattr(system, "SYSTEM_USER", "no-such-user")
    (own.home / "notes.txt").write_text("mine", encoding="utf-8")
    cache = tmp_path / "cache"
    for name in (f"neo4j-{NEO4J_VERSION}-0123", "other"):
        (cache / name).mkdir(parents=True)
    settings = own.model_copy(update={"cache": cache})
    remove(settings, find_traces(settings), Silent())
    assert [path.name for path in own.home.iterdir()] == ["notes.txt"]
    assert [path.name for path in cache.iterdir()] == ["other"]
    assert not Neo4j(Home(own.home)).find_processes()
    (own.home / "notes.txt").unlink()
    remove(settings, find_traces(settings), Silent())
    assert not own.home.exists()
