"""Limited reading of JSON, and the comparison of its values with the shape that they must have.

JSON as Python objects takes up to a hundred times the length of its text.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NoReturn

from starcast.support.errors import LimitError
from starcast.support.limited import MB

#: A type (exactly that, so a truth value is not an int), a tuple of alternatives, ``None``, a list
#: with the shape of all elements, a mapping with the shape of every key, or a predicate.
Shape = Any


def check_shape(value: object, shape: Shape, name: str) -> None:
    """Check that a JSON value has a shape.

    Args:
        value: the JSON value.
        shape: the shape.
        name: name of the value in messages, such as ``its job``.

    Raises:
        ValueError: the value has another shape; the message says where.

    Example:
        >>> check_shape({"claim": "TS.L5", "sizes": [3, "4"]}, {"claim": str, "sizes": [int]}, "it")
        Traceback (most recent call last):
        ValueError: it.sizes.1 is not valid
    """
    if isinstance(shape, Mapping):
        _check_object(value, shape, name)
    elif isinstance(shape, list):
        if type(value) is not list:
            raise ValueError(f"{name} is not a list")
        for number, element in enumerate(value):
            check_shape(element, shape[0], f"{name}.{number}")
    elif not _matches(value, shape, name):
        raise ValueError(f"{name} is not valid")


def _check_object(value: object, shape: Mapping[str, Shape], name: str) -> None:
    if type(value) is not dict:
        raise ValueError(f"{name} is not an object")
    for key in shape:
        if key not in value:
            raise ValueError(f"{name} has no '{key}'")
        check_shape(value[key], shape[key], f"{name}.{key}")
    unknown = next((key for key in value if key not in shape), None)
    if unknown is not None:
        raise ValueError(f"{name} has the unknown key '{unknown}'")


def _matches(value: object, shape: Shape, name: str) -> bool:
    if shape is None:
        return value is None
    if isinstance(shape, tuple):
        return any(_fits(value, each, name) for each in shape)
    if isinstance(shape, type):
        return type(value) is shape
    predicate: Callable[[object], bool] = shape
    return predicate(value)


def _fits(value: object, shape: Shape, name: str) -> bool:
    try:
        check_shape(value, shape, name)
    except ValueError:
        return False
    return True


def one_of(*words: str) -> Callable[[object], bool]:
    """Return the predicate that a value is one of some words."""
    return lambda value: isinstance(value, str) and value in words


def is_count(value: object) -> bool:
    """Return whether a value is an integer from 0 of at most 63 bits."""
    return type(value) is int and 0 <= value < 2**63


#: Memory that the objects of a JSON text may take.
_JSON_MEMORY = 400 * MB
#: Memory of the objects in a JSON text by the bytes that introduce them: a string takes 64 bytes
#: for two quotes, an object or array its smallest size, a number 32 bytes and an entry in an array.
_JSON_COSTS = {b"{": 232, b"[": 80, b'"': 32, b",": 40, b":": 60}


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)
#: Escapes of NUL and of surrogates, of which pairs are one character.
_SPECIAL = re.compile(r"(?<!\\)(?:\\\\)*\\u(0000|[dD][89a-fA-F])")
_INCOMPLETE = "its text is incomplete or damaged"
_BLANKS = re.compile(rb"[ \t\n\r]*")
#: Sizes of the text in which a value is parsed, tried in this order: most values are short.
_WINDOWS = (2**14, 2**18, 2**23)


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
        value = json.loads(text, parse_constant=_refuse_constant)
        _check_characters(text, value)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def _check_characters(text: str, value: object) -> None:
    """Refuse characters that neither UTF-8 nor PostgreSQL can hold: half surrogates, and NUL.

    Args:
        text: the JSON text, in which such characters are escapes.
        value: its value.

    Raises:
        ValueError: the text has such a character.
    """
    if "\\u" in text and (found := _SPECIAL.search(text)):
        if found[1] == "0000":
            raise ValueError("a text has a NUL character")
        # UTF-8 cannot encode half of a surrogate pair, so this raises an error.
        json.dumps(value, ensure_ascii=False).encode()


def _decode(text: str) -> tuple[Any, int]:
    """Return the value at the beginning of a text, and its length."""
    try:
        value, length = _DECODER.raw_decode(text)
        _check_characters(text[:length], value)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value, length


class JsonCursor:
    """A position in a JSON text, whose values are read one after the other.

    So a long list needs no more memory than its text and one of its values.

    Args:
        data: the text, in UTF-8.

    Raises:
        ValueError: from all methods: the text is not JSON here, or a value is too long.
    """

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

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
            # A character per byte keeps the positions, and the marks of JSON are ASCII.
            window = self.data[self.position : self.position + size].decode("latin-1")
            is_last = self.position + size >= len(self.data)
            with suppress(json.JSONDecodeError):
                value, length = _decode(window)
                # A number at the end of the window may continue after it.
                if length < len(window) or is_last:
                    return self._advance(value, window[:length])
            if is_last:
                break
        raise ValueError("a value is damaged, or longer than 8 MB")

    def end(self) -> None:
        """Check that the text ends here."""
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
        """Go to the next value or mark."""
        blanks = _BLANKS.match(self.data, self.position)
        self.position = blanks.end() if blanks else self.position
