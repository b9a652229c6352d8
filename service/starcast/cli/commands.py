"""The table of commands that are operations of `Lab`."""

from typing import Annotated

import typer

from starcast.cli.context import HomeOption
from starcast.cli.operations import command
from starcast.lab import Lab

_HOME = {"home": HomeOption}
_PORTS = {
    "neo4j_port": Annotated[
        int | None, typer.Option(help="Port of Neo4j (default: as before, or a free port).")
    ],
    "postgres_port": Annotated[
        int | None, typer.Option(help="Port of PostgreSQL (default: as before, or a free port).")
    ],
    "browser": Annotated[
        bool | None,
        typer.Option("--browser", help="Serve Neo4j Browser; its first start downloads it."),
    ],
    "neo4j_http_port": Annotated[
        int | None, typer.Option(help="Port of Neo4j Browser (default: 7474 if it is free).")
    ],
}

topology = typer.Typer(
    no_args_is_help=True,
    help="Topologies: show, draw and export any topology; list, show and drop stored topologies.",
)
command(topology, "list", Lab.topologies)
command(topology, "show", Lab.show_topology)
command(topology, "draw", Lab.draw_topology, labelled=True)
command(topology, "export", Lab.export_topology, labelled=True)
command(topology, "drop", Lab.drop, kind="topology")

graph = typer.Typer(
    no_args_is_help=True,
    help="The graph in Neo4j: verify it, rebuild it, or adopt an offline import.",
)
command(graph, "verify", Lab.verify)
command(graph, "rebuild", Lab.rebuild)
command(graph, "adopt", Lab.adopt)


def add_servers(app: typer.Typer) -> None:
    """Add the commands of the servers."""
    command(app, "up", Lab.start, settings=_HOME | _PORTS)
    command(app, "down", Lab.stop, settings=_HOME)
    command(app, "status", Lab.status, settings=_HOME)
    command(app, "doctor", Lab.doctor, settings=_HOME)


db = typer.Typer(no_args_is_help=True, help="The schema of PostgreSQL: upgrade and check it.")
command(db, "upgrade", Lab.upgrade)
command(db, "check", Lab.schema)
