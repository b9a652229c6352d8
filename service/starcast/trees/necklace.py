"""The multinode broadcast spanning tree MBST (Fragopoulou & Akl 1993, section 3.2).

All nodes are numbered: m(root) = 0, then 1..n!-1. The parent of node number m is across dimension
v(m) = (m-1) mod (n-1) + 2, and the node is reached in step ceil(m / (n-1)), so that the links of a
step have different dimensions. The numbers run over the distances k = 1..D from the root, within a
distance over the necklaces (the orbits of the rotation R) in the order

1. N_k1, the necklace of the generator G_k, which is undefined only for n odd and k = D;
2. those that do not start with 1, ascending by their smallest node;
3. those that start with 1, likewise,

and within a necklace over the rotations of a first node. Nodes and dimensions rotate together, so
that all nodes of the necklace are as the first one. If v is the dimension of the first unused
number, the first node is the smallest node whose neighbour across v is closer to the root; in N_k1
it is the rotation of G_k that maps the dimension t_k of G_k to v. In cycle notation (s is followed
by x_s)

* G_k = (k+1, k, .., 2, 1) and t_k = k+1 for k <= n-1;
* G_k = (n, n-1)(n-2, n-3) .. (a+2, a+1)(a, a-1, .., 1), with k+1-n pairs, and t_k = a+1 for k >= n.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology, permutations
from starcast.topologies.necklaces import necklaces, rotation
from starcast.topologies.permutations import Perms, Ranks
from starcast.trees.common import translate_ports
from starcast.trees.construction import construction
from starcast.trees.model import Forest


class Generator(NamedTuple):
    """G_k and the dimension t_k towards its parent."""

    node: Perms
    dimension: int


class _NecklaceList(NamedTuple):
    """The necklaces except the root's, in the order of their numbers, as arrays of equal length."""

    smallest: Ranks
    period: NDArray[np.int64]
    number: NDArray[np.int64]  # of the first node


@construction(
    "necklace", families=["star"],
    description="MBST: the shortest-path tree that numbers the nodes necklace by necklace",
    source="Fragopoulou & Akl 1993, section 3.2",
)  # fmt: skip
def necklace(topology: Topology, root: int) -> Forest:
    """Return MBST, a shortest-path tree: the parent of node number m is across dimension v(m).

    Reference: Fragopoulou & Akl 1993, section 3.2.
    """
    row = dimensions(topology.n, numbering(topology))[None, :]
    rows = translate_ports(topology, row, root)
    return Forest(topology, rows, root, "necklace", verify_hubs=(root,))


def numbering(topology: Topology) -> Ranks:
    """Return the number m(x) of every node x of S_n for the root 12..n, int32 ``[n!]``."""
    turn = rotation(topology.n)
    orbits = _list_necklaces(topology)
    nodes = _first_nodes(topology, orbits, turn)
    numbers = np.zeros(topology.nodes, dtype=np.int32)
    for turns in range(topology.n - 1):
        chosen = orbits.period > turns
        numbers[nodes[chosen]] = orbits.number[chosen] + turns
        nodes = turn[nodes]
    return numbers


def dimensions(n: int, numbers: NDArray[np.integer]) -> NDArray[np.uint8]:
    """Return v(m) for each number m; 0 for the root's number 0."""
    return np.where(numbers == 0, 0, (numbers - 1) % (n - 1) + 2).astype(np.uint8)


def generators(topology: Topology) -> dict[int, Generator]:
    """Return G_k by k."""
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


def _list_necklaces(topology: Topology) -> _NecklaceList:
    orbits = necklaces(topology.n)
    smallest = np.flatnonzero(orbits.leader == np.arange(topology.nodes))[1:].astype(np.int32)
    # The nodes that start with 1 have the lowest ranks.
    kind = np.where(smallest < topology.nodes // topology.n, 2, 1)
    nodes = np.stack([generator.node for generator in generators(topology).values()])
    kind[np.isin(smallest, orbits.leader[permutations.rank(nodes)])] = 0
    smallest = smallest[np.lexsort((smallest, kind, topology.distances()[smallest]))]
    period = orbits.period[smallest].astype(np.int64)
    return _NecklaceList(smallest, period, np.cumsum(period) - period + 1)


def _first_nodes(topology: Topology, orbits: _NecklaceList, turn: Ranks) -> Ranks:
    """Return the node of each necklace that has its first number."""
    distances = topology.distances()
    v = dimensions(topology.n, orbits.number)
    first = np.full(len(orbits.smallest), topology.nodes, dtype=np.int32)
    nodes = orbits.smallest
    for _ in range(topology.n - 1):
        closer = distances[topology.step(v, nodes)] < distances[nodes]
        first = np.where(closer & (nodes < first), nodes, first)
        nodes = turn[nodes]
    for k, generator in generators(topology).items():
        index = np.searchsorted(distances[orbits.smallest], k)
        node = permutations.rank(generator.node[None, :])
        for _ in range((int(v[index]) - generator.dimension) % (topology.n - 1)):
            node = turn[node]
        first[index] = node[0]
    return first
