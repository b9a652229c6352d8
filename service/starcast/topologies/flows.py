"""Exact maximum flows and minimum cuts on the directed links of a topology.

Each directed link has a capacity, a non-negative integer, by default 1. If all capacities are 1,
the maximum flow from one node to another is the largest number of paths that share no directed link
(Menger 1927), and a minimum cut has the fewest links whose removal leaves no path (Ford & Fulkerson
1956).

The smallest of the maximum flows from a root to the other nodes is the maximum number of
arc-disjoint spanning trees with this root (Edmonds 1973). If every link has the same capacity in
both directions, as in all topologies of starcast, this number is the same for all roots: the links
that enter a set of nodes then have the same total capacity as the links that leave it, so the set
imposes the same limit on flows from a root inside and from a root outside.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import Mask
from starcast.support.progress import computing
from starcast.topologies.base import Topology

Value = TypeVar("Value")

#: The capacity of the directed link that leaves a node over a port, int ``[ports, nodes]``; None if
#: all capacities are 1. If a node has no link at a port, the value is ignored.
Capacities = NDArray[np.integer] | None


class Cut(NamedTuple):
    """A set of some but not all nodes, and the total capacity of the directed links that leave it.

    Attributes:
        inside: a mask of the nodes in the set, bool ``[nodes]``.
        capacity: the total capacity of the directed links that leave the set.
    """

    inside: Mask
    capacity: int


class Arcs(NamedTuple):
    """The directed links of a topology; the link into node v at port p has the index v * P + p.

    P is the number of ports, which are numbered from 0 in the order of `Topology.ports`.

    Attributes:
        tails: the node where each link begins, int32 ``[nodes * ports]``; v itself if node v has no
            link at the port.
        twins: the index of the directed link in the opposite direction, int32 ``[nodes * ports]``.
    """

    tails: NDArray[np.int32]
    twins: NDArray[np.int32]

    @classmethod
    def of(cls, topology: Topology) -> "Arcs":
        """Return the directed links of a topology."""
        tails = topology.table().T.reshape(-1)
        back = np.searchsorted(topology.ports, topology.reverse_ports()[list(topology.ports)])
        twins = tails * np.int32(topology.port_count) + np.tile(back, topology.nodes)
        return cls(tails, twins.astype(np.int32))


def link_connectivity(topology: Topology) -> int:
    """Return the smallest number of links whose removal disconnects a topology.

    This is also the maximum number of arc-disjoint spanning trees with a common root, and it is the
    same for every root (Edmonds 1973).

    Example:
        >>> link_connectivity(topology("Mesh3x4"))
        2
    """
    if topology.has_translations:
        return topology.degree  # because all nodes are equivalent (Mader 1971)
    return keep(topology, "connectivity", lambda: FlowNetwork(topology).find_least_cut().capacity)


def own_network(topology: Topology) -> "FlowNetwork":
    """Return the flow network of a topology, with the topology's capacities and endpoints."""
    is_endpoint = np.arange(topology.nodes) < topology.endpoints
    return FlowNetwork(topology, topology.capacities, is_endpoint)


def least_cut(topology: Topology) -> Cut:
    """Return a minimum cut with node 0 inside and at least one other endpoint outside.

    The topology object stores the result; see `FlowNetwork.find_least_cut`.
    """
    return keep(topology, "least cut", lambda: own_network(topology).find_least_cut())


def bottleneck(topology: Topology, root: int | None) -> Cut:
    """Return the cut with the most endpoints inside per unit of outgoing capacity.

    The topology object stores the result; see `FlowNetwork.find_bottleneck`.

    Args:
        topology: the topology whose links carry the flows.
        root: the rank of a node that must be outside the cut; None to allow every cut that has at
            least one endpoint outside.
    """
    if root is None:
        return keep(topology, "bottleneck", lambda: own_network(topology).find_bottleneck_of_all())
    name = f"bottleneck {root}"
    return keep(topology, name, lambda: own_network(topology).find_bottleneck(root))


def level_cut(topology: Topology) -> Cut:
    """Return a cut that separates many pairs of endpoints but has a small capacity.

    The nodes inside are those within some radius of a node that is farthest from node 0. The radius
    is chosen so that the number of separated pairs of endpoints per unit of capacity is largest.
    """
    return keep(topology, "level cut", lambda: _find_level_cut(topology))


def _find_level_cut(topology: Topology) -> Cut:
    levels = topology.distances(int(topology.distances(0).argmax())).astype(np.int64)
    crossing = np.zeros(int(levels.max()), dtype=np.int64)
    for number, port in enumerate(topology.ports):
        is_crossed = levels[topology.neighbours(port)] > levels
        weights = is_crossed if topology.capacities is None else topology.capacities[number]
        np.add.at(crossing, levels[is_crossed], weights[is_crossed])
    inside = np.cumsum(np.bincount(levels[: topology.endpoints], minlength=len(crossing) + 1))[:-1]
    best = int((inside * (topology.endpoints - inside) / crossing).argmax())
    return Cut(levels <= best, int(crossing[best]))


def keep(topology: Topology, name: str, compute: Callable[[], Value]) -> Value:
    """Return a value that is computed once per topology object, and then stored in the object.

    A cache by spec would be wrong, because a plug-in may later define another topology with the
    same spec.

    Args:
        topology: the object in which the value is stored.
        name: the key of the value, unique among the values of a topology.
        compute: a function that returns the value.
    """
    kept = vars(topology).setdefault("_kept_values", {})
    if name not in kept:
        kept[name] = compute()
    value: Value = kept[name]
    return value


class FlowNetwork:
    """A topology with capacities, prepared for the computation of flows.

    Args:
        topology: the topology whose links carry the flows.
        capacities: the capacity of each directed link, at least 0; see `Capacities`.
        endpoints: a mask of the nodes that send and receive messages of their own, bool
            ``[nodes]``; None for all nodes. All other nodes only forward.
    """

    def __init__(
        self, topology: Topology, capacities: Capacities = None, endpoints: Mask | None = None
    ) -> None:
        self.topology = topology
        self.endpoints = np.ones(topology.nodes, dtype=bool) if endpoints is None else endpoints
        shape = topology.port_count, topology.nodes
        given = np.ones(shape, dtype=np.int64) if capacities is None else capacities
        self._arcs = Arcs.of(topology)
        self._ends = np.arange(topology.nodes).repeat(topology.port_count)
        # `capacities` is indexed by the node that a link leaves, `_capacity` by the node that it
        # enters.
        capacity = given.T.reshape(-1)[self._arcs.twins].astype(np.int64)
        self._capacity = np.where(self._arcs.tails == self._ends, 0, capacity)
        self._has_unit_links = capacities is None

    def send(
        self, supply: NDArray[np.int64], target: int, limit: int | None = None, scale: int = 1
    ) -> tuple[int, Mask]:
        """Send as much flow as possible from the supplies of nodes to a target.

        Args:
            supply: the flow that each node can send, int64 ``[nodes]``; 0 at the target.
            target: the rank of the target.
            limit: the flow at which the search stops; None for no limit.
            scale: the factor by which all capacities are multiplied.

        Returns:
            The total flow, and a mask of the nodes from which no further flow can reach the target,
            bool ``[nodes]``. If the flow is below the limit and below the total supply, these nodes
            are one side of a minimum cut.
        """
        from starcast.support.optional_numba import as_workspace  # noqa: PLC0415 - loads numba
        from starcast.topologies.flow_loops import push_flow  # noqa: PLC0415

        nodes = self.topology.nodes
        most = int(supply.sum()) if limit is None else limit
        distance, queue, turn = (as_workspace(np.empty(nodes, dtype=np.int64)) for _ in range(3))
        if not hasattr(self, "_loops"):
            self._loops: tuple[Any, Any] = (
                as_workspace(self._arcs.tails), as_workspace(self._arcs.twins)
            )  # fmt: skip
        tails, twins = self._loops
        left = as_workspace(self._capacity * scale)
        flow = push_flow(
            target, most, self.topology.port_count, tails, twins, left,
            as_workspace(supply.copy()), distance, queue, turn,
        )  # fmt: skip
        return int(flow), np.asarray(distance) < 0

    def cut(self, inside: Mask) -> Cut:
        """Return the cut that has the given nodes inside."""
        leaving = inside[self._arcs.tails] & ~inside[self._ends]
        return Cut(inside, int(self._capacity[leaving].sum()))

    def find_least_cut(self, root: int = 0) -> Cut:
        """Return a minimum cut that has the root inside and at least one other endpoint outside.

        If all capacities are 1 and there are no switches, only flows to the nodes of a dominating
        set are needed. If every node has at least d links, each side of a cut of fewer than d links
        has a node with all neighbours on the same side (Matula 1987), and therefore a node of the
        dominating set.
        """
        nodes = self.topology.nodes
        entering = self._capacity.reshape(nodes, -1).sum(axis=1)
        entering[~self.endpoints] = entering[root] = entering.max() + 1
        single = np.arange(nodes) == entering.argmin()
        best = min(self.cut(~single), self.cut(np.arange(nodes) == root), key=lambda cut: cut[1])
        targets = np.flatnonzero(self.endpoints).tolist()
        if self._has_unit_links and self.endpoints.all():
            if self.topology.has_translations:
                return best  # its capacity is the degree (Mader 1971)
            targets = self._dominating_set(root)
        with computing("finding the least cut", len(targets), "targets") as task:
            for target in targets:
                if target != root:
                    supply = np.zeros(nodes, dtype=np.int64)
                    supply[root] = best.capacity
                    flow, inside = self.send(supply, target)
                    best = self.cut(inside) if flow < best.capacity else best
                task.advance()
        return best

    def _dominating_set(self, root: int) -> list[int]:
        tails = self._arcs.tails.reshape(self.topology.nodes, -1)
        chosen, is_near = [root], np.zeros(self.topology.nodes, dtype=bool)
        is_near[[root, *tails[root]]] = True
        while not is_near.all():
            chosen.append(int(is_near.argmin()))
            is_near[[chosen[-1], *tails[chosen[-1]]]] = True
        return chosen

    def find_bottleneck(self, root: int, start: Cut | None = None) -> Cut:
        """Return the cut with the root outside and the most endpoints inside per unit of capacity.

        Suppose that every endpoint sends one message to the root, and that a link of capacity 1
        transmits one message per unit of time. Then this ratio is a lower bound on the time, and
        routes along a flow attain the bound. If links have the same capacity in both directions,
        the same holds for messages from the root to the endpoints.

        The ratio is increased step by step, and each step computes one flow (Dinkelbach 1967). All
        computations are exact.

        Args:
            root: the rank of the root.
            start: a cut to begin with, which is returned unless another cut has a larger ratio.
        """
        nodes = np.arange(self.topology.nodes)
        best = self.cut(nodes != root) if start is None else start
        while True:
            count = self.count_endpoints(best)
            supply = np.where(self.endpoints & (nodes != root), best.capacity, 0)
            flow, inside = self.send(supply, root, scale=count)
            if flow == supply.sum():
                return best
            best = self.cut(inside)

    def find_bottleneck_of_all(self) -> Cut:
        """Return the cut with the most endpoints inside per unit of outgoing capacity.

        At least one endpoint is outside. The cut determines the optimal time of an allgather (Zhao
        et al. 2024, arXiv 2402.06787).
        """
        roots = np.flatnonzero(self.endpoints).tolist()
        best = self.find_bottleneck(roots[0])
        with computing("finding the bottleneck cut", len(roots) - 1, "roots") as task:
            for root in roots[1:]:
                best = self.find_bottleneck(root, best)
                task.advance()
        return best

    def count_endpoints(self, cut: Cut) -> int:
        """Return the number of endpoints inside a cut."""
        return int(np.count_nonzero(cut.inside & self.endpoints))
