"""``starcast backup | restore``: everything stored, in one file."""

from pathlib import Path
from typing import Annotated

import typer

from starcast.cli import context
from starcast.cli.output import reporter, say

FileArgument = Annotated[Path, typer.Argument(metavar="FILE", help="File of the backup.")]


def back_up(ctx: typer.Context, file: FileArgument) -> None:
    """Write everything stored to a file: artifacts, experiments, runs and verdicts.

    The file holds a dump by PostgreSQL's own pg_dump, which must have the version of the server,
    and a checksum of each table. The graph is not included: 'restore' rebuilds it.

    \b
    starcast backup monday.backup
    """
    from starcast.ingest.backup import back_up

    manifest = back_up(context.settings(ctx), file)
    size = file.stat().st_size / 1e6
    say(f"{file}: {manifest.rows:,} rows of {len(manifest.tables)} tables, {size:.1f} MB")


def restore(
    ctx: typer.Context,
    file: FileArgument,
    graph: Annotated[
        bool,
        typer.Option("--graph/--no-graph", help="Rebuild the graph; --no-graph needs no Neo4j."),
    ] = True,
) -> None:
    """Restore a backup into running, empty stores; verify it and rebuild the graph.

    A store that holds anything is refused. The rows are compared with the checksums of the backup,
    and an older schema is upgraded. After a failure the store is empty again.

    \b
    starcast --home ./copy up
    starcast --home ./copy restore monday.backup
    """
    from starcast.ingest.backup import restore

    manifest = restore(context.settings(ctx), file, reporter(), rebuild_graph=graph)
    say(f"{file} of {manifest.created_at.astimezone():%Y-%m-%d %H:%M} is restored")
