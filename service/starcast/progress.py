"""Progress reporting."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Task(Protocol):
    """A piece of work with a known total."""

    def advance(self, amount: int = 1) -> None:
        """Add an amount to the work done."""


class Reporter(Protocol):
    """A receiver of messages and progress, such as the terminal or a log."""

    def say(self, text: str) -> None:
        """Report a step that begins or has ended, in one line."""

    def task(self, text: str, total: int, unit: str = "") -> AbstractContextManager[Task]:
        """Begin a task of ``total`` units, which ends with the context."""


class _SilentTask:
    def advance(self, amount: int = 1) -> None:
        pass


class Silent:
    """A `Reporter` that discards everything."""

    def say(self, text: str) -> None:
        """Discard the message."""

    @contextmanager
    def task(self, text: str, total: int, unit: str = "") -> Iterator[Task]:  # noqa: ARG002 - as in Reporter
        """Return a task that discards its progress."""
        yield _SilentTask()
