"""``starcast up | down | status | doctor``: the embedded stack, and how everything is."""

from dataclasses import asdict

import typer

from starcast.cli import context
from starcast.cli.output import Format, FormatOption, emit, reporter
from starcast.errors import UnavailableError

_STATUS = ["server", "state", "pid", "port", "uptime_s", "memory_mb"]


def up(
    ctx: typer.Context, home: context.HomeOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Start Neo4j and PostgreSQL, fetching Neo4j the first time; does nothing where they run.

    Prints where they are and which files hold their passwords. As root it makes the system user 'starcast', which
    PostgreSQL runs as, and may keep a copy of PostgreSQL in /var/cache/starcast.
    """
    from starcast.embedded import stack

    settings = context.settings(ctx, home=home)
    running = stack.up(settings, reporter())
    emit(
        stack.addresses(settings.home, running),
        ["server", "address", "user", "password_file"],
        output,
    )


def down(ctx: typer.Context, home: context.HomeOption = None) -> None:
    """Stop Neo4j and PostgreSQL; what is stored stays."""
    from starcast.embedded import stack

    stack.down(context.settings(ctx, home=home).home, reporter())


def status(
    ctx: typer.Context, home: context.HomeOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Show what the embedded servers do: process, port, uptime, memory. Exit code 0 when both run, else 4."""
    from starcast.embedded import stack

    servers = stack.status(context.settings(ctx, home=home).home)
    emit([asdict(server) for server in servers], _STATUS, output)
    if any(server.state != "running" for server in servers):
        raise typer.Exit(UnavailableError.exit_code)


def doctor(
    ctx: typer.Context, home: context.HomeOption = None, output: FormatOption = Format.TABLE
) -> None:
    """Examine packages, servers, schema, disk and memory. Exit code 0: healthy, 4: a server is down, 6: something is wrong."""
    from starcast.doctor import examine, exit_code

    findings = examine(context.settings(ctx, home=home))
    emit([asdict(finding) for finding in findings], ["check", "verdict", "found", "advice"], output)
    raise typer.Exit(exit_code(findings))
