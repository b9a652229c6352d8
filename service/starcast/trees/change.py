"""Trees made from trees: label change LC(r, T) and dimension change DC(i, T) (Tseng & Sheu 1997, Def. 3 and 4).

LC acts on symbols: every node y becomes r∘y and every link keeps its dimension, so a tree rooted at the identity comes to r.
DC acts on dimensions and keeps the root: the path d1, d2, .. from the root becomes the path d1', d2', .. from the root with
d' = ((d-2+i) mod (n-1)) + 2. At the identity that is the image under the rotation R^i; at another root r it is r∘R^i(T)
for T moved to the identity.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from starcast.errors import InputError
from starcast.permutations import Ranks
from starcast.topologies import Topology
from starcast.topologies.necklaces import rotated_dimension, rotation
from starcast.trees.forest import Forest
from starcast.trees.growth import translated


def label_change(topology: Topology, root: int, tree: Forest) -> Forest:
    """LC(root, T) for every tree T of a forest at the identity."""
    rows = translated(topology, tree.parent_port, root)
    rows.flags.writeable = False
    return replace(
        tree,
        parent_port=rows,
        root=root,
        construction="label-change",
        arguments={"tree": tree.construction},
        toward=_images(tree.toward, topology.translation(root)),
    )


def dimension_change(topology: Topology, root: int, tree: Forest, i: int) -> Forest:
    """DC(i, T) for every tree T of a forest at the identity, then moved to the root.

    Raises:
        InputError: i is not between 0 and n-2. The definition takes it mod n-1; here no tree has two names.
    """
    n = topology.n
    if not 0 <= i <= n - 2:
        raise InputError(f"the dimensions of {topology.spec} cannot move {i} places on", hint=f"i goes from 0 to {n - 2}")
    turned = _turned_nodes(n, i)
    dimensions = np.zeros(n + 1, dtype=np.uint8)  # 0 stays 0: the root, and who is not in the tree
    dimensions[2:] = [rotated_dimension(dimension, i, n) for dimension in range(2, n + 1)]
    rows = np.empty_like(tree.parent_port)
    rows[:, turned] = dimensions[tree.parent_port]
    rows.flags.writeable = False
    at_identity = replace(tree, parent_port=rows, toward=_images(tree.toward, turned))
    there = label_change(topology, root, at_identity)
    return replace(there, construction="dimension-change", arguments={"tree": tree.construction, "i": i})


def _turned_nodes(n: int, i: int) -> Ranks:
    """R^i of every node, int32 ``[n!]``."""
    once = rotation(n)
    image = np.arange(len(once), dtype=np.int32)
    for _ in range(i):
        image = once[image]
    return image


def _images(nodes: Sequence[int] | None, image: Ranks) -> tuple[int, ...] | None:
    return None if nodes is None else tuple(image[list(nodes)].tolist())
