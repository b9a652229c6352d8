"""``starcast demo``: the main job, as the commands that a user would type."""

import shlex
import sys
from shutil import which
from typing import TYPE_CHECKING, NamedTuple

import typer

from starcast.cli import context
from starcast.cli.output import say
from starcast.errors import InputError

if TYPE_CHECKING:
    from starcast.settings import Settings


class Step(NamedTuple):
    """What is done and why, and the words after ``starcast`` that do it."""

    why: str
    words: str


FOREST = "forest=S5:multiple:12345"
TREES = "greedy,multiple,recursive-substar"
ENDS = "source=12345 target=53241"
GRID = "--topology S5 --segments 1 --segments 4 --segments 16 -m 1024 -m 65536 --t-s 100 --t-c 1"
STEPS = (
    Step("Start Neo4j and PostgreSQL, without Docker or Java.", "up"),
    Step("Create the tables, or bring them up to date.", "db upgrade"),
    Step(
        "Build S5 with its trees and broadcasts, prove them, and write both stores.",
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
        f"experiment run demo-multiple --algorithm multiple {GRID}",
    ),
    Step(
        "And one by recursive substars.",
        f"experiment run demo-substar --algorithm recursive-substar {GRID}",
    ),
    Step("Compare them.", "compare demo-substar demo-multiple"),
)
NEXT = (
    ("what is stored", "topology list", "tree list", "schedule list", "experiment list"),
    ("ask more", "query list", "query show paths/parallel-paths"),
    ("a larger graph", "ingest S6 --trees all --schedules all"),
    ("stop the servers; what is stored stays", "down"),
)


def demo(ctx: typer.Context, home: context.HomeOption = None) -> None:
    """Run the main job on the embedded stack: build, prove, store, ask, compare. A second time it creates nothing."""
    _require_embedded(context.settings(ctx, home=home))
    flags = ["--home", str(home)] if home else _global_flags(ctx)
    command = typer.main.get_command(_app())
    for number, (why, words) in enumerate(STEPS, 1):
        say(f"\n[{number}/{len(STEPS)}] {why}\n$ starcast {words}")
        command.main([*flags, *shlex.split(words)], prog_name="starcast", standalone_mode=False)
        sys.stdout.flush()  # the answer stands below its question, also in a file
    say("\nThe stack goes on running. Go on with:")
    for why, *lines in NEXT:
        say(f"  # {why}")
        for line in lines:
            say(f"  {shlex.join([_own_name(), *flags])} {line}")


def _require_embedded(settings: "Settings") -> None:
    """Refuse servers of one's own: the demo starts and fills the embedded ones.

    Raises:
        InputError: the settings name one.
    """
    named = [name for name in ("neo4j_uri", "postgres_uri") if getattr(settings, name) is not None]
    if named:
        places = " and ".join(f"{name} (from: {settings.sources[name]})" for name in named)
        raise InputError(
            f"the demo runs on the embedded stack, and a server of your own is set: {places}",
            hint="unset it",
        )


def _own_name() -> str:
    """What the user has to type: a virtual environment's command is not on the path everywhere."""
    return "starcast" if which("starcast") else sys.argv[0]


def _global_flags(ctx: typer.Context) -> list[str]:
    given = ctx.find_root().obj or {}
    return [
        word
        for name, value in given.items()
        if value is not None
        for word in (f"--{name.replace('_', '-')}", str(value))
    ]


def _app() -> typer.Typer:
    from starcast.cli.app import app

    return app
