"""``starcast query``: questions to the graph store, from the shipped packs, packs of one's own, or a file."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.cli import context, query_output
from starcast.cli.output import AllOption, Format, FormatOption, emit, say
from starcast.cli.query_output import Layout, Output
from starcast.errors import InputError, RejectedError, UnavailableError

if TYPE_CHECKING:
    from starcast.queries import Library, Query
    from starcast.settings import Settings

app = typer.Typer(
    no_args_is_help=True, help="Questions in Cypher: list and show them, ask them, check your own."
)


NameArgument = Annotated[
    str, typer.Argument(help="A query (pack/name, or its name alone), or a .cypher file.")
]


@app.command("list")
def list_queries(
    ctx: typer.Context, everything: AllOption = False, output: FormatOption = Format.TABLE
) -> None:
    """List every query: what it answers, what it takes, and the seconds that it was measured to take on S6, S7 and S8."""
    from starcast.queries import load_library
    from starcast.queries.catalogue import describe_type
    from starcast.queries.measured import SIZES, measurements

    known, figures = load_library(context.settings(ctx).packs), measurements()
    rows = []
    for query in known.queries.values():
        taken = figures.find(query)
        words = {
            "query": query.name,
            "question": query.header.question,
            "parameters": "; ".join(f"{p.name} ({describe_type(p)})" for p in query.parameters),
            "cost": query.header.cost,
        }
        rows.append(
            words | {f"s on {spec}": taken.format_seconds(spec) if taken else "" for spec in SIZES}
        )
    _warn(known)
    shown = everything or output is not Format.TABLE
    columns = [
        "query",
        "question",
        "parameters",
        *(["cost"] if shown else []),
        *(f"s on {spec}" for spec in SIZES),
    ]
    emit(rows, columns, output)


@app.command("show")
def show(ctx: typer.Context, name: NameArgument) -> None:
    """Print a query's file: the header and the Cypher, which pastes into Neo4j Browser."""
    from starcast.queries.measured import measurements

    query = _found(name, context.settings(ctx).packs)
    print(query.text.rstrip())
    if told := measurements().describe(query):
        say(told)


@app.command("run")
def run_query(
    ctx: typer.Context,
    name: NameArgument,
    values: Annotated[
        list[str] | None, typer.Argument(help="Its parameters, as key=value.", show_default=False)
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Most rows to print; else the setting row_limit.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(help="Seconds it may take; else the setting timeout.")
    ] = None,
    show_cypher: Annotated[
        bool, typer.Option("--show-cypher", help="Print the statement and its parameters.")
    ] = False,
    output: Annotated[
        Output, typer.Option("--format", "-f", help="How to write it; svg is a picture.")
    ] = Output.TABLE,
    layout: Annotated[
        Layout | None,
        typer.Option(
            help="How nodes stand in a picture: levels are distances from the node asked about, or the root."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where to write svg.", show_default="stdout")
    ] = None,
) -> None:
    """Ask a query and print the rows.

    It runs in a read-only transaction, on what is stored whole. Paths are printed hop by hop in tables, and as lists in
    json and csv. A picture shows the nodes that the rows name, the links between them that they name, and the others faintly.

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
    query = _found(name, settings.packs)
    bound = bind(query.parameters, _pairs(values or []))
    if output is Output.SVG:
        check_drawable(query, bound)
    if show_cypher:
        _show_cypher(query, bound)
    with Graph.open(graph_address(settings)) as graph:
        answer = run(graph, query, bound, row_limit=settings.row_limit, timeout=settings.timeout)
    if output is Output.SVG:
        query_output.draw(query, bound, answer, layout, out)
    else:
        query_output.show(answer, Format(output))
    if answer.more:
        say(
            f"only the first {settings.row_limit:,} rows are shown; there are more: {narrowing_advice(query)}, or raise --limit"
        )


@app.command("check")
def check(
    ctx: typer.Context,
    target: Annotated[
        str | None, typer.Argument(help="A query, a pack, a file or a folder of packs; else all.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Check query files, then let the server plan each: no notification, no cartesian product, nothing that writes."""
    from starcast.endpoints import graph_address
    from starcast.graph.connection import Graph
    from starcast.queries.plan import find_problems, has_indexes

    settings = context.settings(ctx)
    queries = _targets(target, settings)
    try:
        graph = Graph.open(graph_address(settings))
    except UnavailableError as error:
        emit(
            [{"query": query.name, "file": str(query.path)} for query in queries],
            ["query", "file"],
            output,
        )
        say(f"{len(queries)} files are sound; EXPLAIN was not done: {error.message}; {error.hint}")
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
    bad = [query.name for query in queries if found[query]]
    if bad:
        raise RejectedError(
            f"the planner of Neo4j {version} finds fault with {', '.join(bad)}",
            hint="mend what is listed",
        )
    if ready:
        say(f"{len(queries)} queries are sound, and Neo4j {version} plans each without a remark")
    else:
        say(
            f"{len(queries)} queries are sound for Neo4j {version}; their plans were not judged: the schema's indexes are "
            "missing; run 'starcast ingest S3', which makes them, then check again"
        )


def _found(name: str, packs: Path | None) -> "Query":
    """The query of that name or in that file; what is wrong with others is a warning.

    Raises:
        NotFoundError: there is none.
        InputError: it is refused.
    """
    from starcast.queries import find, load_library
    from starcast.queries.pack import is_file

    if is_file(name):
        return find(name)
    known = load_library(packs)
    query = known.find(name)
    _warn(known)
    return query


def _warn(known: "Library") -> None:
    for refused in known.faults.values():
        say(f"warning: left out: {refused.message}; {refused.hint}")


def _pairs(values: Sequence[str]) -> dict[str, str]:
    """The values by parameter.

    Raises:
        InputError: one is not ``key=value``, or a key comes twice.
    """
    pairs: dict[str, str] = {}
    for word in values:
        key, sign, value = word.partition("=")
        if not sign or not key:
            raise InputError(
                f"'{word}' is no parameter",
                hint="write key=value; 'starcast query show NAME' has the keys",
            )
        if key in pairs:
            raise InputError(f"the parameter '{key}' is given twice", hint="leave one of them")
        pairs[key] = value
    return pairs


def _show_cypher(query: "Query", values: dict[str, Any]) -> None:
    """What to paste into Neo4j Browser; JSON is Cypher for every value that a parameter can have."""
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
    known = load_library(settings.packs)
    if target is None:
        return list(known.require_valid().values())
    for name, refused in known.faults.items():
        if name.startswith(f"{target}/"):
            raise refused
    return [query for query in known.queries.values() if query.pack == target] or [
        find(target, settings.packs)
    ]
