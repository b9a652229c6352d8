"""The home of one embedded stack: where its files lie, its passwords, and what it has published about its servers.

::

    stack.lock    held by whoever starts, stops or rebuilds the servers
    rebuild.lock  held while Neo4j changes from one data directory to another
    stack.json    which servers run: process, when it started, port
    secrets/      one password a file, mode 600
    logs/         what the servers print
    neo4j/        Neo4j's home: conf, logs, and its data (see `directories`)
    postgres/     PostgreSQL's data
"""

import json
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from starcast.embedded import files
from starcast.errors import UnavailableError
from starcast.progress import Reporter
from starcast.support.atomic import write_text


@dataclass(frozen=True)
class Running:
    """A server as it was started: its process, when that began (seconds since the epoch), its port on 127.0.0.1."""

    pid: int
    started: float
    port: int


@dataclass(frozen=True)
class Home:
    """One folder with one embedded stack."""

    root: Path

    @property
    def logs(self) -> Path:
        """What the servers print."""
        return self.root / "logs"

    @property
    def neo4j(self) -> Path:
        """Neo4j's own home."""
        return self.root / "neo4j"

    @property
    def postgres(self) -> Path:
        """The folder that holds PostgreSQL's data folder."""
        return self.root / "postgres"

    @property
    def _state(self) -> Path:
        return self.root / "stack.json"

    def create(self) -> None:
        """Make the folders; those with secrets are for their owner only."""
        self.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        for folder in (self.logs, self.neo4j, self.postgres, self.root / "secrets"):
            folder.mkdir(mode=0o700, exist_ok=True)

    @contextmanager
    def locked(self, reporter: Reporter) -> Iterator[None]:
        """Be the only one who starts, stops or rebuilds servers here."""
        waits = f"another process starts, stops or rebuilds the embedded stack in {self.root}: waiting for it"
        with files.exclusive(self.root / "stack.lock", lambda: reporter.say(waits)):
            yield

    @contextmanager
    def rebuilding(self) -> Iterator[None]:
        """Let everybody know that Neo4j is away for a while; it is known no longer when this process ends."""
        with files.exclusive(self._rebuild_lock, lambda: None):
            yield

    @property
    def is_rebuilt(self) -> bool:
        """Whether somebody is at that."""
        return files.is_taken(self._rebuild_lock)

    @property
    def _rebuild_lock(self) -> Path:
        return self.root / "rebuild.lock"

    def secret(self, name: str, data: Path) -> str:
        """The password of a server; made up when ``data``, which it opens, does not exist yet.

        Raises:
            UnavailableError: there is data, but its password is gone.
        """
        file = self.password_file(name)
        if not file.exists():
            if data.exists():
                raise UnavailableError(
                    f"the password file {file} is missing, and the data in {data} was made with it",
                    hint=f"restore the file, or delete {self.root} and run 'starcast up' and your ingests again",
                )
            write_text(file, secrets.token_urlsafe(24) + "\n", mode=0o600)
        return self.password(name)

    def password(self, name: str) -> str:
        """The stored password of a server."""
        return self.password_file(name).read_text(encoding="utf-8").strip()

    def password_file(self, name: str) -> Path:
        """Where the password of a server is kept."""
        return self.root / "secrets" / name

    def published(self) -> dict[str, Running]:
        """What is written about the servers by name; it may be out of date after a crash."""
        try:
            entries = json.loads(self._state.read_text(encoding="utf-8"))
            return {name: Running(**entry) for name, entry in entries.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}

    def publish(self, servers: dict[str, Running]) -> None:
        """Write what runs, for everybody who asks."""
        entries = {name: asdict(server) for name, server in servers.items()}
        write_text(self._state, json.dumps(entries, indent=2) + "\n", mode=0o600)
