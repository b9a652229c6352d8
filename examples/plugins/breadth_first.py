"""A spanning tree of shortest paths on every topology: the lowest port that leads closer wins."""

import numpy as np

import starcast


@starcast.construction(
    "breadth-first",
    description="the shortest-path tree by lowest ports",
    source="starcast: an example of a plug-in",
)
def breadth_first(topology, root):
    """Return for each node the lowest port towards the root."""
    distances = topology.distances(root)
    parent_port = np.zeros(topology.nodes, dtype=np.uint8)
    for port in reversed(topology.ports):
        closer = distances[topology.neighbours(port)] < distances
        parent_port[closer] = port
    return parent_port
