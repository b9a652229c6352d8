"""Atomic writes: if a write is killed, it leaves no files, or the next write removes them."""

import errno
import fcntl
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from unittest.mock import Mock

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
    """Start a process that kills itself in the middle of a write."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(HALVES), kind, str(target)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr


def age(folder: Path) -> None:
    """Make everything in a folder appear two minutes older."""
    for path in folder.iterdir():
        os.utime(path, (time.time() - 120,) * 2)


def names(folder: Path) -> list[str]:
    """Return the names of all files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_killed_write_leaves_no_temporary_file_and_keeps_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    for name in ("new", "old"):
        killed("file", tmp_path / name)
    assert names(tmp_path) == ["old"]
    assert (tmp_path / "old").read_text() == "old"


@pytest.mark.parametrize("kind", ["named", "folder"])
def test_the_next_write_removes_the_temporary_files_of_a_killed_write(
    tmp_path: Path, kind: str
) -> None:
    killed(kind, tmp_path / "new")
    (left,) = names(tmp_path)
    assert left.startswith(PREFIX)
    age(tmp_path)
    with atomic_write(tmp_path / "other") as file:
        file.write(b"complete")
    assert names(tmp_path) == ["other"]


def test_temporary_files_of_a_write_in_progress_are_kept(tmp_path: Path) -> None:
    """Temporary files are kept even if they are old, because the write holds a lock on them."""
    with temporary_folder(tmp_path / "first") as folder:
        (folder / "part").write_text("part")
        age(tmp_path)
        with atomic_write(tmp_path / "second") as file:
            file.write(b"complete")
        assert (folder / "part").read_text() == "part"
    assert names(tmp_path) == ["first", "second"]


def test_a_new_temporary_folder_without_a_lock_is_kept(tmp_path: Path) -> None:
    """The folder may belong to a write that has created it but not yet locked it."""
    (tmp_path / f"{PREFIX}1234").mkdir()
    with atomic_write(tmp_path / "second"):
        pass
    assert names(tmp_path) == [f"{PREFIX}1234", "second"]


def test_other_files_and_links_of_the_user_are_kept(tmp_path: Path) -> None:
    for name in (".first.npz.12345678", "starcast-1"):
        (tmp_path / name).touch()
    (tmp_path / f"{PREFIX}link").symlink_to(tmp_path / "starcast-1")
    age(tmp_path)
    with atomic_write(tmp_path / "second"):
        pass
    assert {".first.npz.12345678", "starcast-1"} <= set(names(tmp_path))


@pytest.mark.parametrize("error", [errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT])
def test_files_are_written_on_a_file_system_without_unnamed_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    """NFS, for example, has no unnamed files."""
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


def test_files_are_written_on_a_file_system_without_locks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Old temporary folders are kept, since another process may still use them."""
    error = OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))
    (tmp_path / f"{PREFIX}1234").mkdir()
    age(tmp_path)
    monkeypatch.setattr(fcntl, "flock", Mock(side_effect=error))
    with temporary_folder(tmp_path / "f") as folder:
        (folder / "part").write_text("part")
    assert names(tmp_path) == [f"{PREFIX}1234", "f"]


def test_a_file_name_may_have_the_maximum_length(tmp_path: Path) -> None:
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
