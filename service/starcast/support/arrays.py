"""Read-only arrays."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Scalar = TypeVar("Scalar", bound=np.generic)


def frozen_copy(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return the array itself if its content cannot change, else a read-only copy.

    A view of a writable array is copied: its content can change through the base array.
    """
    # The content of a read-only view still changes when its base array does.
    if array.flags.writeable or (isinstance(array.base, np.ndarray) and array.base.flags.writeable):
        return freeze(array.copy())
    return array


def freeze(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Make an array that no other code writes to read-only, in place, and return it."""
    array.flags.writeable = False
    return array
