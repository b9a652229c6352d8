"""``starcast query``: list, show, run and check Cypher queries."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from starcast.cli import completion, context, query_output
from starcast.cli.output import AllOption, FormatOption, emit, say, warn
from starcast.errors import RejectedError, UnavailableError
from starcast.vocabulary import Format, Layout, ListingFormat

if TYPE_CHECKING:
    from starcast.queries import Library, Query
    from starcast.settings import Settings

app = typer.Typer(
    no_args_is_help=True,
    help="Cypher queries: list, show and run them; check your own queries.",
)

NameArgument = Annotated[
    str,
    typer.Argument(
        help="A query, as pack/name or name, or a .cypher file.",
        autocompletion=completion.queries,
    ),
]
LimitOption = Annotated[
    int | None, typer.Option(help="Maximum number of rows (default: the setting row_limit).")
]
TimeoutOption = Annotated[
    float | None, typer.Option(help="Time limit in seconds (default: the setting timeout).")
]


@app.command("list")
def list_packs(
    ctx: typer.Context,
    search: Annotated[
        str | None,
        typer.Argument(
            metavar="PACK|WORD",
            help="A pack, or a word in names, titles and questions (default: all queries).",
            autocompletion=completion.packs,
        ),
    ] = None,
    everything: AllOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the queries with their parameters and the seconds measured on S6, S7 and S8.

    \b
    starcast query list overlap
    starcast query list congestion
    """
    from starcast.queries import load_library
    from starcast.queries.listing import list_queries

    library = load_library(*context.settings(ctx).packs)
    listed = list_queries(library.search(search))
    _warn(library)
    columns = list(listed.columns)
    if output is Format.TABLE and not everything:
        columns.remove("cost")
    emit(listed.rows, columns, output)


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
        typer.Argument(
            help="Parameters of the query, as key=value.",
            show_default=False,
            autocompletion=completion.query_values,
        ),
    ] = None,
    limit: LimitOption = None,
    timeout: TimeoutOption = None,
    show_cypher: Annotated[
        bool, typer.Option("--show-cypher", help="Print the Cypher and its parameters to stderr.")
    ] = False,
    output: Annotated[
        Literal[ListingFormat, Format.SVG],
        typer.Option("--format", "-f", help="Output format; svg is a picture."),
    ] = Format.TABLE,
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
    bound = bind(query.parameters, query_output.parse_values(values or []))
    if output is Format.SVG:
        check_drawable(query, bound)
    if show_cypher:
        _show_cypher(query, bound)
    with Graph.open(graph_address(settings)) as graph:
        result = run(graph, query, bound, row_limit=settings.row_limit, timeout=settings.timeout)
    if output is Format.SVG:
        query_output.draw(query, bound, result, layout, out)
    else:
        query_output.show(result, output)
    if result.more:
        say(
            f"only the first {settings.row_limit:,} rows are shown: "
            f"{narrowing_advice(query)}, or raise --limit"
        )


@app.command("ask")
def ask(
    ctx: typer.Context,
    statement: Annotated[
        str, typer.Argument(help="Cypher, a .cypher file without a header, or - for stdin.")
    ],
    values: Annotated[
        list[str] | None,
        typer.Argument(
            help="Parameters: name=TEXT, or name:=JSON for numbers, lists and truth values.",
            show_default=False,
        ),
    ] = None,
    limit: LimitOption = None,
    timeout: TimeoutOption = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Run a Cypher statement that only reads, and print its rows.

    It runs like the query of a pack: in a read-only transaction, with a row limit and a time limit;
    writing clauses and procedures are refused before. docs/schema.md lists labels and properties.

    \b
    starcast query ask 'MATCH (t:Topology) RETURN t.spec AS spec, t.nodes AS nodes'
    starcast query ask 'MATCH (n:Node {label: $label}) RETURN n LIMIT $most' label=12345 most:=5
    starcast claims show TS.L5 --cypher | starcast query ask -
    """
    from starcast.endpoints import graph_address
    from starcast.graph.connection import Graph
    from starcast.queries.statement import check_statement, run_statement

    settings = context.settings(ctx, row_limit=limit, timeout=timeout)
    text, source = query_output.read_statement(statement)
    parameters = query_output.parse_values(values or [], typed=True)
    check_statement(text, parameters, source)  # before a server is needed
    with Graph.open(graph_address(settings)) as graph:
        result = run_statement(
            graph,
            text,
            parameters,
            row_limit=settings.row_limit,
            timeout=settings.timeout,
            source=source,
        )
    query_output.show(result, output)
    if result.more:
        say(f"only the first {settings.row_limit:,} rows are shown: add LIMIT, or raise --limit")


@app.command("new")
def new(
    ctx: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the query, as pack/name.")],
    folder: Annotated[
        Path | None,
        typer.Option(
            help="Folder of packs.",
            show_default="the first of the setting packs, or the working directory",
        ),
    ] = None,
) -> None:
    """Write a query file to begin with: a header, and a statement that runs.

    \b
    starcast query new mine/load-of-links
    starcast query new mine/load-of-links --folder ~/packs
    """
    from starcast.queries.template import write_template

    packs = context.settings(ctx).packs
    path = write_template(name, folder or next(iter(packs), Path()))
    print(path)
    root = path.parent.parent.absolute()
    say(f"edit it, then run 'starcast query check {path}' and 'starcast query run {path}'")
    if root not in packs:
        folders = os.pathsep.join(map(str, [*packs, root]))
        say(f"to run it by name, set STARCAST_PACKS={folders}")


@app.command("check")
def check(
    ctx: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            help="A query, a pack, a file, or the folder of a pack or of packs (default: all).",
            autocompletion=completion.queries,
        ),
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


def _find(name: str, packs: Sequence[Path]) -> "Query":
    """Return a query by name or file, and warn of invalid files in the packs.

    Raises:
        NotFoundError: no query has this name.
        InputError: the query is invalid.
    """
    from starcast.queries import find, load_library
    from starcast.queries.pack import is_file

    if is_file(name):
        return find(name)
    library = load_library(*packs)
    query = library.find(name)
    _warn(library)
    return query


def _warn(library: "Library") -> None:
    for fault in library.faults.values():
        warn(f"skipped: {fault.message}; {fault.hint}")


def _show_cypher(query: "Query", values: dict[str, Any]) -> None:
    """Print what to paste into Neo4j Browser; JSON is valid Cypher for all parameter values."""
    for name, value in values.items():
        say(f":param {name} => {json.dumps(value, ensure_ascii=False)}")
    print(query.text.rstrip(), file=sys.stderr)


def _targets(target: str | None, settings: "Settings") -> "list[Query]":
    from starcast.queries import find, load_library
    from starcast.queries.pack import load_folder

    if target is not None and os.path.isdir(target):  # noqa: PTH112 - never raises
        return list(load_folder(Path(target).resolve()).values())
    if target is not None and target.endswith(".cypher"):
        return [find(target)]
    library = load_library(*settings.packs)
    if target is None:
        return list(library.require_valid().values())
    for name, fault in library.faults.items():
        if name.startswith(f"{target}/"):
            raise fault
    pack = [query for query in library.queries.values() if query.pack == target]
    return pack or [find(target, *settings.packs)]
