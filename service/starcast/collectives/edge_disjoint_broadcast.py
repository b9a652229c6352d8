"""Broadcast and allgather along edge-disjoint trees: a copy crosses every link of one tree.

No link is in two trees, so trees never wait for one another, and the copies in x trees reach a node
over x edge-disjoint paths: every live node survives any x-1 faults (Fragopoulou & Akl 1996,
sections 4.2 to 4.4; Johnsson & Ho 1989 on hypercubes). The model is all-port, and a directed link
carries one unit per step. The schedule is fixed in advance, so no node needs to know about a fault.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from starcast import trees
from starcast.collectives.algorithm import (
    Arguments,
    Copies,
    Messages,
    algorithm,
    count_messages,
)
from starcast.collectives.model import Schedule
from starcast.collectives.round_robin import assign_round_robin, build_copies_schedule
from starcast.collectives.rows import flood_units
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks
from starcast.trees import Forest


def count_copies(topology: Topology, arguments: Arguments) -> int:
    """Return the number of rows if every copy crosses one link to every node but the root."""
    return int(arguments["copies"]) * count_messages(topology, arguments)


@algorithm(
    "broadcast", "edge-disjoint", families=["star"],
    source="Fragopoulou & Akl 1996, sections 4.2 and 4.3", rows=count_copies,
    forest_construction=lambda *_: "edge-disjoint",
)  # fmt: skip
def _build_broadcast(
    topology: Topology, root: int, ports: Ports, messages: Messages, copies: Copies
) -> Schedule:
    """Build the broadcast down the n-1 trees of EDT on S_n (sections 4.2 and 4.3)."""
    return _build_pipeline(trees.forest(topology, "edge-disjoint"), root, ports, messages, copies)


@algorithm(
    "broadcast", "edge-disjoint-binomial", families=["hypercube"], source="Johnsson & Ho 1989",
    smallest=1, rows=count_copies, forest_construction=lambda *_: "edge-disjoint-binomial",
)  # fmt: skip
def _build_broadcast_on_cube(
    topology: Topology, root: int, ports: Ports, messages: Messages, copies: Copies
) -> Schedule:
    """Build the broadcast down the d edge-disjoint binomial trees of Q_d.

    The trees' paths to a node have no inner node in common either.
    """
    forest = trees.forest(topology, "edge-disjoint-binomial")
    return _build_pipeline(forest, root, ports, messages, copies)


@algorithm(
    "allgather", "edge-disjoint", families=["star"], source="Fragopoulou & Akl 1996, section 4.4",
    rows=count_copies, forest_construction=lambda *_: "edge-disjoint",
)  # fmt: skip
def _build_allgather(
    topology: Topology, root: int, ports: Ports, messages: Messages, copies: Copies
) -> Schedule:
    """Build the allgather by depth-first traversal of every tree (section 4.4).

    All units of a tree cross a link before they cross the next link. A tree has at most
    c = ceil(Mx / (n-1)) units, and hop h occupies the steps (h-1)c+1 to hc, which takes c (n! - 1)
    steps. The paper waits for acknowledgements; here fixed steps drive the traversal, so that a
    fault does not stop it. In every step the links of the trees have different dimensions, so all
    sources can send at the same time (Lemma 7).
    """
    forest = trees.forest(topology, "edge-disjoint")
    assignment = assign_round_robin(messages, copies, forest.trees)
    first = (hop_numbers(forest) - 1) * assignment.largest + 1
    rows = flood_units(
        forest, assignment.tree, assignment.position, assignment.message, first=first
    )
    return build_copies_schedule(
        rows,
        forest,
        root,
        messages,
        copies,
        collective="allgather",
        ports=ports,
        units=messages,
        symmetric=True,
    )


def _build_pipeline(
    forest: Forest, root: int, ports: Ports, messages: int, copies: int
) -> Schedule:
    """Build the broadcast in which unit q of a tree crosses the links of level l in step q + l.

    It takes ceil(Mx / trees) + height - 1 steps for M messages and x copies: all trees have the
    same height.
    """
    assignment = assign_round_robin(messages, copies, forest.trees)
    rows = flood_units(
        forest, assignment.tree, assignment.position, assignment.message, first=forest.levels()
    )
    return build_copies_schedule(
        rows, forest, root, messages, copies, collective="broadcast", ports=ports, units=messages
    )


def hop_numbers(forest: Forest) -> Ranks:
    """Return the position of the link to each node in the depth-first traversal of its tree.

    In tree k (k = 2..n) the children of a node are visited in the order phi_k of their dimensions:
    k, k+1, .., n, 2, .., k-1. The trees are rotations of one another, and so are these orders:
    link h of the n-1 trees has n-1 different dimensions, for every h.

    Args:
        forest: n-1 spanning trees on S_n, tree k in row k-2.

    Returns:
        int32 ``[trees, nodes]``: links are counted from 1 when they are first crossed; the root
        has 0.

    Reference:
        Fragopoulou & Akl 1996, section 3.
    """
    numbers = np.zeros(forest.parent_port.shape, dtype=np.int32)
    dimensions = forest.topology.reverse_ports()[forest.parent_port].astype(np.int32)
    for tree, (row, parents, levels, sizes) in enumerate(
        zip(numbers, forest.parents(), forest.levels(), forest.subtree_sizes(), strict=True)
    ):
        phi = (dimensions[tree] - 2 - tree) % forest.trees
        before = _sizes_of_earlier_siblings(parents, phi, sizes)
        order = np.argsort(levels, kind="stable")
        starts = np.searchsorted(levels, np.arange(1, levels.max() + 2), sorter=order)
        # Level by level: a node's number depends on its parent's.
        for begin, end in pairwise(starts.tolist()):
            nodes = order[begin:end]
            row[nodes] = row[parents[nodes]] + 1 + before[nodes]
    return numbers


def _sizes_of_earlier_siblings(
    parents: Ranks, turn: NDArray[np.int32], sizes: Ranks
) -> NDArray[np.int64]:
    """Return the total size of the subtrees of siblings visited before each node."""
    order = np.lexsort((turn, parents))
    before = np.cumsum(sizes[order], dtype=np.int64) - sizes[order]
    parent = parents[order]
    eldest = np.flatnonzero(np.r_[True, parent[1:] != parent[:-1]])
    count = np.diff(np.r_[eldest, len(order)])
    earlier = np.empty(len(order), dtype=np.int64)
    earlier[order] = before - np.repeat(before[eldest], count)
    return earlier
