"""One-port broadcast on S_n in the sum of 1 + ceil(log2(i-1)) rounds, i = 2..n.

From a node the message first goes to nodes of its substar with the first symbols of all other
substars, in which the informed nodes double, and then to each of these substars over the last
port. Then the substars broadcast on their own (docs/one-port-conjecture.md has the proof).
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.algorithm import algorithm
from starcast.collectives.broadcast import build_rounds
from starcast.collectives.model import Schedule
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology, permutations

NAME = "symbol-doubling"
_Labels = NDArray[np.uint8]


class _Step(NamedTuple):
    """A transmission from an informed node; both are numbered in the order of being informed."""

    sender: int
    port: int
    round: int


def _doubling(size: int) -> list[_Step]:
    """Return how a node of S_size informs nodes of its substar with all other first symbols.

    The node is number 0, and step i informs number i + 1, whose first symbol is that of position
    i + 2 of node 0. In each round all nodes that are informed send, as long as symbols are left.
    """
    arranged = [list(range(size))]
    steps: list[_Step] = []
    while len(arranged) < size - 1:
        now = 1 + (steps[-1].round if steps else 0)
        for sender in range(min(len(arranged), size - 1 - len(arranged))):
            place = arranged[sender].index(len(arranged))
            steps.append(_Step(sender, place + 1, now))
            arranged.append(arranged[sender].copy())
            arranged[-1][0], arranged[-1][place] = arranged[-1][place], arranged[-1][0]
    return steps


def _cross(labels: _Labels, port: int) -> _Labels:
    """Return the neighbours across a port."""
    crossed = labels.copy()
    crossed[:, [0, port - 1]] = labels[:, [port - 1, 0]]
    return crossed


def _broadcast_rounds(n: int, nodes: int) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return the port to the node that informs each node, and the round; 0 and 0 at rank 0."""
    parent_port = np.zeros(nodes, dtype=np.uint8)
    rounds = np.zeros(nodes, dtype=np.int32)
    # One informed node in each of the substars that fix the positions after ``size``.
    entered: _Labels = np.arange(1, n + 1, dtype=np.uint8)[None, :]
    done = 0

    def inform(labels: _Labels, port: int, now: int) -> None:
        ranks = permutations.rank(labels)
        # Nodes that know already are sent nothing; the root is rank 0.
        ranks = ranks[(rounds[ranks] == 0) & (ranks > 0)]
        parent_port[ranks], rounds[ranks] = port, now

    for size in range(n, 1, -1):
        informed = [entered]
        now = 0
        for sender, port, now in _doubling(size):
            informed.append(_cross(informed[sender], port))
            inform(informed[-1], port, done + now)
        done += now + 1
        crossed = [_cross(labels, size) for labels in informed]
        for labels in crossed:
            inform(labels, size, done)
        entered = np.concatenate([entered, *crossed])
    return parent_port, rounds


@algorithm("broadcast", NAME, families=["star"], ports=["one"], source="starcast")
def _build(topology: Topology, root: int, ports: Ports) -> Schedule:  # noqa: ARG001 - one-port only
    parent_port, rounds = _broadcast_rounds(topology.n, topology.nodes)
    return build_rounds(topology, parent_port, rounds, root, NAME)
