"""Fetching jars, against a Maven repository of three files on loopback."""

import hashlib
import shutil
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from starcast.embedded import files, jars, lockfile, processes
from starcast.embedded.jars import JarSet
from starcast.errors import LimitError, UnavailableError
from starcast.progress import Silent, Task

CONTENT = {"alpha": b"a" * 40_000, "beta": b"b" * 30_000, "gamma": b"c" * 20_000}


@dataclass
class Mirror:
    """A Maven repository: what it serves by path, and how often each jar was asked for."""

    url: str
    served: dict[str, bytes]
    asked: Counter[str] = field(default_factory=Counter)


class Counting(Silent):
    """Counts the bytes of every task and keeps what is said."""

    def __init__(self) -> None:
        self.said: list[str] = []
        self.totals: list[int] = []
        self.done = 0

    def say(self, text: str) -> None:
        """Keep it."""
        self.said.append(text)

    @contextmanager
    def task(self, text: str, total: int, unit: str = "") -> Iterator[Task]:
        """Be the task of the fetch."""
        assert (text, unit) == (f"Neo4j {jars.NEO4J_VERSION}", "bytes")
        self.totals.append(total)
        yield self

    def advance(self, amount: int = 1) -> None:
        """Count."""
        self.done += amount


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    """A repository that serves all three jars until a test changes that."""
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

    with ThreadingHTTPServer((processes.LOOPBACK, 0), Handler) as server:
        repository.url = f"http://{processes.LOOPBACK}:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield repository
        server.shutdown()
        thread.join()


@pytest.fixture
def wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> JarSet:
    """The set of the three jars in an empty cache; retries do not wait."""
    monkeypatch.setattr(jars, "_PAUSE", 0.0)
    rows = [
        f"{hashlib.sha256(content).hexdigest()} {len(content)} org.example:{name}:1.0"
        for name, content in CONTENT.items()
    ]
    (tmp_path / "test.lock").write_text("\n".join(["# a comment", *rows, ""]), encoding="utf-8")
    return JarSet.of(tmp_path / "cache", tmp_path / "test.lock")


def stored(wanted: JarSet) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (wanted.folder / "jars").iterdir()}


def test_fetches_every_jar_once_and_counts_its_bytes(mirror: Mirror, wanted: JarSet) -> None:
    """All files are there, whole; the bar ends at its total; nothing else is left in the folder."""
    reporter = Counting()
    wanted.fetch(mirror.url + "/", reporter)
    assert stored(wanted) == {f"{name}-1.0.jar": content for name, content in CONTENT.items()}
    assert reporter.totals == [90_000]
    assert reporter.done == 90_000
    assert {path.name for path in wanted.folder.iterdir()} == {"jars", "complete", "lock"}
    assert all(mirror.asked[f"{name}-1.0.jar"] == 1 for name in CONTENT)


def test_a_complete_set_asks_nobody(mirror: Mirror, wanted: JarSet) -> None:
    """Once complete, a set needs no network."""
    wanted.fetch(mirror.url, Silent())
    before = mirror.asked.total()
    wanted.fetch(mirror.url, Silent())
    wanted.fetch(f"http://{processes.LOOPBACK}:{processes.free_port()}", Silent())
    assert mirror.asked.total() == before


def test_a_broken_fetch_goes_on_with_what_is_missing(mirror: Mirror, wanted: JarSet) -> None:
    """The first try says which file and what to do; the second fetches only that file."""
    path, content = next(iter(mirror.served.items()))
    del mirror.served[path]
    with pytest.raises(
        UnavailableError, match=r"alpha-1.0.jar for one: the repository does not have it"
    ) as caught:
        wanted.fetch(mirror.url, Silent())
    assert "STARCAST_MAVEN_REPOSITORY" in caught.value.hint
    assert not wanted.is_complete()
    assert not (wanted.folder / "partial").exists()
    kept = set(stored(wanted))
    mirror.served[path] = content
    mirror.asked.clear()
    wanted.fetch(mirror.url, Silent())
    assert {name for name in mirror.asked if name.endswith(".jar")} == {
        f"{name}-1.0.jar" for name in CONTENT
    } - kept
    assert wanted.is_complete()


def test_a_file_with_another_sum_is_never_installed(mirror: Mirror, wanted: JarSet) -> None:
    """A repository that serves something else of the same size is refused, and the file does not get its name."""
    path = next(path for path in mirror.served if "beta" in path)
    mirror.served[path] = b"x" * len(mirror.served[path])
    with pytest.raises(
        UnavailableError, match=r"beta-1.0.jar for one: its SHA-256 is not that of the lock file"
    ):
        wanted.fetch(mirror.url, Silent())
    assert "beta-1.0.jar" not in stored(wanted)


def test_failed_attempts_do_not_count(mirror: Mirror, wanted: JarSet) -> None:
    """Bytes of a file that had to be fetched again are taken back from the bar."""
    path = next(path for path in mirror.served if "gamma" in path)
    mirror.served[path] = b"x" * len(mirror.served[path])
    reporter = Counting()
    with pytest.raises(UnavailableError):
        wanted.fetch(mirror.url, reporter)
    assert reporter.done <= 70_000


@pytest.mark.parametrize("damage", ["delete", "truncate"])
def test_a_damaged_cache_is_mended(mirror: Mirror, wanted: JarSet, damage: str) -> None:
    """A jar that was deleted or cut short is noticed and fetched again, alone."""
    wanted.fetch(mirror.url, Silent())
    jar = wanted.folder / "jars" / "alpha-1.0.jar"
    if damage == "delete":
        jar.unlink()
    else:
        jar.write_bytes(b"short")
    mirror.asked.clear()
    assert not wanted.is_complete()
    wanted.fetch(mirror.url, Silent())
    assert stored(wanted)["alpha-1.0.jar"] == CONTENT["alpha"]
    assert mirror.asked["beta-1.0.jar"] == 0


def test_no_network_is_one_sentence(wanted: JarSet) -> None:
    """Without a repository nothing is half there, and the error says so shortly."""
    nobody = f"http://{processes.LOOPBACK}:{processes.free_port()}"
    with pytest.raises(
        UnavailableError, match=r"^3 files of .* for one: the repository cannot be reached"
    ) as caught:
        wanted.fetch(nobody, Silent())
    assert "goes on where it broke off" in caught.value.hint
    assert "\n" not in str(caught.value)
    assert stored(wanted) == {}


def test_two_at_once_fetch_each_file_once(mirror: Mirror, wanted: JarSet) -> None:
    """The second waits for the first, says so, and finds everything there."""
    reporters = [Counting(), Counting()]
    threads = [
        threading.Thread(target=wanted.fetch, args=(mirror.url, reporter)) for reporter in reporters
    ]
    with files.exclusive(_made(wanted.folder) / "lock", lambda: None):
        for thread in threads:
            thread.start()
        while sum(len(reporter.said) for reporter in reporters) < 2:
            threading.Event().wait(0.01)
    for thread in threads:
        thread.join()
    assert wanted.is_complete()
    assert all(mirror.asked[f"{name}-1.0.jar"] == 1 for name in CONTENT)
    assert all(
        reporter.said[0] == "another process fetches Neo4j: waiting" for reporter in reporters
    )


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True)
    return folder


def test_a_small_disk_is_refused_before_anything_is_fetched(
    mirror: Mirror, wanted: JarSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The free space is looked at first."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 10 * files.MB}))
    with pytest.raises(LimitError, match=r"needs 50 MB .* has 10 MB free"):
        wanted.fetch(mirror.url, Silent())
    assert mirror.asked.total() == 0


def test_a_disk_that_runs_full_is_said_as_such(
    mirror: Mirror, wanted: JarSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ENOSPC in a fetching thread is the disk's fault, not the network's, and is not tried again."""
    tried: list[str] = []

    def full(self: object, jar: jars.Jar, path: Path) -> None:  # noqa: ARG001 - the method's signature
        tried.append(jar.name)
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(jars._Fetch, "_fetch_once", full)
    with pytest.raises(LimitError, match=r"the disk of .* is full"):
        wanted.fetch(mirror.url, Silent())
    assert len(tried) == len(set(tried))


def test_another_lock_is_another_folder(wanted: JarSet, tmp_path: Path) -> None:
    """Sets of different locks never mix on one class path."""
    (tmp_path / "other.lock").write_text("# nothing\n", encoding="utf-8")
    assert JarSet.of(tmp_path / "cache", tmp_path / "other.lock").folder != wanted.folder


def test_the_shipped_lock_is_sound() -> None:
    """It is of the pinned version, names every file once, with a real sum, and names no host."""
    shipped = JarSet.of(Path("/nowhere"))
    names = [jar.name for jar in shipped.jars]
    assert len(names) == len(set(names)) > 200
    assert all(
        len(jar.sha256) == 64 and int(jar.sha256, 16) and jar.size > 0 for jar in shipped.jars
    )
    assert {
        jar.version for jar in shipped.jars if jar.group == "org.neo4j" and jar.artifact == "neo4j"
    } == {jars.NEO4J_VERSION}
    text = jars.LOCK.read_text(encoding="utf-8")
    assert all(coordinate in text for coordinate in lockfile.COORDINATES)
    assert "://" not in text


def test_the_lock_is_made_from_jgo_s_own(tmp_path: Path) -> None:
    """Coordinates with and without a classifier, sizes from the files, sorted."""
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / "beta-2.jar").write_bytes(b"12345")
    (tmp_path / "jars" / "alpha-1-linux.jar").write_bytes(b"123")
    (tmp_path / "jgo.lock.toml").write_text(
        '[[dependencies]]\ngroupId = "org.b"\nartifactId = "beta"\nversion = "2"\nsha256 = "bb"\n'
        '[[dependencies]]\ngroupId = "org.a"\nartifactId = "alpha"\nversion = "1"\nclassifier = "linux"\nsha256 = "aa"\n',
        encoding="utf-8",
    )
    lines = lockfile.lock_text(tmp_path).splitlines()
    assert lines[2:] == ["aa 3 org.a:alpha:1:linux", "bb 5 org.b:beta:2"]
