"""The tree of rotated Hamiltonian paths (Fragopoulou & Akl 1993).

S_{n-1}^i, i = 2..n, are the nodes with symbol 1 in position i. *Phase 1* (section 3.1): the branch
T_i across dimension i of the root is a Hamiltonian path of S_{n-1}^i, and T_{i+1} is T_i rotated,
so that the n-1 links of a step have all n-1 dimensions. *Phase 2* (Rule 1): a node x receives the
messages of the sources q with q_1 = x_1 and q_n = x_i over dimension i. Seen from the source, a
node u with u_1 = 1 is a leaf, and its parent is across the position of symbol n in u.
"""

import numpy as np
from numpy.typing import NDArray

from starcast.topologies import Topology, permutations
from starcast.topologies.necklaces import rotated_dimension, rotation
from starcast.trees.common import translate_ports
from starcast.trees.construction import construction
from starcast.trees.hamiltonian_paths import Word, path_word, walk
from starcast.trees.model import Forest


@construction(
    "rotated-hamiltonian", families=["star"],
    description="the n-1 rotated Hamiltonian paths of S_{n-1}, and a leaf for each node with the "
    "first symbol of the root", source="Fragopoulou & Akl 1993, section 3.1",
)  # fmt: skip
def rotated_hamiltonian(topology: Topology, root: int) -> Forest:
    """Return the tree of rotated Hamiltonian paths (Fragopoulou & Akl 1993, section 3.1).

    Step t of phase 1 extends T_j across dimension `phase_1_word` [t-1], rotated j-2 times.
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
    """Return T_2 as a word, uint8 ``[(n-1)!]``.

    It leads from 12..n to 213..n and then to all other nodes with symbol 1 in position 2.
    """
    return np.concatenate([np.array([2], dtype=np.uint8), path_word(n - 1) + np.uint8(1)])


def phase_2_ports(n: int, symbol: int) -> NDArray[np.uint8]:
    """Return the position of a symbol 2..n in every node that starts with 1, uint8 ``[(n-1)!]``.

    Rule 1 uses symbol n; copies of a message may use other symbols. The entry of the identity, rank
    0, has no meaning: it has no parent.
    """
    others = permutations.arrangements(n - 1, n - 1) + np.uint8(1)
    return np.asarray(np.argmax(others == symbol, axis=1) + 2, dtype=np.uint8)
