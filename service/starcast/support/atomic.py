"""Atomic writes: a file appears under its name complete and on disk, or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from starcast.errors import InputError


@contextmanager
def atomic_replace(path: Path, mode: int = 0o644) -> Iterator[BinaryIO]:
    """Open a file that replaces ``path`` when the context ends without an error.

    The data is written to a temporary file in the same folder, flushed to disk and renamed. The
    temporary file has its final mode from the start, so a secret is never readable by others.

    Raises:
        OSError: the file cannot be written.
    """
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
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


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Open an output file that a user named; it replaces an existing one only when complete.

    Raises:
        InputError: the operating system refuses: no such folder, no permission, a full disk.
    """
    target = Path(path)
    if target.is_dir():
        raise InputError(f"{target} is a folder", hint="name a file in it")
    try:
        with atomic_replace(target, mode=0o666) as file:
            yield file
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"{target} cannot be written: {reason}", hint="check the folder, its mode and its disk"
        ) from None
