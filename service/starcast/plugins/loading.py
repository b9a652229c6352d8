"""Loading of plug-ins: files, modules, and the entry points of installed packages."""

import importlib
import importlib.util
import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.metadata import entry_points
from pathlib import Path
from types import CodeType

from starcast.errors import InputError
from starcast.plugins.origin import ORIGINS, describe

#: Installed packages declare their plug-ins in this group of entry points.
ENTRY_POINTS = "starcast.plugins"


#: The names given to `load`, in the order of loading; paths are absolute.
_loaded: dict[str, None] = {}


def load(names: Iterable[str]) -> None:
    """Import plug-ins, and those that installed packages declare.

    Loading a file again replaces what it defined.

    Args:
        names: names of modules, or paths of .py files.

    Raises:
        InputError: a plug-in does not exist, cannot be imported, or declares something invalid.
    """
    for point in entry_points(group=ENTRY_POINTS):
        _import(point.value, partial(importlib.import_module, point.module))
    for name in names:
        if name.endswith(".py"):
            path = Path(name).expanduser().absolute()
            _import(name, partial(_import_file, path))
            _loaded[str(path)] = None
        else:
            _import(name, partial(importlib.import_module, name))
            _loaded[name] = None


def loadable() -> tuple[str, ...]:
    """Return the names with which another process can `load` all plug-ins of this one.

    Raises:
        InputError: something is defined in a script or notebook, which others cannot import.
    """
    files = {path for path in _loaded if path.endswith(".py")}
    names = dict(_loaded)
    for (kind, name), origin in ORIGINS.items():
        if origin.module == "__main__":
            raise InputError(
                f"the {kind} '{name}' is defined in {origin.file}, which is run as a script",
                hint="move it to a file of its own and import that, or use one process",
            )
        if origin.file not in files:
            names[origin.module] = None
    return tuple(names)


def _import(name: str, action: Callable[[], object]) -> None:
    try:
        action()
    except InputError:
        raise
    except ModuleNotFoundError as error:
        raise InputError(
            f"the plug-in '{name}' cannot be imported: {error.msg}",
            hint="name a module that Python finds, or the path of a .py file",
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # also SystemExit, which would end the command
        raise InputError(
            f"the plug-in '{name}' cannot be imported: {describe(error)}",
            hint="correct it; STARCAST_DEBUG=1 shows its traceback",
        ) from error


class _Loader(SourceFileLoader):
    """Compiles the file at each load.

    Python's bytecode cache takes a file that has kept its size and the second of its last change
    for unchanged, and would run the plug-in as it was before the edit.
    """

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the name is fixed
        """Return the code of the file as it is now."""
        return self.source_to_code(self.get_data(self.path), self.path)


def _import_file(path: Path) -> None:
    if not path.is_file():
        raise InputError(f"there is no plug-in {path}", hint="give the path of a .py file")
    loader = _Loader(path.stem, str(path))
    module = importlib.util.module_from_spec(ModuleSpec(path.stem, loader, origin=str(path)))
    # Objects of the module can be sent to worker processes only if it is listed.
    sys.modules[path.stem] = module
    loader.exec_module(module)
