"""The common base of the catalogues of families, constructions and algorithms.

A catalogue is a registry of entries: functions with a name, a source and arguments. This module
also checks the values of arguments, and the names, options and functions that decorators declare.
"""

import inspect
import keyword
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Generic, Literal, TypeVar

import numpy as np

from starcast.catalogue.plugins import ORIGINS, Origin, is_installed, located
from starcast.support.atomic import write_new
from starcast.support.errors import InputError
from starcast.support.installation import data_folder
from starcast.support.integers import check_count
from starcast.support.text import did_you_mean
from starcast.support.vocabulary import MAX_NAME, ArgumentValue, parse_arguments

#: A `starcast.topologies.Topology`. This package cannot import the class, because
#: `starcast.topologies` imports this package to register families.
AnyTopology = Any


@dataclass(frozen=True)
class Argument:
    """A parameter of a construction or an algorithm, besides topology, root and port model.

    Attributes:
        name: the keyword of the argument.
        description: a noun phrase that describes the value.
        default: ``default(topology)`` returns the value of an omitted argument; None makes the
            argument required.
        maximum: ``maximum(topology)`` returns the largest allowed count or index; None for no
            limit.
        kind: the type of the value: "count" (a positive integer), "index" (a non-negative integer),
            "integer" (any integer), "text" (a single word) or "construction" (the name of a
            construction).
        choices: for a "construction", ``choices(topology)`` returns the allowed names.
        noun: the noun for a valid choice in messages, such as ``a single spanning tree``.
    """

    name: str
    description: str
    default: Callable[[AnyTopology], ArgumentValue] | None = field(default=None, repr=False)
    maximum: Callable[[AnyTopology], int] | None = field(default=None, repr=False)
    kind: Literal["count", "index", "integer", "text", "construction"] = "count"
    choices: Callable[[AnyTopology], tuple[str, ...]] = field(default=lambda _: (), repr=False)
    noun: str = ""

    def check(self, topology: AnyTopology, value: object) -> ArgumentValue:
        """Check a value for this argument and return it.

        Raises:
            InputError: the value has a wrong type or is out of range on the topology.
        """
        if self.kind == "construction":
            return self._check_choice(topology, value)
        maximum = self.maximum and self.maximum(topology)
        if self.kind == "text":
            return self._check_text(value)
        if self.kind in ("index", "integer"):
            return self._check_index(topology, value, maximum)
        return check_count(self.name, value, maximum, f"on {topology.spec}")

    def _check_choice(self, topology: AnyTopology, value: object) -> str:
        choices = self.choices(topology)
        if value not in choices:
            raise InputError(
                f"{self.name} is {value!r}, which is not {self.noun} on {topology.spec}",
                hint=f"{did_you_mean(value, choices)}choose one of {', '.join(choices)}",
            )
        return str(value)

    def _check_text(self, value: object) -> str:
        # The value becomes part of an id, so parsing the id must yield the same value.
        if not isinstance(value, str) or not value or not _is_word(value):
            raise InputError(
                f"{self.name} is {value!r}, which is not a valid word",
                hint="use no spaces, commas, colons, equals signs or parentheses, at most "
                f"{MAX_NAME} characters, and not only digits",
            )
        return value

    def _check_index(self, topology: AnyTopology, value: object, maximum: int | None) -> int:
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise InputError(
                f"{self.name} is {value!r}, not an integer", hint=f"specify {self.description}"
            )
        if self.kind == "integer":
            return int(value)
        if value < 0 or (maximum is not None and value > maximum):
            allowed = "of 0 or more" if maximum is None else f"from 0 to {maximum}"
            raise InputError(
                f"{self.name} is {value}, which is out of range on {topology.spec}",
                hint=f"use an integer {allowed}",
            )
        return int(value)


def _is_word(text: str) -> bool:
    try:
        is_parsed_again = parse_arguments(f"text={text}") == {"text": text}
    except InputError:
        is_parsed_again = False
    return is_parsed_again and len(text) <= MAX_NAME and text.isprintable()


#: The argument ``seed`` of a construction or algorithm that makes random choices. Seeds are below
#: 2^24.
Seed = Annotated[
    int,
    Argument(
        "seed",
        "random seed, a non-negative integer",
        lambda _: 0,
        maximum=lambda _: 2**24 - 1,
        kind="index",
    ),
]


@dataclass(frozen=True, kw_only=True, repr=False)
class Entry:
    """An entry of a registry: a named function, defined on some topologies.

    In a subclass, ``__str__`` returns the entry's name as messages show it.

    Attributes:
        name: the name of the entry, unique in the registry.
        source: the paper that defines the entry, with the number of the definition.
        origin: the module, file and line of the declared function.
        families: the families of topologies on which the entry may be defined; empty for all.
        arguments: the arguments that the entry takes besides topology, root and port model.
        smallest: the smallest n for which the entry is defined.
        exclusion: ``exclusion(topology)`` returns the reason why the entry is not defined on a
            topology of its families, or None if it is defined.
        elsewhere: the name of a replacement: the entry that `Registry.find` returns on topologies
            on which this entry is not defined; empty for none.
    """

    name: str
    source: str
    origin: Origin
    families: tuple[str, ...] = ()
    arguments: tuple[Argument, ...] = ()
    smallest: int = 1
    exclusion: Callable[[AnyTopology], str | None] = lambda _: None
    elsewhere: str = ""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name} ({self.source})>"

    def unsupported_reason(self, topology: AnyTopology) -> str | None:
        """Return the reason why the entry is not defined on a topology; None if it is defined."""
        if self.families and topology.family not in self.families:
            families = " and ".join(FAMILIES[family].noun for family in self.families)
            return f"it is defined on {families}"
        if topology.n < self.smallest:
            return f"it is defined for n >= {self.smallest}"
        return self.exclusion(topology)

    def supports(self, topology: AnyTopology) -> bool:
        """Return whether the entry is defined on a topology."""
        return self.unsupported_reason(topology) is None

    def resolve_arguments(
        self, topology: AnyTopology, arguments: Mapping[str, object]
    ) -> dict[str, ArgumentValue]:
        """Return the values of all arguments by name: the given values, else the defaults.

        Raises:
            InputError: an argument is unknown, missing or invalid on the topology.
        """
        # Unknown names are reported first: such a name may be a misspelled required argument, which
        # would otherwise be reported as missing.
        known = self.argument_names
        for name in arguments:
            if name not in known:
                expected = f"choose one of {', '.join(known)}" if known else "remove the argument"
                raise InputError(
                    f"{self} has no argument '{name}'",
                    hint=f"{did_you_mean(name, known)}{expected}",
                )
        values: dict[str, ArgumentValue] = {}
        for argument in self.arguments:
            if argument.name in arguments:
                values[argument.name] = argument.check(topology, arguments[argument.name])
            elif argument.default is None:
                raise InputError(
                    f"{self} needs the argument '{argument.name}'",
                    hint=f"specify {argument.description}",
                )
            else:
                values[argument.name] = argument.default(topology)
        return values

    @property
    def argument_names(self) -> tuple[str, ...]:
        """The names of all arguments."""
        return tuple(argument.name for argument in self.arguments)

    @property
    def required_arguments(self) -> tuple[str, ...]:
        """The names of the arguments that have no default."""
        return tuple(argument.name for argument in self.arguments if argument.default is None)

    def default_arguments(self, topology: AnyTopology) -> dict[str, ArgumentValue]:
        """Return the default values of all arguments that have a default."""
        return {
            argument.name: argument.default(topology)
            for argument in self.arguments
            if argument.default is not None
        }


AnyEntry = TypeVar("AnyEntry", bound=Entry)


class Registry(Mapping[str, AnyEntry], Generic[AnyEntry]):
    """Entries by name, in the order of their registration.

    Args:
        noun: the noun for an entry in messages, such as ``construction``.

    Example:
        >>> from starcast.trees.construction import CONSTRUCTIONS
        >>> CONSTRUCTIONS.find("greedy").source
        'Tseng & Sheu 1997, Def. 1'
    """

    def __init__(self, noun: str) -> None:
        self.noun = noun
        self._entries: dict[str, AnyEntry] = {}

    def register(self, entry: AnyEntry) -> None:
        """Add an entry; if a plug-in is loaded again, the new entry replaces the old entry.

        Raises:
            InputError: starcast or another plug-in has an entry of this name.
        """
        known = self._entries.get(entry.name)
        # A process may load a plug-in again, for example a notebook after an edit.
        if known and (known.origin.is_shipped or known.origin.module != entry.origin.module):
            raise InputError(
                f"{entry.origin}: the {self.noun} '{entry.name}' already exists"
                f" ({known.source if known.origin.is_shipped else known.origin})",
                hint="choose another name",
            )
        self._entries[entry.name] = entry
        if not entry.origin.is_shipped:
            ORIGINS[self.noun, entry.name] = entry.origin
            # The SHA-256 is computed now, because the files may be edited later.
            _ = entry.origin.sha256

    def find(self, name: str, topology: AnyTopology | None = None) -> AnyEntry:
        """Return the entry with the given name.

        Args:
            name: the name of an entry.
            topology: a topology on which the entry must be defined. If the entry is not defined on
                it and names a replacement (`Entry.elsewhere`), the replacement is returned.

        Raises:
            InputError: no entry has this name, or the entry is not defined on the topology.
        """
        if str(name) not in self._entries:
            listed = self if topology is None else [each.name for each in self.supported(topology)]
            hint = f"choose one of {', '.join(listed)}" if listed else "choose another topology"
            raise InputError(
                f"unknown {self.noun} '{name}'", hint=f"{did_you_mean(name, listed)}{hint}"
            )
        entry = self._entries[name]
        if topology is not None:
            if entry.elsewhere and not entry.supports(topology):
                entry = self._entries[entry.elsewhere]
            self.check_topology(entry, topology)
        return entry

    def supported(self, topology: AnyTopology) -> tuple[AnyEntry, ...]:
        """Return the entries that are defined on a topology."""
        return tuple(entry for entry in self.values() if entry.supports(topology))

    def check_topology(self, entry: AnyEntry, topology: AnyTopology) -> None:
        """Check that an entry is defined on a topology.

        Raises:
            InputError: the entry is not defined on the topology; the hint lists the entries that
                are defined on it.
        """
        reason = entry.unsupported_reason(topology)
        if reason is not None:
            names = ", ".join(other.name for other in self.supported(topology))
            raise InputError(
                f"{entry} is not defined on {topology.spec}: {reason}",
                hint=f"{self.noun}s that are defined on {topology.spec}: {names or 'none'}",
            )

    def __getitem__(self, name: str) -> AnyEntry:
        return self._entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@dataclass(frozen=True, kw_only=True, repr=False)
class Family(Entry):
    """A family of topologies.

    Attributes:
        pattern: a regular expression that matches the specs; its groups match the numbers.
        noun: the plural noun for the topologies in messages, such as ``star graphs``.
        spelling: a description of the valid specs for messages, such as ``S2 to S12 for a star
            graph``.
        build: ``build(spec, *numbers)`` returns the topology.
    """

    pattern: re.Pattern[str]
    noun: str
    spelling: str
    build: Callable[..., AnyTopology]

    def __str__(self) -> str:
        return f"the family '{self.name}'"


#: All families of topologies: first those of starcast, then those of plug-ins.
FAMILIES: Registry[Family] = Registry("family")


Function = TypeVar("Function", bound=Callable[..., Any])

# Names are parts of ids and specs, in which colons, commas and parentheses are separators.
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_KINDS: Mapping[Any, Literal["integer", "text"]] = {
    int: "integer", "int": "integer", str: "text", "str": "text",
}  # fmt: skip
#: For each kind of plug-in, the arguments of a starcast command that uses a plug-in of this kind.
_USES = {
    "construction": "forest show S4 {name}",
    "algorithm": "schedule simulate S4 broadcast {name}",
    "family": "topology show {spec}6",
}
#: The options of the decorators, with their types and a description for messages.
_OPTIONS: Mapping[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(
        ("collective", "source", "description", "noun", "pattern", "spelling", "group", "switches"),
        ((str,), "a string"),
    ),
    **dict.fromkeys(
        ("families", "ports"), ((list, tuple, set, frozenset), "a list of strings")
    ),
    **dict.fromkeys(("one_tree_per_port", "partial"), ((bool, np.bool_), "True or False")),
    "smallest": ((int, np.integer), "an integer"),
    "sizes": ((range, NoneType), "a range"),
    "exclusion": ((Callable,), "a function"),  # type: ignore[dict-item]
    "tree_count": ((Callable, NoneType), "a function"),  # type: ignore[dict-item]
}  # fmt: skip


def check_options(origin: Origin, subject: str, options: Mapping[str, Any]) -> None:
    """Check the types of a decorator's options.

    Raises:
        InputError: an option has a wrong type.
    """
    for option, value in options.items():
        types, expected = _OPTIONS[option]
        # True and False are instances of int, but they are not valid numbers here.
        is_valid = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        if is_valid and isinstance(value, Collection) and range not in types:
            is_valid = all(isinstance(each, str) for each in value)
        if not is_valid:
            raise InputError(
                f"{origin}: the option '{option}' of {subject} is not {expected}: "
                f"its type is {type(value).__name__}",
                hint=f"specify {option} as {expected}",
            )


def check_declaration(
    kind: str,
    name: object,
    function: Callable[..., Any],
    families: Sequence[str] = (),
    **options: Any,
) -> Origin:
    """Check the name and options passed to a decorator; return the origin of the function.

    Raises:
        InputError: the name is malformed, an option has a wrong type, a family is unknown, or the
            declared object is not a function.
    """
    origin = Origin.of(function)
    if not isinstance(name, str) or not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        shown = repr(name) if isinstance(name, str) else f"a value of type {type(name).__name__}"
        raise InputError(
            f"{origin}: {shown} is not a valid name",
            hint=f"write lower-case words joined by hyphens, at most {MAX_NAME} characters",
        )
    subject = f"the {kind} '{name}'"
    check_options(origin, subject, {"families": families, **options})
    with located(subject, origin):
        for family in families:
            FAMILIES.find(family)
    return origin


def read_arguments(
    name: str, origin: Origin, function: Callable[..., Any], fixed: Sequence[str]
) -> tuple[Argument, ...]:
    """Return the arguments that a function declares after the parameters named in ``fixed``.

    A parameter is annotated with int or str, or with ``Annotated[type, Argument(...)]``. The
    annotation can be omitted if the parameter has a default of type int or str.

    Raises:
        InputError: the first parameters are not those in ``fixed``, or the type of another
            parameter is neither int nor str.
    """
    parameters = list(inspect.signature(function).parameters.values())
    if [parameter.name for parameter in parameters[: len(fixed)]] != list(fixed):
        raise InputError(
            f"{origin}: the first parameters of the function of '{name}' must be "
            f"{', '.join(fixed)}; its parameters are "
            f"{', '.join(each.name for each in parameters) or 'none'}",
            hint=f"declare {', '.join(fixed)} as the first parameters",
        )
    return tuple(_read_argument(name, origin, each) for each in parameters[len(fixed) :])


def _read_argument(name: str, origin: Origin, parameter: inspect.Parameter) -> Argument:
    default = parameter.default
    has_default = default is not inspect.Parameter.empty
    annotation: object = parameter.annotation
    # `get_type_hints` is not used: it would evaluate all annotations in a plug-in's module.
    for declared in getattr(annotation, "__metadata__", ()):
        if isinstance(declared, Argument):
            return replace(declared, default=lambda _: default) if has_default else declared
    if annotation is inspect.Parameter.empty and has_default:
        annotation = type(default)
    kind: Literal["count", "integer", "text"] | None = None
    if isinstance(annotation, type | str):
        kind = _KINDS.get(annotation)
    is_variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    if kind is None or is_variadic or (has_default and _KINDS.get(type(default)) != kind):
        raise InputError(
            f"{origin}: the parameter '{parameter.name}' of '{name}' is not declared correctly as"
            " an int or a str",
            hint=f"write '{parameter.name}: int' or '{parameter.name}: str', without an asterisk;"
            " a default must have the same type",
        )
    # In built-in algorithms, arguments with these names are positive integers. The same rule
    # applies to plug-ins.
    if parameter.name in ("segments", "messages", "copies"):
        kind = "count"
    return Argument(
        parameter.name,
        f"the parameter '{parameter.name}' of {origin.module}",
        (lambda _: default) if has_default else None,
        kind=kind,
    )


def write_template(kind: str, name: str, folder: Path) -> tuple[Path, str]:
    """Write a working plug-in as a template, for the user to edit.

    Args:
        kind: ``construction``, ``algorithm`` or ``family``.
        name: the name of the entry that the plug-in declares.
        folder: the folder in which the file is created.

    Returns:
        The path of the file, and the arguments of a starcast command that uses the plug-in.

    Raises:
        InputError: the kind or the name is invalid, or the file exists or cannot be written.
    """
    if kind not in _USES:
        raise InputError(
            f"'{kind}' is not a kind of plug-in", hint=f"choose one of {', '.join(_USES)}"
        )
    if not _NAME.fullmatch(name) or len(name) > MAX_NAME:
        raise InputError(
            f"'{name}' is not a valid name",
            hint=f"write lower-case words joined by hyphens, at most {MAX_NAME} characters",
        )
    function = name.replace("-", "_")
    # `load` refuses a plug-in file with the name of an installed module, which it would hide.
    if keyword.iskeyword(function) or is_installed(function):
        function += "_"
    spec = "".join(word.capitalize() for word in name.split("-"))
    # A spec is the name followed by a number, so digits in the name become letters.
    spec = re.sub(r"\d", lambda digit: chr(ord("a") + int(digit[0])), spec)
    text = (data_folder("examples") / "new" / f"{kind}.py").read_text(encoding="utf-8")
    text = text.replace("NAME", name).replace("FUNCTION", function).replace("SPEC", spec)
    path = write_new(folder / f"{function}.py", text)
    return path, _USES[kind].format(name=name, spec=spec)
