"""Where along m the better of two algorithms changes.

At a fixed p the time is linear in m, so two algorithms change places at an m that is solved for exactly, in rationals. The
least time of several p is the lower envelope of their lines, and its changes are as exact. Where what is stored is no set of
lines (each m with a p of its own, say), the change is known to lie between two stored m.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from starcast.comparison.compare import Comparison
from starcast.comparison.curves import AXES, Curve, Line, Panel, Spot, named, panels, shared_line
from starcast.comparison.matching import words

#: By which figures, and what they are called where both agree.
KINDS = ("simulated", "closed form")
BOTH = " and ".join(KINDS)

AT, BETWEEN, EQUAL = "at", "between", "equal from"
BEST, ONE, ONLY = "best p", "one p", "only p"

#: The columns of `rows`.
COLUMNS = (
    *AXES,
    "one",
    "other",
    "segments",
    "message_bytes",
    "m from",
    "m to",
    "better below",
    "better above",
    "figures",
)


@dataclass(frozen=True)
class Crossing:
    """One change of places.

    Attributes:
        question: where: the values of `AXES`.
        one, other: the labels of the two curves.
        p: of one and of the other, at the place; of a change that is no single place, at its lower end.
        until: the same at its upper end.
        low, high: bytes; equal where the place is exact.
        how: `AT` low exactly; somewhere `BETWEEN`; or the two are `EQUAL` from low to high, exactly.
        below, above: the label of the better one for smaller and for larger m.
        figures: by the simulated times, by the closed forms, or `BOTH`.
        choice: whether each takes, at every m, its `BEST` stored p, `ONE` p though more are stored, or the `ONLY` p it has.
        time: at an exact place, what both take there.
    """

    question: tuple[Any, ...]
    one: str
    other: str
    p: tuple[int, int]
    until: tuple[int, int]
    low: Fraction
    high: Fraction
    how: str
    below: str
    above: str
    figures: str
    choice: str
    time: Fraction | None = field(default=None, compare=False)

    @property
    def pieces(self) -> str:
        """The p in words: ``4``, ``16 | 4``, ``best 16 | 4``; where both ends have their own, ``best 2 | 6 to 3 | 7``."""
        ends = dict.fromkeys(
            str(one) if one == other else f"{one} | {other}" for one, other in (self.segments, self.until)
        )
        told = " to ".join(ends)
        return f"best {told}" if self.choice == BEST else told

    @property
    def place(self) -> str:
        """The m in words."""
        if self.how == AT:
            return exactly(self.low)
        return f"{self.how} {exactly(self.low)} {'and' if self.how == BETWEEN else 'to'} {exactly(self.high)}"

    @property
    def change(self) -> str:
        """Which m, who is better on either side of it, and in how many pieces."""
        at = "at m =" if self.how == AT else "with m"
        return f"{at} {self.place}: {self.below} is better below, {self.above} above (p: {self.pieces})"

    def __str__(self) -> str:
        return f"{self.change}; {named(dict(zip(AXES, self.question, strict=True)))}"


def crossings(panel: Panel) -> list[Crossing]:
    """All changes within the stored m of a panel, for every two curves: at the best p of each, and at each that both have."""
    found = [
        crossing
        for pair in combinations(panel.curves, 2)
        for kind in KINDS
        for crossing in _of_pair(panel, *pair, kind)
    ]
    merged: dict[Crossing, list[str]] = {}
    for crossing in found:
        merged.setdefault(replace(crossing, figures=""), []).append(crossing.figures)
    return [replace(crossing, figures=" and ".join(kinds)) for crossing, kinds in merged.items()]


def of(comparison: Comparison) -> list[Crossing]:
    """All changes of a comparison, panel by panel."""
    return [crossing for panel in panels(comparison) for crossing in crossings(panel)]


def marked(found: Iterable[Crossing]) -> list[Crossing]:
    """Those that a plot of the simulated times shows, each curve at its best: panel by panel, by m."""
    shown = [
        crossing for crossing in found if crossing.choice != ONE and KINDS[0] in crossing.figures
    ]
    panel = {
        question: place
        for place, question in enumerate(dict.fromkeys(crossing.question for crossing in shown))
    }
    return sorted(
        shown, key=lambda crossing: (panel[crossing.question], crossing.low, crossing.high)
    )


def rows(found: Iterable[Crossing]) -> list[dict[str, Any]]:
    """The changes as rows of `COLUMNS`."""
    return [
        {
            **{axis: words(of) if axis == "faults" else of for axis, of in zip(AXES, crossing.question, strict=True)},
            "one": crossing.one, "other": crossing.other, "segments": crossing.pieces, "message_bytes": crossing.place,
            "m from": crossing.low, "m to": crossing.high, "better below": crossing.below, "better above": crossing.above,
            "figures": crossing.figures,
        }
        for crossing in found
    ]  # fmt: skip


def told_columns(listed: Iterable[Mapping[str, Any]]) -> list[str]:
    """The columns that people read: no faults where there are none, and not the bare ends of the place."""
    faulty = any(row["faults"] != words(()) for row in listed)
    hidden = {"m from", "m to"} | (set() if faulty else {"faults"})
    return [column for column in COLUMNS if column not in hidden]


def exactly(m: Fraction) -> str:
    """A number of bytes: ``1536``, or ``24000/7`` with six digits of what it is about."""
    return str(m) if m.denominator == 1 else f"{m} ≈ {float(m):.6g}"


def envelope(
    lines: Mapping[int, Line], low: Fraction, high: Fraction
) -> list[tuple[Fraction, int]]:
    """The least of some lines from low to high: (where it begins to be the least, its p), the first one at low."""
    here, p = low, min(lines, key=lambda p: (lines[p].at(low), lines[p].rate, p))
    pieces = [(here, p)]
    while True:
        # A line takes over only where it is flatter, and beyond the place where this one did: it was the lowest there.
        flatter = [
            ((line.fixed - lines[p].fixed) / (lines[p].rate - line.rate), line.rate, other)
            for other, line in lines.items()
            if line.rate < lines[p].rate
        ]
        if not flatter or min(flatter)[0] >= high:
            return pieces
        here, _, p = min(flatter)
        pieces.append((here, p))


def _of_pair(panel: Panel, one: Curve, other: Curve, kind: str) -> Iterator[Crossing]:
    several = max(len(one.pieces), len(other.pieces)) > 1
    yield from _changes(panel, one, other, kind, BEST if several else ONLY)
    if several:
        for p in sorted(set(one.pieces) & set(other.pieces)):
            yield from _changes(panel, one.at(p), other.at(p), kind, ONE)


class _Region(NamedTuple):
    """From low to high one and the same is ahead.

    ``apart`` is the time of the one minus that of the other amid them, ``p`` of both; ``line`` the one's time, where it is one.
    """

    low: Fraction
    high: Fraction
    apart: Fraction
    p: tuple[int, int]
    line: Line | None = None


def _changes(panel: Panel, one: Curve, other: Curve, kind: str, choice: str) -> Iterator[Crossing]:
    first, second = ({spot.message_bytes: spot for spot in curve.spots(kind)} for curve in (one, other))
    sizes = sorted(first.keys() & second.keys())
    if len(sizes) < 2:
        return
    ours, theirs = one.lines(sizes, kind), other.lines(sizes, kind)
    exact = ours is not None and theirs is not None
    if ours is not None and theirs is not None:
        regions = _regions(ours, theirs, sizes[0], sizes[-1])
    else:
        regions = _between(first, second, sizes, kind)
    for before, after in pairwise(region for region in regions if region.apart != 0):
        if (before.apart < 0) == (after.apart < 0):
            continue
        below, above = (one.label, other.label) if before.apart < 0 else (other.label, one.label)
        low, high = before.high, after.low
        how = AT if low == high else EQUAL if exact else BETWEEN
        time = before.line.at(low) if before.line is not None and how == AT else None
        question, until = tuple(panel.question.values()), before.segments if how == AT else after.segments
        yield Crossing(
            question,
            one.label,
            other.label,
            before.segments,
            until,
            low,
            high,
            how,
            below,
            above,
            kind,
            choice,
            time,
        )


def _between(
    first: Mapping[Fraction, Spot],
    second: Mapping[Fraction, Spot],
    sizes: Sequence[Fraction],
    kind: str,
) -> Iterator[_Region]:
    """Where no lines go through all m: from one m to the next, exactly where each has one p, and so one line, at both.

    What is the least of some lines at two m is the least of them between the two.
    """
    for low, high in pairwise(sizes):
        ours, theirs = (shared_line(each[low], each[high], kind) for each in (first, second))
        if ours is not None and theirs is not None:
            yield from _regions(ours, theirs, low, high)
        else:
            for m in (low, high):
                yield _Region(
                    m, m, first[m].time - second[m].time, (first[m].run.segments, second[m].run.segments)
                )


def _regions(
    ours: Mapping[int, Line], theirs: Mapping[int, Line], low: Fraction, high: Fraction
) -> Iterator[_Region]:
    """From low to high, where one and the same is ahead."""
    first, second = envelope(ours, low, high), envelope(theirs, low, high)
    for begin, end in pairwise(sorted({place for place, _ in (*first, *second)} | {high})):
        p, q = _there(first, begin), _there(second, begin)
        apart = Line(ours[p].fixed - theirs[q].fixed, ours[p].rate - theirs[q].rate)
        cuts = [begin, end]
        if apart.at(begin) * apart.at(end) < 0:
            cuts.insert(1, -apart.fixed / apart.rate)
        for left, right in pairwise(cuts):
            yield _Region(left, right, apart.at((left + right) / 2), (p, q), ours[p])


def _there(pieces: Sequence[tuple[Fraction, int]], m: Fraction) -> int:
    """Which p is the least from m on."""
    return next(p for begin, p in reversed(pieces) if begin <= m)
