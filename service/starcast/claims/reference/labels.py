"""Labels of S_n as arrays.

The module computes symbols, positions, ranks, translations, and the rotation R. Translation and R
are defined in docs/definitions/conventions.md (Fragopoulou & Akl 1993, Definitions 2 and 5). The
module uses neither `starcast.trees` nor the ranking of `starcast.topologies.permutations`. The
number 0 is not a symbol and is left unchanged: it occurs in labels that the mutation tests corrupt.
"""

from itertools import permutations as orders

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import CachedTopology
from starcast.topologies.permutations import Perms, Ranks


def symbols(network: CachedTopology) -> Perms:
    """Return the symbols x_1, .., x_n of every node, in rank order, uint8 ``[nodes, n]``."""
    return network.array(
        "symbols", lambda: np.array(list(orders(range(1, network.n + 1))), dtype=np.uint8)
    )


def positions(rows: Perms) -> NDArray[np.int64]:
    """Return in row s the position (from 1) of symbol s+1 in each node, int64 ``[n, nodes]``."""
    return np.argsort(rows, axis=1).T + 1


def ranks_of(network: CachedTopology, rows: NDArray[np.integer]) -> Ranks:
    """Return the lexicographic ranks of rows of symbols, int32 ``[rows]``."""
    # As numbers in base n+1, labels in rank order are ascending, so a binary search finds ranks.
    weights = (network.n + 1) ** np.arange(network.n - 1, -1, -1)
    found = np.searchsorted(symbols(network) @ weights, rows @ weights)
    # A label that a mutation test corrupted can be larger than all labels.
    return np.minimum(found, network.nodes - 1).astype(np.int32)


def translation(network: CachedTopology, q: int) -> Ranks:
    """Return the rank of the label (q[x_1], .., q[x_n]) for every node x, int32 ``[nodes]``.

    The papers call this translation F_q(x), T_q(x), LC(q, .) or q∘x.
    """

    def create() -> Ranks:
        rows = symbols(network)
        return ranks_of(network, np.append(0, rows[q])[rows])

    return network.array(f"translation by {q}", create)


def translations(network: CachedTopology) -> Ranks:
    """Return the translation of every node x by every node q, int32 ``[nodes q, nodes x]``."""

    def create() -> Ranks:
        rows = symbols(network)
        return np.stack([ranks_of(network, np.append(0, q)[rows]) for q in rows])

    return network.array("translations", create)


def rotation_function(n: int) -> NDArray[np.int64]:
    """Return the function r that R applies to symbols, positions and dimensions, int64 ``[n+1]``.

    r(1) = 1, r(n) = 2, and r(s) = s+1 for any other s.
    """
    return np.array([0, 1, *range(3, n + 1), 2][: n + 1])


def rotation(network: CachedTopology) -> Ranks:
    """Return the rank of R(x) for every node x, int32 ``[nodes]``.

    R(x) has the symbol r(x_s) in position r(s); see `rotation_function`. In cycle notation
    (Definition 5): if s is followed by x_s in x, r(s) is followed by r(x_s) in R(x).
    """

    def create() -> Ranks:
        rows, to = symbols(network), rotation_function(network.n)
        out = np.empty_like(rows)
        out[:, to[1:] - 1] = to[rows]
        return ranks_of(network, out)

    return network.array("rotation", create)


def rotations(network: CachedTopology) -> Ranks:
    """Return the images of all nodes after 0, 1, .., n-2 rotations, int32 ``[n-1, nodes]``."""
    rotated = rotation(network)
    rows = [np.arange(network.nodes, dtype=np.int32)]
    for _ in range(network.n - 2):
        rows.append(rotated[rows[-1]])
    return np.stack(rows)


def return_times(network: CachedTopology) -> NDArray[np.int64]:
    """Return, for each node, after how many rotations it is mapped to itself; 0 if 4n or more."""
    node = rotated = rotation(network)
    times = np.zeros(network.nodes, dtype=np.int64)
    for count in range(1, 4 * network.n):
        times = np.where((node == np.arange(network.nodes)) & (times == 0), count, times)
        node = rotated[node]
    return times
