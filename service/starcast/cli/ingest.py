"""``starcast ingest``: topology, trees and schedules into both stores."""

from collections.abc import Iterable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.cli import context
from starcast.cli.output import Format, FormatOption, emit, reporter, say

if TYPE_CHECKING:
    from starcast.ingest import IngestRequest, LoadMethod
    from starcast.ingest.load_methods import Estimate
    from starcast.settings import Settings


class WayIn(StrEnum):
    """Which way into Neo4j: `starcast.ingest.load_methods.LoadMethod`, which is not imported for the sake of a flag."""

    AUTO = "auto"
    BOLT = "bolt"
    IMPORT = "import"


TREES_HELP = (
    "Constructions, separated by commas, such as 'multiple,dimension-change(base=greedy,i=2)', "
    "or 'all' of those that need no arguments."
)
SCHEDULES_HELP = (
    "Algorithms such as 'multiple', 'allgather:necklace', 'alltoall:edge-disjoint(copies=2)' or 'broadcast:all', "
    "separated by commas, or 'all'; with the trees they use."
)


def ingest(
    ctx: typer.Context,
    topology: Annotated[str, typer.Argument(help="Such as S5.")],
    trees: Annotated[str, typer.Option(help=TREES_HELP)] = "",
    schedules: Annotated[str, typer.Option(help=SCHEDULES_HELP)] = "",
    root: Annotated[
        str | None,
        typer.Option(help="Label of the root of trees and schedules; else the identity."),
    ] = None,
    ports: Annotated[
        str,
        typer.Option(help="Port model of the schedules: all, one, both, or own: each one's first."),
    ] = "default",
    segments: Annotated[
        int | None, typer.Option(help="Pieces of the message for each tree, where one cuts it.")
    ] = None,
    messages: Annotated[
        int | None, typer.Option(help="Unit messages, where an algorithm sends those.")
    ] = None,
    way: Annotated[
        WayIn,
        typer.Option(
            help="Way into Neo4j: bolt, import (offline, only the embedded one), or auto: the faster."
        ),
    ] = WayIn.AUTO,
    wait: Annotated[
        bool, typer.Option("--wait", help="Wait for another ingest or drop instead of refusing.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only print what it takes; no server is needed.")
    ] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Build a topology with its trees and schedules, prove them, store them in Neo4j and PostgreSQL, and compare.

    What is stored already is left alone, so a second time it creates nothing. It can be broken off or killed at any time: the
    next ingest or drop cleans up, and what is not complete is never used.

    Much at a time is imported offline where Neo4j is the embedded one: a fresh store is made of everything and replaces the
    one in force when it was compared; Neo4j is away for a part of that time.

    \b
    starcast ingest S5 --trees all --schedules all
    starcast ingest S6 --schedules multiple --ports both --segments 4 --root 654321
    starcast ingest S9 --trees multiple --way import
    starcast ingest S5 --schedules 'allgather:dimension-change(base=necklace),alltoall:exact'
    """
    from starcast.ingest import LoadMethod, ingest, open_stores, parse_request

    wanted = parse_request(
        topology, trees, schedules, 0 if root is None else root, ports, segments, messages
    )
    _tell_left_out(wanted.selection.skipped)
    if dry_run:
        _estimate(wanted, LoadMethod(way), context.settings(ctx), output)
        return
    wanted.sizes()  # what cannot be is refused before a server is asked
    with open_stores(context.settings(ctx)) as stores:
        summary = ingest(stores, wanted, wait, reporter(), method=LoadMethod(way))
    rows = [
        {
            "kind": one.kind,
            "id": one.id,
            "nodes": one.nodes,
            "relationships": one.relationships,
            "seconds": one.seconds,
        }
        for one in summary.created
    ]
    if rows or output is not Format.TABLE:
        emit(rows, ["kind", "id", "nodes", "relationships", "seconds"], output)
    say(str(summary))


def _estimate(
    wanted: "IngestRequest", way: "LoadMethod", settings: "Settings", output: Format
) -> None:
    """Print what each thing takes, and say which way all of it would go into an empty store; nothing is built."""
    from starcast.errors import LimitError
    from starcast.ingest.load_methods import Estimate, choose_method

    sizes = wanted.sizes()
    rows = [(one.kind, one.id, Estimate.of([one])) for one in sizes]
    total = Estimate.of(sizes)
    emit((_row(*row) for row in [*rows, ("all", "", total)]), list(_row("", "", total)), output)
    try:
        say(choose_method(way, sizes, [], embedded=settings.neo4j_uri is None).reason)
    except LimitError as excess:
        say(f"too much to ingest: {excess.message}")
    say(
        "for an empty store and both processors idle: what is stored already is imported again, and proving comes on top"
    )


def _tell_left_out(reasons: Iterable[str]) -> None:
    for reason in reasons:
        say(f"left out of 'all': {reason}")


def _row(kind: str, name: str, size: "Estimate") -> dict[str, object]:
    return {
        "kind": kind,
        "id": name,
        "nodes": size.nodes,
        "relationships": size.relationships,
        "megabytes": size.bytes / 1e6,
        "seconds over Bolt": size.seconds,
        "seconds by import": size.import_seconds,
        "megabytes meanwhile": size.import_bytes / 1e6,
    }
