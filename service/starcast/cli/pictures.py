"""Options of the commands that draw, and the files that they write."""

from pathlib import Path
from typing import Annotated, get_args

import typer

from starcast.cli.output import say, write_text
from starcast.errors import InputError
from starcast.lab.files import check_suffix
from starcast.vocabulary import LayoutName

OutOption = Annotated[
    Path | None,
    typer.Option(help="Output file: .svg, .png or .pdf (default: SVG on stdout)."),
]
LayoutOption = Annotated[
    str | None,
    typer.Option(
        help=f"Positions of the nodes: {', '.join(get_args(LayoutName))}.",
        autocompletion=lambda: list(get_args(LayoutName)),
    ),
]


def check(out: Path | None, *, animated: bool = False) -> None:
    """Check that the name of an output file says in which format it is written.

    Raises:
        InputError: it names another format, or an animation as a still picture.
    """
    if out is None:
        return
    if animated and out.suffix.lower() in (".png", ".pdf"):
        raise InputError(
            f"an animation cannot be written as {out.suffix.lower()}: {out}",
            hint="name a file that ends in .svg, or remove --animate",
        )
    check_suffix(out, ".svg", ".png", ".pdf")


def write(picture: str, out: Path | None, sentence: str) -> None:
    """Write a picture in the format that the file's name says, or as SVG to stdout.

    Args:
        picture: an SVG document.
        out: the file; None for stdout.
        sentence: what to report of the file.

    Raises:
        InputError: the file cannot be written, or a package for its format is not installed.
    """
    from starcast.drawing.files import PICTURE_FORMATS, PictureFormat, convert
    from starcast.support.atomic import atomic_write

    suffix = "" if out is None else out.suffix.lower().removeprefix(".")
    formats: dict[str, PictureFormat] = {name: name for name in PICTURE_FORMATS}
    form: PictureFormat = formats.get(suffix, "svg")
    if out is None or form == "svg":
        write_text(picture, out, sentence)
        return
    data = convert(picture, form)
    with atomic_write(out) as file:
        file.write(data)
    say(sentence)
