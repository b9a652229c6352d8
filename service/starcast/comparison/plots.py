"""Plots of a comparison: time against message size, and links used in each step."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import cycle, pairwise
from math import log10
from typing import Any

from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from starcast.comparison.crossovers import AT, Crossing
from starcast.comparison.curves import Curve, Panel, Spot, shared_line
from starcast.comparison.matching import figure
from starcast.comparison.page_svg import (
    FAINT,
    INK,
    Plot,
    Styles,
    add_legend,
    empty_plot,
    format_powers,
    settings,
)
from starcast.database import models

#: The mark of a crossover, and the share of the width that its number takes.
_RING: dict[str, Any] = {
    "marker": "o",
    "markersize": 11,
    "markerfacecolor": "none",
    "markeredgewidth": 1.4,
    "markeredgecolor": INK[1],
    "linestyle": "",
}
_NEAR = 0.06
#: The dashes of the lower bounds, which are drawn in ink.
_BOUNDS = ((4, 3), (1.5, 1.5), (8, 3), (6, 2, 1.5, 2), (3, 5))
_ID = str.maketrans(" =/,", "----")
#: Samples of a line between two stored points.
_SAMPLES = 24


def plot_times(panel: Panel, styles: Styles, crossings: Sequence[Crossing]) -> Plot:
    """Plot time against message size m on logarithmic axes.

    Each algorithm is a curve with its best stored number of segments p; the lower bound is a curve
    as well. Stored points are marked. Between them a curve is exact if the times are linear in m,
    else a straight line in the plot. A message of 0 bytes or a time of 0 is not shown.

    Args:
        panel: a panel with at least two message sizes above 0.
        styles: the styles of the labels of all curves.
        crossings: the crossovers to mark, numbered from 1.
    """
    titles: dict[str, Sequence[str]] = {}
    with settings():
        plot, axes = empty_plot()
        axes.set_xscale("log")
        axes.set_yscale("log")
        for dashes, (place, part) in zip(cycle(_BOUNDS), panel.by_place().items(), strict=False):
            _plot_bound(axes, part, place, dashes)
        for number, curve in enumerate(panel.curves):
            spots = [spot for spot in curve.spots() if spot.message_bytes > 0 and spot.time > 0]
            gid, style = f"curve-{number}", styles.of(curve.label)
            axes.plot(*_path(curve, spots), **{**style, "marker": ""}, linewidth=1.8)
            stored = _pairs((spot.message_bytes, spot.time) for spot in spots)
            axes.plot(*stored, **{**style, "linestyle": ""}, markersize=5.5, gid=gid)
            axes.plot([], [], **style, linewidth=1.8, label=curve.label)
            titles[gid] = [_spot_title(curve, spot) for spot in spots]
        _mark_crossovers(axes, crossings, titles)
        format_powers(axes.xaxis, axes.get_xlim())
        format_powers(axes.yaxis, axes.get_ylim())
        axes.set_xlabel("m, bytes of a message")
        axes.set_ylabel("time")
        add_legend(plot, axes)
        title = f"Time against m: {panel.name}."
        return Plot(plot, title, _describe(panel, crossings), titles)


def plot_links(panel: Panel, profiles: Mapping[int, Sequence[int]], styles: Styles) -> Plot:
    """Plot the directed links used in each step, for the runs of `Panel.profiled`.

    On networks of different size they are shares of all directed links of each network.

    Args:
        panel: the panel.
        profiles: for the number of each run the links used in steps 1, 2, ...
        styles: as in `plot_times`.
    """
    shown = [
        (curve, run, profiles[run.id]) for curve, run in panel.profiled() if profiles.get(run.id)
    ]
    sizes = {curve.links for curve, _, _ in shown}
    same_size = len(sizes) == 1
    most = max(sizes) if same_size else 100
    with settings():
        plot, axes = empty_plot()
        label = f"all {most:,} directed links"
        label = label if same_size else "all directed links of each network"
        axes.axhline(most, color=FAINT[1], linestyle=(0, (4, 3)), linewidth=1.2, label=label)
        for curve, run, used in shown:
            style = {key: value for key, value in styles.of(curve.label).items() if key != "marker"}
            edges = [step + 0.5 for step in range(len(used) + 1)]
            heights = [links * most / curve.links for links in used]
            axes.stairs(
                heights,
                edges,
                baseline=None,
                label=_profile_label(curve, run),
                linewidth=1.6,
                **style,
            )
        axes.set_ylim(0, most * 1.06)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.yaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_xlabel("step")
        axes.set_ylabel(
            "directed links busy" if same_size else "directed links busy, % of the network's"
        )
        add_legend(plot, axes)
        texts = [
            f"{_profile_label(curve, run)}: {len(used)} steps, {_share(used, curve.links)}"
            for curve, run, used in shown
        ]
        title = f"Links busy per step: {panel.name}."
        return Plot(plot, title, "; ".join(texts) + ".", {})


def _plot_bound(axes: Axes, panel: Panel, place: str, dashes: tuple[float, ...]) -> None:
    stored = {m: time for m, time in panel.bound.items() if m > 0 and time > 0}
    if not stored:
        return
    lines = panel.bound_lines()
    bound = list(stored.items())
    if lines is not None:
        bound = [(m, max(line.at(m) for line in lines)) for m in _samples(list(stored))]
    label = f"lower bound of {place}" if place else "lower bound"
    gid = f"bound-{place}".translate(_ID) if place else "bound"
    axes.plot(
        *_pairs(bound), color=INK[1], linestyle=(0, dashes), linewidth=1.3, label=label, gid=gid
    )


def _path(curve: Curve, spots: Sequence[Spot]) -> tuple[list[float], list[float]]:
    """Return a curve through its spots, along lines where the times are linear in m."""
    lines = curve.lines([spot.message_bytes for spot in spots])
    path = [(spot.message_bytes, spot.time) for spot in spots]
    for low, high in pairwise(spots):
        along = lines or shared_line(low, high)
        if along is not None:
            path += [
                (m, min(line.at(m) for line in along.values()))
                for m in _samples((low.message_bytes, high.message_bytes))
            ]
    return _pairs(sorted(set(path)))


def _samples(sizes: Sequence[Fraction]) -> list[Fraction]:
    """Return message sizes and more in between, evenly spaced on a logarithmic axis."""
    places = (
        (log10(low), log10(high), place / _SAMPLES)
        for low, high in pairwise(sizes)
        for place in range(1, _SAMPLES)
    )
    more = (Fraction(10 ** (low + (high - low) * share)) for low, high, share in places)
    return sorted({*sizes, *(m for m in more if sizes[0] < m < sizes[-1])})


def _mark_crossovers(
    axes: Axes, crossings: Sequence[Crossing], titles: dict[str, Sequence[str]]
) -> None:
    """Mark exact crossovers with rings and others with bands, numbered from 1."""
    rings: list[tuple[int, tuple[float, float]]] = []
    bands: dict[tuple[float, float], list[int]] = {}
    for number, crossing in enumerate(crossings, start=1):
        gid, low, high = f"crossing-{number}", float(crossing.low), float(crossing.high)
        if low <= 0:
            continue
        if crossing.how == AT and crossing.time is not None:
            spot = low, float(crossing.time)
            axes.plot(*([value] for value in spot), **_RING, gid=gid)
            better = f"{crossing.below} is better below, {crossing.above} above"
            titles[gid] = [f"{number}: m = {crossing.place}, {better}"]
            rings.append((number, spot))
        else:
            bands.setdefault((low, high), []).append(number)
    for (low, high), numbers in bands.items():
        gid = f"crossing-{numbers[0]}"
        axes.axvspan(low, high, color=FAINT[1], alpha=0.18, linewidth=0, gid=gid)
        middle = ((low * high) ** 0.5, 1)
        axes.annotate(
            _ranges(numbers), middle, xycoords=("data", "axes fraction"), ha="center", va="bottom"
        )
    left, right = axes.get_xlim()
    for label, spot in _clusters(rings, log10(right / left)):
        axes.annotate(label, spot, (0, 9), textcoords="offset points", ha="center")


def _ranges(numbers: Sequence[int]) -> str:
    """Return ascending numbers as ranges: ``1-4, 7``."""
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
    """Yield one label for rings whose numbers would overlap: ``3-5`` at the middle ring."""
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


def _spot_title(curve: Curve, spot: Spot) -> str:
    run = spot.run
    figures = f"time {float(spot.time):.6g}, p = {run.segments}, {figure(run, 'steps')} steps"
    return f"{curve.label}: m = {spot.message_bytes}, {figures}"


def _profile_label(curve: Curve, run: models.Run) -> str:
    return f"{curve.label}, p = {run.segments}"


def _share(used: Sequence[int], links: int) -> str:
    return f"{100 * sum(used) / (links * len(used)):.1f} % of the links busy on average"


def _describe(panel: Panel, crossings: Sequence[Crossing]) -> str:
    labels = ", ".join(curve.label for curve in panel.curves)
    bound = "lower bound" if len(panel.by_place()) == 1 else "lower bound of each"
    curves = f"Curves: {labels}, and the {bound}."
    if not crossings:
        return f"{curves} There are no crossovers."
    places = "; ".join(
        f"{each.below} is better than {each.above} up to m {each.place}" for each in crossings
    )
    return f"{curves} Crossovers: {places}."
