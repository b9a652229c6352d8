"""Every topology and construction at the speed of memory: against copying, against peers, and how it grows with n."""

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
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


def figures() -> Iterator[Figure]:
    """The figures of issue 4, each beside its yardstick."""
    yield from _against_copying()
    yield from _against_peers()
    yield from _every_construction()
    yield from _one_tree_at_a_time()
    _growth()


def _against_copying() -> Iterator[Figure]:
    s10 = topology("S10")
    links, edges = s10.nodes * s10.degree, (s10.n - 1) * (s10.nodes - 1)
    table = np.zeros(links, dtype=np.int32)
    copying = seconds(table.copy) / links * 1e9
    across = seconds(s10.table, repeats=5) / links * 1e9
    yield Figure(
        "S10 neighbour table", across, "ns a directed link", "< 1", "copy the same bytes", copying
    )
    trees = forest("S10", "multiple")
    copying = seconds(trees.parent_port.copy, repeats=5) / edges * 1e9
    building = seconds(lambda: forest("S10", "multiple"), repeats=5) / edges * 1e9
    yield Figure(
        "S10 multiple: build", building, "ns a tree edge", "< 0.1", "copy the same bytes", copying
    )
    proving = seconds(trees.verify) / edges * 1e9
    yield Figure(
        "S10 multiple: verify", proving, "ns a tree edge", "< 6", "copy the same bytes", copying
    )


def _against_peers() -> Iterator[Figure]:
    """The graph S_9 from nothing: SageMath by its own generator, the others from our list of links."""
    s9 = topology("S9")
    ours = seconds(s9.table)
    here = np.arange(s9.nodes)
    across = [(port, s9.neighbours(port)) for port in s9.ports]
    links = np.concatenate(
        [np.column_stack([here, there])[here < there] for _, there in across]
    ).tolist()

    def rust() -> None:
        graph = rustworkx.PyGraph()
        graph.add_nodes_from(range(s9.nodes))
        graph.extend_from_edge_list([tuple(link) for link in links])

    peers: dict[str, Callable[[], object]] = {
        "NetworkX": lambda: nx.Graph(links),
        "rustworkx": rust,
        "igraph": lambda: igraph.Graph(n=s9.nodes, edges=links),
        "SageMath": _sage,
    }
    for name, build in peers.items():
        yield Figure("S9 neighbour table", ours, "s", "< 1", name, seconds(build, repeats=1))


def _sage() -> None:
    from sage.graphs.graph_generators import graphs  # noqa: PLC0415 - takes seconds, and nothing else needs it

    graphs.NStarGraph(9)


def _every_construction() -> Iterator[Figure]:
    for spec, limit in (("S9", "< 5"), ("S10", "< 10")):
        where = topology(spec)
        names = plain_constructions(where) if spec == "S9" else ("edge-disjoint",)
        copying = seconds(np.zeros((where.degree, where.nodes), dtype=np.uint8).copy)
        for name in names:
            building = seconds(lambda name=name, where=where: forest(where, name), repeats=1)  # type: ignore[misc]
            yield Figure(f"{spec} {name}: build", building, "s", limit, "copy n-1 trees", copying)


def _one_tree_at_a_time() -> Iterator[Figure]:
    """S_11 and S_12, in a process of their own each, so that its peak is theirs."""
    for spec, aim in (("S11", "< 20"), ("S12", "< 60")):
        elapsed, peak, copying = map(float, _run("one_by_one", spec).split())
        yield Figure(
            f"{spec} multiple: build and verify all",
            elapsed,
            "s",
            aim,
            "copy the same bytes",
            copying,
        )
        yield Figure(
            f"{spec} multiple: peak", peak, "GiB", "< 4", "one tree", topology(spec).nodes / GIB
        )


def one_by_one(spec: str) -> None:
    """Build and verify the trees of `multiple` one after the other; prints seconds, peak in GiB, and seconds of copying."""
    where = topology(spec)
    begin = perf_counter()
    for i in range(1, where.n):
        multiple_tree(where, 0, i).verify()
    elapsed = perf_counter() - begin
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB
    copying = (where.n - 1) * seconds(np.zeros(where.nodes, dtype=np.uint8).copy, repeats=1)
    print(elapsed, peak, copying)


def _run(function: str, spec: str) -> str:
    script = f"from benchmarks.trees import {function}; {function}({spec!r})"
    return subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    ).stdout


def _growth() -> None:
    """How building and proving grow with n, nanoseconds a tree edge."""
    rows = []
    for n in range(5, 11):
        where = topology(f"S{n}")
        row: dict[str, object] = {"topology": where.spec, "nodes": where.nodes}
        for name in ("greedy", "multiple", "recursive-substar", "edge-disjoint"):
            grown = forest(where, name)
            edges = grown.trees * (where.nodes - 1)
            row[f"{name} build"] = (
                seconds(lambda name=name, where=where: forest(where, name))  # type: ignore[misc]
                / edges
                * 1e9
            )
            row[f"{name} verify"] = seconds(grown.verify, repeats=1) / edges * 1e9
        rows.append(row)
    emit(rows, list(rows[0]), title="ns a tree edge")
