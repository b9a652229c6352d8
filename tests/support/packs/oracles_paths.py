"""Brute-force oracles for the query pack ``paths``."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from itertools import combinations, pairwise

import networkx as nx

from support.packs.oracle_tools import (
    Case,
    Label,
    Row,
    Values,
    across,
    distances,
    forest_node_cases,
    labels,
    network,
    node_pair_cases,
    oracle,
    path_ports,
    ports,
    root,
    some_pairs,
    spec_of,
    to_root,
    topology_node_cases,
    trees_of,
)
from support.packs.stored_data import SPECS, forests

#: The number of paths that the query k-shortest-paths requests from Neo4j.
MAX_PATHS = 1000


def shortest(spec: str, source: Label, target: Label) -> list[list[Label]]:
    """Return all shortest paths from the source to the target, as lists of nodes."""
    return list(nx.all_shortest_paths(network(spec), source, target))


#: The columns that describe a path.
PATH = "length path ports"
PAIRS = node_pair_cases()


def path_values(spec: str, nodes: Sequence[Label]) -> Values:
    """Return the length, the nodes and the ports of a path."""
    return len(nodes) - 1, list(nodes), path_ports(spec, nodes)


def path_row(spec: str, nodes: Sequence[Label]) -> Row:
    """Return the row that describes a path."""
    return dict(zip(PATH.split(), path_values(spec, nodes), strict=True))


@oracle("paths/shortest-paths", PATH, PAIRS, order="ports")
def shortest_paths(topology: str, source: Label, target: Label) -> Iterator[Values]:
    """Yield all shortest paths from the source to the target."""
    yield from (path_values(topology, nodes) for nodes in shortest(topology, source, target))


@oracle("paths/number-of-shortest-paths", "length paths", PAIRS)
def number_of_shortest_paths(topology: str, source: Label, target: Label) -> Iterator[Values]:
    """Yield one row with the distance and the number of shortest paths."""
    yield distances(topology, source)[target], len(shortest(topology, source, target))


def judge_shortest_path(case: Case, rows: list[Row]) -> None:
    """Check that the result is one row with any of the shortest paths."""
    (row,) = rows
    assert row in shortest_paths(**case)


@oracle("paths/shortest-path", PATH, PAIRS, judge=judge_shortest_path)
def shortest_path(topology: str, source: Label, target: Label) -> Iterator[Values]:
    """Yield the rows that are valid results, one for each shortest path."""
    yield from (path_values(topology, nodes) for nodes in shortest(topology, source, target))


@cache
def simple(spec: str, source: Label, target: Label, longest: int) -> list[tuple[Label, ...]]:
    """Return all simple paths of at most ``longest`` hops, sorted by length, then by ports."""
    away = distances(spec, target)
    found: list[tuple[Label, ...]] = []
    begun: list[tuple[Label, ...]] = [(source,)]
    while begun:
        nodes = begun.pop()
        if nodes[-1] == target:
            found.append(nodes)
            continue
        begun += [
            (*nodes, neighbour)
            for neighbour in network(spec)[nodes[-1]]
            if neighbour not in nodes and len(nodes) + away[neighbour] <= longest
        ]
    return sorted(found, key=lambda nodes: (len(nodes), path_ports(spec, nodes)))


def at_least(spec: str, source: Label, target: Label, wanted: int) -> list[tuple[Label, ...]]:
    """Return all simple paths from source to target of at most L hops.

    L is the smallest value for which there are at least ``wanted`` such paths. If fewer simple
    paths exist, all are returned.
    """
    found: list[tuple[Label, ...]] = []
    for longest in range(distances(spec, source)[target], len(labels(spec))):
        found = simple(spec, source, target, longest)
        if len(found) >= wanted:
            break
    return found


def k_cases() -> Iterator[Case]:
    """Yield cases with few and many paths; in some, path k+1 is as long as path k."""
    yield from PAIRS
    yield from ({**case, "k": 1} for case in PAIRS[::3])
    yield {"topology": "S4", "source": "1234", "target": "2143", "k": 120}
    yield {"topology": "S6", "source": "123456", "target": "654321", "k": 60}
    yield {"topology": "S4,2", "source": "12", "target": "21", "k": MAX_PATHS}
    yield {"topology": "S5,3", "source": "123", "target": "143", "k": 100}
    yield {"topology": "Q4", "source": "0000", "target": "1111", "k": 2 * MAX_PATHS}


def judge_k_shortest_paths(case: Case, rows: list[Row]) -> None:
    """Check the result of k-shortest-paths.

    If more than MAX_PATHS paths are no longer than the k-th path, the result may have any of the
    paths that are as long as the k-th one.
    """
    k = min(case.get("k", 10), MAX_PATHS)
    spec, source, target = case["topology"], case["source"], case["target"]
    right = [path_row(spec, nodes) for nodes in at_least(spec, source, target, k)]
    if len(right) <= MAX_PATHS:
        assert rows == right[:k]
    else:
        assert [row["length"] for row in rows] == [row["length"] for row in right[:k]]
        assert all(row in right for row in rows)
        places = [(row["length"], row["ports"]) for row in rows]
        assert places == sorted(places)
        assert len({tuple(row["path"]) for row in rows}) == k


@oracle("paths/k-shortest-paths", PATH, k_cases(), judge=judge_k_shortest_paths)
def k_shortest_paths(topology: str, source: Label, target: Label, k: int = 10) -> Iterator[Values]:
    """Yield the expected paths, sorted by length and ports."""
    for nodes in at_least(topology, source, target, k)[:k]:
        yield path_values(topology, nodes)


@oracle("paths/path-lengths", "length paths", PAIRS)
def path_lengths(topology: str, source: Label, target: Label) -> Iterator[Values]:
    """Yield the two smallest lengths of simple paths, with the number of paths of each length."""
    shortest_ones = len(shortest(topology, source, target))
    paths = at_least(topology, source, target, shortest_ones + 1)
    yield from sorted(Counter(len(nodes) - 1 for nodes in paths).items())


@cache
def least_flow(spec: str, source: Label, target: Label) -> tuple[int, int]:
    """Return the maximum number of disjoint paths, and the minimum total length of so many paths.

    NetworkX finds the paths as a flow. Every node becomes an arc of capacity 1, so that only one
    path can use the node.
    """
    arcs = nx.DiGraph()
    for node, neighbours in network(spec).adjacency():
        arcs.add_edge((node, "in"), (node, "out"), capacity=1, weight=0)
        for neighbour in neighbours:
            arcs.add_edge((node, "out"), (neighbour, "in"), capacity=1, weight=1)
    flow = nx.max_flow_min_cost(arcs, (source, "out"), (target, "in"))
    return sum(flow[source, "out"].values()), nx.cost_of_flow(arcs, flow)


def judge_disjoint_paths(case: Case, rows: list[Row]) -> None:
    """Check that the paths are internally disjoint, with the expected number and total length."""
    (expected,) = disjoint_paths(**case)
    assert len(rows) == expected["paths"]
    if case["topology"] in SPECS:  # the connectivity equals the degree
        assert len(rows) == len(ports(case["topology"]))
    assert sum(row["length"] for row in rows) == expected["length"]
    inner = [node for row in rows for node in row["path"][1:-1]]
    assert len({*inner, case["source"], case["target"]}) == len(inner) + 2
    for row in rows:
        assert (row["path"][0], row["path"][-1]) == (case["source"], case["target"])
        assert row == path_row(case["topology"], row["path"])
        assert None not in row["ports"]
    places = [(row["length"], row["ports"]) for row in rows]
    assert places == sorted(places)
    assert len({tuple(row["path"]) for row in rows}) == len(rows)


@oracle(
    "paths/disjoint-paths",
    "paths length",
    [case for case in PAIRS if case["source"] != case["target"]],
    judge=judge_disjoint_paths,
)
def disjoint_paths(topology: str, source: Label, target: Label) -> Iterator[Values]:
    """Yield the number of disjoint paths and their total length."""
    yield least_flow(topology, source, target)


def judge_connectivity(case: Case, rows: list[Row]) -> None:
    """Check the connectivity, and that the cut has minimum size and separates the two nodes."""
    (row,) = rows
    (expected,) = connectivity(**case)
    assert {name: row[name] for name in expected} == expected
    source, target = case["source"], case["target"]
    assert not {source, target} & set(row["cut"])
    assert len(row["cut"]) == len(set(row["cut"])) == row["connectivity"] - row["adjacent"]
    left = nx.restricted_view(network(case["topology"]), row["cut"], [(source, target)])
    assert not nx.has_path(left, source, target)


@oracle(
    "paths/connectivity",
    "connectivity adjacent",
    [case for case in PAIRS if case["source"] != case["target"]],
    judge=judge_connectivity,
)
def connectivity(topology: str, source: Label, target: Label) -> Iterator[Values]:
    """Yield the connectivity without the direct link, plus 1 if the two nodes are adjacent."""
    graph = nx.Graph(network(topology))
    adjacent = graph.has_edge(source, target)
    if adjacent:
        graph.remove_edge(source, target)
    yield nx.node_connectivity(graph, source, target) + adjacent, adjacent


def avoiding_cases() -> Iterator[Case]:
    """Yield cases that avoid nothing, first hops, the source, or links or nodes at the target."""
    for ends in PAIRS:
        spec, source, target = ends.values()
        paths = shortest(spec, source, target)
        hops = list(dict.fromkeys(nodes[1] for nodes in paths if nodes[1:]))
        near = [across(spec, target, port) for port in ports(spec)]
        links = [f"{neighbour}-{target}" for neighbour in near]
        yield ends
        yield {**ends, "avoided_nodes": [hop for hop in hops if hop != target]}
        yield {**ends, "avoided_links": [f"{hop}-{source}" for hop in hops[1:]]}
        yield {**ends, "avoided_nodes": [source, labels(spec)[1]]}
        yield {**ends, "avoided_links": links[:-1], "avoided_nodes": [labels(spec)[-2]]}
        yield {**ends, "avoided_links": links}
        yield {**ends, "avoided_nodes": [node for node in near if node != source]}


def judge_avoiding_path(case: Case, rows: list[Row]) -> None:
    """Check that the result is one of the shortest paths that avoid the given nodes and links."""
    expected = avoiding_path(**case)
    assert [row["length"] for row in rows] == [row["length"] for row in expected]
    for row in rows:
        nodes = row["path"]
        used = {f"{one}-{other}" for one, other in (*pairwise(nodes), *pairwise(nodes[::-1]))}
        assert (nodes[0], nodes[-1]) == (case["source"], case["target"])
        assert row["ports"] == path_ports(case["topology"], nodes)
        assert len(row["ports"]) == row["length"]
        assert None not in row["ports"]
        assert not set(nodes) & set(case.get("avoided_nodes", ()))
        assert not used & set(case.get("avoided_links", ()))


@oracle("paths/avoiding-path", "length", avoiding_cases(), judge=judge_avoiding_path)
def avoiding_path(
    topology: str,
    source: Label,
    target: Label,
    avoided_nodes: Collection[Label] = (),
    avoided_links: Collection[str] = (),
) -> Iterator[Values]:
    """Yield the length of a shortest path without the avoided nodes and links, if one exists."""
    links = [tuple(link.split("-")) for link in avoided_links]
    left = nx.restricted_view(network(topology), avoided_nodes, links)
    if source in left and target in left and nx.has_path(left, source, target):
        yield (nx.shortest_path_length(left, source, target),)


def next_cases() -> Iterator[Case]:
    """Yield cases for a few node pairs, and for all sources on two small topologies."""
    yield from PAIRS
    for spec in ("S4,2", "Q4"):
        yield from (
            {"topology": spec, "source": node, "target": labels(spec)[5]} for node in labels(spec)
        )


@oracle("paths/next-hops", "port next_node distance", next_cases())
def next_hops(topology: str, source: Label, target: Label) -> Iterator[Values]:
    """Yield the next hops on all shortest paths to the target, sorted by port."""
    away = distances(topology, target)
    for port in ports(topology):
        neighbour = across(topology, source, port)
        if away[neighbour] < away[source]:
            yield port, neighbour, away[neighbour]


@oracle(
    "paths/routing-table",
    "node distance ports",
    [{"topology": case["topology"], "target": case["node"]} for case in topology_node_cases()],
)
def routing_table(topology: str, target: Label) -> Iterator[Values]:
    """Yield the distance and the next ports towards the target for every other node."""
    away = distances(topology, target)
    for node in labels(topology):
        if node != target:
            yield node, away[node], [hop["port"] for hop in next_hops(topology, node, target)]


def tree_cases() -> Iterator[Case]:
    """Yield cases with the first and the last tree of every forest."""
    for spec in SPECS:
        for forest in forests(spec):
            for tree in {0, forest.trees - 1}:
                for source, target in some_pairs(spec):
                    yield {"forest": forest.id, "tree": tree, "source": source, "target": target}


@oracle("paths/tree-path", f"{PATH} upward_links", tree_cases())
def tree_path(forest: str, tree: int, source: Label, target: Label) -> Iterator[Values]:
    """Yield the path in a tree from the source via the lowest common ancestor to the target."""
    up, down = (to_root(forest, tree, end) for end in (source, target))
    if up[-1] == down[-1] == root(forest):
        meeting = next(label for label in up if label in down)
        climbed = up.index(meeting)
        nodes = up[:climbed] + down[: down.index(meeting) + 1][::-1]
        yield *path_values(spec_of(forest), nodes), climbed


def parallel(forest: str, node: Label) -> dict[int, list[Label]]:
    """Return the path from the root to a node in each tree that contains the node."""
    paths = {tree: to_root(forest, tree, node)[::-1] for tree in trees_of(forest)}
    return {tree: nodes for tree, nodes in paths.items() if nodes[0] == root(forest)}


@oracle("paths/parallel-paths", f"tree {PATH} shared_nodes shared_links", forest_node_cases())
def parallel_paths(forest: str, node: Label) -> Iterator[Values]:
    """Yield the path from the root to a node in each tree that contains the node."""
    paths = parallel(forest, node)
    passes = Counter(inner for nodes in paths.values() for inner in nodes[1:-1])
    uses = Counter(hop for nodes in paths.values() for hop in pairwise(nodes))
    for tree, nodes in paths.items():
        shared_nodes = [inner for inner in nodes[1:-1] if passes[inner] > 1]
        shared_links = ["-".join(hop) for hop in pairwise(nodes) if uses[hop] > 1]
        yield tree, *path_values(spec_of(forest), nodes), shared_nodes, shared_links


@oracle(
    "paths/parallel-paths-shared",
    "first_tree second_tree shared_nodes shared_links opposite_links",
    forest_node_cases(),
)
def parallel_paths_shared(forest: str, node: Label) -> Iterator[Values]:
    """Yield, for each pair of trees, the nodes and links that their paths to a node share."""
    paths = parallel(forest, node)
    for (first, one), (second, other) in combinations(paths.items(), 2):
        hops, others = list(pairwise(one)), set(pairwise(other))
        shared_nodes = [inner for inner in one[1:-1] if inner in other]
        shared_links = ["-".join(hop) for hop in hops if hop in others]
        opposite_links = ["-".join(hop) for hop in hops if hop[::-1] in others]
        yield first, second, shared_nodes, shared_links, opposite_links
