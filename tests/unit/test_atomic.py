"""Atomic writes: after a kill nothing is left, or the next write removes it."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from starcast.support import atomic
from starcast.support.atomic import PREFIX, atomic_write, temporary_folder
from starcast.support.errors import InputError

HALVES = """
    import os, signal, sys
    from pathlib import Path
    from starcast.support import atomic

    target = Path(sys.argv[2])
    if sys.argv[1] == "file":
        with atomic.atomic_write(target) as file:
            file.write(b"half" * 100_000)
            file.flush()
            os.kill(os.getpid(), signal.SIGKILL)
    if sys.argv[1] == "named":  # as on a file system without unnamed files
        del os.O_TMPFILE
        with atomic.atomic_write(target) as file:
            os.kill(os.getpid(), signal.SIGKILL)
    with atomic.temporary_folder(target) as folder:
        (folder / "nodes.csv").write_text("half")
        os.kill(os.getpid(), signal.SIGKILL)
"""


def killed(kind: str, target: Path) -> None:
    """Write a half in another process, which kills itself."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HALVES), kind, str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def age(folder: Path) -> None:
    """Make everything in a folder two minutes older."""
    for path in folder.iterdir():
        os.utime(path, (time.time() - 120,) * 2)


def names(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_killed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    for name in ("new", "old"):
        killed("file", tmp_path / name)
    assert names(tmp_path) == ["old"]
    assert (tmp_path / "old").read_text() == "old"


@pytest.mark.parametrize("kind", ["named", "folder"])
def test_what_a_killed_write_leaves_is_removed_by_the_next(tmp_path: Path, kind: str) -> None:
    killed(kind, tmp_path / "new")
    (left,) = names(tmp_path)
    assert left.startswith(PREFIX)
    age(tmp_path)
    with atomic_write(tmp_path / "other") as file:
        file.write(b"complete")
    assert names(tmp_path) == ["other"]


def test_a_write_in_progress_is_not_removed(tmp_path: Path) -> None:
    """Its file or folder is locked, however old it is."""
    with temporary_folder(tmp_path / "first") as folder:
        (folder / "part").write_text("part")
        age(tmp_path)
        with atomic_write(tmp_path / "second") as file:
            file.write(b"complete")
        assert (folder / "part").read_text() == "part"
    assert names(tmp_path) == ["first", "second"]


def test_a_write_that_has_just_begun_is_not_removed(tmp_path: Path) -> None:
    """It may not have its lock yet."""
    (tmp_path / f"{PREFIX}1234").mkdir()
    with atomic_write(tmp_path / "second"):
        pass
    assert names(tmp_path) == [f"{PREFIX}1234", "second"]


def test_files_of_the_user_are_not_removed(tmp_path: Path) -> None:
    for name in (".first.npz.12345678", "starcast-1"):
        (tmp_path / name).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "starcast-1")
    age(tmp_path)
    with atomic_write(tmp_path / "second"):
        pass
    assert {".first.npz.12345678", "starcast-1"} <= set(names(tmp_path))


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT])
def test_a_file_system_without_unnamed_files_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """Such as NFS."""
    original = os.open

    def refuse(path: Path, flags: int, mode: int = 0o777) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(error, os.strerror(error))
        return original(path, flags, mode)

    monkeypatch.setattr(os, "open", refuse)
    atomic.write_text(tmp_path / "f", "first")
    atomic.write_text(tmp_path / "f", "second", mode=0o600)
    assert names(tmp_path) == ["f"]
    assert (tmp_path / "f").read_text() == "second"
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600


def test_a_file_system_without_locks_will_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing can be removed safely."""

    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    (tmp_path / f"{PREFIX}1234").mkdir()
    age(tmp_path)
    monkeypatch.setattr(fcntl, "flock", refuse)
    with temporary_folder(tmp_path / "f") as folder:
        (folder / "part").write_text("part")
    assert names(tmp_path) == [f"{PREFIX}1234", "f"]


def test_the_longest_name_can_be_written(tmp_path: Path) -> None:
    with atomic_write(tmp_path / ("n" * 255)) as file:
        file.write(b"complete")
    assert names(tmp_path) == ["n" * 255]
    with pytest.raises(InputError, match="name too long"), atomic_write(tmp_path / ("n" * 256)):
        pass
    assert names(tmp_path) == ["n" * 255]


def test_the_mode_of_an_output_file_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "f"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640
