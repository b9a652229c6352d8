"""The decorators by which plug-ins add constructions, algorithms and families of topologies."""

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, TypeVar, get_args

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.algorithm import Algorithm
from starcast.collectives.catalogue import REGISTRIES
from starcast.collectives.columns import REQUIRED, schedule_from_columns
from starcast.collectives.model import Schedule, check_collective
from starcast.errors import InputError
from starcast.plugins.origin import ORIGINS, Located, Origin, run_guarded
from starcast.registry import AnyEntry, Argument, Registry
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology
from starcast.topologies.cayley import CayleyGraph
from starcast.topologies.families import (
    FAMILIES,
    SPEC_CHARACTERS,
    TopologyFamily,
    find_family,
    register_family,
)
from starcast.trees import Forest
from starcast.trees.catalogue import CONSTRUCTIONS, Construction

Function = TypeVar("Function", bound=Callable[..., Any])

_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
#: Parts of a pattern that match no spec: escapes of other characters, and characters that belong
#: neither to a spec nor to the syntax of regular expressions.
_FOREIGN = re.compile(r"\\[^dw.+,-]|[^A-Za-z0-9,._+\\()\[\]{}*?|^$-]")
_GROUP = re.compile(r"\(\?(P<\w+>|[:=!])")
_KINDS: Mapping[Any, Literal["integer", "text"]] = {
    int: "integer", "int": "integer", str: "text", "str": "text",
}  # fmt: skip


def construction(
    name: str,
    *,
    source: str,
    families: Sequence[str] = (),
    description: str = "",
    one_tree_per_port: bool = False,
    partial: bool = False,
    smallest: int = 1,
) -> Callable[[Function], Function]:
    """Register a function as a construction of trees.

    The function is called as ``function(topology, root, **arguments)`` and returns an array of
    parent ports, uint8 ``[trees, nodes]`` or ``[nodes]``, or a `Forest`. Its further parameters,
    annotated with int or str, are the construction's arguments.

    Args:
        name: lower-case words joined by hyphens.
        source: the paper and the number of the definition.
        families: the families of topologies on which it is defined, such as ``["star"]``; by
            default all.
        description: the trees, as a noun phrase.
        one_tree_per_port: whether it yields a tree for each port rather than a single tree.
        partial: whether its trees do not reach all nodes.
        smallest: the least n for which it is defined.

    Raises:
        InputError: the name is taken or malformed, a family is unknown, or the function has a wrong
            signature.
    """

    def decorate(function: Function) -> Function:
        origin = _check_declaration(
            "construction", name, families, function, source=source, description=description,
            one_tree_per_port=one_tree_per_port, partial=partial, smallest=smallest,
        )  # fmt: skip

        def build(topology: Topology, root: int, **arguments: Any) -> Forest:
            result = _call(
                f"the construction '{name}'", origin, function, topology, root, arguments
            )
            trees = topology.degree if one_tree_per_port else 1
            array = _check_parent_ports(name, origin, result, topology, trees)
            return Forest(topology, array, root, name, arguments, spanning=not partial)

        entry = Construction(
            name, tuple(families), description or f"trees of {origin.module}", source,
            build, _read_arguments(name, origin, function, ("topology", "root")), smallest,
            one_tree_per_port, partial,
        )  # fmt: skip
        _register(CONSTRUCTIONS, entry, "construction", origin)
        return function

    return decorate


def algorithm(
    collective: Collective,
    name: str,
    *,
    source: str,
    families: Sequence[str] = (),
    ports: Sequence[Ports] = ("all",),
    smallest: int = 2,
) -> Callable[[Function], Function]:
    """Register a function as an algorithm of a collective.

    The function is called as ``function(topology, root, ports, **arguments)`` and returns a
    `Schedule`, or a mapping with the columns ``step``, ``sender``, ``port`` and ``unit`` of equal
    length. ``receiver`` follows from sender and port. The mapping may also hold ``tree``,
    ``units`` (their number; by default the greatest unit + 1), ``packets`` (by default whether a
    directed link carries several units in a step), ``symmetric`` and ``forest``.

    Args:
        collective: ``broadcast``, ``allgather``, ``scatter``, ``gather`` or ``alltoall``.
        name: lower-case words joined by hyphens.
        source: the paper and the number of the algorithm.
        families: the families of topologies on which it is defined; by default all.
        ports: its port models; the first one is its default.
        smallest: the least n for which it is defined.

    Raises:
        InputError: a name is taken, malformed or unknown, or the function has a wrong signature.
    """

    def decorate(function: Function) -> Function:
        origin = Origin.of(function)
        _check_options(origin, "the algorithm", {"collective": collective})
        check_collective(collective)
        kind = f"{collective} algorithm"
        origin = _check_declaration(
            kind, name, families, function, source=source, ports=ports, smallest=smallest
        )
        unknown = set(ports) - set(get_args(Ports))
        if unknown or not ports:
            raise InputError(
                f"{origin}: the port models of '{name}' are {list(ports)}",
                hint="give a list of 'all' and 'one'",
            )

        def build(topology: Topology, root: int, model: Ports, **arguments: Any) -> Schedule:
            noun = f"the {collective} algorithm '{name}'"
            result = _call(noun, origin, function, topology, root, {"ports": model, **arguments})
            declared = {
                "topology": topology, "collective": collective, "algorithm": name, "ports": model,
                "root": root, "arguments": arguments,
            }  # fmt: skip
            return _build_schedule(noun, origin, result, declared)

        entry = Algorithm(
            collective, name, tuple(families), tuple(ports),
            _read_arguments(name, origin, function, ("topology", "root", "ports")), source,
            build, _count_least_rows, lambda *_: None, smallest,
        )  # fmt: skip
        _register(REGISTRIES[collective], entry, kind, origin)
        return function

    return decorate


def family(
    name: str, *, pattern: str, source: str, noun: str = ""
) -> Callable[[Function], Function]:
    r"""Register a function as a family of Cayley graphs of permutations.

    The function is called with the numbers in a spec, and returns the generators as permutations of
    the positions 1..n. A node x is linked to (x[g_1], .., x[g_n]) for every generator g, over the
    ports 2, 3, ... in the order of the generators. Inverses of generators must be generators.

    Args:
        name: lower-case words joined by hyphens.
        pattern: a regular expression of the specs, such as ``P(\d+)``; its groups are numbers.
            Specs are at most 50 ASCII letters, digits, commas, points, underscores, plus signs and
            hyphens, whatever else the pattern matches.
        source: the paper that defines the family.
        noun: what the graphs are, in the plural, for messages.

    Raises:
        InputError: the name is taken, or the pattern is malformed or matches specs of others.
    """

    def decorate(function: Function) -> Function:
        origin = Origin.of(function)
        _check_name(name, origin)
        options = {"pattern": pattern, "source": source, "noun": noun}
        _check_options(origin, f"the family '{name}'", options)
        try:
            compiled = re.compile(pattern)
        except re.error as error:
            raise InputError(
                f"{origin}: the pattern of '{name}' is malformed: {error}",
                hint="write a regular expression such as P(\\d+)",
            ) from None
        if not compiled.groups:
            raise InputError(
                f"{origin}: the pattern of '{name}' has no group",
                hint="put the numbers into parentheses, such as P(\\d+)",
            )
        _check_pattern(name, pattern, origin)
        _check_untaken("family", name, origin)

        def build(spec: str, *numbers: int) -> Topology:
            noun = f"the family '{name}'"
            generators = run_guarded(noun, origin, lambda: function(*numbers))
            with Located(noun, origin):
                return CayleyGraph(spec, name, generators)

        if ("family", name) in ORIGINS:  # the same plug-in is loaded again
            del FAMILIES[name]
        with Located(f"the family '{name}'", origin):
            register_family(
                TopologyFamily(name, compiled, noun or f"{name} graphs", pattern, build, source)
            )
        ORIGINS["family", name] = origin
        return function

    return decorate


#: The options of the decorators, with their types and what to give.
_OPTIONS: Mapping[str, tuple[tuple[type, ...], str]] = {
    "collective": ((str,), "a text"),
    "source": ((str,), "a text"),
    "description": ((str,), "a text"),
    "noun": ((str,), "a text"),
    "pattern": ((str,), "a text"),
    "families": ((list, tuple, set, frozenset), "a list of texts"),
    "ports": ((list, tuple, set, frozenset), "a list of texts"),
    "smallest": ((int, np.integer), "a whole number"),
    "one_tree_per_port": ((bool, np.bool_), "True or False"),
    "partial": ((bool, np.bool_), "True or False"),
}


def _check_options(origin: Origin, subject: str, options: Mapping[str, Any]) -> None:
    """Check the types of options.

    Raises:
        InputError: an option has a wrong type.
    """
    for option, value in options.items():
        types, expected = _OPTIONS[option]
        is_valid = isinstance(value, types) and (bool in types or not isinstance(value, bool))
        if is_valid and isinstance(value, Collection):
            is_valid = all(isinstance(each, str) for each in value)
        if not is_valid:
            raise InputError(
                f"{origin}: the option '{option}' of {subject} is of type {type(value).__name__}",
                hint=f"give {option} as {expected}",
            )


def _check_declaration(
    kind: str, name: str, families: Sequence[str], function: Callable[..., Any], **options: Any
) -> Origin:
    origin = Origin.of(function)
    _check_name(name, origin)
    _check_options(origin, f"the {kind} '{name}'", {"families": families, **options})
    with Located(f"the {kind} '{name}'", origin):
        for each in families:
            find_family(each)
    _check_untaken(kind, name, origin)
    return origin


def _check_untaken(kind: str, name: str, origin: Origin) -> None:
    """Check that no other plug-in has defined a name."""
    known = ORIGINS.get((kind, name))
    if known is not None and known.module != origin.module:
        raise InputError(
            f"{origin}: the {kind} '{name}' exists already ({known})", hint="choose another name"
        )


def _register(registry: Registry[AnyEntry], entry: AnyEntry, kind: str, origin: Origin) -> None:
    """Add an entry, or replace what the same plug-in has defined before under this name."""
    try:
        registry.register(entry, replace=(kind, entry.name) in ORIGINS)
    except InputError as error:
        raise InputError(f"{origin}: {error.message}", hint=error.hint) from None
    ORIGINS[kind, entry.name] = origin


def _check_pattern(name: str, pattern: str, origin: Origin) -> None:
    """Check that a pattern contains no character that no spec has.

    Raises:
        InputError: it does.
    """
    foreign = _FOREIGN.search(_GROUP.sub("(", pattern))
    if foreign is not None:
        raise InputError(
            f"{origin}: the pattern of '{name}' contains {foreign.group()!r}",
            hint=f"specs consist of {SPEC_CHARACTERS}",
        )


def _check_name(name: object, origin: Origin) -> None:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        shown = repr(name) if isinstance(name, str) else f"a value of type {type(name).__name__}"
        raise InputError(
            f"{origin}: {shown} is not a name", hint="write lower-case words joined by hyphens"
        )


def _read_arguments(
    name: str, origin: Origin, function: Callable[..., Any], fixed: Sequence[str]
) -> tuple[Argument, ...]:
    """Return the arguments that the parameters after the fixed ones declare."""
    parameters = list(inspect.signature(function).parameters.values())
    if [parameter.name for parameter in parameters[: len(fixed)]] != list(fixed):
        raise InputError(
            f"{origin}: the function of '{name}' has the parameters "
            f"{', '.join(parameter.name for parameter in parameters) or 'none'}",
            hint=f"begin with {', '.join(fixed)}",
        )
    return tuple(_read_argument(name, origin, each) for each in parameters[len(fixed) :])


def _read_argument(name: str, origin: Origin, parameter: inspect.Parameter) -> Argument:
    default = parameter.default
    has_default = default is not inspect.Parameter.empty
    annotation: object = parameter.annotation
    if annotation is inspect.Parameter.empty and has_default:
        annotation = type(default)
    kind: Literal["count", "integer", "text"] | None = None
    if isinstance(annotation, type | str):
        kind = _KINDS.get(annotation)
    is_variadic = parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
    if kind is None or is_variadic or (has_default and _KINDS.get(type(default)) != kind):
        raise InputError(
            f"{origin}: the parameter '{parameter.name}' of '{name}' is not an int or a str",
            hint=f"write '{parameter.name}: int', with or without a default",
        )
    if parameter.name in ("segments", "messages", "copies"):
        kind = "count"
    return Argument(
        parameter.name,
        f"the parameter '{parameter.name}' of {origin.module}",
        (lambda _: default) if has_default else None,
        kind=kind,
    )


def _call(
    noun: str,
    origin: Origin,
    function: Callable[..., Any],
    topology: Topology,
    root: int,
    arguments: Mapping[str, Any],
) -> Any:
    return run_guarded(noun, origin, lambda: function(topology, root, **arguments))


def _check_parent_ports(
    name: str, origin: Origin, result: Any, topology: Topology, trees: int
) -> NDArray[np.uint8]:
    array: NDArray[Any] = run_guarded(
        f"the result of '{name}'",
        origin,
        lambda: np.atleast_2d(np.asarray(getattr(result, "parent_port", result))),
    )
    expected = (trees, topology.nodes)
    if array.dtype.kind not in "iu" or array.shape != expected:
        shape = " x ".join(map(str, array.shape))
        raise InputError(
            f"the construction '{name}' ({origin}) returned an array of {array.dtype} [{shape}] on "
            f"{topology.spec}",
            hint=f"return parent ports, uint8 [{expected[0]}, {expected[1]}]: 0 at the root",
        )
    if array.size and (int(array.min()) < 0 or int(array.max()) > 255):
        raise InputError(
            f"the construction '{name}' ({origin}) returned the port {int(array.max())}",
            hint=f"the ports of {topology.spec} are {topology.ports[0]} to {topology.ports[-1]}",
        )
    return array.astype(np.uint8)


def _build_schedule(
    noun: str, origin: Origin, result: Any, declared: Mapping[str, Any]
) -> Schedule:
    if isinstance(result, Schedule):
        columns: Mapping[str, Any] = {
            **result.columns._asdict(),
            **{key: getattr(result, key) for key in ("units", "packets", "symmetric", "forest")},
        }
    elif isinstance(result, Mapping):
        columns = result
    else:
        raise InputError(
            f"{noun} ({origin}) returned {type(result).__name__}",
            hint=f"return a mapping with the columns {', '.join(REQUIRED)}, or a Schedule",
        )
    with Located(noun, origin):
        return schedule_from_columns(columns, **declared)


def _count_least_rows(topology: Topology, arguments: Mapping[str, Any]) -> int:
    """Return the least number of rows: every node but the root sends or receives each message."""
    messages = int(arguments.get("messages", arguments.get("segments", 1)))
    return messages * (topology.nodes - 1)
