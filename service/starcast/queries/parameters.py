"""Typed query parameters: their declarations, and the conversion of given values.

Values are text on the command line, and text or Python objects in Python; both are converted to the
declared types.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from starcast.support.errors import InputError
from starcast.support.text import did_you_mean, find_surrogate, pluralize
from starcast.support.vocabulary import LABEL, RANK

if TYPE_CHECKING:
    from starcast.topologies import Topology

#: Types whose values are ids of stored artifacts.
STORED = ("topology", "forest", "schedule")
_TYPE = re.compile(r"(?P<many>list of )?(?P<name>[a-z]+)(?: >= (?P<least>-?[0-9]{1,18}))?")
_NODE = rf"(?:{LABEL}|{RANK.pattern})"
_LINK = re.compile(rf"{_NODE}-{_NODE}")
#: Integers must be below this limit, because integers of Neo4j have 64 bits.
_INTEGER_LIMIT = 2**63
#: Maximum depth of lists and maps in a value. Neo4j's driver converts values recursively, so a list
#: that contains itself would crash the process.
_MAX_DEPTH = 100
#: Python packages with types that Neo4j's driver accepts, such as dates, points and data frames.
_DRIVER_TYPES = {"datetime", "neo4j", "numpy", "pandas", "pyarrow", "uuid"}


def convert_value(name: str, given: object, depth: int = 0) -> Any:
    """Convert a user's value to a type that Neo4j's driver can send to the server.

    Args:
        name: the parameter's name, for messages.
        given: any value; ranges, sets, tuples and arrays become lists.
        depth: number of lists and maps that enclose the value; 0 for the parameter's own value.

    Raises:
        InputError: Neo4j cannot represent the value.
    """
    # Arrays of dates stay arrays, because `tolist` would convert some dates to integers.
    has_items = getattr(getattr(given, "dtype", None), "kind", "M") not in "mM"
    value: Any = given.tolist() if has_items and hasattr(given, "tolist") else given
    problem = f"is of type {type(value).__name__}, which Neo4j does not have"
    match value:
        case None | bool() | float() | bytes() | bytearray():
            return value
        case int() if -_INTEGER_LIMIT <= value < _INTEGER_LIMIT:
            return int(value)
        case int():
            bits = value.bit_length() + 1
            problem = f"contains an integer of {bits:,} bits, but the integers of Neo4j have 64"
        case str() if not find_surrogate(value):
            return str.__str__(value)
        case str():
            problem = f"contains an unpaired surrogate, which is not a character: {value!r}"
        case _ if type(value).__module__.partition(".")[0] in _DRIVER_TYPES:
            return value
        case Mapping() | Sequence() | AbstractSet() if depth == _MAX_DEPTH:
            problem = f"is nested more than {_MAX_DEPTH} levels deep"
        case Mapping():
            wrong = [key for key in value if not isinstance(key, str)]
            if not wrong:
                return {
                    convert_value(name, key): convert_value(name, item, depth + 1)
                    for key, item in value.items()
                }
            problem = f"contains the key {wrong[0]!r}, which is not text"
        case Sequence() | AbstractSet() if not isinstance(value, memoryview):
            # A set is sorted, because its order may differ between processes.
            items = sorted(value, key=repr) if isinstance(value, AbstractSet) else value
            return [convert_value(name, item, depth + 1) for item in items]
    raise InputError(
        f"the parameter '{name}' {problem}",
        hint="use numbers, strings, Booleans, dates, or lists and maps of these",
    )


def _integer(given: object) -> int:
    # `int` alone would also accept underscores and the digits of other scripts.
    if isinstance(given, str) and re.fullmatch(r"[+-]?[0-9]+", given.strip()):
        given = int(given)
    if isinstance(given, bool) or not isinstance(given, int):
        raise ValueError  # noqa: TRY004
    return given


def _number(given: object) -> float:
    if isinstance(given, bool) or not isinstance(given, str | int | float):
        raise ValueError  # noqa: TRY004
    # `float` also accepts "nan" and "inf", but a comparison with them selects all rows or none.
    value = float(given)
    if not math.isfinite(value):
        raise ValueError
    return value


def _boolean(given: object) -> bool:
    if isinstance(given, str):
        given = {"true": True, "false": False}.get(given.lower())
    if not isinstance(given, bool):
        raise ValueError  # noqa: TRY004
    return given


def _text(given: object) -> str:
    if not isinstance(given, str):
        raise ValueError  # noqa: TRY004
    return given


def _artifact_id(given: object) -> str:
    # Imported only here, because few queries have an artifact as a parameter.
    from starcast.topologies import normalize_id  # noqa: PLC0415

    return normalize_id(_text(given))


def _link(given: object) -> str:
    text = _text(given)
    if not _LINK.fullmatch(text):
        raise ValueError
    return text


def _stored_node(network: "Topology", label: str) -> str:
    return network.stored_label(network.node(label))


def _stored_link(network: "Topology", link: str) -> str:
    ends = [network.node(label) for label in link.split("-")]
    network.ports_between(*ends)
    return "-".join(map(network.stored_label, ends))


def _stored_pattern(network: "Topology", pattern: str) -> str:
    if not network.has_translations:
        raise InputError(
            f"{network.spec} has no label patterns, because its labels may differ in length",
            hint="choose a star graph, an (n,k)-star or a hypercube",
        )
    example = network.label(0)
    # One label need not contain every symbol: on S5,2, a label has two of the five symbols. About a
    # thousand evenly spaced labels contain all symbols, even in a large topology.
    ranks = range(0, network.nodes, max(1, network.nodes // 1_000))
    symbols = set("".join(network.labels(ranks).tolist()))
    pattern = pattern.lower()
    if len(pattern) != len(example) or not set(pattern) <= symbols | {"*"}:
        length = pluralize(len(example), "character")
        raise InputError(
            f"'{pattern}' is not a label pattern of {network.spec}",
            hint=f"write {length}, each * or one of {' '.join(sorted(symbols))}",
        )
    return pattern


class Kind(NamedTuple):
    """A basic type of query values, such as ``int`` or ``node``: how to read and check a value.

    Attributes:
        expected: a description of valid values, for error messages.
        read: function that converts a value, given as text or as a Python value, to this type; it
            raises ValueError if the value is not valid.
        sample: a value that ``read`` accepts; with this placeholder, Neo4j plans a query without
            executing it.
        as_stored: function that returns the value as it is written in the graph, where labels have
            the lower and upper case of their topology; it raises an InputError if the value does
            not belong to the topology. None if values of this type do not belong to topologies.
        least: the smallest valid number, or None if there is no minimum.
    """

    expected: str
    read: Callable[[object], Any] = _text
    sample: Any = ""
    as_stored: Callable[["Topology", str], str] | None = None
    least: int | None = None


KINDS = {
    "int": Kind("an integer", _integer, 0),
    "float": Kind("a number", _number, 0.0),
    "string": Kind("a string"),
    "boolean": Kind("true or false", _boolean, sample=False),
    "topology": Kind("the name of a topology, such as S5"),
    "forest": Kind("the id of a forest, such as S5:multiple:12345", _artifact_id),
    "schedule": Kind(
        "the id of a schedule, such as S5:broadcast:multiple:all:segments=4:12345", _artifact_id
    ),
    "node": Kind(
        "a node: its label, such as 54321, or its rank, such as #6", as_stored=_stored_node
    ),
    "link": Kind(
        "a link as two nodes joined by '-' in either order, such as 12345-21345",
        _link,
        "1-2",
        _stored_link,
    ),
    "tree": Kind("the number of a tree in its forest, from 0", _integer, 0, least=0),
    "pattern": Kind(
        "a label with * in the free positions, such as ****5", as_stored=_stored_pattern
    ),
}


@dataclass(frozen=True)
class Type:
    """The type of a query parameter or result column.

    Attributes:
        name: a name in `KINDS`.
        many: whether a value is a list of values of the named type.
        least: the smallest valid number, or None if there is no minimum.
    """

    name: str
    many: bool = False
    least: int | None = None

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a type such as ``int``, ``int >= 1`` or ``list of node``.

        Raises:
            InputError: the text is not a valid type.
        """
        match = _TYPE.fullmatch(text)
        if (
            match is None
            or match["name"] not in KINDS
            or (match["least"] and match["name"] not in {"int", "float"})
        ):
            hint = f"{did_you_mean(text, KINDS)}use one of the types {', '.join(KINDS)}, or"
            hint += " 'list of TYPE'; only int and float can have a minimum, as in 'int >= 1'"
            raise InputError(f"'{text}' is not a valid type", hint=hint)
        least = int(match["least"]) if match["least"] else None
        return cls(match["name"], bool(match["many"]), least)

    def __str__(self) -> str:
        least = "" if self.least is None else f" >= {self.least}"
        return f"{'list of ' if self.many else ''}{self.name}{least}"

    @property
    def expected(self) -> str:
        """A description of the expected value, for error messages."""
        least = "" if self.least is None else f" of at least {self.least}"
        expected = f"{KINDS[self.name].expected}{least}"
        return f"a list a,b,c, each {expected}" if self.many else expected

    def value(self, given: object) -> Any:
        """Convert a value, given as text or as a Python value, to this type.

        Raises:
            ValueError: the value is not of this type.
        """
        if not self.many:
            return self._convert(given)
        if isinstance(given, str):
            given = given.split(",") if given else []
        if not isinstance(given, Sequence):
            raise ValueError  # noqa: TRY004 - the same error for all invalid values
        return [self._convert(item) for item in given]

    def sample(self) -> Any:
        """Return a placeholder of this type, with which Neo4j can plan a query."""
        sample = KINDS[self.name].sample
        if self.least is not None:
            sample = type(sample)(self.least)
        return [sample] if self.many else sample

    def _convert(self, given: object) -> Any:
        kind = KINDS[self.name]
        value = kind.read(given)
        if any(least is not None and value < least for least in (self.least, kind.least)):
            raise ValueError
        return value


def _disjoint_paths(spec: str, source: str, target: str) -> list[list[str]]:
    """Return a largest set of paths between two nodes, no two of which share an inner node.

    Each path is a list of labels.
    """
    # Imported only here, because few queries need disjoint paths.
    from starcast.topologies import topology  # noqa: PLC0415
    from starcast.topologies.disjoint_paths import find_disjoint_paths  # noqa: PLC0415

    network = topology(spec)
    paths = find_disjoint_paths(network, network.node(source), network.node(target))
    return [[network.stored_label(rank) for rank in path] for path in paths]


def _smallest_cut(spec: str, source: str, target: str) -> list[str]:
    """Return the labels of a smallest set of nodes whose removal separates two nodes.

    If a link joins the two nodes, it is removed too.
    """
    from starcast.topologies import topology  # noqa: PLC0415
    from starcast.topologies.disjoint_paths import find_smallest_cut  # noqa: PLC0415

    network = topology(spec)
    cut = find_smallest_cut(network, network.node(source), network.node(target))
    return [network.stored_label(rank) for rank in cut]


#: Statement parameters whose values are computed by starcast, not given by users. Each entry
#: has the names of the parameters on which the value depends, and the function that computes the
#: value.
COMPUTED: dict[str, tuple[tuple[str, ...], Callable[..., Any]]] = {
    "disjoint_paths": (("topology", "source", "target"), _disjoint_paths),
    "smallest_cut": (("topology", "source", "target"), _smallest_cut),
}


@dataclass(frozen=True)
class Parameter:
    """A parameter as declared in a query's header.

    Args:
        name: the name of the parameter, without the dollar sign.
        type: the type of the parameter's values.
        meaning: a description of the parameter in one line.
        default: the value if none is given; ignored when ``required``.
        required: whether a value must be given, because there is no default.
    """

    name: str
    type: Type
    meaning: str
    default: Any = None
    required: bool = True

    def __post_init__(self) -> None:
        if not self.required:
            # Defaults are converted like given values. The class is frozen, so an assignment would
            # raise an error.
            object.__setattr__(self, "default", self.value(self.default))

    @property
    def declaration(self) -> str:
        """The parameter's type and default, such as ``int >= 1, default 2``."""
        return f"{self.type}" if self.required else f"{self.type}, default {self.default}"

    def value(self, given: object) -> Any:
        """Convert text or a Python value to the parameter's type.

        Raises:
            InputError: the value is not of the parameter's type, or Neo4j cannot represent it.
        """
        plain = convert_value(self.name, given)
        try:
            # The result is checked again, because a string may contain an integer that is too
            # large.
            return convert_value(self.name, self.type.value(plain))
        except ValueError:
            raise InputError(
                f"the parameter '{self.name}' must be {self.type.expected}, not {given!r}",
                hint=f"write {self.name}=VALUE, where VALUE is: {self.meaning}",
            ) from None


def bind(parameters: Sequence[Parameter], given: Mapping[str, object]) -> dict[str, Any]:
    """Return the value of every parameter: the given value, or else the default.

    Raises:
        InputError: a parameter is unknown, missing or of the wrong type, a topology is unknown, or
            a node, link or pattern belongs to none of the named topologies.
    """
    names = [parameter.name for parameter in parameters]
    for name in given:
        if name not in names:
            known = f"the parameters are {', '.join(names)}" if names else "remove the parameter"
            raise InputError(
                f"the query has no parameter '{name}'", hint=f"{did_you_mean(name, names)}{known}"
            )
    for parameter in parameters:
        if parameter.required and parameter.name not in given:
            raise InputError(
                f"the parameter '{parameter.name}' is missing",
                hint=f"add {parameter.name}=VALUE, {parameter.type.expected}: {parameter.meaning}",
            )
    values = {p.name: p.value(given[p.name]) if p.name in given else p.default for p in parameters}
    return _as_stored(parameters, values)


def values_of_type(
    parameters: Sequence[Parameter], values: Mapping[str, Any], kind: str
) -> list[str]:
    """Return the distinct values of all parameters of a type, including the items of lists.

    Args:
        parameters: the declared parameters.
        values: the value of each parameter, by name.
        kind: the name of the type, such as ``forest``.
    """
    flat: list[str] = []
    for parameter in parameters:
        if parameter.type.name == kind:
            flat += values[parameter.name] if parameter.type.many else [values[parameter.name]]
    return list(dict.fromkeys(flat))


def named_topologies(
    parameters: Sequence[Parameter], values: Mapping[str, Any]
) -> list["Topology"]:
    """Return the topologies to which parameters refer, without repetition.

    A parameter refers to a topology by a spec, or by the id of a forest or schedule.

    Raises:
        InputError: the value of a topology parameter is not a topology.
    """
    # Imported only here, because `bind` calls this function only for queries with a topology, node,
    # link or pattern as a parameter.
    from starcast.topologies import topology  # noqa: PLC0415

    topologies = [topology(spec) for spec in values_of_type(parameters, values, "topology")]
    # The ids of forests and schedules begin with the spec of their topology.
    for kind in STORED[1:]:
        for artifact_id in values_of_type(parameters, values, kind):
            # Invalid ids are ignored here, because they are reported when artifacts are looked up.
            with suppress(InputError):
                topologies.append(topology(artifact_id.split(":")[0]))
    return list(dict.fromkeys(topologies))


def _as_stored(parameters: Sequence[Parameter], values: dict[str, Any]) -> dict[str, Any]:
    """Return the values, with nodes, links and label patterns as they are written in the graph.

    The server compares strings exactly, so a label in the wrong case would select nothing.

    Raises:
        InputError: a node, link or label pattern belongs to none of the named topologies. Without
            this check, the server would return an empty result and give no reason.
    """
    located = [(p, convert) for p in parameters if (convert := KINDS[p.type.name].as_stored)]
    if not located and not values_of_type(parameters, values, "topology"):
        return values
    topologies = named_topologies(parameters, values)
    for parameter, as_stored in located:
        locate = partial(_locate, topologies, as_stored)
        value = values[parameter.name]
        values[parameter.name] = [*map(locate, value)] if parameter.type.many else locate(value)
    return values


def _locate(
    topologies: Sequence["Topology"], as_stored: Callable[["Topology", str], str], value: str
) -> str:
    """Return a value as it is written in the graph of one of the topologies."""
    found, errors = [], []
    for network in topologies:
        try:
            found.append(as_stored(network, value))
        except InputError as error:
            errors.append(error)
    # A query about two topologies may name a node of either topology.
    if errors and not found:
        raise errors[0]
    return value if value in found or not found else found[0]
