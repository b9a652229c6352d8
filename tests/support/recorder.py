"""A reporter that records its messages."""

from starcast.support.progress import Silent


class Recorder(Silent):
    """A reporter that records its messages in ``lines``."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str) -> None:
        """Record a message."""
        self.lines.append(line)
