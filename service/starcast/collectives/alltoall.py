"""Alltoall: every node has separate messages for every other node.

The schedule of one source represents all sources by translation, which keeps dimensions. In the
all-port model, sources do not conflict if the links that the schedule crosses in a step all have
different dimensions (Theorem 2). The nodes of a necklace are rotations of one another, and so are
the paths to them. So messages sent to them at the same time use different dimensions in every step.
In the one-port model, all nodes use the same dimension in a step.

Reference: Fragopoulou & Akl 1993, sections 7 and 8.
"""

import numpy as np
from numpy.typing import NDArray

from starcast import trees
from starcast.collectives.algorithm import Messages, algorithm
from starcast.collectives.model import Draft
from starcast.collectives.rows import Integers, Units, route_units
from starcast.collectives.scatter import (
    SMALLEST_BALANCED,
    MultipleMessages,
    assign_trees,
    count_rows,
    count_trees,
    refuse_uneven,
)
from starcast.support.vocabulary import Ports
from starcast.topologies import Topology
from starcast.topologies.necklaces import necklaces
from starcast.trees import Forest


@algorithm(
    "alltoall", "necklace", families=["star"], source="Fragopoulou & Akl 1993, section 7, Rule 9",
    rows=count_rows, forest_construction=lambda *_: "near-balanced",
)  # fmt: skip
def _build_necklace(topology: Topology, root: int, ports: Ports) -> Draft:
    """Build the alltoall of Rule 9, which sends the messages to each necklace as one group."""
    forest = trees.forest(topology, "near-balanced")
    units = assign_trees(forest, 1)
    return _build(forest, units, _departures_by_necklace(forest, units, 1), 1)


@algorithm(
    "alltoall", "perfectly-balanced", families=["star"],
    source="Fragopoulou & Akl 1993, section 7, Rule 10", smallest=SMALLEST_BALANCED,
    rows=count_rows, forest_construction=lambda *_: "perfectly-balanced", refusal=refuse_uneven,
)  # fmt: skip
def _build_perfectly_balanced(
    topology: Topology, root: int, ports: Ports, messages: MultipleMessages
) -> Draft:
    """Build the alltoall of Rule 10 along the perfectly balanced trees (Def. 15), for n >= 3.

    Messages leave in groups; a group has one message in each of the n-1 trees. With M messages per
    destination, a necklace of p nodes is served by M p/(n-1) groups.
    """
    forest = trees.forest(topology, "perfectly-balanced")
    units = assign_trees(forest, messages)
    return _build(forest, units, _departures_by_necklace(forest, units, messages), messages)


@algorithm(
    "alltoall", "one-port", families=["star"], ports=["one"],
    source="Fragopoulou & Akl 1993, section 8", rows=count_rows,
    forest_construction=lambda *_: "near-balanced",
)  # fmt: skip
def _build_one_port(topology: Topology, root: int, ports: Ports, messages: Messages) -> Draft:
    """Build the one-port alltoall of section 8: messages travel one by one, nearest first."""
    forest = trees.forest(topology, "near-balanced")
    units = assign_trees(forest, messages)
    length = forest.levels()[units.tree, units.destination].astype(np.int64)
    order = np.lexsort((units.unit, length))
    departure = np.empty(len(order), dtype=np.int64)
    departure[order] = np.cumsum(length[order]) - length[order] + 1
    return _build(forest, units, departure, messages)


def _departures_by_necklace(forest: Forest, units: Units, messages: int) -> Integers:
    """Return the step in which each unit leaves the source, int64 ``[units]``.

    A node that is in k trees receives its M messages in M/k groups of k messages, so message i is
    in group i // k. A group leaves when the previous group has arrived. Necklaces are served in the
    order of their distance, and those at the same distance in the order of their lowest rank.
    """
    distance = forest.topology.distances().astype(np.int64)
    # The root is in no tree. The value 1 avoids a division by zero.
    trees_per_node = np.maximum(count_trees(forest), 1)
    leader = necklaces(forest.topology.n).leader
    leaders = _nearest_first(leader[1:], distance)
    duration = distance[leaders] * (messages // trees_per_node[leaders])
    begin = np.zeros(forest.topology.nodes, dtype=np.int64)
    begin[leaders] = np.cumsum(duration) - duration
    group = units.unit % messages // trees_per_node[units.destination]
    return begin[leader[units.destination]] + group * distance[units.destination] + 1


def _nearest_first(leader: NDArray[np.int32], distance: NDArray[np.int64]) -> NDArray[np.int32]:
    leaders = np.unique(leader)
    return leaders[np.argsort(distance[leaders], kind="stable")]


def _build(forest: Forest, units: Units, departure: Integers, messages: int) -> Draft:
    """Return the symmetric schedule in which every unit moves one hop per step."""
    rows = route_units(forest, units.tree, units.destination, departure, units.unit)
    return Draft(rows, forest.topology.nodes * messages, forest, symmetric=True)
