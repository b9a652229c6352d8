"""The ports that queries print on (n,k)-stars, where the two ends of a residual link have different ones, and on hypercubes."""

from collections.abc import Iterator
from typing import Any

import pytest

from packs.loading import loaded
from starcast.connections import GraphAddress
from starcast.graph.connection import Graph
from starcast.queries import find, run
from starcast.topologies import topology
from starcast.trees import forest

SPECS = ("S4,2", "S5,3", "Q4")
CONSTRUCTION = {"S4,2": "nk-multiple", "S5,3": "nk-multiple", "Q4": "edge-disjoint-binomial"}


@pytest.fixture(scope="module")
def graph(graph_address: GraphAddress) -> Iterator[Graph]:
    """The other families with a forest each."""
    with Graph.open(graph_address) as opened, loaded(opened, SPECS):
        yield opened


def ask(graph: Graph, name: str, **given: Any) -> list[dict[str, Any]]:
    """The rows of a shipped query."""
    return [dict(row) for row in run(graph, find(name), given).rows]


def walks(spec: str, nodes: list[str], ports: list[int]) -> bool:
    """Whether the ports lead from each node to the next."""
    t = topology(spec)
    steps = zip(nodes, ports, nodes[1:], strict=False)
    return len(nodes) == len(ports) + 1 and all(t.label(int(t.neighbours(p, [t.rank(a)])[0])) == b for a, p, b in steps)


@pytest.mark.parametrize("spec", SPECS)
def test_every_neighbour_lies_across_the_port_printed_with_it(graph: Graph, spec: str) -> None:
    t = topology(spec)
    for rank in range(t.nodes):
        label = t.label(rank)
        expected = [(port, t.label(int(t.neighbours(port, [rank])[0]))) for port in t.ports]
        assert [(row["port"], row["neighbour"]) for row in ask(graph, "neighbours", topology=spec, node=label)] == expected


@pytest.mark.parametrize("spec", SPECS)
def test_paths_leave_every_node_by_the_port_printed(graph: Graph, spec: str) -> None:
    t = topology(spec)
    f = forest(spec, CONSTRUCTION[spec])
    distances = {rank: t.distances(rank) for rank in (0, t.nodes // 2, t.nodes - 1)}
    for source, distance in distances.items():
        for target in range(0, t.nodes, 5):
            ends = {"source": t.label(source), "target": t.label(target)}
            (shortest,) = ask(graph, "shortest-path", topology=spec, **ends)
            assert shortest["length"] == distance[target]
            for tree in range(f.trees):
                rows = ask(graph, "tree-path", forest=f.id, tree=tree, **ends)
                assert len(rows) == 1
                for row in (shortest, *rows):
                    assert walks(spec, row["nodes"], row["ports"])


@pytest.mark.parametrize("spec", SPECS)
def test_adjacent_nodes_and_the_port_between_them(graph: Graph, spec: str) -> None:
    t = topology(spec)
    for rank in (1, t.nodes - 1):
        for port in t.ports:
            there = int(t.neighbours(port, [rank])[0])
            (row,) = ask(graph, "adjacency", topology=spec, first=t.label(rank), second=t.label(there))
            assert (row["adjacent"], row["port"], row["distance"]) == (True, port, 1)
