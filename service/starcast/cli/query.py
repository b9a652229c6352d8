"""``starcast query``: list, show, run and check Cypher queries."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli import context, query_output
from starcast.cli.output import AllOption, Format, FormatOption, emit, say
from starcast.cli.query_output import Output
from starcast.errors import InputError, RejectedError, UnavailableError
from starcast.vocabulary import Layout

if TYPE_CHECKING:
    from starcast.queries import Library, Query
    from starcast.settings import Settings

app = typer.Typer(
    no_args_is_help=True,
    help="Cypher queries: list, show and run them; check your own queries.",
)

NameArgument = Annotated[
    str, typer.Argument(help="A query, as pack/name or name, or a .cypher file.")
]


@app.command("list")
def list_queries(
    ctx: typer.Context, everything: AllOption = False, output: FormatOption = Format.TABLE
) -> None:
    """List the queries with their parameters and the seconds measured on S6, S7 and S8."""
    from starcast.queries import load_library
    from starcast.queries.catalogue import describe_type
    from starcast.queries.measured import SIZES, measurements

    library = load_library(context.settings(ctx).packs)
    rows = []
    for query in library.queries.values():
        figures = measurements().find(query)
        row = {
            "query": query.name,
            "question": query.header.question,
            "parameters": "; ".join(f"{p.name} ({describe_type(p)})" for p in query.parameters),
            "cost": query.header.cost,
        }
        for spec in SIZES:
            row[_seconds_column(spec)] = figures.format_seconds(spec) if figures else ""
        rows.append(row)
    _warn(library)
    columns = ["query", "question", "parameters", "cost", *map(_seconds_column, SIZES)]
    if output is Format.TABLE and not everything:
        columns.remove("cost")
    emit(rows, columns, output)


def _seconds_column(spec: str) -> str:
    return f"seconds_{spec.lower()}"


@app.command("show")
def show(ctx: typer.Context, name: NameArgument) -> None:
    """Print the file of a query: a header and Cypher that can be pasted into Neo4j Browser."""
    from starcast.queries.measured import measurements

    query = _find(name, context.settings(ctx).packs)
    print(query.text.rstrip())
    if sentence := measurements().describe(query):
        say(sentence)


@app.command("run")
def run_query(
    ctx: typer.Context,
    name: NameArgument,
    values: Annotated[
        list[str] | None,
        typer.Argument(help="Parameters of the query, as key=value.", show_default=False),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Maximum number of rows (default: the setting row_limit).")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Time limit in seconds (default: the setting timeout).")
    ] = None,
    show_cypher: Annotated[
        bool, typer.Option("--show-cypher", help="Print the Cypher and its parameters to stderr.")
    ] = False,
    output: Annotated[
        Output, typer.Option("--format", "-f", help="Output format; svg is a picture.")
    ] = Output.TABLE,
    layout: Annotated[
        Layout | None,
        typer.Option(help="Layout of a picture; levels are distances from the source or the root."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Output file for svg.", show_default="stdout"),
    ] = None,
) -> None:
    """Run a query and print its rows.

    The query runs in a read-only transaction on complete artifacts. Tables print paths hop by hop,
    json and csv as lists. A picture shows the nodes and links that the rows name, and faintly the
    other links between these nodes.

    \b
    starcast query run shortest-paths topology=S4 source=1234 target=4321
    starcast query run shortest-paths topology=S4 source=1234 target=4321 -f svg --out paths.svg
    """
    from starcast.endpoints import graph_address
    from starcast.graph.connection import Graph
    from starcast.queries import run
    from starcast.queries.execution import narrowing_advice
    from starcast.queries.parameters import bind
    from starcast.queries.picture import check_drawable

    settings = context.settings(ctx, row_limit=limit, timeout=timeout)
    query_output.check_options(output, layout, out)
    query = _find(name, settings.packs)
    bound = bind(query.parameters, _parse_values(values or []))
    if output is Output.SVG:
        check_drawable(query, bound)
    if show_cypher:
        _show_cypher(query, bound)
    with Graph.open(graph_address(settings)) as graph:
        result = run(graph, query, bound, row_limit=settings.row_limit, timeout=settings.timeout)
    if output is Output.SVG:
        query_output.draw(query, bound, result, layout, out)
    else:
        query_output.show(result, Format(output))
    if result.more:
        say(
            f"only the first {settings.row_limit:,} rows are shown: "
            f"{narrowing_advice(query)}, or raise --limit"
        )


@app.command("check")
def check(
    ctx: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(help="A query, a pack, a file or a folder of packs (default: all)."),
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Check query files, and the plans that Neo4j makes for them.

    A plan must be free of notifications, cartesian products and writes.
    """
    from starcast.endpoints import graph_address
    from starcast.graph.connection import Graph
    from starcast.queries.plan import find_problems, has_indexes

    settings = context.settings(ctx)
    queries = _targets(target, settings)
    try:
        graph = Graph.open(graph_address(settings))
    except UnavailableError as error:
        rows = [{"query": query.name, "file": str(query.path)} for query in queries]
        emit(rows, ["query", "file"], output)
        say(
            f"{len(queries)} files are valid; plans were not checked: {error.message}; {error.hint}"
        )
        return
    with graph:
        ready = has_indexes(graph)
        found = {query: find_problems(graph, query, ready) for query in queries}
        version = graph.version
    rows = [
        {"query": query.name, "file": str(query.path), "problems": "; ".join(found[query])}
        for query in queries
    ]
    emit(rows, ["query", "file", "problems"], output)
    invalid = [query.name for query in queries if found[query]]
    if invalid:
        raise RejectedError(
            f"the planner of Neo4j {version} reports problems with {', '.join(invalid)}",
            hint="fix the listed problems",
        )
    if ready:
        say(f"{len(queries)} queries are valid, and Neo4j {version} plans them without problems")
    else:
        say(
            f"{len(queries)} queries are valid for Neo4j {version}; plans were not checked because "
            "the schema's indexes are missing: run 'starcast ingest S3' to create them"
        )


def _find(name: str, packs: Path | None) -> "Query":
    """Return a query by name or file, and warn of invalid files in the packs.

    Raises:
        NotFoundError: no query has this name.
        InputError: the query is invalid.
    """
    from starcast.queries import find, load_library
    from starcast.queries.pack import is_file

    if is_file(name):
        return find(name)
    library = load_library(packs)
    query = library.find(name)
    _warn(library)
    return query


def _warn(library: "Library") -> None:
    for fault in library.faults.values():
        say(f"warning: skipped: {fault.message}; {fault.hint}")


def _parse_values(arguments: Sequence[str]) -> dict[str, str]:
    """Return the values by parameter.

    Raises:
        InputError: an argument is not ``key=value``, or a key is repeated.
    """
    values: dict[str, str] = {}
    for argument in arguments:
        key, sign, value = argument.partition("=")
        if not sign or not key:
            raise InputError(
                f"'{argument}' is not a parameter",
                hint="write key=value; 'starcast query show NAME' lists the keys",
            )
        if key in values:
            raise InputError(f"the parameter '{key}' is given twice", hint="remove one of them")
        values[key] = value
    return values


def _show_cypher(query: "Query", values: dict[str, Any]) -> None:
    """Print what to paste into Neo4j Browser; JSON is valid Cypher for all parameter values."""
    for name, value in values.items():
        say(f":param {name} => {json.dumps(value, ensure_ascii=False)}")
    print(query.text.rstrip(), file=sys.stderr)


def _targets(target: str | None, settings: "Settings") -> "list[Query]":
    from starcast.queries import find, load_library
    from starcast.queries.pack import load_folder

    if target is not None and Path(target).is_dir():
        return list(load_folder(Path(target).absolute()).values())
    if target is not None and target.endswith(".cypher"):
        return [find(target)]
    library = load_library(settings.packs)
    if target is None:
        return list(library.require_valid().values())
    for name, fault in library.faults.items():
        if name.startswith(f"{target}/"):
            raise fault
    pack = [query for query in library.queries.values() if query.pack == target]
    return pack or [find(target, settings.packs)]
