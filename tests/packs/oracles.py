"""Every shipped query a second time, by brute force: labels as text, breadth-first search, arrays read row by row."""

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from typing import Any

from packs.loading import SPECS, forests, schedules
from starcast.collectives import Schedule
from starcast.topologies import topology
from starcast.trees import Forest

Case = Mapping[str, Any]
Row = dict[str, Any]
Label = str


@dataclass(frozen=True)
class Oracle:
    """The parameters to ask a query with, and what the rows have to be for each."""

    cases: tuple[Case, ...]
    rows: Callable[..., list[Row]]
    #: Where several answers are right: refuses a wrong one. Else the rows have to be those of ``rows``, in their order.
    judge: Callable[[Case, list[Row]], None] | None = None


ORACLES: dict[str, Oracle] = {}


def oracle(name: str, cases: Iterable[Case]) -> Callable[[Callable[..., list[Row]]], Callable[..., list[Row]]]:
    """Make the function below the oracle of the query of that name: parameters in, rows out."""

    def register(rows: Callable[..., list[Row]]) -> Callable[..., list[Row]]:
        ORACLES[name] = Oracle(tuple(cases), rows)
        return rows

    return register


# The graph, by the labels alone.


@cache
def labels(spec: str) -> list[Label]:
    """All nodes in rank order."""
    return sorted(str(label) for label in topology(spec).labels())


def across(label: Label, port: int) -> Label:
    """The node across that port: positions 1 and port exchanged."""
    return label[port - 1] + label[1 : port - 1] + label[0] + label[port:]


def ports(label: Label) -> range:
    """The ports of a node of S_n."""
    return range(2, len(label) + 1)


@cache
def distances(source: Label) -> dict[Label, int]:
    """The distance of every node, by breadth-first search."""
    found = {source: 0}
    queue = deque([source])
    while queue:
        here = queue.popleft()
        for there in (across(here, port) for port in ports(here)):
            if there not in found:
                found[there] = found[here] + 1
                queue.append(there)
    return found


def shortest(source: Label, target: Label) -> list[tuple[list[Label], list[int]]]:
    """All shortest paths, as nodes and ports."""
    away = distances(target)
    paths: list[tuple[list[Label], list[int]]] = [([source], [])]
    for _ in range(away[source]):
        paths = [
            ([*nodes, across(nodes[-1], port)], [*used, port])
            for nodes, used in paths
            for port in ports(source)
            if away[across(nodes[-1], port)] == away[nodes[-1]] - 1
        ]
    return paths


# The forests, by their arrays, a tree and a node at a time.


@cache
def by_id(name: str) -> Forest:
    return next(forest for spec in SPECS for forest in forests(spec) if forest.id == name)


def parent(forest: Forest, tree: int, label: Label) -> Label | None:
    port = int(forest.parent_port[tree, forest.topology.rank(label)])
    return across(label, port) if port else None


@cache
def users(forest: Forest) -> dict[tuple[Label, int], list[int]]:
    """For each directed link that trees use, parent -> child, the trees."""
    found: dict[tuple[Label, int], list[int]] = {}
    for label in labels(forest.topology.spec):
        for tree in range(forest.trees):
            port = int(forest.parent_port[tree, forest.topology.rank(label)])
            if port:
                found.setdefault((across(label, port), port), []).append(tree)
    return found


def to_root(forest: Forest, tree: int, label: Label) -> list[Label]:
    chain = [label]
    while (above := parent(forest, tree, chain[-1])) is not None:
        chain.append(above)
    return chain


def crossed(nodes: list[Label]) -> list[int]:
    """The port of each hop: the place where the first symbol goes."""
    return [there.index(here[0]) + 1 for here, there in pairwise(nodes)]


# Cases.


def some(spec: str) -> list[Label]:
    """A few nodes: the first, the last, one between."""
    every = labels(spec)
    return list(dict.fromkeys([every[0], every[-1], every[len(every) // 3]]))


def pairs(spec: str) -> list[tuple[Label, Label]]:
    """From the first to itself and to the last, from the last to the one between."""
    first, *_, last = labels(spec)
    return list(dict.fromkeys([(first, first), (first, last), (last, some(spec)[-1])]))


def of_forests(**others: Any) -> list[Case]:
    return [{"forest": forest.id, **others} for spec in SPECS for forest in forests(spec)]


def of_nodes() -> list[Case]:
    return [{"topology": spec, "node": node} for spec in SPECS for node in some(spec)]


def of_pairs(one: str, other: str) -> list[Case]:
    return [{"topology": spec, one: first, other: second} for spec in SPECS for first, second in pairs(spec)]


# Overlap.


@oracle("overlap/shared-links", [*of_forests(), *of_forests(least=1)[:16], *of_forests(least=3)[-4:]])
def shared_links(forest: str, least: int = 2) -> list[Row]:
    rows = [
        {"sender": sender, "port": port, "receiver": across(sender, port), "load": len(trees), "trees": trees}
        for (sender, port), trees in users(by_id(forest)).items()
        if len(trees) >= least
    ]
    return sorted(rows, key=lambda row: (-row["load"], row["sender"], row["port"]))


@oracle("overlap/load-histogram", of_forests())
def load_histogram(forest: str) -> list[Row]:
    place = by_id(forest).topology
    used = users(by_id(forest))
    counts = Counter(len(used.get((label, port), [])) for label in labels(place.spec) for port in ports(label))
    return [{"load": load, "links": counts[load]} for load in sorted({0, *counts})]


@oracle("overlap/most-loaded-links", [*of_forests(), *of_forests(count=1)[-4:], *of_forests(count=10_000)[:8]])
def most_loaded_links(forest: str, count: int = 10) -> list[Row]:
    return shared_links(forest, 1)[:count]


@oracle("overlap/tree-pairs", of_forests())
def tree_pairs(forest: str) -> list[Row]:
    shared = Counter(pair for trees in users(by_id(forest)).values() for pair in combinations(trees, 2))
    rows = [
        {"first": one, "second": other, "links": shared[one, other]}
        for one, other in combinations(range(by_id(forest).trees), 2)
    ]
    return sorted(rows, key=lambda row: (-row["links"], row["first"], row["second"]))


@oracle("overlap/both-directions", of_forests())
def both_directions(forest: str) -> list[Row]:
    used = users(by_id(forest))
    rows = []
    for (lower, port), upward in used.items():
        higher = across(lower, port)
        if lower < higher and (higher, port) in used:
            downward = used[higher, port]
            rows.append({"lower": lower, "port": port, "higher": higher, "upward": upward, "downward": downward})
    return sorted(rows, key=lambda row: (row["lower"], row["port"]))


@oracle(
    "overlap/two-forests",
    [
        {"forest": one.id, "other": other.id}
        for spec in SPECS
        for one, other in zip(forests(spec), (*forests(spec)[1:], forests(spec)[3]), strict=True)
    ],
)
def two_forests(forest: str, other: str) -> list[Row]:
    others = users(by_id(other))
    rows = [
        {"sender": sender, "port": port, "receiver": across(sender, port), "trees": trees, "others": others[sender, port]}
        for (sender, port), trees in users(by_id(forest)).items()
        if (sender, port) in others
    ]
    return sorted(rows, key=lambda row: (row["sender"], row["port"]))


# Paths.


def path_row(nodes: list[Label], used: list[int]) -> Row:
    return {"length": len(used), "nodes": nodes, "ports": used}


@oracle("paths/shortest-paths", of_pairs("source", "target"))
def shortest_paths(topology: str, source: Label, target: Label) -> list[Row]:  # noqa: ARG001 - the query's parameters
    return sorted((path_row(*path) for path in shortest(source, target)), key=lambda row: row["ports"])


@oracle("paths/number-of-shortest-paths", of_pairs("source", "target"))
def number_of_shortest_paths(topology: str, source: Label, target: Label) -> list[Row]:  # noqa: ARG001
    return [{"length": distances(source)[target], "paths": len(shortest(source, target))}]


def judge_shortest_path(case: Case, rows: list[Row]) -> None:
    """Any of the shortest paths is right, and there is one row."""
    (row,) = rows
    assert row in shortest_paths(**case)


ORACLES["paths/shortest-path"] = Oracle(tuple(of_pairs("source", "target")), shortest_paths, judge_shortest_path)


def tree_cases() -> Iterator[Case]:
    for spec in SPECS:
        for forest in forests(spec):
            for tree in {0, forest.trees - 1}:
                for source, target in pairs(spec):
                    yield {"forest": forest.id, "tree": tree, "source": source, "target": target}


@oracle("paths/tree-path", tree_cases())
def tree_path(forest: str, tree: int, source: Label, target: Label) -> list[Row]:
    up, down = to_root(by_id(forest), tree, source), to_root(by_id(forest), tree, target)
    meeting = next(label for label in up if label in down)
    climbed = up.index(meeting)
    nodes = up[:climbed] + down[: down.index(meeting) + 1][::-1]
    return [{**path_row(nodes, crossed(nodes)), "climbed": climbed}]


@oracle(
    "paths/parallel-paths",
    [{"forest": forest.id, "node": node} for spec in SPECS for forest in forests(spec) for node in some(spec)],
)
def parallel_paths(forest: str, node: Label) -> list[Row]:
    grown = by_id(forest)
    paths = [to_root(grown, tree, node)[::-1] for tree in range(grown.trees)]
    return [{"tree": tree, **path_row(nodes, crossed(nodes))} for tree, nodes in enumerate(paths)]


@cache
def plan(name: str) -> Schedule:
    return next(schedule for spec in SPECS for schedule in schedules(spec) if schedule.id == name)


@oracle(
    "paths/deliveries",
    [{"schedule": plan.id, "node": node} for spec in SPECS for plan in schedules(spec) for node in some(spec)],
)
def deliveries(schedule: str, node: Label) -> list[Row]:
    planned = plan(schedule)
    every = labels(planned.topology.spec)
    columns = (planned.step, planned.payload, planned.sender, planned.port, planned.tree, planned.receiver)
    rows = [
        {"step": int(step), "unit": int(unit), "sender": every[sender], "port": int(port), "tree": int(tree)}
        for step, unit, sender, port, tree, receiver in zip(*columns, strict=True)
        if every[receiver] == node
    ]
    return sorted(rows, key=lambda row: (row["step"], row["unit"], row["tree"]))


# Topology.


@oracle("topology/neighbours", of_nodes())
def neighbours(topology: str, node: Label) -> list[Row]:  # noqa: ARG001
    return [{"port": port, "neighbour": across(node, port)} for port in ports(node)]


def pair_cases() -> Iterator[Case]:
    yield from of_pairs("first", "second")
    for spec in SPECS:
        node = some(spec)[-1]
        yield from ({"topology": spec, "first": node, "second": across(node, port)} for port in ports(node))


@oracle("topology/adjacency", pair_cases())
def adjacency(topology: str, first: Label, second: Label) -> list[Row]:  # noqa: ARG001
    port = next((port for port in ports(first) if across(first, port) == second), None)
    return [{"adjacent": port is not None, "port": port, "distance": distances(first)[second]}]


@oracle("topology/distance-profile", of_nodes())
def distance_profile(topology: str, node: Label) -> list[Row]:  # noqa: ARG001
    counts = Counter(distances(node).values())
    return [{"distance": distance, "nodes": counts[distance]} for distance in sorted(counts)]


@oracle("topology/nodes-at-distance", [{**case, "distance": d} for case in of_nodes() for d in (0, 3, 7)])
def nodes_at_distance(topology: str, node: Label, distance: int) -> list[Row]:
    away = distances(node)
    return [{"rank": rank, "label": label} for rank, label in enumerate(labels(topology)) if away[label] == distance]


def pattern_cases() -> Iterator[Case]:
    for spec in SPECS:
        identity = labels(spec)[0]
        free = "*" * len(identity)
        fixed = [free[:place] + symbol + free[place + 1 :] for place in range(1, len(identity)) for symbol in identity[::2]]
        yield from ({"topology": spec, "members": pattern} for pattern in [free, identity, *fixed])
    yield {"topology": "S5", "members": "**3*1"}
    yield {"topology": "S5", "members": "**3*3"}


@oracle("topology/substar", pattern_cases())
def substar(topology: str, members: str) -> list[Row]:
    return [
        {"rank": rank, "label": label}
        for rank, label in enumerate(labels(topology))
        if all(wanted in ("*", symbol) for wanted, symbol in zip(members, label, strict=True))
    ]
