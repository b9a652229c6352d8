"""Disk space, lock files, log files, and the translation of operating system errors."""

import errno
import fcntl
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from starcast.support.errors import LimitError, UnavailableError

MB = 1_000_000


def is_disk_full(error: BaseException) -> bool:
    """Return whether an operating system error means that the disk is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def translate_os_errors(folder: Path) -> Iterator[None]:
    """Turn operating system errors about files below ``folder`` into starcast errors.

    Raises:
        LimitError: the disk is full.
        UnavailableError: the folder cannot be written.
    """
    try:
        yield
    except OSError as error:
        if is_disk_full(error):
            raise disk_full_error(folder) from error
        path = error.filename or folder
        raise UnavailableError(
            f"{path} cannot be used: {(error.strerror or str(error)).lower()}",
            hint="choose other folders with --home and STARCAST_CACHE",
        ) from error


def disk_full_error(folder: Path) -> LimitError:
    """Return the error to raise when the disk of ``folder`` is full."""
    return LimitError(
        f"the disk of {folder} is full", hint="free some space, then run 'starcast up' again"
    )


def require_space(folder: Path, megabytes: int, purpose: str) -> None:
    """Check the free space on the disk of ``folder``, which need not exist yet.

    Args:
        folder: the folder to be written to.
        megabytes: the space needed, in units of 10^6 bytes.
        purpose: subject of the error message, such as ``the embedded stack``.

    Raises:
        LimitError: the disk has less free space.
    """
    free = shutil.disk_usage(nearest_existing(folder)).free // MB
    if free < megabytes:
        raise LimitError(
            f"{purpose} needs {megabytes} MB below {folder}, and its disk has {free} MB free",
            hint="free some space, or choose another disk with --home and STARCAST_CACHE",
        )


def require_private(folder: Path) -> None:
    """Check that only the current user and root can change the contents of a folder.

    Raises:
        UnavailableError: the folder belongs to another user, or group or others may write to it.
    """
    status = folder.stat()
    if status.st_uid not in {0, os.geteuid()}:
        raise UnavailableError(
            f"{folder} belongs to the user with id {status.st_uid}, who could change its contents",
            hint="run starcast as that user, or choose another folder with --home",
        )
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnavailableError(
            f"{folder} has mode {stat.S_IMODE(status.st_mode):o}: other users can write to it",
            hint=f"check its contents, then run 'chmod go-w {folder}'",
        )


def nearest_existing(folder: Path) -> Path:
    """Return the folder, or its nearest ancestor that exists."""
    return next(path for path in (folder, *folder.parents) if path.exists())


@contextmanager
def exclusive_lock(path: Path, on_wait: Callable[[], None], task: str = "") -> Iterator[None]:
    """Hold the lock on a file; the kernel releases it however the process ends.

    Args:
        path: the lock file, created if missing.
        on_wait: called once if another process or thread holds the lock, before waiting for it.
        task: the activity of this process while it holds the lock, for `read_lock_holder`.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        # The previous holder's task text may be longer than the new one.
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{time.time():.3f} {task}".encode(), 0)
        yield
    finally:
        os.close(descriptor)


def is_locked(path: Path) -> bool:
    """Return whether a process holds the lock on the file ``path``."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        try:
            # Try a shared lock, so that processes that only check do not see each other's lock.
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def read_lock_holder(path: Path) -> tuple[str, float | None]:
    """Return the task of the process that holds the lock on a file, and for how many seconds.

    The task is empty if the lock file names none.
    """
    since, _, task = path.read_text(encoding="utf-8").partition(" ")
    return task, time.time() - float(since) if task else None


def rotate_log(log: Path) -> None:
    """Rename a log to ``NAME.before``, replacing the previous ``NAME.before``."""
    if log.exists():
        log.replace(log.with_name(f"{log.name}.before"))
