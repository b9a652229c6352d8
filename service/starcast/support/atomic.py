"""Atomic writes: a file or folder gets its name only when it is complete and on disk.

Data is written to a file without a name, which the operating system deletes if the process is
killed. Folders, and files on file systems that do not support unnamed files, have a hidden
temporary name and are locked while they are written. The next write in the same folder deletes
temporary files and folders that killed processes have left.
"""

import ctypes
import errno
import fcntl
import os
import secrets
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from starcast.support.errors import InputError

#: Prefix of temporary names. A temporary name does not contain the name of the target. Otherwise it
#: would be too long for a target whose name has the maximum length.
PREFIX = ".starcast-"
#: Errors of file systems and kernels that do not support unnamed files.
_NO_UNNAMED_FILES = {errno.EOPNOTSUPP, errno.EISDIR, errno.ENOENT, errno.EINVAL}
#: Constants for the system call renameat2(2), which Python does not define.
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
#: Errors of file systems and kernels that cannot exchange two names.
_NO_EXCHANGE = {errno.EINVAL, errno.ENOSYS}
#: Age in seconds from which an unlocked temporary file counts as abandoned. A younger file may
#: belong to a running process that has not locked it yet.
_GRACE = 60


@contextmanager
def atomic_replace(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` when the context ends without an error.

    The data is written to a temporary file in the same folder, flushed to disk and renamed. The
    temporary file has its final mode from the start, so a secret is never readable by others.

    Raises:
        OSError: the file cannot be written.
    """
    temporary = _temporary_path(path)
    try:
        descriptor = _open_unnamed(path.parent, mode)
        is_named = descriptor is None
        if descriptor is None:
            descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            _try_lock(descriptor)
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if not is_named:
                # Linking a file to a name cannot replace an existing file, so the file is first
                # linked to a temporary name and then renamed.
                _link(file.fileno(), temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str, mode: int = 0o644) -> None:
    """Write text to a file atomically; see `atomic_replace`."""
    with atomic_replace(path, mode) as file:
        file.write(text.encode("utf-8"))


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open an output file that a user named; the new file replaces an old one only when complete.

    Raises:
        InputError: the file cannot be written: no such folder, no permission, or a full disk.
    """
    target = Path(path)
    if os.path.isdir(target):  # noqa: PTH112 - never raises
        raise InputError(f"{target} is a folder", hint="name a file in it")
    delete_abandoned(target.parent)
    try:
        with _open_stream(target) or atomic_replace(target, mode=0o666) as file:
            yield file
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"{target} cannot be written: {reason}",
            hint="check the folder, its permissions and its disk",
        ) from None


def _open_stream(path: Path) -> BinaryIO | None:
    """Open a device, a pipe or a standard stream, which no file may replace; None for a file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    for number in (1, 2):
        with suppress(OSError):
            if os.path.samestat(status, os.fstat(number)):
                # Opening the file again would write from its beginning.
                return os.fdopen(os.dup(number), "wb")
    return None if stat.S_ISREG(status.st_mode) else path.open("wb")


@contextmanager
def temporary_folder(path: Path) -> Iterator[Path]:
    """Create a folder that takes the name ``path`` when the context ends without an error.

    After an error, the folder is deleted.

    Args:
        path: a new folder, or a folder that will be replaced.

    Raises:
        OSError: the folder cannot be created or renamed.
    """
    delete_abandoned(path.parent)
    temporary = _temporary_path(path)
    temporary.mkdir()
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, temporary, ignore_errors=True)
        descriptor = os.open(temporary, os.O_RDONLY)
        stack.callback(os.close, descriptor)
        _try_lock(descriptor)
        yield temporary
        if path.exists():
            # Now the old folder has the temporary name, so closing the stack deletes it.
            _exchange(temporary, path)
        else:
            temporary.rename(path)


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Hold the lock on a folder, the file ``.lock`` in it; wait while another process holds it.

    The kernel releases the lock however the process ends.

    Raises:
        OSError: the lock file cannot be created.
    """
    # Network file systems lock only files that are open for writing, so no folder.
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, 0o666)
    try:
        with suppress(OSError):  # the file system does not support locks
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def delete_abandoned(folder: Path) -> None:
    """Delete the temporary files and folders that killed processes have left in a folder."""
    with suppress(OSError):
        for path in folder.glob(f"{PREFIX}*"):
            _delete_if_abandoned(path)


def _delete_if_abandoned(path: Path) -> None:
    with suppress(OSError), ExitStack() as stack:
        # starcast creates no symbolic links or pipes with a temporary name, but another program
        # may. Links are not followed, and opening a pipe does not block.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        stack.callback(os.close, descriptor)
        if time.time() - os.fstat(descriptor).st_mtime < _GRACE or not _try_lock(descriptor):
            return
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _exchange(first: Path, second: Path) -> None:
    """Exchange the names of two folders, in one step if the system supports this."""
    names = os.fsencode(first), os.fsencode(second)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
        return
    if ctypes.get_errno() not in _NO_EXCHANGE:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(second))
    # The system cannot exchange names in one step, so for a moment no folder has the name
    # ``second``.
    aside = _temporary_path(second)
    second.rename(aside)
    first.rename(second)
    aside.rename(first)


def _temporary_path(path: Path) -> Path:
    return path.parent / f"{PREFIX}{secrets.token_hex(8)}"


def _open_unnamed(folder: Path, mode: int) -> int | None:
    """Open an unnamed file in a folder; None if the file system does not support such files."""
    if not hasattr(os, "O_TMPFILE"):
        return None
    try:
        return os.open(folder, os.O_WRONLY | os.O_TMPFILE, mode)
    except OSError as error:
        if error.errno in _NO_UNNAMED_FILES:
            return None
        raise


def _link(descriptor: int, path: Path) -> None:
    """Give a name to an unnamed open file."""
    # Python follows the link in /proc only if the new name's folder is given as a descriptor.
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.link(f"/proc/self/fd/{descriptor}", path.name, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


def _try_lock(descriptor: int) -> bool:
    """Lock a file or folder until it is closed; return whether the lock was acquired."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process holds the lock, or the file system does not support locks
        return False
    return True
