"""A reporter that records its messages and the progress of its tasks."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from starcast.support.progress import Silent, Task


@dataclass
class RecordedTask:
    """A task and its progress."""

    text: str
    total: int
    unit: str
    done: int = 0

    def advance(self, amount: int = 1) -> None:
        """Add an amount to the progress."""
        self.done += amount


class Recorder(Silent):
    """A reporter that records its messages in ``lines``, and its tasks in ``tasks``."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.tasks: list[RecordedTask] = []

    def say(self, line: str) -> None:
        """Record a message."""
        self.lines.append(line)

    @contextmanager
    def task(self, text: str, total: int, unit: str = "") -> Iterator[Task]:
        """Record a task."""
        self.tasks.append(RecordedTask(text, total, unit))
        yield self.tasks[-1]
