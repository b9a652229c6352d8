"""Alltoall: every node has messages of its own for every other node (Fragopoulou & Akl 1993, sections 7 and 8).

The schedule of one source stands for all by translation, which keeps dimensions. All-port, no two sources meet if the
dimensions used within a step are all different (Theorem 2). The nodes of a necklace are rotations of one another, and so
are their paths: sent at the same time, hop by hop, they use different dimensions in every step. One-port, everybody uses the
same dimension in a step.
"""

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.algorithm import MESSAGES, Algorithm
from starcast.collectives.injection_order import Units
from starcast.collectives.model import Schedule
from starcast.collectives.rows import Integers, arranged, routed
from starcast.collectives.scatter import (
    MULTIPLE_MESSAGES,
    SMALLEST_BALANCED,
    shortest_rows,
    spread,
    tree_counts,
    uneven,
)
from starcast.collectives.translation import moved
from starcast.topologies import Topology
from starcast.topologies.necklaces import necklaces
from starcast.trees import Forest, forest


def _necklace(topology: Topology, root: int, ports: str) -> Schedule:
    """Rule 9: one message to each node, a group for each necklace, along the tree of Def. 13."""
    along = forest(topology, "near-balanced")
    units = spread(along, 1)
    return _sent("necklace", along, ports, units, _by_necklaces(along, units, 1), root)


def _perfectly_balanced(topology: Topology, root: int, ports: str, messages: int) -> Schedule:
    """Rule 10: M p/(n-1) groups for a necklace of period p, each of one message in each tree of Def. 15; from n = 3 on."""
    along = forest(topology, "perfectly-balanced")
    units = spread(along, messages)
    departure = _by_necklaces(along, units, messages)
    return _sent("perfectly-balanced", along, ports, units, departure, root, messages=messages)


def _one_port(topology: Topology, root: int, ports: str, messages: int) -> Schedule:
    """Section 8: one message on its way at a time, the nearest nodes first, then by rank and number."""
    along = forest(topology, "near-balanced")
    units = spread(along, messages)
    length = along.levels()[units.tree, units.destination].astype(np.int64)
    order = np.lexsort((units.unit, length))
    departure = np.empty(len(order), dtype=np.int64)
    departure[order] = np.cumsum(length[order]) - length[order] + 1
    return _sent("one-port", along, ports, units, departure, root, messages=messages)


def _by_necklaces(along: Forest, units: Units, messages: int) -> Integers:
    """The step in which each unit leaves the source, int64 ``[units]``.

    A node that is in k trees has M/k groups of k messages, so `spread` has message i in group i // k. A group leaves when
    the group before has arrived: the nearest necklace first, of equals that of the lowest rank.
    """
    distance, counts = (
        along.topology.distances().astype(np.int64),
        np.maximum(tree_counts(along), 1),
    )
    leader = necklaces(along.topology.n).leader
    leaders = _nearest_first(leader[1:], distance)
    duration = distance[leaders] * (messages // counts[leaders])
    begin = np.zeros(along.topology.nodes, dtype=np.int64)
    begin[leaders] = np.cumsum(duration) - duration
    group = units.unit % messages // counts[units.destination]
    return begin[leader[units.destination]] + group * distance[units.destination] + 1


def _nearest_first(leader: NDArray[np.int32], distance: NDArray[np.int64]) -> NDArray[np.int32]:
    leaders = np.unique(leader)
    return leaders[np.argsort(distance[leaders], kind="stable")]


def _sent(
    algorithm: str,
    along: Forest,
    ports: str,
    units: Units,
    departure: Integers,
    root: int,
    **arguments: int,
) -> Schedule:
    """The symmetric schedule of these departures: every unit moves one hop a step."""
    made = arranged(
        routed(along, units.tree, units.destination, departure, units.unit),
        topology=along.topology,
        collective="alltoall",
        algorithm=algorithm,
        ports=ports,
        units=along.topology.nodes * arguments.get("messages", 1),
        packets=False,
        arguments=arguments,
        forest=along,
        symmetric=True,
    )
    return moved(made, root)


ALGORITHMS = (
    Algorithm(
        "alltoall", "necklace", ("star",), ("all",), (), "Fragopoulou & Akl 1993, section 7, Rule 9",
        _necklace, shortest_rows, lambda *_: "near-balanced",
    ),
    Algorithm(
        "alltoall", "perfectly-balanced", ("star",), ("all",), (MULTIPLE_MESSAGES,),
        "Fragopoulou & Akl 1993, section 7, Rule 10", _perfectly_balanced, shortest_rows,
        lambda *_: "perfectly-balanced", smallest=SMALLEST_BALANCED, refusal=uneven,
    ),
    Algorithm(
        "alltoall", "one-port", ("star",), ("one",), (MESSAGES,), "Fragopoulou & Akl 1993, section 8",
        _one_port, shortest_rows, lambda *_: "near-balanced",
    ),
)  # fmt: skip
