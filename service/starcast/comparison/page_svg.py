"""A picture as part of a page: how matplotlib draws it, and what its SVG has to become.

On an SVG canvas and without a window. In the page its colours are the page's, for light and dark, its ids are unique, metadata
is gone, and every stored point says what it is when one points at it. The same figures give the same bytes, whatever
matplotlib's settings are here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import StringIO
from math import log10
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

#: How many curves look different in colour; beyond that, dashes and marks do.
COLOURS = 8
#: The page's colours, by custom property, each with what it is in light, and without a page.
INK, FAINT = ("--ink", "#1b1f24"), ("--faint", "#6b7280")
#: Those of the curves: Okabe and Ito's, which the colour-blind can tell apart, darker where they are too light on white.
PALETTE = tuple(
    (f"--curve-{place}", colour)
    for place, colour in enumerate(
        ("#0072b2", "#d55e00", "#007d5a", "#a8467f", "#8a6100", "#1f83b8", "#5b3f99", "#444444"),
        start=1,
    )
)
#: The same in dark.
DARK = tuple(
    (name, colour)
    for (name, _), colour in zip(
        PALETTE,
        ("#58a6e0", "#ff8c42", "#2fc79a", "#e08fc0", "#e8b93c", "#8fd3f4", "#b69cf0", "#d0d4da"),
        strict=True,
    )
)
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 2, 2)), (0, (1, 1)))
_MARKS = "osD^vPX"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
# Inches, of 72 points: the axes with what stands around them, a line of the legend, its sample, a character.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 7.6, 3.6, 0.95, 0.25, 0.25, 0.55
_LEGEND_LINE, _LEGEND_SAMPLE, _LEGEND_CHARACTER = 0.23, 0.75, 0.082
_SHORT = 2  # powers of ten

_SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "starcast",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK[1],
    "axes.edgecolor": FAINT[1],
    "axes.labelcolor": INK[1],
    "axes.facecolor": "none",
    "figure.facecolor": "none",
    "xtick.color": INK[1],
    "ytick.color": INK[1],
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": FAINT[1],
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "legend.labelcolor": INK[1],
}


class Styles:
    """What each curve looks like, by its label, the same in all plots of a page."""

    def __init__(self, labels: Iterable[str]) -> None:
        self._places = {label: place for place, label in enumerate(dict.fromkeys(labels))}

    def of(self, label: str) -> dict[str, Any]:
        """The arguments with which matplotlib draws it."""
        place = self._places[label]
        return {
            "color": PALETTE[place % COLOURS][1],
            "linestyle": _DASHES[place % len(_DASHES)],
            "marker": _MARKS[place % len(_MARKS)],
        }


@contextmanager
def settings() -> Iterator[None]:
    """Within it matplotlib draws as here, and nowhere else."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def empty() -> tuple[Figure, Axes]:
    """A picture with axes and nothing in them."""
    plot = Figure()
    FigureCanvasSVG(plot)
    axes = plot.add_subplot()
    axes.grid(visible=True)
    return plot, axes


def by_powers(axis: Axis, ends: tuple[float, float]) -> None:
    """A logarithmic axis, its powers of ten written as people write them; on a short one 2 and 5 of them as well."""
    short = log10(ends[1] / ends[0]) < _SHORT
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    axis.set_minor_formatter(
        FuncFormatter(lambda value, _: f"{value:,.6g}") if short else NullFormatter()
    )
    if short:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))


def _power(value: float) -> str:
    return f"10{str(round(log10(value))).translate(_SUPERSCRIPTS)}"


def legend(plot: Figure, axes: Axes) -> None:
    """The legend below the axes, in as many columns as its words leave room for, and the picture as high as both need.

    matplotlib's own layouts draw everything twice to find that out.
    """
    handles, labels = axes.get_legend_handles_labels()
    columns = max(1, int(_WIDTH / (_LEGEND_SAMPLE + _LEGEND_CHARACTER * max(map(len, labels)))))
    below = _BOTTOM + _LEGEND_LINE * -(-len(labels) // columns)
    whole = _TOP + _HEIGHT + below
    plot.set_size_inches(_WIDTH, whole)
    axes.set_position(
        (_LEFT / _WIDTH, below / whole, 1 - (_LEFT + _RIGHT) / _WIDTH, _HEIGHT / whole)
    )
    plot.legend(
        handles,
        labels,
        loc="lower left",
        ncols=columns,
        fontsize=9.5,
        handlelength=3.2,
        borderaxespad=0.1,
    )


def _drawn(plot: Figure) -> str:
    text = StringIO()
    plot.savefig(
        text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
    )
    return text.getvalue()


def inline(
    plot: Figure, name: str, title: str, description: str, titles: Mapping[str, Sequence[str]]
) -> str:
    """The picture as an element of a page.

    Args:
        plot: drawn within `settings`.
        name: begins the ids of its parts; no two pictures of a page share it.
        title: what it is, for those who do not see it.
        description: what it shows, for the same.
        titles: by the group id of some marks, what each of them says when one points at it.
    """
    root = ET.fromstring(_drawn(plot))  # noqa: S314 - matplotlib wrote it
    # The style sheet would be the whole page's.
    unwanted = {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in unwanted]:
            parent.remove(child)
    for gid, texts in titles.items():
        marks = [
            mark
            for group in root.iter()
            if group.get("id") == gid
            for mark in group.iter(f"{{{_SVG}}}use")
        ]
        for mark, text in zip(marks, texts, strict=True):
            ET.SubElement(mark, f"{{{_SVG}}}title").text = text
    _rename(root, name)
    _accessible(root, name, title, description)
    ET.register_namespace("", _SVG)
    return _coloured(ET.tostring(root, encoding="unicode")) + "\n"


def _rename(root: ET.Element, name: str) -> None:
    for each in root.iter():
        if "id" in each.attrib:
            each.set("id", f"{name}-{each.get('id')}")
        if _LINK in each.attrib:
            each.set("href", f"#{name}-{each.attrib.pop(_LINK).removeprefix('#')}")
        for attribute, value in each.attrib.items():
            if "url(#" in value:
                each.set(attribute, value.replace("url(#", f"url(#{name}-"))


def _accessible(root: ET.Element, name: str, title: str, description: str) -> None:
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{tag}"})
        element.text = text
        root.insert(place, element)
    root.set("role", "img")
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")
    root.set("aria-labelledby", f"{name}-title {name}-desc")
    for size in ("width", "height"):
        del root.attrib[size]


def _coloured(svg: str) -> str:
    """The page's colours in place of fixed ones, and fonts of the same widths where there is no DejaVu."""
    svg = svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    for variable, colour in (INK, FAINT, *PALETTE):
        svg = svg.replace(colour, f"var({variable}, {colour})")
    return svg
