"""Whether rows of ports are trees, how deep they are, and how their nodes are dealt to the root's links."""

import numpy as np

from starcast.checkers.evidence import Evidence
from starcast.checkers.traversal import Grown, Ports, Walk
from starcast.permutations import Ranks
from starcast.topologies import Topology


def rooted(topology: Topology, parent_port: Ports, root: int) -> Evidence:
    """Every node that has an entry hangs, parent after parent, from the root, and the root has no parent.

    So there is no cycle and no second root. Measured: how many nodes each tree has, the root included.
    """
    return _judged("rooted", Walk(topology, parent_port, root), spanning=False)


def spanning(topology: Topology, parent_port: Ports, root: int) -> Evidence:
    """Every tree is rooted and has all nodes. Measured: how many nodes each tree has, the root included."""
    return _judged("spanning", Walk(topology, parent_port, root), spanning=True)


def height(topology: Topology, parent_port: Ports, root: int, bound: int) -> Evidence:
    """No node of any tree is more than ``bound`` links from the root. Measured: each tree's height.

    Raises:
        RejectedError: the array is no forest.
    """
    walk, trees = forest(topology, parent_port, root)
    heights = tuple(int(tree.levels.max()) for tree in trees)
    number = next((number for number, found in enumerate(heights) if found > bound), None)
    if number is None:
        return Evidence("height", heights)
    node = walk.label(np.argmax(trees[number].levels))
    return Evidence(
        "height", heights, {"tree": number, "node": node, "found": heights[number], "stated": bound}
    )


def shortest_paths(topology: Topology, parent_port: Ports, root: int, detour: int = 0) -> Evidence:
    """Every tree leads to each of its nodes by at most ``detour`` links more than the distance. Measured: each tree's most.

    Raises:
        RejectedError: the array is no forest.
    """
    walk, trees = forest(topology, parent_port, root)
    over = [np.where(tree.levels < 0, 0, tree.levels - walk.distances) for tree in trees]
    most = tuple(int(surplus.max()) for surplus in over)
    number = next((number for number, found in enumerate(most) if found > detour), None)
    if number is None:
        return Evidence("shortest paths", most)
    node = int(np.flatnonzero(over[number] > detour)[0])
    level, distance = int(trees[number].levels[node]), int(walk.distances[node])
    place: dict[str, int | str] = {
        "tree": number,
        "node": walk.label(node),
        "found": level,
        "stated": distance + detour,
    }
    return Evidence("shortest paths", most, place)


def branch_sizes(topology: Topology, parent_port: Ports, root: int) -> Ranks:
    """How many nodes of each tree hang from the root over each of its links, int32 ``[trees, ports]``, in the ports' order.

    Raises:
        RejectedError: the array is no forest.
    """
    walk, trees = forest(topology, parent_port, root)
    children = walk.across[:, walk.root]
    counts = [
        np.bincount(tree.branches[tree.levels > 0], minlength=topology.nodes)[children]
        for tree in trees
    ]
    return np.stack(counts).astype(np.int32)


def balance(topology: Topology, parent_port: Ports, root: int, slack: int = 1) -> Evidence:
    """The root's links lead to equally many nodes but for ``slack``, all trees counted together.

    One tree is judged by its subtrees, partial trees with one link of the root each by their sizes. Measured: nodes over
    each port, repeated nodes as often as they occur.

    Raises:
        RejectedError: the array is no forest.
    """
    sizes = branch_sizes(topology, parent_port, root).sum(axis=0)
    measured = tuple(sizes.tolist())
    if max(measured) - min(measured) <= slack:
        return Evidence("balance", measured)
    link = f"{topology.label(root)} -> {topology.label(int(topology.neighbours(topology.ports[int(sizes.argmax())], [root])[0]))}"
    return Evidence(
        "balance", measured, {"link": link, "found": max(measured), "stated": min(measured) + slack}
    )


def forest(topology: Topology, parent_port: Ports, root: int) -> tuple[Walk, list[Grown]]:
    """The trees, proved to be rooted.

    Raises:
        RejectedError: they are not.
    """
    walk = Walk(topology, parent_port, root)
    trees = list(walk.trees())
    _judged("rooted", walk, spanning=False, trees=trees).require()
    return walk, trees


def _judged(
    check: str, walk: Walk, *, spanning: bool, trees: list[Grown] | None = None
) -> Evidence:
    trees = list(walk.trees()) if trees is None else trees
    measured = tuple(int(np.count_nonzero(tree.levels >= 0)) for tree in trees)
    for number, (row, tree) in enumerate(zip(walk.rows, trees, strict=True)):
        hanging = row != 0
        hanging[walk.root] = True
        wrong = np.flatnonzero((tree.levels < 0) & (hanging | spanning))
        if row[walk.root]:
            wrong = np.array([walk.root])
        if len(wrong):
            node = int(wrong[0])
            return Evidence(
                check,
                measured,
                {"tree": number, "node": walk.label(node), "why": _why(walk, row, tree, node)},
            )
    return Evidence(check, measured)


def _why(walk: Walk, row: Ports, tree: Grown, node: int) -> str:
    if node == walk.root:
        return "the root has a parent"
    passed: set[int] = set()
    while node not in passed:
        passed.add(node)
        if row[node] == 0:
            return f"{walk.label(node)} is not in the tree"
        if tree.parents[node] < 0:
            return f"{walk.label(node)} has the entry {row[node]}, which is no port"
        node = int(tree.parents[node])
    return f"{walk.label(node)} stands on a cycle"
