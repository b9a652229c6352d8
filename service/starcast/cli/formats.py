"""Options and output of the commands that write files of other tools."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from starcast.axes.parameters import AXES
from starcast.cli.output import say
from starcast.errors import InputError
from starcast.lab.files import check_suffix
from starcast.vocabulary import ExecutionModel

if TYPE_CHECKING:
    from starcast.formats.writing import Artifact

OutOption = Annotated[Path | None, typer.Option(help="Output file (default: stdout).")]
UnitBytesOption = Annotated[
    int | None,
    typer.Option(help="Bytes of a unit, for goal and chrome-trace.", show_default="64"),
]
StartUpOption = Annotated[
    str | None, typer.Option(help=f"{AXES['t_s'].help} For chrome-trace.", show_default="100")
]
ByteTimeOption = Annotated[
    str | None, typer.Option(help=f"{AXES['t_c'].help} For chrome-trace.", show_default="1")
]
ExecutionOption = Annotated[
    ExecutionModel | None,
    typer.Option(help="Execution model, for chrome-trace.", show_default="synchronous"),
]


def write(artifact: "Artifact", to: Any, out: Path | None, **options: Any) -> None:
    """Write an artifact to a file, or to stdout if the format is text.

    Raises:
        InputError: the suffix of the file is that of another format, or stdout would get bytes.
    """
    from starcast import formats
    from starcast.formats.writing import find_format, kind_of

    chosen = find_format(kind_of(artifact), to)
    if out is not None:
        check_suffix(out, *chosen.suffixes)
        formats.export(artifact, out, to, **options)
        name = artifact.spec if hasattr(artifact, "spec") else artifact.id
        say(f"wrote {name} to {out}")
        return
    if not chosen.is_text:
        raise InputError(f"{to} is not text", hint=f"add --out FILE{chosen.suffixes[0]}")
    for part in formats.render(artifact, to, **options):
        sys.stdout.write(part.decode())
