"""Stored artifacts: the subcommands that ``topology``, ``forest`` and ``schedule`` share."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from starcast.cli import completion, context
from starcast.cli.output import (
    Format,
    FormatOption,
    emit,
    emit_outcome,
    emit_properties,
    reporter,
    say,
)
from starcast.vocabulary import LoadMethod

_CascadeOption = Annotated[
    bool, typer.Option("--cascade", help="Also drop the artifacts that depend on it.")
]
WaitOption = Annotated[
    bool, typer.Option("--wait", help="Wait for another ingest or drop instead of failing.")
]
_DropMethodOption = Annotated[
    LoadMethod,
    typer.Option(
        help="bolt (delete the rows), import (the rows that remain, into a new store; embedded "
        "Neo4j only), or auto (the faster)."
    ),
]
VerifyOption = Annotated[
    bool, typer.Option("--verify", help="Recompute counts and checksums in Neo4j and compare.")
]
TopologyOption = Annotated[
    str | None,
    typer.Option(
        "--topology",
        help="Only artifacts on this topology.",
        autocompletion=completion.stored_topologies,
    ),
]


def list_artifacts(ctx: typer.Context, kind: str, spec: str | None, output: Format) -> None:
    """Print the artifacts of a kind, or only those on one topology.

    Raises:
        InputError: the topology does not exist.
    """
    from starcast.cli.db import store
    from starcast.database.sessions import session
    from starcast.ingest.listing import columns
    from starcast.ingest.listing import list_artifacts as list_rows
    from starcast.topologies import topology

    normalized_spec = None if spec is None else topology(spec).spec
    with store(ctx) as engine, session(engine) as opened:
        rows = list_rows(opened, kind, normalized_spec)
    has_errors = any(row["error"] for row in rows)
    shown = [name for name in columns(kind) if name != "error" or has_errors]
    emit(rows, shown, output)


def show_artifact(
    ctx: typer.Context, kind: str, artifact_id: str, verify: bool, output: Format
) -> None:
    """Print the properties of an artifact, after comparing it with the graph if ``verify``."""
    from starcast.cli.db import store
    from starcast.database.sessions import session
    from starcast.ingest.listing import check_artifact, describe_artifact
    from starcast.ingest.stores import open_stores
    from starcast.trees.spec_syntax import normalize_id

    artifact_id = normalize_id(artifact_id)
    with store(ctx) as engine, session(engine) as opened:
        properties = describe_artifact(opened, kind, artifact_id)
    if verify:
        with open_stores(context.settings(ctx)) as stores:
            check_artifact(stores, kind, artifact_id)
        say(f"the graph holds {artifact_id} as it was built")
    emit_properties(readable(properties, output), output)


def readable(properties: dict[str, Any], output: Format) -> dict[str, Any]:
    """Return properties with nested values as text, except for JSON."""
    if output is Format.JSON:
        return properties
    shown: dict[str, Any] = {}
    for name, value in properties.items():
        if name == "levels":
            shown |= {f"levels_of_tree_{number}": profile for number, profile in enumerate(value)}
        elif name == "branches":
            shown[name] = "; ".join(" ".join(map(str, sizes)) for sizes in value)
        elif name == "links_by_load":
            shown[name] = ", ".join(f"{links} carry {load}" for load, links in value.items())
        else:
            shown[name] = value
    return shown


def show_steps(ctx: typer.Context, schedule_id: str, output: Format) -> None:
    """Print the step profile of a stored schedule."""
    from starcast.cli.db import store
    from starcast.comparison.listing import list_profile
    from starcast.database import repository
    from starcast.database.sessions import session
    from starcast.ingest.listing import find
    from starcast.trees.spec_syntax import normalize_id

    schedule_id = normalize_id(schedule_id)
    with store(ctx) as engine, session(engine) as opened:
        find(opened, "schedule", schedule_id)
        profile = list_profile(repository.load_schedule_profile(opened, schedule_id))
    emit(profile.rows, profile.columns, output)


def add_drop_command(app: typer.Typer, kind: str, complete: Callable[..., list[str]]) -> None:
    """Add the command that drops an artifact of a kind."""

    @app.command("drop")
    def drop(
        ctx: typer.Context,
        artifact_id: Annotated[
            str,
            typer.Argument(
                metavar="ID",
                help=f"Id of a stored {kind}; see '{kind} list'.",
                autocompletion=complete,
            ),
        ],
        cascade: _CascadeOption = False,
        wait: WaitOption = False,
        method: _DropMethodOption = LoadMethod.AUTO,
        output: FormatOption = Format.TABLE,
    ) -> None:
        """Drop a stored artifact from both stores.

        Fails if other stored artifacts depend on it, unless --cascade is given.

        From the embedded Neo4j, large artifacts are dropped by importing all others into a new
        store, which then replaces the old one while Neo4j restarts: that is faster and frees the
        disk.
        """
        from starcast.ingest import drop, open_stores
        from starcast.trees.spec_syntax import normalize_id

        with open_stores(context.settings(ctx)) as stores:
            dropped = drop(
                stores, kind, normalize_id(artifact_id), cascade, wait, reporter(), method
            )
        emit_outcome({"dropped": dropped}, output)
