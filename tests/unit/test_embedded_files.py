"""Whole files, locks, disks, and the home of a stack."""

import errno
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from starcast.embedded import files, packages
from starcast.embedded.home import Home, Running
from starcast.errors import LimitError, UnavailableError
from starcast.progress import Silent
from starcast.support import atomic

HOLDER = """
import fcntl, sys
file = open(sys.argv[1], "w")
fcntl.flock(file, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_is_whole_and_has_its_mode(tmp_path: Path) -> None:
    """Writing replaces the old text and leaves nothing beside it, whatever the umask."""
    path = tmp_path / "file"
    path.write_text("old and longer", encoding="utf-8")
    atomic.write_text(path, "new", mode=0o600)
    assert path.read_text(encoding="utf-8") == "new"
    assert mode(path) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that runs full in the middle costs nothing that was there."""
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(LimitError, match="is full"), files.writing(tmp_path):
        atomic.write_text(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOTDIR])
def test_a_folder_that_cannot_be_used_is_one_sentence(tmp_path: Path, number: int) -> None:
    """What the operating system says stands in the sentence, with the path it is about."""
    words = f"{tmp_path} cannot be used: {os.strerror(number).lower()}"
    with pytest.raises(UnavailableError, match=words), files.writing(tmp_path):
        raise OSError(number, os.strerror(number))


def test_the_space_of_a_folder_that_is_not_there_yet(tmp_path: Path) -> None:
    """The disk of its nearest parent is asked; a need that no disk meets is refused with both figures."""
    files.need_space(tmp_path / "a" / "b", 1, "this")
    with pytest.raises(
        LimitError,
        match=r"this needs 1000000000000 MB below .*/a/b, and its disk has [0-9]+ MB free",
    ):
        files.need_space(tmp_path / "a" / "b", 10**12, "this")
    assert not (tmp_path / "a").exists()


def test_a_lock_waits_for_its_holder(tmp_path: Path) -> None:
    """Another process holds the lock: we say that we wait, and go on when it dies, even by SIGKILL."""
    path = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDER, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with files.exclusive(path, holder.kill):
            assert holder.wait() < 0


def test_a_free_lock_does_not_wait(tmp_path: Path) -> None:
    """Nothing is said when nobody holds it, also the second time."""
    for _ in range(2):
        with files.exclusive(tmp_path / "lock", lambda: pytest.fail("it waited")):
            pass


def test_threads_exclude_one_another_too(tmp_path: Path) -> None:
    """Two starts in one process are as far apart as two processes."""
    inside, waited = threading.Event(), threading.Event()

    def second() -> None:
        with files.exclusive(tmp_path / "lock", waited.set):
            inside.set()

    with files.exclusive(tmp_path / "lock", lambda: None):
        thread = threading.Thread(target=second)
        thread.start()
        assert waited.wait(10)
        assert not inside.is_set()
    thread.join()
    assert inside.is_set()


def test_a_log_begins_anew_and_one_before_is_kept(tmp_path: Path) -> None:
    """Two generations, whatever the number of starts."""
    log = tmp_path / "server.log"
    for text in ("first", "second", "third"):
        files.put_aside(log)
        log.write_text(text, encoding="utf-8")
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        "server.log": "third",
        "server.log.before": "second",
    }


@pytest.fixture
def home(tmp_path: Path) -> Home:
    made = Home(tmp_path / "home")
    made.create()
    return made


def test_a_home_is_its_owner_s_only(home: Home) -> None:
    """All folders are closed to others, and making them again changes nothing."""
    home.create()
    assert {mode(folder) for folder in (home.root, *home.root.iterdir())} == {0o700}


def test_a_password_is_made_once_and_kept_closed(home: Home, tmp_path: Path) -> None:
    """Long, random, mode 600, and the same at every start."""
    password = home.secret("server", tmp_path / "data")
    assert len(password) >= 32
    assert home.secret("server", tmp_path / "data") == password == home.password("server")
    assert home.secret("other", tmp_path / "data") != password
    assert mode(home.password_file("server")) == 0o600


def test_a_lost_password_is_not_made_up_again(home: Home) -> None:
    """Data that a lost password opens is not shut for good by a new one."""
    with pytest.raises(UnavailableError, match="secrets/server is missing") as caught:
        home.secret("server", home.neo4j)
    assert str(home.root) in caught.value.hint
    assert not home.password_file("server").exists()


def test_what_is_published_is_read_back(home: Home) -> None:
    """One file, whole, closed."""
    servers = {"neo4j": Running(12, 34.5, 678)}
    home.publish(servers)
    assert home.published() == servers
    assert mode(home.root / "stack.json") == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", '{"neo4j": 3}', '{"neo4j": {"pid": 1}}', "\x00"])
def test_a_spoilt_state_says_that_nothing_runs(home: Home, text: str) -> None:
    """Somebody else's text in our file is no traceback."""
    (home.root / "stack.json").write_text(text, encoding="utf-8")
    assert home.published() == {}


def test_waiting_for_another_start_is_said(home: Home) -> None:
    """Whoever waits says for what."""
    said: list[str] = []

    class Listening(Silent):
        def say(self, text: str) -> None:
            said.append(text)

    def second() -> None:
        with home.locked(Listening()):
            pass

    with home.locked(Silent()):
        thread = threading.Thread(target=second)
        thread.start()
        while not said:
            threading.Event().wait(0.01)
    thread.join()
    assert said == [
        f"another process starts, stops or rebuilds the embedded stack in {home.root}: waiting for it"
    ]


@pytest.mark.parametrize("ask", [packages.load, packages.locate])
def test_a_missing_package_names_the_extra(ask: object) -> None:
    """A client without the servers learns what to install."""
    assert callable(ask)
    with pytest.raises(
        UnavailableError, match="'no-such-package', which is not installed"
    ) as caught:
        ask("no_such_package")
    assert "starcast[embedded]" in caught.value.hint
