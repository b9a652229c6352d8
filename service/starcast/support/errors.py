"""The errors of starcast, grouped by what the user can do about them.

Every error has a ``message``, which states the problem in one sentence, and a ``hint``, which says
what to do. The class of an error determines the command's exit code. Messages may quote any user
input, because this module escapes unprintable characters in messages, and shortens long input.
"""

import errno
import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from starcast.support.text import did_you_mean

#: Maximum number of characters in a message; a hint may be twice as long.
_MAX_LENGTH = 1_000
#: Maximum number of characters in a quoted string or a word of a message. Quoted strings and words
#: in hints are not shortened, because hints contain commands to copy.
_MAX_ECHO = 160
_DISK_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
#: The unprintable characters that are allowed in multi-line text.
LAYOUT = "\n\t"
_LONG_ECHO = re.compile(
    "|".join(form % _MAX_ECHO for form in (r"'[^']{%d,}'", r'"[^"]{%d,}"', r"\S{%d,}"))
)


def escape(text: str, kept: str = "") -> str:
    """Return text with its unprintable characters replaced by Python escapes.

    Control characters such as line breaks could change what a terminal shows. Zero-width characters
    and characters that change the writing direction could mislead readers.

    Args:
        text: text that may contain unprintable characters.
        kept: unprintable characters that are not escaped.
    """
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() or char in kept else char.encode("unicode_escape").decode()
        for char in text
    )


def shorten(text: str, longest: int) -> str:
    """Return text; if it has more than ``longest`` characters, ``...`` replaces its middle."""
    if len(text) <= longest:
        return text
    tail = longest // 5
    return f"{text[: longest - tail - 3]}...{text[-tail:]}"


def clean_message(text: str) -> str:
    """Return a message on one line.

    Unprintable characters are escaped, and long quoted strings and words are shortened.
    """
    echoes_shortened = _LONG_ECHO.sub(lambda echo: shorten(echo.group(), _MAX_ECHO), escape(text))
    return shorten(echoes_shortened, _MAX_LENGTH)


class NetworkWarning(UserWarning):
    """A warning about a network that is being read, for example about merged parallel links."""


class StarcastError(Exception):
    """Base class of all errors that starcast raises on purpose.

    Args:
        message: one sentence that says what is wrong, and with which value.
        hint: advice to the user about the error.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        self.message = clean_message(message)
        self.hint = shorten(escape(hint), 2 * _MAX_LENGTH)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InputError(StarcastError):
    """Invalid input, such as a name, a value or a file: correct the input."""

    exit_code = 2


class NotFoundError(StarcastError):
    """A name is valid, but nothing is stored under it: ingest the artifact, or list the names."""

    exit_code = 3


class UnavailableError(StarcastError):
    """A server or a package is not available: start the server, or install the package."""

    exit_code = 4


class BusyError(StarcastError):
    """Another process holds a lock, or a server is busy: wait, then try again."""

    exit_code = 5


class RejectedError(StarcastError):
    """A check failed: a structure, a stored artifact or a schema is invalid."""

    exit_code = 6


class LimitError(StarcastError):
    """A limit was reached (time, rows, memory, disk): request less, or raise the limit."""

    exit_code = 7


class UncheckedError(StarcastError):
    """A part of a search record was not checked: generate its proof, or do not rely on the part."""

    exit_code = 8


#: Exit codes of the command line and their meaning; `docs/commands.md` prints this table.
EXIT_CODES: dict[int, str] = {
    0: "success",
    1: "internal error: a defect of starcast, please report it",
    2: "invalid input: a name, a value, a file or an option",
    3: "not found: nothing is stored under that name",
    4: "unavailable: a server cannot be reached or refuses the login, or a package is missing",
    5: "busy: another process holds a lock, or a server is busy",
    6: "rejected: a check failed (a structure, a stored artifact, a schema, the doctor)",
    7: "limit reached: time, rows, memory or disk",
    8: "not checked: nothing is wrong, but a part of a record was not or cannot be checked",
    130: "interrupted with Ctrl-C",
    141: "the program that reads the output has closed the pipe, as `head` does",
}


def unreadable(
    file: object, error: OSError, hint: str = "check path and permissions"
) -> InputError:
    """Return the error for a file that the operating system cannot open or read.

    Args:
        file: the path or a description of the file, for the message.
        error: the operating system's error.
        hint: advice to the user.
    """
    return InputError(f"{file} cannot be read: {error.strerror or error}", hint=hint)


def unwritable(file: object, error: OSError, hint: str = "") -> StarcastError:
    """Return the error for a file or folder that the operating system cannot write.

    The error is a LimitError if the disk is full, otherwise an InputError.

    Args:
        file: the path, for the message.
        error: the operating system's error.
        hint: advice to the user; by default, it depends on the error.
    """
    message = f"{file} cannot be written: {(error.strerror or str(error)).lower()}"
    if is_disk_full(error):
        return LimitError(message, hint=hint or "free some space, or write elsewhere")
    return InputError(message, hint=hint or "check the folder, the permissions and the disk")


@contextmanager
def errors_in(place: str | Path) -> Iterator[None]:
    """Prefix the message of every starcast error in the context with a place, such as a file name.

    Example:
        >>> with errors_in("grid 2"):
        ...     raise InputError("'message_bytes' is empty", hint="specify a value")
        Traceback (most recent call last):
            ...
        starcast.support.errors.InputError: grid 2: 'message_bytes' is empty (specify a value)
    """
    try:
        yield
    except StarcastError as error:
        raise type(error)(f"{place}: {error.message}", hint=error.hint) from None


def is_disk_full(error: BaseException) -> bool:
    """Return whether an error means that a disk or quota is full, or that a file is too large."""
    return isinstance(error, OSError) and error.errno in _DISK_FULL


def only_one_of(hint: str = "remove one of them", /, **options: object) -> None:
    """Check that at most one of several options is given.

    Args:
        hint: advice to the user if several are given.
        options: the options by name. An option is given if its value is neither None nor False.

    Raises:
        InputError: more than one option is given.
    """
    given = [name for name, value in options.items() if value is not None and value is not False]
    if len(given) > 1:
        raise InputError(f"`{given[0]}` and `{given[1]}` cannot be combined", hint=hint)


def check_parameters(owner: str, names: Iterable[str], known: Collection[str]) -> None:
    """Check that parameters with the given names exist.

    Without this check, a parameter with a misspelled name would be ignored silently.

    Args:
        owner: a noun phrase for the owner of the parameters: ``the tool simulate_schedule``.
        names: the names of the given parameters.
        known: the names of all parameters.

    Raises:
        InputError: no parameter has one of the names.
    """
    for name in names:
        if name not in known:
            choice = f"use only {', '.join(known)}" if known else "omit it"
            raise InputError(
                f"{owner} has no parameter '{name}'", hint=f"{did_you_mean(name, known)}{choice}"
            )
