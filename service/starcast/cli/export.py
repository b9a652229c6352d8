"""``starcast export``: write files for an offline import into a Neo4j server of the user."""

from pathlib import Path
from typing import Annotated

import typer

from starcast.cli import completion, context
from starcast.cli.ingest import (
    DEFAULT_PORTS,
    MessagesOption,
    PortsOption,
    RootOption,
    SchedulesOption,
    SegmentsOption,
    TreesOption,
    report_omitted,
)
from starcast.cli.output import reporter, say
from starcast.errors import InputError
from starcast.support.text import pluralize


def export(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="Output folder; it must be new or empty.")
    ],
    topology: Annotated[
        str | None,
        typer.Argument(
            help="A topology to add to what is stored, such as S9.",
            autocompletion=completion.topologies,
        ),
    ] = None,
    trees: TreesOption = "",
    schedules: SchedulesOption = "",
    root: RootOption = None,
    ports: PortsOption = DEFAULT_PORTS,
    segments: SegmentsOption = None,
    messages: MessagesOption = None,
) -> None:
    """Write files for an offline import of everything stored, and of an additional topology.

    For docker compose and your own Neo4j server, where an import is far faster than Bolt. Only
    PostgreSQL is needed. Prints the next steps: stop Neo4j, run the script, start Neo4j, and run
    'starcast graph adopt'.

    \b
    starcast export /tmp/files
    starcast export /tmp/files S9 --trees multiple
    """
    from starcast.cli.db import store
    from starcast.ingest.export_files import export
    from starcast.ingest.planning import parse_request

    options = (trees, schedules, root or 0, ports, segments, messages)
    request = None
    if topology is not None:
        request = parse_request(topology, *options)
        report_omitted(request.selection.skipped)
    elif options != ("", "", 0, DEFAULT_PORTS, None, None):
        raise InputError(
            "trees and schedules need a topology, and none is given",
            hint="name a topology after the folder, such as S9",
        )
    with store(ctx) as engine:
        result = export(engine, folder, request, context.settings(ctx).neo4j_database, reporter())
    print(result.guide, end="")
    size = result.files.bytes / 1e6
    say(f"{pluralize(len(result.artifacts), 'artifact')}, {size:,.0f} MB in {result.files.folder}")
