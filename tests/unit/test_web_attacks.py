"""The server under attack: slow clients, many connections, heavy requests, hostile URLs.

Each test attacks a real server on the loopback interface, or a single layer of the server. The
limits are made small, so that no test waits for long.
"""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from urllib.parse import urlsplit

import httpx2 as httpx
import numpy as np
import psutil
import pytest
from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from starcast.support.errors import BusyError, LimitError, StarcastError
from starcast.web import guard, serving
from starcast.web.guard import Guard
from starcast.web.service import Service
from starcast.web.workers import Workers, _Worker
from support.fix_browser import API, served

LARGE = bytes(20_000_000)
PATIENCE = 30


@pytest.fixture
def large() -> Iterator[str]:
    """The URL of a server whose responses are larger than the system's network buffers."""
    with served(Response(LARGE)) as url:
        yield url


def connect(url: str, sent: bytes = b"", source: str = "127.0.0.1") -> socket.socket:
    """Open a connection and send some bytes over it."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    connection = socket.create_connection(
        (parts.hostname, parts.port), timeout=PATIENCE, source_address=(source, 0)
    )
    # Without a fixed size, some systems would enlarge the buffer until it holds a large response.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 200_000)
    connection.sendall(sent)
    return connection


def request(url: str) -> bytes:
    """Return a complete request for the path of a URL."""
    parts = urlsplit(url)
    return f"GET {parts.path or '/'} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode()


def read_all(connection: socket.socket) -> bytes:
    """Return all bytes that arrive until the server closes the connection."""
    received = bytearray()
    with suppress(ConnectionError):
        while part := connection.recv(1_000_000):
            received += part
    return bytes(received)


def is_open(connection: socket.socket) -> bool:
    """Return whether a connection is still open."""
    connection.setblocking(False)
    try:
        return bool(connection.recv(1))
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"GET",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n",
        b"GET /explore/S4 HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\nabc",
        b"GET /explore/S4 HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\na",
    ],
)
def test_an_incomplete_request_is_ended_at_the_time_limit(
    address: str, sent: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "REQUEST_SECONDS", 0.5)
    with connect(address, sent) as connection:
        answer = read_all(connection)
    # A request with an incomplete body may already have been answered.
    assert answer.startswith(b"HTTP/1.1 408") or not sent or b"\r\n\r\n" in sent


def test_a_request_that_arrives_byte_by_byte_is_ended_at_the_time_limit(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The timer of uvicorn would not suffice, since each byte restarts it."""
    monkeypatch.setattr(serving, "REQUEST_SECONDS", 0.3)
    with connect(address, b"GET / HTTP/1.1\r\nX: ") as connection:
        connection.settimeout(0.05)
        for _ in range(20 * PATIENCE):
            try:
                connection.sendall(b"x")
                assert connection.recv(12) == b"HTTP/1.1 408"
            except TimeoutError:
                continue
            break
        else:
            pytest.fail("the connection stays open")


def test_a_connection_is_kept_for_the_next_request(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between requests, the limit REQUEST_SECONDS does not apply to a connection."""
    complete = request(f"{address}/explore/S4").replace(b"GET", b"HEAD")
    with connect(address, complete) as connection:
        assert connection.recv(1_000_000).startswith(b"HTTP/1.1 200")
        monkeypatch.setattr(serving, "REQUEST_SECONDS", 0.1)
        for _ in range(2):
            time.sleep(0.3)
            connection.sendall(complete)
            assert connection.recv(1_000_000).startswith(b"HTTP/1.1 200")


def test_a_page_is_served_while_500_connections_hang(address: str) -> None:
    half = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    with ExitStack() as stack:
        hanging = [
            stack.enter_context(connect(address, sent)) for sent in (b"", half) for _ in range(250)
        ]
        assert httpx.get(f"{address}/explore/S4", trust_env=False).status_code == 200
        assert all(map(is_open, hanging))


def test_the_connection_that_waited_longest_is_closed_to_make_room(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MAX_CONNECTIONS", 10)
    with ExitStack() as stack:
        hanging = [stack.enter_context(connect(address, b"GET")) for _ in range(30)]
        for _ in range(3):
            assert httpx.get(f"{address}/explore/S4", trust_env=False).status_code == 200
        closed = [not is_open(connection) for connection in hanging]
    assert closed == sorted(closed, reverse=True)
    assert 20 <= sum(closed) < 30


def test_the_client_address_with_the_most_connections_must_make_room(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "MAX_CONNECTIONS", 10)
    with ExitStack() as stack:
        other = stack.enter_context(connect(address, b"GET", source="127.0.0.2"))
        for _ in range(30):
            stack.enter_context(connect(address, b"GET"))
        assert httpx.get(f"{address}/explore/S4", trust_env=False).status_code == 200
        assert is_open(other)


def wait_for_loss(*connections: socket.socket) -> None:
    """Wait until the server, which runs in this process, has closed one of some connections."""
    ends = {connection.getsockname() for connection in connections}
    deadline = time.monotonic() + PATIENCE
    while ends <= {tuple(each.raddr) for each in psutil.Process().net_connections()}:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_client_that_stops_reading_is_disconnected(
    large: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "READ_SECONDS", 0.2)
    with connect(large, request(large)) as connection:
        connection.recv(12)  # the server has accepted the connection
        wait_for_loss(connection)
        assert len(read_all(connection)) < len(LARGE)


@pytest.mark.slow
def test_a_client_that_reads_slowly_receives_everything(
    large: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "READ_SECONDS", 1.0)
    received = 0
    last = request(large).replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")
    with connect(large, last) as connection:
        while part := connection.recv(400_000):
            received += len(part)
            time.sleep(0.03)
    assert received > len(LARGE)


def test_unread_responses_of_all_connections_share_one_limit(
    large: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "READ_SECONDS", 2 * PATIENCE)
    monkeypatch.setattr(serving, "MAX_UNREAD_BYTES", 2 * len(LARGE))
    with ExitStack() as stack:
        lazy = []
        for _ in range(3):
            lazy.append(stack.enter_context(connect(large, request(large))))
            lazy[-1].recv(12)
        wait_for_loss(*lazy)
        assert len(read_all(lazy[0])) < len(LARGE)


@pytest.mark.parametrize(
    ("address", "allowed"), [("127.0.0.1", 64), ("::1", 64), ("192.0.2.1", 32)]
)
def test_the_number_of_running_requests_per_client_address_is_limited(
    address: str, allowed: int
) -> None:
    assert (guard.MAX_REQUESTS, guard.MAX_REQUESTS_OF_ADDRESS) == (64, 32)

    async def attack() -> tuple[list[int], int, list[int]]:
        released = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await released.wait()
            await Response(b"done")(scope, receive, send)

        guarded = Guard(app, "192.0.2.9")

        async def ask(address: str) -> int:
            transport = httpx.ASGITransport(guarded, client=(address, 1))
            async with httpx.AsyncClient(transport=transport) as client:
                return (await client.get("http://192.0.2.9/")).status_code

        running = [asyncio.create_task(ask(address)) for _ in range(allowed)]
        await asyncio.sleep(0)
        refused = [await ask(address) for _ in range(3)]
        released.set()
        other = await ask("192.0.2.2") if allowed < guard.MAX_REQUESTS else 200
        return refused, other, await asyncio.gather(*running)

    refused, other, running = asyncio.run(attack())
    assert refused == [503] * 3
    assert other == 200
    assert running == [200] * allowed


def test_requests_fail_at_once_if_too_many_wait_for_a_worker_or_for_the_databases(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = threading.BoundedSemaphore(1)
    monkeypatch.setattr(service.workers, "_places", places)
    monkeypatch.setattr(service._labs, "_places", places)
    with service.lab():
        with pytest.raises(BusyError, match="all 1 workers are busy"):
            service.workers.run(len, ())
        with pytest.raises(BusyError, match="4 requests are using the stores"), service.lab():
            pass


@pytest.mark.parametrize(
    "path",
    [
        "/schedules/S2:broadcast:greedy(segments=999999)/steps",
        "/schedules/S2:broadcast:greedy(segments=999999)/steps.csv",
        "/simulate?schedule=S2:broadcast:greedy(segments=999999)",
        "/schedules/S2:broadcast:greedy(segments=999999)/rows.json",
    ],
)
def test_listings_have_a_maximum_length(client: TestClient, path: str) -> None:
    problem = client.get(f"{API}{path}").json()
    assert problem["type"] == "urn:starcast:problem:limit"
    assert "at most 100,000 are listed" in problem["detail"]


def test_a_listing_within_the_limit_is_served(client: TestClient) -> None:
    steps = client.get(f"{API}/schedules/S2:broadcast:greedy(segments=100000)/steps").json()
    assert steps[-1] == {"step": 100_000, "links_used": 1, "largest_packet": 1}


def test_a_computation_has_a_memory_limit(service: Service) -> None:
    """A worker that reached the limit continues to serve requests."""
    with pytest.raises(MemoryError):
        service.workers.run(np.ones, 1_000_000_000, np.uint8)
    assert service.workers.run(np.ones, 1_000, np.uint8).sum() == 1_000


@pytest.mark.slow
def test_waiting_for_a_worker_counts_towards_the_time_limit_of_a_request(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed worker is replaced in the background."""
    workers = service.workers
    assert workers.run(len, ()) == 0
    with monkeypatch.context() as patch, ThreadPoolExecutor(3) as pool:
        patch.setattr(workers, "seconds", 1.0)
        asked = [pool.submit(workers.run, time.sleep, 5) for _ in range(3)]
        errors = [each.exception() for each in asked]
    messages = sorted(error.message for error in errors if isinstance(error, StarcastError))
    assert messages == ["all 1 workers are busy"] * 2 + ["the computation took longer than 1 s"]
    with workers.borrow(60) as slot:
        assert slot.item is not None
        assert not slot.item.is_killed


@pytest.mark.parametrize("count", [1, 2])
def test_no_request_waits_for_the_start_of_another_process(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a worker was killed, requests get another one, or an error within the limit."""
    workers = Workers(count, seconds=2)
    workers.start()
    ready = [slot.item for slot in workers.slots]
    assert workers.run(len, ()) == 0
    may_start = threading.Event()
    wait = _Worker.wait

    def start_late(worker: _Worker) -> None:
        if worker not in ready:
            may_start.wait(60)
        wait(worker)

    monkeypatch.setattr(_Worker, "wait", start_late)
    try:
        with pytest.raises(LimitError):
            workers.run(time.sleep, 60)
        if count == 1:
            with pytest.raises(BusyError):
                workers.run(len, ())
        else:
            assert workers.run(len, ()) == 0
    finally:
        may_start.set()
        workers.close()


def test_the_first_requests_wait_for_the_first_worker() -> None:
    """If this wait counted towards the time limit, the worker would be killed too early."""
    # The imports of a worker take longer than 0.4 s.
    with closing(Workers(count=1, seconds=0.4)) as workers, ThreadPoolExecutor(3) as pool:
        workers.start()
        assert list(pool.map(workers.run, [len] * 3, [()] * 3)) == [0] * 3


@pytest.mark.parametrize(
    "path",
    [
        "/%00",
        "/static/starcast.css%00",
        "/queries/overlap/load-histogram?forest=S4%00",
        f"{API}/topologies/S4%00",
        f"{API}/queries/overlap/load-histogram/answer?%00=1",
    ],
)
def test_the_character_nul_in_a_url_is_refused(client: TestClient, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 400
    assert response.json()["detail"] == "the URL contains the character NUL"


#: A request for a WebSocket of another host.
UPGRADE = (
    b"GET / HTTP/1.1\r\nHost: evil.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
        b"\x00" * 100 + b"\r\n\r\n",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        UPGRADE,
    ],
)
def test_malformed_and_foreign_requests_are_refused(address: str, sent: bytes) -> None:
    with connect(address, sent) as connection:
        assert connection.recv(12) == b"HTTP/1.1 400"
