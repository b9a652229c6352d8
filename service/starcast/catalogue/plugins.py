"""Loading of plug-ins from files, modules, and entry points of installed packages.

A plug-in is a Python file or module whose functions are decorated with `starcast.construction`,
`starcast.algorithm` or `starcast.family`. It is loaded if the user names it (`load`), if an
installed package declares it as an entry point, or if it is imported. After that, the names that it
defines can be used everywhere. Results of a plug-in are not trusted: the decorators check arrays,
and independent checkers verify forests and schedules. `pack` prepares plug-ins for workers on other
machines.
"""

import hashlib
import importlib
import importlib.util
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType

from starcast.catalogue.origin import ORIGINS, describe
from starcast.support.errors import InputError

#: Installed packages declare their plug-ins in this group of entry points.
ENTRY_POINTS = "starcast.plugins"


#: The names passed to `load`, in the order of loading; paths are absolute.
_loaded: dict[str, None] = {}


def load(names: Iterable[str]) -> None:
    """Import the named plug-ins, and all plug-ins that installed packages declare.

    Loading a file again replaces the entries that it defined.

    Args:
        names: names of modules, or paths of .py files.

    Raises:
        InputError: a plug-in does not exist, cannot be imported, or declares something invalid.
    """
    for point in entry_points(group=ENTRY_POINTS):
        _import(point.value, partial(importlib.import_module, point.module))
    for name in names:
        if name.endswith(".py"):
            # Paths are made absolute, because worker processes may have another working directory.
            path = Path(name).expanduser().absolute()
            _import(name, partial(_import_file, path))
            _loaded[str(path)] = None
        else:
            _import(name, partial(importlib.import_module, name))
            _loaded[name] = None


def loadable() -> tuple[str, ...]:
    """Return the names that another process has to `load` to get all plug-ins of this process.

    Raises:
        InputError: an entry is defined in a script or notebook, which other processes cannot
            import.
    """
    files = {path for path in _loaded if path.endswith(".py")}
    names = dict(_loaded)
    for (kind, name), origin in ORIGINS.items():
        if origin.module == "__main__":
            raise InputError(
                f"other processes cannot import the {kind} '{name}': it is defined in "
                f"{origin.file}, which is run as a script",
                hint="move it to a file of its own and import that file, or use one process",
            )
        if origin.file not in files:
            names[origin.module] = None
    return tuple(names)


def _import(name: str, action: Callable[[], object]) -> None:
    try:
        action()
    # An InputError of a decorator already names the file and the line of the function.
    except InputError:
        raise
    except ModuleNotFoundError as error:
        raise InputError(
            f"the plug-in '{name}' cannot be imported: {error.msg}",
            hint="name a module that Python finds, or the path of a .py file",
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # includes SystemExit, which would end the command
        raise InputError(
            f"the plug-in '{name}' cannot be imported: {describe(error)}",
            hint="correct the plug-in; STARCAST_DEBUG=1 shows its traceback",
        ) from error


class _Loader(SourceFileLoader):
    """A loader that compiles the file each time, without the bytecode cache.

    Python's bytecode cache treats a file as unchanged if its size and its modification time, in
    whole seconds, are the same. So it could run an old version of an edited plug-in.
    """

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the name is fixed
        """Return the compiled code of the file's current content."""
        return self.source_to_code(self.get_data(self.path), self.path)


def _import_file(path: Path) -> None:
    if not path.is_file():
        raise InputError(f"there is no plug-in {path}", hint="give the path of a .py file")
    loader = _Loader(path.stem, str(path))
    module = importlib.util.module_from_spec(ModuleSpec(path.stem, loader, origin=str(path)))
    # Objects of the module can be sent to worker processes only if it is in `sys.modules`.
    sys.modules[path.stem] = module
    loader.exec_module(module)


@dataclass(frozen=True)
class ShippedPlugin:
    """A plug-in as it is sent to a worker.

    Attributes:
        name: the name of its module.
        source: the text of a plug-in that is a single file; None for a module in a package, which
            must be installed at the worker.
    """

    name: str
    source: bytes | None


@dataclass(frozen=True)
class PluginLoader:
    """A picklable function that loads plug-ins in another process.

    Two loaders are equal if their plug-ins are equal.
    """

    plugins: tuple[ShippedPlugin, ...]

    def __call__(self) -> None:
        """Load the plug-ins.

        Raises:
            InputError: a plug-in is not installed in this process, or cannot be imported.
        """
        load([_file(each.name, each.source) if each.source else each.name for each in self.plugins])


def pack(names: Sequence[str] | None = None) -> PluginLoader:
    """Return a loader that loads the plug-ins of this process in another process.

    Args:
        names: names as for `load`; by default the names of all loaded plug-ins.

    Raises:
        InputError: an entry is defined in a script or notebook, which other processes cannot
            import.
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
            hint="check that the file still exists",
        ) from None


@cache  # the object must live as long as the process, because deleting it deletes the folder
def _folder() -> "tempfile.TemporaryDirectory[str]":
    """Return a folder for plug-in files, which exists until this process ends."""
    return tempfile.TemporaryDirectory(prefix="starcast-plugins-")


def _file(name: str, source: bytes) -> str:
    """Write the source of a plug-in to a file, and return the path of the file."""
    # The folder's name depends on the source, so versions of a plug-in do not overwrite each other.
    folder = Path(_folder().name) / hashlib.sha256(source).hexdigest()[:16]
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}.py"
    path.write_bytes(source)
    return str(path)
