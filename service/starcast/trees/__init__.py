"""Forests of trees, stored as arrays of parent ports, and the constructions that build them."""

# Each module declares constructions; `starcast` lists the constructions in this import order.
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
