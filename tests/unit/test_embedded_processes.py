"""Server processes: starting them detached, identifying them reliably, and stopping them."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from starcast.embedded import system
from starcast.embedded.home import ServerProcess
from starcast.support.errors import LimitError, StarcastError, UnavailableError

#: A program that prints its environment variables and its folder, then sleeps. Its last argument
#: identifies its process.
SERVER = "import os, sys, time; print(sorted(os.environ), os.getcwd(), flush=True); time.sleep(600)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('stubborn', flush=True); time.sleep(600)"
)


def matcher(word: str) -> system.Matcher:
    return lambda process: word in process.cmdline()


@pytest.fixture
def word(tmp_path: Path) -> Iterator[str]:
    """A command-line argument that identifies this test's processes, to stop them afterwards."""
    own = f"--mark={tmp_path}"
    yield own
    system.wait_or_kill(system.find_all(matcher(own)), 0)


def start(tmp_path: Path, word: str, program: str = SERVER) -> ServerProcess:
    pid = system.start_detached(
        [sys.executable, "-c", program, word], tmp_path, tmp_path / "log", None
    )
    while not (tmp_path / "log").read_bytes().removeprefix(b"before\n"):
        time.sleep(0.01)
    return ServerProcess(pid, psutil.Process(pid).create_time(), 0)


def test_a_started_server_is_detached_from_this_process(
    tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server has another parent, its own session and folder, and no starcast settings.

    Its output is appended to the log.
    """
    monkeypatch.setenv("STARCAST_NEO4J_PASSWORD", "geheim")
    (tmp_path / "log").write_text("before\n", encoding="utf-8")
    server = start(tmp_path, word)
    assert psutil.Process(server.pid).ppid() != os.getpid()
    assert os.getsid(server.pid) != os.getsid(0)
    output = (tmp_path / "log").read_text(encoding="utf-8")
    assert output.startswith("before\n")
    assert str(tmp_path) in output
    assert "STARCAST" not in output
    assert "'HOME'" not in output


def test_only_a_process_that_matches_its_record_counts_as_the_server(
    tmp_path: Path, word: str
) -> None:
    """The process id, the start time and the command line must be as recorded."""
    server = start(tmp_path, word)
    assert server.is_alive(word)
    assert [process.pid for process in system.find_all(matcher(word))] == [server.pid]
    assert not server.is_alive("--mark=another")
    assert not ServerProcess(server.pid, server.started - 3600, 0).is_alive(word)
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    assert not ServerProcess(int(gone.stdout), time.time(), 0).is_alive(word)


def test_a_zombie_is_not_alive() -> None:
    """A process that has ended but was not reaped counts as ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        process = psutil.Process(child.pid)
        while process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        assert not system.is_alive(child.pid)
        assert not system.is_match(process, lambda _: True)
    assert not system.is_alive(child.pid)
    assert system.is_alive(os.getpid())


@pytest.mark.whole
@pytest.mark.parametrize(("program", "seconds"), [(SERVER, 10), (STUBBORN, 0.2)])
def test_only_a_server_that_ignores_the_signal_is_killed(
    tmp_path: Path, word: str, program: str, seconds: float
) -> None:
    """`wait_or_kill` reports the killed processes."""
    start(tmp_path, word, program)
    living = system.find_all(matcher(word))
    system.send_signal(living, signal.SIGTERM)
    killed = system.wait_or_kill(living, seconds)
    assert killed == (living if program == STUBBORN else [])
    assert system.find_all(matcher(word)) == []
    system.send_signal(living, signal.SIGTERM)  # must not fail for ended processes


def test_free_ports_and_the_processes_that_own_ports_are_found() -> None:
    """A preferred port is used if it is free; a port chosen by the user that is taken is an error.

    Only a listening process owns a port.
    """
    with socket.create_server((system.LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        assert system.is_listening(port)
        assert system.owns_port(os.getpid(), port)
        other = system.choose_port(None, port, "Neo4j")
        assert other != port
        assert not system.owns_port(os.getpid(), other)
        with pytest.raises(UnavailableError, match=f"^port {port} for Neo4j is used by another"):
            system.choose_port(port, None, "Neo4j")
    assert not system.is_listening(port)
    assert not system.owns_port(2**22 + 1, port)
    assert system.choose_port(port, None, "Neo4j") == port
    assert system.choose_port(None, port, "Neo4j") == port


@pytest.mark.parametrize("backlog", [True, False])
def test_only_a_server_that_answers_counts_as_responding(backlog: bool) -> None:
    """The kernel accepts connections even for a frozen process."""
    with socket.create_server((system.LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        if backlog:
            assert not system.responds(port, b"hello", 0.2)
            return
        answering = threading.Thread(target=lambda: server.accept()[0].sendall(b"N"))
        answering.start()
        assert system.responds(port, b"hello", 10)
        answering.join()
    assert not system.responds(port, b"hello", 0.2)


def test_the_memory_of_a_process_is_measured_although_a_child_process_ends_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A process that has ended uses 0 bytes."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        ended = psutil.Process(child.pid)
    assert system.memory_bytes(child.pid) == 0
    monkeypatch.setattr(psutil.Process, "children", lambda _, recursive: [ended] * recursive)
    assert 5_000_000 < system.memory_bytes(os.getpid()) < 10**10


@pytest.mark.parametrize(
    ("log", "kind", "words"),
    [
        (None, UnavailableError, "no output"),
        ("", UnavailableError, "no output"),
        ("one\ntwo\n", UnavailableError, "two"),
        ("starting\nFATAL: no moon\nended\n\n", UnavailableError, "FATAL: no moon"),
        ("PANIC: x: No space left on device\nFATAL: ended\n", LimitError, ""),
    ],
)
def test_a_startup_error_reports_the_last_error_in_the_log(
    tmp_path: Path, log: str | None, kind: type[StarcastError], words: str
) -> None:
    """Without an error, it reports the last line. A full disk is a limit that the user can lift."""
    path = tmp_path / "server.log"
    if log is not None:
        path.write_text(log, encoding="utf-8")
    error = system.startup_error("Server", path)
    assert type(error) is kind
    if words:
        assert error.message == f"Server exited during startup: {words}"
        assert error.hint == f"see the log {path}"
