"""Pictures: topologies, forests, schedules, and the subgraph that a query result names.

All pictures are SVG documents that follow the dark mode of a page and fit a narrow page; `convert`
turns them into PNG and PDF. Every picture is a `Scene`, which `starcast.drawing.svg` writes.
"""

from starcast.drawing.display import represent
from starcast.drawing.forests import draw_forest, draw_load, draw_tree, draw_trees
from starcast.drawing.networks import draw_topology
from starcast.drawing.scene import COLOURS, READABLE, style
from starcast.drawing.schedules import animate_schedule, draw_schedule, draw_steps
from starcast.drawing.subgraphs import Link, Subgraph, draw_subgraph
from starcast.drawing.svg import convert
from starcast.support.vocabulary import Layout

__all__ = [
    "COLOURS",
    "READABLE",
    "Layout",
    "Link",
    "Subgraph",
    "animate_schedule",
    "convert",
    "draw_forest",
    "draw_load",
    "draw_schedule",
    "draw_steps",
    "draw_subgraph",
    "draw_topology",
    "draw_tree",
    "draw_trees",
    "represent",
    "style",
]
