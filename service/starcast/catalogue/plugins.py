"""Load plug-ins, record where their entries are defined, and name the plug-in in errors.

A plug-in is a Python file or module whose functions are decorated with `starcast.construction`,
`starcast.algorithm` or `starcast.family`. A plug-in is loaded if the user names it (`load`), if an
installed package declares it as an entry point, or if it is imported. The names that a loaded
plug-in defines can be used like built-in names. Results of a plug-in are not trusted: the
decorators check arrays, and independent checkers verify forests and schedules. `pack` prepares
plug-ins for workers on other machines.

Modules that only plug-ins need are imported on demand, because every start of starcast imports this
module.
"""

import importlib
import importlib.util
import inspect
import os
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, MappingProxyType
from typing import TYPE_CHECKING, Any

from starcast.support.errors import InputError, StarcastError

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

_NONE: Mapping[str, Any] = MappingProxyType({})


class PluginMissingError(InputError):
    """An artifact cannot be rebuilt, or a run repeated, because its plug-in is not loaded."""


@dataclass(frozen=True)
class Origin:
    """The place in the source code where the function of a catalogue entry is defined.

    Attributes:
        module: the name of the function's module; for a file, the file name without extension.
        file: the source file.
        line: the number of the line at which the function begins.
    """

    module: str
    file: str
    line: int

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "Origin":
        """Return the module, file and line in which a function is defined.

        Raises:
            InputError: the object is not a function written in Python.
        """
        # Other decorators may have wrapped the function; `unwrap` finds the file and line where it
        # was written.
        code = getattr(inspect.unwrap(function), "__code__", None)
        if not isinstance(code, CodeType):
            raise InputError(
                f"a plug-in declares a value of type {type(function).__name__}, not a function",
                hint="write the decorator above a function",
            )
        return cls(function.__module__, code.co_filename, code.co_firstlineno)

    @property
    def is_shipped(self) -> bool:
        """Whether the function belongs to starcast, rather than to a plug-in."""
        # The dot excludes plug-ins whose names begin with starcast, such as starcast_mine.
        return self.module.startswith("starcast.")

    @cached_property
    def sha256(self) -> str:
        """The SHA-256 of the loaded plug-in's files; see `plugin_files.hash_plugin`."""
        from starcast.catalogue import packs  # noqa: PLC0415
        from starcast.catalogue.plugin_files import hash_plugin  # noqa: PLC0415

        pack = packs.find(self.file)
        return pack.sha256 if pack else hash_plugin(self.module, Path(self.file))

    @property
    def version(self) -> str:
        """The ``__version__`` of the module; empty if the module has none."""
        return str(getattr(sys.modules.get(self.module), "__version__", ""))

    def describe(self) -> dict[str, str]:
        """Return the module, version and SHA-256 as a mapping, which is stored with results."""
        return {"module": self.module, "version": self.version, "sha256": self.sha256}

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


#: The origin of each entry that a plug-in defines, by kind (such as ``construction``) and name.
ORIGINS: dict[tuple[str, str], Origin] = {}

#: The plug-ins that a result depends on: for the name of each entry, the module, version and
#: SHA-256 of the plug-in that defines it.
Provenance = Mapping[str, Mapping[str, str]]


def describe_used(
    topology: Any, entry: tuple[str, str] | None = None, arguments: Mapping[str, Any] = _NONE
) -> dict[str, dict[str, str]]:
    """Return the provenance of an artifact or a run: the plug-ins that it needs.

    Args:
        topology: the `Topology` of the artifact or run.
        entry: the kind and name of the construction or algorithm; None if only the topology is
            used.
        arguments: the values of the entry's arguments; some of them may be names of constructions.
    """
    used = [("family", topology.family)]
    if entry is not None:
        used.append(entry)
    # If an argument names a construction, the plug-in of that construction is needed too.
    used += [("construction", value) for value in arguments.values() if isinstance(value, str)]
    return {key[1]: ORIGINS[key].describe() for key in used if key in ORIGINS}


def find_changed(recorded: Provenance) -> list[str]:
    """Return the names of loaded entries whose plug-in has another SHA-256 than in ``recorded``."""
    # An algorithm and a construction of different plug-ins may have the same name.
    loaded: dict[str, set[str]] = {}
    for (_, name), origin in ORIGINS.items():
        loaded.setdefault(name, set()).add(origin.sha256)
    return [
        name
        for name, plugin in recorded.items()
        if name in loaded and plugin["sha256"] not in loaded[name]
    ]


def find_missing(recorded: Provenance) -> list[str]:
    """Return a description of each entry in a provenance that no loaded plug-in defines."""
    loaded = {name for _, name in ORIGINS}
    missing = {name: plugin for name, plugin in recorded.items() if name not in loaded}
    return [
        f"'{name}' of the plug-in {plugin['module']} (version {plugin['version'] or 'unknown'},"
        f" SHA-256 {plugin['sha256'][:12] or 'unknown'})"
        for name, plugin in missing.items()
    ]


def require_plugins(noun: str, recorded: Provenance) -> None:
    """Check that loaded plug-ins define all entries in a provenance.

    Raises:
        PluginMissingError: no loaded plug-in defines one of the entries.
    """
    if missing := find_missing(recorded):
        raise PluginMissingError(
            f"{noun} needs a plug-in that is not loaded: {', '.join(missing)}",
            hint="name the plug-in's file with `plugins` or STARCAST_PLUGINS",
        )


def name_plugins(command: str, recorded: Iterable[Provenance]) -> str:
    """Return a starcast command line with an option ``--plugin`` for each recorded plug-in.

    A provenance names modules, not files. So a plug-in that is not loaded is assumed to be a file
    or a pack's folder in the working directory, unless it is a module in a package.
    """
    modules = [each["module"] for used in recorded for each in used.values()]
    names = dict.fromkeys(map(_name_plugin, modules))
    options = "".join(f"--plugin {shlex.quote(name)} " for name in names)
    return command.replace("starcast ", f"starcast {options}", 1)


def _name_plugin(module: str) -> str:
    """Return the name with which the option ``--plugin`` loads the plug-in of a module."""
    from starcast.catalogue import packs  # noqa: PLC0415

    parent, _, folder = module.partition(".")
    if parent == packs.PACKAGE:
        # Python cannot find such a module; starcast imports it from the folder of the pack.
        folder = folder.partition(".")[0]
        known = {pack.module: pack.folder for pack in packs.loaded()}
        path = known.get(f"{parent}.{folder}")
        return os.path.relpath(path) if path else f"./{folder}"
    loaded = next((path for path in _loaded if Path(path).stem == module), None)
    if loaded is not None:
        return os.path.relpath(loaded) if Path(loaded).is_absolute() else loaded
    return module if "." in module else f"{module}.py"


def run_guarded(noun: str, origin: Origin, action: Callable[[], Any]) -> Any:
    """Run an action and return its result; errors in a plug-in name the plug-in's function.

    Args:
        noun: a noun phrase for messages that names the entry whose function is called.
        origin: the origin of the entry's function.
        action: a function without parameters that calls the entry's function.

    Raises:
        InputError: a plug-in's function raised an exception, which is the cause of this error.
        KeyboardInterrupt: the user pressed Ctrl-C.
    """
    if origin.is_shipped:
        return action()
    try:
        with _in_one_process():
            return action()
    except KeyboardInterrupt:
        raise
    # SystemExit is also caught: sys.exit() in a plug-in would end the command as if it had
    # succeeded.
    except BaseException as error:
        raise InputError(
            f"{noun} ({origin}) raised {describe(error)}",
            hint="correct the plug-in; set STARCAST_DEBUG=1 to see the traceback of the error",
        ) from error


def guard(
    noun: str, origin: Origin, function: Callable[..., Any], read: Callable[[Any], Any]
) -> Callable[..., Any]:
    """Wrap a plug-in's function so that errors name the function, and results are checked.

    Args:
        noun: a noun phrase for messages that names the entry; see `run_guarded`.
        origin: the origin of the entry's function.
        function: the function to wrap. A function of starcast is returned unchanged.
        read: a function that checks a result and converts it to the result of the wrapper.
    """
    if origin.is_shipped:
        return function
    return lambda *given: run_guarded(noun, origin, lambda: read(function(*given)))


def read_text(value: Any) -> str | None:
    """Check that a value is a string or None, and return it.

    Raises:
        TypeError: the value is neither a string nor None.
    """
    if not isinstance(value, str | None):
        raise TypeError(f"the result is of type {type(value).__name__}, not str or None")
    return value


@contextmanager
def _in_one_process() -> Iterator[None]:
    """Return a context for a plug-in's code; forked processes exit at the end of the context.

    Without this context, a forked process would execute the rest of the command a second time.
    """
    process = os.getpid()
    try:
        yield
    finally:
        if os.getpid() != process:
            os._exit(int(sys.exc_info()[0] not in (None, SystemExit)))


def describe(error: BaseException) -> str:
    """Return an exception's class name and the first line of its message."""
    try:
        text = error.message if isinstance(error, StarcastError) else str(error)
        return f"{type(error).__name__}: {next(iter(text.splitlines()), 'no message')}"
    except BaseException:  # noqa: BLE001 - the class of the exception belongs to a plug-in
        return f"{type(error).__name__}, whose message cannot be read"


@contextmanager
def located(noun: str, origin: Origin) -> Iterator[None]:
    """Return a context for reading a result of a plug-in's function; errors name the function."""
    try:
        yield
    # A lazy result, such as a generator, executes the plug-in's code while it is read, so it may
    # raise SystemExit.
    except BaseException as error:
        if origin.is_shipped or isinstance(error, KeyboardInterrupt):
            raise
        if isinstance(error, InputError):
            raise InputError(f"{noun} ({origin}): {error.message}", hint=error.hint) from None
        if isinstance(error, StarcastError):
            raise
        raise InputError(
            f"{noun} ({origin}) returned a value that cannot be read: {describe(error)}",
            hint="correct the plug-in; set STARCAST_DEBUG=1 to see the traceback of the error",
        ) from error


#: The group of entry points in which installed packages declare their plug-ins.
ENTRY_POINTS = "starcast.plugins"


#: The names passed to `load`, in the order of loading; paths are absolute.
_loaded: dict[str, None] = {}


def load(names: Iterable[str]) -> None:
    """Import the named plug-ins, and all plug-ins that installed packages declare.

    Loading a file again replaces the entries that it defined.

    Args:
        names: names of modules, paths of .py files, or folders of paper packs.

    Raises:
        InputError: a plug-in does not exist, cannot be imported, or contains invalid declarations,
            or two plug-ins have different modules of the same name.
    """
    from importlib.metadata import entry_points  # noqa: PLC0415

    from starcast.catalogue import packs  # noqa: PLC0415

    for point in entry_points(group=ENTRY_POINTS):
        try:
            _import(point.value, partial(_import_module, point.module, is_named=False))
        except InputError as error:
            if not packs.is_package(point.module):
                raise
            packs.faults[point.value] = error
    for name in names:
        # Paths are made absolute, because worker processes may have another working directory.
        path = _absolute(name)
        if path.name == packs.CLAIMS or (
            path.suffix == ".py" and path.with_name(packs.CLAIMS).is_file()
        ):
            raise InputError(
                f"'{name}' is a file of a paper pack, not a plug-in",
                hint=f"name the folder of the pack: {path.parent}",
            )
        if name.endswith(".py"):
            _import(name, partial(_import_file, path))
            _loaded[str(path)] = None
        elif packs.is_folder(name):
            _import(name, partial(packs.load_folder, path.resolve()))
            _loaded[str(path.resolve())] = None
        else:
            _import(name, partial(_import_module, name, is_named=True))
            _loaded[name] = None


def _absolute(name: str) -> Path:
    try:
        return Path(name).expanduser().absolute()
    except RuntimeError:  # the path begins with ~NAME of an unknown user
        raise InputError(
            f"the plug-in '{name}' is in the home folder of an unknown user",
            hint="write the path of the plug-in without ~",
        ) from None


#: Like `load`, but loads the same names only once per process.
load_once = cache(load)


def loadable() -> tuple[str, ...]:
    """Return the names with which another process can `load` all plug-ins of this process.

    Raises:
        InputError: an entry is defined in a script or notebook, which other processes cannot
            import.
    """
    from starcast.catalogue import packs  # noqa: PLC0415

    files = {path for path in _loaded if path.endswith(".py")}
    names = dict(_loaded)
    for (kind, name), origin in ORIGINS.items():
        if origin.module == "__main__":
            raise InputError(
                f"other processes cannot import the {kind} '{name}': it is defined in "
                f"{origin.file}, which is run as a script",
                hint=f"move the {kind} to a file that you import, or use one process",
            )
        if origin.file not in files and not packs.find(origin.file):
            names[origin.module] = None
    return tuple(names)


def _import(name: str, action: Callable[[], object]) -> None:
    try:
        with _in_one_process():
            action()
    # An InputError of a decorator already names the file and the line of the function.
    except InputError:
        raise
    except ModuleNotFoundError as error:
        raise InputError(
            f"the plug-in '{name}' cannot be imported: {error.msg or describe(error)}",
            hint="name a module that Python finds, a .py file, or the folder of a paper pack",
        ) from None
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # includes SystemExit, which would end the command
        raise InputError(
            f"the plug-in '{name}' cannot be imported: {describe(error)}",
            hint="correct the plug-in; set STARCAST_DEBUG=1 to see the traceback of the error",
        ) from error


class _Loader(SourceFileLoader):
    """An import loader that compiles a plug-in's file each time, without the bytecode cache.

    Python's bytecode cache treats a file as unchanged if its size and its modification time, in
    whole seconds, are the same. With the cache, an old version of an edited plug-in could run.
    """

    def get_code(self, fullname: str) -> CodeType:  # noqa: ARG002 - the name is fixed
        """Return the compiled code of the file's current content."""
        return self.source_to_code(self.get_data(self.path), self.path)


#: The modules that plug-in files import from their own folders: for each module name, the path of
#: the plug-in and the content of the module.
_imported: dict[str, tuple[Path, bytes]] = {}


class _Finder:
    """An import hook that finds the modules in `_imported`, which are not installed."""

    @staticmethod
    def find_spec(name: str, *_: object) -> ModuleSpec | None:
        """Return the location of a top-level module in `_imported`; None for other modules."""
        for module, (plugin, _content) in _imported.items():
            if module.partition(".")[0] == name:
                return PathFinder.find_spec(name, [str(plugin.parent)])
        return None


sys.meta_path.insert(0, _Finder)


def _import_module(name: str, *, is_named: bool) -> None:
    from starcast.catalogue import packs  # noqa: PLC0415

    importlib.import_module(name)
    if packs.is_package(name):
        packs.load_package(name, is_named=is_named)


def is_installed(name: str, path: Path | None = None) -> bool:
    """Return whether Python or an installed package has a top-level module of the given name.

    Args:
        name: the name of the module.
        path: the file of a module that is ignored, even if it is installed.
    """
    from starcast.catalogue.plugin_files import SHARED  # noqa: PLC0415

    if name == "starcast" or name in sys.stdlib_module_names:
        return True
    spec = PathFinder.find_spec(name)
    if spec is None or spec.origin is None:
        return False
    origin = Path(spec.origin)
    is_same = path is not None and origin.resolve() == path.resolve()
    return not is_same and not SHARED.isdisjoint(origin.parts)


def _import_file(path: Path) -> None:
    from starcast.catalogue import packs  # noqa: PLC0415

    if not path.is_file():
        raise InputError(
            f"the plug-in {path} is not an existing file", hint="name an existing .py file"
        )
    if not packs.is_sent(path) and is_installed(path.stem, path):
        raise InputError(
            f"the plug-in {path} has the name of a module of Python or of an installed package",
            hint="rename the file",
        )
    _claim_modules(path)
    loader = _Loader(path.stem, str(path))
    module = importlib.util.module_from_spec(ModuleSpec(path.stem, loader, origin=str(path)))
    # Objects of the module can only be sent to worker processes if the module is in `sys.modules`.
    sys.modules[path.stem] = module
    loader.exec_module(module)


def _claim_modules(path: Path) -> None:
    """Let Python find the modules that a plug-in file imports from its own folder.

    If one of these modules has changed, all of them are removed from `sys.modules`, so that they
    are imported again.

    Raises:
        InputError: another loaded plug-in has a different module of the same name.
    """
    from starcast.catalogue.plugin_files import find_modules  # noqa: PLC0415

    importlib.invalidate_caches()
    modules = find_modules(path.stem, path)
    del modules[path.stem]
    loaded = {origin.file for origin in ORIGINS.values()}
    for name, (_, content) in modules.items():
        other, known = _imported.get(name, (path, content))
        if known == content:
            continue
        is_replaced = other.stem == path.stem or other.parent == path.parent
        # Python keeps only one module of each name, and a function of the other plug-in may import
        # its module later.
        if not is_replaced and str(other) in loaded:
            raise InputError(
                f"the plug-ins {other} and {path} import different modules named '{name}'",
                hint="rename one of the modules",
            )
        # All modules are imported again, so that the plug-in's SHA-256 is that of the running code.
        for each in modules:
            sys.modules.pop(each, None)
    _imported.update({name: (path, content) for name, (_, content) in modules.items()})


@dataclass(frozen=True)
class PluginLoader:
    """A picklable function that loads plug-ins in another process.

    Loaders with equal plug-ins are equal.

    Attributes:
        plugins: for each plug-in, the name of its module or (for a paper pack) of its folder, and
            its files, as pairs of relative path and content. No files are listed for a module in a
            package, which must be installed on the worker.
    """

    plugins: tuple[tuple[str, tuple[tuple[str, bytes], ...]], ...]

    def __call__(self) -> None:
        """Load the plug-ins.

        Raises:
            InputError: the package of a plug-in is not installed, or a plug-in cannot be imported.
        """
        load([_file(name, files) if files else name for name, files in self.plugins])


def pack(names: Sequence[str] | None = None) -> PluginLoader:
    """Return a loader that loads the plug-ins of this process in another process.

    Args:
        names: names that `load` accepts; by default the names of all loaded plug-ins.

    Raises:
        InputError: an entry is defined in a script or notebook, which other processes cannot
            import; a file of a plug-in cannot be read; or a paper pack is too large.
    """
    return PluginLoader(tuple(map(_pack, loadable() if names is None else names)))


def _pack(name: str) -> tuple[str, tuple[tuple[str, bytes], ...]]:
    from starcast.catalogue import packs  # noqa: PLC0415
    from starcast.catalogue.plugin_files import find_modules  # noqa: PLC0415

    if packs.is_folder(name):
        folder = Path(name)
        contents = {f"{folder.name}/{file}": data for file, data in packs.read_files(folder)}
        return folder.name, tuple(contents.items())
    if name.endswith(".py"):
        path: Path | None = Path(name)
    else:
        spec = importlib.util.find_spec(name)
        is_single_file = (
            spec is not None and "." not in name and not spec.submodule_search_locations
        )
        path = Path(spec.origin) if spec and is_single_file and spec.origin else None
    if path is None:
        return name, ()
    try:
        files = find_modules(path.stem, path).values()
        contents = {str(file.relative_to(path.parent)): content for file, content in files}
        return path.stem, tuple(sorted(contents.items()))
    except OSError as error:
        raise InputError(
            f"the plug-in {path} cannot be sent to workers: {(error.strerror or '').lower()}",
            hint="check that the file still exists",
        ) from None


@cache  # the object must live as long as the process, because deleting it deletes the folder
def _folder() -> "TemporaryDirectory[str]":
    """Return a temporary folder for plug-in files, which is deleted when this process ends."""
    from tempfile import TemporaryDirectory  # noqa: PLC0415

    from starcast.catalogue.packs import SENT  # noqa: PLC0415

    return TemporaryDirectory(prefix=SENT)


def _file(name: str, files: tuple[tuple[str, bytes], ...]) -> str:
    """Write the files of a plug-in to a temporary folder, and return the name that `load` accepts.

    This name is the path of the plug-in's file, or of the pack's folder.
    """
    import hashlib  # noqa: PLC0415

    # The folder's name depends on the contents, so versions of a plug-in do not overwrite each
    # other.
    folder = Path(_folder().name) / hashlib.sha256(repr(files).encode()).hexdigest()[:16]
    for file, content in files:
        path = folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    own = folder / f"{name}.py"
    return str(own if own.is_file() else folder / name)
