"""The server under attack: slow clients, many connections, heavy requests, hostile URLs.

Each test attacks a real server on the loopback interface, or a single layer of the server. The
limits are made small, so that no test waits for long.
"""

import asyncio
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from urllib.parse import urlsplit

import httpx2 as httpx
import numpy as np
import pytest
from starlette.responses import Response
from starlette.testclient import TestClient
from starlette.types import Receive, Scope, Send

from starcast.support.errors import BusyError, LimitError, StarcastError
from starcast.web import guard
from starcast.web.guard import Guard
from starcast.web.service import Service
from starcast.web.workers import Workers, _Worker
from support.fix_browser import API

PATIENCE = 30


def connect(url: str, sent: bytes = b"") -> socket.socket:
    """Open a connection and send some bytes over it."""
    parts = urlsplit(url)
    assert parts.hostname is not None
    connection = socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE)
    connection.sendall(sent)
    return connection


def is_open(connection: socket.socket) -> bool:
    """Return whether a connection is still open."""
    connection.setblocking(False)
    try:
        return bool(connection.recv(1))
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def test_a_page_is_served_while_500_other_connections_send_nothing_more(address: str) -> None:
    half = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    with ExitStack() as stack:
        hanging = [
            stack.enter_context(connect(address, sent)) for sent in (b"", half) for _ in range(250)
        ]
        assert httpx.get(f"{address}/explore/S4", trust_env=False).status_code == 200
        assert all(map(is_open, hanging))


def test_the_server_limits_the_number_of_running_requests() -> None:
    async def attack() -> tuple[list[int], list[int]]:
        released = asyncio.Event()

        async def app(scope: Scope, receive: Receive, send: Send) -> None:
            await released.wait()
            await Response(b"done")(scope, receive, send)

        guarded = Guard(app, "127.0.0.1")

        async def ask() -> int:
            async with httpx.AsyncClient(transport=httpx.ASGITransport(guarded)) as client:
                return (await client.get("http://127.0.0.1/")).status_code

        running = [asyncio.create_task(ask()) for _ in range(guard.MAX_REQUESTS)]
        await asyncio.sleep(0)
        refused = [await ask() for _ in range(3)]
        released.set()
        return refused, await asyncio.gather(*running)

    refused, running = asyncio.run(attack())
    assert refused == [503] * 3
    assert running == [200] * 64


def test_requests_fail_at_once_if_all_workers_or_all_store_connections_are_busy(
    service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    places = threading.BoundedSemaphore(1)
    monkeypatch.setattr(service.workers, "_places", places)
    monkeypatch.setattr(service.labs, "_places", places)
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
def test_listings_that_exceed_the_maximum_length_are_refused(client: TestClient, path: str) -> None:
    problem = client.get(f"{API}{path}").json()
    assert problem["type"] == "urn:starcast:problem:limit"
    assert "at most 100,000 are listed" in problem["detail"]


def test_a_listing_of_the_maximum_length_is_served(client: TestClient) -> None:
    steps = client.get(f"{API}/schedules/S2:broadcast:greedy(segments=100000)/steps").json()
    assert steps[-1] == {"step": 100_000, "links_used": 1, "largest_packet": 1}


def test_computations_for_requests_have_a_memory_limit(service: Service) -> None:
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
def test_requests_do_not_wait_until_a_killed_worker_is_replaced(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request gets another worker, or an error within its time limit."""
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


def test_the_first_requests_wait_until_the_first_worker_has_started() -> None:
    """If this wait counted towards the time limit, the worker would be killed before it starts."""
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
def test_a_url_that_contains_the_character_nul_is_refused(client: TestClient, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 400
    assert response.json()["detail"] == "the URL contains the character NUL"


#: A WebSocket request to another host.
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
def test_malformed_requests_websocket_requests_and_requests_for_other_hosts_are_refused(
    address: str, sent: bytes
) -> None:
    with connect(address, sent) as connection:
        assert connection.recv(12) == b"HTTP/1.1 400"
