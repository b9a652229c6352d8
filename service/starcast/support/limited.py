"""Read users' files with limits, so that a small file cannot take much memory or time.

A compressed file can expand to a thousand times its size, and the header of an array can claim any
size. All readers of such files use this module, `starcast.support.arrays` or
`starcast.support.json_files`, which compare sizes with limits before they allocate memory.
"""

import codecs
import gzip
import os
import re
import tomllib
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from tokenize import TokenError
from typing import IO, Any, NoReturn, cast

from starcast.support.errors import InputError, LimitError

MB = 10**6
#: Maximum size in bytes of a text file that people write, such as a grid or settings.
SMALL_TEXT = MB
_GZIP = b"\x1f\x8b"
#: Maximum number of bytes in a single read from an archive. This limits the size of the archive's
#: directory, because `zipfile` reads the directory in a single read.
_CHUNK = 2 * MB
#: Maximum number of parts in a TOML key. Python's parser keeps every prefix of a key, so
#: its memory grows with the square of the number of parts.
MAX_KEY_PARTS = 8
_LONG_KEY = re.compile(rf"\.(?:[\w \t-]*+\.){{{MAX_KEY_PARTS - 1}}}", re.ASCII)
#: A binary, octal or hexadecimal integer of at least 1,000 digits. Python might refuse to print it
#: in a message. Python itself refuses to parse very long decimal integers.
_LONG_INTEGER = re.compile(r"(?<![\w-])0[box]\w{1000}", re.ASCII)
#: Comments and strings of TOML. A string that is never closed extends to the end of its line or of
#: the file.
_TOML_TEXT = re.compile(
    r"""\#[^\n]*+
    |\"{3}(?:[^"\\]|\\.|"(?!""))*+"{0,5} | '{3}(?:[^']|'(?!''))*+'{0,5}
    |"(?:[^"\\\n]|\\.)*+"? | '[^'\n]*+'?""",
    re.DOTALL | re.VERBOSE,
)
#: The bit that is set in the flags of an encrypted archive member.
_ENCRYPTED = 1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)

#: Exceptions that Python's and numpy's readers raise for damaged archives and arrays.
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
        source: name of the input, for error messages.
    """

    def __init__(self, stream: IO[bytes], limit: int, source: object) -> None:
        self._stream = stream
        self._limit = limit
        self._left = limit
        self._source = source

    def read(self, size: int = -1) -> bytes:
        """Return all remaining bytes, or at most the next ``size`` bytes.

        Raises:
            LimitError: the stream has more bytes than the limit.
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
    """Raise the error for an input that is larger than a limit.

    Raises:
        LimitError: always.
    """
    size = f"{limit // MB:,} MB" if limit >= MB else f"{limit:,} bytes"
    raise LimitError(
        f"{source} contains more than {size}, the limit for such a file",
        hint="divide the content into several files; if the file itself is much smaller than the "
        "limit, it is probably damaged",
    )


def read_bytes(path: str | os.PathLike[str], limit: int) -> bytes:
    """Return the content of a file, decompressed if it is a gzip file.

    Raises:
        OSError: the file cannot be read.
        ValueError: the compressed data is damaged.
        LimitError: the content has more bytes than the limit.
    """
    with open(path, "rb") as file:  # noqa: PTH123 - a device or a pipe is read as well
        is_compressed = file.peek(len(_GZIP)).startswith(_GZIP)
        stream = cast("IO[bytes]", gzip.GzipFile(fileobj=file)) if is_compressed else file
        try:
            return LimitedStream(stream, limit, path).read()
        except (EOFError, zlib.error, gzip.BadGzipFile):
            raise ValueError("the compressed data is incomplete or damaged") from None


def read_text(path: str | os.PathLike[str], limit: int = SMALL_TEXT) -> str:
    """Read a text file, and return its text as `decode_text` decodes it.

    Raises:
        OSError: the file cannot be read.
        ValueError: the file is neither UTF-8 nor UTF-16.
        LimitError: the file has more bytes than the limit.
    """
    with open(path, "rb") as file:  # noqa: PTH123 - a device or a pipe is read as well
        return decode_text(LimitedStream(file, limit, path).read())


def decode_text(data: bytes) -> str:
    """Decode the content of a text file in UTF-8 or UTF-16.

    A byte order mark is removed, and line ends are converted to LF. UTF-16 is supported because
    some programs on Windows write it.

    Raises:
        ValueError: the data is neither valid UTF-8 nor valid UTF-16.
    """
    encoding = _encoding(data)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        name = "UTF-16" if encoding.startswith("utf-16") else "UTF-8"
        raise ValueError(f"line {line} is not valid {name}: convert the file to UTF-8") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _encoding(start: bytes) -> str:
    """Return the encoding of a text file, given its first bytes."""
    first = start[:2]
    if first in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) and len(start) > len(first):
        return "utf-16"
    # In UTF-16 without a byte order mark, one of the first two bytes is 0 if the text begins with
    # an ASCII character.
    if first.count(0) == 1 and len(first) == 2:
        return "utf-16-le" if first[1] == 0 else "utf-16-be"
    return "utf-8-sig"


def open_lines(path: str | os.PathLike[str]) -> TextIOWrapper:
    """Open a text file whose lines may end in CR, LF or CRLF.

    The encoding is UTF-8 or UTF-16; see `decode_text`. Invalid bytes in a UTF-8 file become
    surrogates instead of errors, so that the caller can report the line.

    Reading an invalid UTF-16 file can raise a `UnicodeError`; see `invalid_utf16`.

    Raises:
        OSError: the file cannot be read.
    """
    file = open(path, "rb")  # noqa: PTH123, SIM115 - a device or a pipe is read as well
    return TextIOWrapper(file, _encoding(file.peek(2)), errors="surrogateescape")


def invalid_utf16(path: str | os.PathLike[str]) -> InputError:
    """Return the error for a file that begins like UTF-16 but is not valid UTF-16."""
    return InputError(
        f"{path} starts like a UTF-16 file but is not valid UTF-16",
        hint="convert the file to UTF-8",
    )


def parse_toml(text: str) -> dict[str, Any]:
    """Return the content of a TOML text.

    The caller must ensure that the text has at most `SMALL_TEXT` bytes.

    Raises:
        ValueError: the text is not TOML, is nested too deeply, or has a key with too many parts or
            an integer with too many digits.
    """
    # Dots in quoted keys, strings and comments do not separate parts of a key, so each string and
    # comment is replaced by one character.
    bare = _TOML_TEXT.sub("_", text)
    if _LONG_KEY.search(bare):
        raise ValueError(f"a key has more than {MAX_KEY_PARTS} parts")
    if _LONG_INTEGER.search(bare):
        raise ValueError("an integer has 1,000 digits or more")
    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("the text is nested too deeply") from None


@contextmanager
def open_archive(source: str | os.PathLike[str] | IO[bytes]) -> Iterator[zipfile.ZipFile]:
    """Open a zip archive whose directory has a limited size.

    Raises:
        OSError: the file cannot be read.
        zipfile.BadZipFile: the file is not a zip archive, or its directory is too large.
        NotImplementedError: the archive has a version of the zip format that `zipfile` does not
            support.
    """
    if isinstance(source, str | os.PathLike):
        with open(source, "rb") as file, open_archive(file) as archive:  # noqa: PTH123 - as above
            yield archive
        return
    with zipfile.ZipFile(cast("IO[bytes]", _SmallReads(source))) as archive:
        yield archive


class _SmallReads:
    """A wrapped file that refuses large reads, so that `zipfile` cannot read a huge directory."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        # Reading one byte more than the limit shows whether the directory is larger.
        data = self._file.read(size if 0 <= size <= _CHUNK else _CHUNK + 1)
        if len(data) > _CHUNK:
            raise zipfile.BadZipFile("the archive's directory is too large")
        return data

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def read_member(archive: zipfile.ZipFile, name: str, limit: int, source: object) -> bytes:
    """Return the content of an archive member.

    Args:
        archive: an open zip archive.
        name: the file name of the member in the archive.
        limit: the maximum number of bytes.
        source: name of the input, for error messages.

    Raises:
        Exception: the archive is damaged; `DAMAGE` lists the types.
        LimitError: the member has more bytes than the limit.
    """
    info = archive.getinfo(name)
    check_method(info)
    with archive.open(info) as member:
        return LimitedStream(member, limit, source).read()


def check_method(info: zipfile.ZipInfo) -> None:
    """Check that a member of an archive is not encrypted, and is stored or deflated.

    Decompressors of other methods allocate as much memory as the member claims to need.

    Raises:
        ValueError: the member is encrypted, or its compression method is unsupported.
    """
    # The method is checked before `zipfile` opens the member, because creating the decompressor
    # might already allocate this memory.
    if info.flag_bits & _ENCRYPTED or info.compress_type not in _METHODS:
        raise ValueError(f"{info.filename} is encrypted, or its compression is not supported")
