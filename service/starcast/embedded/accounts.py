"""The system user that runs both servers when root starts them, and its program files.

Neo4j and PostgreSQL must not run as root: a query could then read every file of the machine. If
root starts them, they run as the system user ``starcast``. That user may not be able to traverse
the folders above the home folder (``/root``, pytest's temporary folders), and starcast must not
change the modes of these folders. So the working directory is set before switching to that user,
and a server opens its files below `WORKING_DIRECTORY`, without traversing the path. For the same
reason, logs and passwords are passed as open files. Only programs are found by path: if their
folder is closed to that user, they are copied to ``/var/cache/starcast``.
"""

import os
import pwd
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from starcast.embedded import processes
from starcast.support.errors import UnavailableError

#: The system user that runs the servers if starcast is run by root.
SYSTEM_USER = "starcast"
#: The account comment by which `starcast uninstall` recognises an account that starcast created.
COMMENT = "servers of starcast"
#: The folder for copies of program files that the system user runs.
SHARED = Path("/var/cache/starcast")
#: Path of the current process's working directory; opening it traverses no folder above it.
WORKING_DIRECTORY = "/proc/self/cwd"


def server_account() -> processes.User:
    """Return the account that runs the servers: the system user for root, else the current user.

    Raises:
        UnavailableError: the system user cannot be created.
    """
    return system_user() if os.geteuid() == 0 else processes.User()


def system_user() -> processes.User:
    """Return the system user; create it if it is missing.

    Raises:
        UnavailableError: the system user cannot be created.
    """
    entry = find_system_user()
    if entry is None:
        command = ["useradd", "--system", "--user-group", "--no-create-home", "--comment", COMMENT]
        command += ["--home-dir", "/nonexistent", "--shell", "/usr/sbin/nologin", SYSTEM_USER]
        # If useradd or the rights to run it are missing, the check below reports it.
        with suppress(OSError):
            subprocess.run(command, check=False, capture_output=True)
        entry = find_system_user()
    if entry is None:
        raise UnavailableError(
            "the servers must not run as root, and their system user "
            f"'{SYSTEM_USER}' cannot be created",
            hint=f"run starcast as another user, or create the system user '{SYSTEM_USER}'",
        )
    return processes.User(entry.pw_uid, entry.pw_gid)


def find_system_user() -> pwd.struct_passwd | None:
    """Return the account of the system user, or None if it does not exist."""
    with suppress(KeyError):
        return pwd.getpwnam(SYSTEM_USER)
    return None


def hand_over(folder: Path, account: processes.User) -> None:
    """Make an account the owner of a folder and its contents; do nothing for the current user.

    The contents are checked even if the folder already belongs to the account, because an offline
    import run by root may have written to it.
    """
    uid, gid = account.uid, account.gid
    if uid is None or gid is None:
        return
    for path in (*folder.rglob("*"), folder):
        if path.lstat().st_uid != uid:
            os.chown(path, uid, gid, follow_symlinks=False)


def is_open(folder: Path) -> bool:
    """Return whether every user can traverse the path of a folder, which need not exist yet."""
    existing = (path for path in (folder, *folder.resolve().parents) if path.exists())
    return all(path.stat().st_mode & stat.S_IXOTH for path in existing)


def readable_folder(folder: Path, account: processes.User) -> Path:
    """Return the given folder if the account can read it, else `SHARED`."""
    return folder if account.uid is None or is_open(folder) else SHARED


def readable_programs(
    site: Path, parts: Iterable[str | Path], name: str, account: processes.User
) -> Path:
    """Return a folder in which the account can read parts of a package: ``site`` or a copy.

    Args:
        site: the folder that contains the parts, such as site-packages.
        parts: files and folders below ``site``. A copy keeps their relative paths, because programs
            find their libraries by these paths.
        name: the name of the copied folder, with a version.
    """
    relative = [Path(part) for part in parts]
    if account.uid is None or all(is_open(site / part) for part in relative):
        return site
    copy = SHARED / name
    if not copy.exists():
        create_readable(SHARED)
        temporary = Path(tempfile.mkdtemp(dir=SHARED, prefix="new-"))
        # Headers and static libraries are not needed to run the programs.
        ignore = shutil.ignore_patterns("include", "*.a")
        try:
            for part in relative:
                shutil.copytree(site / part, temporary / part, ignore=ignore)
            # Copies keep the modes of the originals, which may not allow the account to read them.
            for path in (temporary, *temporary.rglob("*")):
                executable = path.stat().st_mode & stat.S_IXUSR
                path.chmod(0o755 if executable else 0o644)
            with suppress(OSError):  # another process finished its copy first
                temporary.rename(copy)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
    return copy


def create_readable(folder: Path) -> None:
    """Create a folder and missing parents that every user can read, whatever the umask is."""
    for path in reversed((folder, *folder.parents)):
        if not path.exists():
            path.mkdir(exist_ok=True)
            path.chmod(0o755)
