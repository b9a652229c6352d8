"""Paper packs: packages with the claims of a paper (``claims.toml``) and modules that check them.

Built-in packs, and packs in a user's folders, are subpackages of `starcast_papers`. This package is
not on the import path; its folder is ``papers``. A pack may also be an installed package. Every
pack that is not built in is a plug-in: its modules may declare families, constructions and
algorithms. The module `starcast.claims.catalogue` reads the claims of all packs.
"""

import hashlib
import importlib
import pkgutil
import re
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.machinery import ModuleSpec
from importlib.util import find_spec, module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

from starcast.support.errors import InputError, unreadable
from starcast.support.installation import data_folder
from starcast.support.limited import MB

#: The parent package of the built-in packs and the packs in users' folders.
PACKAGE = "starcast_papers"
#: The file that makes a folder or a package a pack.
CLAIMS = "claims.toml"
#: Name prefix of the folder in which a worker stores the plug-ins that it receives.
SENT = "starcast-plugins-"
#: Files in a pack's folder that do not belong to the pack: tests, hidden files, and bytecode.
_OTHER = re.compile(r"(^|/)(test_|\.|__pycache__/)")

#: Maximum size of a pack in bytes. A pack is read when it is loaded, and is sent to workers.
_MAX_BYTES = 100 * MB


@dataclass(frozen=True)
class Pack:
    """A paper pack, which contains the claims of a paper and their checks.

    Attributes:
        module: the name of the pack's package.
        folder: the folder with the pack's files.
        sha256: the SHA-256 of the files when the pack was loaded; empty for a built-in pack.
        is_named: whether the user named the pack as a plug-in; False if only an installed package
            declares it. If False, invalid claims in the pack do not raise an error.
    """

    module: str
    folder: Path
    sha256: str = ""
    is_named: bool = True


#: The packs that were loaded as plug-ins, by module name.
_loaded: dict[str, Pack] = {}
#: The import errors of packs that installed packages declare, by entry point value.
faults: dict[str, InputError] = {}


def loaded() -> tuple[Pack, ...]:
    """Return the packs that were loaded as plug-ins, in the order of loading."""
    return tuple(_loaded.values())


@cache
def shipped() -> tuple[Pack, ...]:
    """Return the built-in packs, in the order in which claims are listed."""
    folder = data_folder("papers")
    package = _import_package(PACKAGE, folder)
    return tuple(Pack(f"{PACKAGE}.{name}", folder / name) for name in package.PACKS)


def import_modules(package: str) -> None:
    """Import a pack's package and the modules and packages directly in it, except tests."""
    for each in pkgutil.iter_modules(importlib.import_module(package).__path__):
        if not each.name.startswith("test_"):
            importlib.import_module(f"{package}.{each.name}")


def is_folder(name: str) -> bool:
    """Return whether a plug-in's name is a folder's path rather than a module name."""
    path = Path(name).expanduser()
    return (path / CLAIMS).is_file() or (path.is_dir() and not name.isidentifier())


def is_package(module: str) -> bool:
    """Return whether a module is a package that contains a file ``claims.toml``."""
    spec = None
    # `find_spec` imports the parent package of the module. This import may raise any error.
    with suppress(Exception, SystemExit):
        spec = find_spec(module)
    origin = Path(spec.origin) if spec and spec.origin else Path()
    return origin.name == "__init__.py" and origin.with_name(CLAIMS).is_file()


def is_sent(path: Path) -> bool:
    """Return whether a path belongs to a plug-in that was sent to this worker process."""
    # starcast writes each plug-in into a subfolder of a folder whose name begins with `SENT`.
    return any(folder.name.startswith(SENT) for folder in path.parents[1:2])


def load_folder(folder: Path) -> None:
    """Import the pack in a folder; import it again if it was loaded before.

    Raises:
        InputError: the folder has no claims.toml, the folder of another pack has the same name, a
            file cannot be read, the files together are too large, or a module cannot be imported.
    """
    if not (folder / CLAIMS).is_file():
        raise InputError(
            f"the folder {folder} is not a paper pack: it has no {CLAIMS}",
            hint="name the folder that contains claims.toml, or create a pack with 'starcast claims"
            " new'",
        )
    shipped()  # creates the parent package of all packs
    name = _name_module(folder)
    # A cluster worker may receive several versions of a pack; the newest version replaces the
    # others.
    for other in (*data_folder("papers").iterdir(), *(pack.folder for pack in loaded())):
        if _name_module(other) == name and other != folder and not is_sent(folder):
            raise InputError(
                f"the packs {other} and {folder} have the same name",
                hint="rename one of the folders",
            )
    for module in [each for each in sys.modules if f"{each}.".startswith(f"{name}.")]:
        del sys.modules[module]
    _load(Pack(name, folder, hash_folder(folder)), lambda: _import_package(name, folder))


def _name_module(folder: Path) -> str:
    # Dots would separate a package from a subpackage, so they and other special characters are
    # replaced.
    return f"{PACKAGE}.{re.sub('[^a-zA-Z0-9_]', '_', folder.name)}"


def load_package(module: str, *, is_named: bool) -> None:
    """Import the modules of an installed package that is a pack.

    Raises:
        InputError: a module cannot be imported, a file of the pack cannot be read, or the files
            together are too large.
    """
    folder = Path(str(sys.modules[module].__file__)).parent
    _load(Pack(module, folder, hash_folder(folder), is_named), lambda: None)


def _load(pack: Pack, create: Callable[[], object]) -> None:
    importlib.invalidate_caches()
    # With Python's bytecode cache, an old version of an edited module could run.
    sys.dont_write_bytecode, before = True, sys.dont_write_bytecode
    # The pack is registered before the import, so that `find` returns it for the entries that its
    # modules declare.
    _loaded[pack.module] = pack
    try:
        create()
        import_modules(pack.module)
    except BaseException as error:  # includes SystemExit, which would end the command
        del _loaded[pack.module]
        if isinstance(error, InputError | KeyboardInterrupt):
            raise
        reason = traceback.format_exception_only(error)[-1].strip()
        raise InputError(
            f"{locate(error, pack) or pack.folder}: {reason}",
            hint="correct the pack; set STARCAST_DEBUG=1 to see the traceback of the error",
        ) from error
    finally:
        sys.dont_write_bytecode = before


def _import_package(name: str, folder: Path) -> ModuleType:
    """Import a folder, with or without an ``__init__.py``, as the package of the given name."""
    init = folder / "__init__.py"
    spec = ModuleSpec(name, None, is_package=True)
    if init.is_file():
        spec = spec_from_file_location(name, init) or spec
    spec.submodule_search_locations = [str(folder)]
    package = module_from_spec(spec)
    sys.modules[name] = package
    if spec.loader is not None:
        spec.loader.exec_module(package)
    return package


def find(file: str) -> Pack | None:
    """Return the loaded pack to which a source file belongs; None if it belongs to no pack."""
    return next((pack for pack in loaded() if Path(file).is_relative_to(pack.folder)), None)


def locate(error: BaseException, pack: Pack) -> str:
    """Return the innermost line of a pack's code in an error's traceback, as ``FILE:LINE``.

    For a syntax error, return the place of the error instead. The result is empty if the traceback
    contains no code of the pack.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return f"{error.filename}:{error.lineno}"
    frames = traceback.extract_tb(error.__traceback__)
    own = [each for each in frames if Path(each.filename).is_relative_to(pack.folder)]
    return f"{own[-1].filename}:{own[-1].lineno}" if own else ""


def read_files(folder: Path) -> tuple[tuple[str, bytes], ...]:
    """Return the relative path and content of each file of a pack, sorted by path.

    Tests, hidden files and bytecode are omitted.

    Raises:
        InputError: a file cannot be read, or the files together are too large.
    """
    paths = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    try:
        files = {
            name: path
            for name, path in sorted(paths.items())
            if path.is_file() and not _OTHER.search(name)
        }
        if sum(path.stat().st_size for path in files.values()) > _MAX_BYTES:
            raise InputError(
                f"the files in {folder} are larger than {_MAX_BYTES // MB} MB in total",
                hint="remove the files that the checks do not read",
            )
        return tuple((name, path.read_bytes()) for name, path in files.items())
    except OSError as error:
        raise unreadable(error.filename, error) from None


def hash_folder(folder: Path) -> str:
    """Return a single SHA-256 of the names and contents of a pack's files; see `read_files`."""
    total = hashlib.sha256()
    for name, content in read_files(folder):
        total.update(f"{name} {hashlib.sha256(content).hexdigest()}\n".encode())
    return total.hexdigest()
