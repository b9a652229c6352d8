"""Results of operations that can be written to a file: pictures, and files for other programs."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starcast.support.errors import InputError

if TYPE_CHECKING:
    from starcast.drawing.svg import PictureFormat
    from starcast.formats.writing import Artifact, FileFormat


@dataclass(frozen=True)
class Picture:
    """A picture, which notebooks display.

    Attributes:
        svg: an SVG document.
        subject: description of the picture in a few words.
        animated: whether the picture is an animation, which only SVG can hold.
    """

    svg: str
    subject: str
    animated: bool = False

    def save(self, file: str | Path) -> None:
        """Write the picture in the format of the file's suffix: SVG, PNG or PDF.

        Raises:
            InputError: the file cannot be written, a package for its format is not installed, or
                its format cannot hold an animation.
        """
        from starcast.drawing.svg import convert
        from starcast.support.atomic import atomic_write

        formats: dict[str, PictureFormat] = {".png": "png", ".pdf": "pdf"}
        suffix = Path(file).suffix.lower()
        if self.animated and suffix in formats:
            raise InputError(
                f"an animation cannot be written as {suffix}: {file}",
                hint="name a file that ends in .svg, or draw steps",
            )
        data = convert(self.svg, formats.get(suffix, "svg"))
        with atomic_write(Path(file)) as opened:
            opened.write(data)

    def _repr_svg_(self) -> str:
        return self.svg


@dataclass(frozen=True)
class ExchangeFile:
    """A topology, forest or schedule that can be written in the format of another program.

    Attributes:
        artifact: the topology, forest or schedule.
        to: the name of the format.
        options: options of the format, as for `starcast.export`.
    """

    artifact: "Artifact"
    to: str
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def format(self) -> "FileFormat":
        """The properties of the format, such as its suffixes and whether it is text.

        Raises:
            InputError: there is no such format for this kind of artifact.
        """
        from starcast.formats.writing import find_format, kind_of

        return find_format(kind_of(self.artifact), self.to)

    def parts(self) -> Iterator[bytes]:
        """Yield the contents of the file, part by part.

        Raises:
            InputError: the format is not text, or an option is invalid.
        """
        from starcast.formats import render

        if not self.format.is_text:
            raise InputError(
                f"the format {self.to} is not text",
                hint=f"add --out FILE{self.format.suffixes[0]}",
            )
        return render(self.artifact, self.to, **self.options)

    def save(self, file: str | Path) -> None:
        """Write the file in its format, as `starcast.export` does."""
        from starcast.formats import export

        export(self.artifact, file, self.to, **self.options)  # type: ignore[arg-type]


def check_suffix(out: str | Path, *suffixes: str) -> None:
    """Check that the name of an output file ends in one of the given suffixes, or has no suffix.

    Raises:
        InputError: the file has the suffix of another format.
    """
    suffix = Path(out).suffix
    if suffix.lower() not in {"", *suffixes}:
        held = suffixes[0].removeprefix(".").upper()
        raise InputError(
            f"the file would hold {held}, but its name ends in '{suffix}': {out}",
            hint=f"name a file that ends in {suffixes[0]}, and convert it with another program",
        )
