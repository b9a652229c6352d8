"""Checkers that decide properties of trees independently of the code that built the trees.

Every checker takes a topology, the array ``parent_port`` (uint8 ``[trees, nodes]``: each node's
port towards its parent, 0 at the root and where a node is not in that tree) and the root's rank.
It uses only `Topology.neighbours` and the labels of the topology. Parents are the neighbours across
the ports, levels are counted from the root outwards, and distances are found by breadth-first
search. Checkers share no code with `starcast.trees`, so the two can be compared.

The result is an `Evidence`: whether the property holds, the measured values, and the first
counterexample. All checkers except `rooted` and `spanning` raise an error for arrays that are not
forests.
"""

from starcast.records.checkers.links import (
    congestion,
    dimension_balance,
    edge_disjoint,
    level_dimensions,
    loads,
)
from starcast.records.checkers.paths import disjoint_paths
from starcast.records.checkers.shape import balance, branch_sizes, height, shortest_paths
from starcast.records.checkers.traversal import Evidence, rooted, spanning

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
