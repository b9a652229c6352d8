"""Downloads of jars from a Maven repository with three files on the loopback interface."""

import hashlib
import os
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import Mock

import pytest
from tools import lockfile

from starcast.embedded import programs, system
from starcast.embedded.programs import JarSet
from starcast.support.errors import LimitError, RejectedError, UnavailableError
from starcast.support.progress import Silent, Task
from support.recorder import Recorder

#: A URL on which no server listens.
UNUSED = f"http://{system.LOOPBACK}:1"
CONTENT = {"alpha": b"a" * 40_000, "beta": b"b" * 30_000, "gamma": b"c" * 20_000}


@dataclass
class Mirror:
    """A Maven repository: its files by path, and the number of requests for each jar."""

    url: str
    served: dict[str, bytes]
    asked: Counter[str] = field(default_factory=Counter)


class Counting(Recorder):
    """A progress reporter that counts the downloaded bytes and records the messages."""

    def __init__(self) -> None:
        super().__init__()
        self.totals: list[int] = []
        self.done = 0

    @contextmanager
    def task(self, text: str, total: int, unit: str = "") -> Iterator[Task]:
        """Record the total of the download task and return this reporter as the task."""
        assert (text, unit) == (f"Neo4j {programs.NEO4J_VERSION}", "bytes")
        self.totals.append(total)
        yield self

    def advance(self, amount: int = 1) -> None:
        """Add bytes to the count."""
        self.done += amount


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    """A repository that serves all three jars, which tests may change."""
    served = {
        f"/org/example/{name}/1.0/{name}-1.0.jar": content for name, content in CONTENT.items()
    }
    repository = Mirror("", served)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            repository.asked[Path(self.path).name] += 1
            content = repository.served.get(self.path)
            self.send_response(404 if content is None else 200)
            self.send_header("Content-Length", str(len(content or b"")))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            pass

    with ThreadingHTTPServer((system.LOOPBACK, 0), Handler) as server:
        repository.url = f"http://{system.LOOPBACK}:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield repository
        server.shutdown()
        thread.join()


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JarSet:
    """A set of three jars to download into an empty cache, with retries without a pause."""
    monkeypatch.setattr(programs, "_PAUSE", 0.0)
    rows = [
        f"{hashlib.sha256(content).hexdigest()} {len(content)} org.example:{name}:1.0"
        for name, content in CONTENT.items()
    ]
    (tmp_path / "test.lock").write_text("\n".join(["# a comment", *rows, ""]), encoding="utf-8")
    return JarSet(tmp_path / "cache", tmp_path / "test.lock")


def stored(wanted: JarSet) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (wanted.folder / "jars").iterdir()}


def test_every_jar_is_downloaded_once_and_its_bytes_are_counted(
    mirror: Mirror, wanted: JarSet
) -> None:
    """All files are complete, the progress reaches its total, and no temporary file is left.

    A complete set of jars needs no network.
    """
    reporter = Counting()
    wanted.download(mirror.url + "/", reporter)
    assert stored(wanted) == {f"{name}-1.0.jar": content for name, content in CONTENT.items()}
    assert (reporter.totals, reporter.done) == ([90_000], 90_000)
    assert {path.name for path in wanted.folder.iterdir()} == {"jars", "lock"}
    assert all(mirror.asked[f"{name}-1.0.jar"] == 1 for name in CONTENT)
    before = mirror.asked.total()
    for url in (mirror.url, UNUSED):
        wanted.download(url, Silent())
    assert mirror.asked.total() == before


def test_a_download_after_a_failure_requests_only_the_missing_jar(
    mirror: Mirror, wanted: JarSet
) -> None:
    """The error of the first download names the missing jar and a remedy."""
    path, content = next(iter(mirror.served.items()))
    del mirror.served[path]
    with pytest.raises(
        UnavailableError, match=r"alpha-1.0.jar: the repository does not have it"
    ) as caught:
        wanted.download(mirror.url, Silent())
    assert "STARCAST_MAVEN_REPOSITORY" in caught.value.hint
    assert wanted.missing()
    assert not (wanted.folder / "partial").exists()
    kept = set(stored(wanted))
    mirror.served[path] = content
    mirror.asked.clear()
    wanted.download(mirror.url, Silent())
    assert {name for name in mirror.asked if name.endswith(".jar")} == {
        f"{name}-1.0.jar" for name in CONTENT
    } - kept
    assert not wanted.missing()


def test_a_file_with_a_wrong_checksum_is_never_installed(mirror: Mirror, wanted: JarSet) -> None:
    """A file of the same size with other content is refused, and progress does not count it."""
    path = next(path for path in mirror.served if "beta" in path)
    mirror.served[path] = b"x" * len(mirror.served[path])
    reporter = Counting()
    with pytest.raises(
        UnavailableError, match=r"beta-1.0.jar: its SHA-256 differs from the lock file"
    ):
        wanted.download(mirror.url, reporter)
    assert "beta-1.0.jar" not in stored(wanted)
    assert reporter.done == sum(map(len, stored(wanted).values())) <= 60_000


@pytest.mark.parametrize("damage", [Path.unlink, lambda jar: jar.write_bytes(b"short")])
def test_a_missing_or_truncated_jar_is_downloaded_again(
    mirror: Mirror, wanted: JarSet, damage: Callable[[Path], object]
) -> None:
    """The jars that are complete are not downloaded again."""
    wanted.download(mirror.url, Silent())
    damage(wanted.folder / "jars" / "alpha-1.0.jar")
    mirror.asked.clear()
    assert wanted.missing()
    wanted.download(mirror.url, Silent())
    assert stored(wanted)["alpha-1.0.jar"] == CONTENT["alpha"]
    assert mirror.asked["beta-1.0.jar"] == 0


def test_a_changed_jar_of_the_same_size_is_refused(mirror: Mirror, wanted: JarSet) -> None:
    """Only the checksum shows the change. The error names the jar, and nothing is downloaded."""
    wanted.download(mirror.url, Silent())
    jar = wanted.folder / "jars" / "beta-1.0.jar"
    times = jar.stat()
    jar.write_bytes(b"x" * jar.stat().st_size)
    os.utime(jar, ns=(times.st_atime_ns, times.st_mtime_ns))
    before = mirror.asked.total()
    assert not wanted.missing()
    with pytest.raises(
        RejectedError, match=r"^1 jar in .*/jars changed .*: beta-1.0.jar "
    ) as caught:
        wanted.download(mirror.url, Silent())
    assert f"delete {wanted.folder}" in caught.value.hint
    assert mirror.asked.total() == before
    assert jar.read_bytes() == b"x" * times.st_size
    shutil.rmtree(wanted.folder)
    wanted.download(mirror.url, Silent())
    assert stored(wanted)["beta-1.0.jar"] == CONTENT["beta"]


def test_a_missing_network_gives_a_one_line_error(wanted: JarSet) -> None:
    """The failed download leaves no partial file."""
    with pytest.raises(
        UnavailableError, match=r"^3 files of .*: the repository cannot be reached"
    ) as caught:
        wanted.download(UNUSED, Silent())
    assert "resumes the download" in caught.value.hint
    assert "\n" not in str(caught.value)
    assert stored(wanted) == {}


def test_concurrent_downloads_fetch_each_file_once(mirror: Mirror, wanted: JarSet) -> None:
    """Both processes report that they wait for the lock.

    The later download then finds all files.
    """
    reporters = [Counting(), Counting()]
    threads = [
        threading.Thread(target=wanted.download, args=(mirror.url, reporter))
        for reporter in reporters
    ]
    wanted.folder.mkdir(parents=True)
    with system.exclusive_lock(wanted.folder / "lock", lambda: None):
        for thread in threads:
            thread.start()
        while sum(len(reporter.lines) for reporter in reporters) < 2:
            threading.Event().wait(0.01)
    for thread in threads:
        thread.join()
    assert not wanted.missing()
    assert all(mirror.asked[f"{name}-1.0.jar"] == 1 for name in CONTENT)
    assert all(
        reporter.lines[0] == "waiting: another process is downloading Neo4j"
        for reporter in reporters
    )


def test_too_little_disk_space_is_refused_before_the_download(
    mirror: Mirror, wanted: JarSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The free space is checked before the first request."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 10 * system.MB}))
    with pytest.raises(LimitError, match=r"needs 50 MB .* has 10 MB free"):
        wanted.download(mirror.url, Silent())
    assert mirror.asked.total() == 0


def test_a_full_disk_is_not_reported_as_a_network_error(
    mirror: Mirror, wanted: JarSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that gets ENOSPC does not retry the download."""
    full = Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr(programs._Download, "_fetch_once", full)
    with pytest.raises(LimitError, match=r"the disk of .* is full"):
        wanted.download(mirror.url, Silent())
    tried = [call.args[0].name for call in full.call_args_list]
    assert 0 < len(tried) == len(set(tried))


def test_different_lock_files_use_different_folders(wanted: JarSet, tmp_path: Path) -> None:
    """The jars of different lock files are never mixed on a class path."""
    (tmp_path / "other.lock").write_text("# nothing\n", encoding="utf-8")
    assert JarSet(tmp_path / "cache", tmp_path / "other.lock").folder != wanted.folder


def test_the_lock_files_that_come_with_starcast_are_valid() -> None:
    """They pin the versions, have unique names and valid checksums, and no host name."""
    server = JarSet(Path("/nowhere"))
    lock, version = programs.BROWSER_LOCK, programs.BROWSER_VERSION
    browser = JarSet(Path("/nowhere"), lock, version, "Neo4j Browser")
    names = [jar.name for jar in server.jars]
    assert len(names) == len(set(names)) > 200
    assert all(
        len(jar.sha256) == 64 and int(jar.sha256, 16) and jar.size > 0 for jar in server.jars
    )
    assert f"neo4j-{programs.NEO4J_VERSION}.jar" in names
    assert [jar.name for jar in browser.jars] == [f"neo4j-browser-{programs.BROWSER_VERSION}.jar"]
    for lock, coordinates in (
        (programs.LOCK, lockfile.COORDINATES),
        (programs.BROWSER_LOCK, lockfile.BROWSER_COORDINATES),
    ):
        text = lock.read_text(encoding="utf-8")
        assert all(coordinate in text for coordinate in coordinates)
        assert "://" not in text


def test_the_lock_file_is_generated_from_the_lock_file_of_jgo(tmp_path: Path) -> None:
    """Coordinates with and without a classifier are sorted, and file sizes are added."""
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "beta-2.jar").write_bytes(b"12345")
    (tmp_path / "jars" / "alpha-1-linux.jar").write_bytes(b"123")
    (tmp_path / "jgo.lock.toml").write_text(
        '[[dependencies]]\ngroupId = "org.b"\nartifactId = "beta"\nversion = "2"\nsha256 = "bb"\n'
        '[[dependencies]]\ngroupId = "org.a"\nartifactId = "alpha"\nversion = "1"\n'
        'classifier = "linux"\nsha256 = "aa"\n',
        encoding="utf-8",
    )
    lines = lockfile.lock_text(tmp_path).splitlines()
    assert lines[2:] == ["aa 3 org.a:alpha:1:linux", "bb 5 org.b:beta:2"]
