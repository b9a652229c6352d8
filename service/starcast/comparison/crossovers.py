"""Crossovers: message sizes at which the better of two algorithms changes.

With a fixed number of segments, the time is a linear function of the message size m, so the
crossover of two algorithms is computed exactly, in rational numbers. The minimum time over several
numbers of segments is the lower envelope of the lines for these numbers, and the crossovers of such
envelopes are exact as well. If the stored times are not on such lines (for example if a different
number of segments was run for each m), the crossover is only known to lie between two stored
message sizes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, pairwise
from typing import Any, NamedTuple

from starcast.comparison.compare import Comparison
from starcast.comparison.curves import (
    AXES,
    Curve,
    Line,
    Panel,
    Spot,
    describe,
    panels,
    shared_line,
)
from starcast.comparison.matching import as_text
from starcast.support.text import format_value

#: The kinds of cost for which crossovers are computed, and the text for a crossover of both kinds.
KINDS = ("simulated", "closed form")
BOTH = " and ".join(KINDS)

#: The values of `Crossing.how`, the kind of a crossover.
AT, BETWEEN, EQUAL = "at", "between", "equal from"
#: The values of `Crossing.choice`, which describes the compared numbers of segments.
BEST, ONE, ONLY = "best", "one", "only"

#: For each column of `crossover_rows` except `AXES`, the attribute of `Crossing` in this column.
_SHOWN = {
    "first": "first", "second": "second", "segments": "segments_text", "message_bytes": "place",
    "message_bytes_from": "low", "message_bytes_to": "high", "better_below": "below",
    "better_above": "above", "figures": "figures",
}  # fmt: skip
#: The columns of `crossover_rows`.
COLUMNS = (*AXES, *_SHOWN)


@dataclass(frozen=True)
class Crossing:
    """A crossover of two curves: the message size or sizes at which the faster curve changes.

    Attributes:
        question: the problem that both curves solve, as values on the axes in `AXES`.
        first, second: the labels of the curves.
        segments: the curves' numbers of segments at the crossover; for a range, at ``low``.
        segments_until: the curves' numbers of segments at ``high``.
        low, high: the range of message sizes in bytes; equal if the crossover is exact.
        how: the kind of crossover. `AT`: the curves cross exactly at ``low``. `BETWEEN`: the curves
            cross somewhere between ``low`` and ``high``. `EQUAL`: the curves are equal from ``low``
            to ``high``.
        below, above: the label of the better curve for messages smaller than ``low``, and for
            messages larger than ``high``.
        figures: the kind of cost: simulated times, closed forms, or `BOTH`.
        choice: the numbers of segments that are compared. `BEST`: the best stored number at every
            message size. `ONE`: one of several stored numbers. `ONLY`: the only stored number.
        time: the time of both curves at an exact crossover; None for other kinds.
    """

    question: tuple[Any, ...]
    first: str
    second: str
    segments: tuple[int, int]
    segments_until: tuple[int, int]
    low: Fraction
    high: Fraction
    how: str
    below: str
    above: str
    figures: str
    choice: str
    time: Fraction | None = field(default=None, compare=False)

    @property
    def segments_text(self) -> str:
        """The segments of both curves as text, such as ``16 | 4`` or ``best 2 | 6 to 3 | 7``."""
        ends = dict.fromkeys(
            str(first) if first == second else f"{first} | {second}"
            for first, second in (self.segments, self.segments_until)
        )
        text = " to ".join(ends)
        return f"best {text}" if self.choice == BEST else text

    @property
    def place(self) -> str:
        """The message size of the crossover, or the range of message sizes, as text."""
        if self.how == AT:
            return exact_text(self.low)
        joint = "and" if self.how == BETWEEN else "to"
        return f"{self.how} {exact_text(self.low)} {joint} {exact_text(self.high)}"

    @property
    def change(self) -> str:
        """The message size, the better curves below and above it, and the segments, as text."""
        at = "at message_bytes =" if self.how == AT else "with message_bytes"
        better = f"{self.below} is better below, {self.above} above"
        return f"{at} {self.place}: {better} (segments: {self.segments_text})"

    def __str__(self) -> str:
        return f"{self.change}; {describe(dict(zip(AXES, self.question, strict=True)))}"


def find_crossovers(panel: Panel) -> list[Crossing]:
    """Return all crossovers of a panel's curves within the range of stored message sizes.

    Each pair of curves is compared in two ways: with each curve at its best number of segments,
    and at every number of segments that both curves have.
    """
    # A crossover of both simulated times and closed forms is listed once.
    merged: dict[Crossing, list[str]] = {}
    for pair in combinations(panel.curves, 2):
        for kind in KINDS:
            for crossing in _crossings_of_pair(panel, *pair, kind):
                merged.setdefault(replace(crossing, figures=""), []).append(crossing.figures)
    return [replace(crossing, figures=" and ".join(kinds)) for crossing, kinds in merged.items()]


def all_crossovers(comparison: Comparison) -> list[Crossing]:
    """Return all crossovers of a comparison, panel by panel."""
    return [crossing for panel in panels(comparison) for crossing in find_crossovers(panel)]


def best_crossovers(crossings: Iterable[Crossing]) -> list[Crossing]:
    """Select the crossovers of simulated times, with each curve at its best number of segments.

    The result is sorted by panel and message size.
    """
    best = [
        crossing
        for crossing in crossings
        if crossing.choice != ONE and KINDS[0] in crossing.figures
    ]
    order: dict[tuple[Any, ...], int] = {}
    for crossing in best:
        order.setdefault(crossing.question, len(order))
    return sorted(best, key=lambda each: (order[each.question], each.low, each.high))


def crossover_rows(crossings: Iterable[Crossing]) -> list[dict[str, Any]]:
    """Convert crossovers to table rows with the columns listed in `COLUMNS`."""
    rows = []
    for crossing in crossings:
        row = dict(zip(AXES, crossing.question, strict=True))
        row["faults"] = as_text(row["faults"])
        rows.append(row | {column: getattr(crossing, name) for column, name in _SHOWN.items()})
    return rows


def table_columns(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the columns of `COLUMNS` to display in a table of crossovers.

    The columns for the ends of ranges are omitted. The columns of faults and roots are omitted if
    they have only default values.
    """
    hidden = {"message_bytes_from", "message_bytes_to"}
    listed = list(rows)
    hidden |= {
        axis
        for axis, usual in (("faults", ()), ("root", None))
        if all(row[axis] in (usual, as_text(usual)) for row in listed)
    }
    return [column for column in COLUMNS if column not in hidden]


def exact_text(m: Fraction) -> str:
    """Return a number of bytes as text; a fraction is followed by its approximate value."""
    return str(m) if m.denominator == 1 else f"{m} ≈ {format_value(float(m))}"


def lower_envelope(
    lines: Mapping[int, Line], low: Fraction, high: Fraction
) -> list[tuple[Fraction, int]]:
    """Return the lower envelope of lines (time against message size) from ``low`` to ``high``.

    Returns:
        Pairs (message size, number of segments). The line for this number of segments is the lowest
        line from this message size up to the size in the next pair or, in the last pair, to
        ``high``.
    """
    segments = min(lines, key=lambda p: (lines[p].at(low), lines[p].rate, p))
    pieces = [(low, segments)]
    while True:
        # The current line is the lowest at its starting point, so only a flatter line can become
        # lower, and only to the right of this point.
        current = lines[segments]
        flatter = [
            ((line.fixed - current.fixed) / (current.rate - line.rate), line.rate, other)
            for other, line in lines.items()
            if line.rate < current.rate
        ]
        if not flatter or min(flatter)[0] >= high:
            return pieces
        start, _, segments = min(flatter)
        pieces.append((start, segments))


def _crossings_of_pair(panel: Panel, first: Curve, second: Curve, kind: str) -> Iterator[Crossing]:
    several = max(len(first.segments), len(second.segments)) > 1
    yield from _crossings(panel, first, second, kind, BEST if several else ONLY)
    if several:
        for segments in sorted(set(first.segments) & set(second.segments)):
            yield from _crossings(panel, first.at(segments), second.at(segments), kind, ONE)


class _Region(NamedTuple):
    """A range of message sizes in which one curve is better throughout, or both are equal.

    Attributes:
        low, high: the ends of the range.
        difference: the time of the first curve minus the time of the second curve, in the middle of
            the range.
        segments: the numbers of segments of both curves.
        line: the line of the first curve in the range; None if the range is a single stored size.
    """

    low: Fraction
    high: Fraction
    difference: Fraction
    segments: tuple[int, int]
    line: Line | None = None


def _crossings(
    panel: Panel, first: Curve, second: Curve, kind: str, choice: str
) -> Iterator[Crossing]:
    first_spots = {spot.message_bytes: spot for spot in first.spots(kind)}
    second_spots = {spot.message_bytes: spot for spot in second.spots(kind)}
    sizes = sorted(first_spots.keys() & second_spots.keys())
    # A crossover lies between two message sizes that both curves have.
    if len(sizes) < 2:
        return
    ours, theirs = first.lines(sizes, kind), second.lines(sizes, kind)
    if ours is not None and theirs is not None:
        regions = _line_regions(ours, theirs, sizes[0], sizes[-1])
        how_in_range = EQUAL
    else:
        regions = _spot_regions(first_spots, second_spots, sizes, kind)
        how_in_range = BETWEEN
    # Regions in which both times are equal are skipped, because the better curve changes between
    # the regions before and after them.
    for before, after in pairwise(region for region in regions if region.difference != 0):
        if (before.difference < 0) == (after.difference < 0):
            continue
        labels = (first.label, second.label)
        below, above = labels if before.difference < 0 else labels[::-1]
        low, high = before.high, after.low
        how = AT if low == high else how_in_range
        time = None
        if how == AT and before.line is not None:
            time = before.line.at(low)
        yield Crossing(
            tuple(panel.question.values()),
            first.label,
            second.label,
            before.segments,
            before.segments if how == AT else after.segments,
            low,
            high,
            how,
            below,
            above,
            kind,
            choice,
            time,
        )


def _spot_regions(
    first: Mapping[Fraction, Spot],
    second: Mapping[Fraction, Spot],
    sizes: Sequence[Fraction],
    kind: str,
) -> Iterator[_Region]:
    """Yield the regions of two curves if `Curve.lines` is None for at least one of them.

    Each range between two neighbouring sizes is treated separately. If a curve has the same number
    of segments at both sizes, the curve is linear in this range, because a line that is the lowest
    at both ends is the lowest in between. If both curves are linear, the regions are exact.
    """
    for low, high in pairwise(sizes):
        ours = shared_line(first[low], first[high], kind)
        theirs = shared_line(second[low], second[high], kind)
        if ours is not None and theirs is not None:
            yield from _line_regions(ours, theirs, low, high)
            continue
        # The times between the two sizes are unknown, so each size is a region of its own.
        for m in (low, high):
            segments = (first[m].run.segments, second[m].run.segments)
            yield _Region(m, m, first[m].time - second[m].time, segments)


def _line_regions(
    ours: Mapping[int, Line], theirs: Mapping[int, Line], low: Fraction, high: Fraction
) -> Iterator[_Region]:
    """Divide the message sizes from ``low`` to ``high`` into regions, and yield the regions.

    In a region, one curve is better throughout, or both are equal. ``ours`` and ``theirs`` are the
    lines of the two curves, by number of segments.
    """
    first, second = lower_envelope(ours, low, high), lower_envelope(theirs, low, high)
    starts = {start for start, _ in (*first, *second)}
    for begin, end in pairwise(sorted(starts | {high})):
        p, q = _segments_at(first, begin), _segments_at(second, begin)
        difference = Line(ours[p].fixed - theirs[q].fixed, ours[p].rate - theirs[q].rate)
        cuts = [begin, end]
        if difference.at(begin) * difference.at(end) < 0:
            cuts.insert(1, -difference.fixed / difference.rate)
        for left, right in pairwise(cuts):
            middle = difference.at((left + right) / 2)
            yield _Region(left, right, middle, (p, q), ours[p])


def _segments_at(envelope: Sequence[tuple[Fraction, int]], m: Fraction) -> int:
    """Return the number of segments whose line is the lowest at and just above message size m.

    ``envelope`` is a result of `lower_envelope`.
    """
    return next(segments for start, segments in reversed(envelope) if start <= m)
