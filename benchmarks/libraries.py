"""Build and check star graphs and trees with NetworkX, igraph, rustworkx, SageMath and numpy.

The functions do the same work as functions of starcast, and `tests/unit/test_benchmarks.py`
compares the results. SageMath is installed as passagemath-graphs, a package with the graph theory
part of SageMath.
"""

from collections.abc import Callable, Sequence
from itertools import permutations
from typing import Any

import igraph
import networkx as nx
import numpy as np
import rustworkx
from numpy.typing import NDArray

from starcast.topologies import Topology
from starcast.trees import Forest

#: Links or tree edges as pairs of ranks.
Pairs = Sequence[tuple[int, int]]


def list_links(topology: Topology) -> list[tuple[int, int]]:
    """Return the undirected links of a topology, each once, as pairs of ranks."""
    ranks = np.arange(topology.nodes)
    pairs = []
    for port in topology.ports:
        neighbours = topology.neighbours(port)
        pairs.append(np.column_stack([ranks, neighbours])[ranks < neighbours])
    return [(one, other) for one, other in np.concatenate(pairs).tolist()]


def list_edges(forest: Forest) -> list[list[tuple[int, int]]]:
    """Return one list per tree with the tree's edges as pairs (parent, child)."""
    parents = parents_of(forest)
    return [
        [(parent, child) for child, parent in enumerate(row) if child != forest.root]
        for row in parents.tolist()
    ]


def parents_of(forest: Forest) -> NDArray[np.int32]:
    """Return the parents, int32 ``[trees, nodes]``; the root is its own parent."""
    parents = forest.parents()
    parents[:, forest.root] = forest.root
    return parents


def build_networkx(links: Pairs) -> Any:
    """Return the NetworkX graph with these links."""
    return nx.Graph(links)


def build_igraph(links: Pairs) -> Any:
    """Return the igraph graph with these links."""
    return igraph.Graph(edges=links)


def build_rustworkx(links: Pairs) -> Any:
    """Return the rustworkx graph with these links."""
    graph = rustworkx.PyGraph()
    graph.extend_from_edge_list(links)
    return graph


def build_sage(n: int) -> Any:
    """Return the star graph S_n that SageMath generates."""
    # The import takes seconds, and only this function needs it.
    from sage.graphs.graph_generators import graphs  # noqa: PLC0415

    return graphs.NStarGraph(n)


def build_numpy(n: int) -> NDArray[np.int64]:
    """Return the neighbour table ``[ports, nodes]``, by sorting the permutations as numbers."""
    digits = np.array(list(permutations(range(n))), dtype=np.int64)
    weights = n ** np.arange(n - 1, -1, -1, dtype=np.int64)
    codes = digits @ weights
    table = np.empty((n - 1, len(codes)), dtype=np.int64)
    for port in range(1, n):
        order = np.arange(n)
        order[[0, port]] = order[[port, 0]]
        table[port - 1] = np.searchsorted(codes, digits[:, order] @ weights)
    return table


def heights_networkx(edges: Pairs, nodes: int) -> int:
    """Return the height of a tree with root 0, after checking that the tree spans all nodes."""
    graph = nx.DiGraph(edges)
    if len(graph) != nodes or not nx.is_arborescence(graph):
        raise ValueError("the edges are not a spanning tree")
    return int(max(nx.single_source_shortest_path_length(graph, 0).values()))


def heights_igraph(edges: Pairs, nodes: int) -> int:
    """Return the height of a tree with root 0, after checking that the tree spans all nodes."""
    graph = igraph.Graph(n=nodes, edges=edges, directed=True)
    if not graph.is_tree("out"):
        raise ValueError("the edges are not a spanning tree")
    return int(max(graph.distances(source=0)[0]))


def heights_rustworkx(edges: Pairs, nodes: int) -> int:
    """Return the height of a tree with root 0, after checking that the tree spans all nodes."""
    graph = rustworkx.PyDiGraph()
    graph.add_nodes_from(range(nodes))
    graph.extend_from_edge_list(edges)
    levels = rustworkx.topological_generations(graph)
    # The graph has no cycle, because `topological_generations` would have raised an error. If only
    # node 0 has no parent, and there are nodes - 1 edges, every other node has exactly one parent.
    if len(edges) != nodes - 1 or list(levels[0]) != [0]:
        raise ValueError("the edges are not a spanning tree")
    return len(levels) - 1


def heights_numpy(parents: NDArray[np.int32]) -> int:
    """Return the height of a tree with root 0, by following the parents of all nodes at once.

    The root is its own parent.
    """
    nodes = np.arange(len(parents))
    reached: NDArray[np.signedinteger[Any]] = nodes
    height = 0
    while reached.any():
        if height == len(parents):
            raise ValueError("the parents have a cycle")
        reached = parents[reached]
        height += 1
    return height


def execute(rows: Sequence[Sequence[int]], has_link: Callable[[int, int], bool]) -> int:
    """Execute a broadcast from node 0; return the number of owned units, summed over all nodes.

    Args:
        rows: step, sender, receiver and unit, sorted by step.
        has_link: whether two nodes are adjacent.

    Raises:
        ValueError: a sender and its receiver are not adjacent, or the sender does not own the unit
            at the beginning of the step.
    """
    owned: dict[int, set[int]] = {0: {row[3] for row in rows}}
    arrivals: list[tuple[int, int]] = []
    current = 0
    for step, sender, receiver, unit in rows:
        if step != current:
            _deliver(owned, arrivals)
            current = step
        if unit not in owned.get(sender, ()) or not has_link(sender, receiver):
            raise ValueError(
                f"in step {step}, node {sender} cannot send unit {unit} to node {receiver}: it"
                " lacks the unit or the link"
            )
        arrivals.append((receiver, unit))
    _deliver(owned, arrivals)
    return sum(map(len, owned.values()))


def _deliver(owned: dict[int, set[int]], arrivals: list[tuple[int, int]]) -> None:
    for node, unit in arrivals:
        owned.setdefault(node, set()).add(unit)
    arrivals.clear()
