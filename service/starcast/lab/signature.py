"""Parameter types of the operations, for Python and the shell, and conversions of arguments.

The command line derives its commands from the signatures and docstrings of the methods of `Lab`. An
annotation adds properties that a type cannot express, such as the short name of an option. This
module and the signatures import no large modules, so that ``starcast --help`` stays fast. The
module also converts arguments that can be objects in Python, but only strings on the command line.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar

from starcast.support.axes import AXES
from starcast.support.errors import InputError, StarcastError
from starcast.support.resolvers import resolve
from starcast.support.vocabulary import Collective, LayoutName, LoadMethod, is_network_path

if TYPE_CHECKING:
    from starcast.topologies import Topology


_Choice = TypeVar("_Choice", bound=StrEnum)


@dataclass(frozen=True)
class Shell:
    """Annotation metadata that specifies how a parameter of an operation appears in the shell.

    Attributes:
        type: the type on the command line, if Python accepts more types: ``str`` for
            ``str | Topology``, and ``dict`` for a mapping, which is written as ``name=TEXT`` and
            ``name:=JSON``.
        flag: the name of the option, such as ``--all`` (default: the parameter's name).
        short: short names of the option, such as ``("-m",)``.
        metavar: the placeholder for the value in the help.
        completes: the name of the function in `starcast.cli.completion` that suggests values.
        required: whether a list of arguments must not be empty.
        least: the smallest permitted number.
        most: the largest permitted number.
        default: the string that the help shows instead of the default value.
        confirm: the question that is asked on a terminal before a Boolean option takes effect.
        format: the output format, such as ``svg``, that makes a Boolean parameter true; the
            parameter has no option.
    """

    type: Any = None
    flag: str | None = None
    short: tuple[str, ...] = ()
    metavar: str | None = None
    completes: str | None = None
    required: bool = False
    least: float | None = None
    most: float | None = None
    default: str | None = None
    confirm: str | None = None
    format: str | None = None


TopologyName = Annotated[
    "str | Path | Topology", Shell(str, metavar="TOPOLOGY", completes="topologies")
]
OptionalTopology = Annotated[
    "str | Path | Topology | None", Shell(str, metavar="TOPOLOGY", completes="topologies")
]
StoredTopologyName = Annotated[
    "str | Topology | None", Shell(str, metavar="TOPOLOGY", completes="stored_topologies")
]
ArtifactId = Annotated[str, Shell(metavar="ID", completes="artifacts")]
MethodOption = Annotated["LoadMethod | str", Shell(LoadMethod)]
CollectiveName = Annotated[Collective, Shell(str, completes="collectives")]
ExperimentName = Annotated[str, Shell(completes="experiments")]
SomeExperiment = Annotated[str | None, Shell(completes="experiments")]
MessageBytes = Annotated["float | str | Fraction", Shell(str, short=("-m",))]
#: An exact number, such as 100, 2.5 or 23/3.
NumberOption = Annotated["float | str | Fraction", Shell(str)]
#: Conditions on runs: a mapping from axes to values, or strings such as ``topology=S5``.
ConditionsOption = Annotated[
    "Mapping[str, Any] | Iterable[str]",
    Shell(list[str], flag="--where", metavar="AXIS=VALUE"),
]
#: The root, given by its label. In Python, its rank is accepted too.
Root = Annotated["int | str | None", Shell(str)]
All = Annotated[bool, Shell(flag="--all")]
LayoutOption = Annotated[LayoutName | None, Shell(completes="layouts")]
OutFile = Annotated["str | Path", Shell(Path)]
OptionalOutFile = Annotated["str | Path | None", Shell(Path)]
Jobs = Annotated[int | None, Shell(default="one per core")]
ShardName = Annotated[str | None, Shell(metavar="I/N")]
ShardFiles = Annotated["str | Path", Shell(Path, metavar="FILES", required=True)]


def _axes(names: Iterable[str], kind: Any) -> Any:
    """Return a TypedDict for ``**axes``, with an item for each axis; the items become options.

    Args:
        names: the names of the axes.
        kind: the type of the values on the command line: ``str`` or ``list[str]``.
    """
    # A TypedDict written as a class would repeat the list of axes in `AXES`.
    items = {
        name: Annotated[
            Any,
            Shell(
                kind,
                short=(axis.flag,) if axis.flag else (),
                completes=axis.completion or None,
                default=axis.default or axis.fallback or None,
            ),
        ]
        for name in names
        for axis in [AXES[name]]
    }
    axes: Any = TypedDict("Axes", items, total=False)  # type: ignore[misc]
    axes.__doc__ = "\n".join(
        ["", "Attributes:", *(f"    {each}: {AXES[each].help}" for each in items)]
    )
    return axes


#: Type of ``**axes`` in an experiment, in which each axis can have several values.
SeveralValues = Annotated[Any, _axes(AXES, list[str])]
#: Type of ``**axes`` in a single run, in which each axis has one value. Axes that have a parameter
#: of their own in `Experiments.run` are excluded.
SingleValues = Annotated[
    Any,
    _axes((name for name in AXES if name != "collective" and not AXES[name].is_required), str),
]


def as_list(name: str, values: Any, types: tuple[type, ...], noun: str) -> list[Any]:
    """Return the values of an argument as a list; the argument may also be a single value.

    Args:
        name: the name of the argument, for messages.
        values: a value, or an iterable of values.
        types: the permitted types of a value.
        noun: noun phrase for a value, for messages, such as "a construction".

    Raises:
        InputError: a value has another type.
    """
    is_single = isinstance(values, types) or not isinstance(values, Iterable)
    found = [values] if is_single else list(values)
    for value in found:
        if not isinstance(value, types):
            message = f"each item of `{name}` must be {noun}, not {value!r}"
            raise InputError(message, hint=f"use {noun}")
    return found


def choose(choices: type[_Choice], text: str, noun: str) -> _Choice:
    """Return the member of an enumeration with the given value.

    Raises:
        InputError: no member has this value.

    Example:
        >>> from starcast.support.vocabulary import Layout
        >>> choose(Layout, "levels", "layout")
        <Layout.LEVELS: 'levels'>
    """
    try:
        return choices(text)
    except ValueError:
        raise InputError(
            f"{text!r} is not a {noun}", hint=f"choose one of {', '.join(choices)}"
        ) from None


def is_network_file(given: object) -> bool:
    """Return whether an argument for a topology is a path, not a spec, a name or an object."""
    return isinstance(given, Path) or (isinstance(given, str) and is_network_path(given))


def read_topology(given: "str | Path | Topology") -> "Topology":
    """Return the topology given by a spec, a stored network's name, a file or a `Topology`.

    A network that is read from a file is known in this process only. Strings from visitors of a web
    page must be passed to `read_stored_topology` instead, because this function opens any file that
    a string names.

    Raises:
        InputError: the topology is unknown, the file cannot be read, or several stored networks
            have the name.
    """
    if is_network_file(given):
        from starcast.formats.networks import network

        return network(given)
    return read_stored_topology(given)  # type: ignore[arg-type]  # not a Path


def read_stored_topology(given: "str | Topology") -> "Topology":
    """Return the topology given by a spec, a stored network's name or a `Topology`.

    Raises:
        InputError: the topology is unknown, or several stored networks have the name.
    """
    from starcast.topologies import as_topology
    from starcast.topologies.networks import Network, remember

    if isinstance(given, Network):
        return remember(given)
    return as_topology(read_spec(given) if isinstance(given, str) else given)


def read_id(text: str) -> str:
    """Replace the name of a stored network at the beginning of an id by the network's spec.

    Raises:
        InputError: several stored networks have the name.
    """
    name, colon, rest = text.partition(":")
    return f"{read_spec(name)}{colon}{rest}"


def read_spec(text: str) -> str:
    """Return the spec of the stored network with the given name; return any other text unchanged.

    Raises:
        InputError: several stored networks have the name.
    """
    from starcast.topologies import count_nodes
    from starcast.topologies.networks import NAME

    if not NAME.fullmatch(text) or count_nodes(text):
        return text
    try:
        found = resolve(text)
    except InputError:
        raise
    except StarcastError:  # PostgreSQL cannot be read, so the text is not treated as a name
        return text
    return found.spec if found else text


def plain_axes(axes: Mapping[str, Any]) -> dict[str, Any]:
    """Convert axes, or the content of a grid file, to values that a grid file can contain.

    Network files and network names become specs.

    Args:
        axes: the value or values of each axis, by name; the key ``grid`` may contain a list of such
            mappings.
    """
    plain = {}
    for axis, value in axes.items():
        plain[axis] = plain_values(value)
        if axis == "topology":
            plain[axis] = _plain_specs(plain[axis])
        elif axis == "grid" and isinstance(value, list):
            # Elements that are not mappings are refused when the grid is read.
            are_tables = all(isinstance(each, Mapping) for each in value)
            plain[axis] = list(map(plain_axes, value)) if are_tables else value
    return plain


def _plain_specs(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain_specs(each) for each in value]
    if is_network_file(value):
        return read_topology(value).spec
    return read_spec(value) if isinstance(value, str) else value


def plain_values(value: Any) -> Any:
    """Convert one or more values of an axis to types that a grid file can contain."""
    # Strings and mappings are iterable, but each of them is a single value.
    if isinstance(value, str | Fraction | Mapping):
        return value
    # Only a `Topology` has this attribute; importing the class would take time.
    if hasattr(value, "spec"):
        return value.spec
    if not isinstance(value, Iterable):
        # `item` converts numpy's numbers to Python's.
        return value.item() if hasattr(value, "item") else value
    return [plain_values(each) for each in value]


def as_specs(topologies: str | Iterable[str] | None) -> list[str] | None:
    """Return topologies as a list of specs; None is returned unchanged.

    A string is split at spaces and at commas, except commas within specs such as S4,2.

    Raises:
        InputError: the string or list contains no specs, or an item is not a string.

    Example:
        >>> as_specs("S4,S4,2")
        ['S4', 'S4,2']
    """
    if topologies is None:
        return None
    given = as_list("sizes", topologies, (str,), "a spec such as S4")
    specs = [] if isinstance(topologies, str) else given
    words = topologies.replace(",", " ").split() if isinstance(topologies, str) else []
    for word in words:
        # A word that is only a number is not a spec, but the k of an (n,k)-star: the 2 of S4,2.
        if word.isdigit() and specs:
            specs[-1] += f",{word}"
        else:
            specs.append(word)
    if not specs:
        raise InputError("the list of topologies is empty", hint="write specs, such as S4,S5")
    return specs


def as_conditions(conditions: Mapping[str, Any] | Iterable[str]) -> list[str]:
    """Return conditions on runs as strings ``axis=value``, such as ``topology=S5``.

    Names of stored networks become specs.

    Raises:
        InputError: a condition has no values, an item is not a string, or several stored networks
            have the same name.
    """
    if not isinstance(conditions, Mapping):
        given = as_list("conditions", conditions, (str,), "a string such as topology=S5")
        return list(map(_plain_condition, given))
    texts = []
    for axis, value in conditions.items():
        plain = plain_values(value)
        values = plain if isinstance(plain, list) else [plain]
        # Without this check, an axis without values would select all runs instead of none.
        if not values:
            raise InputError(
                f"the condition on {axis} has no values", hint="add a value, or omit the condition"
            )
        texts += [_plain_condition(f"{axis}={each}") for each in values]
    return texts


def _plain_condition(text: str) -> str:
    axis, _, value = text.partition("=")
    if axis.strip() != "topology" or not value:
        return text
    # A web page may pass strings from its visitors, so the value is never read as a file path.
    return f"{axis}={read_spec(value.strip())}"


def check_suffix(out: str | Path, *suffixes: str) -> None:
    """Check that the name of an output file ends in one of the given suffixes, or has no suffix.

    Raises:
        InputError: the suffix is not one of the given suffixes, or the name is not a path.
    """
    if not isinstance(out, str | Path):
        raise InputError(f"{out!r} is not the name of a file", hint="use a string or a Path")
    suffix = Path(out).suffix
    if suffix.lower() not in {"", *suffixes}:
        held = suffixes[0].removeprefix(".").upper()
        raise InputError(
            f"the file format is {held}, but the file name ends in '{suffix}': {out}",
            hint=f"use a name that ends in {suffixes[0]}, and convert the file afterwards",
        )
