"""Plots of a comparison as files for a paper, drawn with matplotlib.

The plots show time against message size, and the links used in each step. No window is opened. The
files have a transparent background and need no installed fonts. Equal data give identical files,
regardless of the user's matplotlib settings.
"""

import logging
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from fractions import Fraction
from functools import partial
from io import BytesIO
from itertools import cycle
from math import log10
from pathlib import Path
from typing import Any

from starcast.comparison.compare import Comparison
from starcast.comparison.crossovers import AT, Crossing, best_crossovers, find_crossovers
from starcast.comparison.curves import Panel, panels
from starcast.comparison.presentation import Profiles
from starcast.support.errors import InputError, UnavailableError
from starcast.support.html import read_palette
from starcast.support.installation import install_command
from starcast.support.vocabulary import Plot

try:
    # Only errors are logged, because matplotlib also warns about a read-only home directory and the
    # first search for fonts.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter
except ModuleNotFoundError as error:
    raise UnavailableError(
        "plots need matplotlib, which is not installed",
        hint=f"install it with: {install_command('plots')}",
    ) from error

#: Metadata settings by file suffix; they make the files of equal plots identical.
_FORMATS: dict[str, dict[str, Any]] = {
    "svg": {"Date": None},
    "pdf": {"CreationDate": None},
    "png": {"Software": None},
}
_STYLE = mpl.rc_params_from_file(
    Path(__file__).with_suffix(".mplstyle"), use_default_template=False
)
INK, FAINT = _STYLE["text.color"], _STYLE["axes.edgecolor"]
_DASHES: tuple[Any, ...] = ("-", (0, (6, 2)), (0, (2, 1.5)), (0, (7, 2, 2, 2)), (0, (1, 1)))
_MARKS = "osD^vPX"
_SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
# Sizes in inches, for one column of a paper. First line: the size of the axes and the surrounding
# margins; the margin above the axes has room for a title of two lines. Second line: the height of a
# legend line, the length of the line sample in a legend, and the width of a character.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 3.3, 2.2, 0.55, 0.12, 0.42, 0.45
_LEGEND_LINE, _LEGEND_SAMPLE, _LEGEND_CHARACTER = 0.16, 0.5, 0.062
#: Height of a title line in inches; maximum number of characters in a line of a title or legend.
_TITLE_LINE, _TITLE_CHARACTERS, _LEGEND_CHARACTERS = 0.14, 44, 45
#: Axes that span fewer powers of ten than this number also have labels at 2 and 5 times each power.
_SHORT = 2
#: The marker of an exact crossover.
_RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 8,
    "markerfacecolor": "none",
    "markeredgewidth": 1.1,
    "markeredgecolor": INK,
    "linestyle": "",
}
#: Crossover markers that are closer than this fraction of the plot's width can share a label.
_NEAR = 0.06
#: The dash patterns of the lower bounds, which are drawn in the text colour.
_BOUNDS = ((4, 3), (1.5, 1.5), (8, 3), (6, 2, 1.5, 2), (3, 5))

#: matplotlib arguments by curve label, so that a curve looks the same in all plots.
Styles = Mapping[str, Mapping[str, Any]]


def check_plot(file: Path) -> None:
    """Check that a plot's file name ends in the suffix of a supported format.

    Raises:
        InputError: the name ends in another suffix, or in none.
    """
    if file.suffix.lower().removeprefix(".") not in _FORMATS:
        raise InputError(
            f"the name of a plot's file must end in .svg, .pdf or .png: {file}",
            hint="use a file name that ends in .svg, .pdf or .png",
        )


def plot_file(
    comparison: Comparison, profiles: Profiles, suffix: str, only: Plot | None = None
) -> bytes:
    """Return the content of a file with the plots of a comparison, one below the other.

    For each panel of the comparison, the plot of times is followed by the plot of links used.

    Args:
        comparison: the comparison.
        profiles: for each run of `profiled_runs`, the number of links used in each step; runs may
            be missing.
        suffix: the format: ``.svg``, ``.pdf`` or ``.png``.
        only: draw only this plot of each panel (default: both).

    Raises:
        InputError: nothing can be plotted, because no panel has two message sizes above 0 or a step
            profile.
    """
    every = panels(comparison)
    styles = make_styles(curve.label for panel in every for curve in panel.curves)
    plots: list[Callable[[Axes], None]] = []
    for panel in every:
        if only != "links" and sum(m > 0 for m in panel.sizes) > 1:
            crossings = best_crossovers(find_crossovers(panel))
            plots.append(partial(plot_times, panel, styles, crossings))
        if only != "time" and any(profiles.get(run.id) for _, run in panel.profiled):
            plots.append(partial(plot_links, panel, profiles, styles))
    if not plots:
        raise InputError(
            "the comparison has nothing to plot",
            hint="compare complete runs with two message sizes above 0, or with stored steps",
        )
    content = BytesIO()
    kind = suffix.lower().removeprefix(".")
    with _settings():
        compose(plots).savefig(content, format=kind, metadata=_FORMATS[kind])
    return content.getvalue()


def make_styles(labels: Iterable[str]) -> Styles:
    """Return a style for each curve label; styles are reused if there are many labels."""
    palette = read_palette()
    return {
        label: {
            "color": palette[place % len(palette)],
            "linestyle": _DASHES[place % len(_DASHES)],
            "marker": _MARKS[place % len(_MARKS)],
        }
        for place, label in enumerate(dict.fromkeys(labels))
    }


def plot_times(panel: Panel, styles: Styles, crossings: Sequence[Crossing], axes: Axes) -> None:
    """Plot time against message size m on logarithmic axes.

    Each algorithm is drawn as a curve, with the best stored number of segments p at each m. Lower
    bounds are drawn as curves too. Stored points are marked. Between these points, a curve is exact
    if the times are linear in m; otherwise the points are joined by straight lines. Messages of 0
    bytes and times of 0 are not shown.

    Args:
        panel: a panel with at least two message sizes above 0.
        styles: a style for the label of every curve.
        crossings: the crossovers to mark, numbered from 1.
        axes: empty axes.
    """
    axes.set_xscale("log")
    axes.set_yscale("log")
    for dashes, (place, part) in zip(cycle(_BOUNDS), panel.by_place().items(), strict=False):
        label = f"lower bound of {place}" if place else "lower bound"
        bound = _pairs(part.bound_path())
        axes.plot(*bound, color=INK, linestyle=(0, dashes), linewidth=1.1, label=label)
    for curve in panel.curves:
        style = styles[curve.label]
        spots = [spot for spot in curve.spots() if spot.message_bytes > 0 and spot.time > 0]
        stored = _pairs((spot.message_bytes, spot.time) for spot in spots)
        axes.plot(*_pairs(curve.path()), **{**style, "marker": ""}, linewidth=1.3)
        axes.plot(*stored, **{**style, "linestyle": ""}, markersize=4, gid=curve.label)
        # This empty line only serves the legend: the curve and its points are drawn separately.
        axes.plot([], [], **style, linewidth=1.3, markersize=4, label=curve.label)
    _mark_crossovers(axes, crossings)
    _format_powers(axes.xaxis, axes.get_xlim())
    _format_powers(axes.yaxis, axes.get_ylim())
    axes.set_title(_title(panel))
    axes.set_xlabel("$m$, bytes of a message")
    axes.set_ylabel("time")


def plot_links(panel: Panel, profiles: Profiles, styles: Styles, axes: Axes) -> None:
    """Plot the directed links used in each step, for the runs of `Panel.profiled`.

    If the networks have different sizes, the plot shows percentages of each network's directed
    links.

    Args:
        panel: the panel of the runs.
        profiles: for each run number, the number of links used in steps 1, 2, ...
        styles: a style for the label of every curve.
        axes: empty axes.
    """
    shown = [
        (curve, run, profiles[run.id]) for curve, run in panel.profiled if profiles.get(run.id)
    ]
    sizes = {curve.links for curve, _, _ in shown}
    is_same = len(sizes) == 1
    most = max(sizes) if is_same else 100
    label = f"all {most:,} directed links" if is_same else "all directed links of each network"
    axes.axhline(most, color=FAINT, linestyle=(0, (4, 3)), linewidth=1.1, label=label)
    for curve, run, used in shown:
        style = {name: styles[curve.label][name] for name in ("color", "linestyle")}
        edges = [step + 0.5 for step in range(len(used) + 1)]
        heights = [links * most / curve.links for links in used]
        label = f"{curve.label}, p = {run.segments}"
        axes.stairs(heights, edges, baseline=None, label=label, linewidth=1.3, **style)
    axes.set_ylim(0, most * 1.06)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title(_title(panel))
    axes.set_xlabel("step")
    axes.set_ylabel("directed links busy" + ("" if is_same else ", % of the network's"))


@contextmanager
def _settings() -> Iterator[None]:
    """Apply this module's matplotlib settings while the context is open."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE)
        yield


def _title(panel: Panel) -> str:
    """Return a plot's title: the panel's name, with the machine (T_s and T_c) on its own line."""
    question, _, machine = panel.name.partition(", t_s = ")
    start_up, _, byte = machine.partition(", t_c = ")
    machine = f"$T_s$ = {start_up}, $T_c$ = {byte}"
    return "\n".join(_fold(line, _TITLE_CHARACTERS) for line in (question, machine))


def _fold(text: str, characters: int) -> str:
    return textwrap.fill(text, characters, break_on_hyphens=False)


def _format_powers(axis: Axis, ends: tuple[float, float]) -> None:
    """Label a logarithmic axis at 1, 10, 100, ..., and a short axis also at 2, 5, 20, 50, ..."""
    short = log10(ends[1] / ends[0]) < _SHORT
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power_of_ten(value)))
    axis.set_minor_formatter(
        FuncFormatter(lambda value, _: f"{value:,.6g}") if short else NullFormatter()
    )
    if short:
        axis.set_minor_locator(LogLocator(subs=(2, 5)))


def _power_of_ten(value: float) -> str:
    """Return a power of ten as text, such as 10³ for 1000."""
    return f"10{str(round(log10(value))).translate(_SUPERSCRIPTS)}"


def compose(plots: Sequence[Callable[[Axes], None]]) -> Figure:
    """Return a figure with the plots one below the other, each with its legend below it.

    A legend has as many columns as fit, and long labels are folded. Positions are computed here,
    because matplotlib's layouts would draw everything twice.
    """
    # pyplot is not used, because it would keep every figure in memory and might need a display.
    figure = Figure()
    FigureCanvasAgg(figure)
    panels: list[tuple[Axes, list[Any], list[str], int, float, float]] = []
    with _settings():
        for plot in plots:
            axes = figure.add_subplot(label=str(len(panels)))
            axes.grid(visible=True)
            plot(axes)
            handles, labels = axes.get_legend_handles_labels()
            labels = [_fold(label, _LEGEND_CHARACTERS) for label in labels]
            lines = "\n".join(labels).split("\n")
            character = _LEGEND_CHARACTER * max(map(len, lines))
            columns = max(1, int(_WIDTH / (_LEGEND_SAMPLE + character)))
            below = _BOTTOM + _LEGEND_LINE * -(-len(lines) // columns)
            top = _TOP + _TITLE_LINE * max(axes.get_title("left").count("\n") - 1, 0)
            panels.append((axes, handles, labels, columns, top, below))
        total = sum(top + _HEIGHT + below for *_, top, below in panels)
        figure.set_size_inches(_WIDTH, total)
        bottom = total
        for axes, handles, labels, columns, top, below in panels:
            bottom -= top + _HEIGHT + below
            width = 1 - (_LEFT + _RIGHT) / _WIDTH
            axes.set_position((_LEFT / _WIDTH, (bottom + below) / total, width, _HEIGHT / total))
            figure.legend(
                handles, labels, loc="lower left", bbox_to_anchor=(0, bottom / total),
                ncols=columns, fontsize=7, handlelength=3.2, borderaxespad=0.1,
            )  # fmt: skip
    return figure


def _mark_crossovers(axes: Axes, crossings: Sequence[Crossing]) -> None:
    """In a plot, mark each exact crossover with a ring and each other crossover with a band.

    The crossovers are numbered from 1.
    """
    rings: list[tuple[int, tuple[float, float]]] = []
    bands: dict[tuple[float, float], list[int]] = {}
    for number, crossing in enumerate(crossings, start=1):
        low, high = float(crossing.low), float(crossing.high)
        # A logarithmic axis cannot show 0.
        if low <= 0:
            continue
        if crossing.how == AT and crossing.time is not None:
            spot = low, float(crossing.time)
            axes.plot(*([value] for value in spot), **_RING, gid=f"crossing-{number}")
            rings.append((number, spot))
        else:
            bands.setdefault((low, high), []).append(number)
    for (low, high), numbers in bands.items():
        axes.axvspan(low, high, color=FAINT, alpha=0.18, linewidth=0)
        # The geometric mean is the middle on a logarithmic axis.
        middle = ((low * high) ** 0.5, 1)
        axes.annotate(
            _ranges(numbers), middle, xycoords=("data", "axes fraction"), ha="center", va="top"
        )
    left, right = axes.get_xlim()
    for label, spot in _clusters(rings, log10(right / left)):
        axes.annotate(label, spot, (0, 9), textcoords="offset points", ha="center")


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as text with ranges, such as ``1-4, 7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _clusters(
    rings: Sequence[tuple[int, tuple[float, float]]], width: float
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Yield labels and positions for crossover rings.

    Close rings with consecutive numbers share a label such as ``3-5``.
    """
    groups: list[list[tuple[int, tuple[float, float]]]] = []
    for number, spot in rings:
        near = bool(groups) and log10(spot[0] / groups[-1][0][1][0]) < _NEAR * width
        if near and number == groups[-1][-1][0] + 1:
            groups[-1].append((number, spot))
        else:
            groups.append([(number, spot)])
    for group in groups:
        yield _ranges([number for number, _ in group]), group[len(group) // 2][1]


def _pairs(points: Iterable[tuple[Fraction, Fraction]]) -> tuple[list[float], list[float]]:
    listed = [(float(m), float(time)) for m, time in points]
    return [m for m, _ in listed], [time for _, time in listed]
