"""Spanning trees: the forest array, and the constructions that build it."""

# Each module declares its constructions; `starcast` lists them in this order.
# isort: off
from starcast.trees import (  # noqa: F401
    greedy,
    multinode,
    balanced,
    edge_disjoint,
    other_topologies,
    arc_disjoint,
)

# isort: on
from starcast.trees.construction import constructions, forest, plain_constructions
from starcast.trees.model import Forest

__all__ = ["Forest", "constructions", "forest", "plain_constructions"]
