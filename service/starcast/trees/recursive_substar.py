"""The broadcast tree of 2n-3 steps that divides S_n into substars again and again (Sheu, Liaw & Chen 1993)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.permutations import Ranks
from starcast.topologies import Topology
from starcast.trees.common import translated
from starcast.trees.model import Forest


class _Front(NamedTuple):
    """Nodes that have just been informed, with the arguments of the procedure: each an array of equal length."""

    node: Ranks
    dim1: NDArray[np.uint8]  # the node is source of the substar S_dim1
    dim2: NDArray[np.uint8]  # .. and relay for S_dim2; 0: source only (flag = true)


def recursive_substar(topology: Topology, root: int) -> Forest:
    """Every node informs all its children in the step after it was informed (section 2, Rules 1 and 2)."""
    row = np.zeros(topology.nodes, dtype=np.uint8)
    front = _Front(np.zeros(1, np.int32), np.full(1, topology.n, np.uint8), np.zeros(1, np.uint8))
    while len(front.node):
        front = _joined([_send(topology, row, front, port) for port in topology.ports])
    rows = translated(topology, row[None, :], root)
    rows.flags.writeable = False
    return Forest(topology, rows, root, "recursive-substar")


def _send(topology: Topology, row: NDArray[np.uint8], front: _Front, port: int) -> _Front:
    """Send over one port from every node of the front that does, and write the receivers' parent ports."""
    last = front.dim1 == port  # Rule 1, g_dim1: the receiver is source only
    inner = port < front.dim1  # Rule 1, the others: the receiver relays for S_dim1
    # Rule 2: from dim1 + 2 (dim1 + 1 is the link to the parent) to dim2 inclusive.
    relayed = (front.dim1 + 2 <= port) & (port <= front.dim2)
    chosen = last | inner | relayed
    receivers = topology.neighbours(port, front.node[chosen])
    row[receivers] = port
    dim1 = np.full(len(receivers), port - 1, dtype=np.uint8)
    return _Front(receivers, dim1, np.where(inner, front.dim1, 0)[chosen].astype(np.uint8))


def _joined(fronts: list[_Front]) -> _Front:
    return _Front(*(np.concatenate(columns) for columns in zip(*fronts, strict=True)))
