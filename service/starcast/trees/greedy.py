"""The greedy tree, its re-rooted copies, and the recursive-substar tree.

* The greedy tree L(r) with root r routes by the first symbol (Tseng & Sheu 1997, Def. 1).
* The n-1 trees L-hat(rho^i(r)), where rho shifts a label right by one position, are greedy trees
  with the roots rho^i(r), re-rooted at r. Together they have congestion 2 (Tseng & Sheu 1997, Def.
  2 and Lemma 6).
* The recursive-substar tree broadcasts in 2n-3 steps; it divides S_n into substars (Sheu, Liaw &
  Chen 1993).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import freeze
from starcast.topologies import Topology, permutations
from starcast.topologies.permutations import Perms, Ranks
from starcast.trees.common import reroot, translate_ports, write_first_differences
from starcast.trees.construction import construction
from starcast.trees.model import Forest


@construction(
    "greedy", families=["star"], description="the shortest-path tree L(r)",
    source="Tseng & Sheu 1997, Def. 1",
)  # fmt: skip
def greedy(topology: Topology, root: int) -> Forest:
    """Return the greedy tree L(r): a shortest-path tree, with its links directed away from root r.

    The parent of a node v is across dimension a. Here a is the position of v's first symbol in r,
    if that is not 1, and otherwise the first position a >= 2 in which v differs from r.

    Reference: Tseng & Sheu 1997, Def. 1.
    """
    rows = np.empty((1, topology.nodes), dtype=np.uint8)
    write_greedy_ports(topology, permutations.unrank(topology.n, root)[0], rows[0])
    return Forest(topology, freeze(rows), root, "greedy", verify_hubs=(root,))


@construction(
    "multiple", families=["star"], description="the n-1 trees L̂(ρ^i(r)), congestion 2",
    source="Tseng & Sheu 1997, Def. 2", one_tree_per_port=True,
)  # fmt: skip
def multiple(topology: Topology, root: int) -> Forest:
    """Return the n-1 trees L-hat(rho^i(r)), i = 1..n-1 (Tseng & Sheu 1997, Def. 2).

    Tree i-1 is the greedy tree of another root, re-rooted at r. The other root is rho^i(r), the
    label r shifted right by i positions.
    """
    symbols = permutations.unrank(topology.n, root)[0]
    old_roots = np.stack([permutations.shift(symbols, i) for i in range(1, topology.n)])
    rows = np.empty((topology.n - 1, topology.nodes), dtype=np.uint8)
    for row, old_root in zip(rows, old_roots, strict=True):
        write_greedy_ports(topology, old_root, row)
        reroot(topology, row, root)
    # In almost all nodes the parent is closer to the old root, so the old roots are good hubs.
    hubs = tuple(permutations.rank(old_roots).tolist())
    return Forest(topology, freeze(rows), root, "multiple", verify_hubs=hubs)


def write_greedy_ports(topology: Topology, root: Perms, out: NDArray[np.uint8]) -> None:
    """Write each node's port towards its parent in the greedy tree into ``out``, 0 at the root.

    In rank order the ports form runs. For the (n-1)! nodes with the same first symbol, if it is not
    the root's, the port is the position of that symbol in the root. For the nodes with the root's
    first symbol, it is the first position from 2 on where the node differs from the root.

    Args:
        topology: a star graph.
        root: the root's symbols, uint8 ``[n]``.
        out: uint8 ``[n!]``.

    Reference: Tseng & Sheu 1997, Def. 1.
    """
    block = topology.nodes // topology.n
    # Complete runs are filled, because computing ports one by one would take n operations per node.
    for position, symbol in enumerate(root.tolist(), start=1):
        out[(symbol - 1) * block : symbol * block].fill(position)
    write_first_differences(topology.n, root, (int(root[0]) - 1) * block, out)


class _Front(NamedTuple):
    """The nodes informed in the last step, as parallel arrays.

    Each node is the source in a substar S_dim1 (Rule 1 of the paper). Unless dim2 is 0, it is also
    a relay for S_dim2 (Rule 2).
    """

    node: Ranks
    dim1: NDArray[np.uint8]
    dim2: NDArray[np.uint8]


@construction(
    "recursive-substar", families=["star"], description="the broadcast tree of 2n-3 steps",
    source="Sheu, Liaw & Chen 1993, section 2",
)  # fmt: skip
def recursive_substar(topology: Topology, root: int) -> Forest:
    """Return the broadcast tree of 2n-3 steps; each node informs its children in the next step.

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
    last = front.dim1 == port  # Rule 1, port dim1: the receiver is a source only
    inner = port < front.dim1  # Rule 1, other ports: the receiver is also a relay for S_dim1
    # Rule 2: a relay sends over the ports from dim1 + 2 to dim2; dim1 + 1 leads to its parent.
    relayed = (front.dim1 + 2 <= port) & (port <= front.dim2)
    chosen = last | inner | relayed
    receivers = topology.neighbours(port, front.node[chosen])
    row[receivers] = port
    dim1 = np.full(len(receivers), port - 1, dtype=np.uint8)
    return _Front(receivers, dim1, np.where(inner, front.dim1, 0)[chosen].astype(np.uint8))
