"""The errors of starcast, grouped by what the user can do about them.

Every error is one sentence that says what is wrong and with what, and a ``hint`` that says what to do. The exit
code of the command line is a property of the group, so that it is decided in this one place.
"""

from typing import ClassVar


class StarcastError(Exception):
    """Something that starcast refuses or cannot do.

    Args:
        message: what is wrong, and with what; one sentence.
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
    """What was asked for cannot exist: change the words or the numbers."""

    exit_code = 2


class NotFoundError(StarcastError):
    """A well-formed name of something that is not stored: ingest it, or look at the list."""

    exit_code = 3


class UnavailableError(StarcastError):
    """A server cannot be reached, refuses the password or is not ours: start it, or point to another."""

    exit_code = 4


class BusyError(StarcastError):
    """Somebody else is at it: wait, then try again."""

    exit_code = 5


class RejectedError(StarcastError):
    """A check said no: a structure, a stored copy or a schema is not what it must be."""

    exit_code = 6


class LimitError(StarcastError):
    """A limit was met (time, rows, memory, disk): ask for less, or raise the limit."""

    exit_code = 7


#: Exit codes of the command line and what they mean; `docs/commands.md` prints this table.
EXIT_CODES: dict[int, str] = {
    0: "done",
    1: "an error in starcast itself: please report it",
    2: "bad input: a word, a number or an option that cannot be",
    3: "not found: nothing of that name is stored",
    4: "unavailable: a server is down, refuses the password or is not ours",
    5: "busy: another process holds the lock",
    6: "rejected: a check failed (a structure, a stored copy, a schema, the doctor)",
    7: "limit: time, rows, memory or disk ran out",
    130: "interrupted with Ctrl-C",
}
