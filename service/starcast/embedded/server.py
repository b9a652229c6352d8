"""What the embedded servers have in common."""

import signal
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import psutil

from starcast.embedded import processes
from starcast.embedded.home import Home
from starcast.settings import Settings


class Server(ABC):
    """One server of one home.

    Attributes:
        name: in files; title: in sentences.
        user: who logs in; database: and where.
        polite: the signal that asks it to end, cleanly.
        space: megabytes that its fresh data and a first ingest take.
        logs: what it writes while it starts, what is said first of all first.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    user: ClassVar[str]
    database: ClassVar[str]
    polite: ClassVar[signal.Signals]
    space: ClassVar[int]

    def __init__(self, home: Home) -> None:
        self.home = home
        self.logs: tuple[Path, ...] = (home.logs / f"{self.name}.log",)

    @property
    def password_file(self) -> Path:
        """Where its password is kept."""
        return self.home.password_file(self.name)

    @property
    def password(self) -> str:
        """The password of its user."""
        return self.home.password(self.name)

    @property
    @abstractmethod
    def mark(self) -> str:
        """The word in its command line that no other process has."""

    def marks(self, process: psutil.Process) -> bool:
        """Whether a process is this server."""
        return self.mark in process.cmdline()

    def leftovers(self) -> list[psutil.Process]:
        """Its processes, published or not."""
        return processes.search(self.marks)

    @abstractmethod
    def prepare(self, settings: Settings) -> None:
        """Make what a start needs besides a port, whole or not at all; nobody runs meanwhile."""

    @abstractmethod
    def launch(self, settings: Settings, port: int) -> int:
        """Start it on a port; returns its process number long before it is ready."""
