"""starcast's own log file, with one JSON object per line.

Any number of processes can write to the file.

Modules log with `event`; nothing is written before `start` is called. A log file that is too large
is rotated when a command starts. Other processes notice the rotation and continue in the new file.
Every line is written with a single write, so lines of parallel processes do not mix.
"""

import fcntl
import json
import logging
import os
import re
from contextlib import suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler
from pathlib import Path
from typing import Any, NamedTuple

from starcast.support.errors import shorten

LOGGER = logging.getLogger("starcast")
LOGGER.addHandler(logging.NullHandler())

#: A log file of this size in bytes is rotated; `KEPT_FILES` older files are kept.
ROTATED_BYTES = 5_000_000
KEPT_FILES = 4

_MAX_TEXT = 4_000
_PLAIN = (int, float, list, type(None))
#: Patterns of passwords in URIs and in connection parameters, with their replacements.
_SECRETS = (
    (re.compile(r"(://[^:/@\s\"']*:)[^\s\"']*@"), r"\1***@"),
    (re.compile(r"(?i)\b((?:ssl)?password|passfile)=[^&\s\"']*"), r"\1=***"),
)


class Target(NamedTuple):
    """The path of the log file, and the minimum level of the events that are written to it."""

    file: Path
    level: str


_target: Target | None = None


def event(message: str, level: int = logging.INFO, /, **fields: Any) -> None:
    """Log an event.

    Args:
        message: the name of the event, a few words without values.
        level: the severity, a level of the module `logging`.
        fields: the values of the event, which become members of the JSON object.
    """
    LOGGER.log(level, message, extra={"fields": fields})


def error_event(message: str, error: BaseException, /, **fields: Any) -> None:
    """Log an event at the level ERROR, with the traceback of an unexpected error."""
    LOGGER.error(message, exc_info=error, extra={"fields": fields})


def redact(text: str) -> str:
    """Return text with passwords in URIs and connection parameters replaced by asterisks."""
    for pattern, replacement in _SECRETS:
        text = pattern.sub(replacement, text)
    return text


def start(target: Target) -> OSError | None:
    """Start writing events to a log file; with the level ``off``, no events are written.

    Returns:
        The error if the file cannot be opened, so that no events are written; otherwise None.
    """
    global _target  # noqa: PLW0603 - one log per process, as in `logging`
    stop()
    if target.level == "off":
        return None
    try:
        target.file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _rotate(target.file)
        handler = _JsonFile(target.file, encoding="utf-8")
    except OSError as error:
        return error
    handler.setFormatter(_JsonLines())
    handler.setLevel(target.level.upper())
    LOGGER.addHandler(handler)
    lower_level(handler.level)
    _target = target
    return None


def lower_level(level: int) -> None:
    """Make the logger accept events of the given level and of higher levels.

    If the logger already accepts lower levels, it continues to accept them, because a handler of
    the calling program may need these events.
    """
    LOGGER.setLevel(min(level, LOGGER.getEffectiveLevel()))


def stop() -> None:
    """Stop writing events to the file."""
    global _target  # noqa: PLW0603
    _target = None
    LOGGER.setLevel(logging.NOTSET)
    for handler in LOGGER.handlers[:]:
        if isinstance(handler, _JsonFile):
            LOGGER.removeHandler(handler)
            handler.close()


def current_target() -> Target | None:
    """Return the log file and level to pass to workers; None if this process writes no log."""
    return _target


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "event": record.getMessage(),
            "pid": record.process,
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        plain = {
            name: value if isinstance(value, _PLAIN) else shorten(str(value), _MAX_TEXT)
            for name, value in entry.items()
        }
        return redact(json.dumps(plain))


# `WatchedFileHandler` notices that another process has renamed the file, and opens the new file.
class _JsonFile(WatchedFileHandler):
    def _open(self) -> TextIOWrapper:
        return open(
            self.baseFilename,
            "a",
            encoding=self.encoding,
            # Records contain database statements and paths, which only the owner may read.
            opener=lambda path, flags: os.open(path, flags, 0o600),
        )

    def emit(self, record: logging.LogRecord) -> None:
        """Write a record; ignore errors, for example if the folder was removed."""
        with suppress(OSError):
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
        """Ignore errors such as a full disk, because logging must not end a command."""


def _rotate(file: Path) -> None:
    """Rename the log file if it is too large; only one of several processes renames it."""
    with suppress(FileNotFoundError), file.open("rb") as opened:
        fcntl.flock(opened, fcntl.LOCK_EX)
        size = file.stat().st_size
        # Another process may have renamed the file while this one waited for the lock.
        if size < ROTATED_BYTES or not os.path.samestat(os.fstat(opened.fileno()), file.stat()):
            return
        for number in range(KEPT_FILES - 1, 0, -1):
            with suppress(FileNotFoundError):
                _numbered(file, number).rename(_numbered(file, number + 1))
        file.rename(_numbered(file, 1))


def _numbered(file: Path, number: int) -> Path:
    return file.with_name(f"{file.name}.{number}")
