"""Arrays that nobody can change behind our back."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


def read_only(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """The array itself where nobody can write it, else a read-only copy."""
    if array.flags.writeable or (isinstance(array.base, np.ndarray) and array.base.flags.writeable):
        array = array.copy()
        array.flags.writeable = False
    return array


def sealed(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """An array of our own, made read-only in place."""
    array.flags.writeable = False
    return array
