"""The part of a topology that an answer names: its nodes, the links that it speaks of, and faintly the others among them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from starcast.choices import Layout
from starcast.drawing import svg as parts
from starcast.drawing.placing import Placed, by_levels, in_ring
from starcast.drawing.strokes import Stroke, stroke
from starcast.drawing.svg import BOX_HEIGHT, LEVELS, MARGIN, READABLE, Place
from starcast.errors import InputError, LimitError
from starcast.support.text import pluralize
from starcast.topologies import Topology

_HEAD, _LEGEND = 74.0, 22.0  # title and two lines; the legend below them
_WIDEST = 5.0  # pixels of a link that many rows speak of
_ASIDE = 9.0  # how far two links between the same nodes bend away from each other


class Link(NamedTuple):
    """A link from one rank to another, over that port of the first; ``arrow`` where the direction means something."""

    sender: int
    port: int
    receiver: int
    arrow: bool = True


@dataclass(frozen=True)
class Picture:
    """What is to be drawn.

    Attributes:
        topology: where the nodes are.
        title: what is seen.
        words: a line below the title.
        nodes: ranks, each once, in the order in which they were named.
        links: how often each is named; both their nodes are among ``nodes`` or the source.
        source: the node that all is seen from, if there is one; it is drawn even if it is none of ``nodes``.
    """

    topology: Topology
    title: str
    words: str
    nodes: tuple[int, ...]
    links: Mapping[Link, int]
    source: int | None = None

    @cached_property
    def drawn(self) -> tuple[int, ...]:
        """All nodes of the picture."""
        return tuple(dict.fromkeys([*([] if self.source is None else [self.source]), *self.nodes]))

    @cached_property
    def others(self) -> tuple[Link, ...]:
        """The links of the topology among the nodes that are not named, each once, from the lower rank."""
        ranks = np.array(self.drawn)
        named = {frozenset((link.sender, link.receiver)) for link in self.links}
        found: list[Link] = []
        for port in self.topology.ports:
            across = self.topology.neighbours(port, ranks)
            inside = np.isin(across, ranks) & (ranks < across)
            found += (
                Link(int(one), port, int(other), arrow=False)
                for one, other in zip(ranks[inside], across[inside], strict=True)
            )
        return tuple(link for link in found if frozenset((link.sender, link.receiver)) not in named)


def sketch(picture: Picture, layout: Layout | None = None) -> str:
    """A picture as an SVG document.

    Args:
        picture: what is drawn.
        layout: by levels, which are the distances from the source, or in a ring; None is levels where there are a source
            and links that are named, else a ring.

    Raises:
        InputError: there is nothing to draw, or levels are asked for without a source.
        LimitError: there are more than `READABLE` nodes.
    """
    _check(picture, layout)
    chosen = layout or (
        Layout.LEVELS if picture.source is not None and picture.links else Layout.RING
    )
    links = [(link.sender, link.receiver, 1.0) for link in picture.links]
    links += [(link.sender, link.receiver, 0.05) for link in picture.others]
    if chosen is Layout.LEVELS and picture.source is not None:
        distances = picture.topology.distances(picture.source)[list(picture.drawn)]
        placed = by_levels(picture.drawn, distances, links, parts.box_width(picture.topology))
    else:
        placed = in_ring(picture.nodes, picture.source, links, parts.box_width(picture.topology))
    return _composed(picture, placed)


def _check(picture: Picture, layout: Layout | None) -> None:
    if not picture.nodes:
        raise InputError(
            "the answer has no node, so there is nothing to draw",
            hint="ask for something that has an answer",
        )
    if layout is Layout.LEVELS and picture.source is None:
        raise InputError(
            "levels are counted from a node, and the question names none", hint="take --layout ring"
        )
    if len(picture.drawn) > READABLE:
        raise LimitError(
            f"the answer has {len(picture.drawn):,} nodes, and a picture can be read up to {READABLE}",
            hint="ask for less (--limit), or take another format",
        )


def _composed(picture: Picture, placed: Placed) -> str:
    """Head, links and boxes on a sheet that holds them."""
    lines = (picture.words, _summary(picture, placed))
    ports = {link.port for link in (*picture.links, *picture.others)}
    column = LEVELS if placed.rows else 0.0
    inside = max(
        column + placed.width, parts.head_width(picture.title, *lines), parts.legend_width(ports)
    )
    left, top = (
        MARGIN + column + (inside - column - placed.width) / 2,
        MARGIN + _HEAD + (_LEGEND if ports else 0),
    )
    width = inside + 2 * MARGIN
    svg = parts.document(picture.title, width, top + placed.height + MARGIN)
    parts.head(svg, picture.title, *lines)
    if ports:
        parts.legend(svg, picture.topology, ports, MARGIN + _HEAD)
    parts.rows(svg, {top + y: level for y, level in placed.rows.items()}, width)
    places = {node: Place(left + x, top + y) for node, (x, y) in placed.places.items()}
    labels = dict(zip(places, picture.topology.labels(list(places)).tolist(), strict=True))
    for link, how in _strokes(picture, labels, placed):
        stroke(
            svg, places[link.sender], places[link.receiver], parts.box_width(picture.topology), how
        )
    for node, place in places.items():
        parts.box(
            svg, place, labels[node], dark=node == picture.source, faint=node not in picture.nodes
        )
    return parts.text_of(svg)


def _summary(picture: Picture, placed: Placed) -> str:
    words = [pluralize(len(picture.drawn), "node")]
    if picture.links:
        words.append(pluralize(len(picture.links), "link"))
    if any(times > 1 for times in picture.links.values()):
        words.append("wider: in several rows")
    if picture.others:
        words.append(
            f"{'faint: ' if picture.links else ''}{pluralize(len(picture.others), 'link')} between them"
        )
    if placed.rows and picture.source is not None:
        words.append(f"levels: distance from {picture.topology.label(picture.source)}")
    return ", ".join(words)


def _strokes(
    picture: Picture, labels: Mapping[int, str], placed: Placed
) -> Iterator[tuple[Link, Stroke]]:
    """The faint links first, so that the others lie above them; where none is named, no link is faint."""
    for link in picture.others:
        colour, dashes = parts.style(picture.topology, link.port)
        words = f"{labels[link.sender]} -{link.port}- {labels[link.receiver]}"
        width, opacity = (1.0, 0.3) if picture.links else (1.5, 1.0)
        yield (
            link,
            Stroke(
                words,
                colour,
                dashes,
                width,
                bend=_bend(link, placed, turned=False),
                opacity=opacity,
            ),
        )
    both = {(link.receiver, link.sender) for link in picture.links}
    for link, times in picture.links.items():
        colour, dashes = parts.style(picture.topology, link.port)
        sign = "->" if link.arrow else "-"
        words = f"{labels[link.sender]} -{link.port}{sign} {labels[link.receiver]}" + (
            f", {times} times" if times > 1 else ""
        )
        bend = _bend(link, placed, turned=(link.sender, link.receiver) in both)
        yield link, Stroke(words, colour, dashes, min(1.2 + 0.8 * times, _WIDEST), link.arrow, bend)


def _bend(link: Link, placed: Placed, *, turned: bool) -> float:
    """Two links between the same nodes lie beside each other, and one along a level beside the boxes there."""
    start, end = placed.places[link.sender], placed.places[link.receiver]
    if placed.rows and start.y == end.y:
        away = BOX_HEIGHT + 0.12 * abs(end.x - start.x)
        return away if (end.x > start.x) != turned else -away
    return _ASIDE if turned else 0.0
