"""SVG drawings: a topology, a tree by levels, and the part of a topology that a query names."""

from starcast.drawing.picture import Link, Picture, sketch
from starcast.drawing.svg import COLOURS, READABLE, style
from starcast.drawing.topology import draw_topology
from starcast.drawing.tree import draw
from starcast.vocabulary import Layout

__all__ = [
    "COLOURS",
    "READABLE",
    "Layout",
    "Link",
    "Picture",
    "draw",
    "draw_topology",
    "sketch",
    "style",
]
