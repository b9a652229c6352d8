"""One-port broadcasts: optimal broadcasts from records, and broadcasts by doubling.

**Optimal** broadcasts are records: stored search results that come with starcast and are proven
optimal. Their root is the identity; for other roots, they are translated.

**Substar doubling** on S_{n,k} informs larger and larger substars. The proof is in
docs/records/one-port-broadcast.md. The substar A_j has the nodes that agree with the root at the
positions j+1..k. A_1 is a complete graph, in which the number of informed nodes doubles in each
round. Let r_j be the root's symbol at position j. Then, for j = 2..k:

* Every node of A_{j-1} sends over port j. Thus each node of A_j that has r_j at position 1 is
  informed exactly once.
* Each other node of A_j outside A_{j-1} has exactly one newly informed neighbour. If r_j is at
  position i >= 2 of the node, the neighbour is across port i. Otherwise, the neighbour is in the
  same complete graph as the node. Each newly informed node first informs some nodes of its complete
  graph, and then its neighbours across the ports 2..j-1. Meanwhile the informed nodes of each
  complete graph inform its remaining nodes.

**Symbol doubling** divides S_n recursively into substars. A substar is the set of all nodes with
the same last symbol. First, one node of the root's substar is informed for each other substar: a
node that begins with the last symbol of that substar. Meanwhile the number of informed nodes
doubles in each round. These nodes then send to the other substars over the last port. After that,
all substars broadcast in the same way, at the same time. The number of rounds is the sum of
1 + ceil(log2(i-1)) over i = 2..n (docs/one-port-conjecture.md has the proof).

**Optimal substars** divides S_n in the same way, but stops at substars S_9, each of which executes
a recorded broadcast that is proven optimal. If n <= 9, S_n is not divided.
"""

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.algorithm import algorithm
from starcast.collectives.model import Draft
from starcast.collectives.one_to_all import build_rounds
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology, permutations, ports_towards
from starcast.trees.other_topologies import missing_record, record_witness

FAMILIES = ("star", "nk-star", "hypercube")
_BROADCAST = "one-port-broadcast"


@algorithm(
    "broadcast", "optimal", families=FAMILIES, ports=["one"],
    source="starcast: records of one-port-broadcast",
    exclusion=partial(missing_record, _BROADCAST),
)  # fmt: skip
def _build_recorded_broadcast(topology: Topology, root: int, ports: Ports) -> Draft:
    """Build a recorded broadcast; the record contains each node's parent port and round."""
    witness = record_witness(_BROADCAST, topology)
    return build_rounds(topology, witness["parent_port"], witness["round"])


_Integers = NDArray[np.int64]


class _Turns(NamedTuple):
    """A plan by which one node of a complete graph, the centre, informs the others.

    Attributes:
        own: the number of rounds in which the centre sends within the complete graph. Afterwards,
            the centre sends over its links to nodes outside the complete graph.
        rounds: the number of rounds until all nodes of the complete graph are informed and the
            centre has sent to these outside nodes.
    """

    own: int
    rounds: int


def _best_turns(size: int, others: int) -> _Turns:
    """Return the fastest plan by which one node, the centre, informs a complete graph.

    Args:
        size: the number of nodes of the complete graph.
        others: the number of nodes outside the complete graph to which the centre also sends.
    """
    choices = []
    for own in range(1, max(size - 1, 1).bit_length() + 1):
        last = int(_round_in_clique(np.array([size - 1]), own)[0])
        choices.append(_Turns(own, max(own + others, last)))
    return min(choices, key=lambda turns: (turns.rounds, turns.own))


def _round_in_clique(number: _Integers, own: int) -> _Integers:
    """Return the round, from 1, in which node ``number`` of a complete graph is informed.

    Node 0, the centre, sends in the rounds 1 to ``own`` (see `_Turns`).
    """
    return np.where(number < 2**own, _log2(number) + 1, own + 1 + _log2(_doublings(number, own)))


def _sender_in_clique(number: _Integers, own: int) -> _Integers:
    """Return the number of the node that informs node ``number`` of a complete graph.

    Node 0, the centre, has the message at the start and sends in the rounds 1 to ``own``.
    """
    active = 2**own - 1
    late = number - (active << _log2(_doublings(number, own)))
    return np.where(number <= active, number - (1 << _log2(number)), late)


def _doublings(number: _Integers, own: int) -> _Integers:
    """Return x such that node ``number`` is informed after floor(log2(x)) complete doublings.

    The nodes 1 to 2^own - 1 of a complete graph are informed in the ``own`` rounds in which the
    centre sends. In each later round, a *doubling*, the number of informed nodes except the centre
    doubles. For the nodes informed before the first doubling, x is 1.
    """
    times: _Integers = np.maximum((number - 1) // (2**own - 1), 1)
    return times


def _log2(values: _Integers) -> _Integers:
    """Return the integer part of the binary logarithm of positive numbers."""
    # Below 2^53, the exponent of a float is exact, but a computed logarithm may be rounded.
    exponents: _Integers = np.frexp(values.astype(float))[1].astype(np.int64)
    return exponents - 1


def _substar_rounds(topology: Topology) -> tuple[_Integers, _Integers]:
    """Return, for each node of S_{n,k}, which node informs it in substar doubling, and when.

    Returns:
        Two arrays, int64 ``[nodes]`` each: the rank of the node that informs each node, and the
        round. Both values are 0 for the root.
    """
    n, k = topology.n, int(topology.k or 1)
    size = n - k + 1
    symbols = permutations.arrangements(n, k).astype(np.int64)
    informer = np.zeros(topology.nodes, dtype=np.int64)
    rounds = np.zeros(topology.nodes, dtype=np.int64)
    # outermost[v] is the last position, from 1, in which v differs from the root.
    differs = symbols != np.arange(1, k + 1)
    outermost = np.where(differs.any(axis=1), k - differs[:, ::-1].argmax(axis=1), 0)
    done = 0
    for position in range(1, k + 1):
        turns = _best_turns(size, max(position - 2, 0))
        nodes = np.flatnonzero(outermost == position)
        senders = symbols[nodes].copy()
        if position == 1:
            number = _replace_by_sender(senders, 1, n, turns.own)
            rounds[nodes] = _round_in_clique(number, turns.own)
            done = turns.rounds
        else:
            rounds[nodes] = done + _inform_outside(senders, position, n, turns.own)
            done += 1 + turns.rounds
        informer[nodes] = permutations.arrangement_rank(senders.astype(np.uint8), n)
    return informer, rounds


def _inform_outside(nodes: _Integers, position: int, n: int, own: int) -> _Integers:
    """Replace each node, in place, by the node that informs it in substar doubling.

    Args:
        nodes: the nodes' symbols, int64 ``[count, k]``; each node differs from the root at
            ``position``, and agrees with it at all later positions.
        position: the last position at which the nodes differ from the root; 2 or more.
        n: the number of symbols.
        own: the number of rounds in which a node sends in its complete graph.

    Returns:
        The round in which each node is informed, counted from 1 after the rounds of the smaller
        substars. In round 1, all nodes informed so far send over port ``position``.
    """
    rounds = np.ones(len(nodes), dtype=np.int64)
    is_first = nodes[:, 0] == position
    nodes[is_first, 0] = nodes[is_first, position - 1]
    nodes[is_first, position - 1] = position
    is_absent = ~is_first
    for earlier in range(1, position - 1):
        is_here = nodes[:, earlier] == position
        is_here &= ~is_first
        nodes[is_here, earlier] = nodes[is_here, 0]
        nodes[is_here, 0] = position
        rounds[is_here] = 1 + own + earlier
        is_absent &= ~is_here
    rest = nodes[is_absent]
    rounds[is_absent] = 1 + _round_in_clique(_replace_by_sender(rest, position, n, own), own)
    nodes[is_absent] = rest
    return rounds


def _replace_by_sender(nodes: _Integers, centre: int, n: int, own: int) -> _Integers:
    """Replace each node, in place, by the node of the same complete graph that informs it.

    The nodes of a complete graph differ only in the symbol at position 1. The node with the symbol
    ``centre`` is the centre: it has the number 0, sends in the rounds 1 to ``own``, and must not be
    one of the given nodes. The other nodes are numbered from 1 in the order of their symbols.

    Returns:
        The number of each node in its complete graph.
    """
    every = np.arange(len(nodes))
    is_free = np.ones((len(nodes), n), dtype=bool)
    is_free[every[:, None], nodes[:, 1:] - 1] = False
    is_free[:, centre - 1] = False
    number = np.cumsum(is_free, axis=1)[every, nodes[:, 0] - 1]
    ordered = np.argsort(~is_free, axis=1, kind="stable") + 1
    sender = _sender_in_clique(number, own)
    nodes[:, 0] = np.where(sender == 0, centre, ordered[every, np.maximum(sender - 1, 0)])
    return number


@algorithm(
    "broadcast", "substar-doubling", families=["nk-star"], ports=["one"], source="starcast: records"
)
def _build_substar_doubling(topology: Topology, root: int, ports: Ports) -> Draft:
    informer, rounds = _substar_rounds(topology)
    return build_rounds(topology, ports_towards(topology, informer), rounds)


#: The largest n such that starcast has a record of an optimal one-port broadcast on S_n.
LARGEST_OPTIMAL = 9
_Labels = NDArray[np.uint8]


class _Step(NamedTuple):
    """A transmission within a substar, in the broadcast by symbol doubling.

    Attributes:
        sender: the index of the sender, in the order in which nodes are informed.
        port: the sender's port.
        round: the round, from 1.
    """

    sender: int
    port: int
    round: int


def _doubling(size: int) -> list[_Step]:
    """Return the transmissions in the root's substar, with which symbol doubling on S_n begins.

    Here n is ``size``, and a substar is the set of nodes with the same last symbol. For each of the
    other symbols, the transmissions inform one node that begins with this symbol. Nodes are
    numbered in the order in which they are informed; node 0 is informed at the start. Transmission
    i, from 0, informs node i + 1, whose first symbol is node 0's symbol at position i + 2. In each
    round all informed nodes send, until each of these symbols is the first symbol of some node.
    """
    arranged = [list(range(size))]
    steps: list[_Step] = []
    while len(arranged) < size - 1:
        now = 1 + (steps[-1].round if steps else 0)
        for sender in range(min(len(arranged), size - 1 - len(arranged))):
            index = arranged[sender].index(len(arranged))
            steps.append(_Step(sender, index + 1, now))
            arranged.append(arranged[sender].copy())
            arranged[-1][0], arranged[-1][index] = arranged[-1][index], arranged[-1][0]
    return steps


def _symbol_rounds(
    topology: Topology, substar: int, record: Mapping[str, NDArray[Any]] | None = None
) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
    """Return each node's port to the node that informs it, and the round in which it is informed.

    The broadcast divides a star graph into substars, as symbol doubling does. Both values are 0 for
    the root.

    Args:
        topology: a star graph.
        substar: the size n of the substars S_n at which the recursive division ends; 1 to divide
            down to single nodes.
        record: the ``parent_port`` and ``round`` of a broadcast on a substar of this size, or None
            for single nodes.
    """
    parent_port = np.zeros(topology.nodes, dtype=np.uint8)
    rounds = np.zeros(topology.nodes, dtype=np.int32)
    # For each substar, the node that is informed first. The nodes of a substar agree in all
    # positions after `size`.
    entry_nodes: _Labels = np.arange(1, topology.n + 1, dtype=np.uint8)[None, :]
    done = 0

    def inform(labels: _Labels, port: int | NDArray[np.uint8], now: int | NDArray[Any]) -> None:
        ranks = permutations.rank(labels)
        # Nodes that are already informed, such as the root (rank 0), are not informed again.
        new = (rounds[ranks] == 0) & (ranks > 0)
        ports, times = np.broadcast_to(port, new.shape), np.broadcast_to(now, new.shape)
        parent_port[ranks[new]], rounds[ranks[new]] = ports[new], times[new]

    for size in range(topology.n, substar, -1):
        informed = [entry_nodes]
        now = 0
        for sender, port, now in _doubling(size):
            informed.append(permutations.cross(informed[sender], port))
            inform(informed[-1], port, done + now)
        done += now + 1
        crossed = [permutations.cross(labels, size) for labels in informed]
        for labels in crossed:
            inform(labels, size, done)
        entry_nodes = np.concatenate([entry_nodes, *crossed])
    if record is not None:
        moved = permutations.table(substar)
        for label in entry_nodes:
            # The record has the identity as its root. It applies to other roots too, because
            # renaming the symbols keeps the ports.
            labels = np.tile(label, (len(moved), 1))
            labels[:, :substar] = label[moved]
            inform(labels, record["parent_port"], done + record["round"])
    return parent_port, rounds


@algorithm("broadcast", "symbol-doubling", families=["star"], ports=["one"], source="starcast")
def _build_symbol_doubling(topology: Topology, root: int, ports: Ports) -> Draft:
    return build_rounds(topology, *_symbol_rounds(topology, substar=1))


@algorithm(
    "broadcast", "optimal-substars", families=["star"], ports=["one"], smallest=3,
    source="starcast: records of one-port-broadcast",
)  # fmt: skip
def _build_optimal_substars(topology: Topology, root: int, ports: Ports) -> Draft:
    substar = min(topology.n, LARGEST_OPTIMAL)
    record = record_witness(_BROADCAST, f"S{substar}")
    return build_rounds(topology, *_symbol_rounds(topology, substar, record))
