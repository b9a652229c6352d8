"""``starcast serve``: use starcast in a browser."""

import sys
from typing import Annotated

import typer

from starcast.cli import context
from starcast.cli.output import say, warn
from starcast.web import explain_missing_package


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
