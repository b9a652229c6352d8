"""Information on the installation of starcast: paths of files, and the provenance of results.

Every command imports this module, so it must import quickly. Finding plug-ins with
`importlib.metadata` would parse the metadata of all installed packages, which takes longer than
most commands. The search is skipped if `is_declared` returns False, because no plug-in exists then.
"""

import os
import sys
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import platformdirs

from starcast.support.errors import UnavailableError

#: The prefix of starcast's environment variables.
PREFIX = "STARCAST_"
#: The environment variable that contains the path of the settings file.
CONFIG = f"{PREFIX}CONFIG"
_PACKAGE = Path(__file__).resolve().parents[1]
_METADATA = (".dist-info", ".egg-info")


def config_file() -> Path:
    """Return the path of the settings file, which need not exist.

    The path is the value of ``STARCAST_CONFIG`` if this variable is set, else ``starcast.toml`` in
    the working directory if this file exists, else ``starcast.toml`` in the user's
    configuration folder.
    """
    if path := os.environ.get(CONFIG):
        return Path(path)
    local = Path("starcast.toml")
    return local if local.is_file() else platformdirs.user_config_path("starcast") / local


def data_folder(name: str) -> Path:
    """Return the path of a data folder, such as ``migrations``, ``papers`` or ``queries``.

    An installed package contains these folders; in a checkout, they are at its top level.
    """
    shipped = _PACKAGE / "_shipped" / name
    return shipped if shipped.is_dir() else _PACKAGE.parents[1] / name


def install_command(extra: str) -> str:
    """Return the command that installs the packages of an extra, such as ``web``.

    The command names the packages instead of the extra, because starcast is not on a package index.

    Example:
        >>> install_command("plots")
        "pip install 'matplotlib>=3.10.7'"
    """
    import re  # noqa: PLC0415
    from importlib.metadata import requires  # noqa: PLC0415 - see the module's docstring

    needed = re.compile(rf"""(.*?) *; *extra == ['"]{extra}['"]""")
    found = [match for each in requires("starcast") or () if (match := needed.fullmatch(each))]
    return " ".join(["pip install", *(f"'{match[1]}'" for match in found)])


def import_library(module: str, command: str = "") -> Any:
    """Import and return a module of an optional library.

    Args:
        module: the full name of the module.
        command: the command that installs the library (default: the command for the starcast extra
            with the same name as the library).

    Raises:
        UnavailableError: the library is not installed.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        # If only a dependency of the package is missing, the package itself is installed, so advice
        # to install the package would not help.
        if (error.name or "").partition(".")[0] != package:
            raise
        raise UnavailableError(
            f"{package} is not installed",
            hint=f"install it with: {command or install_command(package)}",
        ) from None


def is_declared(group: str) -> bool:
    """Return whether an installed package might declare entry points in the given group.

    The result is also True if a package archive is on the import path, because archives are not
    searched.
    """
    header = f"[{group}]".encode()
    return any(_declares(folder, header) for folder in sys.path)


def _declares(folder: str, header: bytes) -> bool:
    """Return whether a package in a folder might declare entry points in a group.

    Args:
        folder: a folder on the import path.
        header: the line that begins the group in ``entry_points.txt``.
    """
    try:
        names = os.listdir(folder or ".")  # noqa: PTH208 - creating paths would take longer than the search
    except NotADirectoryError:
        # The entry is an archive on the import path, which might declare the group.
        return True
    except OSError:
        return False
    for name in names:
        if name.endswith(_METADATA):
            try:
                with open(f"{folder}/{name}/entry_points.txt", "rb") as file:  # noqa: PTH123
                    if header in file.read():
                        return True
            except OSError:  # most packages have no file with entry points
                continue
    return False


_CHECKOUT = _PACKAGE.parents[1]
#: The folders of a checkout that contain the code on which results depend.
_CODE = ("service", "papers")
_GIT_SECONDS = 10


@cache
def source_digest() -> str:
    """Return a SHA-256 of the names and contents of all Python files of starcast and the papers.

    The result is the same for a checkout and for the installed package.
    """
    import hashlib  # noqa: PLC0415

    total = hashlib.sha256()
    for prefix, folder in (("", _PACKAGE), ("papers/", data_folder("papers"))):
        for path in sorted(folder.rglob("*.py")):
            name = f"{prefix}{path.relative_to(folder).as_posix()}"
            if not name.startswith("_shipped/"):
                digest = hashlib.sha256(path.read_bytes()).hexdigest()
                total.update(f"{name} {digest}\n".encode())
    return total.hexdigest()


@cache
def provenance() -> dict[str, Any]:
    """Return the software versions, the git revision and the machine that produce results.

    The versions are those of starcast, Python, numpy and psycopg; the version of PostgreSQL is
    added when a run is stored. The value of ``dirty`` is True if a code file in the checkout is
    changed, deleted or new. The values of ``revision`` and ``dirty`` are None outside a checkout,
    or if git fails.
    """
    import platform  # noqa: PLC0415
    from importlib.metadata import version  # noqa: PLC0415

    return {
        "version": version("starcast"),
        **_revision(_CHECKOUT),
        "host": platform.node(),
        "machine": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "psycopg": version("psycopg"),
    }


def _revision(checkout: Path) -> dict[str, Any]:
    # An installed package may be inside another repository, whose revision is unrelated.
    if not (checkout / ".git").exists():
        return {"revision": None, "dirty": None}
    revision = _git(checkout, "rev-parse", "HEAD")
    # Untracked files count too, because an uncommitted module can change results.
    changed = _git(checkout, "status", "--porcelain", "--untracked-files=all", "--", *_CODE)
    return {"revision": revision, "dirty": None if changed is None else bool(changed)}


def _git(checkout: Path, *arguments: str) -> str | None:
    import subprocess  # noqa: PLC0415

    command = ["git", "-C", str(checkout), *arguments]
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=_GIT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.strip()
