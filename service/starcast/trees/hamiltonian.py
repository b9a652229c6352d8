"""The tree of rotated Hamiltonian paths and the Hamiltonian cycle (Fragopoulou & Akl 1993, sections 3.1 and 4).

S_{n-1}^i, i = 2..n, are the nodes with symbol 1 in position i. *Phase 1*: subtree T_i, across dimension i of the root, is a
Hamiltonian path of S_{n-1}^i, and T_{i+1} is T_i rotated, so that the n-1 links of a step have all n-1 dimensions. *Phase 2*
(Rule 1): a node x gets the messages of the sources q with q_1 = x_1 and q_n = x_i over dimension i. Seen from the source, a
node u with u_1 = 1 is a leaf and hangs across the position of symbol n in u.
"""

import numpy as np
from numpy.typing import NDArray

from starcast import permutations
from starcast.topologies import Topology
from starcast.topologies.necklaces import rotated_dimension, rotation
from starcast.trees.common import translated
from starcast.trees.hamiltonian_paths import Word, cycle_word, path_word, walk
from starcast.trees.model import Forest


def rotated_hamiltonian(topology: Topology, root: int) -> Forest:
    """One tree: step t of phase 1 follows dimension `phase_1_word` [t-1], rotated j-2 times, from the end of T_j."""
    n = topology.n
    row = np.zeros(topology.nodes, dtype=np.uint8)
    word, turn = phase_1_word(n), rotation(n)
    path = walk(n, word)[1:]
    for turns in range(n - 1):
        row[path] = rotated_dimension(word, turns, n)
        path = turn[path]
    row[: topology.nodes // n] = phase_2_ports(n, n)
    row[0] = 0
    rows = translated(topology, row[None, :], root)
    rows.flags.writeable = False
    return Forest(topology, rows, root, "rotated-hamiltonian")


def hamiltonian_cycle(topology: Topology, root: int) -> Forest:
    """One path through all nodes; the last is next to the root, across the last dimension of `cycle_word`.

    Other roots have the translated path, so that all cross the same dimension in a step. Section 4 has one cycle for all roots:
    that is `walk` along `cycle_word`, begun elsewhere.
    """
    row = np.zeros(topology.nodes, dtype=np.uint8)
    word = cycle_word(topology.n)[:-1]
    row[walk(topology.n, word)[1:]] = word
    rows = translated(topology, row[None, :], root)
    rows.flags.writeable = False
    return Forest(topology, rows, root, "hamiltonian-cycle")


def phase_1_word(n: int) -> Word:
    """T_2 as a word: 12..n -> 213..n -> all other nodes with symbol 1 in position 2, uint8 ``[(n-1)!]``."""
    return np.concatenate([np.array([2], dtype=np.uint8), path_word(n - 1) + np.uint8(1)])


def phase_2_ports(n: int, symbol: int) -> NDArray[np.uint8]:
    """For each node that starts with 1 the position of a symbol 2..n, uint8 ``[(n-1)!]``; their ranks are 0..(n-1)!-1.

    Rule 1 has symbol n. Copies of a message may take another symbol each. The identity has a position as well, and no parent.
    """
    others = permutations.arrangements(n - 1, n - 1) + np.uint8(1)
    return np.asarray(np.argmax(others == symbol, axis=1) + 2, dtype=np.uint8)
