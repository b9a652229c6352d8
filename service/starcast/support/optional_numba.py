"""Compilation of inner loops with numba; if numba is not installed, the loops are interpreted.

Modules with such loops are imported only when they are needed, because importing numba is slow.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from starcast.support.errors import InputError

__all__ = ["IS_COMPILED", "as_workspace", "jit"]

Function = TypeVar("Function", bound=Callable[..., Any])

try:
    from starcast.support.compiled import jit

    IS_COMPILED = True
except InputError:
    IS_COMPILED = False

    def jit(function: Function) -> Function:
        """Return the function unchanged, so that Python interprets it."""
        return function


def as_workspace(array: NDArray[Any]) -> Any:
    """Return an array in the form that loops process fastest.

    Compiled loops get a contiguous array, interpreted loops get a list.
    """
    return np.ascontiguousarray(array) if IS_COMPILED else array.tolist()
