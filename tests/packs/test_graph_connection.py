"""The connection to Neo4j: query results, server notices, and translated errors."""

import dataclasses
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import DEFAULT, Mock

import pytest
from neo4j.exceptions import Neo4jError

from campaign.proxy import Fault
from starcast.stores import GraphAddress
from starcast.stores.graph import answer_limits, connection
from starcast.stores.graph.connection import Graph, fetch_result
from starcast.stores.graph.writer import BoltWriter
from starcast.support.errors import (
    InputError,
    LimitError,
    RejectedError,
    StarcastError,
    UnavailableError,
)
from support.fix_graph import proxied
from support.striking import ctrl_c

#: A statement that runs until its time limit stops it.
ENDLESS = "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b RETURN sum(a * b)"


def test_a_result_has_at_most_the_requested_rows(graph: Graph) -> None:
    """The result also records whether there were more rows. It has no plan and no notices."""
    answer = graph.run("UNWIND range(1, 5) AS i RETURN i, i * i AS square", row_limit=3)
    assert (answer.columns, len(answer.rows), answer.more) == (("i", "square"), 3, True)
    exact = graph.run("UNWIND range(1, 5) AS i RETURN i", row_limit=5)
    assert (len(exact.rows), exact.more) == (5, False)
    assert (exact.plan, exact.notices) == (None, ())


@pytest.mark.slow
def test_a_result_that_exceeds_the_memory_is_refused(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit is the available memory, not a number of rows. The connection can still be used."""
    left = iter([2**40, 2**40, 2**27])
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=next(left)))
    with pytest.raises(
        LimitError, match=r"does not fit into memory: 30,000 rows were read, and 134 MB are left"
    ) as caught:
        graph.run("UNWIND range(1, 10000000) AS i RETURN i", row_limit=10_000_000)
    assert "`row_limit`" in caught.value.hint
    monkeypatch.undo()
    assert len(graph.run("UNWIND range(1, 25000) AS i RETURN i", row_limit=30_000).rows) == 25_000


@pytest.mark.usefixtures("bolt")  # creates indexes, so that the server knows the labels
def test_notices_of_the_server_are_part_of_the_result(
    graph: Graph, capfd: pytest.CaptureFixture[str]
) -> None:
    """A cartesian product is reported in the result, and not printed by the driver."""
    answer = graph.run("EXPLAIN MATCH (a:Node), (b:Node) RETURN a.rank, b.rank")
    assert "cartesian product" in answer.notices[0].text
    assert answer.plan is not None
    assert "NoSuchLabel" in graph.run("MATCH (n:NoSuchLabel) RETURN n").notices[0].text
    assert "".join(capfd.readouterr()) == ""


def test_a_read_transaction_cannot_write(graph: Graph) -> None:
    """The server itself refuses the write, since every read is a READ transaction."""
    with pytest.raises(InputError, match="must be read-only"):
        graph.read("CREATE (:Thing)")
    assert graph.read("MATCH (n) RETURN count(n) AS n") == [{"n": 0}]


@pytest.mark.parametrize(
    "cypher", ["MATCH x", "RETURN $missing", "RETURN 1 / 0", "RETURN nothing", "CALL no.such()"]
)
def test_an_invalid_cypher_statement_is_an_input_error(graph: Graph, cypher: str) -> None:
    """The error is one line with the server's reason."""
    with pytest.raises(InputError, match="Neo4j refuses the statement") as caught:
        graph.read(cypher)
    assert "\n" not in caught.value.message


@pytest.mark.slow
def test_a_statement_that_exceeds_its_time_limit_is_stopped(graph: Graph) -> None:
    """The error names the time limit, and the hint says how to reduce the work."""
    with pytest.raises(LimitError, match="longer than 1 s") as caught:
        graph.read(ENDLESS, timeout=1)
    assert "match less data" in caught.value.hint
    assert graph.read("RETURN 1 AS one") == [{"one": 1}]


#: A program that reads the address of a server and runs statements on it. It prints the outcome of
#: each statement and, at the end, its own peak memory in kB.
ASK = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_DATA, (3 * 10**9, 3 * 10**9))
from starcast.stores import GraphAddress
from starcast.stores.graph.connection import Graph
from starcast.support.errors import LimitError
with Graph.open(GraphAddress(**json.loads(sys.stdin.readline()))) as graph:
    for statement in sys.argv[1:]:
        try:
            print(len(graph.run(statement, timeout=30, row_limit=1_000).rows))
        except LimitError as error:
            print(f"{error.exit_code} {error.message}")
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def test_a_very_large_result_is_refused_with_bounded_client_memory(
    graph_address: GraphAddress,
) -> None:
    """One huge row and a thousand large rows are refused; then a smaller result is accepted."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            ASK,
            "WITH [i IN range(1, 1000000) | 'abcdefghijklmnop'] AS a RETURN a, a AS b, a AS c",
            "UNWIND range(1, 1000) AS i RETURN [j IN range(1, 10000) | {}] AS maps",
            "UNWIND range(1, 1000) AS i RETURN range(1, 1000) AS numbers",
        ],
        input=json.dumps(dataclasses.asdict(graph_address)),
        capture_output=True,
        text=True,
        check=True,
    )
    *outcomes, peak = done.stdout.splitlines()
    too_large = "7 the result would take more than 200 MB of memory"
    assert outcomes == [too_large, too_large, "1000"]
    assert int(peak) * 1024 < 600 * 10**6


def test_a_large_row_limit_does_not_allow_rows_of_any_size(graph: Graph) -> None:
    with pytest.raises(LimitError, match="would take more than 200 MB"):
        graph.run("RETURN range(1, 10000000) AS numbers", row_limit=100_000)
    rows = "UNWIND range(1, 20000) AS i RETURN i, i * i AS square, toString(i) AS text"
    assert len(graph.run(rows, row_limit=100_000).rows) == 20_000


def test_a_statement_that_the_server_never_answers_ends_after_its_time_limit(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parser's stack overflows, and the server's thread ends without sending a reply."""
    monkeypatch.setattr(answer_limits, "_GRACE_SECONDS", 0.5)
    with pytest.raises(LimitError, match=r"longer than 0\.5 s and was stopped"):
        graph.run(f"RETURN {'NOT ' * 1_000}true AS x", timeout=0.5)
    assert graph.read("RETURN 1 AS one", timeout=20) == [{"one": 1}]


def test_a_date_that_python_cannot_represent_is_an_input_error(graph: Graph) -> None:
    with pytest.raises(InputError, match="cannot convert a value: Ordinal out of range"):
        graph.read("RETURN date({year: 99999}) AS x")
    assert graph.read("RETURN date({year: 2026}).year AS x") == [{"x": 2026}]


def test_a_duplicate_key_is_rejected(graph: Graph, bolt: BoltWriter) -> None:
    """The uniqueness constraint fails, and nothing is written."""
    bolt.prepare()
    with pytest.raises(RejectedError, match="already exists"):
        graph.write("UNWIND [1, 1] AS key CREATE (:Node {key: key})")
    assert graph.read("MATCH (n) RETURN count(n) AS n") == [{"n": 0}]


def refused(
    address: GraphAddress, kind: type[StarcastError] = UnavailableError, **changes: str
) -> StarcastError:
    """Return the error of a connection attempt after changing some fields of the address."""
    with pytest.raises(kind) as caught:
        Graph.open(dataclasses.replace(address, **changes)).close()
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value


def test_a_wrong_password_is_reported_and_not_shown(graph_address: GraphAddress) -> None:
    """The error does not contain the wrong password, and `repr` hides the right password."""
    error = refused(graph_address, password="not-the-password")
    assert "refuses the login of 'neo4j'" in error.message
    assert "not-the-password" not in str(error)
    assert graph_address.password not in repr(graph_address)


def test_the_error_for_a_missing_database_names_it(graph_address: GraphAddress) -> None:
    """Neo4j Community has one database; any other name is unknown."""
    assert "no database 'elsewhere'" in refused(graph_address, database="elsewhere").message


@pytest.mark.parametrize("scheme", ["bolt", "neo4j", "bolt+s", "neo4j+ssc"])
def test_a_server_that_is_down_is_reported_at_once(
    graph_address: GraphAddress, scheme: str
) -> None:
    """The error is not delayed by the driver's retries, which would take minutes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"{scheme}://127.0.0.1:{free.getsockname()[1]}"
    began = time.monotonic()
    assert uri in refused(graph_address, uri=uri).message
    # This is not a test of speed: with retries, the error would take at least the retry time.
    assert time.monotonic() - began < Graph.__init__.__globals__["RETRY_SECONDS"]


@pytest.mark.parametrize("version", ["5.25.1", "4.4.40", "3.5.35", "unknown"])
def test_a_server_that_is_too_old_is_refused(
    graph_address: GraphAddress, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """The hint names the required version. The server's version is simulated."""
    monkeypatch.setattr(Graph, "_read_version", lambda _: version)
    error = refused(graph_address, RejectedError)
    place = f"the server at {graph_address.uri}"
    assert error.message == f"{place} is Neo4j {version}, which is too old"
    assert error.hint == "use Neo4j 5.26 (LTS) or newer"


@pytest.mark.parametrize("version", ["5.26.0", "5.26.30", "5.27-aura", "2025.01.0", "2027.12.3"])
def test_a_supported_server_version_is_accepted(
    graph_address: GraphAddress, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(Graph, "_read_version", lambda _: version)
    with Graph.open(graph_address) as graph:
        assert graph.version == version


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (b"\0\0\0\0", RejectedError, "use Neo4j 5.26 (LTS) or newer"),
        (b"HTTP/1.1 400 Bad Request", UnavailableError, "this port speaks HTTP"),
        (b"", UnavailableError, "starcast up"),
    ],
)
def test_servers_without_a_supported_bolt_version_are_refused(
    graph_address: GraphAddress, reply: bytes, kind: type[StarcastError], words: str
) -> None:
    """The servers share no Bolt version with the driver, speak HTTP, or close the connection."""
    serve = partial(_answer, reply=reply)
    assert words in refused_by(graph_address, "bolt", serve, kind).hint


def refused_by(
    address: GraphAddress,
    scheme: str,
    serve: Callable[[socket.socket], None],
    kind: type[StarcastError] = UnavailableError,
) -> StarcastError:
    """Return the error for a server that passes its only connection to ``serve``."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def accept() -> None:
            with server.accept()[0] as connection:
                serve(connection)

        thread = threading.Thread(target=accept)
        thread.start()
        error = refused(address, kind, uri=f"{scheme}://127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    return error


def _answer(connection: socket.socket, reply: bytes) -> None:
    connection.recv(64)
    connection.sendall(reply)


def test_an_unknown_host_is_named_in_the_error(graph_address: GraphAddress) -> None:
    uri = "neo4j://no-such-host.invalid:7687"
    assert f"the host of {uri} is unknown" in refused(graph_address, uri=uri).message


def with_scheme(address: GraphAddress, scheme: str) -> GraphAddress:
    """Return the address with the given URI scheme, such as ``bolt+s``."""
    return dataclasses.replace(address, uri=f"{scheme}://{address.uri.partition('://')[2]}")


@pytest.mark.parametrize("scheme", ["neo4j", "bolt+ssc", "neo4j+ssc", "BOLT"])
@pytest.mark.usefixtures("certificate")
def test_uri_schemes_with_routing_or_without_certificate_checks_can_be_used(
    clean_graph: GraphAddress, scheme: str
) -> None:
    """``neo4j`` routes, here to the only server; ``+ssc`` accepts any TLS certificate.

    A scheme can be in upper case.
    """
    with Graph.open(with_scheme(clean_graph, scheme)) as graph:
        graph.write("CREATE (:Thing {name: 'a'})")
        assert graph.read("MATCH (t:Thing) RETURN t.name AS name") == [{"name": "a"}]


@pytest.mark.parametrize("scheme", ["bolt+s", "neo4j+s"])
def test_a_self_signed_certificate_is_accepted_only_if_it_is_trusted(
    graph_address: GraphAddress,
    scheme: str,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    error = refused(with_scheme(graph_address, scheme))
    assert "is not trusted: self-signed certificate" in error.message
    assert "+ssc" in error.hint
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with Graph.open(with_scheme(graph_address, scheme)) as graph:
        assert graph.read("RETURN 1 AS one") == [{"one": 1}]


@pytest.mark.parametrize("scheme", ["bolt+s", "bolt+ssc", "neo4j+s"])
def test_a_server_without_tls_is_refused(graph_address: GraphAddress, scheme: str) -> None:
    error = refused_by(graph_address, scheme, partial(_answer, reply=bytes(4)))
    assert "does not accept a connection with TLS" in error.message


def test_a_server_that_requires_tls_refuses_a_connection_without_tls(
    graph_address: GraphAddress, certificate: Path
) -> None:
    """Before the server closes the connection, it may send a TLS alert, which is not Bolt."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_name("private.key"))

    def shake_hands(connection: socket.socket) -> None:
        with suppress(ssl.SSLError):
            context.wrap_socket(connection, server_side=True)

    error = refused_by(graph_address, "bolt", shake_hands, StarcastError)
    assert "bolt+s://" in error.hint


ROWS = "UNWIND range(1, 20000) AS i RETURN i, 'text ' + i AS words"


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
@pytest.mark.parametrize("fault", ["cut", "reset"])
def test_a_query_is_repeated_after_a_lost_connection(
    graph_address: GraphAddress, fault: Fault, scheme: str
) -> None:
    """The connection is lost in the middle of the rows, but each row arrives exactly once."""
    address = with_scheme(graph_address, scheme)
    with proxied(address, fault, 100_000) as (_, lossy), Graph.open(lossy) as graph:
        assert [row["i"] for row in graph.read(ROWS)] == list(range(1, 20_001))


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["bolt", "neo4j"])
def test_a_query_fails_if_the_server_does_not_come_back(
    graph_address: GraphAddress, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "RETRY_SECONDS", 1.0)
    with (
        proxied(with_scheme(graph_address, scheme), "cut", 100_000, forever=True) as (_, lossy),
        Graph.open(lossy) as graph,
        pytest.raises(UnavailableError) as lost,
    ):
        graph.read(ROWS)
    assert "cannot be reached or closed the connection" in lost.value.message
    assert "\n" not in lost.value.message


@pytest.mark.slow
def test_a_write_that_loses_its_connection_is_stored_exactly_once(
    graph_address: GraphAddress, graph: Graph
) -> None:
    """The transaction is rolled back and runs again, so the rows come from the second attempt."""
    statement = "UNWIND range(1, 5000) AS i CREATE (t:Thing {number: i}) RETURN t.number AS number"
    with proxied(graph_address, "cut", 20_000) as (_, lossy), Graph.open(lossy) as fragile:
        assert len(fragile.write(statement)) == 5_000
    assert graph.read("MATCH (t:Thing) RETURN count(t) AS n") == [{"n": 5_000}]


@pytest.mark.parametrize(
    "uri", ["", "neo4j", "http://127.0.0.1:7474", "bolt:", "postgresql://127.0.0.1"]
)
def test_a_malformed_uri_is_an_input_error(graph_address: GraphAddress, uri: str) -> None:
    """The URI is refused before a connection is attempted."""
    refused(graph_address, InputError, uri=uri)


def server_error(code: str, text: str) -> Neo4jError:
    """Return the driver's error for a failure that the server reports."""
    return Neo4jError._hydrate_neo4j(code=f"Neo.{code}", message=text)


@pytest.mark.parametrize(
    ("code", "text", "kind", "words"),
    [
        ("DatabaseError.Transaction.X", "needs to be restarted.", UnavailableError, "restarted"),
        ("TransientError.General.MemoryPoolOutOfMemoryError", "over", LimitError, "out of memory"),
        ("TransientError.General.OutOfMemoryError", "heap", LimitError, "out of memory"),
        ("DatabaseError.Transaction.X", "No space left on device", LimitError, "out of disk"),
        ("ClientError.Schema.ConstraintValidationFailed", "id 'disk'", RejectedError, "a row: id"),
        ("ClientError.Statement.SyntaxError", "needs to be restarted", InputError, "statement: n"),
        ("ClientError.Security.AuthenticationRateLimit", "slow", UnavailableError, "': slow"),
        ("DatabaseError.General.X", "it broke\nin two lines", UnavailableError, "it broke"),
        ("ClientError.General.ForbiddenOnReadOnlyDatabase", "no", UnavailableError, "not accept"),
        ("ClientError.Cluster.NotALeader", "a follower", UnavailableError, "not accept writes"),
        ("ClientError.Security.Forbidden", "not you", UnavailableError, "'neo4j': not you"),
        ("ClientError.Transaction.TransactionTimedOut", "long", LimitError, "longer than 2 s"),
    ],
)
def test_error_codes_that_tests_cannot_provoke_are_translated(
    graph: Graph, code: str, text: str, kind: type[StarcastError], words: str
) -> None:
    """The codes come from the server's documentation; the driver turns them into errors."""
    with pytest.raises(kind) as caught, graph._translate_errors(2.0):
        raise server_error(code, text)
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("code", "text"),
    [
        ("TransactionLogError", "Could not append transaction #52 to log."),
        ("TransactionStartFailed", "The database needs to be restarted."),
    ],
)
def test_the_error_for_a_closed_database_states_that_its_disk_is_full(
    graph: Graph, monkeypatch: pytest.MonkeyPatch, code: str, text: str
) -> None:
    """The reason comes from the database's status, since the failed statement does not name it."""
    monkeypatch.setattr(Graph, "_read_status_message", lambda _: "No space left on device")
    full = pytest.raises(LimitError, match=r"the disk of Neo4j at \S+ is full")
    with full as caught, graph._translate_errors(None):
        raise server_error(f"DatabaseError.Transaction.{code}", text)
    assert "then restart it" in caught.value.hint


def test_a_statement_that_exhausts_memory_is_not_retried(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver treats this error as transient and would retry until its time limit."""
    error = server_error("TransientError.General.MemoryPoolOutOfMemoryError", "over")
    exhausted = Mock(side_effect=error)
    monkeypatch.setattr(connection, "fetch_result", exhausted)
    with pytest.raises(LimitError):
        graph.read("RETURN 1")
    exhausted.assert_called_once()


def test_a_deadlock_is_retried(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """The driver's managed transactions retry transient errors."""
    deadlock = server_error("TransientError.Transaction.DeadlockDetected", "deadlock")
    unlucky = Mock(wraps=fetch_result, side_effect=chain([deadlock], repeat(DEFAULT)))
    monkeypatch.setattr(connection, "fetch_result", unlucky)
    assert graph.write("CREATE (n:Thing) RETURN 1 AS one") == [{"one": 1}]
    assert graph.read("MATCH (n:Thing) RETURN count(n) AS n") == [{"n": 1}]


@contextmanager
def interrupted(seconds: float) -> Iterator[threading.Thread]:
    """Interrupt the context after a number of seconds; the context must not end before that."""
    with ctrl_c(seconds) as striking:
        striking.start()
        with pytest.raises(KeyboardInterrupt):
            yield striking


@pytest.mark.slow
@pytest.mark.parametrize("moment", range(8))
def test_ctrl_c_during_a_statement_is_not_reported_as_a_connection_error(
    graph: Graph, moment: int
) -> None:
    """Interrupts come at various moments. The driver alone would hang or report an error."""
    with interrupted(0.02 + moment / 300) as striking:
        while striking.is_alive():
            graph.write("UNWIND range(1, 2000) AS i MERGE (:Thing {name: i % 10})")
            graph.read("MATCH (t:Thing) RETURN count(t)")
        time.sleep(1)
    assert graph.read("RETURN 1 AS one") == [{"one": 1}]


@pytest.mark.slow
def test_ctrl_c_does_not_wait_for_the_end_of_a_statement(graph: Graph) -> None:
    began = time.monotonic()
    with interrupted(0.2):
        graph.read(ENDLESS, timeout=30)
    assert time.monotonic() - began < 15
    assert graph.read("RETURN 1 AS one") == [{"one": 1}]


def test_ctrl_c_cancels_concurrent_statements(graph: Graph) -> None:
    """The `concurrent` context ends at once, and the graph can be used again."""
    running = "SHOW TRANSACTIONS YIELD currentQuery WHERE currentQuery = $query"

    def interrupt_statement() -> None:
        with graph.concurrent(1) as pool:
            statement = pool.submit(graph.read, ENDLESS)
            while not graph.read(running, {"query": ENDLESS}):
                assert not statement.done()
            raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        interrupt_statement()
    assert time.monotonic() - began < 60
    assert graph.read("RETURN 1 AS n") == [{"n": 1}]
