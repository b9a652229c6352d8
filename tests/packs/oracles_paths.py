"""The pack ``paths`` a second time, by brute force."""

from collections.abc import Iterator, Sequence

from packs.asking import (
    Case,
    Label,
    Row,
    across,
    by_id,
    crossed,
    distances,
    of_pairs,
    oracle,
    pairs,
    ports,
    root,
    some,
    spec_of,
    to_root,
)
from packs.loading import SPECS, forests


def shortest(spec: str, source: Label, target: Label) -> list[list[Label]]:
    """All shortest paths, as their nodes."""
    away = distances(spec, target)
    paths = [[source]]
    for _ in range(away[source]):
        steps = [(nodes, across(spec, nodes[-1], port)) for nodes in paths for port in ports(spec)]
        paths = [[*nodes, there] for nodes, there in steps if away[there] == away[nodes[-1]] - 1]
    return paths


def path_row(spec: str, nodes: Sequence[Label]) -> Row:
    """The columns that say how a path runs."""
    return {"length": len(nodes) - 1, "nodes": list(nodes), "ports": crossed(spec, nodes)}


@oracle("paths/shortest-paths", of_pairs("source", "target"))
def shortest_paths(topology: str, source: Label, target: Label) -> list[Row]:
    """By their ports."""
    return sorted((path_row(topology, nodes) for nodes in shortest(topology, source, target)), key=lambda row: row["ports"])


@oracle("paths/number-of-shortest-paths", of_pairs("source", "target"))
def number_of_shortest_paths(topology: str, source: Label, target: Label) -> list[Row]:
    """One row."""
    return [{"length": distances(topology, source)[target], "paths": len(shortest(topology, source, target))}]


def judge_shortest_path(case: Case, rows: list[Row]) -> None:
    """Any of the shortest paths is right, and there is one row."""
    (row,) = rows
    assert row in shortest_paths(**case)


oracle("paths/shortest-path", of_pairs("source", "target"), judge=judge_shortest_path)(shortest_paths)


def tree_cases() -> Iterator[Case]:
    """The first and the last tree of every forest."""
    for spec in SPECS:
        for forest in forests(spec):
            for tree in {0, forest.trees - 1}:
                for source, target in pairs(spec):
                    yield {"forest": forest.id, "tree": tree, "source": source, "target": target}


@oracle("paths/tree-path", tree_cases())
def tree_path(forest: str, tree: int, source: Label, target: Label) -> list[Row]:
    """Up from the source to where the two ways to the root meet, and down; nothing where an end is not in the tree."""
    up, down = to_root(by_id(forest), tree, source), to_root(by_id(forest), tree, target)
    if up[-1] != down[-1]:
        return []
    meeting = next(label for label in up if label in down)
    climbed = up.index(meeting)
    nodes = up[:climbed] + down[: down.index(meeting) + 1][::-1]
    return [{**path_row(spec_of(forest), nodes), "climbed": climbed}]


@oracle(
    "paths/parallel-paths",
    [{"forest": forest.id, "node": node} for spec in SPECS for forest in forests(spec) for node in some(spec)],
)
def parallel_paths(forest: str, node: Label) -> list[Row]:
    """By tree; none in a tree that lacks the node."""
    grown = by_id(forest)
    paths = [to_root(grown, tree, node)[::-1] for tree in range(grown.trees)]
    rows = [(tree, nodes) for tree, nodes in enumerate(paths) if nodes[0] == root(grown)]
    return [{"tree": tree, **path_row(spec_of(forest), nodes)} for tree, nodes in rows]
