"""Topologies and constructions against copying and other libraries, and their growth with n."""

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from time import perf_counter

import igraph
import networkx as nx
import numpy as np
import rustworkx

from benchmarks.measure import Figure, seconds
from starcast import forest, topology
from starcast.cli.output import emit
from starcast.trees import plain_constructions
from starcast.trees.multiple import multiple_tree

GIB = 2**30
COPY = "copy the same bytes"


def figures() -> Iterator[Figure]:
    """Measure neighbour tables and every construction, and print a table of growth."""
    yield from _against_copying()
    yield from _against_peers()
    yield from _every_construction()
    yield from _one_tree_at_a_time()
    _growth()


def _against_copying() -> Iterator[Figure]:
    s10 = topology("S10")
    links = s10.nodes * s10.degree
    edges = (s10.n - 1) * (s10.nodes - 1)
    table = np.zeros(links, dtype=np.int32)
    copying = seconds(table.copy) / links * 1e9
    crossing = seconds(s10.table, repeats=5) / links * 1e9
    yield Figure("S10 neighbour table", crossing, "ns per directed link", "< 1", COPY, copying)
    trees = forest("S10", "multiple")
    copying = seconds(trees.parent_port.copy, repeats=5) / edges * 1e9
    building = seconds(lambda: forest("S10", "multiple"), repeats=5) / edges * 1e9
    yield Figure("S10 multiple: build", building, "ns per tree edge", "< 0.1", COPY, copying)
    verifying = seconds(trees.verify) / edges * 1e9
    yield Figure("S10 multiple: verify", verifying, "ns per tree edge", "< 6", COPY, copying)


def _against_peers() -> Iterator[Figure]:
    """Measure the graph S_9, which SageMath generates and the others build from a list of links."""
    s9 = topology("S9")
    ours = seconds(s9.table)
    ranks = np.arange(s9.nodes)
    pairs = []
    for port in s9.ports:
        neighbours = s9.neighbours(port)
        pairs.append(np.column_stack([ranks, neighbours])[ranks < neighbours])
    links = np.concatenate(pairs).tolist()

    def build_rustworkx() -> None:
        graph = rustworkx.PyGraph()
        graph.add_nodes_from(range(s9.nodes))
        graph.extend_from_edge_list([tuple(link) for link in links])

    peers: dict[str, Callable[[], object]] = {
        "NetworkX": lambda: nx.Graph(links),
        "rustworkx": build_rustworkx,
        "igraph": lambda: igraph.Graph(n=s9.nodes, edges=links),
        "SageMath": _build_sage,
    }
    for name, build in peers.items():
        yield Figure("S9 neighbour table", ours, "s", "< 1", name, seconds(build, repeats=1))


def _build_sage() -> None:
    # The import takes seconds, and nothing else needs it.
    from sage.graphs.graph_generators import graphs  # noqa: PLC0415

    graphs.NStarGraph(9)


def _every_construction() -> Iterator[Figure]:
    for spec, limit in (("S9", "< 5"), ("S10", "< 10")):
        network = topology(spec)
        names = plain_constructions(network) if spec == "S9" else ("edge-disjoint",)
        copying = seconds(np.zeros((network.degree, network.nodes), dtype=np.uint8).copy)
        for name in names:
            building = seconds(partial(forest, network, name), repeats=1)
            yield Figure(f"{spec} {name}: build", building, "s", limit, "copy n-1 trees", copying)


def _one_tree_at_a_time() -> Iterator[Figure]:
    """Measure S_11 and S_12, each in a process of its own to get its peak of memory."""
    for spec, aim in (("S11", "< 20"), ("S12", "< 60")):
        elapsed, peak, copying = map(float, _run("one_by_one", spec).split())
        tree = topology(spec).nodes / GIB
        yield Figure(f"{spec} multiple: build and verify all", elapsed, "s", aim, COPY, copying)
        yield Figure(f"{spec} multiple: peak", peak, "GiB", "< 4", "one tree", tree)


def one_by_one(spec: str) -> None:
    """Build and verify the trees of `multiple` one by one.

    Prints the duration in seconds, the peak of memory in GiB, and the seconds to copy the trees.
    """
    network = topology(spec)
    begin = perf_counter()
    for i in range(1, network.n):
        multiple_tree(network, 0, i).verify()
    elapsed = perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB
    copying = (network.n - 1) * seconds(np.zeros(network.nodes, dtype=np.uint8).copy, repeats=1)
    print(elapsed, peak, copying)


def _run(function: str, spec: str) -> str:
    script = f"from benchmarks.trees import {function}; {function}({spec!r})"
    return subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout


def _growth() -> None:
    """Print how building and verifying grow with n, in nanoseconds per tree edge."""
    rows = []
    for n in range(5, 11):
        network = topology(f"S{n}")
        row: dict[str, object] = {"topology": network.spec, "nodes": network.nodes}
        for name in ("greedy", "multiple", "recursive-substar", "edge-disjoint"):
            trees = forest(network, name)
            edges = trees.trees * (network.nodes - 1)
            row[f"{name} build"] = seconds(partial(forest, network, name)) / edges * 1e9
            row[f"{name} verify"] = seconds(trees.verify, repeats=1) / edges * 1e9
        rows.append(row)
    emit(rows, list(rows[0]), title="ns per tree edge")
