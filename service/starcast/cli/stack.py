"""``starcast uninstall``: delete the embedded servers with all their data."""

from typing import Annotated

import typer

from starcast.cli import context
from starcast.cli.output import FormatOption, confirm, emit, reporter, say
from starcast.support.text import pluralize
from starcast.support.vocabulary import Format


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
