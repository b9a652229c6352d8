"""Typed parameters: what a query declares, and the values that a user gives.

A value comes as text from the command line or as a Python value from a program; both are held to the same type.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

from starcast.errors import InputError
from starcast.queries.file_errors import meant
from starcast.queries.places import CHECKS
from starcast.topologies import Topology, topology

#: What each type expects, in the words of an error.
EXPECTED: dict[str, str] = {
    "int": "an integer",
    "float": "a number",
    "string": "a text",
    "boolean": "true or false",
    "topology": "the name of a topology, as S5",
    "forest": "the id of a forest, as S5:multiple:12345",
    "schedule": "the id of a schedule, as S5:broadcast:multiple:all:segments=4:12345",
    "node": "the label of a node, as 54321",
    "link": "a link as two labels joined by '-' in either order, as 12345-21345",
    "tree": "the number of a tree in its forest, from 0",
    "pattern": "a label with * in the positions that are free, as ****5",
}
#: Types whose values name something stored.
STORED = ("topology", "forest", "schedule")
_TYPE = re.compile(r"(?P<many>list of )?(?P<name>[a-z]+)(?: >= (?P<least>-?\d+))?")
_LINK = re.compile(r"[0-9a-z]+-[0-9a-z]+")
_LONG = 2**63  # Neo4j's integers have 64 bits


@dataclass(frozen=True)
class Type:
    """The type of a parameter: a name of `EXPECTED`, perhaps a list of it, perhaps with a least value."""

    name: str
    many: bool = False
    least: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """The type written as ``int``, ``int >= 1`` or ``list of node``; None when it is no type."""
        match = _TYPE.fullmatch(text)
        if (
            match is None
            or match["name"] not in EXPECTED
            or (match["least"] and match["name"] not in {"int", "float"})
        ):
            return None
        return cls(
            match["name"], bool(match["many"]), int(match["least"]) if match["least"] else None
        )

    def __str__(self) -> str:
        least = "" if self.least is None else f" >= {self.least}"
        return f"{'list of ' if self.many else ''}{self.name}{least}"

    @property
    def expected(self) -> str:
        """What a value must be, in words."""
        least = "" if self.least is None else f" that is {self.least} or more"
        one = f"{EXPECTED[self.name]}{least}"
        return f"a list (a,b,c), each {one}" if self.many else one

    def value(self, given: object) -> Any:
        """The typed value of what was given as text or as a Python value.

        Raises:
            ValueError: it is not of this type.
        """
        if not self.many:
            return self._one(given)
        if isinstance(given, str):
            given = given.split(",") if given else []
        if not isinstance(given, Sequence):
            raise ValueError  # noqa: TRY004 - one error for all that is not of the type
        return [self._one(item) for item in given]

    def sample(self) -> Any:
        """Some value of this type, to plan a query with."""
        numbers = {
            "int": self.least or 0,
            "float": float(self.least or 0),
            "boolean": False,
            "tree": 0,
        }
        one = numbers.get(self.name, "1-2" if self.name == "link" else "")
        return [one] if self.many else one

    def _one(self, given: object) -> Any:
        value = _READERS.get(self.name, _text)(given)
        if self.least is not None and value < self.least:
            raise ValueError
        return value


def _integer(given: object) -> int:
    if isinstance(given, str) and re.fullmatch(r"[+-]?[0-9]+", given.strip()):
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int) or not -_LONG <= given < _LONG:
        raise ValueError
    return given


def _number(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError  # noqa: TRY004
    value = float(given)
    if not math.isfinite(value):
        raise ValueError
    return value


def _boolean(given: object) -> bool:
    if isinstance(given, str) and given.lower() in {"true", "false"}:
        return given.lower() == "true"
    if not isinstance(given, bool):
        raise ValueError  # noqa: TRY004
    return given


def _tree(given: object) -> int:
    number = _integer(given)
    if number < 0:
        raise ValueError
    return number


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise ValueError  # noqa: TRY004
    return given


def _link(given: object) -> str:
    text = _text(given)
    if not _LINK.fullmatch(text):
        raise ValueError
    return text


_READERS: dict[str, Callable[[object], Any]] = {
    "int": _integer,
    "float": _number,
    "boolean": _boolean,
    "tree": _tree,
    "link": _link,
}


@dataclass(frozen=True)
class Parameter:
    """A parameter as a query's header declares it; it must be given where it has no default.

    Args:
        name: as it stands after the dollar.
        type: what its values are.
        meaning: one line for the user.
        default: the value if none is given, of the type; meaningless when ``required``.
        required: there is no default.
    """

    name: str
    type: Type
    meaning: str
    default: Any = None
    required: bool = True

    def __post_init__(self) -> None:
        if not self.required:
            object.__setattr__(self, "default", self.value(self.default))

    def value(self, given: object) -> Any:
        """The typed value.

        Raises:
            InputError: it is not of the type.
        """
        try:
            return self.type.value(given)
        except ValueError:
            raise InputError(
                f"the parameter '{self.name}' is {self.type.expected}, not {given!r}",
                hint=f"write {self.name}=VALUE; it means: {self.meaning}",
            ) from None


def bind(parameters: Sequence[Parameter], given: Mapping[str, object]) -> dict[str, Any]:
    """The value of every parameter: what was given, else its default.

    Raises:
        InputError: one is unknown, missing or of the wrong type, or a node is none of the topology that is named.
    """
    names = [parameter.name for parameter in parameters]
    takes = f"it takes {', '.join(names)}" if names else "it takes none"
    for name in given:
        if name not in names:
            raise InputError(
                f"the query has no parameter '{name}'", hint=f"{meant(name, names)}{takes}"
            )
    for parameter in parameters:
        if parameter.required and parameter.name not in given:
            raise InputError(
                f"the parameter '{parameter.name}' is missing",
                hint=f"add {parameter.name}=VALUE: {parameter.type.expected}; it means: {parameter.meaning}",
            )
    values = {p.name: p.value(given[p.name]) if p.name in given else p.default for p in parameters}
    _check_places(parameters, values)
    return values


def names(parameters: Sequence[Parameter], values: Mapping[str, Any], kind: str) -> list[str]:
    """All values of the parameters of one type, lists flattened, in order and once."""
    found: list[str] = []
    for parameter in parameters:
        if parameter.type.name == kind:
            found += values[parameter.name] if parameter.type.many else [values[parameter.name]]
    return list(dict.fromkeys(found))


def named_topologies(parameters: Sequence[Parameter], values: Mapping[str, Any]) -> list[Topology]:
    """The topologies of all that the parameters name, each once: an id of a forest or a schedule begins with its own.

    Raises:
        InputError: a topology parameter names none.
    """
    places = [topology(spec) for spec in names(parameters, values, "topology")]
    for kind in STORED[1:]:
        for name in names(parameters, values, kind):
            with suppress(
                InputError
            ):  # what is no id at all is said to be none when it is looked for
                places.append(topology(name.split(":")[0]))
    return list(dict.fromkeys(places))


def _check_places(parameters: Sequence[Parameter], values: Mapping[str, Any]) -> None:
    """Refuse nodes, links and patterns that no named topology has."""
    places = named_topologies(parameters, values)
    for kind, check in CHECKS.items():
        for value in names(parameters, values, kind):
            refusals = [check(place, value) for place in places]
            if refusals and all(refusals):
                raise next(refusal for refusal in refusals if refusal)
