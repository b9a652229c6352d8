"""Compilation of inner loops with numba; compiled functions are cached on disk.

Compilations are announced to the current reporter, because they take up to a minute.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from starcast.support.errors import InputError
from starcast.support.installation import install_command
from starcast.support.progress import current_reporter

try:
    import numba
    from numba.core import event
except ImportError:
    raise InputError(
        "this computation needs numba, which is not installed",
        hint=f"install it with: {install_command('blocks')}",
    ) from None

Function = TypeVar("Function", bound=Callable[..., Any])

#: The modules with `jit` functions whose compilation has not been announced in this process.
_unannounced: set[str] = set()


def jit(function: Function) -> Function:
    """Return a function that numba compiles at its first call.

    If possible, the compiled code is cached on disk for later processes. Functions are inlined, so
    that calls of small functions cost nothing. Functions should copy arrays with loops: numba takes
    seconds to compile a slice assignment, because it also compiles the assignment's error messages.
    """
    _unannounced.add(function.__module__)
    compiler = partial(numba.njit, nogil=True, forceinline=True)
    try:
        compiled = compiler(cache=True)(function)
    # If no cache folder is writable, every process compiles the function.
    except RuntimeError:
        compiled = compiler()(function)
    return cast("Function", compiled)


class _Announcement(event.Listener):
    """A listener for numba's compile events that reports compilations to the current reporter.

    Each module with `jit` functions is announced once, when the first of its functions is compiled.
    Functions that are compiled only as parts of other functions, and functions of other libraries,
    are not announced. Loading a compiled function from the cache sends no event.
    """

    def __init__(self) -> None:
        self._depth = 0

    def on_start(self, compilation: Any) -> None:
        self._depth += 1
        dispatcher = compilation.data["dispatcher"]
        module = dispatcher.py_func.__module__
        if self._depth > 1 or module not in _unannounced:
            return
        _unannounced.remove(module)
        when = "only in the first run"
        if dispatcher.stats.cache_path is None:
            when = "in every run, because no cache folder is writable: set NUMBA_CACHE_DIR"
        current_reporter().say(
            f"compiling the loops of {module} with numba takes up to a minute, {when}"
        )

    def on_end(self, compilation: Any) -> None:  # noqa: ARG002 - as in numba's class
        self._depth -= 1


event.register("numba:compile", _Announcement())  # type: ignore[no-untyped-call]
