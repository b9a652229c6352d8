"""The Hamiltonian cycle of S_n as a path (Fragopoulou & Akl 1993, section 4)."""

import numpy as np

from starcast.topologies import Topology
from starcast.trees.common import translate_ports
from starcast.trees.construction import construction
from starcast.trees.hamiltonian_paths import cycle_word, walk
from starcast.trees.model import Forest


@construction(
    "hamiltonian-cycle", families=["star"],
    description="a Hamiltonian path whose last node is next to the root",
    source="Fragopoulou & Akl 1993, section 4",
)  # fmt: skip
def hamiltonian_cycle(topology: Topology, root: int) -> Forest:
    """Return a path through all nodes that ends next to the root.

    The last link of `cycle_word` closes the cycle. Other roots have the translated path, so that
    all roots cross the same dimension in a step. Section 4 uses one cycle for all roots instead:
    `walk` along `cycle_word`, entered at another node.

    Reference: Fragopoulou & Akl 1993, section 4.
    """
    row = np.zeros((1, topology.nodes), dtype=np.uint8)
    word = cycle_word(topology.n)[:-1]
    row[0, walk(topology.n, word)[1:]] = word
    return Forest(topology, translate_ports(topology, row, root), root, "hamiltonian-cycle")
