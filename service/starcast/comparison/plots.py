"""Plots of a comparison as SVG that stands in a page: time against m, and the links that are busy in each step."""

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
    Styles,
    by_powers,
    empty,
    inline,
    legend,
    settings,
)
from starcast.database import models

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
#: Lower bounds are ink, each with dashes of its own.
_BOUNDS = ((4, 3), (1.5, 1.5), (8, 3), (6, 2, 1.5, 2), (3, 5))
_ID = str.maketrans(" =/,", "----")
_SAMPLES = 24  # of a line between two stored points


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
    with settings():
        plot, axes = empty()
        axes.set_xscale("log")
        axes.set_yscale("log")
        for dashes, (topology, part) in zip(cycle(_BOUNDS), panel.apart().items(), strict=False):
            _bound(axes, part, topology, dashes)
        for place, curve in enumerate(panel.curves):
            spots = [spot for spot in curve.spots() if spot.message_bytes > 0 and spot.time > 0]
            gid, style = f"curve-{place}", styles.of(curve.label)
            axes.plot(*_path(curve, spots), **{**style, "marker": ""}, linewidth=1.8)
            stored = _pairs((spot.message_bytes, spot.time) for spot in spots)
            axes.plot(*stored, **{**style, "linestyle": ""}, markersize=5.5, gid=gid)
            axes.plot([], [], **style, linewidth=1.8, label=curve.label)
            titles[gid] = [_told(curve, spot) for spot in spots]
        _mark(axes, crossings, titles)
        by_powers(axes.xaxis, axes.get_xlim())
        by_powers(axes.yaxis, axes.get_ylim())
        axes.set_xlabel("m, bytes of a message")
        axes.set_ylabel("time")
        legend(plot, axes)
        what = f"Time against m: {panel.name}."
        return inline(plot, name, what, _described(panel, crossings), titles)


def links(panel: Panel, busy: Mapping[int, Sequence[int]], styles: Styles, name: str) -> str:
    """Directed links that are busy in each step, for each algorithm's run in `Panel.profiled`.

    On networks of different size they are shares of all directed links of their own network, as the axis says.

    Args:
        panel: which.
        busy: for the number of each such run the links used in steps 1, 2, ...
        styles: as in `times`.
        name: as in `times`.
    """
    shown = [(curve, run, busy[run.id]) for curve, run in panel.profiled() if busy.get(run.id)]
    sizes = {curve.links for curve, _, _ in shown}
    alike, most = len(sizes) == 1, max(sizes) if len(sizes) == 1 else 100
    with settings():
        plot, axes = empty()
        whole = f"all {most:,} directed links" if alike else "all directed links of each network"
        axes.axhline(most, color=FAINT[1], linestyle=(0, (4, 3)), linewidth=1.2, label=whole)
        for curve, run, used in shown:
            style = {key: value for key, value in styles.of(curve.label).items() if key != "marker"}
            edges = [place + 0.5 for place in range(len(used) + 1)]
            heights = [each * most / curve.links for each in used]
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
            "directed links busy" if alike else "directed links busy, % of the network's"
        )
        legend(plot, axes)
        told = [
            f"{_profile_label(curve, run)}: {len(used)} steps, {_share(used, curve.links)}"
            for curve, run, used in shown
        ]
        return inline(plot, name, f"Links busy per step: {panel.name}.", "; ".join(told) + ".", {})


def _bound(axes: Axes, panel: Panel, topology: str, dashes: tuple[float, ...]) -> None:
    stored = {m: time for m, time in panel.bound.items() if m > 0 and time > 0}
    if not stored:
        return
    lines = panel.bound_lines()
    sizes = list(stored) if lines is None else _between(list(stored))
    bound = [(m, stored[m] if lines is None else max(line.at(m) for line in lines)) for m in sizes]
    label = f"lower bound of {topology}" if topology else "lower bound"
    gid = f"bound-{topology}".translate(_ID) if topology else "bound"
    axes.plot(
        *_pairs(bound), color=INK[1], linestyle=(0, dashes), linewidth=1.3, label=label, gid=gid
    )


def _path(curve: Curve, spots: Sequence[Spot]) -> tuple[list[float], list[float]]:
    """The curve through its spots: the least of its lines, or between any two spots of one p their line."""
    lines = curve.lines([spot.message_bytes for spot in spots])
    path = [(spot.message_bytes, spot.time) for spot in spots]
    for low, high in pairwise(spots):
        along = lines or shared_line(low, high)
        if along is not None:
            path += [
                (m, min(line.at(m) for line in along.values())) for m in _between((low.message_bytes, high.message_bytes))
            ]
    return _pairs(sorted(set(path)))


def _between(sizes: Sequence[Fraction]) -> list[Fraction]:
    """These sizes and more of them in between, evenly by their logarithms."""
    places = (
        (log10(low), log10(high), place / _SAMPLES)
        for low, high in pairwise(sizes)
        for place in range(1, _SAMPLES)
    )
    more = (Fraction(10 ** (low + (high - low) * share)) for low, high, share in places)
    return sorted({*sizes, *(m for m in more if sizes[0] < m < sizes[-1])})


def _mark(axes: Axes, crossings: Sequence[Crossing], titles: dict[str, Sequence[str]]) -> None:
    """A ring where two curves change places; a band where it is only known between which m; with numbers, from 1."""
    rings, bands = [], dict[tuple[float, float], list[int]]()
    for number, crossing in enumerate(crossings, start=1):
        gid, here, there = f"crossing-{number}", float(crossing.low), float(crossing.high)
        if here <= 0:
            continue
        if crossing.how == AT and crossing.time is not None:
            spot = here, float(crossing.time)
            axes.plot(*([value] for value in spot), **_RING, gid=gid)
            titles[gid] = [
                f"{number}: m = {crossing.place}, {crossing.below} is better below, {crossing.above} above"
            ]
            rings.append((number, spot))
        else:
            bands.setdefault((here, there), []).append(number)
    for (here, there), numbers in bands.items():
        axes.axvspan(
            here, there, color=FAINT[1], alpha=0.18, linewidth=0, gid=f"crossing-{numbers[0]}"
        )
        topology = ((here * there) ** 0.5, 1)
        axes.annotate(
            _ranges(numbers), topology, xycoords=("data", "axes fraction"), ha="center", va="bottom"
        )
    for words, spot in _clustered(rings, log10(axes.get_xlim()[1] / axes.get_xlim()[0])):
        axes.annotate(words, spot, (0, 9), textcoords="offset points", ha="center")


def _ranges(numbers: Sequence[int]) -> str:
    """Ascending numbers in few words: ``1-4, 7``."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{run[0]}-{run[-1]}" if len(run) > 1 else str(run[0]) for run in runs)


def _clustered(
    rings: Sequence[tuple[int, tuple[float, float]]], width: float
) -> Iterator[tuple[str, tuple[float, float]]]:
    """Numbers that would lie upon one another in one: ``3-5`` at the middle one's place."""
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


def _told(curve: Curve, spot: Spot) -> str:
    return f"{curve.label}: m = {spot.message_bytes}, time {float(spot.time):.6g}, p = {spot.run.segments}, {figure(spot.run, 'steps')} steps"


def _profile_label(curve: Curve, run: models.Run) -> str:
    return f"{curve.label}, p = {run.segments}"


def _share(used: Sequence[int], links: int) -> str:
    return f"{100 * sum(used) / (links * len(used)):.1f} % of the links busy on average"


def _described(panel: Panel, crossings: Sequence[Crossing]) -> str:
    labels = ", ".join(curve.label for curve in panel.curves)
    places = "; ".join(f"{one.below} before {one.above} up to m {one.place}" for one in crossings)
    bound = "lower bound" if len(panel.apart()) == 1 else "lower bound of each"
    return f"Curves: {labels}, and the {bound}. " + (
        f"They change places: {places}." if places else "No two change places."
    )
