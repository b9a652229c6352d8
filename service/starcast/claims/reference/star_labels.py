"""Labels of S_n in arrays: symbols and positions, ranks, translations, and the rotation R with its function r.

Written from docs/definitions/conventions.md, which has translation and R as Fragopoulou & Akl 1993 do (Definitions 2 and 5).
Nothing here knows `starcast.trees`, nor how `starcast.permutations` ranks. 0 is no symbol and stays what it is: it occurs in
labels that were broken on purpose.
"""

from itertools import permutations as orders

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import ObjectCache
from starcast.permutations import Perms, Ranks
from starcast.topologies import Topology


def symbols(objects: ObjectCache, topology: Topology) -> Perms:
    """Row x has the symbols x_1, .., x_n of the node of rank x, in lexicographic order, uint8 ``[nodes, n]``."""
    return objects.array(
        "symbols",
        topology.spec,
        lambda: np.array(list(orders(range(1, topology.n + 1))), dtype=np.uint8),
    )


def places(rows: Perms) -> NDArray[np.int64]:
    """The position of symbol s+1 in each node, counted from 1, int64 ``[n, nodes]``."""
    return np.argsort(rows, axis=1).T + 1


def ranked(objects: ObjectCache, topology: Topology, rows: NDArray[np.integer]) -> Ranks:
    """The ranks of rows of symbols, int32 ``[rows]``: where they stand in lexicographic order."""
    weights = (topology.n + 1) ** np.arange(topology.n - 1, -1, -1)
    found = np.searchsorted(symbols(objects, topology) @ weights, rows @ weights)
    return np.minimum(found, topology.nodes - 1).astype(np.int32)


def translation(objects: ObjectCache, topology: Topology, q: int) -> Ranks:
    """F_q(x), T_q(x), LC(q, .), q∘x: the rank of (q[x_1], .., q[x_n]) for every node x, int32 ``[nodes]``."""

    def made() -> Ranks:
        rows = symbols(objects, topology)
        return ranked(objects, topology, np.append(0, rows[q])[rows])

    return objects.array(f"translation by {q}", topology.spec, made)


def translations(objects: ObjectCache, topology: Topology) -> Ranks:
    """All of them, int32 ``[nodes q, nodes x]``."""

    def made() -> Ranks:
        rows = symbols(objects, topology)
        return np.stack([ranked(objects, topology, np.append(0, q)[rows]) for q in rows])

    return objects.array("translations", topology.spec, made)


def r(n: int) -> NDArray[np.int64]:
    """The function r of symbols, positions and dimensions, int64 ``[n+1]``: 1 stays, n becomes 2, any other s becomes s+1."""
    return np.array([0, 1, *range(3, n + 1), 2][: n + 1])


def rotation(objects: ObjectCache, topology: Topology) -> Ranks:
    """The rank of R(x) for every node x, int32 ``[nodes]``: r(x_s) in position r(s).

    So in cycles, as Definition 5 has it: where s is followed by x_s in x, r(s) is followed by r(x_s) in R(x).
    """

    def made() -> Ranks:
        rows, to = symbols(objects, topology), r(topology.n)
        out = np.empty_like(rows)
        out[:, to[1:] - 1] = to[rows]
        return ranked(objects, topology, out)

    return objects.array("rotation", topology.spec, made)
