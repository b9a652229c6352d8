"""The table of commands that are operations of `Lab`."""

from typing import Annotated

import typer

from starcast.cli import results
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

forest = typer.Typer(
    no_args_is_help=True,
    help=(
        "Forests: build, verify, measure, draw and export them; list, show and drop stored forests."
    ),
)
command(forest, "constructions", Lab.constructions)
command(forest, "build", Lab.build_forest, labelled=True)
command(forest, "verify", Lab.verify_forest, labelled=True)
command(forest, "merge", Lab.merge_forest)
command(forest, "list", Lab.forests)
command(forest, "show", Lab.show_forest, labelled=True)
command(forest, "draw", Lab.draw_forest, labelled=True)
command(forest, "export", Lab.export_forest, labelled=True)
command(forest, "drop", Lab.drop, kind="forest")

query = typer.Typer(
    no_args_is_help=True,
    help="Cypher queries: list, show and run them; check your own queries.",
)
command(query, "list", Lab.queries, printer=results.wide_table)
command(query, "show", Lab.show_query)
command(query, "run", Lab.query)
command(query, "ask", Lab.ask, printer=results.table)
command(query, "new", Lab.new_query)
command(query, "check", Lab.check_queries)

schedule = typer.Typer(
    no_args_is_help=True,
    help=(
        "Schedules: simulate, time, draw and export them; check files of rows; list, show and drop "
        "stored schedules."
    ),
)
command(schedule, "algorithms", Lab.algorithms)
command(schedule, "simulate", Lab.simulate_schedule, labelled=True)
command(schedule, "profile", Lab.profile_schedule, labelled=True)
command(schedule, "time", Lab.time_schedule, labelled=True)
command(schedule, "check", Lab.check_schedule, labelled=True)
command(schedule, "rows", Lab.schedule_rows, labelled=True)
command(schedule, "draw", Lab.draw_schedule, labelled=True)
command(schedule, "export", Lab.export_schedule, labelled=True)
command(schedule, "list", Lab.schedules)
command(schedule, "show", Lab.show, kind="schedule")
command(schedule, "steps", Lab.schedule_steps)
command(schedule, "drop", Lab.drop, kind="schedule")

cost = typer.Typer(
    no_args_is_help=True,
    help="Costs by the papers' closed forms, compared with lower bounds and simulations.",
)
command(cost, "table", Lab.cost_table)
command(cost, "optimum", Lab.optimum)

run = typer.Typer(
    no_args_is_help=True, help="Runs: execute and price one, list and show stored runs."
)
command(run, "once", Lab.run)
command(run, "list", Lab.runs, printer=results.wide_table)
command(run, "show", Lab.show_run)
command(run, "steps", Lab.run_steps)

experiment = typer.Typer(no_args_is_help=True, help="Experiments: named sets of runs from a grid.")
command(experiment, "run", Lab.experiment)
command(experiment, "merge", Lab.merge_experiment)
command(experiment, "reproduce", Lab.reproduce, printer=results.wide_table)
command(experiment, "examples", Lab.examples, printer=results.wide_table)
command(experiment, "list", Lab.experiments, printer=results.wide_table)
command(experiment, "show", Lab.show_experiment, printer=results.wide_table)
command(experiment, "grid", Lab.grid)
command(experiment, "export", Lab.export_experiment)
command(experiment, "import", Lab.import_experiment)
command(experiment, "drop", Lab.drop_experiment)

claims = typer.Typer(
    no_args_is_help=True, help="Verify the claims of the five papers by computation."
)
command(claims, "list", Lab.claims, printer=results.wide_table)
command(claims, "show", Lab.claim)
command(claims, "check", Lab.check_claims, printer=results.wide_table)
command(claims, "merge", Lab.merge_claims, printer=results.wide_table)
command(claims, "report", Lab.claim_report)
command(claims, "changed", Lab.claim_changes)
command(claims, "runs", Lab.claim_runs, printer=results.wide_table)

graph = typer.Typer(
    no_args_is_help=True,
    help="The graph in Neo4j: verify it, rebuild it, or adopt an offline import.",
)
command(graph, "verify", Lab.verify)
command(graph, "rebuild", Lab.rebuild)
command(graph, "adopt", Lab.adopt)


records = typer.Typer(
    no_args_is_help=True,
    help="Records of 'starcast search': list, show, verify, prove again, and store them.",
)
command(records, "problems", Lab.problems, printer=results.wide_table)
command(records, "list", Lab.records, printer=results.wide_table)
command(records, "show", Lab.show_record)
command(records, "verify", Lab.verify_records, printer=results.wide_table)
command(records, "prove", Lab.prove_record)
command(records, "merge", Lab.merge_records, printer=results.wide_table)
command(records, "store", Lab.store_records)


def add_servers(app: typer.Typer) -> None:
    """Add the commands of the servers."""
    command(app, "up", Lab.start, settings=_HOME | _PORTS)
    command(app, "down", Lab.stop, settings=_HOME)
    command(app, "status", Lab.status, settings=_HOME)
    command(app, "doctor", Lab.doctor, settings=_HOME)


db = typer.Typer(no_args_is_help=True, help="The schema of PostgreSQL: upgrade and check it.")
command(db, "upgrade", Lab.upgrade)
command(db, "check", Lab.schema)
