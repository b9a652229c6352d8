"""Detection of entry points: does any installed package declare a group of them?

`importlib.metadata` parses the metadata of all packages, which takes longer than most commands.
"""

import os
import sys

_METADATA = (".dist-info", ".egg-info")


def is_declared(group: str) -> bool:
    """Return whether a package may have entry points of a group; archives are not searched."""
    header = f"[{group}]".encode()
    return any(_declares(folder, header) for folder in sys.path)


def _declares(folder: str, header: bytes) -> bool:
    try:
        names = os.listdir(folder or ".")  # noqa: PTH208 - paths would take longer than the search
    except NotADirectoryError:
        # An archive, which is not searched, may declare the group.
        return True
    except OSError:
        return False
    for name in names:
        if name.endswith(_METADATA):
            try:
                with open(f"{folder}/{name}/entry_points.txt", "rb") as file:  # noqa: PTH123
                    if header in file.read():
                        return True
            except OSError:  # most packages have none
                continue
    return False
