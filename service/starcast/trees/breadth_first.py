"""The shortest-path tree by lowest ports, on every topology."""

import numpy as np

from starcast.topologies import Topology
from starcast.trees.construction import construction
from starcast.trees.model import Forest


@construction(
    "breadth-first", description="the shortest-path tree by lowest ports",
    source="starcast: on every topology",
)  # fmt: skip
def breadth_first(topology: Topology, root: int) -> Forest:
    """Return the tree in which each node has the lowest port that leads closer to the root."""
    distances = topology.distances(root)
    row = np.zeros((1, topology.nodes), dtype=np.uint8)
    for port in reversed(topology.ports):
        row[0, distances[topology.neighbours(port)] < distances] = port
    return Forest(topology, row, root, "breadth-first", verify_hubs=(root,))
