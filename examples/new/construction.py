"""The construction NAME, a plug-in of starcast. Replace its tree by yours."""

import numpy as np

import starcast


@starcast.construction("NAME", description="a shortest-path tree", source="my notes")
def FUNCTION(topology, root):
    """Return parent ports, uint8 [trees, nodes]: each node's port to its parent, 0 at the root."""
    # A further parameter, such as `depth: int = 2`, becomes an argument: NAME(depth=3).
    distances = topology.distances(root)
    parent_port = np.zeros((1, topology.nodes), dtype=np.uint8)
    for port in topology.ports:
        parent_port[0, distances[topology.neighbours(port)] < distances] = port
    return parent_port
