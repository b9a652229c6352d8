"""``starcast config``: every setting, its value and where it came from."""

import typer

from starcast.cli import context
from starcast.cli.output import Format, FormatOption, emit


def show(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """Print every setting, its value and its source; secrets are not shown."""
    settings = context.settings(ctx)
    rows = [
        {
            "setting": name,
            "value": getattr(settings, name),
            "source": settings.sources[name],
            "meaning": field.description,
        }
        for name, field in type(settings).model_fields.items()
    ]
    emit(rows, ["setting", "value", "source", "meaning"], output)
