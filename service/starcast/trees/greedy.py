"""The greedy tree L(r): every node sends towards the root by its first symbol (Tseng & Sheu 1997, Def. 1)."""

import numpy as np

from starcast import permutations
from starcast.topologies import Topology
from starcast.trees.common import greedy_ports
from starcast.trees.model import Forest


def greedy(topology: Topology, root: int) -> Forest:
    """The shortest-path tree L(r) with its links turned away from the root, so that it broadcasts.

    The parent of v is g_a(v): a is the place of v_1 in r if that is not 1, else the first place a >= 2 where v differs from r.
    """
    rows = np.empty((1, topology.nodes), dtype=np.uint8)
    greedy_ports(topology, permutations.unrank(topology.n, root)[0], rows[0])
    rows.flags.writeable = False
    return Forest(topology, rows, root, "greedy", verify_hubs=(root,))
