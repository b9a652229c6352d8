"""Compare the time to build topologies and trees with that of array copies and other libraries."""

from collections.abc import Callable, Iterator
from functools import partial

import networkx as nx
import numpy as np
import rustworkx
from numpy.typing import NDArray

from benchmarks import libraries
from benchmarks.measure import Figure, Growth, seconds
from starcast import forest, topology
from starcast.trees import plain_constructions

COPY = "copy the same bytes"
#: The largest n for each library in the growth table.
LIMITS = {"NetworkX": 8, "igraph": 8, "rustworkx": 8, "SageMath": 8, "numpy": 9, "starcast": 10}


def figures() -> Iterator[Figure | Growth]:
    """Measure the time to build neighbour tables, a shortest-path tree, and forests."""
    s10 = topology("S10")
    copying = seconds(np.zeros(s10.nodes * s10.degree, dtype=np.int32).copy)
    yield Figure("S10 neighbour table", seconds(s10.table), "s", "< 0.1", COPY, copying)

    graphs = {f"S{n}": dict(_graph_costs(n)) for n in range(4, 11)}
    ours = graphs["S8"].pop("starcast")
    for name, cost in graphs["S8"].items():
        yield Figure("S8 neighbour table", ours, "s", "< 0.1", name, cost)
    graphs["S8"]["starcast"] = ours
    costs = {
        name: {spec: row[name] * 1e6 for spec, row in graphs.items() if name in row}
        for name in LIMITS
    }
    yield Growth("Processor time to build a star graph, in µs", costs)

    yield from _shortest_paths()
    yield from _constructions()


def _graph_costs(n: int) -> Iterator[tuple[str, float]]:
    """Yield the name of each library and the seconds that the library needs to build S_n."""
    network = topology(f"S{n}")
    links = libraries.list_links(network) if n <= LIMITS["NetworkX"] else []
    works: dict[str, Callable[[], object]] = {
        "NetworkX": partial(libraries.build_networkx, links),
        "igraph": partial(libraries.build_igraph, links),
        "rustworkx": partial(libraries.build_rustworkx, links),
        "SageMath": partial(libraries.build_sage, n),
        "numpy": partial(libraries.build_numpy, n),
        "starcast": network.table,
    }
    if n == min(range(4, 11)):
        # The first call imports SageMath, which takes seconds, so it is not measured.
        works["SageMath"]()
    for name, work in works.items():
        if n <= LIMITS[name]:
            yield name, seconds(work, repeats=1 if n >= 8 and name != "starcast" else 3)


def _shortest_paths() -> Iterator[Figure]:
    """Compare the time to find a shortest-path tree on S8 with the times of other libraries.

    The time to build the graph in each library is not measured.
    """
    s8 = topology("S8")
    links = libraries.list_links(s8)
    graph = libraries.build_networkx(links)
    of_igraph = libraries.build_igraph(links)
    of_rustworkx = libraries.build_rustworkx(links).to_directed()
    table = s8.table()
    works: dict[str, Callable[[], object]] = {
        "NetworkX": lambda: dict(nx.bfs_predecessors(graph, 0)),
        "igraph": lambda: of_igraph.bfs(0),
        "rustworkx": lambda: rustworkx.bfs_predecessors(of_rustworkx, 0),
        "numpy": partial(search_breadth_first, table),
    }
    ours = seconds(lambda: forest(s8, "greedy"))
    for name, work in works.items():
        what = "S8 greedy: a tree of shortest paths"
        yield Figure(what, ours, "s", "< 0.1", name, seconds(work))


def search_breadth_first(table: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return the parents in a shortest-path tree of node 0, computed level by level."""
    parents = np.full(table.shape[1], -1, dtype=np.int64)
    parents[0] = 0
    frontier = np.array([0])
    while len(frontier):
        reached = table[:, frontier].ravel()
        senders = np.tile(frontier, len(table))
        new = parents[reached] < 0
        parents[reached[new]] = senders[new]
        frontier = np.unique(reached[new])
    return parents


def _constructions() -> Iterator[Figure | Growth]:
    """Measure the build times of constructions on S9, and of four constructions on S5 to S10."""
    # numba compiles the loops in the first call, so this call is not measured.
    forest("S4", "arc-disjoint")
    for name in plain_constructions(topology("S9")):
        network = topology("S7" if name == "arc-disjoint" else "S9")
        copying = seconds(np.zeros((network.degree, network.nodes), dtype=np.uint8).copy)
        building = seconds(partial(forest, network, name), repeats=1)
        what = f"{network.spec} {name}: build"
        yield Figure(what, building, "s", "< 5", "copy n-1 trees", copying)
    costs: dict[str, dict[str, float]] = {}
    for name in ("greedy", "multiple", "recursive-substar", "edge-disjoint"):
        costs[name] = {}
        for n in range(5, 11):
            network = topology(f"S{n}")
            building = seconds(partial(forest, network, name), repeats=2 if n < 10 else 1)
            trees = 1 if name in {"greedy", "recursive-substar"} else network.degree
            costs[name][network.spec] = building / (trees * (network.nodes - 1)) * 1e9
    yield Growth("Processor time to build trees, in ns per tree edge", costs)
