"""Plug-ins for worker processes on other machines, which do not have their files."""

import hashlib
import importlib.util
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from starcast.errors import InputError
from starcast.plugins.loading import load, loadable


@dataclass(frozen=True)
class ShippedPlugin:
    """A plug-in as it is sent to a worker.

    Attributes:
        name: the name of its module.
        source: the text of a plug-in that is a single file; None for a module of a package, which
            the worker must have.
    """

    name: str
    source: bytes | None


@dataclass(frozen=True)
class PluginLoader:
    """A picklable function that loads plug-ins in another process; equal for equal plug-ins."""

    plugins: tuple[ShippedPlugin, ...]

    def __call__(self) -> None:
        """Load the plug-ins.

        Raises:
            InputError: a plug-in is not installed in this process, or cannot be imported.
        """
        load([_file(each.name, each.source) if each.source else each.name for each in self.plugins])


def pack(names: Sequence[str] | None = None) -> PluginLoader:
    """Return what loads the plug-ins of this process in another one.

    Args:
        names: names as for `load`; by default those of all plug-ins that are loaded.

    Raises:
        InputError: something is defined in a script or notebook, which others cannot import.
    """
    return PluginLoader(tuple(map(_pack, loadable() if names is None else names)))


def _pack(name: str) -> ShippedPlugin:
    if name.endswith(".py"):
        path: Path | None = Path(name)
    else:
        spec = importlib.util.find_spec(name)
        is_single_file = (
            spec is not None and "." not in name and not spec.submodule_search_locations
        )
        path = Path(spec.origin) if spec and is_single_file and spec.origin else None
    if path is None:
        return ShippedPlugin(name, None)
    try:
        return ShippedPlugin(path.stem, path.read_bytes())
    except OSError as error:
        raise InputError(
            f"the plug-in {path} cannot be sent to workers: {(error.strerror or '').lower()}",
            hint="see whether the file still exists",
        ) from None


@cache
def _folder() -> Path:
    """Return a folder for the files of plug-ins; this process keeps it until it ends."""
    # The object must live as long as the process: its end deletes the folder.
    _kept.append(tempfile.TemporaryDirectory(prefix="starcast-plugins-"))
    return Path(_kept[0].name)


_kept: list["tempfile.TemporaryDirectory[str]"] = []


def _file(name: str, source: bytes) -> str:
    """Write the source of a plug-in to a file of its own; return the path."""
    folder = _folder() / hashlib.sha256(source).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.py"
    path.write_bytes(source)
    return str(path)
