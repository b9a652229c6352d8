"""The errors of starcast, grouped by what the user can do about them.

Every error has a message, one sentence that says what is wrong, and a ``hint`` that says what to
do. The class of an error determines the exit code of the command line.
"""

from typing import ClassVar


class StarcastError(Exception):
    """Base class of all errors that starcast raises on purpose.

    Args:
        message: what is wrong, with which value; one sentence.
        hint: what to do about it.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} ({self.hint})" if self.hint else self.message


class InputError(StarcastError):
    """Invalid input: a name, a value or a file; correct it."""

    exit_code = 2


class NotFoundError(StarcastError):
    """A valid name of something that is not stored: ingest it, or list what is stored."""

    exit_code = 3


class UnavailableError(StarcastError):
    """A server cannot be reached or refuses the login: start it, or name another server."""

    exit_code = 4


class BusyError(StarcastError):
    """Another process holds a lock: wait, then try again."""

    exit_code = 5


class RejectedError(StarcastError):
    """A check failed: a structure, a stored artifact or a schema is not valid."""

    exit_code = 6


class LimitError(StarcastError):
    """A limit was reached (time, rows, memory, disk): ask for less, or raise the limit."""

    exit_code = 7


#: Exit codes of the command line and their meaning; `docs/commands.md` prints this table.
EXIT_CODES: dict[int, str] = {
    0: "success",
    1: "internal error: a defect of starcast, please report it",
    2: "invalid input: a name, a value, a file or an option",
    3: "not found: nothing is stored under that name",
    4: "unavailable: a server is not running, cannot be reached or refuses the login",
    5: "busy: another process holds the lock",
    6: "rejected: a check failed (a structure, a stored artifact, a schema, the doctor)",
    7: "limit reached: time, rows, memory or disk",
    130: "interrupted with Ctrl-C",
}
