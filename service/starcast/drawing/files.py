"""Pictures as files of other formats."""

import re
import tempfile
from pathlib import Path
from typing import Literal

from starcast.support.errors import InputError

#: The formats of pictures.
PictureFormat = Literal["svg", "png", "pdf"]

_DOTS_PER_INCH = 192.0
_STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)
_PAGE = '#set page(width: auto, height: auto, margin: 0pt)\n#image("picture.svg")\n'


def convert(picture: str, form: PictureFormat) -> bytes:
    """Return a picture in a format: PNG with two dots per pixel, or PDF with its lines as vectors.

    Args:
        picture: an SVG document without animation.
        form: ``svg``, ``png`` or ``pdf``.

    Raises:
        InputError: the package that converts pictures is not installed.

    Example:
        >>> convert(draw_topology(topology("S4")), "pdf")[:4]
        b'%PDF'
    """
    if form == "svg":
        return picture.encode()
    try:
        import typst  # noqa: PLC0415 - an optional dependency
    except ImportError:
        raise InputError(
            f"pictures in {form.upper()} need the package typst, which is not installed",
            hint="install it: pip install 'starcast[pictures]', or choose SVG",
        ) from None
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.typ"
        page.write_text(_PAGE, encoding="utf-8")
        # The rules of the style sheet are for browsers; a file has the colours of a light page.
        plain = _STYLE.sub("", picture)
        (page.parent / "picture.svg").write_text(plain, encoding="utf-8")
        return bytes(typst.compile(page, format=form, ppi=_DOTS_PER_INCH))
