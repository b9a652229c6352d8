"""Compilation of inner loops with numba; compiled functions are cached on disk."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar, cast

from starcast.support.errors import InputError
from starcast.support.installation import install_command
from starcast.support.progress import Reporter

try:
    import numba
    from numba.core import event
except ImportError:
    raise InputError(
        "this computation needs numba, which is not installed",
        hint=f"install it with: {install_command('blocks')}",
    ) from None

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile a function at its first call; later processes load the result from the cache.

    Functions are inlined, so that calls of small functions cost nothing. Functions should copy
    arrays with loops instead of slice assignments, which numba compiles together with their error
    messages; this takes seconds.
    """
    compiler = partial(numba.njit, nogil=True, forceinline=True)
    try:
        compiled = compiler(cache=True)(function)
    # There is no writable folder for the cache, so every process compiles the function.
    except RuntimeError:
        compiled = compiler()(function)
    return cast("Function", compiled)


class _Announcement(event.Listener):
    """A listener for numba's compile events that reports the first compilation.

    Loading a compiled function from the cache sends no event.
    """

    def __init__(self, reporter: Reporter, subject: str) -> None:
        self._reporter = reporter
        self._subject = subject
        self._is_made = False

    def on_start(self, compilation: Any) -> None:
        if self._is_made:
            return
        self._is_made = True
        when = "only in the first run"
        if compilation.data["dispatcher"].stats.cache_path is None:
            when = "in every run, since no folder can keep the result: set NUMBA_CACHE_DIR"
        self._reporter.say(f"compiling {self._subject} with numba, up to a minute, {when}")

    def on_end(self, compilation: Any) -> None:
        pass


@contextmanager
def announced(reporter: Reporter, subject: str) -> Iterator[None]:
    """Report the first compilation within the context, because it can take up to a minute."""
    with event.install_listener("numba:compile", _Announcement(reporter, subject)):
        yield
