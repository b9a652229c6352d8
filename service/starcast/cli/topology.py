"""``starcast topology``: any topology, computed; and those that are stored."""

from typing import Annotated

import typer

from starcast.cli import stored
from starcast.cli.output import Format, FormatOption, emit

app = typer.Typer(
    no_args_is_help=True, help="Topologies: show any; list, show and drop those that are stored."
)

NameArgument = Annotated[str, typer.Argument(help="Such as S5, S6,3 or Q4.")]


@app.command("list")
def list_stored(
    ctx: typer.Context,
    output: FormatOption = Format.TABLE,
) -> None:
    """List the topologies that are stored, and whether they are complete."""
    stored.list_things(ctx, "topology", None, output)


@app.command("show")
def show(
    ctx: typer.Context,
    name: NameArgument,
    as_stored: Annotated[
        bool, typer.Option("--stored", help="How it was stored instead, as with --verify.")
    ] = False,
    verify: stored.VerifyOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Print a topology's counts and distances, for which no server is needed; or, with --stored, how it was stored.

    The distance profile counts the nodes 0, 1, .. links away from any node. A reverse port leads back over the link that the
    port above it crosses: the same one but for the residual links of (n,k)-stars.

    \b
    starcast topology show S6
    starcast topology show S5 --stored --verify
    """
    if as_stored or verify:
        stored.show_thing(ctx, "topology", name, verify, output)
        return
    from starcast.topologies import topology

    where = topology(name)
    facts = {
        "name": where.spec,
        "family": where.family,
        "nodes": where.nodes,
        "links": where.links,
        "degree": where.degree,
        "ports": list(where.ports),
        "reverse ports": [where.reverse_port(port) for port in where.ports],
        "diameter": where.diameter,
        "mean distance": float(where.mean_distance),
        "mean distance, exact": str(where.mean_distance),
        "distance profile": list(where.distance_profile()),
    }
    emit(
        [{"property": name, "value": value} for name, value in facts.items()],
        ["property", "value"],
        output,
    )


@app.command("drop")
def drop(
    ctx: typer.Context,
    name: NameArgument,
    cascade: stored.CascadeOption = False,
    wait: stored.WaitOption = False,
) -> None:
    """Drop a topology, its nodes and links; refuses while trees or schedules on it are stored."""
    stored.drop_thing(ctx, "topology", name, cascade, wait)
