"""Processes: detached, recognised for certain, stopped for certain."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from starcast.embedded import processes
from starcast.embedded.home import Running
from starcast.errors import LimitError, UnavailableError

#: Prints what it sees, then sleeps; the last argument is its mark.
SERVER = "import os, sys, time; print(sorted(os.environ), os.getcwd(), flush=True); time.sleep(600)"
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', flush=True); time.sleep(600)"


def mark(word: str) -> processes.Mark:
    return lambda process: word in process.cmdline()


@pytest.fixture
def word(tmp_path: Path) -> Iterator[str]:
    """A word that only processes of this test have in their command line; they are ended afterwards."""
    own = f"--mark={tmp_path}"
    yield own
    processes.wait(processes.search(mark(own)), 0)


def start(tmp_path: Path, word: str, program: str = SERVER) -> Running:
    pid = processes.start(
        [sys.executable, "-c", program, word], tmp_path, tmp_path / "log", processes.User()
    )
    while not (tmp_path / "log").read_bytes():
        time.sleep(0.01)
    return Running(pid, psutil.Process(pid).create_time(), 0)


def test_a_server_is_detached(tmp_path: Path, word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is nobody's child here, in a session of its own, in its folder, and sees no setting of ours."""
    monkeypatch.setenv("STARCAST_NEO4J_PASSWORD", "geheim")
    server = start(tmp_path, word)
    assert psutil.Process(server.pid).ppid() != os.getpid()
    assert os.getsid(server.pid) != os.getsid(0)
    seen = (tmp_path / "log").read_text(encoding="utf-8")
    assert str(tmp_path) in seen
    assert "STARCAST" not in seen
    assert "'HOME'" not in seen


def test_the_log_is_appended_to(tmp_path: Path, word: str) -> None:
    """What was said before stays."""
    (tmp_path / "log").write_text("before\n", encoding="utf-8")
    start(tmp_path, word)
    assert (tmp_path / "log").read_text(encoding="utf-8").startswith("before\n")


def test_a_published_server_is_found(tmp_path: Path, word: str) -> None:
    """By its number, its age and its mark together."""
    server = start(tmp_path, word)
    found = processes.find(server, mark(word))
    assert found is not None
    assert found.pid == server.pid
    assert [process.pid for process in processes.search(mark(word))] == [server.pid]


def test_a_number_that_belongs_to_somebody_else_is_not_found(tmp_path: Path, word: str) -> None:
    """Neither a process without the mark, nor one that is younger than the entry, nor one that is gone."""
    server = start(tmp_path, word)
    assert processes.find(server, mark("--mark=another")) is None
    assert processes.find(Running(server.pid, server.started - 3600, 0), mark(word)) is None
    assert processes.find(None, mark(word)) is None
    gone = subprocess.run(
        [sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True
    )
    assert processes.find(Running(int(gone.stdout), time.time(), 0), mark(word)) is None


def test_a_zombie_does_not_live(tmp_path: Path) -> None:
    """A dead process whose parent has not looked yet is dead."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        process = psutil.Process(child.pid)
        while process.status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
        assert not processes.lives(child.pid)
        assert not processes.bears(process, lambda _: True)
    assert not processes.lives(child.pid)
    assert processes.lives(os.getpid())
    assert tmp_path.exists()


def test_a_polite_end(tmp_path: Path, word: str) -> None:
    """A server that listens to its signal is not killed."""
    start(tmp_path, word)
    living = processes.search(mark(word))
    processes.ask(living, signal.SIGTERM)
    assert processes.wait(living, 10) == []
    assert processes.search(mark(word)) == []
    processes.ask(living, signal.SIGTERM)  # nobody is there any more, and nothing happens


def test_a_stubborn_server_is_killed(tmp_path: Path, word: str) -> None:
    """One that is deaf to its signal ends all the same, and is named."""
    server = start(tmp_path, word, STUBBORN)
    living = processes.search(mark(word))
    processes.ask(living, signal.SIGTERM)
    assert [process.pid for process in processes.wait(living, 0.2)] == [server.pid]
    assert not processes.lives(server.pid)


def test_ports() -> None:
    """The port wished for if it is free, another if not; who listens is told apart from who only exists."""
    with socket.create_server((processes.LOOPBACK, 0)) as taken:
        port = taken.getsockname()[1]
        assert processes.listens(port)
        assert processes.serves(os.getpid(), port)
        other = processes.free_port(port)
        assert other != port
        assert not processes.serves(os.getpid(), other)
    assert not processes.listens(port)
    assert processes.free_port(other) == other
    assert not processes.serves(2**22 + 1, port)


def test_memory_of_ourselves() -> None:
    """Some megabytes, and nothing for a process that is gone."""
    assert 5_000_000 < processes.memory(os.getpid()) < 10**10
    assert processes.memory(2**22 + 1) == 0


def test_the_telling_line_of_a_log(tmp_path: Path) -> None:
    """The last line that names an error, and where the rest is."""
    log = tmp_path / "server.log"
    log.write_text("starting\nFATAL: could not find the moon\nended\n\n", encoding="utf-8")
    error = processes.died("Server", (log,))
    assert isinstance(error, UnavailableError)
    assert error.message == "Server ended while it started: FATAL: could not find the moon"
    assert error.hint == f"the whole story is in {log}"


def test_a_log_without_an_error_tells_its_last_line(tmp_path: Path) -> None:
    """Something is better than nothing; nothing is said as well."""
    log = tmp_path / "server.log"
    assert processes.died("Server", (log,)).message.endswith("it said nothing")
    log.write_text("one\ntwo\n", encoding="utf-8")
    assert processes.died("Server", (log,)).message.endswith(": two")


def test_a_full_disk_in_the_log_is_a_limit(tmp_path: Path) -> None:
    """The user can mend that one."""
    log = tmp_path / "server.log"
    log.write_text(
        "PANIC: could not write: No space left on device\nFATAL: ended\n", encoding="utf-8"
    )
    assert isinstance(processes.died("Server", (log,)), LimitError)
