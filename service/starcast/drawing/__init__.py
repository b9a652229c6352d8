"""Pictures: topologies, trees, forests, schedules, and what a query names of a topology.

All are SVG documents that follow the dark mode of a page and fit a narrow one; `convert` turns them
into PNG and PDF.
"""

from starcast.drawing.display import represent
from starcast.drawing.files import convert
from starcast.drawing.forest import draw_forest
from starcast.drawing.forest_on_network import draw_load, draw_trees
from starcast.drawing.picture import Link, Picture, sketch
from starcast.drawing.schedule import draw_schedule
from starcast.drawing.schedule_steps import animate_schedule, draw_steps
from starcast.drawing.svg import COLOURS, READABLE, style
from starcast.drawing.topology import draw_topology
from starcast.drawing.tree import draw
from starcast.support.vocabulary import Layout

__all__ = [
    "COLOURS",
    "READABLE",
    "Layout",
    "Link",
    "Picture",
    "animate_schedule",
    "convert",
    "draw",
    "draw_forest",
    "draw_load",
    "draw_schedule",
    "draw_steps",
    "draw_topology",
    "draw_trees",
    "represent",
    "sketch",
    "style",
]
