"""``starcast export``: files of everything stored, for a Neo4j that starcast may not stop."""

from pathlib import Path
from typing import Annotated

import typer

from starcast.cli import context
from starcast.cli.ingest import SCHEDULES_HELP, TREES_HELP
from starcast.cli.output import reporter, say
from starcast.errors import InputError
from starcast.support.text import pluralize


def export(
    ctx: typer.Context,
    folder: Annotated[
        Path, typer.Argument(metavar="DIR", help="A folder that does not exist yet, or is empty.")
    ],
    topology: Annotated[
        str | None, typer.Argument(help="What to add to what is stored, such as S9.")
    ] = None,
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
) -> None:
    """Write files for an offline import: everything stored, and what is asked for, with a script and a guide to import them.

    For docker compose and Neo4j servers of your own, where much at once gets in far faster than over Bolt. Only PostgreSQL is
    needed; Neo4j is not touched. Prints how to go on: stop Neo4j, run the script, start Neo4j, 'starcast graph adopt'.

    \b
    starcast export /tmp/files
    starcast export /tmp/files S9 --trees multiple
    """
    from starcast.cli.db import store
    from starcast.ingest.export_files import export
    from starcast.ingest.planning import parse_request

    asked = (trees, schedules, 0 if root is None else root, ports, segments, messages)
    if topology is None and asked != ("", "", 0, "default", None, None):
        raise InputError(
            "trees and schedules grow on a topology, and none is named",
            hint="write one after the folder, such as S9",
        )
    wanted = None if topology is None else parse_request(topology, *asked)
    if wanted is not None:
        for reason in wanted.selection.skipped:
            say(f"left out of 'all': {reason}")
    with store(ctx) as engine:
        done = export(engine, folder, wanted, context.settings(ctx).neo4j_database, reporter())
    print(done.guide, end="")
    say(
        f"{pluralize(len(done.artifacts), 'artifact')}, {done.files.bytes / 1e6:,.0f} MB in {done.files.folder}"
    )
