"""Pictures of a topology in one of its layouts: alone, or as panels side by side.

A node has the same place in all panels, and the same as in the explorer.
"""

from collections.abc import Mapping, Sequence
from math import hypot
from typing import NamedTuple
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import NDArray

from starcast.drawing import svg as parts
from starcast.drawing.layouts import default_layout, layout, torus_periods
from starcast.drawing.layouts.catalogue import check_name
from starcast.drawing.svg import BOX_HEIGHT, FAINT, INK, MARGIN, PAPER, READABLE, Place
from starcast.topologies import Topology

#: The colour of links that carry nothing, and of nodes by what they hold.
LINE, ACCENT = "#D0D7DE", "#0072B2"

_LINK = 36.0  # the visible part of the shortest link between boxes
_PANEL = 224.0  # width of one of several panels
_GAP, _CAPTION = 26.0, 20.0
_WIDEST = 1_000.0
_NEAR, _BEND, _SLACK = 0.25, 0.5, 0.12
_MOST_BENT = 200  # links of larger topologies are straight


class Mark(NamedTuple):
    """A stroke along a link from a sender to a receiver.

    Attributes:
        sender: rank.
        receiver: rank.
        colour: its colour.
        width: in pixels.
        title: the text shown when a pointer is over it.
        arrow: whether it has an arrowhead.
        shift: how far it lies to the left of the link, in pixels.
        dashes: its dash pattern, or "" for none.
    """

    sender: int
    receiver: int
    colour: str
    width: float
    title: str
    arrow: bool = True
    shift: float = 0.0
    dashes: str = ""


class Panel(NamedTuple):
    """A copy of the topology: strokes along links, and nodes filled to a share from 0 to 1."""

    caption: str
    marks: Sequence[Mark]
    shares: Mapping[int, float]
    root: int | None = None


class Frame:
    """The places of all nodes in pixels, for panels of one size.

    Args:
        topology: the topology.
        name: the layout; by default the topology's first that shows all nodes.
        panels: how many panels there are; a single one is larger, and has labels if the topology
            has at most `READABLE` nodes.
    """

    def __init__(self, topology: Topology, name: str | None, panels: int) -> None:
        self.topology = topology
        self.name = default_layout(topology) if name is None else check_name(name)
        points = layout(topology, self.name).astype(np.float64)
        self.gap = _least_distance(points)
        self.box = parts.box_width(topology)
        self.has_boxes = panels == 1 and topology.nodes <= READABLE
        extent = np.ptp(points, axis=0)
        if self.has_boxes:
            self.scale = (self.box + _LINK) / self.gap
        else:
            width = _PANEL if panels > 1 else _WIDEST
            self.scale = width / max(float(extent.max()), self.gap)
        self.radius = min(max(0.28 * self.gap * self.scale, 0.8), 6.0)
        half = Place(self.box / 2, BOX_HEIGHT / 2) if self.has_boxes else Place(8.0, 8.0)
        periods = torus_periods(self.name)
        self.periods = None if periods is None else periods * self.scale
        if periods is not None:  # room for the links that leave the picture
            half = Place(half.x + 0.6 * self.scale, half.y + 0.6 * self.scale)
        self.points = (points - points.min(axis=0)) * self.scale + half
        self.width = float(extent[0]) * self.scale + 2 * half.x
        self.height = float(extent[1]) * self.scale + 2 * half.y

    def shift_over_border(self, sender: int, receiver: int) -> NDArray[np.float64]:
        """Return the translation to the nearest image of the receiver; 0 except on a torus."""
        nearest = np.zeros(2)
        if self.periods is None:
            return nearest
        away = self.points[receiver] - self.points[sender]
        for first in (-1, 0, 1):
            for second in (-1, 0, 1):
                shift = first * self.periods[0] + second * self.periods[1]
                if np.hypot(*(away + shift)) < np.hypot(*(away + nearest)) - 1e-3:
                    nearest = shift
        return nearest

    def bend(self, sender: int, receiver: int) -> float:
        """Return how far a link bends to its left to pass no other node, in pixels."""
        if self.periods is not None or self.topology.nodes > _MOST_BENT:
            return 0.0
        start = self.points[sender]
        along = self.points[receiver] - start
        length = float(np.hypot(*along)) or 1.0
        away = self.points - start
        position = away @ along / length
        offset = np.abs(away[:, 0] * along[1] - away[:, 1] * along[0]) / length
        unit = self.gap * self.scale
        between = (position > 0) & (position < length) & (offset < _NEAR * unit)
        between[[sender, receiver]] = False
        if not between.any():
            return 0.0
        # Links that are rotations of each other bend to the same side, seen from their outer ends.
        middle = (self.points.min(axis=0) + self.points.max(axis=0)) / 2
        outwards = np.hypot(*(start - middle)) > np.hypot(*(self.points[receiver] - middle))
        size = _BEND * unit + _SLACK * length
        return size if outwards else -size


def draw_panels(
    frame: Frame, title: str, lines: Sequence[str], panels: Sequence[Panel], legend: bool = False
) -> ET.Element:
    """Return a document with the panels in rows.

    Args:
        frame: the places of the nodes.
        title: the title.
        lines: lines below the title.
        panels: the panels.
        legend: whether links have the colours of their ports, with a legend.
    """
    columns = max(1, min(len(panels), int((_WIDEST + _GAP) / (frame.width + _GAP))))
    rows = -(-len(panels) // columns)
    caption = _CAPTION if len(panels) > 1 or panels[0].caption else 0.0
    head = 34.0 + 18.0 * len(lines) + (22.0 if legend else 0.0)
    inside = max(columns * (frame.width + _GAP) - _GAP, parts.head_width(title, *lines))
    if legend:
        inside = max(inside, parts.legend_width(frame.topology.ports))
    left = MARGIN + (inside - columns * (frame.width + _GAP) + _GAP) / 2
    height = rows * (frame.height + caption + _GAP) - _GAP
    svg = parts.document(title, inside + 2 * MARGIN, head + height + 2 * MARGIN)
    parts.head(svg, title, *lines)
    if legend:
        parts.legend(svg, frame.topology, frame.topology.ports, MARGIN + 34.0 + 18.0 * len(lines))
    for number, panel in enumerate(panels):
        x = left + number % columns * (frame.width + _GAP)
        y = MARGIN + head + number // columns * (frame.height + caption + _GAP)
        if panel.caption:
            text = parts.element(svg, "text", x=x, y=y + 12, font_size=12, fill=INK)
            text.text = panel.caption
        draw_links(svg, frame, Place(x, y + caption), coloured=legend)
        draw_marks(svg, frame, Place(x, y + caption), panel.marks)
        draw_nodes(svg, frame, Place(x, y + caption), panel)
    return svg


def draw_links(svg: ET.Element, frame: Frame, corner: Place, *, coloured: bool) -> None:
    """Draw every link once, in the colour of its port or faintly."""
    topology = frame.topology
    labels = topology.labels()
    faint = None
    if not coloured:
        faint = parts.element(svg, "g", stroke=LINE, stroke_width=0.8, fill="none")
    for port in topology.ports:
        neighbours = topology.neighbours(port)
        colour, dashes = parts.style(topology, port)
        for sender in np.flatnonzero(np.arange(topology.nodes) < neighbours).tolist():
            receiver = int(neighbours[sender])
            path = " ".join(_paths(frame, corner, sender, receiver, 0.0)[0])
            if faint is not None:
                parts.element(faint, "path", d=path)
                continue
            group = parts.element(svg, "g", stroke=colour, fill="none", stroke_width=1.5)
            title = f"{labels[sender]} -{port}- {labels[receiver]}"
            parts.element(group, "title").text = title
            line = parts.element(group, "path", d=path)
            if dashes:
                line.set("stroke-dasharray", dashes)


def draw_marks(svg: ET.Element, frame: Frame, corner: Place, marks: Sequence[Mark]) -> None:
    """Draw strokes along links."""
    for mark in marks:
        paths, tip, back = _paths(frame, corner, mark.sender, mark.receiver, mark.shift)
        group = parts.element(svg, "g", stroke=mark.colour, fill="none", stroke_width=mark.width)
        parts.element(group, "title").text = mark.title
        line = parts.element(group, "path", d=" ".join(paths), stroke_linecap="round")
        if mark.dashes:
            line.set("stroke-dasharray", mark.dashes)
        if mark.arrow:
            reach = BOX_HEIGHT / 2 if frame.has_boxes else frame.radius
            corners = _arrow(tip, back, reach + 2, 2 + 2 * mark.width)
            parts.element(group, "polygon", points=corners, fill=mark.colour, stroke="none")


def draw_nodes(svg: ET.Element, frame: Frame, corner: Place, panel: Panel) -> None:
    """Draw all nodes: boxes with labels, or dots; filled to their shares."""
    labels = frame.topology.labels().tolist()
    for node, (x, y) in enumerate((frame.points + corner).tolist()):
        share = panel.shares.get(node, 0.0)
        is_root = node == panel.root
        if frame.has_boxes:
            _draw_box(svg, frame, Place(x, y), labels[node], share, is_root)
            continue
        stroke = INK if is_root else FAINT
        width = 2.0 if is_root else min(1.0, frame.radius / 2)
        dot = parts.element(
            svg, "circle", cx=x, cy=y, r=frame.radius, fill=PAPER, stroke=stroke, stroke_width=width
        )
        parts.element(dot, "title").text = labels[node]
        if share:
            opacity = f"{0.2 + 0.8 * share:.2f}"
            parts.element(
                svg, "circle", cx=x, cy=y, r=frame.radius, fill=ACCENT, fill_opacity=opacity
            )


def _draw_box(
    svg: ET.Element, frame: Frame, place: Place, label: str, share: float, is_root: bool
) -> None:
    edges = {
        "x": place.x - frame.box / 2,
        "y": place.y - BOX_HEIGHT / 2,
        "width": frame.box,
        "height": BOX_HEIGHT,
        "rx": 4,
    }
    width = 2.5 if is_root else 1
    parts.element(svg, "rect", **edges, fill=PAPER, stroke=INK, stroke_width=width)
    if share:
        opacity = f"{0.15 + 0.75 * share:.2f}"
        parts.element(svg, "path", d=_rounded(edges), fill=ACCENT, fill_opacity=opacity)
    # "white" keeps its colour in the dark mode, in which PAPER becomes dark.
    colour = "white" if share > 0.6 else INK
    parts.element(
        svg, "text", x=place.x, y=place.y + 4.2, font_size=12, fill=colour, text_anchor="middle"
    ).text = label


def _rounded(edges: Mapping[str, float]) -> str:
    """Return the inside of a box as a path."""
    left, top = edges["x"] + 1, edges["y"] + 1
    width, height = edges["width"] - 2, edges["height"] - 2
    return f"M{left:.1f} {top:.1f}h{width:.1f}v{height:.1f}h{-width:.1f}z"


def _paths(
    frame: Frame, corner: Place, sender: int, receiver: int, shift: float
) -> tuple[list[str], Place, Place]:
    """Return the paths of a link, its end, and a point before the end."""
    start = frame.points[sender] + corner
    end = frame.points[receiver] + corner
    over = frame.shift_over_border(sender, receiver)
    if over.any():
        middle = start + 0.6 * (end + over - start)
        entry = end - 0.6 * (end + over - start)
        paths = [f"M{_point(start)} L{_point(middle)}", f"M{_point(entry)} L{_point(end)}"]
        return paths, Place(*end.tolist()), Place(*entry.tolist())
    length = hypot(*(end - start)) or 1.0
    left = np.array([end[1] - start[1], start[0] - end[0]]) / length
    start, end = start + shift * left, end + shift * left
    bend = frame.bend(sender, receiver)
    if bend:
        middle = (start + end) / 2 + bend * left
        path = f"M{_point(start)} Q{_point(middle)} {_point(end)}"
        return [path], Place(*end.tolist()), Place(*middle.tolist())
    return [f"M{_point(start)} L{_point(end)}"], Place(*end.tolist()), Place(*start.tolist())


def _arrow(tip: Place, back: Place, reach: float, size: float) -> str:
    """Return the corners of an arrowhead that ends ``reach`` before the tip."""
    length = hypot(tip.x - back.x, tip.y - back.y) or 1.0
    ux, uy = (tip.x - back.x) / length, (tip.y - back.y) / length
    x, y = tip.x - reach * ux, tip.y - reach * uy
    neck = (x - size * ux, y - size * uy)
    half = 0.5 * size
    corners = [(x, y), (neck[0] - half * uy, neck[1] + half * ux)]
    corners.append((neck[0] + half * uy, neck[1] - half * ux))
    return " ".join(_point(corner) for corner in corners)


def _point(place: Sequence[float] | NDArray[np.float64]) -> str:
    return f"{place[0]:.1f},{place[1]:.1f}"


def _least_distance(points: NDArray[np.float64]) -> float:
    """Return the least distance of two different places, from a sample of large topologies."""
    places = np.unique(points.round(5), axis=0)
    sample = places[:: max(1, len(places) // 64)]
    away = np.hypot(*(sample[:, None] - places).transpose(2, 0, 1))
    away[away < 1e-5] = np.inf
    least = float(away.min())
    return least if np.isfinite(least) else 1.0
