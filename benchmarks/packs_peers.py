"""Questions about paths and topologies, answered with NetworkX, igraph and numpy.

Each function receives a `Place` and the typed parameters of the query. It returns rows with the
columns in `benchmarks.packs_cases.COMPARED`, in which nodes are replaced by their ranks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from benchmarks.packs_place import Place, table
from starcast.topologies.necklaces import rotation

Rows = list[tuple[Any, ...]]
Given = Mapping[str, Any]
Work = Callable[[Place, Given], Rows]

#: The functions that answer the question of a query, by full query name and library.
PEERS: dict[tuple[str, str], Work] = {}


def peer(query: str, library: str) -> Callable[[Work], Work]:
    """Register the decorated function, which answers the question of a query with a library."""

    def register(work: Work) -> Work:
        PEERS[query, library] = work
        return work

    return register


def _ends(place: Place, given: Given) -> tuple[int, int]:
    return place.rank[given["source"]], place.rank[given["target"]]


@peer("paths/shortest-path", "networkx")
def _(place: Place, given: Given) -> Rows:
    return [(len(nx.shortest_path(place.networkx, *_ends(place, given))) - 1,)]


@peer("paths/shortest-path", "igraph")
def _(place: Place, given: Given) -> Rows:
    source, target = _ends(place, given)
    return [(len(place.igraph.get_shortest_path(source, to=target)) - 1,)]


@peer("paths/shortest-path", "numpy")
def _(place: Place, given: Given) -> Rows:
    node, target = _ends(place, given)
    away, path = place.topology.distances(target), [node]
    while path[-1] != target:
        beyond = place.numpy.table[:, path[-1]]
        path.append(int(beyond[away[beyond].argmin()]))
    return [(len(path) - 1,)]


@peer("paths/shortest-paths", "networkx")
def _(place: Place, given: Given) -> Rows:
    return [tuple(path) for path in nx.all_shortest_paths(place.networkx, *_ends(place, given))]


@peer("paths/shortest-paths", "igraph")
def _(place: Place, given: Given) -> Rows:
    source, target = _ends(place, given)
    return [tuple(path) for path in place.igraph.get_all_shortest_paths(source, to=target)]


@peer("paths/number-of-shortest-paths", "networkx")
def _(place: Place, given: Given) -> Rows:
    lengths = [
        len(path) - 1 for path in nx.all_shortest_paths(place.networkx, *_ends(place, given))
    ]
    return [(lengths[0], len(lengths))]


@peer("paths/number-of-shortest-paths", "igraph")
def _(place: Place, given: Given) -> Rows:
    source, target = _ends(place, given)
    paths = place.igraph.get_all_shortest_paths(source, to=target)
    return [(len(paths[0]) - 1, len(paths))]


@peer("paths/number-of-shortest-paths", "numpy")
def _(place: Place, given: Given) -> Rows:
    """Count the shortest paths to each node.

    The count of a node is the sum of the counts of its neighbours that are closer to the source.
    """
    source, target = _ends(place, given)
    away = place.topology.distances(source)
    ways = np.zeros(place.topology.nodes, dtype=np.int64)
    ways[source] = 1
    for distance in range(1, int(away[target]) + 1):
        nodes = np.flatnonzero(away == distance)
        before = place.numpy.table[:, nodes]
        ways[nodes] = np.where(away[before] == distance - 1, ways[before], 0).sum(axis=0)
    return [(int(away[target]), int(ways[target]))]


@peer("paths/k-shortest-paths", "networkx")
def _(place: Place, given: Given) -> Rows:
    paths = nx.shortest_simple_paths(place.networkx, *_ends(place, given))
    return [(len(path) - 1,) for path in islice(paths, given["k"])]


@peer("paths/k-shortest-paths", "igraph")
def _(place: Place, given: Given) -> Rows:
    source, target = _ends(place, given)
    return [
        (len(path) - 1,)
        for path in place.igraph.get_k_shortest_paths(source, to=target, k=given["k"])
    ]


@peer("paths/avoiding-path", "networkx")
def _(place: Place, given: Given) -> Rows:
    nodes, links = _avoided(place, given)
    seen = nx.restricted_view(place.networkx, nodes, links)
    return [(len(nx.shortest_path(seen, *_ends(place, given))) - 1,)]


@peer("paths/avoiding-path", "igraph")
def _(place: Place, given: Given) -> Rows:
    """Search a copy of the graph from which all avoided edges are deleted.

    Avoided vertices are kept without edges, because deleting vertices would renumber the others.
    """
    nodes, links = _avoided(place, given)
    left = place.igraph.copy()
    left.delete_edges(
        sorted(
            {edge for node in nodes for edge in left.incident(node)}
            | {left.get_eid(*link) for link in links}
        )
    )
    source, target = _ends(place, given)
    return [(len(left.get_shortest_path(source, to=target)) - 1,)]


def _avoided(place: Place, given: Given) -> tuple[list[int], list[tuple[int, int]]]:
    links = [
        (place.rank[one], place.rank[other])
        for one, other in (link.split("-") for link in given["avoided_links"])
    ]
    return [place.rank[label] for label in given["avoided_nodes"]], links


@peer("paths/next-hops", "networkx")
def _(place: Place, given: Given) -> Rows:
    node, target = place.rank[given["source"]], place.rank[given["target"]]
    links = place.networkx.adj[node].items()
    return _hops(
        (link["port"], hop, nx.shortest_path_length(place.networkx, hop, target))
        for hop, link in links
    )


@peer("paths/next-hops", "igraph")
def _(place: Place, given: Given) -> Rows:
    node, target = place.rank[given["source"]], place.rank[given["target"]]
    hops, ports = place.igraph.neighbors(node), place.igraph.es[place.igraph.incident(node)]["port"]
    away = [row[0] for row in place.igraph.distances(hops, target)]
    return _hops(zip(ports, hops, away, strict=True))


@peer("paths/next-hops", "numpy")
def _(place: Place, given: Given) -> Rows:
    hops = place.numpy.table[:, place.rank[given["source"]]]
    return _hops(table(place.topology.ports, hops, place.topology.distances(given["target"])[hops]))


def _hops(hops: Iterable[tuple[int, int, int]]) -> Rows:
    """Return the (port, node, distance) tuples with the smallest distance."""
    listed = list(hops)
    least = min(distance for _, _, distance in listed)
    return [hop for hop in listed if hop[2] == least]


@peer("paths/routing-table", "networkx")
def _(place: Place, given: Given) -> Rows:
    graph = place.networkx
    away = nx.single_source_shortest_path_length(graph, place.rank[given["target"]])
    return [
        (
            node,
            distance,
            sum(1 << link["port"] for hop, link in graph.adj[node].items() if away[hop] < distance),
        )
        for node, distance in away.items()
        if distance
    ]


@peer("paths/routing-table", "igraph")
def _(place: Place, given: Given) -> Rows:
    away = place.igraph.distances(place.rank[given["target"]])[0]
    masks = [0] * len(away)
    for (one, other), port in zip(
        place.igraph.get_edgelist(), place.igraph.es["port"], strict=True
    ):
        if away[one] != away[other]:
            masks[one if away[one] > away[other] else other] |= 1 << port
    return [row for row in zip(range(len(away)), away, masks, strict=True) if row[1]]


@peer("paths/routing-table", "numpy")
def _(place: Place, given: Given) -> Rows:
    away = place.topology.distances(given["target"])
    bits = np.left_shift(1, np.array(place.topology.ports))
    others, masks = np.flatnonzero(away), bits @ (away[place.numpy.table] < away)
    return table(others, away[others], masks[others])


@peer("topology/distance-profile", "networkx")
def _(place: Place, given: Given) -> Rows:
    lengths = nx.single_source_shortest_path_length(place.networkx, place.rank[given["node"]])
    return _counted(list(lengths.values()))


@peer("topology/distance-profile", "igraph")
def _(place: Place, given: Given) -> Rows:
    return _counted(place.igraph.distances(place.rank[given["node"]])[0])


@peer("topology/distance-profile", "numpy")
def _(place: Place, given: Given) -> Rows:
    return _counted(place.topology.distances(given["node"]))


def _counted(values: list[int] | NDArray[Any]) -> Rows:
    return list(enumerate(np.bincount(values).tolist()))


@peer("topology/nodes-at-distance", "networkx")
def _(place: Place, given: Given) -> Rows:
    return [
        (node,)
        for node in nx.descendants_at_distance(
            place.networkx, place.rank[given["node"]], given["distance"]
        )
    ]


@peer("topology/nodes-at-distance", "igraph")
def _(place: Place, given: Given) -> Rows:
    order = given["distance"]
    return [
        (node,)
        for node in place.igraph.neighborhood(place.rank[given["node"]], order=order, mindist=order)
    ]


@peer("topology/nodes-at-distance", "numpy")
def _(place: Place, given: Given) -> Rows:
    return table(np.flatnonzero(place.topology.distances(given["node"]) == given["distance"]))


@peer("topology/neighbours", "networkx")
def _(place: Place, given: Given) -> Rows:
    return [(node,) for node in place.networkx[place.rank[given["node"]]]]


@peer("topology/neighbours", "igraph")
def _(place: Place, given: Given) -> Rows:
    return [(node,) for node in place.igraph.neighbors(place.rank[given["node"]])]


@peer("topology/neighbours", "numpy")
def _(place: Place, given: Given) -> Rows:
    return table(place.numpy.table[:, place.rank[given["node"]]])


@peer("topology/adjacency", "networkx")
def _(place: Place, given: Given) -> Rows:
    return [(int(place.networkx.has_edge(*_two(place, given))),)]


@peer("topology/adjacency", "igraph")
def _(place: Place, given: Given) -> Rows:
    return [(int(place.igraph.are_adjacent(*_two(place, given))),)]


@peer("topology/adjacency", "numpy")
def _(place: Place, given: Given) -> Rows:
    first, second = _two(place, given)
    return [(int(second in place.numpy.table[:, first]),)]


def _two(place: Place, given: Given) -> Iterator[int]:
    return (place.rank[given[name]] for name in ("source", "target"))


@peer("topology/substar", "numpy")
def _(place: Place, given: Given) -> Rows:
    symbols = place.topology.labels().view(np.uint32).reshape(place.topology.nodes, -1)
    wanted = [
        (position, ord(symbol)) for position, symbol in enumerate(given["pattern"]) if symbol != "*"
    ]
    return table(
        np.flatnonzero(
            np.logical_and.reduce([symbols[:, position] == symbol for position, symbol in wanted])
        )
    )


@peer("topology/necklace", "numpy")
def _(place: Place, given: Given) -> Rows:
    turned, orbit = rotation(place.topology.n), [place.rank[given["node"]]]
    while (following := int(turned[orbit[-1]])) != orbit[0]:
        orbit.append(following)
    return table(range(len(orbit)), orbit)
