"""Labels of S_n as arrays: symbols, positions, ranks, translations, and the rotation R.

Translation and R are those of docs/definitions/conventions.md (Fragopoulou & Akl 1993, Definitions
2 and 5). The module uses neither `starcast.trees` nor the ranking of `starcast.permutations`. The
number 0 is not a symbol and stays unchanged: it occurs in labels that the mutation tests break.
"""

from itertools import permutations as orders

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import ObjectCache
from starcast.permutations import Perms, Ranks
from starcast.topologies import Topology


def symbols(objects: ObjectCache, topology: Topology) -> Perms:
    """Return the symbols x_1, .., x_n of every node, in rank order, uint8 ``[nodes, n]``."""
    return objects.array(
        "symbols",
        topology.spec,
        lambda: np.array(list(orders(range(1, topology.n + 1))), dtype=np.uint8),
    )


def positions(rows: Perms) -> NDArray[np.int64]:
    """Return the position, from 1, of symbol s+1 in each node, int64 ``[n, nodes]``."""
    return np.argsort(rows, axis=1).T + 1


def ranks_of(objects: ObjectCache, topology: Topology, rows: NDArray[np.integer]) -> Ranks:
    """Return the lexicographic ranks of rows of symbols, int32 ``[rows]``."""
    weights = (topology.n + 1) ** np.arange(topology.n - 1, -1, -1)
    found = np.searchsorted(symbols(objects, topology) @ weights, rows @ weights)
    return np.minimum(found, topology.nodes - 1).astype(np.int32)


def translation(objects: ObjectCache, topology: Topology, q: int) -> Ranks:
    """Return the rank of (q[x_1], .., q[x_n]) for every node x, int32 ``[nodes]``.

    The papers call it F_q(x), T_q(x), LC(q, .) and q∘x.
    """

    def create() -> Ranks:
        rows = symbols(objects, topology)
        return ranks_of(objects, topology, np.append(0, rows[q])[rows])

    return objects.array(f"translation by {q}", topology.spec, create)


def translations(objects: ObjectCache, topology: Topology) -> Ranks:
    """Return all translations, int32 ``[nodes q, nodes x]``."""

    def create() -> Ranks:
        rows = symbols(objects, topology)
        return np.stack([ranks_of(objects, topology, np.append(0, q)[rows]) for q in rows])

    return objects.array("translations", topology.spec, create)


def rotation_function(n: int) -> NDArray[np.int64]:
    """Return the function r of symbols, positions and dimensions, int64 ``[n+1]``.

    r(1) = 1, r(n) = 2, and r(s) = s+1 for any other s.
    """
    return np.array([0, 1, *range(3, n + 1), 2][: n + 1])


def rotation(objects: ObjectCache, topology: Topology) -> Ranks:
    """Return the rank of R(x) for every node x, int32 ``[nodes]``: r(x_s) is in position r(s).

    In cycle notation (Definition 5): if s is followed by x_s in x, r(s) is followed by r(x_s) in
    R(x).
    """

    def create() -> Ranks:
        rows, to = symbols(objects, topology), rotation_function(topology.n)
        out = np.empty_like(rows)
        out[:, to[1:] - 1] = to[rows]
        return ranks_of(objects, topology, out)

    return objects.array("rotation", topology.spec, create)
