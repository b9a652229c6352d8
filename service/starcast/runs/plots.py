"""Plots of a comparison as SVG that stands in a page: time against m, and the links that are busy in each step.

matplotlib draws, on its own SVG canvas and without a window; `_inline` makes the result part of a page: colours become the
page's, for light and dark, ids become unique, metadata goes, and every stored point says what it is when one points at it. The
same figures give the same bytes, whatever matplotlib's settings are here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from io import StringIO
from itertools import pairwise
from math import log10
from typing import Any
from xml.etree import ElementTree as ET

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

from starcast.runs import models
from starcast.runs.crossings import AT, Crossing
from starcast.runs.curves import Curve, Panel, Spot, shared_line
from starcast.runs.matching import figure

#: How many curves look different in colour; beyond that, dashes and marks do.
COLOURS = 8
#: The page's colours, by custom property, each with what it is in light, and without a page.
INK, FAINT = ("--ink", "#1b1f24"), ("--faint", "#6b7280")
#: Those of the curves: Okabe and Ito's, which the colour-blind can tell apart, darker where they are too light on white.
PALETTE = tuple(
    (f"--curve-{place}", colour)
    for place, colour in enumerate(
        ("#0072b2", "#d55e00", "#007d5a", "#a8467f", "#8a6100", "#1f83b8", "#5b3f99", "#444444"), start=1
    )
)
#: The same in dark.
DARK = tuple(
    (name, colour)
    for (name, _), colour in zip(
        PALETTE, ("#58a6e0", "#ff8c42", "#2fc79a", "#e08fc0", "#e8b93c", "#8fd3f4", "#b69cf0", "#d0d4da"), strict=True
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
#: What marks a change of places, and which share of the width its number takes.
_RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 11,
    "markerfacecolor": "none",
    "markeredgewidth": 1.4,
    "markeredgecolor": INK[1],
    "linestyle": "",
}
_NEAR = 0.06
_SHORT = 2  # powers of ten
_SAMPLES = 24  # of a line between two stored points

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


def times(panel: Panel, styles: Styles, crossings: Sequence[Crossing], name: str) -> str:
    """Time against m, both by powers of ten: a curve for each algorithm with the best of its p, and the lower bound.

    Between two stored points, which are marked, a curve is exact where the times are linear in m, else a straight line in
    the picture. A message of 0 bytes, or a time of 0, has no place in it.

    Args:
        panel: at least two m above 0, or there is nothing to see.
        styles: of the labels of all curves.
        crossings: those to mark, numbered from 1.
        name: begins the ids of the picture's parts; no two pictures of a page share it.
    """
    titles: dict[str, Sequence[str]] = {}
    with _settings():
        plot, axes = _axes()
        axes.set_xscale("log")
        axes.set_yscale("log")
        _bound(axes, panel)
        for place, curve in enumerate(panel.curves):
            spots = [spot for spot in curve.spots() if spot.m > 0 and spot.time > 0]
            gid, style = f"curve-{place}", styles.of(curve.label)
            axes.plot(*_path(curve, spots), **{**style, "marker": ""}, linewidth=1.8)
            stored = _pairs((spot.m, spot.time) for spot in spots)
            axes.plot(*stored, **{**style, "linestyle": ""}, markersize=5.5, gid=gid)
            axes.plot([], [], **style, linewidth=1.8, label=curve.label)
            titles[gid] = [_told(curve, spot) for spot in spots]
        _mark(axes, crossings, titles)
        _by_powers(axes.xaxis, axes.get_xlim())
        _by_powers(axes.yaxis, axes.get_ylim())
        axes.set_xlabel("m, bytes of a message")
        axes.set_ylabel("time")
        _legend(plot, axes)
        what = f"Time against m: {panel.name}."
        return _inline(_drawn(plot), name, what, _described(panel, crossings), titles)


def links(panel: Panel, busy: Mapping[int, Sequence[int]], styles: Styles, name: str) -> str:
    """Directed links that are busy in each step, for each algorithm's run in `Panel.profiled`.

    Args:
        panel: which.
        busy: for the number of each such run the links used in steps 1, 2, ...
        styles: as in `times`.
        name: as in `times`.
    """
    shown = [(curve, run, busy[run.id]) for curve, run in panel.profiled() if busy.get(run.id)]
    with _settings():
        plot, axes = _axes()
        axes.axhline(
            panel.links, color=FAINT[1], linestyle=(0, (4, 3)), linewidth=1.2, label=f"all {panel.links:,} directed links"
        )
        for curve, run, used in shown:
            style = {key: value for key, value in styles.of(curve.label).items() if key != "marker"}
            edges = [place + 0.5 for place in range(len(used) + 1)]
            axes.stairs(used, edges, baseline=None, label=_profile_label(curve, run), linewidth=1.6, **style)
        axes.set_ylim(0, panel.links * 1.06)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("step")
        axes.set_ylabel("directed links busy")
        _legend(plot, axes)
        told = [f"{_profile_label(curve, run)}: {len(used)} steps, {_share(used, panel.links)}" for curve, run, used in shown]
        return _inline(_drawn(plot), name, f"Links busy per step: {panel.name}.", "; ".join(told) + ".", {})


@contextmanager
def _settings() -> Iterator[None]:
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_SETTINGS)
        yield


def _axes() -> tuple[Figure, Axes]:
    plot = Figure()
    FigureCanvasSVG(plot)
    axes = plot.add_subplot()
    axes.grid(visible=True)
    return plot, axes


def _by_powers(axis: Axis, ends: tuple[float, float]) -> None:
    """A logarithmic axis, its powers of ten written as people write them; on a short one 2 and 5 of them as well."""
    short = log10(ends[1] / ends[0]) < _SHORT
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power(value)))
    axis.set_minor_formatter(FuncFormatter(lambda value, _: f"{value:,.6g}") if short else NullFormatter())
    if short:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))


def _power(value: float) -> str:
    return f"10{str(round(log10(value))).translate(_SUPERSCRIPTS)}"


def _legend(plot: Figure, axes: Axes) -> None:
    """The legend below the axes, in as many columns as its words leave room for, and the picture as high as both need.

    matplotlib's own layouts draw everything twice to find that out.
    """
    handles, labels = axes.get_legend_handles_labels()
    columns = max(1, int(_WIDTH / (_LEGEND_SAMPLE + _LEGEND_CHARACTER * max(map(len, labels)))))
    below = _BOTTOM + _LEGEND_LINE * -(-len(labels) // columns)
    whole = _TOP + _HEIGHT + below
    plot.set_size_inches(_WIDTH, whole)
    axes.set_position((_LEFT / _WIDTH, below / whole, 1 - (_LEFT + _RIGHT) / _WIDTH, _HEIGHT / whole))
    plot.legend(handles, labels, loc="lower left", ncols=columns, fontsize=9.5, handlelength=3.2, borderaxespad=0.1)


def _bound(axes: Axes, panel: Panel) -> None:
    stored = {m: time for m, time in panel.bound.items() if m > 0 and time > 0}
    if not stored:
        return
    lines = panel.bound_lines()
    sizes = list(stored) if lines is None else _between(list(stored))
    bound = [(m, stored[m] if lines is None else max(line.at(m) for line in lines)) for m in sizes]
    axes.plot(*_pairs(bound), color=INK[1], linestyle=(0, (4, 3)), linewidth=1.3, label="lower bound", gid="bound")


def _path(curve: Curve, spots: Sequence[Spot]) -> tuple[list[float], list[float]]:
    """The curve through its spots: the least of its lines, or between any two spots of one p their line."""
    lines = curve.lines([spot.m for spot in spots])
    path = [(spot.m, spot.time) for spot in spots]
    for low, high in pairwise(spots):
        along = lines or shared_line(low, high)
        if along is not None:
            path += [(m, min(line.at(m) for line in along.values())) for m in _between((low.m, high.m))]
    return _pairs(sorted(set(path)))


def _between(sizes: Sequence[Fraction]) -> list[Fraction]:
    """These sizes and more of them in between, evenly by their logarithms."""
    places = ((log10(low), log10(high), place / _SAMPLES) for low, high in pairwise(sizes) for place in range(1, _SAMPLES))
    more = (Fraction(10 ** (low + (high - low) * share)) for low, high, share in places)
    return sorted({*sizes, *(m for m in more if sizes[0] < m < sizes[-1])})


def _mark(axes: Axes, crossings: Sequence[Crossing], titles: dict[str, Sequence[str]]) -> None:
    """A ring where two curves change places; a band where it is only known between which m; with numbers, from 1."""
    rings = []
    for number, crossing in enumerate(crossings, start=1):
        gid, here, there = f"crossing-{number}", float(crossing.low), float(crossing.high)
        if here <= 0:
            continue
        if crossing.how == AT and crossing.time is not None:
            spot = here, float(crossing.time)
            axes.plot(*([value] for value in spot), **_RING, gid=gid)
            titles[gid] = [f"{number}: m = {crossing.place}, {crossing.below} is better below, {crossing.above} above"]
            rings.append((number, spot))
        else:
            axes.axvspan(here, there, color=FAINT[1], alpha=0.18, linewidth=0, gid=gid)
            axes.annotate(str(number), ((here * there) ** 0.5, 1), xycoords=("data", "axes fraction"), ha="center", va="bottom")
    for numbers, spot in _clustered(rings, log10(axes.get_xlim()[1] / axes.get_xlim()[0])):
        axes.annotate(numbers, spot, (0, 9), textcoords="offset points", ha="center")


def _clustered(rings: Sequence[tuple[int, tuple[float, float]]], width: float) -> Iterator[tuple[str, tuple[float, float]]]:
    """Numbers that would lie upon one another in one: ``3-5`` at the middle one's place."""
    groups: list[list[tuple[int, tuple[float, float]]]] = []
    for number, spot in rings:
        near = bool(groups) and log10(spot[0] / groups[-1][0][1][0]) < _NEAR * width
        if near and number == groups[-1][-1][0] + 1:
            groups[-1].append((number, spot))
        else:
            groups.append([(number, spot)])
    for group in groups:
        numbers = str(group[0][0]) if len(group) == 1 else f"{group[0][0]}-{group[-1][0]}"
        yield numbers, group[len(group) // 2][1]


def _pairs(points: Iterable[tuple[Fraction, Fraction]]) -> tuple[list[float], list[float]]:
    listed = [(float(m), float(time)) for m, time in points]
    return [m for m, _ in listed], [time for _, time in listed]


def _told(curve: Curve, spot: Spot) -> str:
    return f"{curve.label}: m = {spot.m}, time {float(spot.time):.6g}, p = {spot.run.p}, {figure(spot.run, 'steps')} steps"


def _profile_label(curve: Curve, run: models.Run) -> str:
    return f"{curve.label}, p = {run.p}"


def _share(used: Sequence[int], links: int) -> str:
    return f"{100 * sum(used) / (links * len(used)):.1f} % of the links busy on average"


def _described(panel: Panel, crossings: Sequence[Crossing]) -> str:
    labels = ", ".join(curve.label for curve in panel.curves)
    places = "; ".join(f"{one.below} before {one.above} up to m {one.place}" for one in crossings)
    return f"Curves: {labels}, and the lower bound. " + (
        f"They change places: {places}." if places else "No two change places."
    )


def _drawn(plot: Figure) -> str:
    text = StringIO()
    plot.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return text.getvalue()


def _inline(drawn: str, name: str, title: str, description: str, titles: Mapping[str, Sequence[str]]) -> str:
    """The picture as an element of a page."""
    root = ET.fromstring(drawn)  # noqa: S314 - matplotlib wrote it
    # The style sheet would be the whole page's.
    unwanted = {f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"}
    for parent in list(root.iter()):
        for child in [child for child in parent if child.tag in unwanted]:
            parent.remove(child)
    for gid, texts in titles.items():
        marks = [mark for group in root.iter() if group.get("id") == gid for mark in group.iter(f"{{{_SVG}}}use")]
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
