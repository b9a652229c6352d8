"""The benchmark data: a topology with forests and a schedule, in the graph and as arrays."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import forest, schedule, topology
from starcast.collectives import Schedule
from starcast.formats.graphs import to_igraph, to_networkx
from starcast.stores.graph.artifacts import graph_artifact
from starcast.stores.graph.writer import BoltWriter
from starcast.topologies import Topology
from starcast.trees import Forest
from starcast.trees.metrics import Edges, edges_of

#: The constructions whose forests are stored, and the broadcast's algorithm with its arguments.
CONSTRUCTIONS = ("multiple", "greedy", "edge-disjoint")
BROADCAST: Mapping[str, Any] = {"algorithm": "multiple", "segments": 1}
#: Constructions and broadcast for networks, on which the papers' constructions are not defined.
NETWORK_CONSTRUCTIONS = ("arc-disjoint", "breadth-first")
NETWORK_BROADCAST: Mapping[str, Any] = {
    "algorithm": "forest",
    "base": "arc-disjoint",
    "segments": 1,
}

Numbers = NDArray[np.int64]


class Place:
    """A topology with forests and a broadcast; each library's data are built on first use.

    Args:
        spec: a star graph, such as ``S6``, or a network, such as ``RR5040,6,1``.
    """

    def __init__(self, spec: str) -> None:
        self.topology = topology(spec)
        self.is_star = self.topology.family == "star"
        constructions = CONSTRUCTIONS if self.is_star else NETWORK_CONSTRUCTIONS
        self.forests = {
            each.id: each for each in (forest(self.topology, name) for name in constructions)
        }
        broadcast = BROADCAST if self.is_star else NETWORK_BROADCAST
        self.broadcast = schedule(self.topology, "broadcast", **broadcast)
        self.labels: list[str] = self.topology.labels().tolist()
        self.rank = {label: rank for rank, label in enumerate(self.labels)}

    def words(self) -> dict[str, str]:
        """Return the values of the placeholders in `benchmarks.packs_cases`."""
        topology, away = self.topology, self.topology.distances()
        eccentricity = int(away.max())
        half, far = (
            self.labels[int(np.flatnonzero(away == d)[0])]
            for d in (eccentricity // 2, eccentricity)
        )
        near = self.labels[int(np.flatnonzero(away == 1)[0])]
        return {
            "multiple": next(iter(self.forests)),
            "disjoint": list(self.forests)[-1],
            "topology": topology.spec,
            "broadcast": self.broadcast.id,
            "root": self.labels[0],
            "near": near,
            "half": half,
            "far": far,
            "link": f"{self.labels[0]}-{near}",
            "distance": str(eccentricity // 2),
            "substar": "*" * (topology.n - 1) + "1",
            "step": str(self.broadcast.steps // 2),
        }

    def parameters(self, case: Mapping[str, str]) -> dict[str, str]:
        """Return the query parameters of a case on this topology."""
        words = self.words()
        return {name: value.format_map(words) for name, value in case.items()}

    def write(self, way: BoltWriter) -> None:
        """Write the topology, its forests and its broadcast to the graph."""
        for artifact in map(graph_artifact, self.artifacts()):
            way.begin(artifact)
            way.write(artifact, lambda _: None)
            way.finish(artifact)

    def artifacts(self) -> tuple[Topology | Forest | Schedule, ...]:
        """Return the stored artifacts: the topology, its forests and the broadcast."""
        return (self.topology, *self.forests.values(), self.broadcast)

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
        """The topology and its forests as arrays."""
        return Arrays(self)

    def building(self) -> dict[str, float]:
        """Build the data structure of each library, and return the seconds by library."""
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
        steps: for each forest, the indices in `edges` at which the levels begin, and the end index.
    """

    def __init__(self, place: Place) -> None:
        self.topology = place.topology
        self.table = place.topology.table()
        self.edges = {name: _by_level(edges_of(each)) for name, each in place.forests.items()}
        self.steps = {name: _levels(edges.level) for name, edges in self.edges.items()}

    def link(self, node: NDArray[np.integer], port: NDArray[np.integer]) -> Numbers:
        """Return the numbers of the directed links of a star graph with these senders and ports."""
        return node.astype(np.int64) * self.topology.degree + port.astype(np.int64) - 2

    def ends(self, links: Numbers) -> tuple[Numbers, Numbers]:
        """Return the senders and the ports of the directed links with these numbers."""
        return links // self.topology.degree, links % self.topology.degree + 2

    def across(self, node: Numbers, port: Numbers) -> Numbers:
        """Return the neighbours of nodes across the given ports."""
        return np.asarray(self.table[port - 2, node], dtype=np.int64)

    def masks(self, name: str) -> Numbers:
        """Return for each directed link a bit mask of the trees that use it, int64 ``[links]``."""
        edges = self.edges[name]
        # A tree uses a directed link at most once, so no power of two is added twice.
        size = self.topology.nodes * self.topology.degree
        sums = np.bincount(
            self.link(edges.parent, edges.port), weights=2.0**edges.tree, minlength=size
        )
        return np.asarray(sums, dtype=np.int64)

    def below(self, stored: Forest, broken: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Return, for each tree and node, whether an edge on the node's path to the root is broken.

        Both arrays are bool ``[trees, nodes]``; ``broken`` states whether the edge from a node to
        its parent is broken.
        """
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
    """Convert columns of a table to a list of rows."""
    return list(zip(*(np.asarray(column).tolist() for column in columns), strict=True))
