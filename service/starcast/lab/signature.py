"""Annotations for the parameters of operations: types, and properties for the command line.

The command line derives its commands from the signatures and docstrings of the methods of `Lab`. An
annotation adds properties that a type cannot express, such as the short name of an option. This
module and the signatures import no large modules, so that ``starcast --help`` stays fast.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from inspect import getdoc
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from starcast.support.axes import AXES
from starcast.support.vocabulary import Collective, LayoutName, LoadMethod

if TYPE_CHECKING:
    from collections.abc import Mapping
    from fractions import Fraction

    from starcast.topologies import Topology

_SECTION = re.compile(r"^(Args|Attributes|Returns|Raises|Example):$", re.MULTILINE)
_ARGUMENT = re.compile(r"^    (\w+): ", re.MULTILINE)


@dataclass(frozen=True)
class Shell:
    """The properties of a parameter on the command line, attached to its annotation as metadata.

    Attributes:
        type: the type on the command line, if Python accepts more types: ``str`` for
            ``str | Topology``, and ``dict`` for a mapping, which is written as ``name=TEXT`` and
            ``name:=JSON``.
        flag: the name of the option, such as ``--all`` (default: the parameter's name).
        short: short names of the option, such as ``("-m",)``.
        metavar: the placeholder for the value in the help.
        completes: the function of `starcast.cli.completion` that suggests values.
        required: whether a list of arguments must not be empty.
        least: the smallest allowed number.
        most: the largest allowed number.
        default: the text that the help shows in place of the default value.
        confirm: the question that is asked on a terminal before a switch takes effect.
        format: the output format that turns a switch on. Such a switch is not an option.
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


TopologyName = Annotated["str | Topology", Shell(str, metavar="TOPOLOGY", completes="topologies")]
OptionalTopology = Annotated[
    "str | Topology | None", Shell(str, metavar="TOPOLOGY", completes="topologies")
]
StoredTopology = Annotated[
    "str | Topology | None", Shell(str, metavar="TOPOLOGY", completes="stored_topologies")
]
ArtifactId = Annotated[str, Shell(metavar="ID", completes="artifacts")]
Method = Annotated["LoadMethod | str", Shell(LoadMethod)]
CollectiveName = Annotated[Collective, Shell(str, completes="collectives")]
ExperimentName = Annotated[str, Shell(completes="experiments")]
SomeExperiment = Annotated[str | None, Shell(completes="experiments")]
MessageBytes = Annotated["float | str | Fraction", Shell(str, short=("-m",))]
#: An exact number: 100, 2.5 or 23/3.
Number = Annotated["float | str | Fraction", Shell(str)]
#: Conditions on runs: a mapping from axes to values, or texts such as ``topology=S5``.
Conditions = Annotated[
    "Mapping[str, Any] | Iterable[str]",
    Shell(list[str], flag="--where", metavar="AXIS=VALUE"),
]
#: The root, given by its label. In Python, its rank is accepted too.
Root = Annotated["int | str | None", Shell(str)]
All = Annotated[bool, Shell(flag="--all")]
Layout = Annotated[LayoutName | None, Shell(completes="layouts")]
OutFile = Annotated["str | Path", Shell(Path)]
OptionalOutFile = Annotated["str | Path | None", Shell(Path)]
Jobs = Annotated[int | None, Shell(default="one per core")]
ShardName = Annotated[str | None, Shell(metavar="I/N")]
ShardFiles = Annotated["str | Path", Shell(Path, metavar="FILES", required=True)]


def _axes(names: Iterable[str], kind: Any) -> Any:
    """Return a TypedDict for ``**axes``, with an item for each axis, which becomes an option."""
    # A class statement would repeat the list of axes in `AXES`.
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


@dataclass(frozen=True)
class Documentation:
    """A docstring, divided into its sections.

    Attributes:
        text: the summary and the description.
        arguments: the meaning of each parameter.
        commands: the commands in the section ``Example``, whose lines begin with ``$``.
    """

    text: str
    arguments: dict[str, str] = field(default_factory=dict)
    commands: tuple[str, ...] = ()

    @classmethod
    def of(cls, documented: Callable[..., Any] | type) -> "Documentation":
        """Return the parts of a Google-style docstring.

        Example:
            >>> Documentation.of(Lab.drop).arguments["cascade"]
            'also drop the artifacts that depend on it.'
        """
        text, *parts = _SECTION.split(getdoc(documented) or "")
        sections = dict(zip(parts[::2], parts[1::2], strict=True))
        listed = _ARGUMENT.split(sections.get("Args") or sections.get("Attributes") or "")[1:]
        meanings = [" ".join(meaning.split()) for meaning in listed[1::2]]
        lines = (line.strip() for line in sections.get("Example", "").splitlines())
        return cls(
            text.strip(),
            dict(zip(listed[::2], meanings, strict=True)),
            tuple(line.removeprefix("$ ") for line in lines if line.startswith("$ ")),
        )
