"""The broadcast NAME, a plug-in of starcast. Replace its rows by yours."""

import numpy as np

import starcast


@starcast.algorithm("broadcast", "NAME", ports=["all"], source="my notes")
def FUNCTION(topology, root, ports):
    """Return the rows of the schedule: in a step, a sender (a rank) sends a unit over a port."""
    # A parameter `messages: int = 1` would make the function an algorithm for several units.
    tree = starcast.forest(topology, "breadth-first", root=root)
    node = np.flatnonzero(tree.parent_port[0])
    return {
        "step": tree.levels()[0][node],
        "sender": tree.parents()[0][node],
        "port": topology.reverse_ports()[tree.parent_port[0][node]],
        "unit": np.zeros_like(node),
    }
