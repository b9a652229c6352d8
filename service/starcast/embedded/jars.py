"""Neo4j's jars: exactly those of the lock file, each verified, fetched once for all homes of this machine.

``jars.lock`` names every file with its size and SHA-256; `starcast.embedded.lockfile` makes it. A set lies in one folder of
the cache, complete or still growing: a file gets its name only after its sum was right, so a broken fetch resumes
with what is missing, and nothing is asked of the network once the set is marked complete.
"""

import hashlib
import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starcast.embedded import files, packages
from starcast.errors import StarcastError, UnavailableError
from starcast.progress import Reporter
from starcast.support.atomic import write_text

#: The one place that pins Neo4j's version; the lock file, compose and the documents agree with it (tested).
NEO4J_VERSION = "2026.08.1"
LOCK = Path(__file__).with_name("jars.lock")

_THREADS = 16
_ATTEMPTS = 3
#: Seconds before the second attempt; twice that before the third.
_PAUSE = 1.0
#: In words what requests and jgo say at length.
_REASONS = {
    "ConnectionError": "the repository cannot be reached",
    "SSLError": "the repository's certificate is not trusted",
    "ConnectTimeout": "the repository does not answer",
    "ReadTimeout": "the repository does not answer",
    "ChunkedEncodingError": "the connection broke off",
    "RuntimeError": "the repository does not have it",
}


@dataclass(frozen=True)
class Jar:
    """One file of the lock: its Maven coordinate, SHA-256 and size in bytes."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str
    size: int

    @property
    def name(self) -> str:
        """Its file name."""
        return "-".join(filter(None, (self.artifact, self.version, self.classifier))) + ".jar"


@dataclass(frozen=True)
class JarSet:
    """The jars of a lock file, where a cache keeps them, and the version of Neo4j that they are."""

    jars: tuple[Jar, ...]
    folder: Path
    version: str = NEO4J_VERSION

    @classmethod
    def of(cls, cache: Path, lock: Path = LOCK, version: str = NEO4J_VERSION) -> "JarSet":
        """The set of a lock file below a cache folder; another lock is another folder."""
        text = lock.read_text(encoding="utf-8")
        rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
        jars = tuple(_jar(*row) for row in rows)
        return cls(
            jars,
            cache / f"neo4j-{version}-{hashlib.sha256(text.encode()).hexdigest()[:8]}",
            version,
        )

    @property
    def class_path(self) -> str:
        """For ``java -cp``."""
        return f"{self.folder / 'jars'}/*"

    @property
    def bytes(self) -> int:
        """Size of the whole set."""
        return sum(jar.size for jar in self.jars)

    def is_complete(self) -> bool:
        """Whether every file was verified once and is still there in its size."""
        return self._mark.exists() and all(self._has(jar) for jar in self.jars)

    def fetch(self, mirror: str | None, reporter: Reporter) -> None:
        """Fetch and verify what is missing, from the Maven repository ``mirror`` or the default one.

        Raises:
            UnavailableError: a file could not be fetched, or is not the one of the lock.
            LimitError: the disk is too small.
        """
        if self.is_complete():
            return
        with files.writing(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            (self.folder / "jars").mkdir(exist_ok=True)
            with files.exclusive(
                self.folder / "lock", lambda: reporter.say("another process fetches Neo4j: waiting")
            ):
                if not self.is_complete():
                    self._fetch(mirror, reporter)

    def _fetch(self, mirror: str | None, reporter: Reporter) -> None:
        self._mark.unlink(missing_ok=True)
        shutil.rmtree(self._partial, ignore_errors=True)
        missing = [
            jar for jar in self.jars if not self._has(jar) or _sum(self._path(jar)) != jar.sha256
        ]
        left = sum(jar.size for jar in missing)
        files.need_space(self.folder, left // files.MB + 50, "Neo4j's program")
        reporter.say(
            f"fetching Neo4j {self.version}: {len(missing)} of {len(self.jars)} files, {left / files.MB:.0f} MB"
        )
        try:
            with reporter.task(f"Neo4j {self.version}", left, "bytes") as task:
                _Fetch(self._partial, mirror, task.advance).run(
                    {jar: self._path(jar) for jar in missing}
                )
        finally:
            shutil.rmtree(self._partial, ignore_errors=True)
        write_text(self._mark, "every file was verified\n")

    @property
    def _mark(self) -> Path:
        return self.folder / "complete"

    @property
    def _partial(self) -> Path:
        return self.folder / "partial"

    def _path(self, jar: Jar) -> Path:
        return self.folder / "jars" / jar.name

    def _has(self, jar: Jar) -> bool:
        path = self._path(jar)
        return path.is_file() and path.stat().st_size == jar.size


class _Fetch:
    """One run of the fetching threads; the first failure stops all of them."""

    def __init__(self, partial: Path, mirror: str | None, advance: Callable[[int], None]) -> None:
        maven: Any = packages.load("jgo.maven")
        # jgo knows where Maven's central repository is; a mirror takes its place.
        repositories = {} if mirror is None else {"remote_repos": {"mirror": mirror.rstrip("/")}}
        resolver = maven.PythonResolver(progress_callback=self._progress)
        self._maven = maven.MavenContext(
            resolver=resolver, repo_cache=partial, timeout=30, **repositories
        )
        self._advance = advance
        self._stopped = threading.Event()

    def run(self, wanted: dict[Jar, Path]) -> None:
        pool = ThreadPoolExecutor(_THREADS)
        try:
            futures = {pool.submit(self._fetch, jar, path): jar for jar, path in wanted.items()}
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            self._stopped.set()
            pool.shutdown(cancel_futures=True)
        for future in done:
            if (error := future.exception()) is not None:
                missing = sum(not path.exists() for path in wanted.values())
                raise _failure(error, futures[future], missing)

    def _fetch(self, jar: Jar, path: Path) -> None:
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                return self._fetch_once(jar, path)
            except (OSError, RuntimeError, ValueError) as error:
                if (
                    attempt == _ATTEMPTS
                    or self._stopped.wait(attempt * _PAUSE)
                    or files.says_full(error)
                ):
                    raise
        return None

    def _fetch_once(self, jar: Jar, path: Path) -> None:
        component = self._maven.project(jar.group, jar.artifact).at_version(jar.version)
        artifact = component.artifact(classifier=jar.classifier, packaging="jar")
        artifact.cached_path.unlink(missing_ok=True)
        fetched: Path = artifact.resolve()
        if _sum(fetched) != jar.sha256:
            self._advance(-fetched.stat().st_size)
            raise ValueError("its SHA-256 is not that of the lock file")
        fetched.replace(path)

    @contextmanager
    def _progress(self, _name: str, _size: int) -> Iterator[Callable[[int], None]]:
        received = 0

        def count(amount: int) -> None:
            nonlocal received
            if self._stopped.is_set():
                raise RuntimeError("another file failed")
            received += amount
            self._advance(amount)

        try:
            yield count
        except BaseException:
            self._advance(-received)
            raise


def _failure(error: BaseException, jar: Jar, missing: int) -> BaseException:
    if isinstance(error, StarcastError) or files.says_full(error):
        return error
    reason = (
        str(error)
        if isinstance(error, ValueError)
        else _REASONS.get(type(error).__name__, str(error))
    )
    return UnavailableError(
        f"{missing} files of Neo4j could not be fetched, {jar.name} for one: {reason}",
        hint="check the network, or name a mirror in STARCAST_MAVEN_REPOSITORY; 'starcast up' goes on where it broke off",
    )


def _sum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _jar(sha256: str, size: str, coordinate: str) -> Jar:
    group, artifact, version, *classifier = coordinate.split(":")
    return Jar(group, artifact, version, "".join(classifier), sha256, int(size))
