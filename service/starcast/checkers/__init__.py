"""Checkers: what holds for an array of trees, found out without the code that made it.

Every checker takes a topology, the array ``parent_port`` (uint8 ``[trees, nodes]``: each node's port towards its parent, 0 at
the root and where a node is not in that tree) and the root's rank. It knows the graph only by `Topology.neighbours`: parents
are what is found across the ports, levels are counted from the root outwards, distances by breadth-first search. Nothing is
shared with `starcast.trees`, so that the two can be held against each other.

A judgement is an `Evidence`: whether it holds, what was measured, and the first counterexample. What is no forest is refused by
all but `rooted` and `spanning`, which say so.
"""

from starcast.checkers.dimensions import dimension_balance, level_dimensions
from starcast.checkers.evidence import Evidence
from starcast.checkers.links import congestion, edge_disjoint, loads
from starcast.checkers.paths import disjoint_paths
from starcast.checkers.shape import balance, branch_sizes, height, rooted, shortest_paths, spanning

__all__ = [
    "Evidence",
    "balance",
    "branch_sizes",
    "congestion",
    "dimension_balance",
    "disjoint_paths",
    "edge_disjoint",
    "height",
    "level_dimensions",
    "loads",
    "rooted",
    "shortest_paths",
    "spanning",
]
