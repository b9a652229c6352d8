"""Paths that commands look up before they import large modules: settings, data files, plug-ins.

To find plug-ins, `importlib.metadata` would parse the metadata of all packages, which takes longer
than most commands. This module only finds out whether any installed package declares a group of
entry points.
"""

import os
import sys
from pathlib import Path

import platformdirs

#: The prefix of all of starcast's environment variables.
PREFIX = "STARCAST_"
#: The variable that names the settings file.
CONFIG = f"{PREFIX}CONFIG"
_PACKAGE = Path(__file__).resolve().parents[1]
_METADATA = (".dist-info", ".egg-info")


def config_file() -> Path:
    """Return the path of the settings file, which need not exist.

    It is the file that ``STARCAST_CONFIG`` names, else ``starcast.toml`` in the working directory,
    else the file of that name in the user's configuration folder.
    """
    if path := os.environ.get(CONFIG):
        return Path(path)
    local = Path("starcast.toml")
    return local if local.is_file() else platformdirs.user_config_path("starcast") / local


def data_folder(name: str) -> Path:
    """Return the path of a data folder: ``migrations``, ``queries``, ``records`` or ``examples``.

    An installed package contains these folders; in a checkout, they are at its top level.
    """
    shipped = _PACKAGE / "_shipped" / name
    return shipped if shipped.is_dir() else _PACKAGE.parents[1] / name


def is_declared(group: str) -> bool:
    """Return whether an installed package may declare entry points of a group.

    The result is also True if a package archive is on the import path, because archives are not
    searched.
    """
    header = f"[{group}]".encode()
    return any(_declares(folder, header) for folder in sys.path)


def _declares(folder: str, header: bytes) -> bool:
    try:
        names = os.listdir(folder or ".")  # noqa: PTH208 - paths would take longer than the search
    except NotADirectoryError:
        # The import path has an archive, which may declare the group.
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
