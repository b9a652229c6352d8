"""Draw a topology in one of its layouts, or the nodes and links in a query result.

A drawing of a topology has one panel, or panels side by side; a node has the same position in all
panels and in the explorer. A drawing of a query result shows all links between the nodes of the
result. Links that are not in the result are faint, unless the result contains no links.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import cos, log2, pi, sin
from typing import NamedTuple

import numpy as np

from starcast.drawing.layouts import (
    DESCRIPTIONS,
    arrange,
    choose_layout,
    find_periods,
    layout,
    nearest_distance,
    order_ring,
)
from starcast.drawing.scene import (
    ACCENT,
    BOX_HEIGHT,
    CHARACTER,
    FAINT,
    GAP,
    INK,
    LINE,
    READABLE,
    Node,
    Panel,
    Scene,
    Stroke,
    StrokeCurve,
    box_width,
    join,
    label_box,
    render,
    row_heights,
    shape_of,
    style,
)
from starcast.support.errors import InputError, LimitError
from starcast.support.text import pluralize
from starcast.support.vocabulary import Layout
from starcast.topologies import Topology
from starcast.topologies.base import degree_text

#: Maximum number of nodes in one panel, and maximum number in all panels together.
MAX_NODES, MAX_DRAWN = 5_040, 20_000
#: Maximum number of panels.
MAX_PANELS = 64

#: Length of the visible part of the shortest link between two boxes, in pixels.
_LINK = 36.0
#: Maximum width of a link, in pixels.
_WIDEST_LINK = 6.0
#: Width in pixels of each panel if there are several panels, and of a single panel.
_PANEL, _WIDEST = 224.0, 1_000.0
#: A link is bent if its distance to another node is less than `_NEAR` times the smallest distance
#: between two nodes. The bend is `_BEND` times the smallest distance plus `_SLACK` times the link's
#: length.
_NEAR, _BEND, _SLACK = 0.25, 0.5, 0.12
#: Maximum number of nodes for which links are bent around other nodes.
_MAX_BENT = 200
#: Fraction of a link's length that is drawn at each end if the link crosses the torus border.
_CUT = 0.6


class Frame:
    """The nodes of a topology, placed by a layout, for drawing panels of equal size.

    Args:
        topology: the topology.
        name: the layout; by default the topology's first layout.
        panels: number of panels; a single panel is larger, and has labels if the topology has at
            most `READABLE` nodes and the layout is not ``quotient``.
        root: the node from which the layout `levels` measures distances.

    Raises:
        InputError: the topology does not have this layout.
        LimitError: there are too many panels, or too many nodes in the panels.
    """

    def __init__(self, topology: Topology, name: str | None, panels: int, root: int = 0) -> None:
        check_size(topology, panels)
        self.topology = topology
        self.layout = choose_layout(topology, name)
        self.labels = topology.labels().tolist()
        points = layout(topology, self.layout, root).astype(np.float64) @ np.array([1, 1j])
        gap = nearest_distance(points)
        extent = complex(np.ptp(points.real), np.ptp(points.imag))
        box = complex(box_width(max(self.labels, key=len)), BOX_HEIGHT)
        # In a quotient, several nodes have the same position, so boxes would cover each other.
        has_boxes = panels == 1 and topology.nodes <= READABLE and self.layout != "quotient"
        if has_boxes:
            scale = (box.real + _LINK) / gap
        else:
            scale = (_PANEL if panels > 1 else _WIDEST) / max(extent.real, extent.imag, gap)
        self._periods = find_periods(topology, self.layout) @ np.array([1, 1j]) * scale
        border = box / 2 if has_boxes else 8 + 8j
        if self._periods.size:
            # Links that cross the border of the torus extend beyond the outermost nodes.
            border += _CUT * scale * (1 + 1j)
        corner = complex(points.real.min(), points.imag.min())
        self._points = (points - corner) * scale + border
        self._size = extent * scale + 2 * border
        self._gap = gap * scale
        self._radius = 0.0 if has_boxes else min(max(0.28 * self._gap, 0.8), 6.0)
        self._nodes = [
            self._node(center, label)._replace(shape=shape_of(topology, rank))
            for rank, (center, label) in enumerate(
                zip(self._points.tolist(), self.labels, strict=True)
            )
        ]
        self._middle = self._size / 2
        self._extend()

    def _extend(self) -> None:
        """Extend the frame to contain links that are bent around the outermost nodes."""
        curves = [curve for stroke in self.coloured_links() for curve in stroke.curves]
        farthest = [np.dot([1, 2, 1], curve) / 4 for curve in curves if len(curve) == 3]
        points = np.array([0, self._size, *farthest])
        corner = complex(points.real.min(), points.imag.min())
        self._size = complex(points.real.max(), points.imag.max()) - corner
        self._middle -= corner
        self._points -= corner
        self._nodes = [node._replace(center=node.center - corner) for node in self._nodes]

    def _node(self, center: complex, label: str) -> Node:
        if not self._radius:
            return Node(center, label)
        width = min(1.0, self._radius / 2)
        return Node(center, label, self._radius, outline=FAINT, outline_width=width)

    @cached_property
    def background(self) -> Stroke:
        """One stroke with all links of the topology, in a faint colour."""
        curves = [curve for stroke in self.coloured_links() for curve in stroke.curves]
        return Stroke(curves, LINE, 0.8)

    def coloured_links(self) -> list[Stroke]:
        """Return one stroke per link, in the colour of the port at the end with the lower rank.

        A link of a larger capacity is wider.
        """
        strokes = []
        capacities = self.topology.capacities
        for row, port in enumerate(self.topology.ports):
            colour, dashes = style(self.topology, port)
            neighbours = self.topology.neighbours(port)
            for sender in np.flatnonzero(np.arange(self.topology.nodes) < neighbours).tolist():
                receiver = int(neighbours[sender])
                title = f"{self.labels[sender]} -{port}- {self.labels[receiver]}"
                width = 1.5
                if capacities is not None:
                    title += f", capacity {capacities[row, sender]}"
                    width = min(1.5 + 0.75 * log2(capacities[row, sender]), _WIDEST_LINK)
                curves = self.curves(sender, receiver)
                strokes.append(Stroke(curves, colour, width, title, dashes=dashes))
        return strokes

    def panel(
        self,
        strokes: Sequence[Stroke],
        shares: Mapping[int, float] | None = None,
        root: int | None = None,
        caption: str = "",
        colour: str = INK,
    ) -> Panel:
        """Return a panel with the given strokes.

        Args:
            strokes: the links to draw.
            shares: the shade of nodes, from 0 (pale) to 1 (dark), by rank.
            root: rank of the node with a thick outline, if any.
            caption: a line above the panel.
            colour: the colour of the caption.
        """
        nodes = list(self._nodes)
        for rank, share in (shares or {}).items():
            # White is legible on ACCENT in both modes, and PAPER is not white in dark mode.
            ink = "white" if share > 0.6 else INK
            opacity = 0.15 + 0.75 * share
            nodes[rank] = nodes[rank]._replace(fill=ACCENT, opacity=opacity, ink=ink)
        if root is not None:
            width = 2.0 if self._radius else 2.5
            nodes[root] = nodes[root]._replace(outline=INK, outline_width=width)
        width = max(self._size.real, CHARACTER * len(caption))
        return Panel(strokes, nodes, width, self._size.imag, caption, colour)

    def curves(self, sender: int, receiver: int, shift: float = 0.0) -> list[StrokeCurve]:
        """Return the curve of a link, or two curves if the link crosses the border of the torus."""
        start, end = self._nodes[sender], self._nodes[receiver]
        over = self._shift_over_border(sender, receiver)
        if not over:
            return [join(start, end, self._bend(sender, receiver), shift)]
        tail, tip = join(start, end._replace(center=end.center + over), shift=shift)
        part = _CUT * (tip - tail)
        return [(tail, tail + part), (tip - over - part, tip - over)]

    def _shift_over_border(self, sender: int, receiver: int) -> complex:
        """Return the translation that moves the receiver to its image nearest to the sender.

        A node has several images only on a torus. In other layouts the result is 0.
        """
        if not self._periods.size:
            return 0j
        first, second = self._periods
        shifts = [i * first + j * second for i in (0, -1, 1) for j in (0, -1, 1)]
        along = self._points[receiver] - self._points[sender]
        # Distances are rounded, so that rounding errors do not decide between equal distances.
        return complex(min(shifts, key=lambda shift: round(abs(along + shift), 3)))

    def _bend(self, sender: int, receiver: int) -> float:
        """Return the distance by which a link is bent to the left to avoid other nodes.

        The distance is negative for a bend to the right, and 0 for a straight link.
        """
        if self._periods.size or self.topology.nodes > _MAX_BENT:
            return 0.0
        start, end = self._points[sender], self._points[receiver]
        length = float(abs(end - start)) or 1.0
        away = (self._points - start) * np.conj(end - start) / length
        is_near = np.abs(away.imag) < _NEAR * self._gap
        between = (away.real > 0) & (away.real < length) & is_near
        between[[sender, receiver]] = False
        if not between.any():
            return 0.0
        # Every link bends to the left, seen from the link's outer end, so that the drawing
        # keeps its rotational symmetry.
        size = _BEND * self._gap + _SLACK * length
        is_outward = abs(start - self._middle) > abs(end - self._middle)
        return size if is_outward else -size


def draw_topology(topology: Topology, layout: str | None = None) -> str:
    """Return a drawing of a topology as an SVG document, with links coloured by port.

    Args:
        topology: the topology.
        layout: one of `starcast.drawing.layouts.layouts`; by default the first.

    Raises:
        InputError: the topology does not have this layout.
        LimitError: the topology has more than `READABLE` nodes.

    Example:
        >>> draw_topology(topology("S4"), "torus").startswith("<svg")
        True
    """
    if topology.nodes > READABLE:
        raise LimitError(
            f"{topology.spec} has {topology.nodes:,} nodes, but a drawing is readable only up to "
            f"{READABLE} nodes",
            hint=f"open it in the explorer: 'starcast explore {topology.spec} --out page.html'",
        )
    frame = Frame(topology, layout, 1)
    sizes = f"{degree_text(topology)}, diameter {topology.diameter}, {topology.links} links"
    lines = (sizes, DESCRIPTIONS[frame.layout])
    panel = frame.panel(frame.coloured_links())
    return render(Scene(topology, topology.spec, lines, [panel], topology.ports))


def check_size(topology: Topology, panels: int) -> None:
    """Check that a drawing of a topology can have the given number of panels.

    Raises:
        LimitError: there are too many panels, or too many nodes in the panels.
    """
    nodes = topology.nodes * panels
    if topology.nodes <= MAX_NODES and nodes <= MAX_DRAWN and panels <= MAX_PANELS:
        return
    raise LimitError(
        f"{nodes:,} nodes in {pluralize(panels, 'panel')} are too many for a drawing, which has up "
        f"to {MAX_PANELS} panels, {MAX_NODES:,} nodes per panel, and {MAX_DRAWN:,} nodes in total",
        hint=(
            "draw fewer trees or steps, or open the explorer: 'starcast explore "
            f"{topology.spec} --out page.html'"
        ),
    )


#: Minimum radius of a ring in pixels, and minimum ratio of the ring's height to its width.
_SMALLEST_RING, _FLATTEST = 90.0, 0.62
#: Visible length of a link between successive nodes on a ring, in pixels.
_RING_LINK = 26.0
#: Maximum stroke width in pixels, for links that occur in many rows.
_WIDEST_STROKE = 5.0
#: Distance in pixels by which opposite links between the same two nodes are bent.
_ASIDE = 9.0


class Link(NamedTuple):
    """A link from a sender to a receiver (both as ranks) through a port of the sender.

    If ``arrow`` is True, an arrowhead shows the direction.
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
        title: the title of the drawing.
        subtitle: a line below the title.
        nodes: the ranks of the nodes without repetition, in order of first occurrence in the rows.
        links: for each link, the number of rows in which it occurs; each end of a link is in
            ``nodes`` or is the source.
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
        """The ranks of all nodes in the drawing, the source first."""
        first = () if self.source is None else (self.source,)
        return tuple(dict.fromkeys([*first, *self.nodes]))

    @cached_property
    def others(self) -> tuple[Link, ...]:
        """The links that occur in no row but join drawn nodes, each from the lower-ranked node."""
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
        layout: ``levels`` (by distance from the source) or ``ring``. The default is ``levels`` if
            the subgraph has a source and links, else ``ring``.

    Raises:
        InputError: there are no nodes, or the layout is ``levels`` but there is no source.
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
        )._replace(shape=shape_of(topology, node))
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
            "the layout 'levels' needs a source node, but the query declares none",
            hint="use the layout 'ring'",
        )
    if len(subgraph.drawn) > READABLE:
        raise LimitError(
            f"the result has {len(subgraph.drawn):,} nodes, but a drawing is readable only up to "
            f"{READABLE} nodes",
            hint="use a smaller `row_limit`, or another format",
        )


def _place_on_levels(
    subgraph: Subgraph, source: int
) -> tuple[dict[int, complex], complex, dict[float, int]]:
    """Place the boxes of nodes in rows, from top to bottom, by the distance from the source.

    Nodes are placed near their neighbours on other levels. A link of the result attracts its two
    nodes more strongly than a link outside the result.

    Returns:
        The centers of the boxes by node, the size of the area, and each row's level number by the
        row's vertical position.
    """
    index = {node: number for number, node in enumerate(subgraph.drawn)}
    level = subgraph.topology.distances(source)[list(index)]
    weight = np.zeros((len(index), len(index)))
    for links, strength in ((subgraph.links, 1.0), (subgraph.others, 0.05)):
        for link in links:
            first, second = index[link.sender], index[link.receiver]
            # A link within a level has no weight, because it would pull its two nodes together, so
            # that other links might cross more often.
            if level[first] != level[second]:
                weight[first, second] = weight[second, first] = strength
    box = box_width(_longest_label(subgraph))
    x = arrange(level, weight) * (box + GAP) + box / 2
    numbers = np.unique(level).tolist()
    reach = np.where(weight > 0, np.abs(x[:, None] - x), 0)
    heights = row_heights([float(reach[level == number].max()) for number in numbers[1:]])
    row = dict(zip(numbers, heights, strict=True))
    centers = {node: complex(x[i], row[int(level[i])]) for node, i in index.items()}
    size = complex(x.max() + box / 2, heights[-1] + BOX_HEIGHT / 2)
    return centers, size, dict(zip(heights, numbers, strict=True))


def _longest_label(subgraph: Subgraph) -> str:
    return max(map(subgraph.topology.label, subgraph.drawn), key=len)


def _place_in_ring(subgraph: Subgraph) -> tuple[dict[int, complex], complex]:
    """Place boxes on an ellipse, clockwise from the top; return their centers and the area's size.

    The source is at the top, or at the centre if the source is not one of ``nodes``.
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
    box = box_width(_longest_label(subgraph))
    across = max(len(nodes) * (box + _RING_LINK) / (2 * pi), _SMALLEST_RING)
    down = max(
        len(nodes) * (BOX_HEIGHT + _RING_LINK) / (2 * pi), _SMALLEST_RING, _FLATTEST * across
    )
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
    """Yield the strokes of the links, faint strokes first, because later strokes cover them.

    Links that occur in no row of the result are faint. If the rows contain no links at all, all
    links are drawn normally.
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
            width = min(1.2 + 0.8 * times, _WIDEST_STROKE)
            yield Stroke(curves, colour, width, title, link.arrow, dashes)
        else:
            yield Stroke(curves, colour, faint_width, title, False, dashes, opacity)
