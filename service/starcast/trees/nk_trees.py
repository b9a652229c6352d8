"""The trees of S_{n,k}: SP(r), and its n-1 re-rooted copies MT(R_i) (Li, Chen, Xiang & Yao).

docs/definitions/nk-star.md corrects the definition of SP(r), the shortest-path tree with root r.
Symbols are named by their positions in the root: v_1 = i means that the node v begins with the
root's i-th symbol. A symbol that the root lacks is *external*. The chain of an external symbol e in
v begins with e in position j_1. The root's symbol of position j_1 is in v's position j_2, and so
on, until the root's symbol of position j_m is not in v. That symbol is the *desired symbol* d(e).
The first symbol v_1 determines the link from v to its parent:

* v_1 = 1: exchange positions 1 and i, for the smallest i >= 2 in which v differs from the root;
* 2 <= v_1 <= k: exchange positions 1 and v_1;
* v_1 external: replace v_1 by the smallest desired symbol of the *other* external symbols of v, or
  by its own, d(v_1), if v has no other. The smallest desired symbol is the one with the lowest
  position in the root.
"""

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import freeze
from starcast.topologies import Topology, permutations
from starcast.topologies.permutations import Perms
from starcast.topologies.stars import NkStar
from starcast.trees.common import reroot, write_first_differences
from starcast.trees.construction import construction
from starcast.trees.model import Forest

# Number of labels processed at a time, so that they and their tables fit into the cache.
_ROWS = 2**15


@construction(
    "nk-greedy", families=["nk-star"], description="the shortest-path tree SP(r)",
    source="Li, Chen, Xiang & Yao, Def. 3",
)  # fmt: skip
def nk_greedy(topology: Topology, root: int) -> Forest:
    """Return the shortest-path tree SP(r), with its links directed away from the root.

    Reference: Li, Chen, Xiang & Yao, Def. 3.
    """
    star = require_nk_star(topology)
    rows = np.empty((1, star.nodes), dtype=np.uint8)
    write_sp_ports(star, star.rows(root)[0], rows[0])
    return Forest(star, freeze(rows), root, "nk-greedy", verify_hubs=(root,))


def require_nk_star(topology: Topology) -> NkStar:
    """Return the topology as an `NkStar`; the catalogue has already checked its family."""
    if not isinstance(topology, NkStar):
        raise TypeError(f"{topology.spec} is not an (n,k)-star")
    return topology


def write_sp_ports(topology: NkStar, root: Perms, out: NDArray[np.uint8]) -> None:
    """Write each node's port towards its parent in the tree SP(root) into ``out``, 0 at the root.

    Args:
        topology: an (n,k)-star.
        root: the root's symbols, uint8 ``[k]``.
        out: uint8 ``[nodes]``.
    """
    n, block = topology.n, topology.nodes // topology.n
    home = np.zeros(n + 1, dtype=np.uint8)  # a symbol's position in the root, 0 if it is external
    home[root] = np.arange(1, topology.k + 1)
    for symbol in range(1, n + 1):  # in rank order, the nodes with the same first symbol are a run
        start, stop = (symbol - 1) * block, symbol * block
        if home[symbol] == 1:
            write_first_differences(n, root, start, out)
        elif home[symbol]:
            out[start:stop].fill(home[symbol])
        else:
            for first in range(start, stop, _ROWS):
                nodes = np.arange(first, min(first + _ROWS, stop))
                ports = _residual_ports(topology, root, home, topology.rows(nodes))
                out[first : first + len(nodes)] = ports


def _residual_ports(
    topology: NkStar, root: Perms, home: NDArray[np.uint8], rows: Perms
) -> NDArray[np.uint8]:
    """Return the parent ports of nodes whose first symbol is not in the root."""
    count, k = rows.shape
    # The position in the node of the root's i-th symbol, 0 if the node lacks it.
    position = np.zeros((count, k + 1), dtype=np.uint8)
    np.put_along_axis(position, home[rows], np.arange(1, k + 1, dtype=np.uint8)[None, :], axis=1)
    own = np.ones(count, dtype=np.uint8)
    for _ in range(k):  # follow the chain of the first symbol
        successor = position[np.arange(count), own]
        own = np.where(successor > 0, successor, own)
    desired = position == 0  # the symbols that a node lacks are the desired symbols of its chains
    desired[:, 0] = False
    desired[np.arange(count), own] = False
    chosen = np.where(desired.any(axis=1), desired.argmax(axis=1), own)
    return topology.residual_port(rows, root[chosen - 1])


@construction(
    "nk-multiple", families=["nk-star"], description="the n-1 trees MT(R_i)",
    source="Li, Chen, Xiang & Yao, Def. 4 and 5", one_tree_per_port=True,
)  # fmt: skip
def nk_multiple(topology: Topology, root: int) -> Forest:
    """Return the n-1 trees MT(R_i): tree i-1 is the shortest-path tree SP(R_i(r)), re-rooted at r.

    R_i(r) shifts the extension of the root r, a label of all n symbols, right by i positions; the
    first k symbols of the result are the node.

    Reference: Li, Chen, Xiang & Yao, Def. 4 and 5.
    """
    star = require_nk_star(topology)
    extended = star.extension(root)
    old_roots = np.stack([permutations.shift(extended, i)[: star.k] for i in range(1, star.n)])
    rows = np.empty((star.n - 1, star.nodes), dtype=np.uint8)
    for row, old_root in zip(rows, old_roots, strict=True):
        write_sp_ports(star, old_root, row)
        reroot(star, row, root)
    hubs = permutations.arrangement_rank(old_roots, star.n)
    return Forest(star, freeze(rows), root, "nk-multiple", verify_hubs=tuple(hubs.tolist()))
