"""``starcast config``: every setting with its value and source."""

import typer

from starcast.cli import context
from starcast.cli.output import Format, FormatOption, emit


def show(ctx: typer.Context, output: FormatOption = Format.TABLE) -> None:
    """Print every setting with its value and source. Secrets are not shown."""
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
