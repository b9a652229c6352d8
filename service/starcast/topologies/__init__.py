"""Topologies, which the function `topology` builds from specs such as ``S5`` or ``Q4``."""

# Each module declares its families; `starcast` lists the families in this order.
from starcast.topologies import stars, cayley_families, link_families  # noqa: F401, I001
from starcast.topologies.base import Topology, ports_towards
from starcast.topologies.families import as_topology, count_nodes, normalize_id, topology

__all__ = ["Topology", "as_topology", "count_nodes", "normalize_id", "ports_towards", "topology"]
