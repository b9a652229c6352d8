"""The commands that are not operations of `Lab`: ``demo``, ``serve`` and ``uninstall``."""

import shlex
import sys
from shutil import which
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from starcast.cli import context
from starcast.cli.output import FormatOption, confirm, emit, reporter, say, warn
from starcast.support.errors import InputError
from starcast.support.text import pluralize
from starcast.support.vocabulary import Format
from starcast.web import explain_missing_package

if TYPE_CHECKING:
    from starcast.support.settings import Settings


class Step(NamedTuple):
    """A command of the demo: its purpose, and its words without ``starcast``."""

    purpose: str
    command: str


FOREST = "forest=S5:multiple:12345"
TREES = "greedy,multiple,recursive-substar"
ENDS = "source=12345 target=53241"
GRID = "--topology S5 -m 1024 -m 65536 --t-s 100 --t-c 1"
# Both experiments split a message into 4, 16 or 64 pieces. For `multiple`, these are 1, 4 or 16
# segments for each of its four trees.
PER_TREE = "--segments 1 --segments 4 --segments 16"
IN_ALL = "--segments 4 --segments 16 --segments 64"
STEPS = (
    Step("Start Neo4j and PostgreSQL, without Docker or Java.", "up"),
    Step("Create the tables, or upgrade them.", "db upgrade"),
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
    ("list what is stored", "topology list", "forest list", "schedule list", "experiment list"),
    ("ask more questions", "query list", "query show paths/parallel-paths"),
    ("ingest a larger graph", "ingest S6 --trees all --schedules all"),
    ("stop the servers; the data remain", "down"),
)


def demo(ctx: typer.Context, home: context.HomeOption = None) -> None:
    """Run the main workflow on the embedded stack: build, verify, store, query and compare.

    The commands are printed before they run. A second demo creates nothing.
    """
    _require_embedded(context.settings(ctx, home=home))
    flags = ["--home", str(home)] if home else _global_flags(ctx)
    root: typer.core.TyperGroup = ctx.find_root().command  # type: ignore[assignment]
    for number, (purpose, command) in enumerate(STEPS, 1):
        say(f"\n[{number}/{len(STEPS)}] {purpose}\n$ starcast {command}")
        # In standalone mode, Click would end the process after the first command.
        root.main([*flags, *shlex.split(command)], prog_name="starcast", standalone_mode=False)
        # If stdout and stderr go to the same file, each output must follow its command.
        sys.stdout.flush()
    say("\nThe servers are still running. Next steps:")
    for purpose, *commands in NEXT_STEPS:
        say(f"  # {purpose}")
        for command in commands:
            say(f"  {shlex.join([_program(), *flags])} {command}")


def _require_embedded(settings: "Settings") -> None:
    """Check that the settings name no servers, because the demo starts and uses the embedded ones.

    Raises:
        InputError: the settings name a server.
    """
    servers = [
        f"{name} (from: {settings.sources[name]})"
        for name in ("neo4j_uri", "postgres_uri")
        if getattr(settings, name) is not None
    ]
    if servers:
        raise InputError(
            "the demo runs on the embedded stack, but the settings name other servers: "
            f"{' and '.join(servers)}",
            hint="remove these settings",
        )


def _program() -> str:
    """Return ``starcast``, or the path of this program if ``starcast`` is not on the PATH."""
    return "starcast" if which("starcast") else sys.argv[0]


def _global_flags(ctx: typer.Context) -> list[str]:
    flags: list[str] = []
    for name, value in (ctx.find_root().obj or {}).items():
        for each in value if isinstance(value, list) else [value]:
            if each is not None:
                # Names of flags have no plural s: the setting `plugins` has the flag --plugin.
                flags += [f"--{name.removesuffix('s').replace('_', '-')}", str(each)]
    return flags


def serve(
    ctx: typer.Context,
    home: context.HomeOption = None,
    # By default only this machine can connect, because the server has no login.
    host: Annotated[
        str, typer.Option(help="Address to listen on; with 127.0.0.1 only this machine has access.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 for a free one.")
    ] = 8321,
) -> None:
    """Serve the explorer, the pages and the HTTP API, until Ctrl-C.

    Stored data come from the servers that the settings name; networks, forests and schedules are
    computed without them. Nothing is ever written. This command needs the extra: pip install
    'starcast[web]'.

    \b
    starcast serve
    starcast serve --port 9000
    """
    settings = context.settings(ctx, home=home)
    try:
        from starcast.web.serving import serve as run
    except ModuleNotFoundError as error:
        raise explain_missing_package(error) from None
    run(settings, host, port, say, warn, context.named_flags(sys.argv[1:]))


def uninstall(
    ctx: typer.Context,
    home: context.HomeOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Stop the embedded servers and delete all their data, downloads, logs and passwords.

    The command first lists everything that it would delete, and asks. It keeps files that starcast
    did not create, and everything that other homes still need. Use pip to remove the Python
    package.
    """
    from starcast.embedded.uninstall import find_traces, remove

    settings = context.settings(ctx, home=home)
    traces = find_traces(settings)
    rows = [{"kind": trace.kind, "name": trace.name, "stays": trace.obstacle} for trace in traces]
    emit(rows, ["kind", "name", "stays"], output)
    removable = [trace for trace in traces if not trace.obstacle]
    if not removable:
        say("nothing to delete")
        return
    listed = pluralize(len(removable), "entry", "entries")
    if not yes:
        confirm(f"delete {listed} of this list?", "nothing was deleted")
    remove(settings, removable, reporter())
    say(f"deleted {listed}")
