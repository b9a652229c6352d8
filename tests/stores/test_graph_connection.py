"""The connection: what the server says reaches the caller, and its errors become ours."""

import dataclasses
import socket
import threading
import time
from types import SimpleNamespace

import pytest
from neo4j import Result
from neo4j.exceptions import Neo4jError

from starcast.errors import InputError, LimitError, RejectedError, StarcastError, UnavailableError
from starcast.graph.address import GraphAddress
from starcast.graph.connection import Graph, QueryResult, fetch_result
from starcast.graph.writer import BoltWriter
from support.striking import ctrl_c


def test_the_server_tells_its_version(graph: Graph) -> None:
    """It is the one of the lock file, and asked for once."""
    from starcast.embedded.jars import NEO4J_VERSION

    assert graph.version == NEO4J_VERSION


def test_rows_come_back_as_written(graph: Graph) -> None:
    """Write, then read, with parameters."""
    graph.write("UNWIND $names AS name CREATE (:Thing {name: name})", {"names": ["a", "b"]})
    assert graph.read("MATCH (t:Thing) RETURN t.name AS name ORDER BY name") == [
        {"name": "a"},
        {"name": "b"},
    ]


def test_an_answer_has_at_most_the_rows_asked_for(graph: Graph) -> None:
    """And says whether there were more."""
    answer = graph.run("UNWIND range(1, 5) AS i RETURN i, i * i AS square", row_limit=3)
    assert (answer.columns, len(answer.rows), answer.more) == (("i", "square"), 3, True)
    exact = graph.run("UNWIND range(1, 5) AS i RETURN i", row_limit=5)
    assert (len(exact.rows), exact.more) == (5, False)


def test_an_answer_that_memory_cannot_hold_is_broken_off(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what is left while it is read, not by a number of rows; the connection goes on."""
    left = iter([2**40, 2**40, 2**27])
    monkeypatch.setattr("psutil.virtual_memory", lambda: SimpleNamespace(available=next(left)))
    with pytest.raises(
        LimitError, match=r"does not fit into memory: 30,000 rows were read, and 134 MB are left"
    ) as caught:
        graph.run("UNWIND range(1, 10000000) AS i RETURN i", row_limit=10_000_000)
    assert "--limit" in caught.value.hint
    monkeypatch.undo()
    assert len(graph.run("UNWIND range(1, 25000) AS i RETURN i", row_limit=30_000).rows) == 25_000


@pytest.mark.usefixtures("bolt")  # makes the indexes, by which the server knows our names
def test_what_the_server_remarks_is_kept(graph: Graph, capfd: pytest.CaptureFixture[str]) -> None:
    """A cartesian product is told in the answer, and not printed behind the program's back."""
    answer = graph.run("EXPLAIN MATCH (a:Node), (b:Node) RETURN a.rank, b.rank")
    assert [notice.severity for notice in answer.notices] == ["INFORMATION"]
    assert "cartesian product" in answer.notices[0].text
    assert answer.plan is not None
    assert "NoSuchLabel" in graph.run("MATCH (n:NoSuchLabel) RETURN n").notices[0].text
    assert "".join(capfd.readouterr()) == ""


def test_a_plain_answer_has_no_plan_and_no_remarks(graph: Graph) -> None:
    """Nothing is made up."""
    answer = graph.run("RETURN 1 AS one")
    assert (answer.plan, answer.notices) == (None, ())


def test_reading_cannot_write(graph: Graph) -> None:
    """The server itself refuses, since every read is a READ transaction."""
    with pytest.raises(InputError, match="may only read"):
        graph.read("CREATE (:Thing)")
    assert graph.read("MATCH (n) RETURN count(n) AS n") == [{"n": 0}]


@pytest.mark.parametrize(
    "cypher", ["MATCH x", "RETURN $missing", "RETURN 1 / 0", "RETURN nothing", "CALL no.such()"]
)
def test_a_wrong_statement_is_bad_input(graph: Graph, cypher: str) -> None:
    """One sentence with what the server says."""
    with pytest.raises(InputError, match="Neo4j refuses the statement") as caught:
        graph.read(cypher)
    assert "\n" not in caught.value.message


def test_a_runaway_statement_is_stopped(graph: Graph) -> None:
    """The time-out is named, and what to narrow."""
    with pytest.raises(LimitError, match="longer than 1 s") as caught:
        graph.read(
            "UNWIND range(1, 100000000) AS i UNWIND range(1, 100000) AS j RETURN count(i + j)",
            timeout=1,
        )
    assert "narrow" in caught.value.hint
    assert graph.read("RETURN 1 AS one") == [{"one": 1}]


def test_a_duplicate_key_is_rejected(graph: Graph, bolt: BoltWriter) -> None:
    """The constraint speaks, nothing is written."""
    bolt.prepare()
    with pytest.raises(RejectedError, match="already exists"):
        graph.write("UNWIND [1, 1] AS key CREATE (:Node {key: key})")
    assert graph.read("MATCH (n) RETURN count(n) AS n") == [{"n": 0}]


def refused(address: GraphAddress, **changes: str) -> StarcastError:
    """The error that opening a changed address ends in."""
    with pytest.raises(StarcastError) as caught:
        Graph.open(dataclasses.replace(address, **changes))
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value


def test_a_wrong_password_is_named_and_not_shown(graph_address: GraphAddress) -> None:
    """Neither the right password nor the wrong one is in the error."""
    error = refused(graph_address, password="not-the-password")
    assert isinstance(error, UnavailableError)
    assert "refuses the login of 'neo4j'" in error.message
    assert "not-the-password" not in str(error)
    assert graph_address.password not in repr(graph_address)


def test_a_missing_database_is_named(graph_address: GraphAddress) -> None:
    """Community has one; another name is not there."""
    error = refused(graph_address, database="elsewhere")
    assert isinstance(error, UnavailableError)
    assert "no database 'elsewhere'" in error.message


def test_a_server_that_is_down_is_reported_at_once(graph_address: GraphAddress) -> None:
    """Without the driver's minutes of trying again."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"bolt://127.0.0.1:{free.getsockname()[1]}"
    began = time.monotonic()
    error = refused(graph_address, uri=uri)
    assert isinstance(error, UnavailableError)
    assert uri in error.message
    # Not a matter of speed: trying again would take the driver's whole retry time.
    assert time.monotonic() - began < Graph.__init__.__globals__["RETRY_SECONDS"]


@pytest.mark.parametrize("version", ["5.25.1", "4.4.40", "3.5.35", "unknown"])
def test_a_server_that_is_too_old_is_refused(
    graph_address: GraphAddress, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    """With what is needed; a name of that version is all that we see of one."""
    monkeypatch.setattr(Graph, "_read_version", lambda _: version)
    error = refused(graph_address)
    assert isinstance(error, RejectedError)
    assert (
        error.message == f"the server at {graph_address.uri} is Neo4j {version}, which is too old"
    )
    assert error.hint == "starcast needs Neo4j 5.26 (LTS) or newer"


@pytest.mark.parametrize("version", ["5.26.0", "5.26.30", "5.27-aura", "2025.01.0", "2027.12.3"])
def test_a_server_of_a_newer_version_is_taken(
    graph_address: GraphAddress, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    monkeypatch.setattr(Graph, "_read_version", lambda _: version)
    with Graph.open(graph_address) as graph:
        assert graph.version == version


@pytest.mark.parametrize(
    ("reply", "kind", "words"),
    [
        (b"\0\0\0\0", RejectedError, "starcast needs Neo4j 5.26 (LTS) or newer"),
        (b"HTTP/1.1 400 Bad Request", UnavailableError, "this port speaks HTTP"),
        (b"", UnavailableError, "starcast up"),
    ],
)
def test_what_is_no_such_server_at_all_is_told(
    graph_address: GraphAddress, reply: bytes, kind: type[StarcastError], words: str
) -> None:
    """A server with no version of BoltWriter in common, Neo4j's other port, and one that hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=_answer_once, args=(server, reply))
        thread.start()
        error = refused(graph_address, uri=f"bolt://127.0.0.1:{server.getsockname()[1]}")
        thread.join()
    assert isinstance(error, kind)
    assert words in error.hint


def _answer_once(server: socket.socket, reply: bytes) -> None:
    connection, _ = server.accept()
    with connection:
        connection.recv(64)
        connection.sendall(reply)


@pytest.mark.parametrize(
    "uri", ["", "neo4j", "http://127.0.0.1:7474", "bolt:", "postgresql://127.0.0.1"]
)
def test_a_uri_that_is_none_is_bad_input(graph_address: GraphAddress, uri: str) -> None:
    """Before anything is connected."""
    assert isinstance(refused(graph_address, uri=uri), InputError)


@pytest.mark.parametrize(
    ("code", "text", "kind", "words"),
    [
        (
            "Neo.TransientError.General.MemoryPoolOutOfMemoryError",
            "over the limit",
            LimitError,
            "out of memory",
        ),
        ("Neo.TransientError.General.OutOfMemoryError", "heap", LimitError, "out of memory"),
        (
            "Neo.DatabaseError.Transaction.TransactionCommitFailed",
            "No space left on device",
            LimitError,
            "out of disk",
        ),
        (
            "Neo.DatabaseError.General.UnknownError",
            "it broke\nin two lines",
            UnavailableError,
            "it broke",
        ),
        (
            "Neo.ClientError.Security.Forbidden",
            "not you",
            UnavailableError,
            "refuses 'neo4j': not you",
        ),
        (
            "Neo.ClientError.Transaction.TransactionTimedOut",
            "too long",
            LimitError,
            "longer than 2 s",
        ),
    ],
)
def test_what_a_server_says_that_we_cannot_provoke_here(
    graph: Graph, code: str, text: str, kind: type[StarcastError], words: str
) -> None:
    """Codes of the server's documentation, as the driver makes errors of them."""
    with pytest.raises(kind) as caught, graph._translate_errors(2.0):
        raise Neo4jError._hydrate_neo4j(code=code, message=text)
    assert words in caught.value.message
    assert "\n" not in caught.value.message
    assert caught.value.hint


def test_a_statement_without_memory_is_not_tried_again(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is transient to the driver, which would run it until the retry time is over."""
    from starcast.graph import connection

    tries = []

    def exhausted(*_: object) -> None:
        tries.append(1)
        raise Neo4jError._hydrate_neo4j(
            code="Neo.TransientError.General.MemoryPoolOutOfMemoryError", message="over"
        )

    monkeypatch.setattr(connection, "fetch_result", exhausted)
    with pytest.raises(LimitError):
        graph.read("RETURN 1")
    assert len(tries) == 1


def test_a_deadlock_is_tried_again(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """As the driver's managed transactions do with what is transient."""
    from starcast.graph import connection

    tries = []

    def unlucky(result: Result, row_limit: int | None) -> QueryResult:
        tries.append(1)
        if len(tries) < 2:
            raise Neo4jError._hydrate_neo4j(
                code="Neo.TransientError.Transaction.DeadlockDetected", message="deadlock"
            )
        return fetch_result(result, row_limit)

    monkeypatch.setattr(connection, "fetch_result", unlucky)
    assert graph.write("CREATE (n:Thing) RETURN 1 AS one") == [{"one": 1}]
    assert graph.read("MATCH (n:Thing) RETURN count(n) AS n") == [{"n": 1}]


def busy(graph: Graph, striking: threading.Thread) -> None:
    """One statement after another, until it strikes."""
    striking.start()
    while striking.is_alive():
        graph.write("UNWIND range(1, 2000) AS i MERGE (:Thing {name: i % 10})")
        graph.read("MATCH (t:Thing) RETURN count(t)")
    time.sleep(1)


@pytest.mark.parametrize("moment", range(8))
def test_ctrl_c_in_the_middle_of_an_exchange_is_no_error_of_the_connection(
    graph: Graph, moment: int
) -> None:
    """Wherever it comes: the driver itself would wait without end, or complain of messages."""
    with ctrl_c(0.02 + moment / 300) as striking, pytest.raises(KeyboardInterrupt):
        busy(graph, striking)
    assert graph.read("RETURN 1 AS one") == [{"one": 1}]


def patient(graph: Graph, striking: threading.Thread) -> None:
    """A statement that takes as long as it may."""
    striking.start()
    graph.read(
        "UNWIND range(1, 100000) AS a UNWIND range(1, 100000) AS b RETURN sum(a % b)", timeout=30
    )


def test_ctrl_c_does_not_wait_for_the_end_of_a_statement(graph: Graph) -> None:
    began = time.monotonic()
    with ctrl_c(0.2) as striking, pytest.raises(KeyboardInterrupt):
        patient(graph, striking)
    assert time.monotonic() - began < 15
    assert graph.read("RETURN 1 AS one") == [{"one": 1}]
