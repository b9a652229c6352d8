"""Label change LC(r, T) and dimension change DC(i, T) of trees (Tseng & Sheu 1997, Def. 3 and 4).

LC changes symbols: every node y becomes r∘y and every link keeps its dimension, so that a tree
rooted at the identity becomes a tree rooted at r. On S_{n,k}, r is first extended by its missing
symbols in ascending order; the ports of residual links, which replace the first symbol by a missing
one, are recomputed at r∘y.

DC changes dimensions and keeps the root: a path from the root across the dimensions d1, d2, ..
becomes the path from the root across d1', d2', .., where d' = ((d-2+i) mod (n-1)) + 2. If the root
is the identity, DC(i, T) is the image of T under the rotation R^i. For another root r it is
r∘R^i(T'), where T' is T translated to the identity. On S_{n,k}, DC would map exchange links to
residual links, which no automorphism does for 2 <= k <= n-2. It is defined on S_{n,n-1}, which is
isomorphic to S_n, and on S_{n,1}, the complete graph, where R^i rotates the symbols 2..n.
"""

from dataclasses import replace
from typing import Annotated

import numpy as np
from numpy.typing import NDArray

from starcast.catalogue import Argument
from starcast.support.arrays import freeze
from starcast.topologies import Topology, permutations
from starcast.topologies.necklaces import rotate, rotated_dimension
from starcast.topologies.permutations import Ranks
from starcast.trees.construction import construction, plain_constructions, translate_forest
from starcast.trees.model import Forest

Base = Annotated[
    Forest,
    Argument(
        "base",
        "the trees to change: a construction without arguments, such as 'multiple'",
        kind="construction",
        choices=plain_constructions,
        noun="a construction without arguments",
    ),
]
Shift = Annotated[
    int,
    Argument(
        "i", "how many places, 0 to n-2", kind="index", maximum=lambda topology: topology.n - 2
    ),
]


def _no_dimension_change(topology: Topology) -> str | None:
    """Return why DC is not defined on a topology, or None if it is."""
    if topology.k is None or topology.k in (1, topology.n - 1):
        return None
    return "no automorphism maps links that exchange symbols to links that replace the first symbol"


@construction(
    "label-change", families=["star", "nk-star"],
    description="LC(r, T): the trees T translated by their root",
    source="Tseng & Sheu 1997, Def. 3",
)  # fmt: skip
def label_change(topology: Topology, root: int, base: Base) -> Forest:  # noqa: ARG001 - that of the base
    """Return LC(root, T) for every tree T of a forest that is rooted at the identity.

    Reference: Tseng & Sheu 1997, Def. 3.
    """
    return replace(
        translate_forest(base, root),
        construction="label-change",
        arguments={"base": base.construction},
    )


@construction(
    "dimension-change", families=["star", "nk-star"],
    description="DC(i, T): every dimension of T moved by i places, with the same root",
    source="Tseng & Sheu 1997, Def. 4", exclusion=_no_dimension_change,
)  # fmt: skip
def dimension_change(topology: Topology, root: int, base: Base, i: Shift) -> Forest:
    """Return DC(i, T), translated to the root, for every tree T of a base rooted at the identity.

    Args:
        topology: the topology of the forest.
        root: rank of the root.
        base: the trees T, rooted at the identity.
        i: by how many places the dimensions move, 0 to n-2. The definition takes i modulo n-1. With
            the smaller range, every tree has only one id.

    Reference: Tseng & Sheu 1997, Def. 4.
    """
    rows = np.empty_like(base.parent_port)
    for chunk in topology.chunks():
        nodes = np.arange(chunk.start, chunk.stop)
        ports = _rotate_ports(topology, nodes, base.parent_port[:, chunk], i)
        rows[:, _rotate_nodes(topology, nodes, i)] = ports
    hubs = base.verify_hubs
    if hubs is not None:
        hubs = tuple(_rotate_nodes(topology, np.array(hubs), i).tolist())
    rotated = replace(base, parent_port=freeze(rows), verify_hubs=hubs)
    return replace(
        label_change(topology, root, rotated),
        construction="dimension-change",
        arguments={"base": base.construction, "i": int(i)},
    )


def _rotate_nodes(topology: Topology, nodes: NDArray[np.integer], i: int) -> Ranks:
    """Return the rank of R^i(x) for each node x, int32 ``[count]``.

    Nodes of S_{n,n-1} have the same ranks as the corresponding nodes of S_n.
    """
    if topology.k == 1:
        return np.asarray(_rotated_symbols(topology.n, i)[nodes + 1], dtype=np.int32) - 1
    return permutations.rank(rotate(permutations.unrank(topology.n, nodes), i))


def _rotate_ports(
    topology: Topology, nodes: NDArray[np.integer], rows: NDArray[np.uint8], i: int
) -> NDArray[np.uint8]:
    """Return the images of the nodes' ports under R^i, uint8 ``[trees, count]``; 0 stays 0."""
    if topology.k != 1:
        symbols = _rotated_symbols(topology.n, i)
        return np.concatenate([[0, 0], symbols[2:]]).astype(np.uint8)[rows]
    # On S_{n,1}, port 1+s leads from a node to the symbol s places later.
    parents = (nodes + rows.astype(np.int64) - 1) % topology.n
    steps = _rotate_nodes(topology, parents, i) - _rotate_nodes(topology, nodes, i)
    return np.where(rows > 0, 1 + steps % topology.n, 0).astype(np.uint8)


def _rotated_symbols(n: int, i: int) -> NDArray[np.uint8]:
    """Return the symbol or dimension after i rotations, uint8 ``[n + 1]``; entry 0 is unused."""
    rotated = [rotated_dimension(symbol, i, n) for symbol in range(2, n + 1)]
    return np.array([0, 1, *rotated], dtype=np.uint8)
