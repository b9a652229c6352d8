"""The types in the signatures of operations: annotations for parameters, and classes of results.

The command line derives its commands from the signatures and docstrings of the methods of `Lab`. An
annotation adds properties that a type cannot express, such as the short name of an option. This
module and the signatures import no large modules, so that ``starcast --help`` stays fast. Arguments
that can be objects in Python, but only text on the command line, are converted here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, TypeVar

from starcast.support.axes import AXES
from starcast.support.errors import InputError
from starcast.support.table import Row, Table
from starcast.support.vocabulary import Collective, Layout, LayoutName, LoadMethod

if TYPE_CHECKING:
    from starcast.comparison.compare import Comparison
    from starcast.comparison.presentation import Profiles
    from starcast.drawing.scene import PictureFormat
    from starcast.formats import Artifact, FileFormat
    from starcast.queries import Query
    from starcast.stores.database.models import Run
    from starcast.topologies import Topology


_Choice = TypeVar("_Choice", bound=StrEnum)


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
LayoutOption = Annotated[LayoutName | None, Shell(completes="layouts")]
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


def choose(choices: type[_Choice], text: str, noun: str) -> _Choice:
    """Return the member of the enumeration whose value is this text.

    Raises:
        InputError: there is no such member.

    Example:
        >>> choose(Layout, "levels", "layout")
        <Layout.LEVELS: 'levels'>
    """
    try:
        return choices(text)
    except ValueError:
        raise InputError(
            f"{text!r} is not a {noun}", hint=f"choose one of {', '.join(choices)}"
        ) from None


def plain_values(value: Any) -> Any:
    """Convert one or more values of an axis to types that a grid file can contain."""
    # Text and mappings are iterable, but each of them is a single value.
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
    """Return a list of specs; a text is split at commas, but not within (n,k)-stars such as S4,2.

    Raises:
        InputError: the list is empty.

    Example:
        >>> as_specs("S4,S4,2")
        ['S4', 'S4,2']
    """
    if topologies is None or not isinstance(topologies, str):
        return None if topologies is None else list(topologies)
    specs: list[str] = []
    for word in topologies.replace(",", " ").split():
        # A word that is only a number is not a spec, but the k of an (n,k)-star: the 2 of S4,2.
        if word.isdigit() and specs:
            specs[-1] += f",{word}"
        else:
            specs.append(word)
    if not specs:
        raise InputError("the list of topologies is empty", hint="list topologies, as in S4,S5")
    return specs


def as_conditions(conditions: Mapping[str, Any] | Iterable[str]) -> list[str]:
    """Return conditions in the form of the command line, such as ``topology=S5``.

    Raises:
        InputError: a condition has no values.
    """
    if not isinstance(conditions, Mapping):
        return [conditions] if isinstance(conditions, str) else list(conditions)
    texts = []
    for axis, value in conditions.items():
        plain = plain_values(value)
        values = plain if isinstance(plain, list) else [plain]
        # Without this check, an axis without values would select all runs instead of none.
        if not values:
            raise InputError(
                f"the condition on {axis} has no values", hint="give a value, or omit it"
            )
        texts += [f"{axis}={each}" for each in values]
    return texts


def check_suffix(out: str | Path, *suffixes: str) -> None:
    """Check that the name of an output file ends in one of the given suffixes, or has no suffix.

    Raises:
        InputError: the file has the suffix of another format.
    """
    suffix = Path(out).suffix
    if suffix.lower() not in {"", *suffixes}:
        held = suffixes[0].removeprefix(".").upper()
        raise InputError(
            f"the file would hold {held}, but its name ends in '{suffix}': {out}",
            hint=f"name a file that ends in {suffixes[0]}, and convert it with another program",
        )


# Results of operations that are not only tables: query results, runs, comparisons, and files.


@dataclass(frozen=True, repr=False)
class Answer(Table):
    """The result of a query.

    Notebooks and terminals show it as a table, with paths hop by hop.

    Attributes:
        columns: the names of the columns, in order.
        rows: one dictionary per row.
        note: a sentence about omitted rows and the option that shows them; empty if complete.
        cypher: the statement that ran.
        parameters: the values of its parameters.
        more: whether the row limit omitted further rows.
    """

    cypher: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    more: bool = False
    _query: "Query | None" = None

    def svg(self, layout: Layout | str | None = None) -> str:
        """Return a picture of the nodes and links that the rows name, as an SVG document.

        Args:
            layout: ``levels``, by the distance from the source or the root, or ``ring``.

        Raises:
            InputError: no column is declared to contain nodes, or the result has no nodes.
            LimitError: the picture has too many nodes.
        """
        from starcast import drawing
        from starcast.queries.picture import build_subgraph

        if self._query is None:
            raise InputError(
                "the answer to a statement without a header cannot be drawn, because only a header "
                "declares which columns contain nodes",
                hint="write a query file whose header declares them, such as 'sender (node): ...'",
            )
        subgraph = build_subgraph(self._query, self.parameters, self.rows)
        return drawing.draw_subgraph(
            subgraph, None if layout is None else choose(Layout, layout, "layout")
        )

    def readable(self) -> Table:
        """Return the rows with every path written hop by hop and every node as its label."""
        columns = list(self.columns)
        rows = [dict(row) for row in self.rows]
        if {"path", "ports"} <= set(columns) and _are_paths(rows):
            for row in rows:
                row["path"] = hops(row["path"] or [], row["ports"] or [])
            columns.remove("ports")
        rows = [{name: _short(value) for name, value in row.items()} for row in rows]
        return Table.of(rows, columns, self.note)


def _are_paths(rows: Sequence[Row]) -> bool:
    """Return whether all rows hold paths: one port for every node but the last."""
    # A query may have columns `path` and `ports` with other contents, which `hops` cannot join.
    pairs = [(row["path"] or [], row["ports"] or []) for row in rows]
    return all(
        isinstance(nodes, list) and isinstance(ports, list) and len(nodes) in {0, len(ports) + 1}
        for nodes, ports in pairs
    )


def hops(nodes: Sequence[Any], ports: Sequence[Any]) -> str:
    """Return a path as text, hop by hop, with the sender's port: ``123 -2-> 213 -3-> 312``."""
    steps = [f" -{port}-> {node}" for node, port in zip(nodes[1:], ports, strict=True)]
    return "".join([str(nodes[0]), *steps]) if nodes else ""


def _short(value: Any) -> Any:
    """Shorten a node to its label, spec or id, and a relationship to its type and properties."""
    match value:
        case {"type": str(kind), **properties}:
            listed = (f"{name}={item}" for name, item in properties.items())
            return f"{kind}({', '.join(listed)})"
        case {"topology": _, "label": label}:
            return label
        case {"spec": identity} | {"id": identity}:
            return identity
        case list():
            return [_short(item) for item in value]
    return value


@dataclass(frozen=True, repr=False)
class RunTable(Table):
    """The costs of a run, each with its gap (time / lower bound).

    Attributes:
        run: the run. Its number ``run.id`` is None if it was not stored.
    """

    run: "Run" = field(kw_only=True)


@dataclass(frozen=True, repr=False)
class ComparisonTable(Table):
    """A comparison of stored runs, with one row per common grid point.

    Notebooks show it as the command line does, with the results of the compared experiments or runs
    next to each other, and the best results in bold.

    Attributes:
        comparison: the matched runs.
    """

    comparison: "Comparison" = field(kw_only=True)
    _load_profiles: "Callable[[], Profiles]" = dict

    @property
    def everything(self) -> bool:
        """Whether all parameters, results and rows are shown."""
        return self.comparison.everything

    def html(self) -> str:
        """Return the page of the comparison as one HTML file with its data and scripts.

        Raises:
            UnavailableError: the lab is closed.
        """
        from starcast.comparison.presentation import render_file

        return render_file(self.comparison, self.profiles())

    def plots(self, file: str | Path) -> None:
        """Write the plots of the page, one below the other, to a file.

        Args:
            file: a file name that ends in .svg, .pdf or .png.

        Raises:
            InputError: the name has another ending, or there is nothing to plot.
            UnavailableError: matplotlib is not installed, or the lab is closed.
        """
        from starcast.comparison.plots import check_plot, plot_file
        from starcast.support.atomic import atomic_write

        # Reading the profiles and drawing the plots takes time, so the file name is checked first.
        check_plot(Path(file))
        content = plot_file(self.comparison, self.profiles(), Path(file).suffix)
        with atomic_write(Path(file)) as opened:
            opened.write(content)

    def profiles(self) -> "Profiles":
        """Return the number of directed links in use in each step, for each plotted run by number.

        Raises:
            UnavailableError: the lab is closed.
        """
        return self._load_profiles()

    def crossovers(self) -> Table:
        """Return the message sizes at which a different one of the compared sides becomes fastest.

        A side is an experiment, a run, or a part of a single experiment.
        """
        from starcast.comparison.presentation import tabulate_crossovers

        return tabulate_crossovers(self.comparison)

    def _repr_html_(self) -> str:
        from starcast.comparison.presentation import lay_out

        layout = lay_out(self.comparison.with_short_names())
        return replace(layout, note=self.note).head().html()


@dataclass(frozen=True)
class Picture:
    """A picture, which notebooks display.

    Attributes:
        svg: an SVG document.
        subject: description of the picture in a few words.
        animated: whether the picture is an animation, which only SVG can hold.
    """

    svg: str
    subject: str
    animated: bool = False

    def save(self, file: str | Path) -> None:
        """Write the picture in the format of the file's suffix: SVG, PNG or PDF.

        Raises:
            InputError: the file cannot be written, a package for its format is not installed, or
                its format cannot hold an animation.
        """
        from starcast.drawing.scene import convert
        from starcast.support.atomic import atomic_write

        formats: dict[str, PictureFormat] = {".png": "png", ".pdf": "pdf"}
        suffix = Path(file).suffix.lower()
        if self.animated and suffix in formats:
            raise InputError(
                f"an animation cannot be written as {suffix}: {file}",
                hint="name a file that ends in .svg, or draw steps",
            )
        data = convert(self.svg, formats.get(suffix, "svg"))
        with atomic_write(Path(file)) as opened:
            opened.write(data)

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class ExchangeFile:
    """A topology, forest or schedule that can be written in the format of another program.

    Attributes:
        artifact: the topology, forest or schedule.
        to: the name of the format.
        options: options of the format, as for `starcast.export`.
    """

    artifact: "Artifact"
    to: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def format(self) -> "FileFormat":
        """The properties of the format, such as its suffixes and whether it is text.

        Raises:
            InputError: there is no such format for this kind of artifact.
        """
        from starcast.formats import find_format, kind_of

        return find_format(kind_of(self.artifact), self.to)

    def parts(self) -> Iterator[bytes]:
        """Yield the contents of the file, part by part.

        Raises:
            InputError: the format is not text, or an option is invalid.
        """
        from starcast.formats import render

        if not self.format.is_text:
            raise InputError(
                f"the format {self.to} is not text",
                hint=f"add --out FILE{self.format.suffixes[0]}",
            )
        return render(self.artifact, self.to, **self.options)

    def save(self, file: str | Path) -> None:
        """Write the file in its format, as `starcast.export` does."""
        from starcast.formats import export

        export(self.artifact, file, self.to, **self.options)  # type: ignore[arg-type]
