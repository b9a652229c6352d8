"""The command groups ("nouns") and commands, and functions that add them to the root command.

A command line usually needs one group, so each function imports the operations of its commands only
when it is called. Only the root command's help and an unknown name need all groups. The commands
``demo``, ``logs``, ``serve``, ``mcp`` and ``uninstall``, which are not operations of `Lab`, are
defined below the table `PARTS`.
"""

import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer
from platformdirs import user_cache_path

from starcast.cli import context, results
from starcast.cli.context import HomeOption
from starcast.cli.operations import command
from starcast.cli.output import FormatOption, confirm, emit, reporter, say, warn
from starcast.support.errors import InputError, NotFoundError, UnavailableError
from starcast.support.installation import install_command
from starcast.support.text import pluralize
from starcast.support.vocabulary import Format

if TYPE_CHECKING:
    from starcast.support.settings import Settings


_HOME = {"home": HomeOption}
_PORTS = {
    "neo4j_port": Annotated[
        int | None,
        typer.Option(help="Port of Neo4j (default: the port used last, or a free port)."),
    ],
    "postgres_port": Annotated[
        int | None,
        typer.Option(help="Port of PostgreSQL (default: the port used last, or a free port)."),
    ],
    "browser": Annotated[
        bool | None,
        typer.Option("--browser", help="Also serve Neo4j Browser (downloaded on first use)."),
    ],
    "neo4j_http_port": Annotated[
        int | None,
        typer.Option(
            help="Port of Neo4j Browser (default: the port used last; 7474 at the first start)."
        ),
    ],
}
#: Files that --install-completion writes, relative to the user's home directory.
COMPLETION_SCRIPTS = (
    ".bash_completions/starcast.sh",
    ".zfunc/_starcast",
    ".config/fish/completions/starcast.fish",
)


class ServerName(StrEnum):
    """The names of the embedded servers, which are also the names of their logs."""

    NEO4J = "neo4j"
    POSTGRES = "postgres"


def add_noun(app: typer.Typer, name: str, text: str) -> typer.Typer:
    """Add a command group (noun) to the root command, and return the group."""
    noun = typer.Typer(no_args_is_help=True, help=text)
    app.add_typer(noun, name=name)
    return noun


def _terminal(app: typer.Typer) -> None:
    app.command("demo")(demo)
    app.command("logs")(logs)
    app.command("mcp")(mcp)
    app.command("serve")(serve)
    app.command("uninstall")(uninstall)


def _servers(app: typer.Typer) -> None:
    from starcast.lab.connection import Administration

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
    command(app, "new", Connection.new_plugin)


def _ingest(app: typer.Typer) -> None:
    from starcast.lab.artifacts import Artifacts

    command(app, "ingest", Artifacts.ingest)


def _topology(app: typer.Typer) -> None:
    from starcast.lab.networks import Networks

    noun = add_noun(
        app,
        "topology",
        "Topologies: show, draw and export any topology; add networks; list families and stored"
        " topologies.",
    )
    command(noun, "families", Networks.families)
    command(noun, "add", Networks.add_network)
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
    from starcast.lab.networks import Schedules
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
    # This command prints only tables. A drawing needs to know which columns contain nodes. A query
    # file declares them in its header, but a plain statement has no header.
    command(noun, "ask", Queries.ask, printer=results.table)
    command(noun, "new", Queries.new_query)
    command(noun, "check", Queries.check_queries)


def _run(app: typer.Typer) -> None:
    from starcast.lab.experiments import Experiments

    noun = add_noun(app, "run", "Runs: execute a run and compute costs; list and show stored runs.")
    command(noun, "once", Experiments.run)
    command(noun, "list", Experiments.runs, printer=results.wide_table)
    command(noun, "show", Experiments.show_run)
    command(noun, "steps", Experiments.run_steps)


def _experiment(app: typer.Typer) -> None:
    from starcast.lab.experiments import Experiments

    noun = add_noun(app, "experiment", "Experiments: named sets of runs, defined by a grid.")
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

    noun = add_noun(app, "claims", "Verify the claims of papers by computation.")
    command(noun, "list", Claims.claims, printer=results.wide_table)
    command(noun, "show", Claims.claim)
    command(noun, "check", Claims.check_claims, printer=results.wide_table)
    command(noun, "report", Claims.claim_report)
    command(noun, "changed", Claims.claim_changes)
    command(noun, "runs", Claims.claim_runs, printer=results.wide_table)
    command(noun, "new", Claims.new_paper)


def _search(app: typer.Typer) -> None:
    from starcast.lab.records import Records

    command(app, "search", Records.search, printer=results.wide_table)


def _records(app: typer.Typer) -> None:
    from starcast.lab.records import Records

    noun = add_noun(
        app,
        "records",
        "Records of 'starcast search': list, show, verify and store them; regenerate proofs.",
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
    from starcast.lab.connection import Administration

    noun = add_noun(app, "db", "The schema of PostgreSQL: upgrade and check it.")
    command(noun, "upgrade", Administration.upgrade)
    command(noun, "check", Administration.schema)


#: For each command group or single command, by name: the function that adds it to the root
#: command. The help page lists the names in this order.
PARTS: dict[str, Callable[[typer.Typer], None]] = {
    "demo": _terminal,
    "up": _servers,
    "down": _servers,
    "status": _servers,
    "logs": _terminal,
    "doctor": _servers,
    "serve": _terminal,
    "mcp": _terminal,
    "publish": _publish,
    "uninstall": _terminal,
    "config": _config,
    "new": _config,
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


class Step(NamedTuple):
    """A command of the demo: its words after ``starcast``, and the text printed before it."""

    purpose: str
    words: str


FOREST = "forest=S5:multiple:12345"
TREES = "greedy,multiple,recursive-substar"
ENDS = "source=12345 target=53241"
GRID = "--topology S5 -m 1024 -m 65536 --t-s 100 --t-c 1"
# Both experiments split a message into 4, 16 or 64 pieces. For `multiple`, these are 1, 4 or 16
# segments for each of its four trees.
PER_TREE = "--segments 1 --segments 4 --segments 16"
IN_ALL = "--segments 4 --segments 16 --segments 64"
STEPS = (
    Step("Start Neo4j and PostgreSQL, without Docker or Java, and create the tables.", "up"),
    Step(
        "Build S5 with its forests and broadcasts, verify them, and write both stores.",
        f"ingest S5 --trees {TREES} --schedules broadcast:all",
    ),
    Step(
        "Which directed links do the n-1 trees of 'multiple' share?",
        f"query run overlap/shared-links {FOREST} --limit 8",
    ),
    Step("How many trees use each directed link?", f"query run overlap/load-histogram {FOREST}"),
    Step(
        "How does a message travel from 12345 to 53241 in tree 2 ...",
        f"query run paths/tree-path {FOREST} tree=2 {ENDS}",
    ),
    Step("... and by a shortest path?", f"query run paths/shortest-path topology=S5 {ENDS}"),
    Step(
        "Store an experiment: broadcast by the n-1 trees.",
        f"experiment run demo-multiple --algorithm multiple {PER_TREE} {GRID}",
    ),
    Step(
        "Store another experiment: broadcast by recursive substars.",
        f"experiment run demo-substar --algorithm recursive-substar {IN_ALL} {GRID}",
    ),
    Step("Compare the two experiments.", "compare demo-substar demo-multiple"),
)
NEXT_STEPS = (
    ("list the stored data", "topology list", "forest list", "schedule list", "experiment list"),
    ("ask more questions", "query list", "query show paths/parallel-paths"),
    ("ingest a larger graph", "ingest S6 --trees all --schedules all"),
    ("stop the servers; the data remain", "down"),
)


def demo(ctx: typer.Context, home: context.HomeOption = None) -> None:
    """Run the main commands on the embedded servers: build, verify, store, query and compare.

    Each command is printed before it runs. If the demo is run again, nothing new is stored.
    """
    _require_embedded(context.settings(ctx, home=home))
    flags = ["--home", str(home)] if home else _global_flags(ctx)
    root: typer.core.TyperGroup = ctx.find_root().command  # type: ignore[assignment]
    for number, (purpose, words) in enumerate(STEPS, 1):
        say(f"\n[{number}/{len(STEPS)}] {purpose}\n$ starcast {words}")
        # In standalone mode, the default, Click would end the process after the first command.
        root.main([*flags, *shlex.split(words)], prog_name="starcast", standalone_mode=False)
        # If stdout and stderr go to the same file, each output must follow its command.
        sys.stdout.flush()
    say("\nThe servers are still running. Next steps:")
    program = "starcast" if which("starcast") else sys.argv[0]
    for purpose, *commands in NEXT_STEPS:
        say(f"  # {purpose}")
        for words in commands:
            say(f"  {shlex.join([program, *flags])} {words}")


def _require_embedded(settings: "Settings") -> None:
    """Check that the settings contain no server URI, because the demo uses the embedded servers.

    Raises:
        InputError: the settings contain the URI of a server.
    """
    servers = [
        f"{name} (from: {settings.sources[name]})"
        for name in ("neo4j_uri", "postgres_uri")
        if getattr(settings, name) is not None
    ]
    if servers:
        raise InputError(
            "the demo runs on the embedded servers, but the settings name other servers: "
            f"{' and '.join(servers)}",
            hint="remove these settings",
        )


def _global_flags(ctx: typer.Context) -> list[str]:
    flags: list[str] = []
    for name, value in (ctx.find_root().obj or {}).items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                # Names of flags have no plural s: the setting `plugins` has the flag --plugin.
                flags += [f"--{name.removesuffix('s').replace('_', '-')}", str(each)]
    return flags


def logs(
    ctx: typer.Context,
    servers: Annotated[
        list[ServerName] | None,
        typer.Argument(help="Servers whose logs are printed (default: both)."),
    ] = None,
    home: context.HomeOption = None,
    lines: Annotated[
        int, typer.Option("--lines", "-n", min=0, help="Number of lines to print of each log.")
    ] = 20,
    follow: Annotated[
        bool,
        typer.Option(
            "--follow", "-f", help="Also print new lines as they are written, until Ctrl-C."
        ),
    ] = False,
) -> None:
    """Print the last lines of the logs of the embedded servers.

    \b
    starcast logs
    starcast logs postgres --follow
    """
    from starcast.embedded.home import Home

    folder = Home(context.settings(ctx, home=home).home).logs
    files = [folder / f"{name}.log" for name in servers or ServerName]
    if missing := [file for file in files if not file.exists()]:
        raise NotFoundError(
            f"the log file {missing[0]} does not exist",
            hint="run 'starcast up' to start the servers",
        )
    # tail must follow the name, not the open file, because `up` replaces the log by a new file.
    options = ["--follow=name", "--retry"] if follow else []
    with suppress(KeyboardInterrupt):
        subprocess.run(["tail", f"--lines={lines}", *options, "--", *files], check=False)


def serve(
    ctx: typer.Context,
    home: context.HomeOption = None,
    # By default only this machine can connect, because the server has no login.
    host: Annotated[
        str,
        typer.Option(help="Address to listen on; with 127.0.0.1, only this machine can connect."),
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 chooses a free port.")
    ] = 8321,
) -> None:
    """Serve the explorer, the pages and the HTTP API, until Ctrl-C.

    Stored data come from the servers that the settings name; topologies, forests and schedules are
    computed without these servers. The pages never change stored data. The command needs the
    packages of the extra starcast[web].

    \b
    starcast serve
    starcast serve --port 9000
    """
    from starcast.web.publishing import explain_missing_package

    settings = context.settings(ctx, home=home)
    try:
        from starcast.web.serving import serve as run
    except ModuleNotFoundError as error:
        raise explain_missing_package(error) from None
    run(settings, host, port, say, warn, context.named_flags(sys.argv[1:]))


def mcp(ctx: typer.Context, home: context.HomeOption = None) -> None:
    """Serve another program, such as an AI agent, over stdin and stdout (Model Context Protocol).

    The other program starts this command, and can then send Cypher to the stored graph, run
    queries, compare experiments, and compute topologies, forests and schedules. The command does
    not change stored data, and does not read files that the program names. The command needs the
    packages of the extra starcast[mcp].

    \b
    starcast mcp
    """
    settings = context.settings(ctx, home=home)
    try:
        from starcast.cli.mcp_server import serve as run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("mcp", "mcp_types"):
            raise
        raise UnavailableError(
            f"'starcast mcp' needs {error.name}, which is not installed",
            hint=f"install it with: {install_command('mcp')}",
        ) from None
    run(settings)


def uninstall(
    ctx: typer.Context,
    home: context.HomeOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Stop the embedded servers and delete all their data, downloads, logs and passwords.

    The command first lists the files and accounts of starcast, with a reason for each that stays,
    and asks for confirmation. It does not delete files that starcast did not create, other home
    directories of starcast, or files that these directories need. At the end, it names further
    parts of the installation that stay, such as the Python packages.
    """
    from starcast.embedded.stack import find_traces, remove

    settings = context.settings(ctx, home=home)
    traces = find_traces(settings)
    rows = [{"kind": trace.kind, "name": trace.name, "stays": trace.obstacle} for trace in traces]
    emit(rows, ["kind", "name", "stays"], output)
    removable = [trace for trace in traces if not trace.obstacle]
    if removable:
        listed = pluralize(len(removable), "entry", "entries")
        if not yes:
            confirm(f"delete {listed} of this list?", "nothing was deleted")
        remove(settings, removable, reporter())
        say(f"deleted {listed}")
    else:
        say("nothing to delete")
    for remains in _describe_remains():
        say(f"not deleted: {remains}")


def _describe_remains() -> Iterator[str]:
    """Yield descriptions of parts of the installation that `uninstall` does not delete.

    These are the Python packages, uv's cache and completion scripts. Each description states how to
    delete the part.
    """
    yield f"the Python packages in {sys.prefix}; delete this folder, or use pip"
    uv = Path(os.environ.get("UV_CACHE_DIR") or user_cache_path("uv"))
    if uv.is_dir():
        yield f"uv's cache {uv}, which all projects share; 'uv cache clean' deletes it"
    for name in COMPLETION_SCRIPTS:
        if (script := Path.home() / name).exists():
            yield f"the completion script {script}; delete it, and its line in .bashrc or .zshrc"
