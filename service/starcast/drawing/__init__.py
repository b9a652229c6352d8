"""SVG drawings: topologies, trees, forests, schedules, and what a query names of a topology."""

from starcast.drawing.display import represent
from starcast.drawing.forest import draw_forest
from starcast.drawing.picture import Link, Picture, sketch
from starcast.drawing.schedule import draw_schedule
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
    "draw_forest",
    "draw_schedule",
    "draw_topology",
    "represent",
    "sketch",
    "style",
]
