"""The broadcast tree of 2n-3 steps that divides S_n into substars (Sheu, Liaw & Chen 1993)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks
from starcast.trees.common import translate_ports
from starcast.trees.construction import construction
from starcast.trees.model import Forest


class _Front(NamedTuple):
    """The nodes informed last, with the arguments of the procedure, as arrays of equal length.

    A node is the source of the substar S_dim1, and a relay for S_dim2 unless dim2 is 0.
    """

    node: Ranks
    dim1: NDArray[np.uint8]
    dim2: NDArray[np.uint8]


@construction(
    "recursive-substar", families=["star"], description="the broadcast tree of 2n-3 steps",
    source="Sheu, Liaw & Chen 1993, section 2",
)  # fmt: skip
def recursive_substar(topology: Topology, root: int) -> Forest:
    """Return the tree in which every node informs its children one step after it was informed.

    Reference: Sheu, Liaw & Chen 1993, section 2, Rules 1 and 2.
    """
    row = np.zeros(topology.nodes, dtype=np.uint8)
    front = _Front(np.zeros(1, np.int32), np.full(1, topology.n, np.uint8), np.zeros(1, np.uint8))
    while len(front.node):
        parts = [_send(topology, row, front, port) for port in topology.ports]
        front = _Front(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    rows = translate_ports(topology, row[None, :], root)
    return Forest(topology, rows, root, "recursive-substar")


def _send(topology: Topology, row: NDArray[np.uint8], front: _Front, port: int) -> _Front:
    """Send over one port from all nodes that use it, and write the receivers' parent ports."""
    last = front.dim1 == port  # Rule 1, g_dim1: the receiver is a source only
    inner = port < front.dim1  # Rule 1, the others: the receiver is a relay for S_dim1
    # Rule 2: from dim1 + 2 (dim1 + 1 is the link to the parent) to dim2.
    relayed = (front.dim1 + 2 <= port) & (port <= front.dim2)
    chosen = last | inner | relayed
    receivers = topology.neighbours(port, front.node[chosen])
    row[receivers] = port
    dim1 = np.full(len(receivers), port - 1, dtype=np.uint8)
    return _Front(receivers, dim1, np.where(inner, front.dim1, 0)[chosen].astype(np.uint8))
