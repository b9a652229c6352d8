"""The home folder of an embedded stack: its paths, passwords, locks and servers.

::

    stack.lock    held while a process starts, stops or rebuilds servers; names the process's task
    rebuild.lock  held while Neo4j changes from one data directory to another
    stack.json    the running servers: process id, start time, port
    secrets/      one file per password, mode 600
    logs/         output of the servers
    neo4j/        Neo4j's home: conf, logs, and its data (see `starcast.embedded.neo4j`)
    postgres/     PostgreSQL's data
    backups/      backups of PostgreSQL's tables, made before an upgrade or a restore
"""

import hashlib
import json
import os
import secrets
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import psutil

from starcast.embedded import system
from starcast.stores import Role
from starcast.support.atomic import write_text
from starcast.support.errors import UnavailableError, unreadable
from starcast.support.progress import Reporter
from starcast.support.text import describe_activity

if TYPE_CHECKING:
    from starcast.support.settings import Settings

#: The names of the servers in messages, keyed by the short names that are used in file names.
TITLES = {"neo4j": "Neo4j", "postgres": "PostgreSQL"}
GRAPH_USER = "neo4j"
STORE_DATABASE = "starcast"
#: Name of the file in a cache folder that lists the homes whose servers use the folder.
HOMES = "homes"


def read_secret(file: Path) -> str:
    """Return the password in a file.

    Raises:
        UnavailableError: the file cannot be read, or is not valid UTF-8.
    """
    try:
        return file.read_text(encoding="utf-8-sig").strip()
    except OSError as error:
        described = unreadable(f"the password file {file}", error)
        raise UnavailableError(described.message, described.hint) from None
    except UnicodeDecodeError:
        raise UnavailableError(
            f"the password file {file} is not valid UTF-8", hint="convert the file to UTF-8"
        ) from None


@dataclass(frozen=True)
class ServerProcess:
    """The process of a started server.

    Attributes:
        pid: the process id of the server.
        started: the start time of the process, in seconds since the epoch.
        port: the server's port on 127.0.0.1.
    """

    pid: int
    started: float
    port: int

    def is_alive(self, marker: str) -> bool:
        """Return whether the process is running; False if another process now has its id.

        The start time of the process is not compared: it changes when the clock is corrected.

        Args:
            marker: the command-line argument that identifies the server's process.
        """
        with suppress(psutil.Error):
            return system.is_match(psutil.Process(self.pid), system.has_argument(marker))
        return False


class Home:
    """The home folder of an embedded stack.

    Attributes:
        root: the folder, without symbolic links in its path.
        logs: the folder for the output of the servers.
        neo4j: Neo4j's home folder.
        postgres: the parent of PostgreSQL's data folder.
        lock_file: the file that the method `locked` locks.
        rebuild_lock: the file that a process locks while it changes Neo4j's data directory.
        cluster: PostgreSQL's cluster name, which appears in the title of each PostgreSQL process.
        markers: for each server, the command-line argument that identifies its process.
    """

    def __init__(self, root: Path) -> None:
        # Links are resolved, because a server is recognized by this path, or by the path's hash, in
        # the server's command line.
        self.root = root.resolve()
        self.logs = self.root / "logs"
        self.neo4j = self.root / "neo4j"
        self.postgres = self.root / "postgres"
        self.lock_file = self.root / "stack.lock"
        self.rebuild_lock = self.root / "rebuild.lock"
        self._secrets = self.root / "secrets"
        self._state_file = self.root / "stack.json"
        # PostgreSQL limits the name of a cluster to 63 ASCII characters, so the name contains a
        # hash of the path instead of the path.
        self.cluster = f"starcast-{hashlib.sha256(os.fsencode(self.root)).hexdigest()[:12]}"
        # The markers are arguments, because other users can read the arguments of a process, but
        # not its working directory.
        self.markers = {
            "neo4j": f"-Dstarcast.home={self.neo4j}",
            "postgres": f"--cluster_name={self.cluster}",
        }

    def create(self) -> None:
        """Create the folders of the home, which only their owner can access.

        Raises:
            LimitError: the disk is full.
            UnavailableError: a folder cannot be created, or the home belongs to another user or is
                writable by other users.
        """
        with system.translate_os_errors(self.root):
            self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
            for folder in (self.logs, self.neo4j, self.postgres, self._secrets):
                folder.mkdir(mode=0o700, exist_ok=True)
        self._require_private()

    def enter_list(self, cache: Path) -> None:
        """Add this home to the list of homes in the cache folder; `find_others` reads the list."""
        with suppress(OSError):  # the servers start even if the cache cannot be written
            cache.mkdir(parents=True, exist_ok=True)
            homes = sorted(map(str, [self.root, *self.find_others(cache)]))
            write_text(cache / HOMES, "".join(f"{home}\n" for home in homes))

    def find_others(self, cache: Path) -> list[Path]:
        """Return the other homes listed in a cache folder, except those that no longer exist."""
        try:
            listed = (cache / HOMES).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            return []
        others = [Path(line) for line in listed if line != str(self.root)]
        return [each for each in others if _may_exist(each / "stack.lock")]

    def backup_file(self, name: str) -> Path:
        """Return the path of a new backup file, named after ``name`` and the time.

        Raises:
            LimitError: the disk is full.
            UnavailableError: the folder ``backups`` cannot be created.
        """
        folder = self.root / "backups"
        with system.translate_os_errors(self.root):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        # The name includes microseconds, because two restores within a second must not write to the
        # same file.
        return folder / f"{name}-{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}.backup"

    def _require_private(self) -> None:
        """Raise an error if another user could have replaced the home's passwords or data."""
        system.require_private(self.root)
        system.require_private(self._secrets)

    @contextmanager
    def locked(self, reporter: Reporter, task: str) -> Iterator[None]:
        """Hold the lock for starting, stopping and rebuilding servers.

        Args:
            reporter: reports the task of another process if this process has to wait for it.
            task: the activity of this process, such as ``stopping the embedded stack``.

        Raises:
            LimitError: the disk became full while the lock was held.
            UnavailableError: another operating system error occurred while the lock was held.
        """

        def waiting() -> None:
            reporter.say(f"waiting: {self.activity} in {self.root}")

        with (
            system.translate_os_errors(self.root),
            system.exclusive_lock(self.lock_file, waiting, task),
        ):
            yield

    @property
    def activity(self) -> str:
        """The task of the process that holds the home's lock, and its duration so far, as text."""
        task, seconds = system.read_lock_holder(self.lock_file)
        return describe_activity(task or "changing the embedded stack", seconds)

    @property
    def is_rebuilding(self) -> bool:
        """Whether Neo4j is being switched to a newly imported data directory."""
        with system.translate_os_errors(self.root):
            return system.is_locked(self.rebuild_lock)

    def ensure_password(self, name: str, data: Path | None = None, hint: str = "") -> str:
        """Return the password in the password file with the given name.

        A missing file is created, unless the data that the password protects already exist.

        Args:
            name: the name of the password file.
            data: path of the data that the password protects; None if it protects no data.
            hint: the hint of the error, if the file is missing and the data exist.

        Raises:
            UnavailableError: the data exist, but the password file is missing; or the file cannot
                be read or is not safe (see `password`).
        """
        file = self.password_file(name)
        if not file.exists():
            if data is not None and data.exists():
                raise UnavailableError(
                    f"the password file {file} is missing, but the data in {data} exist",
                    hint=hint,
                )
            write_text(file, secrets.token_urlsafe(24) + "\n", mode=0o600)
        return self.password(name)

    def password(self, name: str) -> str:
        """Return the password in the password file with the given name.

        Raises:
            UnavailableError: the home or its folder ``secrets`` belongs to another user or is
                writable by other users, or the file cannot be read.
        """
        with system.translate_os_errors(self.root):
            self._require_private()
        return read_secret(self.password_file(name))

    def password_file(self, name: str) -> Path:
        """Return the path of the password file with the given name."""
        return self._secrets / name

    def role_password_file(self, role: Role) -> Path:
        """Return the path of the password file of a PostgreSQL role."""
        return self.password_file(f"postgres-{role}")

    def published(self) -> dict[str, ServerProcess]:
        """Return the servers listed in ``stack.json``, keyed by name, even if they have crashed."""
        try:
            entries = json.loads(self._state_file.read_text(encoding="utf-8"))
            return {name: ServerProcess(**entries[name]) for name in TITLES if name in entries}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def publish(self, started: dict[str, ServerProcess]) -> None:
        """Add servers to ``stack.json``, and remove listed servers that are no longer running."""
        servers = self.running() | started
        entries = {name: asdict(server) for name, server in servers.items()}
        write_text(self._state_file, json.dumps(entries, indent=2) + "\n", mode=0o600)

    def running(self) -> dict[str, ServerProcess]:
        """Return the servers listed in ``stack.json`` that are alive, keyed by name."""
        published = self.published().items()
        return {name: server for name, server in published if server.is_alive(self.markers[name])}

    def port(self, name: str) -> int:
        """Return the port of the running server with the given name.

        Raises:
            UnavailableError: the server is not running.
        """
        running = self.running()
        if name in running:
            return running[name].port
        if name == "neo4j" and self.is_rebuilding:
            raise UnavailableError(
                f"the embedded Neo4j in {self.root} is restarting on a newly imported store: "
                f"{self.activity}",
                hint="try again in a minute; 'starcast status' shows when it is running",
            )
        subject = f"the embedded {TITLES[name]}" if running else "the embedded stack"
        raise UnavailableError(f"{subject} in {self.root} is not running", hint="run 'starcast up'")


def _may_exist(path: Path) -> bool:
    """Return whether a path exists, or is in a folder that this user cannot read."""
    try:
        return path.exists()
    except PermissionError:
        return True


class UnreadableDataError(Exception):
    """An embedded server is running, but cannot open its data."""


class Server(ABC):
    """A server of the embedded stack: Neo4j or PostgreSQL.

    Attributes:
        name: the server's name in file names.
        title: the server's name in messages.
        user: the user to log in as.
        database: the database to connect to.
        stop_signal: the signal for a clean shutdown.
        greeting: bytes that a client sends first, and that the server answers without a login.
        required_mb: disk space for an empty store and a first ingest, in megabytes.
        home: the home folder of the server.
        log: the file with the server's output.
        password_file: the file with the password of ``user``.
        marker: the command-line argument that identifies the server's process.
        tolerates_damage: whether the next start may discard the end of a damaged transaction log.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    user: ClassVar[str]
    database: ClassVar[str]
    stop_signal: ClassVar[signal.Signals]
    required_mb: ClassVar[int]
    greeting: ClassVar[bytes]

    def __init__(self, home: Home) -> None:
        self.home = home
        self.log = home.logs / f"{self.name}.log"
        self.password_file = home.password_file(self.name)
        self.marker = home.markers[self.name]
        self.tolerates_damage = False

    @property
    def password(self) -> str:
        """The password of the server's user."""
        return self.home.password(self.name)

    @cached_property
    def _account(self) -> system.Account:
        return system.server_account()

    def wanted_port(self, settings: "Settings") -> int | None:
        """Return this server's port in the settings, or None if any port may be used."""
        port: int | None = getattr(settings, f"{self.name}_port")
        return port

    def refused_password(self) -> UnavailableError:
        """Return the error for a server that rejects the password stored in the home."""
        return UnavailableError(
            f"the embedded {self.title} rejects the password in {self.password_file}",
            hint=self.password_hint,
        )

    @property
    @abstractmethod
    def password_hint(self) -> str:
        """The hint for a missing or wrong password file. Following it must not destroy results."""

    @abstractmethod
    def find_processes(self) -> list[psutil.Process]:
        """Return all processes of this server, whether ``stack.json`` lists them or not."""

    @abstractmethod
    def prepare(self, settings: "Settings") -> None:
        """Create the server's folders, password and data; the server must not be running."""

    @abstractmethod
    def launch(self, settings: "Settings", port: int) -> int:
        """Start the server and return its process id, without waiting until it is ready."""

    @abstractmethod
    def is_ready(self, port: int) -> bool:
        """Set up a new server if necessary; return whether the server accepts logins on a port.

        Raises:
            UnavailableError: the server rejects the password stored in the home.
            UnreadableDataError: the server cannot open its data.
        """

    @abstractmethod
    def find_problem(self, port: int) -> str:
        """Return why the server cannot write, or an empty string if no reason is found."""
