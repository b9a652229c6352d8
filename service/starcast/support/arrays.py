"""Read-only arrays."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


def frozen_copy(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return the array itself if it cannot be written, else a read-only copy.

    A view of a writable array counts as writable: its content can change through the base array.
    """
    # A read-only view still changes with the array behind it.
    if array.flags.writeable or (isinstance(array.base, np.ndarray) and array.base.flags.writeable):
        return freeze(array.copy())
    return array


def freeze(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Make an array read-only in place and return it. The caller must own it."""
    array.flags.writeable = False
    return array
