"""The compiler of the inner loops: numba, with its results cached on disk."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, cast

from starcast.support.errors import InputError

try:
    import numba
except ImportError:
    raise InputError(
        "this needs numba, which is not installed",
        hint="pip install 'starcast[blocks]' or 'starcast[search]'",
    ) from None

Function = TypeVar("Function", bound=Callable[..., Any])


def jit(function: Function) -> Function:
    """Compile a function at its first call; later processes load the result from the cache.

    Functions are inlined, so that small ones cost nothing. Arrays are copied in loops: numba
    compiles an assignment of slices together with the texts of its errors, which takes seconds.
    """
    compiler = partial(numba.njit, nogil=True, forceinline=True)
    try:
        compiled = compiler(cache=True)(function)
    except RuntimeError:  # no folder for the cache is writable: every process compiles
        compiled = compiler()(function)
    return cast("Function", compiled)
