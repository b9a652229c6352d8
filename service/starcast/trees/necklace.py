"""The multinode broadcast spanning tree MBST (Fragopoulou & Akl 1993, section 3.2).

All nodes are numbered: m(root) = 0, then 1..n!-1. Node number m hangs across dimension v(m) = (m-1) mod (n-1) + 2 and is
reached in step ceil(m / (n-1)), so that the links of a step have different dimensions. The numbers run over the distances
k = 1..D from the root, for each over the necklaces (the orbits of the rotation R) of that distance in the order

1. N_k1, the necklace of the generator G_k, which is undefined for n odd and k = D only;
2. those that do not start with 1, ascending by their smallest node;
3. those that start with 1, likewise,

and within a necklace over the rotations of a first node. Nodes and dimensions rotate together, so what v does for the first
node it does for all. With v the dimension of the first free number, the first node is the smallest one that v leads closer to
the root. In N_k1 it is the rotation of G_k that has v for the dimension t_k of G_k. In cycle notation (s is followed by x_s)

* G_k = (k+1, k, .., 2, 1) and t_k = k+1 for k <= n-1;
* G_k = (n, n-1)(n-2, n-3) .. (a+2, a+1)(a, a-1, .., 1), with k+1-n pairs, and t_k = a+1 for k >= n.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.permutations import Perms, Ranks
from starcast.topologies import Topology
from starcast.topologies.necklaces import necklaces, rotation
from starcast.trees.common import translated
from starcast.trees.model import Forest


class Generator(NamedTuple):
    """G_k and the dimension t_k across which it hangs."""

    node: Perms
    dimension: int


class _Listed(NamedTuple):
    """The necklaces without the root's in the order of their numbers, each an array of equal length."""

    smallest: Ranks
    period: NDArray[np.int64]
    number: NDArray[np.int64]  # of the first node


def necklace(topology: Topology, root: int) -> Forest:
    """One tree of shortest paths: the parent of node number m is across dimension v(m)."""
    rows = translated(topology, dimensions(topology.n, numbering(topology))[None, :], root)
    rows.flags.writeable = False
    return Forest(topology, rows, root, "necklace", verify_hubs=(root,))


def numbering(topology: Topology) -> Ranks:
    """m(x) for every node x of S_n, the root the identity, int32 ``[n!]``."""
    turn = rotation(topology.n)
    listed = _listed(topology)
    at = _first_nodes(topology, listed, turn)
    numbers = np.zeros(topology.nodes, dtype=np.int32)
    for place in range(topology.n - 1):
        there = listed.period > place
        numbers[at[there]] = listed.number[there] + place
        at = turn[at]
    return numbers


def dimensions(n: int, numbers: NDArray[np.integer]) -> NDArray[np.uint8]:
    """v(m) for each number m; 0 for the root's."""
    return np.where(numbers == 0, 0, (numbers - 1) % (n - 1) + 2).astype(np.uint8)


def generators(topology: Topology) -> dict[int, Generator]:
    """G_k by k."""
    defined = range(1, topology.diameter + 1 - topology.n % 2)
    return {k: _generator(topology.n, k) for k in defined}


def _generator(n: int, k: int) -> Generator:
    pairs = max(0, k + 1 - n)
    last = n - 2 * pairs if pairs else k + 1  # a, or k+1: the first symbol of the cycle with 1
    node = np.arange(1, n + 1, dtype=np.uint8)
    node[:last] = [last, *range(1, last)]
    for upper in range(n, n - 2 * pairs, -2):
        node[upper - 2 : upper] = upper, upper - 1
    return Generator(node, last + 1 if pairs else last)


def _listed(topology: Topology) -> _Listed:
    found = necklaces(topology.n)
    smallest = np.flatnonzero(found.leader == np.arange(topology.nodes))[1:].astype(np.int32)
    kind = np.where(
        smallest < topology.nodes // topology.n, 2, 1
    )  # those that start with 1 have the lowest ranks
    nodes = np.stack([generator.node for generator in generators(topology).values()])
    kind[np.isin(smallest, found.leader[permutations.rank(nodes)])] = 0
    smallest = smallest[np.lexsort((smallest, kind, topology.distances()[smallest]))]
    period = found.period[smallest].astype(np.int64)
    return _Listed(smallest, period, np.cumsum(period) - period + 1)


def _first_nodes(topology: Topology, listed: _Listed, turn: Ranks) -> Ranks:
    """The node of each necklace that has its first number."""
    distances = topology.distances()
    v = dimensions(topology.n, listed.number)
    first = np.full(len(listed.smallest), topology.nodes, dtype=np.int32)
    at = listed.smallest
    for _ in range(topology.n - 1):
        closer = distances[topology.step(v, at)] < distances[at]
        first = np.where(closer & (at < first), at, first)
        at = turn[at]
    for k, generator in generators(topology).items():
        begins = np.searchsorted(distances[listed.smallest], k)
        node = permutations.rank(generator.node[None, :])
        for _ in range((int(v[begins]) - generator.dimension) % (topology.n - 1)):
            node = turn[node]
        first[begins] = node[0]
    return first
