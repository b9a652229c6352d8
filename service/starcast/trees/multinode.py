"""The trees of the multinode broadcast: rotated Hamiltonian paths, MBST, and a Hamiltonian cycle.

Reference: Fragopoulou & Akl 1993.

**Rotated Hamiltonian paths.** S_{n-1}^i, i = 2..n, is the set of nodes with symbol 1 in position i.
*Phase 1* (section 3.1): the root's branch T_i across dimension i is a Hamiltonian path of
S_{n-1}^i. T_{i+1} is T_i rotated, so the n-1 links that are crossed in a step have n-1 different
dimensions. *Phase 2* (Rule 1): over dimension i, a node x receives the messages of the sources q
with q_1 = x_1 and q_n = x_i. In the tree of the source 12..n, a node u that starts with 1 is thus a
leaf, and its parent is across the position of symbol n in u.

**MBST**, the multinode broadcast spanning tree (section 3.2). All nodes are numbered: m(root) = 0,
then 1..n!-1. The parent of node number m is across dimension v(m) = (m-1) mod (n-1) + 2, and the
node is reached in step ceil(m / (n-1)), so that the links of a step have different dimensions.
Nodes are numbered in the order of their distance k = 1..D from the root. The necklaces (orbits of
the rotation R) at distance k are numbered in this order:

1. N_k1, the necklace of the generator G_k, which is undefined only for n odd and k = D;
2. the necklaces of nodes that do not start with 1, sorted by their smallest node;
3. the necklaces of nodes that start with 1, sorted likewise.

Within a necklace, a first node is followed by its rotations. If a node is rotated, so are the
dimensions of its links. So a property of the first node's link to its parent holds, rotated, for
the whole necklace. Let v be the dimension of the next unused number. The first node of a necklace
is the smallest node whose neighbour across v is closer to the root. In N_k1 it is the rotation of
G_k that maps the dimension t_k, towards the parent of G_k, to v. In cycle notation (a symbol s is
followed by x_s)

* G_k = (k+1, k, .., 2, 1) and t_k = k+1 for k <= n-1;
* G_k = (n, n-1)(n-2, n-3) .. (a+2, a+1)(a, a-1, .., 1), with k+1-n pairs, and t_k = a+1 for k >= n.

**The Hamiltonian cycle** of S_n, used as a path (section 4).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology, permutations
from starcast.topologies.necklaces import necklaces, rotated_dimension, rotation
from starcast.topologies.permutations import Perms, Ranks
from starcast.trees.common import numbered_dimensions, translate_ports
from starcast.trees.construction import construction
from starcast.trees.hamiltonian_paths import Word, cycle_word, path_word, walk
from starcast.trees.model import Forest


@construction(
    "rotated-hamiltonian", families=["star"],
    description="the n-1 rotated Hamiltonian paths of S_{n-1}, and a leaf for each node with the "
    "first symbol of the root", source="Fragopoulou & Akl 1993, section 3.1",
)  # fmt: skip
def rotated_hamiltonian(topology: Topology, root: int) -> Forest:
    """Return the tree of rotated Hamiltonian paths (Fragopoulou & Akl 1993, section 3.1).

    In step t of phase 1, the path that starts across dimension j is extended across dimension
    `phase_1_word` [t-1], rotated j-2 times.
    """
    n = topology.n
    row = np.zeros((1, topology.nodes), dtype=np.uint8)
    word, turn = phase_1_word(n), rotation(n)
    path = walk(n, word)[1:]
    for turns in range(n - 1):
        row[0, path] = rotated_dimension(word, turns, n)
        path = turn[path]
    row[0, : topology.nodes // n] = phase_2_ports(n, n)
    row[0, 0] = 0
    return Forest(topology, translate_ports(topology, row, root), root, "rotated-hamiltonian")


def phase_1_word(n: int) -> Word:
    """Return the dimensions that the Hamiltonian path T_2 crosses, uint8 ``[(n-1)!]``.

    The path leads from 12..n to 213..n and then to all other nodes with symbol 1 in position 2.
    """
    return np.concatenate([np.array([2], dtype=np.uint8), path_word(n - 1) + np.uint8(1)])


def phase_2_ports(n: int, symbol: int) -> NDArray[np.uint8]:
    """Return the position of a symbol 2..n in every node that starts with 1, uint8 ``[(n-1)!]``.

    In phase 2, this position is the port towards the node's parent. Rule 1 uses symbol n; further
    copies of a message may use other symbols. The entry of the identity, rank 0, has no meaning,
    because the root has no parent.
    """
    others = permutations.arrangements(n - 1, n - 1) + np.uint8(1)
    return np.asarray(np.argmax(others == symbol, axis=1) + 2, dtype=np.uint8)


class Generator(NamedTuple):
    """The generator G_k of a necklace N_k1, and the dimension t_k towards its parent in MBST."""

    node: Perms
    dimension: int


class _NecklaceList(NamedTuple):
    """All necklaces but the root's, as parallel arrays sorted by number."""

    smallest: Ranks
    period: NDArray[np.int64]
    number: NDArray[np.int64]  # number of the necklace's first node


@construction(
    "necklace", families=["star"],
    description="MBST: the shortest-path tree that numbers the nodes necklace by necklace",
    source="Fragopoulou & Akl 1993, section 3.2",
)  # fmt: skip
def necklace(topology: Topology, root: int) -> Forest:
    """Return MBST, a shortest-path tree whose parent ports follow from the `numbering` of nodes.

    Reference: Fragopoulou & Akl 1993, section 3.2.
    """
    row = numbered_dimensions(topology.n, numbering(topology))[None, :]
    rows = translate_ports(topology, row, root)
    return Forest(topology, rows, root, "necklace", verify_hubs=(root,))


def numbering(topology: Topology) -> Ranks:
    """Return the number m of every node of S_n in MBST with root 12..n, int32 ``[n!]``."""
    turn = rotation(topology.n)
    orbits = _list_necklaces(topology)
    nodes = _first_nodes(topology, orbits, turn)
    numbers = np.zeros(topology.nodes, dtype=np.int32)
    for turns in range(topology.n - 1):
        chosen = orbits.period > turns
        numbers[nodes[chosen]] = orbits.number[chosen] + turns
        nodes = turn[nodes]
    return numbers


def generators(topology: Topology) -> dict[int, Generator]:
    """Return a mapping from distance k to the generator G_k."""
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
    # Necklaces are sorted by distance, then kind, then smallest node.
    smallest = smallest[np.lexsort((smallest, kind, topology.distances()[smallest]))]
    period = orbits.period[smallest].astype(np.int64)
    return _NecklaceList(smallest, period, np.cumsum(period) - period + 1)


def _first_nodes(topology: Topology, orbits: _NecklaceList, turn: Ranks) -> Ranks:
    """Return the first node of each necklace, the node with the lowest number."""
    distances = topology.distances()
    v = numbered_dimensions(topology.n, orbits.number)
    first = np.full(len(orbits.smallest), topology.nodes, dtype=np.int32)
    nodes = orbits.smallest
    for _ in range(topology.n - 1):
        closer = distances[topology.step(v, nodes)] < distances[nodes]
        first = np.where(closer & (nodes < first), nodes, first)
        nodes = turn[nodes]
    # In N_k1 a rotation of the generator replaces the smallest node.
    for k, generator in generators(topology).items():
        index = np.searchsorted(distances[orbits.smallest], k)
        node = permutations.rank(generator.node[None, :])
        for _ in range((int(v[index]) - generator.dimension) % (topology.n - 1)):
            node = turn[node]
        first[index] = node[0]
    return first


@construction(
    "hamiltonian-cycle", families=["star"],
    description="a Hamiltonian path whose last node is next to the root",
    source="Fragopoulou & Akl 1993, section 4",
)  # fmt: skip
def hamiltonian_cycle(topology: Topology, root: int) -> Forest:
    """Return the Hamiltonian path from the root that ends next to the root.

    The last link of `cycle_word` closes the cycle. The path of another root is the translated path,
    so in each step all roots send across the same dimension. The paper instead uses one cycle for
    all roots, which each root enters at its own node (`walk` along `cycle_word`).

    Reference: Fragopoulou & Akl 1993, section 4.
    """
    row = np.zeros((1, topology.nodes), dtype=np.uint8)
    word = cycle_word(topology.n)[:-1]
    row[0, walk(topology.n, word)[1:]] = word
    return Forest(topology, translate_ports(topology, row, root), root, "hamiltonian-cycle")
