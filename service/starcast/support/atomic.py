"""Atomic writes: a file or folder gets its name only when it is complete.

Data is written under a hidden temporary name in the same folder. A file is then flushed to disk.
Finally, the temporary file or folder is renamed. If the process is killed (kill -9) before the
renaming, the temporary file or folder remains. Its name begins with `PREFIX`; users may delete it.
"""

import fcntl
import os
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from starcast.support.errors import InputError, unwritable
from starcast.support.progress import defer_signals

#: Prefix of temporary names. The target's name is not part of them, because a prefix would make a
#: target's name of the maximum length too long.
PREFIX = ".starcast-"


@contextmanager
def atomic_replace(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` when the context ends without an error.

    The temporary file is created with the mode ``mode``, so it never has more permissions than the
    new file.

    Raises:
        OSError: the file cannot be written.
    """
    temporary = _temporary_path(path)
    # The module `tempfile` is not used, because it ignores the umask.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str, mode: int = 0o644) -> None:
    """Write text to a file atomically; see `atomic_replace`."""
    with atomic_replace(path, mode) as file:
        file.write(text.encode("utf-8"))


def write_new(path: Path, text: str) -> Path:
    """Write a new file, create its folder if necessary, and return the path of the file.

    Raises:
        InputError: the file exists, or the folder or the file cannot be created.
        LimitError: the disk is full.
    """
    if path.exists():
        raise InputError(f"{path} already exists", hint="choose another name, or remove the file")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"the folder {path.parent} cannot be created: {error.strerror}",
            hint="check the path and the permissions, or choose another folder with `folder`",
        ) from None
    with atomic_write(path) as file:
        file.write(text.encode())
    return path


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open an output file at a path that a user specified.

    An existing file is replaced only when the new file is complete, and keeps its mode. If the path
    is a symbolic link, the file to which the link points is replaced. Devices, pipes and the
    standard streams are written directly.

    Raises:
        LimitError: the disk is full.
        InputError: the file cannot be written for another reason.
    """
    target = Path(path)
    if os.path.isdir(target):  # noqa: PTH112 - never raises
        raise InputError(f"{target} is a folder", hint="specify a file in this folder")
    try:
        with _open_stream(target) or _replace_file(Path(os.path.realpath(target))) as file:
            yield file
    except OSError as error:
        raise unwritable(target, error) from None


@contextmanager
def _replace_file(path: Path) -> Iterator[BinaryIO]:
    """Replace a file as `atomic_replace` does, but keep the mode of an existing file."""
    mode = stat.S_IMODE(path.stat().st_mode) if path.exists() else None
    with atomic_replace(path, 0o666 if mode is None else mode) as file:
        if mode is not None:
            os.fchmod(file.fileno(), mode)
        yield file


def _open_stream(path: Path) -> BinaryIO | None:
    """Open a device, pipe or standard stream for writing; return None for any other path."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    for number in (1, 2):
        with suppress(OSError):
            if os.path.samestat(status, os.fstat(number)):
                # The stream is duplicated, because opening its file by path would overwrite the
                # file from the beginning.
                return os.fdopen(os.dup(number), "wb")
    return None if stat.S_ISREG(status.st_mode) else path.open("wb")


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """Create a temporary folder that is renamed to ``path`` when the context ends without an error.

    After an error, the temporary folder is deleted.

    Args:
        path: a new folder, or a folder that will be replaced.

    Raises:
        OSError: the folder cannot be created or renamed.
    """
    temporary = _temporary_path(path)
    temporary.mkdir()
    try:
        yield temporary
        if path.exists():
            # Two folders cannot be exchanged in one step; for a moment, neither is named ``path``.
            # Ctrl-C at this moment is deferred, because it would leave no folder with this name.
            old = _temporary_path(path)
            with defer_signals(lambda: None):
                path.rename(old)
                try:
                    temporary.rename(path)
                except OSError:
                    old.rename(path)
                    raise
                temporary = old
        else:
            temporary.rename(path)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Lock a folder within the context; wait first if another process has locked it.

    The lock is on the file ``.lock`` in the folder. The kernel releases the lock even if the
    process is killed. On a file system without locks, nothing is locked.

    Raises:
        OSError: the lock file cannot be created.
    """
    # Network file systems lock only files that are open for writing, so they cannot lock a folder.
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with suppress(OSError):  # the file system does not support locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _temporary_path(path: Path) -> Path:
    return path.parent / f"{PREFIX}{secrets.token_hex(8)}"
