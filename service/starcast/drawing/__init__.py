"""Draw topologies, forests and schedules, and the nodes and links in a query result.

All drawings are SVG documents that adapt to dark mode and to narrow pages; `convert` turns drawings
into PNG and PDF. A drawing is first built as a `Scene`, which `starcast.drawing.scene` renders. A
notebook calls `represent` to show an object as a drawing, or as a table if the object is large.
"""

from starcast.drawing.forests import draw_forest, draw_load, draw_tree, draw_trees
from starcast.drawing.networks import Link, Subgraph, draw_subgraph, draw_topology
from starcast.drawing.representation import represent
from starcast.drawing.scene import COLOURS, READABLE, convert, style
from starcast.drawing.schedules import animate_schedule, draw_schedule, draw_steps
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
