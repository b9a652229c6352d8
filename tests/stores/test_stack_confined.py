"""What the embedded servers refuse, also to clients that bypass the checks of starcast.

The statements go straight to the server over Bolt, with the password of the home. The stack is one
of its own: a test starts it again on a home that belongs to root, as earlier releases left it.
"""

import os
import re
import socket
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from neo4j import Driver, GraphDatabase
from neo4j.exceptions import Neo4jError

import starcast
from starcast.embedded import accounts, processes, stack
from starcast.embedded.home import Home
from starcast.embedded.neo4j import PROCEDURES
from starcast.progress import Silent
from starcast.settings import Settings


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """The settings of a running stack that no other test uses."""
    settings = Settings.load(home=tmp_path_factory.mktemp("confined") / "home")
    stack.up(settings, Silent())
    yield settings
    stack.down(settings.home, Silent())


@pytest.fixture(scope="module")
def driver(own: Settings) -> Iterator[Driver]:
    """A connection to its Neo4j."""
    uri, password = stack.graph_endpoint(own.home)
    with GraphDatabase.driver(uri, auth=("neo4j", password)) as driver:
        yield driver


class Listener:
    """A TCP server that records whether any client connects."""

    def __init__(self) -> None:
        self._server = socket.create_server((processes.LOOPBACK, 0))
        self.port = self._server.getsockname()[1]
        self.connections = 0
        threading.Thread(target=self._count, daemon=True).start()

    def _count(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            self.connections += 1
            client.close()

    def close(self) -> None:
        """Stop listening."""
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()


@pytest.fixture
def listener() -> Iterator[Listener]:
    """A server on loopback that must not be asked."""
    listener = Listener()
    yield listener
    listener.close()


def load(driver: Driver, url: str) -> str:
    """Return the error of LOAD CSV."""
    with pytest.raises(Neo4jError) as caught:
        driver.execute_query("LOAD CSV FROM $url AS row RETURN row", url=url, database_="neo4j")
    return str(caught.value.message)


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "file:///etc/shadow", "file:///x.csv", "/etc/passwd", "file:x"]
)
def test_load_csv_of_files_is_refused(driver: Driver, own: Settings, url: str) -> None:
    """Also of a file in the import folder, which is empty otherwise."""
    (own.home / "neo4j" / "import" / "x.csv").write_text("secret\n", encoding="utf-8")
    message = load(driver, url)
    (own.home / "neo4j" / "import" / "x.csv").unlink()
    assert "secret" not in message
    assert "root" not in message


@pytest.mark.parametrize("scheme", ["http", "https", "ftp"])
@pytest.mark.parametrize("host", ["127.0.0.1", "[::ffff:127.0.0.1]", "localhost"])
def test_load_csv_of_addresses_is_refused(
    driver: Driver, listener: Listener, scheme: str, host: str
) -> None:
    """No connection is made, not even to this machine."""
    message = load(driver, f"{scheme}://{host}:{listener.port}/x.csv")
    assert "blocked" in message or "Cannot load" in message, message
    assert listener.connections == 0


@pytest.mark.parametrize("url", ["s3://bucket/x.csv", "gs://bucket/x.csv", "azb://a/b/x.csv"])
def test_load_csv_of_cloud_storage_is_refused(driver: Driver, url: str) -> None:
    assert load(driver, url)


def test_only_procedures_and_functions_of_the_server_exist(driver: Driver) -> None:
    """Among them those that starcast calls; the allowlist keeps all extensions out."""
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


def test_the_allowlist_names_what_starcast_calls() -> None:
    """No more and no less."""
    package = Path(starcast.__file__).parent
    text = "".join(path.read_text(encoding="utf-8") for path in package.rglob("*.py"))
    assert set(re.findall(r"\bCALL (\w+(?:\.\w+)+)", text)) == set(PROCEDURES)


def test_no_other_name_is_resolved(driver: Driver) -> None:
    """A name could carry data to a name server; the name of this machine is a valid one."""
    message = load(driver, f"http://{socket.gethostname()}/x.csv")
    assert "Couldn't load the external resource" in message


def test_no_server_runs_as_root(own: Settings) -> None:
    """For root, both run as the system user, without the groups of root."""
    for server in Home(own.home).published().values():
        process = psutil.Process(server.pid)
        for ids in (process.uids(), process.gids()):
            assert 0 not in {ids.real, ids.effective, ids.saved}
        status = Path(f"/proc/{server.pid}/status").read_text(encoding="utf-8")
        groups = next(line for line in status.splitlines() if line.startswith("Groups:"))
        assert "0" not in groups.split()[1:]


def test_the_server_owns_its_data_and_nothing_else(own: Settings) -> None:
    """Configuration, import folder and passwords belong to the user, and are closed to others."""
    neo4j = own.home / "neo4j"
    user = os.geteuid()
    uid = accounts.server_account().uid or user
    writable = {"data", "logs", "run"}
    owners = {path.name: path.lstat().st_uid for path in neo4j.iterdir()}
    assert owners == {name: uid if name in writable else user for name in owners}
    assert {path.stat().st_uid for path in (neo4j / "data").rglob("*")} == {uid}
    for folder in (neo4j, neo4j / "conf", neo4j / "import", neo4j / "plugins"):
        assert (folder.stat().st_uid, folder.stat().st_mode & 0o022) == (user, 0)
    for folder in (own.home, own.home / "secrets"):
        assert (folder.stat().st_uid, stat.S_IMODE(folder.stat().st_mode)) == (user, 0o700)
