"""Reading of users' files with limits, so that a small file cannot take much memory or time.

A compressed file can expand to a thousand times its size. The Python objects of a JSON text can
take a hundred times its length. The header of an array can claim any size. All readers of such
files use this module or `starcast.support.arrays`, which compare sizes with limits before they
allocate memory.
"""

import gzip
import json
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from tokenize import TokenError
from typing import IO, Any, NoReturn, cast

import pydantic

from starcast.support.errors import LimitError

MB = 10**6
#: Maximum size in bytes of a text file that people write, such as a grid or settings.
SMALL_TEXT = MB
_GZIP = b"\x1f\x8b"
#: Maximum number of bytes in a single read from an archive. This limits the size of the archive's
#: directory, because `zipfile` reads the directory in a single read.
_CHUNK = 2 * MB
#: The bit that is set in the flags of an encrypted archive member.
_ENCRYPTED = 1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

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
    RuntimeError,  # the base class of NotImplementedError and RecursionError, which are also raised
    SyntaxError,
    TokenError,  # raised by numpy's header parser
)


class LimitedStream:
    """A binary stream from which at most ``limit`` bytes are read.

    Args:
        stream: a file, or a stream that decompresses a file.
        limit: the maximum number of bytes.
        source: name of the input in messages.
    """

    def __init__(self, stream: IO[bytes], limit: int, source: object) -> None:
        self._stream = stream
        self._limit = limit
        self._left = limit
        self._source = source

    def read(self, size: int = -1) -> bytes:
        """Return all remaining bytes, or at most the next ``size`` bytes.

        Raises:
            LimitError: there are more bytes than the limit.
        """
        if size < 0 or size > self._left:
            # Reading one byte more than the limit shows whether the stream is longer.
            size = self._left + 1
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            refuse_size(self._source, self._limit)
        return data


def refuse_size(source: object, limit: int) -> NoReturn:
    """Raise an error for an input that is larger than a limit.

    Raises:
        LimitError: always.
    """
    size = f"{limit // MB:,} MB" if limit >= MB else f"{limit:,} bytes"
    raise LimitError(
        f"{source} holds more than {size}, the limit for such a file",
        hint="divide its content into several files; if the file itself is much smaller, it is "
        "damaged",
    )


def read_bytes(path: str | os.PathLike[str], limit: int) -> bytes:
    """Return the content of a file, decompressed if it is a gzip file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the compressed data is damaged.
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
    """Return the text of a UTF-8 file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is not UTF-8.
        LimitError: there are more bytes than the limit.
    """
    with open(path, "rb") as file:  # noqa: PTH123 - a device or a pipe is read as well
        return LimitedStream(file, limit, path).read().decode()


@contextmanager
def open_archive(source: str | os.PathLike[str] | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive whose directory has a limited size.

    Raises:
        OSError: the file cannot be read.
        zipfile.BadZipFile: the file is not a zip archive, or its directory is too large.
        NotImplementedError: the archive needs another version of the format.
    """
    if isinstance(source, str | os.PathLike):
        with open(source, "rb") as file, open_archive(file) as archive:  # noqa: PTH123 - as above
            yield archive
        return
    with zipfile.ZipFile(cast("IO[bytes]", _SmallReads(source))) as archive:
        yield archive


class _SmallReads:
    """A file that refuses large reads. `zipfile` reads an archive's directory in a single read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        # Reading one byte more than the limit shows whether the directory is larger.
        data = self._file.read(size if 0 <= size <= _CHUNK else _CHUNK + 1)
        if len(data) > _CHUNK:
            raise zipfile.BadZipFile("its directory is too large")
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def read_member(archive: zipfile.ZipFile, name: str, limit: int, source: object) -> bytes:
    """Return the content of a member of an archive.

    Raises:
        Exception: one of `DAMAGE`, if the archive is damaged.
        LimitError: the member has more bytes than the limit.
    """
    info = archive.getinfo(name)
    check_method(info)
    with archive.open(info) as member:
        return LimitedStream(member, limit, source).read()


def check_method(info: zipfile.ZipInfo) -> None:
    """Check that a member of an archive is neither encrypted nor compressed by an unusual method.

    Unusual compression methods allocate as much memory as the member claims to need.

    Raises:
        ValueError: the member is encrypted, or its method of compression is not supported.
    """
    # Checked before `zipfile` creates a decompressor, which may allocate that memory.
    if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
        raise ValueError(f"{info.filename} is encrypted or compressed by an unknown method")


#: Maximum number of keys in a JSON object, because pydantic reports every unknown key.
MAX_KEYS = 64


def check_keys(value: object) -> object:
    """Refuse a JSON object with more than `MAX_KEYS` keys; return any other value unchanged.

    Raises:
        ValueError: the object has too many keys.
    """
    if isinstance(value, dict) and len(value) > MAX_KEYS:
        raise ValueError(f"more than {MAX_KEYS} keys")
    return value


class StrictRecord(pydantic.BaseModel):
    """Base class of the objects in a file, which must not have unknown fields."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    _few_keys = pydantic.model_validator(mode="before")(check_keys)


def describe_error(error: ValueError) -> str:
    """Return the first reason why a JSON value is not valid, with the place in the value.

    Example:
        >>> class Point(StrictRecord):
        ...     x: int
        >>> try:
        ...     Point.model_validate({"x": "left"})
        ... except ValueError as error:
        ...     describe_error(error)
        'x: Input should be a valid integer, unable to parse string as an integer'
    """
    if not isinstance(error, pydantic.ValidationError):
        return str(error)
    # Only the first error is reported: programs write these files, so further errors usually have
    # the same cause.
    details = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(map(str, details["loc"]))
    reason = _MESSAGES.get(details["type"], details["msg"].removeprefix("Value error, "))
    return f"{place}: {reason}" if place else reason


#: Messages that replace those of pydantic about Python's objects.
_MESSAGES = {
    "unexpected_keyword_argument": "Extra inputs are not permitted",
    "dataclass_type": "Input should be a valid dictionary",
}


#: Maximum memory in bytes for the Python objects of a JSON text.
_JSON_MEMORY = 400 * MB
#: Memory of the Python objects in a JSON text, in bytes per occurrence of a character. A brace or
#: bracket counts as the minimum size of an object or array. Each of the two quotes of a string
#: counts as 32 bytes. A comma counts as 40 bytes: 32 for a number and 8 for its entry in an array.
_JSON_COSTS = {b"{": 232, b"[": 80, b'"': 32, b",": 40, b":": 60}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
#: Escapes of NUL and of UTF-16 surrogates. A pair of surrogates encodes one character.
_SPECIAL = re.compile(r"(?<!\\)(?:\\\\)*\\u(0000|[dD][89a-fA-F])")
_INCOMPLETE = "its text is incomplete or damaged"
_BLANKS = re.compile(rb"[ \t\n\r]*")
#: To read one value, a part of the text with the first of these sizes, in bytes, is parsed. Only if
#: the value does not end in this part, which is rare, the next larger size is tried.
_WINDOWS = (2**14, 2**18, 2**23)


def parse_json(data: bytes, source: object) -> Any:
    """Return the value of a UTF-8 JSON text.

    Raises:
        ValueError: the text is not JSON, is nested too deeply, or has a constant such as NaN.
        LimitError: the Python objects would take too much memory.
    """
    text = data.decode()
    needed = len(data) + 2 * sys.getsizeof(text)
    needed += sum(data.count(mark) * cost for mark, cost in _JSON_COSTS.items())
    if needed > _JSON_MEMORY:
        raise LimitError(
            f"the values of {source} would take up to {needed // MB:,} MB of memory; the limit is"
            f" {_JSON_MEMORY // MB} MB",
            hint="divide its content into several files",
        )
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        _check_characters(text, value)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def _check_characters(text: str, value: object) -> None:
    """Refuse unpaired surrogates, which UTF-8 cannot encode, and NUL, which PostgreSQL refuses.

    Args:
        text: the JSON text, in which such characters are written as escapes.
        value: the parsed value of the text.

    Raises:
        ValueError: the text has such a character.
    """
    if "\\u" in text and (found := _SPECIAL.search(text)):
        if found[1] == "0000":
            raise ValueError("a string contains a NUL character")
        # Encoding raises an error if the value has an unpaired surrogate.
        json.dumps(value, ensure_ascii=False).encode()


def _decode(text: str) -> tuple[Any, int]:
    """Return the JSON value at the beginning of a text, and its length."""
    try:
        value, length = _DECODER.raw_decode(text)
        _check_characters(text[:length], value)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value, length


class JsonCursor:
    """A reading position in a JSON text, whose values are read one by one.

    Reading a long list thus needs no more memory than its text and one value.

    Args:
        data: the text, in UTF-8.

    Raises:
        ValueError: raised by all methods if the text is not JSON at this position, or a value is
            too long.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; after each key, the caller reads its value."""
        for _ in self._elements(b"{", b"}"):
            if self._peek() != b'"':
                raise ValueError(_INCOMPLETE)
            key = self.value()
            self._expect(b":")
            yield key

    def items(self) -> Iterator[None]:
        """Yield once before each value of an array; the caller then reads the value."""
        return self._elements(b"[", b"]")

    def value(self) -> Any:
        """Return the next value, which has at most 8 MB of text."""
        self.skip_blanks()
        for size in _WINDOWS:
            # The part is decoded as Latin-1, in which every byte is one character, so a position in
            # the text is also a position in the bytes. Other characters do not matter here, because
            # the punctuation of JSON is ASCII.
            window = self.data[self.position : self.position + size].decode("latin-1")
            is_last = self.position + size >= len(self.data)
            with suppress(json.JSONDecodeError):
                value, length = _decode(window)
                # A number at the end of the window may continue after the window.
                if length < len(window) or is_last:
                    return self._advance(value, window[:length])
            if is_last:
                break
        raise ValueError("a value is damaged, or longer than 8 MB")

    def end(self) -> None:
        """Check that the text ends at the current position."""
        self.skip_blanks()
        if self.position < len(self.data):
            raise ValueError("text follows after its end")

    def _advance(self, value: Any, text: str) -> Any:
        start = self.position
        self.position += len(text)
        return value if text.isascii() else json.loads(self.data[start : self.position])

    def _elements(self, opening: bytes, closing: bytes) -> Iterator[None]:
        self._expect(opening)
        if self._peek() == closing:
            self.position += 1
            return
        while True:
            yield
            mark = self._peek()
            self.position += 1
            if mark == closing:
                return
            if mark != b",":
                raise ValueError(_INCOMPLETE)

    def _expect(self, mark: bytes) -> None:
        if self._peek() != mark:
            raise ValueError(_INCOMPLETE)
        self.position += 1

    def _peek(self) -> bytes:
        self.skip_blanks()
        return self.data[self.position : self.position + 1]

    def skip_blanks(self) -> None:
        """Move to the next value or punctuation mark."""
        blanks = _BLANKS.match(self.data, self.position)
        self.position = blanks.end() if blanks else self.position
