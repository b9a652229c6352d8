"""The interface that the lifecycle of the embedded servers uses."""

import signal
from abc import ABC, abstractmethod
from pathlib import Path
from typing import ClassVar

import psutil

from starcast.embedded.home import Home
from starcast.settings import Settings


class PasswordRefusedError(Exception):
    """A server is up, but refuses the password of its home."""


class UnreadableDataError(Exception):
    """A server is up, but cannot open its data."""


class Server(ABC):
    """One server of one home.

    Attributes:
        name: its name in file names.
        title: its name in messages.
        user: the user to log in as.
        database: the database to connect to.
        stop_signal: the signal that makes it shut down cleanly.
        port_setting: the setting that chooses its port.
        greeting: the first bytes that a client sends; the server answers without a login.
        required_mb: disk space for its empty data and a first ingest, in megabytes.
        logs: the log files to search after a failed start, the most important first.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    user: ClassVar[str]
    database: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]
    required_mb: ClassVar[int]
    port_setting: ClassVar[str]
    greeting: ClassVar[bytes]

    def __init__(self, home: Home) -> None:
        self.home = home
        self.logs: tuple[Path, ...] = (home.logs / f"{self.name}.log",)

    @property
    def password_file(self) -> Path:
        """The file with the password of its user."""
        return self.home.password_file(self.name)

    @property
    def password(self) -> str:
        """The password of its user."""
        return self.home.password(self.name)

    @property
    def marker(self) -> str:
        """The command-line argument that identifies its process."""
        return self.home.marker(self.name)

    @abstractmethod
    def find_processes(self) -> list[psutil.Process]:
        """Return all its processes, published or not."""

    @abstractmethod
    def prepare(self, settings: Settings) -> None:
        """Create its folders, password and data; the server must not be running."""

    @abstractmethod
    def launch(self, settings: Settings, port: int) -> int:
        """Start its process and return the process id, without waiting until it is ready."""

    @abstractmethod
    def is_ready(self, port: int) -> bool:
        """Return whether it accepts logins on a port, after finishing its first-time set-up.

        Raises:
            PasswordRefusedError: it refuses the password of the home.
            UnreadableDataError: it cannot open its data.
        """

    def tolerate_damage(self) -> bool:
        """Have the next start open damaged data; return whether the server can do that."""
        return False
