"""``starcast ingest``: build a topology with forests and schedules, and store them."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.cli import axes, completion, context, stored
from starcast.cli.output import Format, FormatOption, emit, reporter, say
from starcast.vocabulary import LoadMethod

if TYPE_CHECKING:
    from starcast.ingest import IngestRequest
    from starcast.ingest.loading import Loaded
    from starcast.settings import Settings

TreesOption = Annotated[
    str,
    typer.Option(
        help=(
            "Constructions, separated by commas, such as "
            "'multiple,dimension-change(base=greedy,i=2)', or 'all' that need no arguments."
        ),
        autocompletion=completion.constructions,
    ),
]
SchedulesOption = Annotated[
    str,
    typer.Option(
        help=(
            "Algorithms, separated by commas, such as 'multiple', 'allgather:necklace', "
            "'alltoall:edge-disjoint(copies=2)' or 'broadcast:all', or 'all'. "
            "Their forests are stored too."
        ),
        autocompletion=completion.schedules,
    ),
]
RootOption = Annotated[
    str | None, typer.Option(help="Label of the root of forests and schedules (default: identity).")
]
PortsOption = Annotated[
    str,
    typer.Option(
        help="Port model of the schedules: all, one, both, or default (each algorithm's default)."
    ),
]
SegmentsOption = Annotated[
    int | None,
    typer.Option(help="Segments per tree, for algorithms that segment the message."),
]
MessagesOption = Annotated[
    int | None, typer.Option(help="Unit messages, for algorithms that send unit messages.")
]
MethodOption = Annotated[
    LoadMethod,
    typer.Option(
        help="Load method: bolt, import (offline, embedded Neo4j only), or auto (the faster)."
    ),
]
#: Port model of `PortsOption` that stands for the first port model of each algorithm.
DEFAULT_PORTS = "default"

_LOADED_COLUMNS = ["kind", "id", "nodes", "relationships", "seconds"]


def ingest(
    ctx: typer.Context,
    topology: axes.TopologyArgument,
    trees: TreesOption = "",
    schedules: SchedulesOption = "",
    forest: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="A forest of your own, written by Forest.save or 'starcast forest build'. "
            "It is stored under the name that it has in the file. Can be repeated.",
        ),
    ] = None,
    root: RootOption = None,
    ports: PortsOption = DEFAULT_PORTS,
    segments: SegmentsOption = None,
    messages: MessagesOption = None,
    method: MethodOption = LoadMethod.AUTO,
    wait: stored.WaitOption = False,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Print the estimated cost only. No server is needed."),
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Build a topology with forests and schedules, verify them, and write both stores.

    What is already stored is not built again. An ingest may be interrupted or killed at any time:
    the next ingest or drop cleans up, and incomplete artifacts are never used.

    Large ingests into the embedded Neo4j are imported offline: a new store is created with all
    artifacts, verified, and then replaces the old store, while Neo4j restarts.

    \b
    starcast ingest S5 --trees all --schedules all
    starcast ingest S6 --schedules multiple --ports both --segments 4 --root 654321
    starcast ingest S9 --trees multiple --method import
    starcast ingest S5 --forest mine.npz
    starcast ingest S5 --schedules 'allgather:dimension-change(base=necklace),alltoall:exact'
    """
    from starcast.ingest import ingest, open_stores, parse_request
    from starcast.trees import Forest

    request = parse_request(
        topology,
        trees,
        schedules,
        root or 0,
        ports,
        segments,
        messages,
        forests=[Forest.open(file) for file in forest or ()],
    )
    report_omitted(request.selection.skipped)
    settings = context.settings(ctx)
    if dry_run:
        _print_estimate(request, method, settings, output)
        return
    request.sizes()  # raises for invalid arguments before a server is needed
    with open_stores(settings) as stores:
        summary = ingest(stores, request, wait, reporter(), method=method)
    emit_loaded(summary.created, output)
    say(str(summary))


def report_omitted(reasons: Iterable[str]) -> None:
    """Report the algorithms that ``--schedules all`` does not include, and why."""
    for reason in reasons:
        say(f"omitted from 'all': {reason}")


def emit_loaded(artifacts: "Iterable[Loaded]", output: Format) -> None:
    """Print the artifacts that were loaded into Neo4j; an empty table is not printed."""
    rows = [
        {
            "kind": artifact.kind,
            "id": artifact.id,
            "nodes": artifact.nodes,
            "relationships": artifact.relationships,
            "seconds": artifact.seconds,
        }
        for artifact in artifacts
    ]
    if rows or output is not Format.TABLE:
        emit(rows, _LOADED_COLUMNS, output)


def _print_estimate(
    request: "IngestRequest", method: LoadMethod, settings: "Settings", output: Format
) -> None:
    """Print the estimated cost of each artifact and the load method; nothing is built."""
    from starcast.errors import LimitError
    from starcast.ingest.load_methods import choose_method, list_estimates

    sizes = request.sizes()
    estimates = list_estimates(sizes)
    emit(estimates.rows, estimates.columns, output)
    try:
        say(choose_method(method, sizes, [], embedded=settings.neo4j_uri is None).reason)
    except LimitError as error:
        say(f"too large to ingest: {error.message}")
    say(
        "estimated for an empty store and two idle processors; an import also reloads what is "
        "already stored, and verification takes additional time"
    )
