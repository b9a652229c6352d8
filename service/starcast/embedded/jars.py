"""Neo4j's jars, pinned by a lock file, verified, and downloaded once for all homes of a machine.

``jars.lock`` lists every file with its size and SHA-256; `starcast.embedded.lockfile` writes it. A
jar gets its final name only after its checksum has been verified. So an interrupted download
resumes with the missing files, and a complete set needs no network. Every start verifies all
checksums again, which takes about a tenth of a second.
"""

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starcast.embedded import files, packages
from starcast.support.errors import RejectedError, StarcastError, UnavailableError
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
    """The jars listed in a lock file, and the cache folder that holds them."""

    jars: tuple[Jar, ...]
    folder: Path
    version: str = NEO4J_VERSION
    title: str = "Neo4j"

    @classmethod
    def from_lock(
        cls,
        cache: Path,
        lock: Path = LOCK,
        version: str = NEO4J_VERSION,
        title: str = "Neo4j",
    ) -> "JarSet":
        """Return the jars of a lock file, which have a folder of their own in the cache."""
        text = lock.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line and not line.startswith("#")]
        digest = hashlib.sha256(text.encode()).hexdigest()[:8]
        name = title.lower().replace(" ", "-")
        folder = cache / f"{name}-{version}-{digest}"
        return cls(tuple(map(Jar.from_line, lines)), folder, version, title)

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
                    self._download(mirror, reporter)
            self.verify()

    def _download(self, mirror: str | None, reporter: Reporter) -> None:
        missing = self.missing()
        if not missing:  # another process has downloaded them meanwhile
            return
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
    if isinstance(error, StarcastError) or files.is_disk_full(error):
        return error
    reason = str(error)
    if not isinstance(error, ValueError):
        reason = _REASONS.get(type(error).__name__, reason)
    return UnavailableError(
        f"{pluralize(missing, 'file')} of Neo4j could not be downloaded, among them {jar.name}: "
        f"{reason}",
        hint="check the network, or name a mirror in STARCAST_MAVEN_REPOSITORY; 'starcast up' "
        "resumes the download",
    )


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
