"""What `topology`, `tree` and `schedule` share: list, show and drop what is stored."""

from typing import Annotated

import typer

from starcast.cli import context
from starcast.cli.output import Format, emit, reporter, say

CascadeOption = Annotated[bool, typer.Option("--cascade", help="Drop what depends on it as well.")]
WaitOption = Annotated[
    bool, typer.Option("--wait", help="Wait for another ingest or drop instead of refusing.")
]
VerifyOption = Annotated[
    bool, typer.Option("--verify", help="Count and sum what the graph holds of it, and compare.")
]
TopologyOption = Annotated[
    str | None, typer.Option("--topology", help="Only those on this topology.")
]


def list_things(ctx: typer.Context, kind: str, spec: str | None, output: Format) -> None:
    """Print all things of a kind, or those on one topology.

    Raises:
        InputError: there can be no such topology.
    """
    from starcast.cli.db import store
    from starcast.database.sessions import session
    from starcast.ingest.listing import columns, list_artifacts
    from starcast.topologies import topology

    wanted = None if spec is None else topology(spec).spec
    with store(ctx) as engine, session(engine) as opened:
        rows = list_artifacts(opened, kind, wanted)
    shown = [name for name in columns(kind) if name != "error" or any(row["error"] for row in rows)]
    emit(rows, shown, output)


def show_thing(ctx: typer.Context, kind: str, key: str, verify: bool, output: Format) -> None:
    """Print what is known of a thing; compare it with the graph if asked for."""
    from starcast.cli.db import store
    from starcast.database.sessions import session
    from starcast.ingest.listing import check_artifact, describe_artifact
    from starcast.ingest.stores import open_stores

    with store(ctx) as engine, session(engine) as opened:
        rows = describe_artifact(opened, kind, key)
    if verify:
        with open_stores(context.settings(ctx)) as stores:
            check_artifact(stores, kind, key)
        say("the graph holds it as it was built")
    emit(rows, ["property", "value"], output)


def show_steps(ctx: typer.Context, key: str, output: Format) -> None:
    """Print the step profile of a stored schedule."""
    from starcast.cli.db import store
    from starcast.database import repository
    from starcast.database.sessions import session
    from starcast.ingest.listing import find
    from starcast.simulator.step_profile import COLUMNS

    columns = ("step", *COLUMNS)
    with store(ctx) as engine, session(engine) as opened:
        find(opened, "schedule", key)
        rows = [
            {name: getattr(row, name) for name in columns}
            for row in repository.load_schedule_profile(opened, key)
        ]
    emit(rows, columns, output)


def drop_thing(ctx: typer.Context, kind: str, key: str, cascade: bool, wait: bool) -> None:
    """Take a thing out of both stores."""
    from starcast.ingest import drop, open_stores

    with open_stores(context.settings(ctx)) as stores:
        drop(stores, kind, key, cascade, wait, reporter())
