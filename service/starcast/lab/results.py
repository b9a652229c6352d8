"""Classes for results beyond plain tables: query results, runs, comparisons, drawings and files.

Signatures name these classes, so this module imports no large modules.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcast.lab.signature import choose
from starcast.support.errors import InputError
from starcast.support.table import Row, Table
from starcast.support.vocabulary import Layout, Plot

if TYPE_CHECKING:
    from starcast.collectives.model import Structure
    from starcast.comparison.compare import Comparison
    from starcast.comparison.presentation import Profiles
    from starcast.costs.presentation import CostPart
    from starcast.drawing.scene import PictureFormat
    from starcast.formats.writing import FileFormat
    from starcast.queries import Query
    from starcast.support.runs import Run


@dataclass(frozen=True, repr=False)
class Answer(Table):
    """The result of a query.

    Notebooks and terminals show it as a table, with paths hop by hop.

    Attributes:
        columns: the names of the columns, in order.
        rows: one dictionary per row.
        note: the number of shown rows and, unless the caller chose the row limit, advice on how to
            get all rows; empty if ``rows`` contains all rows.
        cypher: the statement that ran.
        parameters: the values of the statement's parameters.
        more: whether the query has more rows than the row limit permits.
    """

    cypher: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    more: bool = False
    _query: "Query | None" = None

    def svg(self, layout: Layout | str | None = None) -> str:
        """Return a drawing of the nodes and links that the rows name, as an SVG document.

        Args:
            layout: arrangement of the nodes: ``levels`` (by the distance from the source or the
                root) or ``ring`` (on a circle). Default: levels if the drawing has a source or
                root, and links; else ring.

        Raises:
            InputError: no column is declared to contain nodes, the parameters do not name exactly
                one topology, the result has no nodes, or ``levels`` lacks a source or root.
            LimitError: the drawing has too many nodes.
        """
        from starcast import drawing
        from starcast.queries.picture import build_subgraph

        if self._query is None:
            raise InputError(
                "the result of a statement without a header cannot be drawn: only a header "
                "declares which columns contain nodes",
                hint="write a query file whose header declares such columns: 'sender (node): ...'",
            )
        subgraph = build_subgraph(self._query, self.parameters, self.rows)
        return drawing.draw_subgraph(
            subgraph, None if layout is None else choose(Layout, layout, "layout")
        )

    def readable(self) -> Table:
        """Return the table with nodes as labels, and paths as strings such as ``123 -2-> 213``."""
        columns = list(self.columns)
        rows = [dict(row) for row in self.rows]
        if {"path", "ports"} <= set(columns) and _are_paths(rows):
            for row in rows:
                row["path"] = hops(row["path"] or [], row["ports"] or [])
            columns.remove("ports")
        rows = [{name: _short(value) for name, value in row.items()} for row in rows]
        return Table.of(rows, columns, self.note)


def _are_paths(rows: Sequence[Row]) -> bool:
    """Return whether, in all rows, ``path`` is a list of nodes and ``ports`` has a port per hop."""
    # A query may have columns `path` and `ports` with other contents, which `hops` cannot join.
    pairs = [(row["path"] or [], row["ports"] or []) for row in rows]
    return all(
        isinstance(nodes, list) and isinstance(ports, list) and len(ports) == max(len(nodes) - 1, 0)
        for nodes, ports in pairs
    )


def hops(nodes: Sequence[Any], ports: Sequence[Any]) -> str:
    """Return a path as a string, hop by hop, with the sender's port: ``123 -2-> 213 -3-> 312``."""
    steps = [f" -{port}-> {node}" for node, port in zip(nodes[1:], ports, strict=True)]
    return "".join([str(nodes[0]), *steps]) if nodes else ""


def _short(value: Any) -> Any:
    """Shorten a Neo4j node to its label, spec or id, and a relationship to type and properties."""
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
    """The costs of a run: simulated, closed form and lower bound, with gaps (time / lower bound).

    Attributes:
        run: the run with its parameters and costs. ``run.id`` is the number of the run, or None if
            the run was not stored.
    """

    run: "Run" = field(kw_only=True)


@dataclass(frozen=True, repr=False)
class CostTable(Table):
    """A table of costs that is printed as several smaller tables.

    Attributes:
        parts: a table per collective and port model, or per set of parameters of a paper's table.
        is_paper: whether the table has the rows and columns of a paper's table.
    """

    parts: "tuple[CostPart, ...]" = ()
    is_paper: bool = False

    def latex_parts(self) -> list[Row]:
        """Return the content of one LaTeX table per part: columns, rows, caption and sources."""
        return [
            {
                "columns": part.columns, "rows": part.rows, "caption": part.title,
                "label": part.label, "below": part.sources, "spare": part.spare,
            }
            for part in self.parts
        ]  # fmt: skip


@dataclass(frozen=True, repr=False)
class ComparisonTable(Table):
    """A comparison of stored runs, with one row per combination of parameters.

    The compared experiments or runs are called sides. Notebooks and terminals show the results of
    the sides next to each other, and the best results in bold.

    Attributes:
        comparison: the compared sides, and for each row the runs that are paired.
    """

    comparison: "Comparison" = field(kw_only=True)
    _load_profiles: "Callable[[], Profiles]" = dict

    @property
    def everything(self) -> bool:
        """Whether the table also shows parameters, results and rows that are equal on all sides."""
        return self.comparison.everything

    def html(self) -> str:
        """Return the comparison page as a single HTML file that contains its data and scripts.

        Raises:
            UnavailableError: the lab is closed.
        """
        from starcast.comparison.presentation import render_file

        return render_file(self.comparison, self.profiles())

    def latex_parts(self) -> list[Row]:
        """Return the comparison as one LaTeX table, in which the sides are named A, B, ...

        The lines below the table explain what A, B, ... stand for, and which runs are paired.
        """
        from starcast.comparison.presentation import describe_latex

        return [describe_latex(self.comparison)]

    def plots(self, file: str | Path, only: Plot | None = None) -> None:
        """Write the plots of the comparison's HTML page, one below the other, to a file.

        Args:
            file: a file name that ends in .svg, .pdf or .png.
            only: ``time`` for only the plots of time against message size, ``links`` for only the
                plots of busy links per step; None for all plots.

        Raises:
            InputError: the file name has an unsupported suffix, the file cannot be written, or
                there is nothing to plot.
            UnavailableError: matplotlib is not installed, or the lab is closed.
        """
        from starcast.comparison.plots import check_plot, plot_file
        from starcast.support.atomic import atomic_write

        # Reading the profiles and drawing the plots takes time, so the file name is checked first.
        check_plot(Path(file))
        content = plot_file(self.comparison, self.profiles(), Path(file).suffix, only)
        with atomic_write(Path(file)) as opened:
            opened.write(content)

    def profiles(self) -> "Profiles":
        """Return the number of busy directed links in each step of the plotted runs, by run number.

        Raises:
            UnavailableError: the lab is closed.
        """
        return self._load_profiles()

    def runs(self) -> Table:
        """Return the compared runs, one per row, with the same columns for every comparison.

        The column ``side`` names the experiment, run or part of an experiment. Rows with the same
        number in ``pair`` are compared with each other; ``verdict``, ``change`` and ``note``
        compare the row with the baseline.
        """
        from starcast.comparison.presentation import tabulate_runs

        return tabulate_runs(self.comparison)

    def crossovers(self) -> Table:
        """Return the crossovers: message sizes at which the faster of two algorithms changes.

        Every two curves in a plot of the comparison are compared; a curve shows an algorithm.
        """
        from starcast.comparison.presentation import tabulate_crossovers

        return tabulate_crossovers(self.comparison)

    def _repr_html_(self) -> str:
        from starcast.comparison.presentation import describe_pairing, lay_out

        layout = lay_out(self.comparison.with_short_names())
        note = "; ".join(filter(None, [describe_pairing(self.comparison), self.note]))
        return replace(layout, note=note).head().html()


@dataclass(frozen=True)
class Picture:
    """A drawing of an artifact or a query result, which notebooks display.

    Attributes:
        svg: the drawing as an SVG document.
        subject: the subject of the drawing, such as "tree 0 of S5:multiple:12345".
        animated: whether the drawing is an animation, which only SVG files can contain.
    """

    svg: str
    subject: str
    animated: bool = False

    def save(self, file: str | Path) -> None:
        """Write the drawing to a file: PNG or PDF if the suffix is .png or .pdf, else SVG.

        Raises:
            InputError: the file cannot be written, a package for its format is not installed, or
                its format cannot contain an animation.
        """
        from starcast.drawing.scene import convert
        from starcast.support.atomic import atomic_write

        formats: dict[str, PictureFormat] = {".png": "png", ".pdf": "pdf"}
        suffix = Path(file).suffix.lower()
        if self.animated and suffix in formats:
            raise InputError(
                f"an animation cannot be written as {suffix}: {file}",
                hint="use a file name that ends in .svg, or draw single steps",
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
        to: the name of the format, such as ``graphml``.
        options: options of the format by name, such as ``tree`` or ``unit_bytes``.
    """

    artifact: "Structure"
    to: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def format(self) -> "FileFormat":
        """The properties of the format, such as its suffixes and whether it is text.

        Raises:
            InputError: the format is not defined for this kind of artifact.
        """
        from starcast.formats.writing import find_format, kind_of

        return find_format(kind_of(self.artifact), self.to)

    def parts(self) -> Iterator[bytes]:
        """Yield the contents of the file, part by part.

        Raises:
            InputError: the format is not text, or an option is invalid.
        """
        from starcast.formats import render

        if not self.format.is_text:
            raise InputError(
                f"the format {self.to} is not text, and cannot be printed",
                hint=f"specify a file with `out`, such as file{self.format.suffixes[0]}",
            )
        return render(self.artifact, self.to, **self.options)

    def save(self, file: str | Path) -> None:
        """Write the file in its format, as `starcast.export` does."""
        from starcast.formats import export

        export(self.artifact, file, self.to, **self.options)  # type: ignore[arg-type]
