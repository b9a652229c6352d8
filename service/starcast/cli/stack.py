"""``starcast up | down | status | doctor``: the embedded stack, and the health of the system."""

from dataclasses import asdict

import typer

from starcast.cli import context
from starcast.cli.output import Format, FormatOption, emit, emit_outcome, reporter
from starcast.errors import UnavailableError

_STATUS_COLUMNS = ["server", "state", "pid", "port", "uptime_s", "memory_mb"]


def up(
    ctx: typer.Context, home: context.HomeOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Start the embedded Neo4j and PostgreSQL; the first start downloads Neo4j.

    Prints the addresses and the password files. When run as root, creates the system user
    'starcast', which PostgreSQL runs as, and may copy PostgreSQL to /var/cache/starcast.
    """
    from starcast.embedded import stack

    settings = context.settings(ctx, home=home)
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
    """Show process, port, uptime and memory of the embedded servers.

    Exit code 0 if both are running, else 4.
    """
    from starcast.embedded import stack

    servers = stack.status(context.settings(ctx, home=home).home)
    emit([asdict(server) for server in servers], _STATUS_COLUMNS, output)
    if any(server.state != "running" for server in servers):
        raise typer.Exit(UnavailableError.exit_code)


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
