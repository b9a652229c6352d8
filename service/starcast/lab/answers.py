"""Results that are tables with further contents: query results, runs, and comparisons."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcast.lab.choices import choose
from starcast.support.errors import InputError
from starcast.support.table import Row, Table
from starcast.support.vocabulary import Layout

if TYPE_CHECKING:
    from starcast.comparison.compare import Comparison
    from starcast.comparison.page import Profiles
    from starcast.queries import Query
    from starcast.stores.database.models import Run


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
        everything: whether all parameters, results and rows are shown.
    """

    comparison: "Comparison" = field(kw_only=True)
    everything: bool = False
    _load_profiles: "Callable[[], Profiles]" = dict

    def html(self) -> str:
        """Return the page of the comparison as one HTML file with its data and scripts.

        Raises:
            UnavailableError: the lab is closed.
        """
        from starcast.comparison.page import render_file

        return render_file(self.comparison, self.profiles(), everything=self.everything)

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
        from starcast.comparison.layout import tabulate_crossovers

        return tabulate_crossovers(self.comparison)

    def _repr_html_(self) -> str:
        from starcast.comparison.layout import tabulate_layout

        layout = tabulate_layout(self.comparison, everything=self.everything)
        table = Table.of(layout.rows, layout.columns, self.note)
        return _Emphasized(table.columns, table.rows, table.note, best=layout.best).head().html()


@dataclass(frozen=True, repr=False)
class _Emphasized(Table):
    """A table that shows the best cells of each row in bold."""

    best: Sequence[Collection[str]] = ()  # type: ignore[misc]
