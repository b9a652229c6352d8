"""Spanning binomial trees of the hypercube Q_d (Johnsson & Ho 1989, "Optimum broadcasting and personalized communication").

Ports count a label's bits from the left, and c = x xor r is a node's *relative label* for the root r.

* The spanning binomial tree: the parent of x flips the leftmost 1 of c; its children flip one of the 0s left of that.
* The d edge-disjoint spanning binomial trees: tree i-1 is a spanning binomial tree rooted at the neighbour of r across port
  i, with the bits in the cyclic order i, i+1, .., d, 1, .., i-1 instead of from left to right. So r is a leaf of it, the
  child across port i, and the tree comes to be rooted at r by turning that one link around. Bit by bit: where bit i of c is
  0, the parent of x flips bit i; where it is 1, the first 1 after it in the cyclic order, and bit i if there is no other.

Each directed link but those into the root lies in exactly one of the d trees. The link to x over port p does so in tree p if
bit p of c is 0, else in the tree of the last 1 before p in the cyclic order, p itself if it is the only one.
"""

import numpy as np

from starcast.topologies import Topology
from starcast.trees.common import translated
from starcast.trees.model import Forest


def binomial(topology: Topology, root: int) -> Forest:
    """The spanning binomial tree: a shortest path to every node, and comb(d, l) nodes on level l."""
    row = np.zeros(topology.nodes, dtype=np.uint8)
    for port in topology.ports:  # the nodes with their leftmost 1 there are a run
        first = topology.nodes >> port
        row[first : 2 * first] = port
    rows = translated(topology, row[None, :], root)
    rows.flags.writeable = False
    return Forest(topology, rows, root, "binomial", verify_hubs=(root,))


def edge_disjoint_binomial(topology: Topology, root: int) -> Forest:
    """The d edge-disjoint spanning binomial trees, each of height d+1 (1 for d = 1)."""
    d = topology.n
    rows = np.empty((d, topology.nodes), dtype=np.uint8)
    for i, row in zip(topology.ports, rows, strict=True):
        row.fill(i)
        cube = row.reshape((2,) * d)  # a view with an axis for each bit, the leftmost first
        for steps in range(d - 1, 0, -1):  # the nearest 1 after bit i is written last and stays
            p = (i - 1 + steps) % d + 1
            ones = tuple(1 if port in {i, p} else slice(None) for port in topology.ports)
            cube[ones] = p
        row[0] = 0
    rows = translated(topology, rows, root)
    rows.flags.writeable = False
    verify_hubs = tuple(int(topology.neighbours(port, [root])[0]) for port in topology.ports)
    return Forest(topology, rows, root, "edge-disjoint-binomial", verify_hubs=verify_hubs)
