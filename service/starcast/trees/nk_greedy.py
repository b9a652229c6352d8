"""The shortest-path tree SP(r) of S_{n,k} (Li, Chen, Xiang & Yao, Def. 3, as docs/definitions/nk-star.md repairs it).

Positions of the root stand for its symbols: v_1 = i means that v begins with the symbol of the root's position i. A symbol
that the root lacks is *external*, and the chain of an external symbol e in v is: e stands in position j_1, the root's symbol
of position j_1 stands in v's position j_2, and so on until the one of position j_m stands nowhere; it is the *desired symbol*
d(e). The parent of v:

* v_1 = 1: exchange with the smallest position i >= 2 where v differs from the root.
* 2 <= v_1 <= k: exchange with position v_1.
* v_1 external: replace v_1 by the smallest desired symbol of the *other* external symbols of v, if v has another one; by its
  own, d(v_1), if it has not. The smallest is that of the lowest position in the root.
"""

from math import perm

import numpy as np
from numpy.typing import NDArray

from starcast.permutations import Perms
from starcast.topologies import Topology
from starcast.topologies.nk_star import NkStar
from starcast.trees.model import Forest

_ROWS = 2**15  # labels at a time: they and their tables stay in the cache


def nk_greedy(topology: Topology, root: int) -> Forest:
    """SP(r) with its links turned away from the root, so that it broadcasts; a shortest path to every node."""
    there = nk_star(topology)
    rows = np.empty((1, there.nodes), dtype=np.uint8)
    sp_ports(there, there.rows(root)[0], rows[0])
    rows.flags.writeable = False
    return Forest(there, rows, root, "nk-greedy", verify_hubs=(root,))


def nk_star(topology: Topology) -> NkStar:
    """The topology as the (n,k)-star that it is; the catalogue has seen to that."""
    if not isinstance(topology, NkStar):
        raise TypeError(f"{topology.spec} is no (n,k)-star")
    return topology


def sp_ports(topology: NkStar, root: Perms, out: NDArray[np.uint8]) -> None:
    """Write every node's port towards its parent in SP(root) into ``out``, 0 at the root."""
    n, block = topology.n, topology.nodes // topology.n
    home = np.zeros(n + 1, dtype=np.uint8)  # a symbol's position in the root, 0 if it is external
    home[root] = np.arange(1, topology.k + 1)
    for symbol in range(1, n + 1):  # in rank order, the nodes that begin with a symbol are a run
        start, stop = (symbol - 1) * block, symbol * block
        if home[symbol] == 1:
            _first_differences(n, root, start, out)
        elif home[symbol]:
            out[start:stop].fill(home[symbol])
        else:
            for some in range(start, stop, _ROWS):
                here = slice(some, min(some + _ROWS, stop))
                out[here] = _residual_ports(
                    topology, root, home, topology.rows(np.arange(here.start, here.stop))
                )


def _first_differences(n: int, root: Perms, start: int, out: NDArray[np.uint8]) -> None:
    """The first position from 2 on that differs from the root, for the nodes from ``start`` on that begin like it."""
    for depth in range(
        1, len(root)
    ):  # start: the first node that agrees with the root on its first `depth` symbols
        free = sorted(set(range(1, n + 1)) - set(root[:depth].tolist()))
        block = perm(n - depth - 1, len(root) - depth - 1)
        out[start : start + len(free) * block].fill(depth + 1)
        start += free.index(int(root[depth])) * block
    out[start] = 0


def _residual_ports(
    topology: NkStar, root: Perms, home: NDArray[np.uint8], rows: Perms
) -> NDArray[np.uint8]:
    """The ports of nodes whose first symbol is external."""
    count, k = rows.shape
    where = np.zeros(
        (count, k + 1), dtype=np.uint8
    )  # the position in the node of the root's i-th symbol, 0 if missing
    np.put_along_axis(where, home[rows], np.arange(1, k + 1, dtype=np.uint8)[None, :], axis=1)
    own = np.ones(count, dtype=np.uint8)
    for _ in range(k):  # along the chain of the first symbol
        further = where[np.arange(count), own]
        own = np.where(further > 0, further, own)
    desired = where == 0  # of the chains together, the missing symbols
    desired[:, 0] = False
    desired[np.arange(count), own] = False
    chosen = np.where(desired.any(axis=1), desired.argmax(axis=1), own)
    return topology.residual_port(rows, root[chosen - 1])
