"""Broadcast and allgather along edge-disjoint trees: each copy of a message goes down every link of one tree.

Fragopoulou & Akl 1996, sections 4.2 to 4.4. No link is in two trees, so that the trees never wait for one another, and a copy
in each of x trees arrives over x paths.
"""

from starcast.collectives.depth_first import hops
from starcast.collectives.model import Schedule
from starcast.collectives.round_robin import carried, dealt
from starcast.collectives.rows import flooded
from starcast.topologies import Topology
from starcast.trees import Forest, forest


def broadcast(topology: Topology, root: int, ports: str, messages: int, copies: int) -> Schedule:
    """Down the n-1 trees of EDT on S_n, as `_pipelined` says (sections 4.2 and 4.3)."""
    return _pipelined(forest(topology, "edge-disjoint"), root, ports, messages, copies)


def broadcast_on_cube(
    topology: Topology, root: int, ports: str, messages: int, copies: int
) -> Schedule:
    """The same down the d edge-disjoint binomial trees of Q_d, whose paths have no inner node in common either."""
    return _pipelined(forest(topology, "edge-disjoint-binomial"), root, ports, messages, copies)


def allgather(topology: Topology, root: int, ports: str, messages: int, copies: int) -> Schedule:
    """Every tree is traversed depth first, and all its units cross a link before they go on to the next (section 4.4).

    c = ceil(Mx / (n-1)) units at most are a tree's, and hop h has the steps (h-1)c+1 to hc: c (n! - 1) steps. Driven by
    steps, which a fault does not stop, where the paper waits for acknowledgements. In every step the links of the trees have
    different dimensions, so that all sources may send at once (Lemma 7).
    """
    along = forest(topology, "edge-disjoint")
    deal = dealt(messages, copies, along.trees)
    rows = flooded(
        along, deal.tree, deal.place, deal.message, first=(hops(along) - 1) * deal.most + 1
    )
    return carried(
        rows, along, "allgather", ports, root, messages, copies, units=messages, symmetric=True
    )


def _pipelined(along: Forest, root: int, ports: str, messages: int, copies: int) -> Schedule:
    """Each tree pipelines its queue: unit q of it crosses the links of level l in step q + l, q from 0.

    ceil(Mx / trees) + height - 1 steps, M messages and x copies: the trees have one height.
    """
    deal = dealt(messages, copies, along.trees)
    rows = flooded(along, deal.tree, deal.place, deal.message, first=along.levels())
    return carried(rows, along, "broadcast", ports, root, messages, copies, units=messages)
