"""Pictures of a topology in one of its layouts, as a single panel or as panels side by side.

A node has the same position in all panels and in the explorer.
"""

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from starcast.drawing.layouts import DESCRIPTIONS, PERIODS, choose_layout, layout, nearest_distance
from starcast.drawing.scene import (
    ACCENT,
    BOX_HEIGHT,
    FAINT,
    INK,
    LINE,
    READABLE,
    Curve,
    Node,
    Panel,
    Scene,
    Stroke,
    box_width,
    join,
    style,
)
from starcast.drawing.svg import render
from starcast.support.errors import LimitError
from starcast.support.text import pluralize
from starcast.topologies import Topology

#: Maximum number of nodes in one panel, and maximum number in all panels together.
MAX_NODES, MAX_DRAWN = 5_040, 20_000
#: The largest number of panels.
MAX_PANELS = 64

#: Length of the visible part of the shortest link between two boxes, in pixels.
_LINK = 36.0
#: Width of a panel in pixels, if there are several panels and if there is a single one.
_PANEL, _WIDEST = 224.0, 1_000.0
_NEAR, _BEND, _SLACK = 0.25, 0.5, 0.12
#: Maximum number of nodes for which links are bent around other nodes.
_MAX_BENT = 200
#: Fraction of the length that is drawn at each end of a link that crosses the border of the torus.
_CUT = 0.6


class Frame:
    """The nodes of a topology in a layout, from which panels of equal size are drawn.

    Args:
        topology: the topology.
        name: the layout; by default the topology's first layout.
        panels: number of panels; a single panel is larger, and has labels if the topology has at
            most `READABLE` nodes.

    Raises:
        InputError: the topology has no such layout.
        LimitError: the panels have too many nodes.
    """

    def __init__(self, topology: Topology, name: str | None, panels: int) -> None:
        check_size(topology, panels)
        self.topology = topology
        self.layout = choose_layout(topology, name)
        self.labels = topology.labels().tolist()
        points = layout(topology, self.layout).astype(np.float64) @ np.array([1, 1j])
        gap = nearest_distance(points)
        extent = complex(np.ptp(points.real), np.ptp(points.imag))
        box = complex(box_width(self.labels[0]), BOX_HEIGHT)
        has_boxes = panels == 1 and topology.nodes <= READABLE
        if has_boxes:
            scale = (box.real + _LINK) / gap
        else:
            scale = (_PANEL if panels > 1 else _WIDEST) / max(extent.real, extent.imag, gap)
        is_torus = self.layout == "torus"
        self._periods = PERIODS @ np.array([1, 1j]) * scale if is_torus else None
        border = box / 2 if has_boxes else 8 + 8j
        if is_torus:
            # Links that cross the border of the torus extend beyond the outermost nodes.
            border += _CUT * scale * (1 + 1j)
        corner = complex(points.real.min(), points.imag.min())
        self._points = (points - corner) * scale + border
        self._size = extent * scale + 2 * border
        self._gap = gap * scale
        self._radius = 0.0 if has_boxes else min(max(0.28 * self._gap, 0.8), 6.0)
        self._nodes = [
            self._node(center, label)
            for center, label in zip(self._points.tolist(), self.labels, strict=True)
        ]

    def _node(self, center: complex, label: str) -> Node:
        if not self._radius:
            return Node(center, label)
        width = min(1.0, self._radius / 2)
        return Node(center, label, self._radius, outline=FAINT, outline_width=width)

    @cached_property
    def background(self) -> Stroke:
        """All links, drawn faintly."""
        curves = [curve for stroke in self.coloured_links() for curve in stroke.curves]
        return Stroke(curves, LINE, 0.8)

    def coloured_links(self) -> list[Stroke]:
        """Return one stroke per link, in the colour of the port at the end with the lower rank."""
        strokes = []
        for port in self.topology.ports:
            colour, dashes = style(self.topology, port)
            neighbours = self.topology.neighbours(port)
            for sender in np.flatnonzero(np.arange(self.topology.nodes) < neighbours).tolist():
                receiver = int(neighbours[sender])
                title = f"{self.labels[sender]} -{port}- {self.labels[receiver]}"
                curves = self.curves(sender, receiver)
                strokes.append(Stroke(curves, colour, 1.5, title, dashes=dashes))
        return strokes

    def panel(
        self,
        strokes: Sequence[Stroke],
        shares: Mapping[int, float] | None = None,
        root: int | None = None,
        caption: str = "",
        colour: str = INK,
    ) -> Panel:
        """Return a panel with the given strokes, and with nodes shaded by numbers from 0 to 1."""
        nodes = list(self._nodes)
        for rank, share in (shares or {}).items():
            # The colour is "white", which unlike PAPER is not replaced in dark mode, because it is
            # legible on ACCENT in both modes.
            ink = "white" if share > 0.6 else INK
            opacity = 0.15 + 0.75 * share
            nodes[rank] = nodes[rank]._replace(fill=ACCENT, opacity=opacity, ink=ink)
        if root is not None:
            width = 2.0 if self._radius else 2.5
            nodes[root] = nodes[root]._replace(outline=INK, outline_width=width)
        return Panel(strokes, nodes, self._size.real, self._size.imag, caption, colour)

    def curves(self, sender: int, receiver: int, shift: float = 0.0) -> list[Curve]:
        """Return the curve of a link, or two curves if it crosses the border of the torus."""
        start, end = self._nodes[sender], self._nodes[receiver]
        over = self._shift_over_border(sender, receiver)
        if not over:
            return [join(start, end, self._bend(sender, receiver), shift)]
        tail, tip = join(start, end._replace(center=end.center + over), shift=shift)
        part = _CUT * (tip - tail)
        return [(tail, tail + part), (tip - over - part, tip - over)]

    def _shift_over_border(self, sender: int, receiver: int) -> complex:
        """Return the translation that moves the receiver to its image nearest to the sender.

        Only on a torus, a node has several images. In other layouts the result is 0.
        """
        if self._periods is None:
            return 0j
        first, second = self._periods
        shifts = [i * first + j * second for i in (0, -1, 1) for j in (0, -1, 1)]
        along = self._points[receiver] - self._points[sender]
        # Distances are rounded, so that rounding errors do not decide between equal distances.
        return complex(min(shifts, key=lambda shift: round(abs(along + shift), 3)))

    def _bend(self, sender: int, receiver: int) -> float:
        """Return how far to bend a link to the left so that it avoids other nodes.

        The number is negative for a bend to the right, and 0 for a straight link.
        """
        if self._periods is not None or self.topology.nodes > _MAX_BENT:
            return 0.0
        start, end = self._points[sender], self._points[receiver]
        length = float(abs(end - start)) or 1.0
        away = (self._points - start) * np.conj(end - start) / length
        is_near = np.abs(away.imag) < _NEAR * self._gap
        between = (away.real > 0) & (away.real < length) & is_near
        between[[sender, receiver]] = False
        if not between.any():
            return 0.0
        # Seen from its outer end, every link bends to the left, so the picture keeps its rotational
        # symmetry.
        middle = self._size / 2
        size = _BEND * self._gap + _SLACK * length
        return size if abs(start - middle) > abs(end - middle) else -size


def draw_topology(topology: Topology, layout: str | None = None) -> str:
    """Return a picture of a topology as an SVG document, with links coloured by dimension.

    Args:
        layout: one of `starcast.drawing.layouts.layouts`; by default the first.

    Raises:
        InputError: the topology has no such layout.
        LimitError: the topology has more than `READABLE` nodes.

    Example:
        >>> draw_topology(topology("S4"), "torus").startswith("<svg")
        True
    """
    if topology.nodes > READABLE:
        raise LimitError(
            f"{topology.spec} has {topology.nodes:,} nodes, but a drawing is readable only up to "
            f"{READABLE} nodes",
            hint=f"open it in the explorer: starcast explore {topology.spec} --out page.html",
        )
    frame = Frame(topology, layout, 1)
    sizes = f"degree {topology.degree}, diameter {topology.diameter}, {topology.links} links"
    lines = (sizes, DESCRIPTIONS[frame.layout])
    panel = frame.panel(frame.coloured_links())
    return render(Scene(topology, topology.spec, lines, [panel], topology.ports))


def check_size(topology: Topology, panels: int) -> None:
    """Check that a picture of this topology can have this number of panels.

    Raises:
        LimitError: there are too many panels, or too many nodes in the panels.
    """
    nodes = topology.nodes * panels
    if topology.nodes <= MAX_NODES and nodes <= MAX_DRAWN and panels <= MAX_PANELS:
        return
    raise LimitError(
        f"{nodes:,} nodes in {pluralize(panels, 'panel')} are too many for a picture, which has "
        f"up to {MAX_PANELS} panels, {MAX_NODES:,} nodes in each, and {MAX_DRAWN:,} in all",
        hint=(
            "draw fewer trees or steps, or open the explorer: starcast explore "
            f"{topology.spec} --out page.html"
        ),
    )
