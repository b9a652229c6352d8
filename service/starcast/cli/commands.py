"""The table of command groups ("nouns") and commands, each with the function that adds it.

Most command lines need only one of these functions; the help of the root command needs all of them.
So each function imports the operations of its commands only when it is called.
"""

from collections.abc import Callable
from typing import Annotated

import typer

from starcast.cli import results
from starcast.cli.context import HomeOption
from starcast.cli.operations import command

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


def add_noun(app: typer.Typer, name: str, text: str) -> typer.Typer:
    """Add a command group (noun) to the root command, and return the group."""
    noun = typer.Typer(no_args_is_help=True, help=text)
    app.add_typer(noun, name=name)
    return noun


def _terminal(app: typer.Typer) -> None:
    from starcast.cli.terminal import demo, serve, uninstall

    app.command("demo")(demo)
    app.command("serve")(serve)
    app.command("uninstall")(uninstall)


def _servers(app: typer.Typer) -> None:
    from starcast.lab.administration import Administration

    command(app, "up", Administration.start, settings=_HOME | _PORTS)
    command(app, "down", Administration.stop, settings=_HOME)
    command(app, "status", Administration.status, settings=_HOME)
    command(app, "doctor", Administration.doctor, settings=_HOME)
    command(app, "backup", Administration.backup)
    command(app, "restore", Administration.restore)


def _publish(app: typer.Typer) -> None:
    from starcast.web.publishing import Publishing

    command(app, "publish", Publishing.publish)


def _config(app: typer.Typer) -> None:
    from starcast.lab.connection import Connection

    command(app, "config", Connection.config)


def _ingest(app: typer.Typer) -> None:
    from starcast.lab.artifacts import Artifacts

    command(app, "ingest", Artifacts.ingest)


def _topology(app: typer.Typer) -> None:
    from starcast.lab.networks import Networks

    noun = add_noun(
        app,
        "topology",
        "Topologies: show, draw and export any topology; list, show and drop stored topologies.",
    )
    command(noun, "list", Networks.topologies)
    command(noun, "show", Networks.show_topology)
    command(noun, "draw", Networks.draw_topology, labelled=True)
    command(noun, "export", Networks.export_topology, labelled=True)
    # `Lab.drop` drops artifacts of any kind. The fixed kind restricts this command to topologies.
    command(noun, "drop", Networks.drop, kind="topology")


def _forest(app: typer.Typer) -> None:
    from starcast.lab.forests import Forests

    noun = add_noun(
        app,
        "forest",
        "Forests: build, verify, measure, draw and export them; list, show and drop "
        "stored forests.",
    )
    command(noun, "constructions", Forests.constructions)
    command(noun, "build", Forests.build_forest, labelled=True)
    command(noun, "verify", Forests.verify_forest, labelled=True)
    command(noun, "merge", Forests.merge_forest)
    command(noun, "list", Forests.forests)
    command(noun, "show", Forests.show_forest, labelled=True)
    command(noun, "draw", Forests.draw_forest, labelled=True)
    command(noun, "export", Forests.export_forest, labelled=True)
    command(noun, "drop", Forests.drop, kind="forest")


def _schedule(app: typer.Typer) -> None:
    from starcast.lab.artifacts import Artifacts
    from starcast.lab.schedules import Schedules
    from starcast.lab.simulations import Simulations

    noun = add_noun(
        app,
        "schedule",
        "Schedules: simulate, time, draw, export and import them; list, show"
        " and drop stored schedules.",
    )
    command(noun, "algorithms", Schedules.algorithms)
    command(noun, "simulate", Simulations.simulate_schedule, labelled=True)
    command(noun, "profile", Simulations.profile_schedule, labelled=True)
    command(noun, "time", Simulations.time_schedule, labelled=True)
    command(noun, "import", Simulations.import_schedule, labelled=True)
    command(noun, "rows", Schedules.schedule_rows, labelled=True)
    command(noun, "draw", Schedules.draw_schedule, labelled=True)
    command(noun, "export", Schedules.export_schedule, labelled=True)
    command(noun, "list", Artifacts.schedules)
    command(noun, "show", Artifacts.show, kind="schedule")
    command(noun, "steps", Artifacts.schedule_steps)
    command(noun, "drop", Artifacts.drop, kind="schedule")


def _cost(app: typer.Typer) -> None:
    from starcast.lab.costs import Costs

    noun = add_noun(
        app,
        "cost",
        "Costs by the papers' closed forms, compared with lower bounds and simulations.",
    )
    command(noun, "table", Costs.cost_table)
    command(noun, "optimum", Costs.optimum)


def _explore(app: typer.Typer) -> None:
    from starcast.lab.networks import Networks

    command(app, "explore", Networks.explore, labelled=True)


def _query(app: typer.Typer) -> None:
    from starcast.lab.queries import Queries

    noun = add_noun(
        app, "query", "Cypher queries: list, show and run them; check your own queries."
    )
    command(noun, "list", Queries.queries, printer=results.wide_table)
    command(noun, "show", Queries.show_query)
    command(noun, "run", Queries.query)
    # This command prints tables and no pictures. A picture needs columns that the header of a query
    # file declares to contain nodes, and a plain statement has no header.
    command(noun, "ask", Queries.ask, printer=results.table)
    command(noun, "new", Queries.new_query)
    command(noun, "check", Queries.check_queries)


def _run(app: typer.Typer) -> None:
    from starcast.lab.experiments import Experiments

    noun = add_noun(app, "run", "Runs: execute and price one, list and show stored runs.")
    command(noun, "once", Experiments.run)
    command(noun, "list", Experiments.runs, printer=results.wide_table)
    command(noun, "show", Experiments.show_run)
    command(noun, "steps", Experiments.run_steps)


def _experiment(app: typer.Typer) -> None:
    from starcast.lab.experiments import Experiments

    noun = add_noun(app, "experiment", "Experiments: named sets of runs from a grid.")
    command(noun, "run", Experiments.experiment)
    command(noun, "merge", Experiments.merge_experiment)
    command(noun, "reproduce", Experiments.reproduce, printer=results.wide_table)
    command(noun, "examples", Experiments.examples, printer=results.wide_table)
    command(noun, "list", Experiments.experiments, printer=results.wide_table)
    command(noun, "show", Experiments.show_experiment, printer=results.wide_table)
    command(noun, "grid", Experiments.grid)
    command(noun, "export", Experiments.export_experiment)
    command(noun, "import", Experiments.import_experiment)
    command(noun, "drop", Experiments.drop_experiment)


def _compare(app: typer.Typer) -> None:
    from starcast.lab.experiments import Experiments

    command(app, "compare", Experiments.compare)


def _claims(app: typer.Typer) -> None:
    from starcast.lab.claims import Claims

    noun = add_noun(app, "claims", "Verify the claims of the five papers by computation.")
    command(noun, "list", Claims.claims, printer=results.wide_table)
    command(noun, "show", Claims.claim)
    command(noun, "check", Claims.check_claims, printer=results.wide_table)
    command(noun, "report", Claims.claim_report)
    command(noun, "changed", Claims.claim_changes)
    command(noun, "runs", Claims.claim_runs, printer=results.wide_table)


def _search(app: typer.Typer) -> None:
    from starcast.lab.records import Records

    command(app, "search", Records.search, printer=results.wide_table)


def _records(app: typer.Typer) -> None:
    from starcast.lab.records import Records

    noun = add_noun(
        app,
        "records",
        "Records of 'starcast search': list, show, verify, prove again, and store them.",
    )
    command(noun, "problems", Records.problems, printer=results.wide_table)
    command(noun, "list", Records.records, printer=results.wide_table)
    command(noun, "show", Records.show_record)
    command(noun, "verify", Records.verify_records, printer=results.wide_table)
    command(noun, "prove", Records.prove_record)
    command(noun, "bounds", Records.bound_broadcasts)
    command(noun, "merge", Records.merge_records, printer=results.wide_table)
    command(noun, "store", Records.store_records)


def _graph(app: typer.Typer) -> None:
    from starcast.lab.artifacts import Artifacts

    noun = add_noun(app, "graph", "The graph in Neo4j: verify it, or rebuild it.")
    command(noun, "verify", Artifacts.verify)
    command(noun, "rebuild", Artifacts.rebuild)


def _db(app: typer.Typer) -> None:
    from starcast.lab.administration import Administration

    noun = add_noun(app, "db", "The schema of PostgreSQL: upgrade and check it.")
    command(noun, "upgrade", Administration.upgrade)
    command(noun, "check", Administration.schema)


#: The functions that add command groups and other root commands, by name, in the order of the help.
PARTS: dict[str, Callable[[typer.Typer], None]] = {
    "demo": _terminal,
    "up": _servers,
    "down": _servers,
    "status": _servers,
    "doctor": _servers,
    "serve": _terminal,
    "publish": _publish,
    "uninstall": _terminal,
    "config": _config,
    "ingest": _ingest,
    "backup": _servers,
    "restore": _servers,
    "topology": _topology,
    "forest": _forest,
    "schedule": _schedule,
    "cost": _cost,
    "explore": _explore,
    "query": _query,
    "run": _run,
    "experiment": _experiment,
    "compare": _compare,
    "claims": _claims,
    "search": _search,
    "records": _records,
    "graph": _graph,
    "db": _db,
}
