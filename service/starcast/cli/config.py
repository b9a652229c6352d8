"""``starcast config``: every setting with its value and source, and the settings file."""

import typer

from starcast.cli import context
from starcast.cli.output import Format, FormatOption, emit, say


def show(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """Print every setting with its value and source, and the settings file that was read.

    Secrets are not shown. Flags override STARCAST_* variables, which override the file. The file is
    the one that STARCAST_CONFIG names, or else starcast.toml in the working directory, or else in
    the user's configuration folder.
    """
    from starcast.config_file import config_file

    settings = context.settings(ctx)
    listed = settings.listing()
    emit(listed.rows, listed.columns, output)
    file = config_file().absolute()
    say(f"settings file: {file}" if file.exists() else f"no settings file: {file} does not exist")
