"""Topologies by spec: ``topology("S5")``, ``topology("S6,3")``, ``topology("Q4")``."""

from starcast.topologies.base import Topology
from starcast.topologies.families import as_topology, count_nodes, topology

__all__ = ["Topology", "as_topology", "count_nodes", "topology"]
