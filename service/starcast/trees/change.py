"""Trees made from trees: label change LC(r, T) and dimension change DC(i, T) (Tseng & Sheu 1997, Def. 3 and 4).

LC acts on symbols: every node y becomes r∘y and every link keeps its dimension, so a tree rooted at the identity comes to r.
On S_{n,k} r stands for its extension by the missing symbols ascending; the residual ports are read anew at the images.

DC acts on dimensions and keeps the root: the path d1, d2, .. from the root becomes the path d1', d2', .. from the root with
d' = ((d-2+i) mod (n-1)) + 2. At the identity that is the image under the rotation R^i; at another root r it is r∘R^i(T)
for T moved to the identity. On S_{n,k} it would take links that exchange symbols to residual ones, which no automorphism
does for 2 <= k <= n-2. S_{n,n-1} is S_n. On S_{n,1}, the complete graph, R^i turns the symbols 2..n.
"""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.errors import InputError
from starcast.permutations import Ranks
from starcast.topologies import Topology
from starcast.topologies.necklaces import rotate, rotated_dimension
from starcast.trees.common import translated
from starcast.trees.model import Forest


def label_change(topology: Topology, root: int, base: Forest) -> Forest:
    """LC(root, T) for every tree T of a forest at the identity."""
    rows = translated(topology, base.parent_port, root)
    rows.flags.writeable = False
    verify_hubs = (
        None
        if base.verify_hubs is None
        else tuple(topology.translation(root)[list(base.verify_hubs)].tolist())
    )
    arguments = {"base": base.construction}
    return replace(
        base,
        parent_port=rows,
        root=root,
        construction="label-change",
        arguments=arguments,
        verify_hubs=verify_hubs,
    )


def dimension_change(topology: Topology, root: int, base: Forest, i: int) -> Forest:
    """DC(i, T) for every tree T of a forest at the identity, then moved to the root.

    Raises:
        InputError: i is not between 0 and n-2. The definition takes it mod n-1; here no tree has two names.
    """
    check_turns(topology, i)
    rows = np.empty_like(base.parent_port)
    for chunk in topology.chunks():
        nodes = np.arange(chunk.start, chunk.stop)
        rows[:, _turned(topology, nodes, i)] = _turned_ports(
            topology, nodes, base.parent_port[:, chunk], i
        )
    rows.flags.writeable = False
    verify_hubs = (
        None
        if base.verify_hubs is None
        else tuple(_turned(topology, np.array(base.verify_hubs), i).tolist())
    )
    there = label_change(topology, root, replace(base, parent_port=rows, verify_hubs=verify_hubs))
    return replace(
        there, construction="dimension-change", arguments={"base": base.construction, "i": int(i)}
    )


def check_turns(topology: Topology, i: int) -> None:
    """Accept how many places the dimensions of a topology move on.

    Raises:
        InputError: i is not between 0 and n-2.
    """
    last = topology.n - 2
    if not 0 <= i <= last:
        raise InputError(
            f"the dimensions of {topology.spec} cannot move {i} places on",
            hint=f"i goes from 0 to {last}",
        )


def no_dimension_change(topology: Topology) -> str | None:
    """Why dimensions cannot change on a topology, None where they can."""
    if topology.k is None or topology.k in (1, topology.n - 1):
        return None
    return "no automorphism takes a link that exchanges symbols to one that replaces the first"


def _turned(topology: Topology, nodes: NDArray[np.integer], i: int) -> Ranks:
    """R^i of nodes, int32 ``[count]``; what S_{n,n-1} calls them is what S_n does."""
    if topology.k == 1:
        return np.asarray(_turned_symbols(topology.n, i)[nodes + 1], dtype=np.int32) - 1
    return permutations.rank(rotate(permutations.unrank(topology.n, nodes), i))


def _turned_ports(
    topology: Topology, nodes: NDArray[np.integer], rows: NDArray[np.uint8], i: int
) -> NDArray[np.uint8]:
    """The ports at the images of nodes, uint8 ``[trees, count]``; 0 stays 0: the root, and who is not in the tree."""
    if topology.k != 1:
        return np.concatenate([[0, 0], _turned_symbols(topology.n, i)[2:]]).astype(np.uint8)[rows]
    parents = (nodes + rows.astype(np.int64) - 1) % topology.n  # port 1+s leads s symbols on
    steps = (_turned(topology, parents, i) - _turned(topology, nodes, i)) % topology.n
    return np.where(rows > 0, 1 + steps, 0).astype(np.uint8)


def _turned_symbols(n: int, i: int) -> NDArray[np.uint8]:
    """r^i of every symbol, and of every dimension, by its number, uint8 ``[n + 1]``; entry 0 means nothing."""
    return np.array(
        [0, 1, *(rotated_dimension(symbol, i, n) for symbol in range(2, n + 1))], dtype=np.uint8
    )
