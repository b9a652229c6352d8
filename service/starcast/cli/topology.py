"""``starcast topology``: show and draw any topology; manage stored topologies."""

from typing import Annotated

import typer

from starcast.cli import axes, completion, formats, pictures, stored
from starcast.cli.labels import LabelsOption
from starcast.cli.output import Format, FormatOption, emit_properties
from starcast.vocabulary import TopologyFormat

app = typer.Typer(
    no_args_is_help=True,
    help=("Topologies: show, draw and export any topology; list, show and drop stored topologies."),
)


@app.command("list")
def list_stored(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """List the stored topologies and their states."""
    stored.list_artifacts(ctx, "topology", None, output)


@app.command("show")
def show(
    ctx: typer.Context,
    spec: axes.TopologyArgument,
    as_stored: Annotated[
        bool, typer.Option("--stored", help="Show the stored figures instead; implied by --verify.")
    ] = False,
    verify: stored.VerifyOption = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Show the counts and distances of a topology, computed without a server, or as stored.

    The distance profile counts the nodes at distance 0, 1, ... from any node. A reverse port leads
    back over the link of the port above it; the two differ only for residual links of (n,k)-stars.

    \b
    starcast topology show S6
    starcast topology show S5 --stored --verify
    """
    if as_stored or verify:
        stored.show_artifact(ctx, "topology", spec, verify, output)
        return
    from starcast import topologies

    topology = topologies.topology(spec)
    properties = {
        "spec": topology.spec,
        "family": topology.family,
        "nodes": topology.nodes,
        "links": topology.links,
        "degree": topology.degree,
        "ports": list(topology.ports),
        "reverse_ports": [topology.reverse_port(port) for port in topology.ports],
        "diameter": topology.diameter,
        "mean_distance": float(topology.mean_distance),
        "exact_mean_distance": str(topology.mean_distance),
        "distance_profile": list(topology.distance_profile()),
    }
    emit_properties(properties, output)


@app.command("draw")
def draw(
    spec: axes.TopologyArgument,
    layout: pictures.LayoutOption = None,
    out: pictures.OutOption = None,
    labels: LabelsOption = None,  # noqa: ARG001 - read by its callback
) -> None:
    """Draw a topology, with links coloured by dimension. No server is needed.

    Topologies of up to 128 nodes, such as S5, can be drawn; 'starcast explore' shows larger ones.

    \b
    starcast topology draw S4 --out star.svg
    starcast topology draw S4 --layout torus --out torus.pdf
    """
    from starcast import drawing, topologies

    pictures.check(out)
    topology = topologies.topology(spec)
    picture = drawing.draw_topology(topology, layout)
    pictures.write(picture, out, f"drew {topology.spec} to {out}")


@app.command("export")
def export_topology(
    spec: axes.TopologyArgument,
    to: Annotated[TopologyFormat, typer.Option("--to", help="Format of the file.")],
    out: formats.OutOption = None,
    labels: LabelsOption = None,  # noqa: ARG001 - read by its callback
) -> None:
    """Write a topology to a file of another tool. No server is needed.

    Nodes are ranks from 0, from 1 for metis. graphml, gexf and dot also hold labels and ports.

    \b
    starcast topology export S5 --to graphml --out s5.graphml
    starcast topology export S6 --to metis --out s6.graph
    """
    from starcast import topologies

    formats.write(topologies.topology(spec), to, out)


stored.add_drop_command(app, "topology", completion.stored_topologies)
