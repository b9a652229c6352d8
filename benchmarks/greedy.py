"""Measure the time to build and simulate greedy schedules, on real and on large networks.

The real networks are those in topohub's groups topozoo, sndlib and backbone that are connected and
have at most `_MAX_NODES` nodes. Two processes build and simulate the schedules of all collectives
on these networks. The large networks are a torus and a star graph.
"""

import json
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from importlib.resources import files
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from time import process_time

import networkx as nx
import numpy as np

import starcast
from benchmarks.measure import Figure
from starcast.collectives.model import COLLECTIVES
from starcast.topologies import Topology

_GROUPS = ("topozoo", "sndlib", "backbone")
_MAX_NODES = 250


def figures() -> Iterator[Figure]:
    """Yield the times to build and simulate schedules, and the share of optimal allgathers."""
    paths = [path for group in _GROUPS for path in _paths(group)]
    before = getrusage(RUSAGE_CHILDREN)
    with ProcessPoolExecutor(2) as pool:
        rows = [row for row in pool.map(build_and_judge, paths, chunksize=4) if row is not None]
    after = getrusage(RUSAGE_CHILDREN)
    seconds = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 2
    judging, is_met = (np.array(column) for column in zip(*rows, strict=True))
    yield Figure(
        f"build and judge 8 collectives on {len(rows)} networks of topohub, in 2 processes",
        seconds, "s", "< 60", "judge them", float(judging.sum()) / 2,
    )  # fmt: skip
    yield Figure(
        f"allgathers at a lower bound on {len(rows)} networks of topohub",
        100 * float(is_met.mean()), "%", "> 90", "all", 100.0,
    )  # fmt: skip
    for spec, collective, aim in (("T8x8x8", "alltoall", "< 3"), ("S7", "allgather", "< 15")):
        start = process_time()
        built = starcast.schedule(spec, collective, "greedy")
        middle = process_time()
        assert starcast.simulate(built).complete
        yield Figure(
            f"build {collective} on {spec}: {built.steps} steps, {len(built):,} rows",
            middle - start, "s", aim, "simulate it", process_time() - middle,
        )  # fmt: skip


def _paths(group: str) -> list[Path]:
    return sorted(Path(str(files("topohub"))).glob(f"data/{group}/*.json"))


def build_and_judge(path: Path) -> tuple[float, bool] | None:
    """Build and simulate the schedules of all collectives on a network of topohub.

    Returns:
        The CPU time of the simulations in seconds, and whether the number of allgather steps equals
        a lower bound; None if the network is too large or not connected.
    """
    content = json.loads(path.read_text())
    graph = nx.Graph([(link["source"], link["target"]) for link in content["edges"]])
    graph.remove_edges_from(nx.selfloop_edges(graph))
    if len(graph) > _MAX_NODES or len(graph) < len(content["nodes"]) or not nx.is_connected(graph):
        return None
    network = starcast.network(graph, name="topohub")
    judging, is_met = 0.0, False
    for collective in COLLECTIVES:
        built = starcast.schedule(network, collective, "greedy")
        start = process_time()
        result = starcast.simulate(built)
        judging += process_time() - start
        assert result.complete
        assert result.violation is None
        if collective == "allgather":
            is_met = built.steps == bound(network)
    return judging, is_met


def bound(network: Topology) -> int:
    """Return a lower bound on the steps of an all-port allgather of one message per node.

    The bound follows from two facts. A node receives at most one unit per link and step. A unit
    from a node at distance k cannot arrive before step k.
    """
    steps = 0
    for node in range(network.nodes):
        counts = np.bincount(network.distances(node))
        beyond = network.nodes - np.cumsum(counts)[:-1]
        arrivals = np.arange(len(beyond)) - (-beyond // int(network.degrees[node]))
        steps = max(steps, int(arrivals.max()))
    return steps
