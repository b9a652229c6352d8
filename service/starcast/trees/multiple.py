"""The n-1 trees L-hat(rho^i(r)), i = 1..n-1, of congestion 2 (Tseng & Sheu 1997, Def. 2, Lemma 6)."""

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.errors import InputError
from starcast.permutations import Perms
from starcast.topologies import Topology
from starcast.trees.common import greedy_path, greedy_ports
from starcast.trees.model import Forest


def multiple(topology: Topology, root: int) -> Forest:
    """Tree i-1 is the undirected tree L(rho^i(r)), re-rooted at r; rho shifts the label right by one position."""
    rows = np.empty((topology.n - 1, topology.nodes), dtype=np.uint8)
    verify_hubs = [_grow(topology, root, i, row) for i, row in enumerate(rows, 1)]
    rows.flags.writeable = False
    return Forest(topology, rows, root, "multiple", verify_hubs=verify_hubs)


def multiple_tree(topology: Topology, root: int, i: int) -> Forest:
    """The tree L-hat(rho^i(r)) alone, 1 <= i <= n-1: where the n-1 trees together are beyond memory, as on S_12.

    Raises:
        InputError: there is no such tree.
    """
    if not 1 <= i < topology.n:
        raise InputError(
            f"{topology.spec} has no tree {i} of 'multiple'",
            hint=f"i goes from 1 to {topology.n - 1}",
        )
    rows = np.empty((1, topology.nodes), dtype=np.uint8)
    verify_hubs = _grow(topology, root, i, rows[0])
    rows.flags.writeable = False
    return Forest(topology, rows, root, "multiple", {"i": i}, verify_hubs=(verify_hubs,))


def _grow(topology: Topology, root: int, i: int, row: NDArray[np.uint8]) -> int:
    """Write tree i into a row; returns the node that its links lead towards, but for those of the path to the root."""
    here = permutations.unrank(topology.n, root)[0]
    old = permutations.shift(here, i)
    greedy_ports(topology, old, row)
    _reroot(row, here, old)
    return int(permutations.rank(old[None, :])[0])


def _reroot(row: NDArray[np.uint8], root: Perms, old: Perms) -> None:
    """Turn the links of the path from the root to the tree's old root around, in place; they keep their dimensions."""
    path, ports = greedy_path(root, old)
    ranks = permutations.rank(path)
    row[ranks[0]] = 0
    row[ranks[1:]] = ports
