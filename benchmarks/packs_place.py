"""The benchmark data: a topology with forests and a schedule, in the graph and as arrays."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import forest, schedule, topology
from starcast.formats.graphs import to_igraph, to_networkx
from starcast.stores.graph.artifacts import graph_artifact
from starcast.stores.graph.writer import BoltWriter
from starcast.trees import Forest
from starcast.trees.metrics import Edges, edges_of

CONSTRUCTIONS = ("multiple", "greedy", "edge-disjoint")

Numbers = NDArray[np.int64]


class Place:
    """A star graph with forests and a broadcast; each library's data are built on first use.

    Args:
        spec: the topology, such as ``S6``.
    """

    def __init__(self, spec: str) -> None:
        self.topology = topology(spec)
        self.forests = {
            each.id: each for each in (forest(self.topology, name) for name in CONSTRUCTIONS)
        }
        self.broadcast = schedule(self.topology, "broadcast", "multiple", segments=1)
        self.labels: list[str] = self.topology.labels().tolist()
        self.rank = {label: rank for rank, label in enumerate(self.labels)}

    def words(self) -> dict[str, str]:
        """Return the values of the placeholders in `benchmarks.packs_cases`."""
        topology, away = self.topology, self.topology.distances()
        half, far = (
            self.labels[int(np.flatnonzero(away == d)[0])]
            for d in (topology.diameter // 2, topology.diameter)
        )
        near = self.labels[int(topology.neighbours(2)[0])]
        return {
            **dict(zip(("multiple", "greedy", "disjoint"), self.forests, strict=True)),
            "topology": topology.spec,
            "broadcast": self.broadcast.id,
            "root": self.labels[0],
            "near": near,
            "half": half,
            "far": far,
            "link": f"{self.labels[0]}-{near}",
            "distance": str(topology.diameter // 2),
            "substar": "*" * (topology.n - 1) + "1",
            "step": str(self.broadcast.steps // 2),
        }

    def parameters(self, case: Mapping[str, str]) -> dict[str, str]:
        """Return the query parameters of a case on this topology."""
        words = self.words()
        return {name: value.format_map(words) for name, value in case.items()}

    def write(self, way: BoltWriter) -> None:
        """Write the topology, its forests and its broadcast to the graph."""
        artifacts = [graph_artifact(each) for each in self.forests.values()]
        for artifact in (graph_artifact(self.topology), *artifacts, graph_artifact(self.broadcast)):
            way.begin(artifact)
            way.write(artifact, lambda _: None)
            way.finish(artifact)

    @cached_property
    def networkx(self) -> Any:
        """The topology as a `networkx.Graph`."""
        return to_networkx(self.topology)

    @cached_property
    def igraph(self) -> Any:
        """The topology as an `igraph.Graph`."""
        return to_igraph(self.topology)

    @cached_property
    def numpy(self) -> "Arrays":
        """The topology, its forests and its schedule as arrays."""
        return Arrays(self)

    def building(self) -> dict[str, float]:
        """Return the seconds needed to build the data structure of each library."""
        seconds = {}
        for name in ("networkx", "igraph", "numpy"):
            begin = perf_counter()
            getattr(self, name)
            seconds[name] = perf_counter() - begin
        return seconds


class Arrays:
    """The data of a `Place` as arrays.

    Attributes:
        topology: the topology.
        table: neighbours, int32 ``[ports, nodes]``.
        edges: the edges of each forest, from parent to child, sorted by level.
        steps: for each forest, the index in `edges` at which each level begins, and the end.
    """

    def __init__(self, place: Place) -> None:
        self.topology = place.topology
        self.table = place.topology.table()
        self.edges = {name: _by_level(edges_of(each)) for name, each in place.forests.items()}
        self.steps = {name: _levels(edges.level) for name, edges in self.edges.items()}

    def link(self, node: NDArray[np.integer], port: NDArray[np.integer]) -> Numbers:
        """Return the number of each directed link from its sender and port; ports begin at 2."""
        return node.astype(np.int64) * self.topology.degree + port.astype(np.int64) - 2

    def ends(self, links: Numbers) -> tuple[Numbers, Numbers]:
        """Return the sender and port of each directed link."""
        return links // self.topology.degree, links % self.topology.degree + 2

    def across(self, node: Numbers, port: Numbers) -> Numbers:
        """Return the neighbours of nodes across the given ports."""
        return np.asarray(self.table[port - 2, node], dtype=np.int64)

    def masks(self, name: str) -> Numbers:
        """Return for each directed link the trees that use it, with tree i as bit i."""
        edges = self.edges[name]
        # A tree uses a directed link at most once, so no power of two is added twice.
        size = self.topology.nodes * self.topology.degree
        sums = np.bincount(
            self.link(edges.parent, edges.port), weights=2.0**edges.tree, minlength=size
        )
        return np.asarray(sums, dtype=np.int64)

    def below(self, stored: Forest, broken: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return the nodes at and below broken edges, bool ``[trees, nodes]``."""
        cut = broken.copy()
        edges = self.edges[stored.id]
        for first, last in pairwise(self.steps[stored.id]):
            part = slice(first, last)
            cut[edges.tree[part], edges.child[part]] |= cut[edges.tree[part], edges.parent[part]]
        return cut


def _by_level(edges: Edges) -> Edges:
    order = np.argsort(edges.level, kind="stable")
    return Edges(*(column[order] for column in edges))


def _levels(level: Numbers) -> list[int]:
    return [*np.searchsorted(level, np.arange(1, level[-1] + 1)).tolist(), len(level)]


def table(*columns: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return the rows of a table that is given by its columns."""
    return list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))
