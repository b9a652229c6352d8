"""Files that users ask for: whole or not there."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from starcast.errors import InputError


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write, which takes its name only when all of it has reached the disk; what was there stays until then.

    Raises:
        InputError: the operating system refuses: no such folder, no right to write, a full disk.
    """
    there = Path(path)
    if there.is_dir():
        raise InputError(f"{there} is a folder", hint="name a file in it")
    beside = there.with_name(f".{there.name}.{secrets.token_hex(4)}")
    try:
        with beside.open("xb") as file:
            try:
                yield file
                file.flush()
                os.fsync(file.fileno())
                beside.replace(there)
            finally:
                beside.unlink(missing_ok=True)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(
            f"{there} cannot be written: {reason}", hint="check the folder, its mode and its disk"
        ) from None
