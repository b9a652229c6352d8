"""Lower bounds for any topology, from distances, cuts, and the total number of transmissions.

A lower bound on the start-ups is a distance that some unit has to travel. A lower bound on the
bytes follows from the number of messages that some link has to carry one after another. This number
is at least the number of messages that must cross a cut, divided by the number of links in the cut.
It is also at least the number of all transmissions, divided by the number of all links. Bounds are
exact fractions, and hold for every schedule.
"""

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from starcast.collectives.model import MULTI_SOURCE
from starcast.support.text import pluralize
from starcast.topologies import Topology
from starcast.topologies.base import known_diameter
from starcast.topologies.flows import Cut, bottleneck, least_cut, level_cut

MAX_FLOW = "Ford & Fulkerson 1956"


class Bound(NamedTuple):
    """A lower bound on start-ups or on messages, with its reason.

    Attributes:
        amount: the number of start-ups, or of messages that one link or node has to carry.
        reason: the reason for the bound, as a noun phrase.
    """

    amount: Fraction
    reason: str


def least_start_ups(topology: Topology, collective: str, root: int) -> Bound:
    """Return a lower bound on the start-ups: the largest distance that a unit has to travel.

    For collectives with several sources, this is the diameter or, if the network is too large to
    compute the diameter, the largest distance of an endpoint from node 0.
    """
    if collective not in MULTI_SOURCE:
        furthest = int(topology.distances(root)[: topology.endpoints].max())
        return Bound(Fraction(furthest), "the distance of the node furthest from the root")
    diameter = known_diameter(topology)
    if diameter is not None:
        return Bound(Fraction(diameter), "the diameter")
    furthest = int(topology.distances(0)[: topology.endpoints].max())
    return Bound(Fraction(furthest), f"the distance of the node furthest from {topology.label(0)}")


def least_share(topology: Topology, collective: str, root: int, total: int) -> Bound:
    """Return a lower bound on the number of messages on the busiest link in the all-port model.

    The result is the largest of several bounds:

    * All transmissions share the directed links, so their mean per link is a bound.
    * A cut divides the nodes into two sides, and the messages between the sides share the links of
      the cut.

    The number of messages that must cross a cut depends on the collective:

    * broadcast, reduce, allreduce: one message;
    * scatter, gather: one message for each endpoint on the side without the root;
    * allgather, reduce-scatter: one message for each endpoint on the side with more endpoints;
    * alltoall: one message for each pair of endpoints on different sides.

    One side of each cut is one of these sets:

    * a single node: the root in a scatter or gather, else the endpoint whose links have the
      smallest total capacity;
    * a side of a minimum cut;
    * the set with the most endpoints per unit of capacity of the links that leave the set. Only
      sets without the root (in a scatter or gather) or without node 0 (in other collectives) count;
    * the nodes up to some distance from a node that is farthest from node 0.

    Args:
        topology: the topology on which the collective runs.
        collective: the name of the collective.
        root: the rank of the root.
        total: the minimum number of transmissions, `Work.sent`.
    """
    arcs = int(topology.node_capacities.sum())
    links = f"{arcs:,} directed links"
    if topology.capacities is not None:
        links = f"directed links of capacity {arcs:,}"
    work = f"{total:,} transmissions over {links}"
    if collective == "alltoall":
        work = f"the sum of all distances over {links}"
    bounds = [
        _cut_bound(topology, collective, root, cut, reason)
        for cut, reason in _find_cuts(topology, collective, root)
    ]
    return max(*bounds, Bound(Fraction(total, arcs), work), key=lambda bound: bound.amount)


def _find_cuts(topology: Topology, collective: str, root: int) -> Iterator[tuple[Cut, str]]:
    """Yield the cuts that `least_share` uses, each with a description for its `Bound.reason`."""
    nodes = np.arange(topology.nodes)
    is_rooted = collective in ("scatter", "gather")
    noun, plural = "link", "links"
    if topology.capacities is not None:
        noun, plural = "unit of capacity", "units of capacity"
    strength = topology.node_capacities
    node = root if is_rooted else int(strength[: topology.endpoints].argmin())
    links = int(strength[node])
    name = "the root" if is_rooted else topology.label(node)
    yield Cut(nodes == node, links), f"the {pluralize(links, noun, plural)} of {name}"
    most = bottleneck(topology, root if is_rooted else 0)
    for cut in (least_cut(topology), most, level_cut(topology)):
        sides = sorted((int(cut.inside.sum()), int((~cut.inside).sum())))
        crossing = pluralize(cut.capacity, noun, plural)
        yield cut, f"{crossing} between {sides[0]:,} and {sides[1]:,} nodes ({MAX_FLOW})"


def _cut_bound(topology: Topology, collective: str, root: int, cut: Cut, reason: str) -> Bound:
    inside = int(np.count_nonzero(cut.inside[: topology.endpoints]))
    outside = topology.endpoints - inside
    crossing = min(inside, outside, 1)
    if collective in ("scatter", "gather"):
        crossing = outside if cut.inside[root] else inside
    elif collective in ("allgather", "reduce-scatter"):
        crossing *= max(inside, outside)
    elif collective == "alltoall":
        crossing = inside * outside
    return Bound(Fraction(crossing, cut.capacity), reason)
