"""Check that a command has a documented exit code and, if it fails, a one-line error."""

import re
from dataclasses import dataclass

from starcast.support.errors import EXIT_CODES
from starcast.support.text import pluralize

#: The return value of an action: description, result, and violated invariants.
Outcome = tuple[str, str, list[str]]
#: Maximum lengths of an error line and a hint line, which may quote a path or a value.
_MAX_LENGTH = {"error": 1_100, "hint": 2_100}
_TRACES = ("Traceback (most recent call last)", "Exception ignored in", "resource_tracker:")
_INTERNAL = 1


@dataclass(frozen=True)
class Done:
    """A command that has ended; ``code`` is None if it was still running at its deadline."""

    words: tuple[str, ...]
    code: int | None
    out: str
    err: str

    @property
    def result(self) -> str:
        """The result as text, such as ``exit 0``, or ``hangs``."""
        return "hangs" if self.code is None else f"exit {self.code}"


def find_problems(done: Done, *, signals: frozenset[int] = frozenset()) -> list[str]:
    """Return the problems with the exit code and the output of a command.

    Args:
        done: the command.
        signals: the signals that were sent to the command, which may have ended it.
    """
    if done.code is None:
        return ["the command was still running at its deadline"]
    if -done.code in signals and not _has_trace(done):
        return []
    problems = []
    if done.code not in EXIT_CODES:
        problems.append(f"the exit code {done.code} is not documented: {_last_line(done.err)}")
    if done.code == _INTERNAL:
        problems.append(f"the command reports an internal error: {_last_line(done.err)}")
    if _has_trace(done):
        problems.append(f"the command prints a traceback: {_last_line(done.err)}")
    if 1 < done.code < 8:
        problems += _check_message(done.err)
    return problems


def _has_trace(done: Done) -> bool:
    return any(trace in text for trace in _TRACES for text in (done.out, done.err))


def _check_message(err: str) -> list[str]:
    """Return the problems of an error, which must be one printable line with a hint."""
    # Typer writes the errors about invalid options and arguments, in its own format.
    if "Usage:" in err or err.startswith("Error: "):
        return []
    lines = err.splitlines()
    errors = [line for line in lines if line.startswith("error: ")]
    hints = [line for line in lines if line.startswith("hint: ")]
    problems = []
    if len(errors) != 1 or len(hints) != 1:
        counts = f"{pluralize(len(errors), 'error')} and {pluralize(len(hints), 'hint')}"
        problems.append(f"{counts}: {_last_line(err)}")
    for line in errors + hints:
        if len(line) > _MAX_LENGTH[line.partition(":")[0]]:
            problems.append(f"a message of {len(line)} characters: {line[:80]}")
        if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", line):
            problems.append(f"a message with control characters: {line[:80]!a}")
    return problems


def _last_line(text: str) -> str:
    return ascii(next(reversed(text.strip().splitlines()), "")[:300])
