"""The n-1 trees L-hat(rho^i(r)) of congestion 2 (Tseng & Sheu 1997, Def. 2 and Lemma 6)."""

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import freeze
from starcast.support.errors import InputError
from starcast.topologies import Topology, permutations
from starcast.topologies.permutations import Perms
from starcast.trees.common import greedy_path, write_greedy_ports
from starcast.trees.construction import construction
from starcast.trees.model import Forest


@construction(
    "multiple", families=["star"], description="the n-1 trees L-hat(rho^i(r)), congestion 2",
    source="Tseng & Sheu 1997, Def. 2", one_tree_per_port=True,
)  # fmt: skip
def multiple(topology: Topology, root: int) -> Forest:
    """Return the n-1 trees L-hat(rho^i(r)), i = 1..n-1 (Tseng & Sheu 1997, Def. 2).

    Tree i-1 is the undirected tree L(rho^i(r)), re-rooted at r; rho shifts the label right by one
    position.
    """
    rows = np.empty((topology.n - 1, topology.nodes), dtype=np.uint8)
    hubs = [_write_tree(topology, root, i, row) for i, row in enumerate(rows, 1)]
    return Forest(topology, freeze(rows), root, "multiple", verify_hubs=hubs)


def multiple_tree(topology: Topology, root: int, i: int) -> Forest:
    """Return the tree L-hat(rho^i(r)) alone, for topologies whose n-1 trees exceed the memory.

    Raises:
        InputError: i is not between 1 and n-1.
    """
    if not 1 <= i < topology.n:
        raise InputError(
            f"{topology.spec} has no tree {i} of 'multiple'",
            hint=f"i goes from 1 to {topology.n - 1}",
        )
    rows = np.empty((1, topology.nodes), dtype=np.uint8)
    hub = _write_tree(topology, root, i, rows[0])
    return Forest(topology, freeze(rows), root, "multiple", {"i": i}, verify_hubs=(hub,))


def _write_tree(topology: Topology, root: int, i: int, row: NDArray[np.uint8]) -> int:
    """Write tree i into a row, and return the root that it had before it was re-rooted."""
    new_root = permutations.unrank(topology.n, root)[0]
    old_root = permutations.shift(new_root, i)
    write_greedy_ports(topology, old_root, row)
    _reroot(row, new_root, old_root)
    return int(permutations.rank(old_root[None, :])[0])


def _reroot(row: NDArray[np.uint8], new_root: Perms, old_root: Perms) -> None:
    """Reverse the links between the roots, in place; the links keep their dimensions."""
    path, ports = greedy_path(new_root, old_root)
    ranks = permutations.rank(path)
    row[ranks[0]] = 0
    row[ranks[1:]] = ports
