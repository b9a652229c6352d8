"""Shortest-path trees: parents are across the highest port that leads closer to the root."""

import numpy as np

import starcast


@starcast.construction(
    "highest-ports",
    description="the shortest-path tree by highest ports",
    source="starcast: an example of a plug-in",
)
def highest_ports(topology, root):
    """Return, for each node, the highest port that leads closer to the root."""
    distances = topology.distances(root)
    parent_port = np.zeros(topology.nodes, dtype=np.uint8)
    for port in topology.ports:
        closer = distances[topology.neighbours(port)] < distances
        parent_port[closer] = port
    return parent_port
