"""Maximum flows, minimum cuts and bottlenecks, compared with NetworkX and with all subsets."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import starcast
from starcast.topologies import Topology, topology
from starcast.topologies.flow_loops import push_flow
from starcast.topologies.flows import Arcs, FlowNetwork, link_connectivity
from starcast.topologies.networks import Network


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Generate a connected network of 2 to 8 nodes, which is a random tree with further links."""
    count = draw(st.integers(2, 8))
    links = {(draw(st.integers(0, node - 1)), node) for node in range(1, count)}
    pairs = list(combinations(range(count), 2))
    links |= draw(st.sets(st.sampled_from(pairs)))
    return starcast.network(sorted(links), name="drawn")


def weighted(network: Topology, capacities: np.ndarray | None) -> nx.DiGraph:
    """Return the directed links of a topology and their capacities as a NetworkX graph."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(network.nodes))
    for row, port in enumerate(network.ports):
        for node, end in enumerate(network.neighbours(port).tolist()):
            if node != end:
                capacity = 1 if capacities is None else int(capacities[row, node])
                graph.add_edge(node, end, capacity=capacity)
    return graph


def subsets(nodes: int) -> Iterator[set[int]]:
    for size in range(1, nodes):
        yield from map(set, combinations(range(nodes), size))


def leaving(graph: nx.DiGraph, inside: set[int]) -> int:
    return sum(
        capacity
        for node, end, capacity in graph.edges(data="capacity")
        if node in inside and end not in inside
    )


@given(networks(), st.data())
def test_flows_and_cuts_equal_those_of_networkx(network: Network, data: st.DataObject) -> None:
    """Capacities may differ between the two directions of a link, and may be 0."""
    capacities = None
    if data.draw(st.booleans()):
        shape = network.port_count, network.nodes
        numbers = st.lists(st.integers(0, 9), min_size=shape[0] * shape[1])
        capacities = np.array(data.draw(numbers)[: shape[0] * shape[1]]).reshape(shape)
    graph = weighted(network, capacities)
    flows = FlowNetwork(network, capacities)
    for root in range(network.nodes):
        values = []
        for target in set(range(network.nodes)) - {root}:
            supply = np.zeros(network.nodes, dtype=np.int64)
            supply[root] = 10**6
            flow, inside = flows.send(supply, target)
            assert flow == nx.maximum_flow_value(graph, root, target)
            assert inside[root]
            assert not inside[target]
            cut = flows.cut(inside).capacity
            assert flow == cut == leaving(graph, set(np.flatnonzero(inside).tolist()))
            values.append(flow)
        least = flows.find_least_cut(root)
        assert least.capacity == min(values)
        assert least.inside[root]
        assert not least.inside.all()
        assert leaving(graph, set(np.flatnonzero(least.inside).tolist())) == least.capacity


@given(networks(), st.data())
def test_a_bottleneck_has_the_largest_ratio_of_all_node_sets(
    network: Network, data: st.DataObject
) -> None:
    """The ratio of a set is its number of endpoints divided by the capacity of the leaving links.

    Links have the same capacity in both directions. Some nodes may be switches.
    """
    nodes = range(network.nodes)
    graph = weighted(network, None)
    capacities = np.ones((network.port_count, network.nodes), dtype=np.int64)
    for node, end in graph.edges:
        if node < end:
            capacity = data.draw(st.integers(1, 9))
            (port,) = network.ports_between(node, end)
            capacities[port - 1, [node, end]] = capacity
    graph = weighted(network, capacities)
    endpoints = np.array([data.draw(st.booleans()) for _ in nodes])
    assume(endpoints.sum() >= 2)
    flows = FlowNetwork(network, capacities, endpoints)

    def largest(without: int | None) -> Fraction:
        return max(
            Fraction(sum(endpoints[list(inside)].tolist()), leaving(graph, inside))
            for inside in subsets(network.nodes)
            if without not in inside and not set(np.flatnonzero(endpoints)) <= inside
        )

    for root in np.flatnonzero(endpoints).tolist():
        cut = flows.find_bottleneck(root)
        assert Fraction(flows.count_endpoints(cut), cut.capacity) == largest(root)
    cut = flows.find_bottleneck_of_all()
    assert Fraction(flows.count_endpoints(cut), cut.capacity) == largest(None)


@pytest.mark.parametrize("spec", ["S4", "S5,2", "Q4", "Mesh4x5", "DF2", "RR40,4,1", "K3,4"])
def test_the_link_connectivity_of_families_equals_that_of_networkx(spec: str) -> None:
    graph = weighted(topology(spec), None).to_undirected()
    assert link_connectivity(topology(spec)) == nx.edge_connectivity(graph)


@given(networks(), st.data())
def test_interpreted_and_compiled_flows_are_equal(network: Network, data: st.DataObject) -> None:
    arcs = Arcs.of(network)
    target = data.draw(st.integers(0, network.nodes - 1))
    exists = arcs.tails != np.arange(network.nodes).repeat(network.port_count)
    supply = np.full(network.nodes, 2, dtype=np.int64)
    supply[target] = 0
    results = []
    for function in (push_flow, getattr(push_flow, "py_func", push_flow)):
        left, own = exists.astype(np.int64), supply.copy()
        spaces = [np.zeros(network.nodes, dtype=np.int64) for _ in range(3)]
        flow = function(target, 10**6, network.port_count, *arcs, left, own, *spaces)
        results.append((flow, left.tolist(), own.tolist(), spaces[0].tolist()))
    assert results[0] == results[1]
