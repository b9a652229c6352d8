"""``starcast graph``: whether the graph store holds what it should, and making it anew."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from starcast.cli import context, stored
from starcast.cli.ingest import WayIn
from starcast.cli.output import Format, FormatOption, emit, reporter, say
from starcast.errors import InputError, RejectedError
from starcast.support.text import pluralize

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starcast.ingest.loading import Loaded
    from starcast.ingest.row_comparison import Depth

app = typer.Typer(
    no_args_is_help=True,
    help="The graph store: compare it with the generators, make it anew, adopt an import.",
)

NamesArgument = Annotated[
    list[str] | None,
    typer.Argument(help="Topologies, trees or schedules, each with what depends on it; else all."),
]

_COLUMNS = ["artifact", "description", "found", "expected", "advice"]
_LOADED = ["kind", "id", "nodes", "relationships", "seconds"]
_SEEDS = 2**32


@app.command("verify")
def verify(
    ctx: typer.Context,
    names: NamesArgument = None,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Compare row by row what is at so many nodes of each topology, drawn at random.",
        ),
    ] = None,
    whole: Annotated[
        bool, typer.Option("--all", help="Compare all rows, and name the first ones that differ.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="What the sample is drawn by; else drawn itself.")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Compare what Neo4j holds with what the generators build. Exit code 6 if anything differs, with a table of all that does.

    Every topology, tree and schedule that is stored is built and proved again, and its counts and checksums are compared. So
    are the nodes that stand for it, the indexes, the labels, types and properties in use, and what belongs to nothing. With
    names, only those things, the indexes and the node (:Store) are looked at.

    It only reads, and takes no lock: what an ingest or a drop changes meanwhile is left out, and told.

    \b
    starcast graph verify
    starcast graph verify S6 --sample 50 --seed 7
    starcast graph verify 'S6:multiple:123456' --all
    """
    from starcast.ingest import open_stores
    from starcast.ingest.verification import verify

    depth = _depth(sample, whole, seed)
    with open_stores(context.settings(ctx)) as stores:
        findings = verify(stores, names or (), depth, reporter())
    if findings or output is not Format.TABLE:
        emit([asdict(finding) for finding in findings], _COLUMNS, output)
    if findings:
        raise RejectedError(
            f"the graph store is not as it should be: {pluralize(len(findings), 'finding')}",
            hint="the column 'advice' says what to do; 'starcast graph rebuild' makes all that is starcast's anew",
        )
    say("the graph holds what it should")


def _depth(sample: int | None, whole: bool, seed: int | None) -> "Depth":
    """How closely to look; a seed that was drawn is told, so that the same nodes can be looked at again."""
    from secrets import randbelow

    from starcast.ingest.row_comparison import Depth

    if sample is not None and whole:
        raise InputError("--sample and --all exclude each other", hint="--all compares every row")
    if sample is None:
        if seed is not None:
            raise InputError("--seed draws a sample, and none is asked for", hint="add --sample N")
        return Depth(all_rows=whole)
    drawn = randbelow(_SEEDS) if seed is None else seed
    say(f"comparing what is at {sample:,} nodes of each topology, drawn by --seed {drawn}")
    return Depth(sample=sample, seed=drawn)


@app.command("rebuild")
def rebuild(
    ctx: typer.Context,
    names: NamesArgument = None,
    way: Annotated[
        WayIn,
        typer.Option(help="bolt, import (offline, only the embedded one), or auto: the faster."),
    ] = WayIn.AUTO,
    discard_foreign: Annotated[
        bool,
        typer.Option(
            "--discard-foreign",
            help="Lose nodes and relationships that are not starcast's and cannot stay.",
        ),
    ] = False,
    wait: stored.WaitOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Make the graph store anew from what PostgreSQL knows: built, proved, written and compared as by an ingest.

    By import, which only the embedded Neo4j allows, a fresh store takes the place of the old one when it has been compared.
    Over Bolt, the things are taken out and loaded again one after the other, and what belongs to nothing goes. What is not
    starcast's is never deleted over Bolt but for relationships at nodes that are made anew, and nothing of it goes unasked.
    Broken off, it goes on when it is run again.

    \b
    starcast graph rebuild
    starcast graph rebuild S6 --way bolt
    """
    from starcast.ingest import LoadMethod, open_stores
    from starcast.ingest.ingestion import RebuildRequest, rebuild

    with open_stores(context.settings(ctx)) as stores:
        made = rebuild(
            stores,
            RebuildRequest(names or (), LoadMethod(way.value), discard_foreign, wait),
            reporter(),
        )
    _print(made, output)
    say(
        f"made {pluralize(len(made), 'thing')} anew"
        if made
        else "nothing to make anew: nothing is stored"
    )


@app.command("adopt")
def adopt(
    ctx: typer.Context, wait: stored.WaitOption = False, output: FormatOption = Format.TABLE
) -> None:
    """Compare what an offline import wrote ('starcast export') with what was meant, and take it into PostgreSQL.

    What differs is rejected and never used: import it again, or drop it.
    """
    from starcast.ingest import open_stores
    from starcast.ingest.offline import adopt
    from starcast.ingest.stores import lock_stores

    listener = reporter()
    with open_stores(context.settings(ctx)) as stores, lock_stores(stores.engine, wait, listener):
        adopted = adopt(stores, listener)
    rows = [{"kind": one.kind, "id": one.id} for one in adopted]
    if rows or output is not Format.TABLE:
        emit(rows, ["kind", "id"], output)
    say(
        f"adopted {pluralize(len(adopted), 'thing')}"
        if adopted
        else "nothing to adopt: nothing was imported"
    )


def _print(made: "Iterable[Loaded]", output: Format) -> None:
    rows = [
        dict(
            zip(_LOADED, (one.kind, one.id, one.nodes, one.relationships, one.seconds), strict=True)
        )
        for one in made
    ]
    if rows or output is not Format.TABLE:
        emit(rows, _LOADED, output)
