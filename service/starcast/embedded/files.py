"""Files that are whole or not there, locks between processes, and disk errors as sentences."""

import errno
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from starcast.errors import LimitError, UnavailableError

MB = 1_000_000


def says_full(error: BaseException) -> bool:
    """Whether an error of the operating system says that the disk is full."""
    return isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn what the operating system says about writing below ``folder`` into our errors.

    Raises:
        LimitError: the disk is full.
        UnavailableError: the folder cannot be written.
    """
    try:
        yield
    except OSError as error:
        topology = error.filename or folder
        if says_full(error):
            raise full_disk(folder) from error
        raise UnavailableError(
            f"{topology} cannot be used: {(error.strerror or str(error)).lower()}",
            hint="choose other folders with --home and STARCAST_CACHE",
        ) from error


def full_disk(folder: Path) -> LimitError:
    """The error of a disk that ran full below ``folder``."""
    return LimitError(
        f"the disk of {folder} is full", hint="free some space, then run 'starcast up' again"
    )


def need_space(folder: Path, megabytes: int, purpose: str) -> None:
    """Check the free space of the disk of ``folder``, which need not exist yet.

    Raises:
        LimitError: there is less than that many megabytes (10^6 bytes).
    """
    free = shutil.disk_usage(existing(folder)).free // MB
    if free < megabytes:
        raise LimitError(
            f"{purpose} needs {megabytes} MB below {folder}, and its disk has {free} MB free",
            hint="free some space, or choose another disk with --home and STARCAST_CACHE",
        )


def existing(folder: Path) -> Path:
    """The folder, or the nearest one above it that exists."""
    return next(path for path in (folder, *folder.parents) if path.exists())


@contextmanager
def exclusive(path: Path, when_taken: Callable[[], None]) -> Iterator[None]:
    """Hold the lock file ``path``, after waiting for whoever holds it; the kernel frees it when its holder dies."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            when_taken()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def is_taken(path: Path) -> bool:
    """Whether a process holds the lock file ``path``."""
    with suppress(FileNotFoundError), path.open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def put_aside(log: Path) -> None:
    """Let a log begin anew; the one before it is kept, older ones are not."""
    if log.exists():
        log.replace(log.with_name(f"{log.name}.before"))
