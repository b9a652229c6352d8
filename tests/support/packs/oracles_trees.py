"""Brute-force oracles for the query pack ``trees``."""

from collections import Counter

from support.packs.oracle_tools import (
    Label,
    Row,
    children,
    distances,
    forest_by_id,
    forest_cases,
    forest_pair_cases,
    labels,
    levels,
    oracle,
    parent,
    port_between,
    root,
    some_nodes,
    spec_of,
)
from support.packs.stored_data import SPECS, forests


@oracle("trees/level-profile", forest_cases())
def level_profile(forest: str) -> list[Row]:
    """Return the number of nodes on each level of each tree."""
    stored = forest_by_id(forest)
    rows = []
    for tree in range(stored.trees):
        counts = Counter(levels(stored, tree).values())
        rows += [{"tree": tree, "level": level, "nodes": counts[level]} for level in sorted(counts)]
    return rows


@oracle("trees/leaf-count", forest_cases())
def leaf_count(forest: str) -> list[Row]:
    """Return the number of leaves of each tree."""
    trees = [children(forest_by_id(forest), tree) for tree in range(forest_by_id(forest).trees)]
    return [
        {"tree": tree, "nodes": len(below), "leaves": sum(not found for found in below.values())}
        for tree, below in enumerate(trees)
    ]


@oracle(
    "trees/leaves",
    [
        {"forest": forest.id, "tree": tree}
        for spec in SPECS
        for forest in forests(spec)
        for tree in sorted({0, forest.trees - 1})
    ],
)
def leaves(forest: str, tree: int) -> list[Row]:
    """Return the leaves of a tree, sorted by label."""
    stored, spec = forest_by_id(forest), spec_of(forest)
    rows = []
    for leaf in sorted(node for node, found in children(stored, tree).items() if not found):
        above = parent(stored, tree, leaf)
        assert above is not None
        port = port_between(spec, above, leaf)
        rows.append(
            {"parent": above, "port": port, "leaf": leaf, "level": levels(stored, tree)[leaf]}
        )
    return rows


@oracle("trees/fan-out", forest_cases())
def fan_out(forest: str) -> list[Row]:
    """Return the number of nodes with each number of children in each tree."""
    rows = []
    for tree in range(forest_by_id(forest).trees):
        having: dict[int, list[Label]] = {}
        for node, found in children(forest_by_id(forest), tree).items():
            having.setdefault(len(found), []).append(node)
        rows += [
            {"tree": tree, "children": many, "nodes": len(nodes), "lowest_node": min(nodes)}
            for many, nodes in sorted(having.items())
        ]
    return rows


@oracle("trees/heights", forest_cases())
def heights(forest: str) -> list[Row]:
    """Return the heights of the trees, sorted by tree."""
    rows = []
    for tree in range(forest_by_id(forest).trees):
        found = levels(forest_by_id(forest), tree)
        height = max(found.values())
        last = [node for node, level in found.items() if level == height]
        rows.append(
            {
                "tree": tree,
                "nodes": len(found),
                "height": height,
                "deepest_nodes": len(last),
                "lowest_node": min(last),
            }
        )
    return rows


def below(forest: str, tree: int, node: Label) -> int:
    """Return the number of nodes in the subtree below a node, including the node."""
    found = [node]
    for above in found:
        found.extend(children(forest_by_id(forest), tree)[above])
    return len(found)


@oracle("trees/root-subtrees", forest_cases())
def root_subtrees(forest: str) -> list[Row]:
    """Return the subtrees of the root, sorted by tree and port."""
    stored, spec = forest_by_id(forest), spec_of(forest)
    top = root(stored)
    rows = [
        {
            "tree": tree,
            "port": port_between(spec, top, child),
            "child": child,
            "subtree_nodes": below(forest, tree, child),
        }
        for tree in range(stored.trees)
        for child in children(stored, tree)[top]
    ]
    return sorted(rows, key=lambda row: (row["tree"], row["port"]))


@oracle("trees/stretch", forest_cases())
def stretch(forest: str) -> list[Row]:
    """Return, for each tree, the number of nodes by excess: level minus distance from the root."""
    stored = forest_by_id(forest)
    away = distances(spec_of(forest), root(stored))
    rows = []
    for tree in range(stored.trees):
        counts = Counter(level - away[node] for node, level in levels(stored, tree).items())
        rows += [
            {"tree": tree, "excess": excess, "nodes": counts[excess]} for excess in sorted(counts)
        ]
    return rows


@oracle(
    "trees/deeper-nodes",
    [*forest_cases(), *forest_cases("S5", min_excess=4), *forest_cases("S4,2", min_excess=0)],
)
def deeper_nodes(forest: str, min_excess: int = 1) -> list[Row]:
    """Return the nodes whose level exceeds their distance, by excess, then by tree and label."""
    stored = forest_by_id(forest)
    away = distances(spec_of(forest), root(stored))
    rows = [
        {
            "tree": tree,
            "node": node,
            "level": level,
            "distance": away[node],
            "excess": level - away[node],
        }
        for tree in range(stored.trees)
        for node, level in levels(stored, tree).items()
        if node != root(stored) and level - away[node] >= min_excess
    ]
    return sorted(rows, key=lambda row: (-row["excess"], row["tree"], row["node"]))


@oracle(
    "trees/changed-parents",
    [*forest_pair_cases(), {"forest": forests("S3")[0].id, "other_forest": forests("S4")[0].id}],
)
def changed_parents(forest: str, other_forest: str) -> list[Row]:
    """Return the nodes whose parents differ between two forests, by tree and label.

    There are no rows if the forests are on different topologies.
    """
    one, two = forest_by_id(forest), forest_by_id(other_forest)
    if spec_of(forest) != spec_of(other_forest):
        return []
    rows = [
        {
            "tree": tree,
            "node": node,
            "parent": parent(one, tree, node),
            "other_parent": parent(two, tree, node),
        }
        for tree in range(min(one.trees, two.trees))
        for node in labels(spec_of(forest))
    ]
    return [row for row in rows if row["parent"] != row["other_parent"]]


@oracle(
    "trees/node-in-trees",
    [
        {"forest": forest.id, "node": node}
        for spec in SPECS
        for forest in forests(spec)
        for node in some_nodes(spec)
    ],
)
def node_in_trees(forest: str, node: Label) -> list[Row]:
    """Return the place of a node in each tree that contains it, sorted by tree."""
    stored, spec = forest_by_id(forest), spec_of(forest)
    rows = []
    for tree in range(stored.trees):
        if node in levels(stored, tree):
            above = parent(stored, tree, node)
            rows.append(
                {
                    "tree": tree,
                    "level": levels(stored, tree)[node],
                    "parent": above,
                    "port": above and port_between(spec, above, node),
                    "child_nodes": sorted(
                        children(stored, tree)[node],
                        key=lambda child: port_between(spec, node, child) or 0,
                    ),
                    "subtree_nodes": below(forest, tree, node),
                }
            )
    return rows
