"""Reporters that record the progress of work, or interrupt it."""

from collections.abc import Callable, Iterator
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
        """Add to the progress."""
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


class Countdown(Silent):
    """A progress reporter that calls a function when its tasks advance for the n-th time."""

    def __init__(self, advances: int, end: Callable[[], object]) -> None:
        self.left, self.end = advances, end

    @contextmanager
    def task(self, text: str, total: int, unit: str = "") -> Iterator[Task]:
        """Yield this reporter as the task."""
        del text, total, unit
        yield self

    def advance(self, amount: int = 1) -> None:
        """Call the function if this is the n-th advance."""
        del amount
        self.left -= 1
        if self.left == 0:
            self.end()
