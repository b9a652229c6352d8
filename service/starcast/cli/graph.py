"""``starcast graph``: verify, rebuild and adopt the graph store."""

from typing import Annotated

import typer

from starcast.cli import completion, context, stored
from starcast.cli.ingest import MethodOption, emit_loaded
from starcast.cli.output import Format, FormatOption, emit, reporter, say
from starcast.errors import RejectedError
from starcast.support.text import pluralize
from starcast.vocabulary import LoadMethod

app = typer.Typer(
    no_args_is_help=True,
    help="The graph in Neo4j: verify it, rebuild it, or adopt an offline import.",
)

IdsArgument = Annotated[
    list[str] | None,
    typer.Argument(
        help="Ids of artifacts, each with its dependents (default: all).",
        autocompletion=completion.artifacts,
    ),
]


@app.command("verify")
def verify(
    ctx: typer.Context,
    ids: IdsArgument = None,
    sample: Annotated[
        int | None,
        typer.Option(min=1, help="Compare only this many random nodes of each topology."),
    ] = None,
    all_rows: Annotated[
        bool, typer.Option("--all", help="Compare all rows and name the first differences.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(min=0, help="Random seed for the sample (default: random).")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Compare the graph in Neo4j with newly built artifacts.

    Exit code 6 if they differ, with a table of all differences.

    Every stored topology, forest and schedule is built and verified again, and its counts and
    checksums are compared. The artifact nodes, the indexes, the labels, types and properties in
    use, and orphaned data are checked as well. With ids, only these artifacts, the indexes and the
    :Store node are checked. With --sample, only the sampled nodes and their rows are read and
    compared, without counts and checksums, which takes seconds for a graph of any size.

    Verification only reads, and takes no lock: artifacts that an ingest or a drop changes in the
    meantime are skipped and reported.

    \b
    starcast graph verify
    starcast graph verify S6 --sample 50 --seed 7
    starcast graph verify 'S6:multiple:123456' --all
    """
    from starcast.graph.audit import list_problems
    from starcast.ingest import open_stores
    from starcast.ingest.row_comparison import Depth
    from starcast.ingest.verification import verify

    depth = Depth.choose(sample, all_rows=all_rows, seed=seed)
    if sample is not None:
        say(f"comparing {sample:,} nodes of each topology, drawn with --seed {depth.seed}")
    with open_stores(context.settings(ctx)) as stores:
        findings = list_problems(verify(stores, ids or (), depth, reporter()))
    if findings.rows or output is not Format.TABLE:
        emit(findings.rows, findings.columns, output)
    if findings.rows:
        raise RejectedError(
            f"graph verification found {pluralize(len(findings), 'problem')}",
            hint="see the column 'advice'; 'starcast graph rebuild' recreates all starcast data",
        )
    say("the graph matches the generators")


@app.command("rebuild")
def rebuild(
    ctx: typer.Context,
    ids: IdsArgument = None,
    method: MethodOption = LoadMethod.AUTO,
    discard_foreign: Annotated[
        bool,
        typer.Option(
            "--discard-foreign",
            help="Delete nodes and relationships of other applications where necessary.",
        ),
    ] = False,
    wait: stored.WaitOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Rebuild the graph from PostgreSQL: artifacts are built, verified and written again.

    An import, which needs the embedded Neo4j, creates a new store that replaces the old one after
    it is verified. Over Bolt, artifacts are deleted and loaded one by one, and orphaned data are
    deleted. Data of other applications are kept over Bolt, except for relationships at nodes that
    are recreated; nothing of them is deleted without --discard-foreign. An interrupted rebuild
    continues when it is run again.

    \b
    starcast graph rebuild
    starcast graph rebuild S6 --method bolt
    """
    from starcast.ingest import open_stores
    from starcast.ingest.ingestion import RebuildRequest, rebuild

    order = RebuildRequest(ids or (), method, discard_foreign, wait)
    with open_stores(context.settings(ctx)) as stores:
        rebuilt = rebuild(stores, order, reporter())
    emit_loaded(rebuilt, output)
    if rebuilt:
        say(f"rebuilt {pluralize(len(rebuilt), 'artifact')}")
    else:
        say("nothing to rebuild: nothing is stored")


@app.command("adopt")
def adopt(
    ctx: typer.Context, wait: stored.WaitOption = False, output: FormatOption = Format.TABLE
) -> None:
    """Verify the data of an offline import ('starcast export') and mark them as complete.

    Artifacts that differ are rejected and never used: import them again, or drop them.
    """
    from starcast.ingest import open_stores
    from starcast.ingest.offline import adopt
    from starcast.ingest.stores import lock_stores

    listener = reporter()
    with (
        open_stores(context.settings(ctx)) as opened,
        lock_stores(opened, wait, listener, "adopting an import") as stores,
    ):
        adopted = adopt(stores, listener)
    rows = [{"kind": artifact.kind, "id": artifact.id} for artifact in adopted]
    if rows or output is not Format.TABLE:
        emit(rows, ["kind", "id"], output)
    if adopted:
        say(f"adopted {pluralize(len(adopted), 'artifact')}")
    else:
        say("nothing to adopt: no import is waiting")
