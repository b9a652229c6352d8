"""The origin of entries (starcast or a plug-in), and errors that name the plug-in."""

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import CodeType, MappingProxyType
from typing import Any

from starcast.support.errors import InputError, StarcastError

_NONE: Mapping[str, Any] = MappingProxyType({})


class PluginMissingError(InputError):
    """Error: an artifact cannot be rebuilt, because a plug-in that it needs is not loaded."""


@dataclass(frozen=True)
class Origin:
    """The function that defines an entry.

    Attributes:
        module: the name of its module; for a file, the file name without its extension.
        file: the source file.
        line: the line of the function.
    """

    module: str
    file: str
    line: int

    @classmethod
    def of(cls, function: Callable[..., Any]) -> "Origin":
        """Return the origin of a function.

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
        """The SHA-256 of the source file; empty if there is no file, as in a notebook."""
        # Imported only when needed, to keep the import of starcast fast.
        import hashlib  # noqa: PLC0415

        path = Path(self.file)
        return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""

    @property
    def version(self) -> str:
        """The ``__version__`` of the module; empty if it has none."""
        return str(getattr(sys.modules.get(self.module), "__version__", ""))

    def describe(self) -> dict[str, str]:
        """Return the module, version and SHA-256 as a mapping, which is stored with results."""
        return {"module": self.module, "version": self.version, "sha256": self.sha256}

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


#: The origin of every entry of a plug-in, by kind (such as ``construction``) and name.
ORIGINS: dict[tuple[str, str], Origin] = {}

#: Provenance maps the name of each entry from a plug-in to the plug-in's module, version and
#: SHA-256.
Provenance = Mapping[str, Mapping[str, str]]


def describe_used(
    topology: Any, entry: tuple[str, str] | None = None, arguments: Mapping[str, Any] = _NONE
) -> dict[str, dict[str, str]]:
    """Return the provenance of the plug-ins that an artifact or a run needs.

    Args:
        topology: the `Topology` of the artifact or run.
        entry: the kind and name of the construction or algorithm.
        arguments: the arguments of the entry, which may name constructions.
    """
    used = [("family", topology.family)]
    if entry is not None:
        used.append(entry)
    # If an argument names a construction, the plug-in of that construction is needed too.
    used += [("construction", value) for value in arguments.values() if isinstance(value, str)]
    return {key[1]: ORIGINS[key].describe() for key in used if key in ORIGINS}


def find_changed(recorded: Provenance) -> list[str]:
    """Return the entries whose loaded plug-in has other source code than the provenance records."""
    loaded = {name: origin for (_, name), origin in ORIGINS.items()}
    return [
        name
        for name, plugin in recorded.items()
        if name in loaded and loaded[name].sha256 != plugin["sha256"]
    ]


def find_missing(recorded: Provenance) -> list[str]:
    """Describe the entries in a provenance that no loaded plug-in defines."""
    loaded = {name for _, name in ORIGINS}
    missing = {name: plugin for name, plugin in recorded.items() if name not in loaded}
    return [
        f"'{name}' of the plug-in {plugin['module']} (version {plugin['version'] or 'unknown'},"
        f" SHA-256 {plugin['sha256'][:12] or 'unknown'})"
        for name, plugin in missing.items()
    ]


def require_plugins(noun: str, recorded: Provenance) -> None:
    """Check that all plug-ins in a provenance are loaded.

    Raises:
        PluginMissingError: one of the plug-ins is not loaded.
    """
    if missing := find_missing(recorded):
        raise PluginMissingError(
            f"{noun} needs a plug-in that is not loaded: {', '.join(missing)}",
            hint="name its file with --plugin or STARCAST_PLUGINS",
        )


def run_guarded(noun: str, origin: Origin, action: Callable[[], Any]) -> Any:
    """Run an action and return its result; if a plug-in fails, the error names its function.

    Args:
        noun: the entry whose function is called, for messages.
        origin: the origin of that function.
        action: a function that makes the call.

    Raises:
        InputError: a plug-in's function raised an exception, which is the cause of this error.
        KeyboardInterrupt: the user has pressed Ctrl-C.
    """
    if origin.is_shipped:
        return action()
    try:
        return action()
    except KeyboardInterrupt:
        raise
    # SystemExit is also caught: sys.exit() in a plug-in would end the command as if it had
    # succeeded.
    except BaseException as error:
        raise InputError(
            f"{noun} ({origin}) raised {describe(error)}",
            hint="correct the plug-in; STARCAST_DEBUG=1 shows its traceback",
        ) from error


def describe(error: BaseException) -> str:
    """Return the class of an exception and the first line of its message."""
    text = error.message if isinstance(error, StarcastError) else str(error)
    return f"{type(error).__name__}: {next(iter(text.splitlines()), 'no message')}"


@contextmanager
def located(noun: str, origin: Origin) -> Iterator[None]:
    """Read a function's result in this context; its errors then name the plug-in's function."""
    try:
        yield
    except Exception as error:
        if origin.is_shipped:
            raise
        if isinstance(error, InputError):
            raise InputError(f"{noun} ({origin}): {error.message}", hint=error.hint) from None
        if isinstance(error, StarcastError):
            raise
        raise InputError(
            f"{noun} ({origin}) returned a value that cannot be read: {describe(error)}",
            hint="correct the plug-in; STARCAST_DEBUG=1 shows its traceback",
        ) from error
