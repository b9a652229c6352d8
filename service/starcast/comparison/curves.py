"""What stored runs look like along m: for each question a panel, for each algorithm in it a curve, and the lower bound."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from starcast.comparison.compare import Comparison
from starcast.comparison.matching import FIGURES, QUESTION, figure, value, words
from starcast.comparison.networks import PARTS, word
from starcast.database import models
from starcast.topologies import topology

#: What all points of a panel share: the question but for m.
AXES = tuple(axis for axis in QUESTION if axis != "message_bytes")

_BOUND = "lower bound"

#: Runs by question, by the values on the crossed axes and of `PARTS`, and by side.
_Key = tuple[Any, ...]
_Parts = dict[_Key, dict[str, list[models.Run]]]
_Found = dict[_Key, _Parts]


class Line(NamedTuple):
    """A time that is linear in m: ``fixed + rate * m``, as it is where the same packets only grow."""

    fixed: Fraction
    rate: Fraction

    def at(self, m: Fraction) -> Fraction:
        """The time for a message of m bytes."""
        return self.fixed + self.rate * m


class Spot(NamedTuple):
    """A point of a curve: the least stored time for m bytes, and the run that has it."""

    m: Fraction
    time: Fraction
    run: models.Run


@dataclass(frozen=True)
class Curve:
    """The runs of one algorithm (with its tree and copies) in a panel, whatever their p; ``place`` on the crossed axes."""

    label: str
    runs: tuple[models.Run, ...]
    place: str = ""

    @property
    def links(self) -> int:
        """How many directed links its network has."""
        return 2 * topology(self.runs[0].topology).links

    def spots(self, kind: str = "simulated") -> tuple[Spot, ...]:
        """The least time at each m, by m; of equal times that of the smaller p."""
        if kind not in self._spots:
            best: dict[Fraction, Spot] = {}
            for run in sorted(self.runs, key=lambda run: run.segments):
                time = figure(run, "time", kind)
                if time is not None and (run.message_bytes not in best or time < best[run.message_bytes].time):
                    best[run.message_bytes] = Spot(run.message_bytes, time, run)
            self._spots[kind] = tuple(best[m] for m in sorted(best))
        return self._spots[kind]

    def at(self, p: int) -> "Curve":
        """The same with the runs of one p alone."""
        return self._by_p[p]

    @property
    def pieces(self) -> tuple[int, ...]:
        """The values of p that it has, ascending."""
        return tuple(self._by_p)

    def lines(self, sizes: Sequence[Fraction], kind: str = "simulated") -> dict[int, Line] | None:
        """The time at each p that is stored for all these m, if that is what the least time at every one of them is made of.

        A schedule does not depend on m, so its start-ups are the same and its bytes grow with m; this is looked up in what is
        stored, not assumed, and the answer is None where it is not so.
        """
        lines = {
            p: line
            for p, curve in self._by_p.items()
            if (line := _line(curve.runs, sizes, kind)) is not None
        }
        best = {spot.message_bytes: spot.time for spot in self.spots(kind)}
        whole = bool(lines) and all(
            m in best and min(line.at(m) for line in lines.values()) == best[m] for m in sizes
        )
        return lines if whole else None

    @cached_property
    def _spots(self) -> dict[str, tuple[Spot, ...]]:
        return {}

    @cached_property
    def _by_p(self) -> dict[int, "Curve"]:
        pieces = sorted({run.segments for run in self.runs})
        if len(pieces) == 1:
            return {pieces[0]: self}
        return {
            p: replace(self, runs=tuple(run for run in self.runs if run.segments == p)) for p in pieces
        }


@dataclass(frozen=True)
class Panel:
    """One question but for m: the values of `AXES`, of a crossed one those of all its curves; and the curves that answer it."""

    question: Mapping[str, Any]
    curves: tuple[Curve, ...]

    @property
    def name(self) -> str:
        """What it shows, in words."""
        return named(self.question)

    @property
    def sizes(self) -> tuple[Fraction, ...]:
        """Every m that some curve has, ascending."""
        return tuple(sorted({spot.message_bytes for curve in self.curves for spot in curve.spots()}))

    @property
    def bound(self) -> Mapping[Fraction, Fraction]:
        """The lower bound at each m: of the runs there the least, which holds for all of them, whatever copies they send."""
        return {m: time for m, (time, _) in self._bounds.items()}

    def bound_lines(self) -> tuple[Line, Line] | None:
        """The two lines of which the lower bound is the greater, start-ups and bytes; None where it is no such thing."""
        stored = self._bounds
        largest = max(stored, default=Fraction(0))
        if largest == 0:
            return None
        run = stored[largest][1]
        start_ups, carried = figure(run, "start_ups", _BOUND), figure(run, "bytes", _BOUND)
        if start_ups is None or carried is None:
            return None
        lines = (
            Line(start_ups * run.t_s, Fraction(0)),
            Line(Fraction(0), carried / largest * run.t_c),
        )
        return (
            lines
            if all(max(line.at(m) for line in lines) == time for m, time in self.bound.items())
            else None
        )

    @cached_property
    def _bounds(self) -> dict[Fraction, tuple[Fraction, models.Run]]:
        bounds: dict[Fraction, tuple[Fraction, models.Run]] = {}
        for run in (run for curve in self.curves for run in curve.runs):
            time = figure(run, "time", _BOUND)
            if time is not None and (run.message_bytes not in bounds or time < bounds[run.message_bytes][0]):
                bounds[run.message_bytes] = time, run
        return {m: bounds[m] for m in sorted(bounds)}

    def apart(self) -> dict[str, "Panel"]:
        """By their places on the crossed axes the curves that share one, and so one lower bound."""
        places = dict.fromkeys(curve.place for curve in self.curves)
        return {
            place: replace(
                self, curves=tuple(curve for curve in self.curves if curve.place == place)
            )
            for place in places
        }

    def profiled(self) -> list[tuple[Curve, models.Run]]:
        """For each curve the run whose steps are worth a look: its fastest at the greatest m that all curves have."""
        common = set.intersection(*({spot.message_bytes for spot in curve.spots()} for curve in self.curves))
        return [
            (
                curve,
                next(
                    spot.run
                    for spot in reversed(curve.spots())
                    if not common or spot.message_bytes == max(common)
                ),
            )
            for curve in self.curves
        ]


def shared_line(low: Spot, high: Spot, kind: str = "simulated") -> dict[int, Line] | None:
    """The line through two spots under its p; None where they differ in p, or there is no such line."""
    return (
        Curve("", (low.run, high.run)).lines((low.message_bytes, high.message_bytes), kind)
        if low.run.segments == high.run.segments
        else None
    )


def named(question: Mapping[str, Any]) -> str:
    """The values of `AXES` in words; without faults where there are none."""
    told = {axis: words(of) for axis, of in question.items()}
    faults = f", faults {told['faults']}" if question["faults"] else ""
    machine = f"T_s = {told['t_s']}, T_c = {told['t_c']}"
    return f"{told['collective']} on {told['topology']}, {told['ports']}-port, {machine}{faults}"


def panels(comparison: Comparison) -> list[Panel]:
    """Every question of a comparison but for m, with its curves; runs that have no figures, or do not deliver, are left out."""
    found: _Found = {}
    for side, run in _sound(comparison):
        question = tuple(None if axis in comparison.across else value(run, axis) for axis in AXES)
        part = tuple(getattr(run, name) for name in (*comparison.across, *PARTS))
        found.setdefault(question, {}).setdefault(part, {}).setdefault(side, []).append(run)
    labels = _labels(found, comparison.across)
    return [
        _panel(question, found[question], labels, comparison.across)
        for question in sorted(found, key=_order)
    ]


def _order(question: _Key) -> tuple[Any, ...]:
    told = dict(zip(AXES, question, strict=True))
    size = topology(told["topology"]).nodes if told["topology"] else 0
    return told["collective"], size, *(of for of in question if of is not None)


def _panel(
    question: _Key, parts: _Parts, labels: Mapping[_Key, tuple[str, bool]], across: Sequence[str]
) -> Panel:
    told = dict(zip(AXES, question, strict=True))
    crossed = {
        axis: " | ".join(dict.fromkeys(words(part[place]) for part in parts))
        for place, axis in enumerate(across)
    }
    return Panel(told | crossed, tuple(_curves(parts, labels, across)))


def _sound(comparison: Comparison) -> Iterator[tuple[str, models.Run]]:
    for side in comparison.sides:
        for run in side.runs:
            if run.status == "complete" and not run.missing and figure(run, "time") is not None:
                yield side.name, run


def _labels(found: _Found, across: Sequence[str]) -> dict[_Key, tuple[str, bool]]:
    """For each part its name, and whether its sides have to be told apart: somewhere their figures differ."""
    parts = {part: sides for panel in found.values() for part, sides in panel.items()}
    varying = [
        place
        for place in range(len(across) + len(PARTS))
        if len({part[place] for part in parts}) > 1
    ]
    apart = {
        part
        for panel in found.values()
        for part, sides in panel.items()
        if len({_fingerprint(runs) for runs in sides.values()}) > 1
    }
    return {part: (_labelled(part, across, varying), part in apart) for part in parts}


def _labelled(part: _Key, across: Sequence[str], varying: Sequence[int]) -> str:
    places = [word(axis, part[at]) for at, axis in enumerate(across) if at in varying]
    algorithm, tree, copies = part[len(across) :]
    of = f" of {tree}" if len(across) + 1 in varying and tree is not None else ""
    times = f", {copies} copies" if len(across) + 2 in varying and copies > 1 else ""
    return " ".join([*places, f"{algorithm}{of}{times}"])


def _curves(
    parts: _Parts, labels: Mapping[_Key, tuple[str, bool]], across: Sequence[str]
) -> Iterator[Curve]:
    varying = [at for at in range(len(across)) if len({part[at] for part in parts}) > 1]
    for part, sides in parts.items():
        name, apart = labels[part]
        place = " ".join(word(across[at], part[at]) for at in varying)
        if apart:
            yield from (
                Curve(f"{name} ({side})", tuple(runs), place) for side, runs in sides.items()
            )
        else:
            yield Curve(name, tuple(next(iter(sides.values()))), place)


def _fingerprint(runs: Iterable[models.Run]) -> frozenset[tuple[Any, ...]]:
    return frozenset((run.message_bytes, run.segments, *(figure(run, what) for what in FIGURES)) for run in runs)


def _line(runs: Sequence[models.Run], sizes: Sequence[Fraction], kind: str) -> Line | None:
    """The time of runs of one p as a line through all these m, None where one is not stored or off the line."""
    stored = {run.message_bytes: run for run in runs if figure(run, "time", kind) is not None}
    if len(sizes) < 2 or any(m not in stored for m in sizes):
        return None
    largest = stored[max(sizes)]
    start_ups, carried = figure(largest, "start_ups", kind), figure(largest, "bytes", kind)
    if start_ups is None or carried is None:
        return None
    line = Line(start_ups * largest.t_s, carried / largest.message_bytes * largest.t_c)
    straight = all(line.at(m) == figure(stored[m], "time", kind) for m in sizes)
    return line if straight else None
