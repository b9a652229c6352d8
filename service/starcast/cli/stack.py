"""``starcast up | down | status | doctor``: the embedded stack, and the health of the system."""

from dataclasses import asdict
from typing import Annotated

import typer

from starcast.cli import context
from starcast.cli.output import Format, FormatOption, confirm, emit, emit_outcome, reporter, say
from starcast.errors import UnavailableError
from starcast.support.text import pluralize

_STATUS_COLUMNS = ["server", "state", "pid", "port", "uptime_s", "memory_mb", "log"]


def up(
    ctx: typer.Context,
    home: context.HomeOption = None,
    neo4j_port: Annotated[
        int | None, typer.Option(help="Port of Neo4j (default: as before, or a free port).")
    ] = None,
    postgres_port: Annotated[
        int | None, typer.Option(help="Port of PostgreSQL (default: as before, or a free port).")
    ] = None,
    browser: Annotated[
        bool | None,
        typer.Option("--browser", help="Serve Neo4j Browser; its first start downloads it."),
    ] = None,
    neo4j_http_port: Annotated[
        int | None, typer.Option(help="Port of Neo4j Browser (default: 7474 if it is free).")
    ] = None,
    output: FormatOption = Format.TABLE,
) -> None:
    """Start the embedded Neo4j and PostgreSQL; the first start downloads Neo4j.

    Prints the addresses and the password files. When run as root, creates the system user
    'starcast', which runs both servers; programs that it cannot read are put into
    /var/cache/starcast.
    """
    from starcast.embedded import stack

    settings = context.settings(
        ctx,
        home=home,
        neo4j_port=neo4j_port,
        postgres_port=postgres_port,
        browser=browser,
        neo4j_http_port=neo4j_http_port,
    )
    running = stack.up(settings, reporter())
    addresses = stack.addresses(settings.home, running)
    emit(addresses, ["server", "address", "user", "password_file"], output)


def down(
    ctx: typer.Context, home: context.HomeOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Stop the embedded Neo4j and PostgreSQL. All data remain."""
    from starcast.embedded import stack

    settings = context.settings(ctx, home=home)
    stack.down(settings.home, reporter())
    emit_outcome({"home": str(settings.home), "state": "stopped"}, output)


def status(
    ctx: typer.Context, home: context.HomeOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Show process, port, uptime, memory and log of the embedded servers.

    Exit code 0 if both are running, else 4.
    """
    from starcast.embedded import stack

    servers = stack.status(context.settings(ctx, home=home).home)
    emit([asdict(server) for server in servers], _STATUS_COLUMNS, output)
    if any(server.state != "running" for server in servers):
        raise typer.Exit(UnavailableError.exit_code)


def uninstall(
    ctx: typer.Context,
    home: context.HomeOption = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without asking.")] = False,
    output: FormatOption = Format.TABLE,
) -> None:
    """Stop the embedded servers and delete all their data, downloads, logs and passwords.

    Lists everything with its size, and asks first. Files that starcast did not create stay, and so
    does what other homes still need. The Python package is removed with pip.
    """
    from starcast.embedded.uninstall import find_traces, remove

    settings = context.settings(ctx, home=home)
    traces = find_traces(settings)
    rows = [
        {"kind": trace.kind, "name": trace.name, "mb": trace.mb, "stays": trace.obstacle}
        for trace in traces
    ]
    emit(rows, ["kind", "name", "mb", "stays"], output)
    removable = [trace for trace in traces if not trace.obstacle]
    if not removable:
        say("nothing to delete")
        return
    if not yes:
        listed = pluralize(len(removable), "entry", "entries")
        confirm(f"delete {listed} of this list?", "nothing was deleted")
    remove(settings, removable, reporter())
    say(f"deleted {sum(trace.mb for trace in removable):.0f} MB")


def doctor(
    ctx: typer.Context, home: context.HomeOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Check packages, servers, schema, disk and memory.

    Exit code 0: healthy; 4: a server is not running; 6: another problem.
    """
    from starcast.doctor import examine, exit_code

    findings = examine(context.settings(ctx, home=home))
    emit([asdict(finding) for finding in findings], ["check", "verdict", "found", "advice"], output)
    raise typer.Exit(exit_code(findings))
