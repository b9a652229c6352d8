"""Atomic writes: a file or folder gets its name only when it is complete."""

import errno
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from unittest.mock import Mock

import pytest

from starcast.support import atomic
from starcast.support.atomic import PREFIX, atomic_write, temporary_folder
from starcast.support.errors import InputError, LimitError

KILLED = """
    import os, signal, sys
    from pathlib import Path
    from starcast.support import atomic

    with atomic.atomic_write(Path(sys.argv[1])) as file:
        file.write(b"half" * 100_000)
        file.flush()
        os.kill(os.getpid(), signal.SIGKILL)
"""


def names(folder: Path) -> list[str]:
    """Return the names of all files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_killed_write_keeps_the_old_file_and_leaves_a_hidden_file(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("old")
    command = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path / "old")]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    hidden, old = names(tmp_path)
    assert hidden.startswith(PREFIX)
    assert old == "old"
    assert (tmp_path / "old").read_text() == "old"


@pytest.mark.parametrize("name", ["new", "old"])
def test_a_folder_gets_its_name_only_when_it_is_complete(tmp_path: Path, name: str) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "first").touch()
    with pytest.raises(KeyError), temporary_folder(tmp_path / name):
        raise KeyError
    assert names(tmp_path) == ["old"]
    assert names(tmp_path / "old") == ["first"]
    with temporary_folder(tmp_path / name) as folder:
        (folder / "second").touch()
    assert names(tmp_path / name) == ["second"]
    assert names(tmp_path) == sorted({"old", name})


def test_ctrl_c_while_a_folder_is_replaced_is_deferred_until_the_new_folder_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "site").mkdir()
    rename = Path.rename

    def interrupt(path: Path, target: Path) -> None:
        rename(path, target)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(Path, "rename", interrupt)
    with pytest.raises(KeyboardInterrupt), temporary_folder(tmp_path / "site") as folder:
        (folder / "new").touch()
    assert names(tmp_path) == ["site"]
    assert names(tmp_path / "site") == ["new"]


def test_a_temporary_file_is_created_with_the_requested_mode(tmp_path: Path) -> None:
    atomic.write_text(tmp_path / "f", "first")
    with atomic.atomic_replace(tmp_path / "f", mode=0o600):
        (hidden,) = tmp_path.glob(f"{PREFIX}*")
        assert hidden.stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600


def test_a_file_name_may_have_the_maximum_length(tmp_path: Path) -> None:
    with atomic_write(tmp_path / ("n" * 255)) as file:
        file.write(b"complete")
    assert names(tmp_path) == ["n" * 255]
    with pytest.raises(InputError, match="name too long"), atomic_write(tmp_path / ("n" * 256)):
        pass
    assert names(tmp_path) == ["n" * 255]


def test_a_full_disk_is_a_limit_and_keeps_the_earlier_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "f"
    file.write_text("first")
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    monkeypatch.setattr(os, "fsync", Mock(side_effect=full))
    with pytest.raises(LimitError, match="f cannot be written: no space left"), atomic_write(file):
        pass
    assert (names(tmp_path), file.read_text()) == (["f"], "first")
    device = Path("/dev/full")
    with pytest.raises(LimitError, match=f"{device} cannot be written"), atomic_write(device) as to:
        to.write(b"text")


def test_the_mode_of_a_new_output_file_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        with atomic_write(tmp_path / "f"):
            pass
    finally:
        os.umask(before)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o444])
def test_an_existing_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "old"
    file.touch()
    file.chmod(mode)
    with atomic_write(file) as opened:
        (hidden,) = tmp_path.glob(f"{PREFIX}*")
        assert hidden.stat().st_mode & 0o777 == mode
        opened.write(b"new")
    assert file.stat().st_mode & 0o777 == mode
    assert file.read_bytes() == b"new"


@pytest.mark.parametrize("exists", [True, False])
def test_a_symbolic_link_is_kept_and_its_target_is_written(tmp_path: Path, exists: bool) -> None:
    target, link = tmp_path / "folder" / "target", tmp_path / "link"
    target.parent.mkdir()
    if exists:
        target.write_text("old")
    link.symlink_to("folder/target")
    with pytest.raises(KeyError), atomic_write(link):
        raise KeyError
    assert target.exists() == exists
    with atomic_write(link) as opened:
        opened.write(b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert names(tmp_path) == ["folder", "link"]
    assert names(target.parent) == ["target"]


def test_a_loop_of_symbolic_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match="loop cannot be written"), atomic_write(tmp_path / "loop"):
        pass
