"""Limited reading of files that users give: a small file cannot take much memory or time.

A compressed file can claim a thousand times its own size, a text of JSON takes up to a hundred
times its length as Python objects, and the header of an array can claim any size. All readers of
such files use these functions, which compare sizes with limits before anything is allocated.
"""

import gzip
import io
import json
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from math import prod
from tokenize import TokenError
from typing import IO, Any, NoReturn, cast

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from starcast.errors import LimitError

MB = 10**6
#: Bytes of a text that people write, such as a grid or settings.
SMALL_TEXT = MB
#: Bytes of arrays in a file: all trees of S11, or one of S12.
MAX_ARRAYS = 500 * MB
#: Memory that the objects of a JSON text may take.
_JSON_MEMORY = 400 * MB
#: Memory of the objects in a JSON text by the bytes that introduce them: a string takes 64 bytes
#: for two quotes, an object or array its smallest size, a number 32 bytes and a place in an array.
_JSON_COSTS = {b"{": 232, b"[": 80, b'"': 32, b",": 40, b":": 60}
_GZIP = b"\x1f\x8b"
#: Bytes read at once from an archive, which limits its directory as well.
_CHUNK = 2 * MB
#: Greatest size of the header of an array.
_HEADER = 2**16
_ENCRYPTED = 1  # the bit of a member's flags
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_READ_HEADER = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}

#: Exceptions of Python's and numpy's readers for damaged archives and arrays.
DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    EOFError,
    MemoryError,
    OverflowError,
    RuntimeError,  # also NotImplementedError and RecursionError
    SyntaxError,
    TokenError,  # of numpy's parser of headers
)


class LimitedStream:
    """A binary stream of which at most a number of bytes is read.

    Args:
        stream: a file, or what decompresses it.
        limit: the number of bytes.
        source: what is read, for messages.
    """

    def __init__(self, stream: IO[bytes], limit: int, source: object) -> None:
        self._stream = stream
        self._limit = limit
        self._left = limit
        self._source = source

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes: all, or at most ``size``.

        Raises:
            LimitError: there are more bytes than the limit.
        """
        if size < 0 or size > self._left:
            size = self._left + 1
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            refuse_size(self._source, self._limit)
        return data


def refuse_size(source: object, limit: int) -> NoReturn:
    """Refuse what is larger than a limit.

    Raises:
        LimitError: always.
    """
    size = f"{limit // MB:,} MB" if limit >= MB else f"{limit:,} bytes"
    raise LimitError(
        f"{source} holds more than {size}, the most that is read from such a file",
        hint="divide its content into several files; a much smaller file of this kind is damaged",
    )


def read_bytes(path: str | os.PathLike[str], limit: int) -> bytes:
    """Return the content of a file, which is decompressed if it is a gzip file.

    Raises:
        OSError: the file cannot be read.
        ValueError: its compressed data is damaged.
        LimitError: there are more bytes than the limit.
    """
    with open(path, "rb") as file:  # noqa: PTH123 - a device or a pipe is read as well
        is_compressed = file.peek(len(_GZIP)).startswith(_GZIP)
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if is_compressed else file
        try:
            return LimitedStream(stream, limit, path).read()
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise ValueError("its compressed data is incomplete or damaged") from None


def read_text(path: str | os.PathLike[str], limit: int = SMALL_TEXT) -> str:
    """Return the text of a file in UTF-8.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is not UTF-8.
        LimitError: there are more bytes than the limit.
    """
    with open(path, "rb") as file:  # noqa: PTH123 - a device or a pipe is read as well
        return LimitedStream(file, limit, path).read().decode()


def parse_json(data: bytes, source: object) -> Any:
    """Return the value of a JSON text in UTF-8.

    Raises:
        ValueError: it is not JSON, is nested too deeply, or has a number such as NaN.
        LimitError: its objects would take too much memory.
    """
    text = data.decode()
    needed = len(data) + 2 * sys.getsizeof(text)
    needed += sum(data.count(mark) * cost for mark, cost in _JSON_COSTS.items())
    if needed > _JSON_MEMORY:
        raise LimitError(
            f"{source} has so many values that they would take up to {needed // MB:,} MB of memory,"
            f" and {_JSON_MEMORY // MB} MB are allowed",
            hint="divide its content into several files",
        )
    try:
        return json.loads(text, parse_constant=_refuse_constant)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


def _decode(text: str) -> tuple[Any, int]:
    """Return the value at the beginning of a text, and its length."""
    try:
        return _DECODER.raw_decode(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
_INCOMPLETE = "its text is incomplete or damaged"
_BLANKS = re.compile(rb"[ \t\n\r]*")
#: Bytes in which a value is looked for, one after the other.
_WINDOWS = (2**14, 2**18, 2**23)


@contextmanager
def open_archive(source: str | os.PathLike[str] | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive whose directory has a limited size.

    Raises:
        OSError: the file cannot be read.
        zipfile.BadZipFile: it is not a zip archive, or its directory is too large.
        NotImplementedError: the archive needs another version of the format.
    """
    if isinstance(source, str | os.PathLike):
        with open(source, "rb") as file, open_archive(file) as archive:  # noqa: PTH123 - as above
            yield archive
        return
    with zipfile.ZipFile(cast("IO[bytes]", _SmallReads(source))) as archive:
        yield archive


class _SmallReads:
    """A file that refuses to read much at once; `zipfile` reads a directory as a whole."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size if 0 <= size <= _CHUNK else _CHUNK + 1)
        if len(data) > _CHUNK:
            raise zipfile.BadZipFile("its directory is too large")
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def read_member(archive: zipfile.ZipFile, name: str, limit: int, source: object) -> bytes:
    """Return a member of an archive.

    Raises:
        Exception: one of `DAMAGE`.
        LimitError: the member has more bytes than the limit.
    """
    info = archive.getinfo(name)
    if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
        raise ValueError(f"{name} is encrypted or compressed by an unknown method")
    with archive.open(info) as member:
        return LimitedStream(member, limit, source).read()


class ArrayArchive:
    """The arrays of an npz archive, each read only if its header agrees with its size.

    Args:
        archive: the archive.
        source: what is read, for messages.
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
            ValueError: a member is not an array.
        """
        if not all(name.endswith(".npy") for name in self._members):
            raise ValueError("a part is not an array")
        return [name.removesuffix(".npy") for name in self._members]

    def header(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return the shape and dtype of an array after comparing them with its size.

        Raises:
            ValueError: the array is missing, encrypted, of pickled objects, or has another size.
        """
        info = self._members.get(f"{name}.npy")
        if info is None or info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
            raise ValueError(f"{name} is missing, encrypted or compressed by an unknown method")
        with self._archive.open(info) as member:
            version = npy.read_magic(member)
            if version not in _READ_HEADER:
                raise ValueError(f"{name} has another format")
            shape, _, dtype = _READ_HEADER[version](member, max_header_size=_HEADER)
            size = member.tell() + prod(shape) * dtype.itemsize
        # Without a size per value, numpy would count up to any number of values.
        is_valid = min(shape, default=0) >= 0 and dtype.itemsize > 0 and not dtype.hasobject
        if not is_valid or info.file_size != size:
            raise ValueError(f"{name} does not have the size of its array")
        return shape, dtype

    def read(self, name: str, limit: int = MAX_ARRAYS) -> NDArray[Any]:
        """Return an array.

        Raises:
            LimitError: it has more bytes than the limit.
            Exception: one of `DAMAGE`.
        """
        shape, dtype = self.header(name)
        if prod(shape) * dtype.itemsize > limit:
            refuse_size(f"the array '{name}' of {self._source}", limit)
        with self._archive.open(f"{name}.npy") as member:
            return npy.read_array(member, allow_pickle=False)


def read_arrays(content: bytes, limit: int, source: object) -> Mapping[str, NDArray[Any]]:
    """Return all arrays of an npz file.

    Args:
        content: the file.
        limit: the number of bytes that all arrays may have together.
        source: what is read, for messages.

    Raises:
        Exception: one of `DAMAGE`.
        LimitError: the arrays have more bytes than the limit.
    """
    with open_archive(io.BytesIO(content)) as archive:
        parts = ArrayArchive(archive, source)
        sizes = [prod(shape) * dtype.itemsize for shape, dtype in map(parts.header, parts.names())]
        if sum(sizes) > limit:
            refuse_size(source, limit)
        return {name: parts.read(name) for name in parts.names()}


class JsonCursor:
    """A place in a JSON text, whose values are read one after the other.

    So a long list needs no more memory than its text and one of its values.

    Args:
        data: the text, in UTF-8.

    Raises:
        ValueError: from all methods: the text is not JSON here, or a value is too long.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.place = 0

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; the caller reads the value of each."""
        for _ in self._elements(b"{", b"}"):
            if self._peek() != b'"':
                raise ValueError(_INCOMPLETE)
            key = self.value()
            self._expect(b":")
            yield key

    def items(self) -> Iterator[None]:
        """Yield at each value of an array; the caller reads it."""
        return self._elements(b"[", b"]")

    def value(self) -> Any:
        """Return the next value, which has at most 8 MB of text."""
        self.skip_blanks()
        for size in _WINDOWS:
            # A character per byte keeps the places, and the marks of JSON are ASCII.
            window = self.data[self.place : self.place + size].decode("latin-1")
            is_last = self.place + size >= len(self.data)
            with suppress(json.JSONDecodeError):
                value, length = _decode(window)
                if length < len(window) or is_last:
                    return self._advance(value, window[:length])
            if is_last:
                break
        raise ValueError("a value is damaged, or longer than 8 MB")

    def end(self) -> None:
        """Check that nothing follows."""
        self.skip_blanks()
        if self.place < len(self.data):
            raise ValueError("text follows after its end")

    def _advance(self, value: Any, text: str) -> Any:
        start = self.place
        self.place += len(text)
        return value if text.isascii() else json.loads(self.data[start : self.place])

    def _elements(self, opening: bytes, closing: bytes) -> Iterator[None]:
        self._expect(opening)
        if self._peek() == closing:
            self.place += 1
            return
        while True:
            yield
            mark = self._peek()
            self.place += 1
            if mark == closing:
                return
            if mark != b",":
                raise ValueError(_INCOMPLETE)

    def _expect(self, mark: bytes) -> None:
        if self._peek() != mark:
            raise ValueError(_INCOMPLETE)
        self.place += 1

    def _peek(self) -> bytes:
        self.skip_blanks()
        return self.data[self.place : self.place + 1]

    def skip_blanks(self) -> None:
        """Go to the next value or mark."""
        blanks = _BLANKS.match(self.data, self.place)
        self.place = blanks.end() if blanks else self.place
