"""Positions of the nodes of a topology, for pictures and for the explorer.

A layout is one array, float32 ``[nodes, 2]``: x to the right and y downwards. Nodes are about 1
apart where they are nearest. Every layout is a function of the topology alone, so the pictures of
all steps of a schedule, and of all trees of a forest, show a node in the same place.
"""

from starcast.drawing.layouts.catalogue import (
    DESCRIPTIONS,
    default_layout,
    layout,
    layouts,
    substar_groups,
    torus_periods,
)

__all__ = [
    "DESCRIPTIONS",
    "default_layout",
    "layout",
    "layouts",
    "substar_groups",
    "torus_periods",
]
