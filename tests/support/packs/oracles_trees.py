"""Brute-force oracles for the query pack ``trees``."""

from collections import Counter
from collections.abc import Iterator

from support.packs.oracle_tools import (
    Label,
    Values,
    children,
    descendants,
    distances,
    forest_cases,
    forest_node_cases,
    forest_pair_cases,
    labels,
    levels,
    oracle,
    parent,
    port_between,
    ranks,
    root,
    spec_of,
    trees_by_link,
    trees_of,
)
from support.packs.stored_data import SPECS, forests


@oracle("trees/level-profile", "tree level nodes", forest_cases())
def level_profile(forest: str) -> Iterator[Values]:
    """Yield the number of nodes on each level of each tree."""
    for tree in trees_of(forest):
        counts = Counter(levels(forest, tree).values())
        yield from ((tree, level, nodes) for level, nodes in sorted(counts.items()))


@oracle("trees/leaf-count", "tree nodes leaves", forest_cases())
def leaf_count(forest: str) -> Iterator[Values]:
    """Yield the number of leaves of each tree."""
    for tree in trees_of(forest):
        below = children(forest, tree)
        yield tree, len(below), sum(not found for found in below.values())


@oracle(
    "trees/leaves",
    "parent port leaf level",
    [
        {"forest": forest.id, "tree": tree}
        for spec in SPECS
        for forest in forests(spec)
        for tree in sorted({0, forest.trees - 1})
    ],
)
def leaves(forest: str, tree: int) -> Iterator[Values]:
    """Yield the leaves of a tree, sorted by label."""
    for leaf in sorted(node for node, found in children(forest, tree).items() if not found):
        above = parent(forest, tree, leaf)
        assert above is not None
        yield above, port_between(spec_of(forest), above, leaf), leaf, levels(forest, tree)[leaf]


@oracle("trees/fan-out", "tree children nodes lowest_node", forest_cases())
def fan_out(forest: str) -> Iterator[Values]:
    """Yield, for each tree and number of children, the number of nodes and the first such node."""
    for tree in trees_of(forest):
        having: dict[int, list[Label]] = {}
        for node, found in children(forest, tree).items():
            having.setdefault(len(found), []).append(node)
        for many, nodes in sorted(having.items()):
            yield tree, many, len(nodes), min(nodes, key=ranks(spec_of(forest)).__getitem__)


@oracle("trees/heights", "tree nodes height deepest_nodes lowest_node", forest_cases())
def heights(forest: str) -> Iterator[Values]:
    """Yield the heights of the trees, sorted by tree."""
    for tree in trees_of(forest):
        found = levels(forest, tree)
        height = max(found.values())
        last = [node for node, level in found.items() if level == height]
        yield tree, len(found), height, len(last), min(last, key=ranks(spec_of(forest)).__getitem__)


@oracle("trees/root-subtrees", "tree port child subtree_nodes", forest_cases(), order="tree port")
def root_subtrees(forest: str) -> Iterator[Values]:
    """Yield the subtrees below each root: tree, port from the root, top node and size."""
    for tree in trees_of(forest):
        for child in children(forest, tree)[root(forest)]:
            port = port_between(spec_of(forest), root(forest), child)
            yield tree, port, child, descendants(forest, tree)[child] + 1


@oracle("trees/stretch", "tree excess nodes", forest_cases())
def stretch(forest: str) -> Iterator[Values]:
    """Count the nodes of each tree by excess, that is, level minus distance from the root."""
    away = distances(spec_of(forest), root(forest))
    for tree in trees_of(forest):
        counts = Counter(level - away[node] for node, level in levels(forest, tree).items())
        yield from ((tree, excess, nodes) for excess, nodes in sorted(counts.items()))


@oracle(
    "trees/deeper-nodes",
    "tree node level distance excess",
    [*forest_cases(), *forest_cases("S5", min_excess=4), *forest_cases("S4,2", min_excess=0)],
    order="-excess tree node",
)
def deeper_nodes(forest: str, min_excess: int = 1) -> Iterator[Values]:
    """Yield the nodes whose level exceeds their distance by at least ``min_excess``."""
    away = distances(spec_of(forest), root(forest))
    for tree in trees_of(forest):
        for node, level in levels(forest, tree).items():
            if node != root(forest) and level - away[node] >= min_excess:
                yield tree, node, level, away[node], level - away[node]


@oracle(
    "trees/changed-parents",
    "tree node parent other_parent",
    [*forest_pair_cases(), {"forest": forests("S3")[0].id, "other_forest": forests("S4")[0].id}],
)
def changed_parents(forest: str, other_forest: str) -> Iterator[Values]:
    """Yield the nodes whose parents differ between two forests, by tree and label.

    There are no rows if the forests are on different topologies.
    """
    if spec_of(forest) != spec_of(other_forest):
        return
    for tree in min(trees_of(forest), trees_of(other_forest), key=len):
        for node in sorted(labels(spec_of(forest))):
            ours, others = parent(forest, tree, node), parent(other_forest, tree, node)
            if ours != others:
                yield tree, node, ours, others


@oracle(
    "trees/node-in-trees",
    "tree level parent port child_nodes subtree_nodes",
    forest_node_cases(),
)
def node_in_trees(forest: str, node: Label) -> Iterator[Values]:
    """Yield the level, parent and children of a node in each tree that contains the node."""
    spec = spec_of(forest)
    for tree in trees_of(forest):
        if node in levels(forest, tree):
            above = parent(forest, tree, node)
            port = above and port_between(spec, above, node)
            found = children(forest, tree)[node]
            child_nodes = sorted(found, key=lambda child: port_between(spec, node, child) or 0)
            level, size = levels(forest, tree)[node], descendants(forest, tree)[node] + 1
            yield tree, level, above, port, child_nodes, size


@oracle(
    "trees/depth-and-load",
    "tree nodes height largest_load shared_links",
    forest_cases(),
    order="height largest_load tree",
)
def depth_and_load(forest: str) -> Iterator[Values]:
    """Yield the size, height, largest load and number of shared links of each tree."""
    for tree in trees_of(forest):
        loads = [len(trees) for trees in trees_by_link(forest).values() if tree in trees]
        found = levels(forest, tree)
        shared = sum(load > 1 for load in loads)
        yield tree, len(found), max(found.values()), max(loads), shared
