"""Server processes: detached start, reliable identification, guaranteed stop."""

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

from starcast.embedded import processes
from starcast.embedded.home import ServerProcess
from starcast.support.errors import LimitError, UnavailableError

#: Prints its environment and folder, then sleeps; the last argument is its marker.
SERVER = "import os, sys, time; print(sorted(os.environ), os.getcwd(), flush=True); time.sleep(600)"
STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    "print('stubborn', flush=True); time.sleep(600)"
)


def matcher(word: str) -> processes.Matcher:
    return lambda process: word in process.cmdline()


@pytest.fixture
def word(tmp_path: Path) -> Iterator[str]:
    """A command-line argument of this test's processes; they are stopped afterwards."""
    own = f"--mark={tmp_path}"
    yield own
    processes.wait_or_kill(processes.find_all(matcher(own)), 0)


def start(tmp_path: Path, word: str, program: str = SERVER) -> ServerProcess:
    pid = processes.start_detached(
        [sys.executable, "-c", program, word], tmp_path, tmp_path / "log", processes.User()
    )
    while not (tmp_path / "log").read_bytes():
        time.sleep(0.01)
    return ServerProcess(pid, psutil.Process(pid).create_time(), 0)


def test_a_server_is_detached(tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not a child of this process, has a session and folder of its own, and no settings."""
    monkeypatch.setenv("STARCAST_NEO4J_PASSWORD", "geheim")
    server = start(tmp_path, word)
    assert psutil.Process(server.pid).ppid() != os.getpid()
    assert os.getsid(server.pid) != os.getsid(0)
    output = (tmp_path / "log").read_text(encoding="utf-8")
    assert str(tmp_path) in output
    assert "STARCAST" not in output
    assert "'HOME'" not in output


def test_the_log_is_appended_to(tmp_path: Path, word: str) -> None:
    """Earlier output stays."""
    (tmp_path / "log").write_text("before\n", encoding="utf-8")
    start(tmp_path, word)
    assert (tmp_path / "log").read_text(encoding="utf-8").startswith("before\n")


def test_a_published_server_is_found(tmp_path: Path, word: str) -> None:
    """Its process id, start time and command line agree."""
    server = start(tmp_path, word)
    process = processes.find_server(server, matcher(word))
    assert process is not None
    assert process.pid == server.pid
    assert [process.pid for process in processes.find_all(matcher(word))] == [server.pid]


def test_the_process_id_of_another_program_is_not_accepted(tmp_path: Path, word: str) -> None:
    """Not if the command line or the start time differ, or the process has ended."""
    server = start(tmp_path, word)
    assert processes.find_server(server, matcher("--mark=another")) is None
    assert (
        processes.find_server(ServerProcess(server.pid, server.started - 3600, 0), matcher(word))
        is None
    )
    assert processes.find_server(None, matcher(word)) is None
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    assert (
        processes.find_server(ServerProcess(int(gone.stdout), time.time(), 0), matcher(word))
        is None
    )


def test_a_zombie_is_not_alive(tmp_path: Path) -> None:
    """A process that has ended but was not reaped counts as ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        process = psutil.Process(child.pid)
        while process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        assert not processes.is_alive(child.pid)
        assert not processes.is_match(process, lambda _: True)
    assert not processes.is_alive(child.pid)
    assert processes.is_alive(os.getpid())
    assert tmp_path.exists()


def test_a_server_that_obeys_the_signal_is_not_killed(tmp_path: Path, word: str) -> None:
    """A server that obeys the signal is not killed."""
    start(tmp_path, word)
    living = processes.find_all(matcher(word))
    processes.send_signal(living, signal.SIGTERM)
    assert processes.wait_or_kill(living, 10) == []
    assert processes.find_all(matcher(word)) == []
    processes.send_signal(living, signal.SIGTERM)  # no effect on ended processes


def test_a_stubborn_server_is_killed(tmp_path: Path, word: str) -> None:
    """A server that ignores the signal is killed and reported."""
    server = start(tmp_path, word, STUBBORN)
    living = processes.find_all(matcher(word))
    processes.send_signal(living, signal.SIGTERM)
    assert [process.pid for process in processes.wait_or_kill(living, 0.2)] == [server.pid]
    assert not processes.is_alive(server.pid)


def test_ports() -> None:
    """The preferred port if it is free, else another; only a listening process owns a port."""
    with socket.create_server((processes.LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        assert processes.is_listening(port)
        assert processes.owns_port(os.getpid(), port)
        other = processes.free_port(port)
        assert other != port
        assert not processes.owns_port(os.getpid(), other)
    assert not processes.is_listening(port)
    assert processes.free_port(other) == other
    assert not processes.owns_port(2**22 + 1, port)


def test_a_chosen_port_that_is_taken_is_an_error() -> None:
    """Another port is never used in its place; without a choice the preferred port is one."""
    with socket.create_server((processes.LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UnavailableError, match=f"^port {port} for Neo4j is used by another"):
            processes.choose_port(port, None, "Neo4j")
        assert processes.choose_port(None, port, "Neo4j") != port
    assert processes.choose_port(port, None, "Neo4j") == port
    assert processes.choose_port(None, port, "Neo4j") == port


@pytest.mark.parametrize("backlog", [True, False])
def test_a_server_that_accepts_connections_but_does_not_answer(backlog: bool) -> None:
    """The kernel accepts connections for a frozen process; only an answer counts."""
    with socket.create_server((processes.LOOPBACK, 0)) as server:
        port = server.getsockname()[1]
        if backlog:
            assert not processes.responds(port, b"hello", 0.2)
            return
        answering = threading.Thread(target=lambda: server.accept()[0].sendall(b"N"))
        answering.start()
        assert processes.responds(port, b"hello", 10)
        answering.join()
    assert not processes.responds(port, b"hello", 0.2)


def test_the_memory_of_a_process_is_measured() -> None:
    """Some megabytes; 0 for a process that has ended."""
    assert 5_000_000 < processes.memory_bytes(os.getpid()) < 10**10
    assert processes.memory_bytes(2**22 + 1) == 0


def test_memory_of_a_process_whose_child_ends_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        ended = psutil.Process(child.pid)
    monkeypatch.setattr(psutil.Process, "children", lambda _, recursive: [ended] * recursive)
    assert 5_000_000 < processes.memory_bytes(os.getpid()) < 10**10


def test_the_last_error_of_a_log_is_reported(tmp_path: Path) -> None:
    """The message has the last line with an error, the hint the path of the log."""
    log = tmp_path / "server.log"
    log.write_text("starting\nFATAL: could not find the moon\nended\n\n", encoding="utf-8")
    error = processes.startup_error("Server", (log,))
    assert isinstance(error, UnavailableError)
    assert error.message == "Server exited during startup: FATAL: could not find the moon"
    assert error.hint == f"see the log {log}"


def test_the_last_line_of_a_log_without_errors_is_reported(tmp_path: Path) -> None:
    """The message has the last line, or says that there was no output."""
    log = tmp_path / "server.log"
    assert processes.startup_error("Server", (log,)).message.endswith("no output")
    log.write_text("one\ntwo\n", encoding="utf-8")
    assert processes.startup_error("Server", (log,)).message.endswith(": two")


def test_a_full_disk_in_the_log_is_a_limit(tmp_path: Path) -> None:
    """The error is a limit, because the user can free space."""
    log = tmp_path / "server.log"
    log.write_text(
        "PANIC: could not write: No space left on device\nFATAL: ended\n", encoding="utf-8"
    )
    assert isinstance(processes.startup_error("Server", (log,)), LimitError)
