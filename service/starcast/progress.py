"""How long work says how far it is, without knowing a terminal."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol


class Task(Protocol):
    """One piece of work with a known total."""

    def advance(self, amount: int = 1) -> None:
        """Say that so much more is done."""


class Reporter(Protocol):
    """Whoever listens: the terminal, a log, nobody."""

    def say(self, text: str) -> None:
        """Tell one finished or beginning step in one line."""

    def task(self, text: str, total: int, unit: str = "") -> AbstractContextManager[Task]:
        """Begin a piece of work of ``total`` units; it ends with the context."""


class _Nothing:
    def advance(self, amount: int = 1) -> None:
        pass


class Silent:
    """A `Reporter` that tells nobody."""

    def say(self, text: str) -> None:
        """Tell nobody."""

    @contextmanager
    def task(self, text: str, total: int, unit: str = "") -> Iterator[Task]:  # noqa: ARG002 - the protocol's names
        """A task that nobody watches."""
        yield _Nothing()
