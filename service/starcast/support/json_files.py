"""Read users' JSON files with limits, and check their values.

The Python objects parsed from JSON can take a hundred times as much memory as the JSON text. So
the size of the objects is estimated before the text is parsed, or values are read one by one.
"""

import codecs
import json
import re
import sys
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import Annotated, Any, NoReturn, TypeVar

import pydantic

from starcast.support.errors import LimitError
from starcast.support.limited import MB, decode_text

Item = TypeVar("Item")

#: A non-negative integer that fits into a signed 64-bit integer.
Count = Annotated[int, pydantic.Field(strict=True, ge=0, lt=2**63)]
#: A number. A string that contains a number is refused.
StrictNumber = Annotated[float, pydantic.Field(strict=True)]
#: A time that is far enough from the limits of `datetime` to be converted to every time zone.
Moment = Annotated[
    pydantic.AwareDatetime,
    pydantic.Field(ge=datetime(1970, 1, 2, tzinfo=UTC), le=datetime(9000, 1, 1, tzinfo=UTC)),
]
#: A tuple whose values have one type. Validation stops at the first invalid value, because a long
#: list could otherwise cause one error per element.
Many = Annotated[tuple[Item, ...], pydantic.FailFast()]
#: Maximum number of keys in a JSON object. Pydantic creates one error per unknown key, so without
#: this limit, errors could fill the memory.
MAX_KEYS = 64


def check_keys(value: object) -> object:
    """Refuse a JSON object with more than `MAX_KEYS` keys; return any other value unchanged.

    Raises:
        ValueError: the object has too many keys.
    """
    if isinstance(value, dict) and len(value) > MAX_KEYS:
        raise ValueError(f"the object has more than {MAX_KEYS} keys")
    return value


class StrictRecord(pydantic.BaseModel):
    """Base class for models of JSON objects; unknown fields are refused."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    _few_keys = pydantic.model_validator(mode="before")(check_keys)


def describe_error(error: ValueError) -> str:
    """Describe why a JSON value is invalid: its first error, with the location in the value.

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


#: Replacements for pydantic's messages that mention Python objects, by pydantic's error type.
_MESSAGES = {
    "unexpected_keyword_argument": "Extra inputs are not permitted",
    "dataclass_type": "Input should be a valid dictionary",
}


#: Maximum memory in bytes for the Python objects of a JSON document.
_JSON_MEMORY = 400 * MB
#: Bytes by which each occurrence of a character in a JSON document increases the estimated memory
#: of the Python objects. An opening brace or bracket adds the minimum size of an object or array.
#: Each of the two quotes around a string adds 32 bytes. A comma adds 40 bytes: 32 for a number and
#: 8 for an entry in an array.
_JSON_COSTS = {b"{": 232, b"[": 80, b'"': 32, b",": 40, b":": 60}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a valid JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
#: Escapes of NUL and of UTF-16 surrogates. A pair of surrogates encodes one character.
_SPECIAL = re.compile(r"(?<!\\)(?:\\\\)*\\u(0000|[dD][89a-fA-F])")
_INCOMPLETE = "the text is incomplete or damaged"
_BLANKS = re.compile(rb"[ \t\n\r]*")
#: Numbers of bytes that are parsed to read one value, tried in this order. A larger number is
#: needed only for a longer value, which is rare.
_WINDOWS = (2**14, 2**18, 2**23)


def parse_json(data: bytes, source: object) -> Any:
    """Parse a JSON text, and return its value; `decode_text` describes the allowed encodings.

    Raises:
        ValueError: the text is not JSON in an allowed encoding, is nested too deeply, or contains
            ``NaN``, ``Infinity``, the character NUL or an unpaired surrogate.
        LimitError: the Python objects would take too much memory.
    """
    text = decode_text(data)
    needed = len(data) + 2 * sys.getsizeof(text)
    needed += sum(data.count(mark) * cost for mark, cost in _JSON_COSTS.items())
    if needed > _JSON_MEMORY:
        raise LimitError(
            f"the values of {source} would take up to {needed // MB:,} MB of memory; the limit is"
            f" {_JSON_MEMORY // MB} MB",
            hint="divide the content into several files",
        )
    try:
        value = json.loads(text, parse_constant=_refuse_constant)
        _check_characters(text, value)
    except RecursionError:
        raise ValueError("the text is nested too deeply") from None
    return value


def _check_characters(text: str, value: object) -> None:
    """Refuse unpaired surrogates, which UTF-8 cannot encode, and NUL, which PostgreSQL refuses.

    Args:
        text: the JSON text, in which such characters are written as escapes.
        value: the parsed value of the text.

    Raises:
        ValueError: the text contains an unpaired surrogate or NUL.
    """
    if "\\u" in text and (found := {match[1] for match in _SPECIAL.finditer(text)}):
        if "0000" in found:
            raise ValueError("a string contains a NUL character")
        # Encoding raises an error if the value has an unpaired surrogate.
        json.dumps(value, ensure_ascii=False).encode()


def _decode(text: str) -> tuple[Any, int]:
    """Return the JSON value at the beginning of a string, and the number of characters read."""
    try:
        value, length = _DECODER.raw_decode(text)
        _check_characters(text[:length], value)
    except RecursionError:
        raise ValueError("the text is nested too deeply") from None
    return value, length


class JsonCursor:
    """A position in a JSON document, from which values are read one by one.

    Reading a long list therefore needs memory only for the JSON text and for a single value.

    Args:
        data: the JSON document in UTF-8.

    Raises:
        ValueError: raised by the methods if the document is not valid JSON at the reading position,
            or a value is too long.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = len(codecs.BOM_UTF8) if data.startswith(codecs.BOM_UTF8) else 0

    def members(self) -> Iterator[str]:
        """Yield the keys of an object; after each key, the caller must read the key's value."""
        for _ in self._elements(b"{", b"}"):
            if self._peek() != b'"':
                raise ValueError(_INCOMPLETE)
            key = self.value()
            self._expect(b":")
            yield key

    def items(self) -> Iterator[None]:
        """Yield None before each value of an array; the caller must then read this value."""
        return self._elements(b"[", b"]")

    def value(self) -> Any:
        """Return the next value, whose JSON text may be at most 8 MB long."""
        self.skip_blanks()
        for size in _WINDOWS:
            # The part is decoded as Latin-1, in which every byte is one character, so a position in
            # the text is also a position in the bytes. Wrongly decoded characters do not matter
            # here, because the punctuation of JSON is ASCII.
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
        """Check that the document ends at the current position."""
        self.skip_blanks()
        if self.position < len(self.data):
            raise ValueError("further text follows the end of the document")

    def _advance(self, value: Any, text: str) -> Any:
        """Move the reading position past a value, and return the value.

        The argument ``text`` is the JSON text of the value, decoded as Latin-1.
        """
        start = self.position
        self.position += len(text)
        return value if text.isascii() else json.loads(self.data[start : self.position])

    def _elements(self, opening: bytes, closing: bytes) -> Iterator[None]:
        """Yield None before each element of an object or array with the given brackets."""
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
        """Move the reading position past white space, to the next value or punctuation mark."""
        blanks = _BLANKS.match(self.data, self.position)
        self.position = blanks.end() if blanks else self.position
