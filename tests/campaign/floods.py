"""Floods: attacks on ``starcast serve`` by many, slow, heavy and malformed requests.

During an attack, pages must still load and no response may be an internal error. The memory of each
process must stay below a limit, and the server must shut down on a signal.
"""

import re
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psutil

from campaign.output import Done, Outcome, find_problems
from campaign.servers import Servers, finish

#: Seconds to wait for each part of a response, and for the shutdown, on a machine under load.
DEADLINE = 120
#: Maximum peak memory of the server, and of each of its workers, in kB.
MAX_KILOBYTES = 600_000_000 // 1024
#: HTTP statuses of starcast and uvicorn that are permitted during an attack. Status 500 is not.
STATUSES = frozenset({200, 304, 400, 403, 404, 405, 414, 422, 503})
_PAGE = "/explore/S4"
_HEAVY = (
    "/api/v1/schedules/S2:broadcast:greedy(segments=999999)/steps",
    "/api/v1/schedules/S2:broadcast:greedy(segments=999999)/rows",
    "/api/v1/schedules/S2:broadcast:greedy(segments=100000)/steps",
    "/api/v1/schedules/S2:broadcast:greedy(segments=99999)/steps.csv",
    "/api/v1/schedules/S7:broadcast:greedy(segments=19)/rows.json",
    "/api/v1/schedules/S8:broadcast:multiple(segments=3)/rows",
    "/api/v1/simulate?schedule=S7:broadcast:greedy(segments=190)",
    "/api/v1/simulate?schedule=S8:broadcast:multiple(segments=3)",
    "/api/v1/forests/S8:multiple/load",
    "/api/v1/topologies/S8/labels",
    "/api/v1/topologies/S12",
    "/api/v1/claims?limit=1000",
    "/records",
    "/claims",
    "/",
)
_SPECIAL = ("%00", "%0d%0a", "%ff", "%2e%2e/", "..", "//", "?", "&", "#", "%", "\\", "'", "<b>")
_HOSTS = ("127.0.0.1:x", "user@127.0.0.1", "[::1", "localhost/..", "evil.example", "", "[", "::1")


@dataclass
class Site:
    """A running ``starcast serve``.

    Attributes:
        process: the server process.
        port: the port on the loopback interface.
        problems: violated invariants.
    """

    process: subprocess.Popen[str]
    port: int
    problems: list[str] = field(default_factory=list)

    def connect(self, sent: bytes = b"") -> socket.socket:
        """Connect to the server, send the given bytes, and return the connection."""
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=DEADLINE)
        with suppress(ConnectionError):  # the server may close the connection at once
            connection.sendall(sent)
        return connection

    def ask(self, sent: bytes) -> int | None:
        """Return the status of the response to the given bytes, or None if no response arrives."""
        try:
            with self.connect(sent) as connection:
                head = b""
                while part := connection.recv(1_000_000):
                    head = head or part
        except ConnectionError:
            return None
        except TimeoutError:
            self.problems.append(f"no response in {DEADLINE} s to {sent[:100]!r}")
            return None
        found = re.match(rb"HTTP/1\.1 (\d{3}) ", head)
        status = None if found is None else int(found[1])
        if status is not None and status not in STATUSES:
            self.problems.append(f"the status {status} for {sent[:200]!r}")
        return status

    def check_page(self) -> None:
        """Check that a page loads during the attack."""
        status = self.ask(make_request(_PAGE))
        if status != 200:
            self.problems.append(f"a page has the status {status}")


def make_request(path: str, host: str = "127.0.0.1") -> bytes:
    """Return a request that asks the server to close the connection."""
    text = f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    return text.encode("latin-1", "replace")


def send_halves(site: Site, draw: Random) -> None:
    """Open connections that send nothing, or the first part of a request."""
    request = make_request(_PAGE)
    ends = [
        draw.choice((0, draw.randrange(len(request) - 1))) for _ in range(draw.randint(63, 500))
    ]
    with ExitStack() as stack:
        for end in ends:
            stack.enter_context(site.connect(request[:end]))
        site.check_page()


def ask_for_much(site: Site, draw: Random) -> None:
    """Send many large requests at once; each must get a response, possibly with status 503."""
    paths = [draw.choice(_HEAVY) for _ in range(draw.randint(8, 40))]
    with ThreadPoolExecutor(len(paths)) as pool:
        asked = [pool.submit(site.ask, make_request(path)) for path in paths]
        site.check_page()
        for path, answer in zip(paths, asked, strict=True):
            if answer.result() is None:
                site.problems.append(f"no response for {path}")


def ask_for_nonsense(site: Site, draw: Random) -> None:
    """Send requests with malformed paths, hosts and bytes."""
    requests = [_make_nonsense(draw) for _ in range(draw.randint(50, 200))]
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(site.ask, requests))
    site.check_page()


def _make_nonsense(draw: Random) -> bytes:
    path = draw.choice((*_HEAVY[-5:], "/static/starcast.css", "/api/v1/simulate?schedule=S4"))
    place = draw.randrange(1, len(path) + 1)
    path = path[:place] + draw.choice(_SPECIAL) + path[place:]
    sent = bytearray(make_request(path, draw.choice((*_HOSTS, *["127.0.0.1"] * 8))))
    if draw.random() < 0.3:
        sent[draw.randrange(len(sent) - 4)] = draw.randrange(256)
    return bytes(sent)


ATTACKS: dict[str, Callable[[Site, Random], None]] = {
    "half-sent requests": send_halves,
    "heavy requests": ask_for_much,
    "malformed requests": ask_for_nonsense,
}


def flood(servers: Servers, draw: Random) -> Outcome:
    """Attack a new server, which must keep answering, use little memory, and shut down."""
    name = draw.choice(list(ATTACKS))
    return f"serve: {name}", name, attack(servers, name, draw)


def attack(servers: Servers, name: str, draw: Random) -> list[str]:
    """Start a server, perform the named attack, and return the problems."""
    words = ("serve", "--port", "0")
    with _serving(servers, words) as site:
        site.check_page()
        ATTACKS[name](site, draw)
        site.check_page()
        site.problems += _check_memory(site.process.pid)
        site.process.send_signal(signal.SIGTERM)
        done = finish(site.process, words, DEADLINE)
    return site.problems + _check_end(done)


@contextmanager
def _serving(servers: Servers, words: Sequence[str]) -> Iterator[Site]:
    process = servers.start(*words)
    try:
        assert process.stderr is not None
        line = process.stderr.readline()
        found = re.search(r":(\d+);", line)
        if found is None:
            raise AssertionError(f"the server did not start: {line}{process.stderr.read()}")
        yield Site(process, int(found[1]))
    finally:
        process.kill()
        process.wait()


def _check_memory(pid: int) -> list[str]:
    """Check a process and its descendants; return a problem for each with too much memory."""
    problems = []
    for process in [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]:
        with suppress(OSError):  # the process may have ended
            status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            found = re.search(r"VmHWM:\s+(\d+) kB", status)
            if found and int(found[1]) > MAX_KILOBYTES:
                problems.append(f"the process {process.pid} used {found[1]} kB")
    return problems


def _check_end(done: Done) -> list[str]:
    problems = find_problems(done)
    if done.code != 130 or done.err.strip() != "interrupted":
        problems.append(f"the server ended with {done.result}: {done.err[-300:]!a}")
    return problems
