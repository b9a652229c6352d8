"""Read-only arrays, and a reader of numpy archives (npz) with size limits.

The size of an array is checked before the array is allocated.
"""

import io
import zipfile
from collections.abc import Mapping
from math import prod
from typing import Any, TypeVar

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from starcast.support.limited import MB, check_method, open_archive, refuse_size

Scalar = TypeVar("Scalar", bound=np.generic)
#: An array of integers of any numpy type, such as a column of a schedule's rows.
Integers = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]
#: A boolean mask, which is True for the selected entries of another array.
Mask = NDArray[np.bool_]

#: Maximum size of an array in bytes. A forest with ten trees on S11, or one tree on S12, fits.
MAX_ARRAY = 500 * MB
#: Maximum size of an array header, in bytes.
_HEADER = 2**16
_READ_HEADER = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def frozen_copy(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Return the array itself if its content can never change, else a read-only copy.

    A read-only view of a writable array is also copied, because a change of that array would change
    the view.
    """
    if array.flags.writeable or (isinstance(array.base, np.ndarray) and array.base.flags.writeable):
        return freeze(array.copy())
    return array


def freeze(array: NDArray[Scalar]) -> NDArray[Scalar]:
    """Make an array read-only, in place, and return it.

    The caller must not keep a writable view of the array.
    """
    array.flags.writeable = False
    return array


class ArrayArchive:
    """The arrays of an npz archive.

    An array is refused if its size differs from the size that its npy header specifies.

    Args:
        archive: the open zip archive, whose members are npy files.
        source: name of the input, for error messages.
    """

    def __init__(self, archive: zipfile.ZipFile, source: object) -> None:
        self._archive = archive
        self._source = source
        self._members = {info.filename: info for info in archive.infolist()}

    def __contains__(self, name: str) -> bool:
        return f"{name}.npy" in self._members

    def names(self) -> list[str]:
        """Return the names of the arrays.

        Raises:
            ValueError: a member of the archive is not an npy file.
        """
        if not all(name.endswith(".npy") for name in self._members):
            raise ValueError("a member of the archive is not an array")
        return [name.removesuffix(".npy") for name in self._members]

    def header(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Compare an array's size with its header, and return the array's shape and dtype.

        Raises:
            ValueError: the array is missing or encrypted, has an unsupported format or compression,
                contains pickled objects, or does not have the size that its header specifies.
        """
        info = self._members.get(f"{name}.npy")
        if info is None:
            raise ValueError(f"the array '{name}' is missing")
        check_method(info)
        with self._archive.open(info) as member:
            version = npy.read_magic(member)
            if version not in _READ_HEADER:
                raise ValueError(f"the array '{name}' has an unsupported version of the npy format")
            shape, _, dtype = _READ_HEADER[version](member, max_header_size=_HEADER)
            size = member.tell() + prod(shape) * dtype.itemsize
        # If values had 0 bytes each, the header could claim any number of values, and the size
        # would still agree.
        is_valid = min(shape, default=0) >= 0 and dtype.itemsize > 0 and not dtype.hasobject
        if not is_valid or info.file_size != size:
            raise ValueError(
                f"the header of the array '{name}' is invalid, or does not match its size"
            )
        return shape, dtype

    def read(self, name: str, limit: int = MAX_ARRAY) -> NDArray[Any]:
        """Return the array with the given name.

        Raises:
            LimitError: the array has more bytes than the limit.
            Exception: the archive is damaged; `starcast.support.limited.DAMAGE` lists the types.
        """
        shape, dtype = self.header(name)
        if prod(shape) * dtype.itemsize > limit:
            refuse_size(f"the array '{name}' of {self._source}", limit)
        with self._archive.open(f"{name}.npy") as member:
            return npy.read_array(member, allow_pickle=False)


def read_arrays(content: bytes, limit: int, source: object) -> Mapping[str, NDArray[Any]]:
    """Return all arrays of an npz file, by name.

    Args:
        content: the bytes of the file.
        limit: the maximum total size of all arrays, in bytes.
        source: name of the input, for error messages.

    Raises:
        Exception: the archive is damaged; `starcast.support.limited.DAMAGE` lists the types.
        LimitError: the arrays have more bytes than the limit, or one has more than `MAX_ARRAY`.
    """
    with open_archive(io.BytesIO(content)) as archive:
        parts = ArrayArchive(archive, source)
        sizes = [prod(shape) * dtype.itemsize for shape, dtype in map(parts.header, parts.names())]
        if sum(sizes) > limit:
            refuse_size(source, limit)
        return {name: parts.read(name) for name in parts.names()}
