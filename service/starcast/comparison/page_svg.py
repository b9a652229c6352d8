"""Matplotlib figures as inline SVG of an HTML page, and as files.

Figures are drawn on an SVG canvas without a window. The inline SVG uses the page's colours, in
light and dark mode, and unique ids; stored points have titles that browsers show as tooltips. Files
have no background and contain their fonts. Equal figures give equal bytes whatever the user's
matplotlib settings are.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO, StringIO
from math import log10
from typing import Any, Literal
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from starcast.support.html import PALETTE

#: Colours of the page: custom property, and the colour in light mode and without a page.
INK, FAINT = ("--ink", "#1b1f24"), ("--muted", "#6b7280")
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 2, 2)), (0, (1, 1)))
_MARKS = "osD^vPX"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
# Sizes in inches: the axes and their margins; a line, a sample and a character of the legend.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 7.6, 3.6, 0.95, 0.25, 0.25, 0.55
_LEGEND_LINE, _LEGEND_SAMPLE, _LEGEND_CHARACTER = 0.23, 0.75, 0.082
#: An axis of fewer powers of ten also has labels at 2 and 5 times a power.
_SHORT = 2

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
    """The styles of curves by label, equal in all plots of a page."""

    def __init__(self, labels: Iterable[str]) -> None:
        self._places = {label: place for place, label in enumerate(dict.fromkeys(labels))}

    def of(self, label: str) -> dict[str, Any]:
        """Return matplotlib's arguments for a curve; styles repeat for many labels."""
        place = self._places[label]
        return {
            "color": PALETTE[place % len(PALETTE)][1],
            "linestyle": _DASHES[place % len(_DASHES)],
            "marker": _MARKS[place % len(_MARKS)],
        }


@dataclass(frozen=True)
class Plot:
    """A finished plot.

    Attributes:
        figure: the figure, drawn within `settings`.
        title: what it is, for screen readers.
        description: what it shows, for screen readers.
        titles: tooltips of the marks in some groups, by group id.
    """

    figure: Figure
    title: str
    description: str
    titles: Mapping[str, Sequence[str]]

    def inline(self, name: str) -> str:
        """Return the plot as an SVG element for a page.

        Args:
            name: the beginning of all ids in it, unique in a page.
        """
        with settings():
            return _inline_svg(self, name)

    def file(self, suffix: Literal["svg", "pdf"]) -> bytes:
        """Return the content of a file with the plot."""
        content = BytesIO()
        dates: dict[str, Any] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
        with settings():
            mpl.rcParams.update({"svg.fonttype": "path", "pdf.fonttype": 42})
            metadata = {"Title": self.title, **dates[suffix]}
            self.figure.savefig(content, format=suffix, metadata=metadata)
        return content.getvalue()


@contextmanager
def settings() -> Iterator[None]:
    """Use the settings of this module within the context only."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def empty_plot() -> tuple[Figure, Axes]:
    """Return a figure with empty axes."""
    plot = Figure()
    FigureCanvasSVG(plot)
    axes = plot.add_subplot()
    axes.grid(visible=True)
    return plot, axes


def format_powers(axis: Axis, ends: tuple[float, float]) -> None:
    """Label a logarithmic axis with powers of ten, and a short one with 2 and 5 times them."""
    short = log10(ends[1] / ends[0]) < _SHORT
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    axis.set_minor_formatter(
        FuncFormatter(lambda value, _: f"{value:,.6g}") if short else NullFormatter()
    )
    if short:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))


def _power(value: float) -> str:
    return f"10{str(round(log10(value))).translate(_SUPERSCRIPTS)}"


def add_legend(plot: Figure, axes: Axes) -> None:
    """Add a legend below the axes in as many columns as fit, and set the height of the figure.

    The layouts of matplotlib draw everything twice for this.
    """
    handles, labels = axes.get_legend_handles_labels()
    columns = max(1, int(_WIDTH / (_LEGEND_SAMPLE + _LEGEND_CHARACTER * max(map(len, labels)))))
    below = _BOTTOM + _LEGEND_LINE * -(-len(labels) // columns)
    height = _TOP + _HEIGHT + below
    plot.set_size_inches(_WIDTH, height)
    axes.set_position(
        (_LEFT / _WIDTH, below / height, 1 - (_LEFT + _RIGHT) / _WIDTH, _HEIGHT / height)
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


def _draw(plot: Figure) -> str:
    text = StringIO()
    plot.savefig(
        text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
    )
    return text.getvalue()


def _inline_svg(plot: Plot, name: str) -> str:
    root = ET.fromstring(_draw(plot.figure))  # noqa: S314 - the input comes from matplotlib
    # A style element would apply to the entire page; its only rule becomes an attribute.
    for parent in list(root.iter()):
        for child in parent.findall(f"{{{_SVG}}}style"):
            parent.remove(child)
    for gid, texts in plot.titles.items():
        marks = [
            mark
            for group in root.iter()
            if group.get("id") == gid
            for mark in group.iter(f"{{{_SVG}}}use")
        ]
        for mark, text in zip(marks, texts, strict=True):
            ET.SubElement(mark, f"{{{_SVG}}}title").text = text
    _prefix_ids(root, name)
    _add_descriptions(root, name, plot.title, plot.description)
    ET.register_namespace("", _SVG)
    return _use_page_style(ET.tostring(root, encoding="unicode")) + "\n"


def _prefix_ids(root: ET.Element, name: str) -> None:
    for each in root.iter():
        if "id" in each.attrib:
            each.set("id", f"{name}-{each.get('id')}")
        if _LINK in each.attrib:
            each.set("href", f"#{name}-{each.attrib.pop(_LINK).removeprefix('#')}")
        for attribute, value in each.attrib.items():
            if "url(#" in value:
                each.set(attribute, value.replace("url(#", f"url(#{name}-"))


def _add_descriptions(root: ET.Element, name: str, title: str, description: str) -> None:
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ET.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{tag}"})
        element.text = text
        root.insert(place, element)
    root.set("role", "img")
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")
    root.set("aria-labelledby", f"{name}-title {name}-desc")
    for size in ("width", "height"):
        del root.attrib[size]


def _use_page_style(svg: str) -> str:
    """Replace colours by the page's, and add fonts of similar width for systems without DejaVu."""
    svg = svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    for variable, colour in (INK, FAINT, *PALETTE):
        svg = svg.replace(colour, f"var({variable}, {colour})")
    return svg
