"""The part of a topology that a query result names: its nodes and links, and faintly all others."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from starcast.drawing import svg as parts
from starcast.drawing.placement import Placement, place_by_levels, place_in_ring
from starcast.drawing.strokes import Stroke, draw_stroke
from starcast.drawing.svg import BOX_HEIGHT, LEVELS, MARGIN, READABLE, Place
from starcast.errors import InputError, LimitError
from starcast.support.text import pluralize
from starcast.support.vocabulary import Layout
from starcast.topologies import Topology

_HEAD, _LEGEND = 74.0, 22.0  # title and two lines; the legend below them
_WIDEST = 5.0  # pixels of a link that many rows name
_ASIDE = 9.0  # how far two links between the same nodes bend away from each other


class Link(NamedTuple):
    """A link between two ranks, over a port of the sender; ``arrow`` if it has a direction."""

    sender: int
    port: int
    receiver: int
    arrow: bool = True


@dataclass(frozen=True)
class Picture:
    """The content of a picture.

    Attributes:
        topology: the topology of the nodes.
        title: the title.
        subtitle: a line below the title.
        nodes: ranks, each once, in the order in which they were named.
        links: how many rows name each link; its nodes are among ``nodes`` or the source.
        source: the node from which levels are counted, if any; it is always drawn.
    """

    topology: Topology
    title: str
    subtitle: str
    nodes: tuple[int, ...]
    links: Mapping[Link, int]
    source: int | None = None

    @cached_property
    def drawn(self) -> tuple[int, ...]:
        """All nodes of the picture."""
        first = () if self.source is None else (self.source,)
        return tuple(dict.fromkeys([*first, *self.nodes]))

    @cached_property
    def others(self) -> tuple[Link, ...]:
        """The links among the nodes that are not named, each once, from the lower rank."""
        ranks = np.array(self.drawn)
        named = {frozenset((link.sender, link.receiver)) for link in self.links}
        links: list[Link] = []
        for port in self.topology.ports:
            neighbours = self.topology.neighbours(port, ranks)
            inside = np.isin(neighbours, ranks) & (ranks < neighbours)
            ends = zip(ranks[inside].tolist(), neighbours[inside].tolist(), strict=True)
            links += (Link(sender, port, receiver, arrow=False) for sender, receiver in ends)
        return tuple(link for link in links if frozenset((link.sender, link.receiver)) not in named)


def sketch(picture: Picture, layout: Layout | None = None) -> str:
    """Return a picture as an SVG document.

    Args:
        picture: its content.
        layout: ``levels``, by distance from the source, or ``ring``; by default levels if there
            are a source and named links, else a ring.

    Raises:
        InputError: there are no nodes, or levels are asked for without a source.
        LimitError: there are more than `READABLE` nodes.
    """
    _check(picture, layout)
    by_levels = picture.source is not None and bool(picture.links)
    chosen = layout or (Layout.LEVELS if by_levels else Layout.RING)
    links = [(link.sender, link.receiver, 1.0) for link in picture.links]
    links += [(link.sender, link.receiver, 0.05) for link in picture.others]
    box = parts.box_width(picture.topology)
    if chosen is Layout.LEVELS and picture.source is not None:
        distances = picture.topology.distances(picture.source)[list(picture.drawn)]
        placement = place_by_levels(picture.drawn, distances, links, box)
    else:
        placement = place_in_ring(picture.nodes, picture.source, links, box)
    return compose(picture, placement)


def _check(picture: Picture, layout: Layout | None) -> None:
    if not picture.nodes:
        raise InputError(
            "the result has no nodes, so there is nothing to draw",
            hint="choose parameters for which the query has a result",
        )
    if layout is Layout.LEVELS and picture.source is None:
        raise InputError(
            "levels are counted from a node, and the query names none", hint="use --layout ring"
        )
    if len(picture.drawn) > READABLE:
        raise LimitError(
            f"the result has {len(picture.drawn):,} nodes, and a picture is readable up to "
            f"{READABLE}",
            hint="ask for fewer rows (--limit), or use another format",
        )


def compose(picture: Picture, placement: Placement) -> str:
    """Return a document with head, legend, links and boxes, the nodes at given places."""
    lines = (picture.subtitle, _summary(picture, placement))
    ports = {link.port for link in (*picture.links, *picture.others)}
    column = LEVELS if placement.rows else 0.0
    inside = max(
        column + placement.width, parts.head_width(picture.title, *lines), parts.legend_width(ports)
    )
    left = MARGIN + column + (inside - column - placement.width) / 2
    top = MARGIN + _HEAD + (_LEGEND if ports else 0)
    width = inside + 2 * MARGIN
    svg = parts.document(picture.title, width, top + placement.height + MARGIN)
    parts.head(svg, picture.title, *lines)
    if ports:
        parts.legend(svg, picture.topology, ports, MARGIN + _HEAD)
    parts.rows(svg, {top + y: level for y, level in placement.rows.items()}, width)
    places = {node: Place(left + x, top + y) for node, (x, y) in placement.places.items()}
    labels = dict(zip(places, picture.topology.labels(list(places)).tolist(), strict=True))
    box = parts.box_width(picture.topology)
    for link, stroke in _strokes(picture, labels, placement):
        draw_stroke(svg, places[link.sender], places[link.receiver], box, stroke)
    for node, place in places.items():
        parts.box(
            svg, place, labels[node], dark=node == picture.source, faint=node not in picture.nodes
        )
    return parts.text_of(svg)


def _summary(picture: Picture, placement: Placement) -> str:
    words = [pluralize(len(picture.drawn), "node")]
    if picture.links:
        words.append(pluralize(len(picture.links), "link"))
    if any(times > 1 for times in picture.links.values()):
        words.append("wider: in several rows")
    if picture.others:
        faint = "faint: " if picture.links else ""
        words.append(f"{faint}{pluralize(len(picture.others), 'link')} between them")
    if placement.rows and picture.source is not None:
        words.append(f"levels: distance from {picture.topology.label(picture.source)}")
    return ", ".join(words)


def _strokes(
    picture: Picture, labels: Mapping[int, str], placement: Placement
) -> Iterator[tuple[Link, Stroke]]:
    """Iterate over the links with their strokes; the faint links first, below the others.

    No link is faint if none is named.
    """
    width, opacity = (1.0, 0.3) if picture.links else (1.5, 1.0)
    for link in picture.others:
        colour, dashes = parts.style(picture.topology, link.port)
        title = f"{labels[link.sender]} -{link.port}- {labels[link.receiver]}"
        bend = _bend(link, placement, turned=False)
        yield link, Stroke(title, colour, dashes, width, bend=bend, opacity=opacity)
    opposite = {(link.receiver, link.sender) for link in picture.links}
    for link, times in picture.links.items():
        colour, dashes = parts.style(picture.topology, link.port)
        sign = "->" if link.arrow else "-"
        title = f"{labels[link.sender]} -{link.port}{sign} {labels[link.receiver]}"
        if times > 1:
            title += f", {times} times"
        width = min(1.2 + 0.8 * times, _WIDEST)
        bend = _bend(link, placement, turned=(link.sender, link.receiver) in opposite)
        yield link, Stroke(title, colour, dashes, width, link.arrow, bend)


def _bend(link: Link, placement: Placement, *, turned: bool) -> float:
    """Return the bend that separates a link from its opposite, and from boxes on its level."""
    start, end = placement.places[link.sender], placement.places[link.receiver]
    if placement.rows and start.y == end.y:
        away = BOX_HEIGHT + 0.12 * abs(end.x - start.x)
        return away if (end.x > start.x) != turned else -away
    return _ASIDE if turned else placement.bends.get((link.sender, link.receiver), 0.0)
