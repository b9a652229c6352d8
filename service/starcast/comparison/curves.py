"""Curves that show the times of stored runs as functions of the message size.

A panel is a set of curves that can share a plot. The runs of a panel solve the same problem for
various message sizes: they have the same values on all other axes of `QUESTION`, except the axes
in ``across``, on which compared runs may differ. Each curve shows an algorithm. A panel has one
lower bound, or one for each combination of values on the axes in ``across``. In text for plots, m
is the message size in bytes and p the number of segments (the notation of the papers).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from math import log10
from typing import Any, NamedTuple

from sqlalchemy.orm import Session

from starcast.comparison.compare import Comparison
from starcast.comparison.matching import as_text, figure, value
from starcast.comparison.sides import PARTS, axis_value
from starcast.stores.database import repository
from starcast.support.axes import QUESTION
from starcast.support.runs import FIGURES, Run
from starcast.topologies import as_topology, count_nodes

#: The parameters that have the same value in all runs of a panel, unless ``across`` names them.
AXES = tuple(axis for axis in QUESTION if axis != "message_bytes")

_BOUND = "lower bound"
#: Number of pieces into which a drawn line is divided between two stored message sizes.
_SAMPLES = 24

#: The points of a drawn line, as pairs of message size and time.
Polyline = list[tuple[Fraction, Fraction]]
_Key = tuple[Any, ...]


class Line(NamedTuple):
    """A time that is linear in the message size: ``fixed + rate * m``."""

    fixed: Fraction
    rate: Fraction

    def at(self, m: Fraction) -> Fraction:
        """Return the time for a message of m bytes."""
        return self.fixed + self.rate * m


class Spot(NamedTuple):
    """A point of a curve: the minimum stored time at a message size, and the run with this time."""

    message_bytes: Fraction
    time: Fraction
    run: Run


@dataclass(frozen=True)
class Curve:
    """The runs in a panel that share the algorithm, base, copies and values on axes in ``across``.

    If these runs differ between the sides of the comparison, each side has its own curve.

    Attributes:
        label: the name of the curve.
        runs: the runs; they may differ in the number of segments.
        place: a text with the values on axes in ``across`` by which this curve differs from the
            other curves of the panel.
    """

    label: str
    runs: tuple[Run, ...]
    place: str = ""

    @property
    def links(self) -> int:
        """The number of directed links of the network; 0 if the network's plug-in is not loaded."""
        spec = self.runs[0].topology
        return 2 * as_topology(spec).links if count_nodes(spec) else 0

    def spots(self, kind: str = "simulated") -> tuple[Spot, ...]:
        """Return the point of the fastest run at each message size.

        Of equally fast runs, the run with the fewest segments is used.
        """
        if kind not in self._spots:
            best: dict[Fraction, Spot] = {}
            for run in sorted(self.runs, key=lambda run: run.segments):
                time, size = figure(run, "time", kind), run.message_bytes
                if time is not None and (size not in best or time < best[size].time):
                    best[size] = Spot(size, time, run)
            self._spots[kind] = tuple(best[size] for size in sorted(best))
        return self._spots[kind]

    def path(self) -> Polyline:
        """Return the points to draw: `spots`, and samples between some of these spots.

        Samples are added where the time is linear in the message size, because straight lines are
        curved on logarithmic axes. Points at 0 bytes or at time 0 are omitted.
        """
        spots = [spot for spot in self.spots() if spot.message_bytes > 0 and spot.time > 0]
        lines = self.lines([spot.message_bytes for spot in spots])
        points = {(spot.message_bytes, spot.time) for spot in spots}
        for low, high in pairwise(spots):
            along = lines or shared_line(low, high)
            if along is not None:
                points |= {
                    (m, min(line.at(m) for line in along.values()))
                    for m in _samples(low.message_bytes, high.message_bytes)
                }
        return sorted(points)

    def at(self, segments: int) -> "Curve":
        """Return the curve that contains only the runs with the given number of segments."""
        return self._by_segments[segments]

    @property
    def segments(self) -> tuple[int, ...]:
        """The numbers of segments of the curve's runs, in ascending order."""
        return tuple(self._by_segments)

    def lines(self, sizes: Sequence[Fraction], kind: str = "simulated") -> dict[int, Line] | None:
        """Return, for each number of segments, the line of time against message size.

        A schedule does not depend on the message size, so the number of start-ups is constant and
        the number of bytes grows linearly. Numbers of segments whose stored times at ``sizes`` are
        not on a line are omitted. The result is None if no number remains, or if at one of
        ``sizes`` the minimum stored time differs from the minimum of the lines.
        """
        lines = {
            segments: line
            for segments, curve in self._by_segments.items()
            if (line := _line(curve.runs, sizes, kind)) is not None
        }
        best = {spot.message_bytes: spot.time for spot in self.spots(kind)}
        if not lines:
            return None
        is_least = all(
            m in best and min(line.at(m) for line in lines.values()) == best[m] for m in sizes
        )
        return lines if is_least else None

    @cached_property
    def _spots(self) -> dict[str, tuple[Spot, ...]]:
        return {}

    @cached_property
    def _by_segments(self) -> dict[int, "Curve"]:
        groups: dict[int, list[Run]] = {}
        for run in self.runs:
            groups.setdefault(run.segments, []).append(run)
        # The curve itself is reused, because a copy would not share the cached points of the curve.
        if len(groups) == 1:
            return dict.fromkeys(groups, self)
        return {
            segments: replace(self, runs=tuple(groups[segments])) for segments in sorted(groups)
        }


@dataclass(frozen=True)
class Panel:
    """The curves of one plot; their runs agree on all axes in `AXES` that are not in ``across``.

    Attributes:
        question: the values on the axes in `AXES`. For an axis in ``across``, the value is a text
            with the values of all curves.
        curves: the curves.
        profiled: the curves in the plot of links used per step, each with the run that the plot
            shows.
    """

    question: Mapping[str, Any]
    curves: tuple[Curve, ...]
    profiled: tuple[tuple[Curve, Run], ...] = ()

    @property
    def name(self) -> str:
        """The panel's name, a text with the parameter values that identify the panel."""
        return describe(self.question)

    @property
    def sizes(self) -> tuple[Fraction, ...]:
        """The message sizes of all curves, in ascending order."""
        return tuple(
            sorted({spot.message_bytes for curve in self.curves for spot in curve.spots()})
        )

    @property
    def bound(self) -> Mapping[Fraction, Fraction]:
        """For each message size, a lower bound on the times of all runs of the panel."""
        lines = self.bound_lines()
        return {m: max(line.at(m) for line in lines) for m in self.sizes} if lines else {}

    def bound_lines(self) -> tuple[Line, Line] | None:
        """Return the two lines whose maximum is the lower bound: one for start-ups, one for bytes.

        The lines are those of the run with the lowest bound, because runs with more copies have a
        higher bound. The result is None if no run with a message above 0 bytes has a bound.
        """
        pairs = [
            (
                Line(figure(run, "start_ups", _BOUND) * run.t_s, Fraction(0)),
                Line(Fraction(0), figure(run, "bytes", _BOUND) / run.message_bytes * run.t_c),
            )
            for curve in self.curves
            for run in curve.runs
            if run.message_bytes and figure(run, "bytes", _BOUND) is not None
        ]
        return min(pairs, default=None)

    def bound_path(self) -> Polyline:
        """Return the points at which to draw the lower bound.

        Both lines of `bound_lines` are straight on logarithmic axes, so the bound bends only where
        the two lines cross.
        """
        path = dict(self.bound)
        if path and (lines := self.bound_lines()):
            start_ups, carried = lines
            bend = start_ups.fixed / carried.rate if carried.rate else Fraction(0)
            if min(path) < bend < max(path):
                path[bend] = start_ups.fixed
        return sorted((m, time) for m, time in path.items() if m > 0 and time > 0)

    def by_place(self) -> dict[str, "Panel"]:
        """Split the panel by `Curve.place`, so that each part has only one lower bound."""
        groups: dict[str, list[Curve]] = {}
        for curve in self.curves:
            groups.setdefault(curve.place, []).append(curve)
        return {place: replace(self, curves=tuple(curves)) for place, curves in groups.items()}


def shared_line(low: Spot, high: Spot, kind: str = "simulated") -> dict[int, Line] | None:
    """Return the line through two points of a curve, as a dict from number of segments to line.

    The result is None if the runs of the points have different numbers of segments, or if the time
    is not linear between the points.
    """
    if low.run.segments != high.run.segments:
        return None
    return Curve("", (low.run, high.run)).lines((low.message_bytes, high.message_bytes), kind)


def describe(question: Mapping[str, Any]) -> str:
    """Return the values on the axes in `AXES` as text.

    The root is omitted if it is the default, and the faults are omitted if there are none.
    """
    texts = {axis: as_text(value) for axis, value in question.items()}
    faults = f", faults {texts['faults']}" if question["faults"] else ""
    machine = f"t_s = {texts['t_s']}, t_c = {texts['t_c']}"
    root = "" if texts["root"] == as_text(None) else f" from {texts['root']}"
    network = f"{texts['topology']}{root}, {texts['ports']}-port, {texts['execution']}"
    return f"{texts['collective']} on {network}, {machine}{faults}"


def panels(comparison: Comparison) -> list[Panel]:
    """Return the panels of a comparison with their curves.

    Runs without figures, and runs that do not deliver all units, are omitted.
    """
    across = comparison.across
    #: The runs by question (their values on `AXES` without ``across``), then by part (their values
    #: on ``across`` and `PARTS`), and then by side.
    questions: dict[_Key, dict[_Key, dict[str, list[Run]]]] = {}
    for side in comparison.sides:
        for run in side.runs:
            if run.status != "complete" or run.missing or figure(run, "time") is None:
                continue
            # Runs with different values on an axis in `across` share a panel; the curves' labels
            # contain the values.
            question = tuple(None if axis in across else value(run, axis) for axis in AXES)
            part = tuple(getattr(run, name) for name in (*across, *PARTS))
            sides = questions.setdefault(question, {}).setdefault(part, {})
            sides.setdefault(side.name, []).append(run)
    parts = {part for each in questions.values() for part in each}
    labels = {part: _label(part, across, _varying(parts)) for part in parts}
    # The label of a part names the side if the part's runs differ between sides in any panel.
    different = {
        part
        for each in questions.values()
        for part, sides in each.items()
        if len({_fingerprint(runs) for runs in sides.values()}) > 1
    }
    found = []
    for question in sorted(questions, key=_order):
        sides_of = questions[question]
        values = dict(zip(AXES, question, strict=True))
        for at, axis in enumerate(across):
            values[axis] = " | ".join(dict.fromkeys(as_text(part[at]) for part in sides_of))
        varying = [at for at in _varying(sides_of) if at < len(across)]
        curves = []
        for part, sides in sides_of.items():
            place = " ".join(axis_value(across[at], part[at]) for at in varying)
            if part in different:
                named = {f"{labels[part]} ({side})": runs for side, runs in sides.items()}
            else:
                named = {labels[part]: next(iter(sides.values()))}
            curves += [Curve(label, tuple(runs), place) for label, runs in named.items()]
        found.append(Panel(values, tuple(curves)))
    return _with_profiles(found)


def _with_profiles(every: Sequence[Panel]) -> list[Panel]:
    """Select runs for the plots of links used, and return panels with these runs as `profiled`.

    For each curve, the fastest run is selected at the largest message size that all curves of the
    panel have, or at the curve's own largest size if no size is common. Curves whose network has an
    unknown size are omitted.

    A schedule does not depend on message_bytes, t_s, t_c and faults, so several panels can have the
    same schedules. If all schedules of a panel are already plotted for other panels, no runs are
    selected in this panel. Runs are selected in panels without faults first, because faults only
    remove some of the links used.
    """
    selected = list(every)
    seen: set[_Key] = set()
    for number in sorted(
        range(len(every)), key=lambda place: bool(every[place].question["faults"])
    ):
        panel = every[number]
        sizes = [{spot.message_bytes for spot in curve.spots()} for curve in panel.curves]
        common = max(set.intersection(*sizes), default=None)
        shown = []
        for curve in panel.curves:
            spots = [spot for spot in curve.spots() if common in {None, spot.message_bytes}]
            if curve.links:
                shown.append((curve, spots[-1].run))
        axes = tuple(panel.question[axis] for axis in ("topology", "collective", "ports"))
        schedules = {(*axes, curve.label, run.segments) for curve, run in shown}
        if not schedules <= seen:
            selected[number] = replace(panel, profiled=tuple(shown))
        seen |= schedules
    return selected


def profiled_runs(comparison: Comparison) -> list[Run]:
    """Return the runs for which the links used in each step are plotted."""
    return [run for panel in panels(comparison) for _, run in panel.profiled]


def _samples(low: Fraction, high: Fraction) -> list[Fraction]:
    """Return message sizes between ``low`` and ``high``, evenly spaced on a logarithmic axis."""
    start, width = log10(low), log10(high) - log10(low)
    samples = (Fraction(10 ** (start + width * (n / _SAMPLES))) for n in range(1, _SAMPLES))
    # Powers are rounded, so a computed sample might lie outside the range of sizes.
    return [m for m in samples if low < m < high]


def _order(question: _Key) -> tuple[Any, ...]:
    values = dict(zip(AXES, question, strict=True))
    size = count_nodes(values["topology"]) if values["topology"] else 0
    return values["collective"], size, *("" if value is None else value for value in question)


def _varying(parts: Iterable[_Key]) -> list[int]:
    """Return the positions at which the tuples in ``parts`` do not all have the same value.

    Each tuple identifies a curve by its values on the axes in ``across`` and in `PARTS`.
    """
    return [at for at, values in enumerate(zip(*parts, strict=True)) if len(set(values)) > 1]


def _label(part: _Key, across: Sequence[str], varying: Sequence[int]) -> str:
    places = [axis_value(axis, part[at]) for at, axis in enumerate(across) if at in varying]
    algorithm, base, copies = part[len(across) :]
    on_base = f" of {base}" if len(across) + 1 in varying and base is not None else ""
    times = f", {copies} copies" if len(across) + 2 in varying and copies > 1 else ""
    return " ".join([*places, f"{algorithm}{on_base}{times}"])


def _fingerprint(runs: Iterable[Run]) -> frozenset[_Key]:
    """Return the sizes, segments and figures of runs, to detect sides with equal runs."""
    return frozenset(
        (run.message_bytes, run.segments, *(figure(run, name) for name in FIGURES)) for run in runs
    )


def _line(runs: Sequence[Run], sizes: Sequence[Fraction], kind: str) -> Line | None:
    """Return the line through the times of the runs at all ``sizes``; None if no line fits."""
    stored = {run.message_bytes: run for run in runs if figure(run, "time", kind) is not None}
    if len(sizes) < 2 or any(m not in stored for m in sizes):
        return None
    # The line is computed from the run with the largest size, because that size is never 0, and
    # is then checked against all runs.
    largest = stored[max(sizes)]
    time, carried = figure(largest, "time", kind), figure(largest, "bytes", kind)
    if carried is None or figure(largest, "start_ups", kind) is None:
        return None
    # The rest of the time consists of start-ups and, if the links have latencies, of latencies.
    sending = carried * largest.t_c
    line = Line(time - sending, sending / largest.message_bytes)
    straight = all(line.at(m) == figure(stored[m], "time", kind) for m in sizes)
    return line if straight else None


def load_profiles(session: Session, comparison: Comparison) -> dict[int | None, list[int]]:
    """Return the number of links used in each step of the `profiled_runs`, by run id.

    Runs that are not stored share the id None; their list is empty.
    """
    runs = dict.fromkeys(run.id for run in profiled_runs(comparison))
    return {
        run: [step.links_used for step in repository.load_profile(session, run)] for run in runs
    }
