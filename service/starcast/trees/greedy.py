"""The greedy tree L(r), which routes by the first symbol (Tseng & Sheu 1997, Def. 1)."""

import numpy as np

from starcast.support.arrays import freeze
from starcast.topologies import Topology, permutations
from starcast.trees.common import write_greedy_ports
from starcast.trees.construction import construction
from starcast.trees.model import Forest


@construction(
    "greedy", families=["star"], description="the shortest-path tree L(r)",
    source="Tseng & Sheu 1997, Def. 1",
)  # fmt: skip
def greedy(topology: Topology, root: int) -> Forest:
    """Return the shortest-path tree L(r), with its links directed away from the root.

    The parent of v is g_a(v), where a is the position of v_1 in r if that is not 1, and else the
    first position a >= 2 in which v differs from r.

    Reference: Tseng & Sheu 1997, Def. 1.
    """
    rows = np.empty((1, topology.nodes), dtype=np.uint8)
    write_greedy_ports(topology, permutations.unrank(topology.n, root)[0], rows[0])
    return Forest(topology, freeze(rows), root, "greedy", verify_hubs=(root,))
