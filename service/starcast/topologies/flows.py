"""Exact maximum flows and minimum cuts on the directed links of a topology.

Capacities are whole numbers, one for each directed link; by default each is 1. Then a maximum flow
is the largest number of paths from one node to another that share no directed link (Menger 1927),
and a minimum cut the fewest links to remove so that no path is left (Ford & Fulkerson 1956).

The smallest of the maximum flows from a root to the other nodes is the number of arc-disjoint
spanning trees from this root (Edmonds 1973). If every link has the same capacity in both
directions, as on every topology today, it is the same for all roots: as many links leave a set of
nodes as enter it, so every cut counts for every root.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from starcast.support.arrays import Mask
from starcast.support.errors import InputError
from starcast.support.progress import computing
from starcast.topologies.base import Topology

Value = TypeVar("Value")

#: The capacity of the directed link that leaves a node over a port, int ``[ports, nodes]``; None if
#: each is 1. Where a node has no link at a port, the value is ignored.
Capacities = NDArray[np.integer] | None


class Cut(NamedTuple):
    """A set of some but not all nodes, and the total capacity of the directed links that leave it.

    Attributes:
        inside: which nodes are in the set, bool ``[nodes]``.
        capacity: the total capacity of the directed links that leave the set.
    """

    inside: Mask
    capacity: int

    def links(self, topology: Topology) -> list[tuple[int, int]]:
        """Return the directed links that leave the set, as pairs of ranks, sorted."""
        table = topology.table()
        _, inner = leaving = np.nonzero(self.inside & ~self.inside[table])
        return sorted(zip(inner.tolist(), table[leaving].tolist(), strict=True))


class Arcs(NamedTuple):
    """The directed links of a topology; the link into node v at port p has the index v P + p.

    P is the number of ports, which are numbered from 0 in the order of `Topology.ports`.

    Attributes:
        tails: the node where each link begins, int32 ``[nodes * ports]``; v itself if node v has no
            link at a port.
        twins: the index of the directed link in the opposite direction, int32 ``[nodes * ports]``.
    """

    tails: NDArray[np.int32]
    twins: NDArray[np.int32]

    @classmethod
    def of(cls, topology: Topology) -> "Arcs":
        """Number the directed links of a topology."""
        tails = topology.table().T.reshape(-1)
        back = np.searchsorted(topology.ports, topology.reverse_ports()[list(topology.ports)])
        twins = tails * np.int32(topology.port_count) + np.tile(back, topology.nodes)
        return cls(tails, twins.astype(np.int32))


def link_connectivity(topology: Topology) -> int:
    """Return the smallest number of links whose removal disconnects a topology.

    This is also the number of arc-disjoint spanning trees from any root (Edmonds 1973).

    Example:
        >>> link_connectivity(topology("Mesh3x4"))
        2
    """
    if topology.has_translations:
        return topology.degree  # Mader 1971
    return keep(topology, "connectivity", lambda: FlowNetwork(topology).find_least_cut().capacity)


def own_network(topology: Topology) -> "FlowNetwork":
    """Return the flow network of a topology with its own capacities and endpoints."""
    is_endpoint = np.arange(topology.nodes) < topology.endpoints
    return FlowNetwork(topology, topology.capacities, is_endpoint)


def least_cut(topology: Topology) -> Cut:
    """Return a cut of minimum capacity between endpoints, with node 0 inside.

    See `FlowNetwork.find_least_cut`.
    """
    return keep(topology, "least cut", lambda: own_network(topology).find_least_cut())


def bottleneck(topology: Topology, root: int | None) -> Cut:
    """Return the set of nodes with the most endpoints per unit of outgoing capacity.

    See `FlowNetwork.find_bottleneck`.

    Args:
        topology: the topology.
        root: the rank of a node that must be outside; None if it may be any node.
    """
    if root is None:
        return keep(topology, "bottleneck", lambda: own_network(topology).find_bottleneck_of_all())
    name = f"bottleneck {root}"
    return keep(topology, name, lambda: own_network(topology).find_bottleneck(root))


def level_cut(topology: Topology) -> Cut:
    """Return a cut that many pairs of nodes share: all nodes up to some distance from one node.

    The node is one at the maximum distance from node 0. The distance is that of the best cut.
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
    """Return a value of an object that is computed once and then stored in the object.

    A spec cannot serve as the key, because another topology may have the same spec later.
    """
    kept = vars(topology).setdefault("_kept_values", {})
    if name not in kept:
        kept[name] = compute()
    value: Value = kept[name]
    return value


class FlowNetwork:
    """A topology with capacities, prepared for the computation of flows.

    Args:
        topology: the topology.
        capacities: see `Capacities`.
        endpoints: which nodes send and receive messages of their own, bool ``[nodes]``; None for
            all. The others only forward.

    Raises:
        InputError: capacities or endpoints have a wrong shape, or a capacity is negative.
    """

    def __init__(
        self, topology: Topology, capacities: Capacities = None, endpoints: Mask | None = None
    ) -> None:
        self.topology = topology
        self.endpoints = np.ones(topology.nodes, dtype=bool) if endpoints is None else endpoints
        shape = topology.port_count, topology.nodes
        given = np.ones(shape, dtype=np.int64) if capacities is None else np.asarray(capacities)
        if given.shape != shape or given.dtype.kind not in "iu" or given.min() < 0:
            raise InputError(
                f"the capacities of {topology.spec} are not whole numbers of at least 0, one for "
                "each port and node",
                hint=f"give an array of integers [{shape[0]}, {shape[1]}]",
            )
        if self.endpoints.shape != (topology.nodes,) or self.endpoints.dtype != bool:
            raise InputError(
                f"the endpoints of {topology.spec} are not a Boolean for each node",
                hint=f"give an array of Booleans [{topology.nodes}]",
            )
        self._arcs = Arcs.of(topology)
        self._ends = np.arange(topology.nodes).repeat(topology.port_count)
        # The directed link that enters a node at a port leaves the other end over the twin's port.
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
            scale: a factor for all capacities.

        Returns:
            The flow, and the nodes from which no further flow can reach the target, bool
            ``[nodes]``. If the flow is below the limit, they are the inner side of a minimum cut.
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

    def find_minimum_cut(self, source: int | str, target: int | str) -> Cut:
        """Return a cut of minimum capacity between two nodes; it equals the maximum flow.

        Args:
            source: label or rank of a node inside.
            target: label or rank of a node outside.

        Raises:
            InputError: a node does not exist, or the two are equal.
        """
        first, last = self.topology.node(source), self.topology.node(target)
        if first == last:
            raise InputError(
                f"source and target are both {self.topology.label(first)}: a cut needs two nodes",
                hint="choose another target",
            )
        supply = np.zeros(self.topology.nodes, dtype=np.int64)
        supply[first] = self._capacity.sum()
        return self.cut(self.send(supply, last)[1])

    def find_least_cut(self, root: int = 0) -> Cut:
        """Return a cut of minimum capacity between the root, inside, and any other endpoint.

        If there are neither capacities nor switches, only flows to the nodes of a dominating set
        are needed: if every node has at least d links, each side of a cut of fewer than d links has
        a node with all neighbours on its own side (Matula 1987).
        """
        nodes = self.topology.nodes
        entering = self._capacity.reshape(nodes, -1).sum(axis=1)
        entering[~self.endpoints] = entering[root] = entering.max() + 1
        single = np.arange(nodes) == entering.argmin()
        best = min(self.cut(~single), self.cut(np.arange(nodes) == root), key=lambda cut: cut[1])
        targets = np.flatnonzero(self.endpoints).tolist()
        if self._has_unit_links and self.endpoints.all():
            if self.topology.has_translations:
                return best  # the degree, by Mader 1971
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
        """Return the set, without the root, with the most endpoints per outgoing capacity.

        If every endpoint has a message for the root, the messages take at least that long, and
        some routes attain it, because they are a flow. The same holds in reverse, for messages of
        the root, if links have the same capacity in both directions.

        The ratio is increased step by step, and each step computes one flow (Dinkelbach 1967). All
        computations are exact.

        Args:
            root: the rank of the root.
            start: a cut with a lower bound on the ratio; it is returned if no set has a larger one.
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
        """Return the set with the most endpoints per unit of outgoing capacity, except all nodes.

        It determines the optimal time of an allgather (Zhao et al. 2024, arXiv 2402.06787). At
        least one endpoint must be outside, to receive the messages.
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
