"""Pictures of the nodes and links in a query result.

Links between these nodes that the result does not contain are drawn faintly.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import cos, pi, sin
from typing import NamedTuple

import numpy as np

from starcast.drawing.layouts import arrange, order_ring
from starcast.drawing.scene import (
    BOX_HEIGHT,
    GAP,
    READABLE,
    Node,
    Panel,
    Scene,
    Stroke,
    box_width,
    join,
    label_box,
    row_heights,
    style,
)
from starcast.drawing.svg import render
from starcast.support.errors import InputError, LimitError
from starcast.support.text import pluralize
from starcast.support.vocabulary import Layout
from starcast.topologies import Topology

_SMALLEST_RING, _FLATTEST = 90.0, 0.62
#: Length of the visible part of a link between successive nodes of a ring, in pixels.
_LINK = 26.0
#: Largest width of a stroke in pixels, for links that occur in many rows.
_WIDEST = 5.0
#: Distance in pixels by which each of two opposite links between the same nodes is bent.
_ASIDE = 9.0


class Link(NamedTuple):
    """A link from a sender to a receiver, given by ranks.

    The direction is drawn as an arrowhead if ``arrow`` is True.
    """

    sender: int
    port: int
    receiver: int
    arrow: bool = True


@dataclass(frozen=True)
class Subgraph:
    """Nodes and links from the rows of a query result, to be drawn.

    Attributes:
        topology: the topology of the nodes.
        subtitle: a line below the title.
        nodes: ranks without repetition, in the order in which they occur in the rows.
        links: the number of rows in which each link occurs; each end is in ``nodes`` or is the
            source.
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
        """The ranks of all nodes in the picture, the source first."""
        first = () if self.source is None else (self.source,)
        return tuple(dict.fromkeys([*first, *self.nodes]))

    @cached_property
    def others(self) -> tuple[Link, ...]:
        """The links between drawn nodes that occur in no row; each begins at its lower rank."""
        ranks = np.array(self.drawn)
        named = {frozenset((link.sender, link.receiver)) for link in self.links}
        links: list[Link] = []
        for port in self.topology.ports:
            neighbours = self.topology.neighbours(port, ranks)
            inside = np.isin(neighbours, ranks) & (ranks < neighbours)
            ends = zip(ranks[inside].tolist(), neighbours[inside].tolist(), strict=True)
            links += (Link(sender, port, receiver, arrow=False) for sender, receiver in ends)
        return tuple(link for link in links if frozenset((link.sender, link.receiver)) not in named)


def draw_subgraph(subgraph: Subgraph, layout: Layout | None = None) -> str:
    """Return a subgraph as an SVG document.

    Args:
        subgraph: the nodes and links to draw.
        layout: ``levels`` (by distance from the source) or ``ring``. The default is levels if the
            subgraph has a source and links, else a ring.

    Raises:
        InputError: there are no nodes, or the layout is levels but there is no source.
        LimitError: there are more than `READABLE` nodes.
    """
    _check(subgraph, layout)
    by_levels = subgraph.source is not None and bool(subgraph.links)
    chosen = layout or (Layout.LEVELS if by_levels else Layout.RING)
    if chosen is Layout.LEVELS and subgraph.source is not None:
        centers, size, levels = _place_on_levels(subgraph, subgraph.source)
    else:
        (centers, size), levels = _place_in_ring(subgraph), {}
    topology = subgraph.topology
    labels = dict(zip(centers, topology.labels(list(centers)).tolist(), strict=True))
    boxes = {
        node: label_box(
            center,
            labels[node],
            is_root=node == subgraph.source,
            is_minor=node not in subgraph.nodes,
        )
        for node, center in centers.items()
    }
    strokes = list(_strokes(subgraph, boxes, by_levels=bool(levels)))
    panel = Panel(strokes, list(boxes.values()), size.real, size.imag, levels=levels)
    lines = (subgraph.subtitle, _summarize(subgraph, by_levels=bool(levels)))
    ports = {link.port for link in (*subgraph.links, *subgraph.others)}
    return render(Scene(topology, subgraph.title, lines, [panel], ports))


def _check(subgraph: Subgraph, layout: Layout | None) -> None:
    if not subgraph.nodes:
        raise InputError(
            "the result has no nodes, so there is nothing to draw",
            hint="choose parameters for which the query has a result",
        )
    if layout is Layout.LEVELS and subgraph.source is None:
        raise InputError(
            "the layout levels needs a node to count from, but the query names none",
            hint="use --layout ring",
        )
    if len(subgraph.drawn) > READABLE:
        raise LimitError(
            f"the result has {len(subgraph.drawn):,} nodes, but a drawing is readable only up to "
            f"{READABLE} nodes",
            hint="ask for fewer rows (--limit), or use another format",
        )


def _place_on_levels(
    subgraph: Subgraph, source: int
) -> tuple[dict[int, complex], complex, dict[float, int]]:
    """Place boxes on levels from top to bottom.

    Nodes are placed near their neighbours on other levels. Nodes joined by a link of the result are
    placed closer together than nodes joined by another link.

    Returns:
        The centers of the boxes by node, the size of the area, and the level numbers by height.
    """
    index = {node: number for number, node in enumerate(subgraph.drawn)}
    level = subgraph.topology.distances(source)[list(index)]
    weight = np.zeros((len(index), len(index)))
    for links, strength in ((subgraph.links, 1.0), (subgraph.others, 0.05)):
        for link in links:
            first, second = index[link.sender], index[link.receiver]
            # Links within a level are ignored, because they would only add crossings.
            if level[first] != level[second]:
                weight[first, second] = weight[second, first] = strength
    box = box_width(subgraph.topology.label(0))
    x = arrange(level, weight) * (box + GAP) + box / 2
    numbers = np.unique(level).tolist()
    reach = np.where(weight > 0, np.abs(x[:, None] - x), 0)
    heights = row_heights([float(reach[level == number].max()) for number in numbers[1:]])
    row = dict(zip(numbers, heights, strict=True))
    centers = {node: complex(x[i], row[int(level[i])]) for node, i in index.items()}
    size = complex(x.max() + box / 2, heights[-1] + BOX_HEIGHT / 2)
    return centers, size, dict(zip(heights, numbers, strict=True))


def _place_in_ring(subgraph: Subgraph) -> tuple[dict[int, complex], complex]:
    """Place boxes on an ellipse, clockwise from the top; return their centers and the area's size.

    The source is at the top, or at the centre if it is not one of ``nodes``.
    """
    nodes, source = subgraph.nodes, subgraph.source
    index = {node: number for number, node in enumerate(nodes)}
    adjacent: list[list[int]] = [[] for _ in nodes]
    for link in (*subgraph.links, *subgraph.others):
        if link.sender in index and link.receiver in index:
            adjacent[index[link.sender]].append(index[link.receiver])
            adjacent[index[link.receiver]].append(index[link.sender])
    start = 0 if source is None else index.get(source, 0)
    order = [nodes[number] for number in order_ring(adjacent, start)]
    # Boxes are wider than high, so the ellipse needs more space horizontally than vertically.
    box = box_width(subgraph.topology.label(0))
    across = max(len(nodes) * (box + _LINK) / (2 * pi), _SMALLEST_RING)
    down = max(len(nodes) * (BOX_HEIGHT + _LINK) / (2 * pi), _SMALLEST_RING, _FLATTEST * across)
    middle = complex(across + box / 2, down + BOX_HEIGHT / 2)
    centers = {} if source is None else {source: middle}
    for number, node in enumerate(order):
        angle = 2 * pi * number / len(order)
        centers[node] = middle + complex(across * sin(angle), -down * cos(angle))
    return centers, 2 * middle


def _summarize(subgraph: Subgraph, *, by_levels: bool) -> str:
    words = [pluralize(len(subgraph.drawn), "node")]
    if subgraph.links:
        words.append(pluralize(len(subgraph.links), "link"))
    if any(times > 1 for times in subgraph.links.values()):
        words.append("wider: in several rows")
    if subgraph.others:
        faint = "faint: " if subgraph.links else ""
        words.append(f"{faint}{pluralize(len(subgraph.others), 'link')} between them")
    if by_levels and subgraph.source is not None:
        words.append(f"levels: distance from {subgraph.topology.label(subgraph.source)}")
    return ", ".join(words)


def _strokes(subgraph: Subgraph, boxes: Mapping[int, Node], *, by_levels: bool) -> Iterator[Stroke]:
    """Yield the strokes of the links, beginning with the faint links, which are painted below.

    The faint links are those that occur in no row of the result. If the rows contain no links at
    all, all links are drawn normally.
    """
    faint_width, opacity = (1.0, 0.3) if subgraph.links else (1.5, 1.0)
    opposite = {(link.receiver, link.sender) for link in subgraph.links}
    for link in (*subgraph.others, *subgraph.links):
        times = subgraph.links.get(link, 0)
        start, end = boxes[link.sender], boxes[link.receiver]
        colour, dashes = style(subgraph.topology, link.port)
        title = f"{start.label} -{link.port}{'->' if link.arrow else '-'} {end.label}"
        is_turned = (link.sender, link.receiver) in opposite
        # Straight strokes for the two directions of a link would cover each other.
        bend = _ASIDE if is_turned else 0.0
        if by_levels and start.center.imag == end.center.imag:
            # A straight link between nodes of the same level would cross the boxes in between.
            along = end.center.real - start.center.real
            bend = BOX_HEIGHT + 0.12 * abs(along)
            bend = bend if (along > 0) != is_turned else -bend
        curves = [join(start, end, bend)]
        if times:
            title += f", {times} times" if times > 1 else ""
            width = min(1.2 + 0.8 * times, _WIDEST)
            yield Stroke(curves, colour, width, title, link.arrow, dashes)
        else:
            yield Stroke(curves, colour, faint_width, title, False, dashes, opacity)
