"""Broadcast and allgather along edge-disjoint trees: each copy of a message goes down every link of one tree.

Fragopoulou & Akl 1996, sections 4.2 to 4.4. No link is in two trees, so that the trees never wait for one another, and a copy
in each of x trees arrives over x paths.
"""

from typing import Any

import numpy as np

from starcast.collectives.columns import Columns, arranged
from starcast.collectives.deal import Deal, dealt
from starcast.collectives.depth_first import hops
from starcast.collectives.moving import moved
from starcast.collectives.schedule import Schedule
from starcast.permutations import Ranks
from starcast.topologies import Topology
from starcast.trees import Forest, forest


def broadcast(where: Topology, root: int, ports: str, messages: int, copies: int) -> Schedule:
    """Down the n-1 trees of EDT on S_n, as `_pipelined` says (sections 4.2 and 4.3)."""
    return _pipelined(forest(where, "edge-disjoint"), root, ports, messages, copies)


def broadcast_on_cube(where: Topology, root: int, ports: str, messages: int, copies: int) -> Schedule:
    """The same down the d edge-disjoint binomial trees of Q_d, whose paths have no inner node in common either."""
    return _pipelined(forest(where, "edge-disjoint-binomial"), root, ports, messages, copies)


def allgather(where: Topology, root: int, ports: str, messages: int, copies: int) -> Schedule:
    """Every tree is traversed depth first, and its whole share crosses a link before it goes on to the next (section 4.4).

    c = ceil(Mx / (n-1)) units at most are a tree's share, and hop h has the steps (h-1)c+1 to hc: c (n! - 1) steps. Driven by
    steps, which a fault does not stop, where the paper waits for acknowledgements. In every step the links of the trees have
    different dimensions, so that all sources may send at once (Lemma 7).
    """
    along = forest(where, "edge-disjoint")
    deal = dealt(messages, copies, along.trees)
    rows = _spread(along, (hops(along) - 1) * deal.share + 1, deal)
    return moved(_schedule(rows, along, "allgather", ports, messages, copies, symmetric=True), root)


def _pipelined(along: Forest, root: int, ports: str, messages: int, copies: int) -> Schedule:
    """Each tree pipelines its queue: unit q of it crosses the links of level l in step q + l, q from 0.

    ceil(Mx / trees) + height - 1 steps, M messages and x copies: the trees have one height.
    """
    deal = dealt(messages, copies, along.trees)
    rows = _spread(along, along.levels(), deal)
    return moved(_schedule(rows, along, "broadcast", ports, messages, copies), root)


def _spread(along: Forest, first: Ranks, deal: Deal) -> Columns:
    """Each unit over all links of its tree: over the one to a node in step ``first[tree, node]`` + its place in the queue.

    Args:
        along: spanning trees rooted at the identity.
        first: int32 ``[trees, nodes]``.
        deal: which units a tree has, and in which order.
    """
    down = along.topology.reverse_ports()[along.parent_port]
    shape = (len(deal.tree), along.topology.nodes - 1)  # the identity, rank 0, is nobody's child
    return Columns(
        step=(first[deal.tree, 1:] + deal.place[:, None]).reshape(-1),
        sender=along.parents()[deal.tree, 1:].reshape(-1),
        port=down[deal.tree, 1:].reshape(-1),
        receiver=np.broadcast_to(np.arange(1, along.topology.nodes), shape).reshape(-1),
        tree=np.broadcast_to(deal.tree[:, None], shape).reshape(-1),
        payload=np.broadcast_to(deal.message[:, None], shape).reshape(-1),
    )


def _schedule(rows: Columns, along: Forest, collective: str, ports: str, messages: int, copies: int, **others: Any) -> Schedule:
    return arranged(
        rows,
        topology=along.topology,
        collective=collective,
        algorithm=along.construction,
        ports=ports,
        units=messages,
        packets=False,
        arguments={"messages": messages, "copies": copies},
        forest=along,
        **others,
    )
