"""Questions about forests and schedules, answered with numpy (see `packs_peers`)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.packs_peers import Given, Rows, peer
from benchmarks.packs_place import Numbers, Place, table
from starcast.collectives import Schedule
from starcast.trees import Forest


def _bits(masks: Numbers) -> NDArray[np.uint8]:
    return np.bitwise_count(masks)


@peer("overlap/load-histogram", "numpy")
def _(place: Place, given: Given) -> Rows:
    counts = np.bincount(_bits(place.numpy.masks(given["forest"]))).tolist()
    return [(load, links) for load, links in enumerate(counts) if links or not load]


@peer("overlap/shared-links", "numpy")
def _(place: Place, given: Given) -> Rows:
    masks = place.numpy.masks(given["forest"])
    links = np.flatnonzero(_bits(masks) >= given["min_load"])
    return table(*place.numpy.ends(links), masks[links])


@peer("overlap/most-loaded-links", "numpy")
def _(place: Place, given: Given) -> Rows:
    masks = place.numpy.masks(given["forest"])
    links = np.argsort(-_bits(masks).astype(np.int8), kind="stable")[: given["limit"]]
    return table(*place.numpy.ends(links), masks[links])


@peer("overlap/tree-pairs", "numpy")
def _(place: Place, given: Given) -> Rows:
    masks = place.numpy.masks(given["forest"])
    used = [
        (masks >> tree & 1).astype(bool) for tree in range(place.forests[given["forest"]].trees)
    ]
    pairs = zip(*np.triu_indices(len(used), 1), strict=True)
    return [
        (int(one), int(other), int(np.count_nonzero(used[one] & used[other])))
        for one, other in pairs
    ]


@peer("overlap/both-directions", "numpy")
def _(place: Place, given: Given) -> Rows:
    masks = place.numpy.masks(given["forest"])
    links = np.flatnonzero(masks)
    node, port = place.numpy.ends(links)
    other = place.numpy.across(node, port)
    # Links of S_n have the same port at both ends, so `port` is also the port of `other`.
    down = masks[place.numpy.link(other, port)]
    both = (down > 0) & (node < other)
    return table(node[both], port[both], masks[links][both], down[both])


@peer("overlap/two-forests", "numpy")
def _(place: Place, given: Given) -> Rows:
    masks, others = place.numpy.masks(given["forest"]), place.numpy.masks(given["other_forest"])
    links = np.flatnonzero((masks > 0) & (others > 0))
    return table(*place.numpy.ends(links), masks[links], others[links])


@peer("overlap/packet-sizes", "numpy")
def _(place: Place, given: Given) -> Rows:
    packets = _packets(place, place.broadcast)
    if not given["by_step"]:
        return [
            (-1, units, count)
            for units, count in enumerate(np.bincount(packets[1]).tolist())
            if count
        ]
    pairs, counts = np.unique(np.column_stack([packets[0], packets[1]]), axis=0, return_counts=True)
    return table(*pairs.T, counts)


@peer("overlap/simultaneous-sends", "numpy")
def _(place: Place, given: Given) -> Rows:
    step, units, links = _packets(place, place.broadcast)
    chosen = units >= given["min_units"]
    return table(step[chosen], *place.numpy.ends(links[chosen]), units[chosen])


def _packets(place: Place, schedule: Schedule) -> tuple[Numbers, Numbers, Numbers]:
    """Return the step, number of units and link of every packet."""
    size = place.topology.nodes * place.topology.degree
    keys, units = np.unique(
        schedule.step * np.int64(size) + place.numpy.link(schedule.sender, schedule.port),
        return_counts=True,
    )
    return keys // size, units, keys % size


@peer("trees/level-profile", "numpy")
def _(place: Place, given: Given) -> Rows:
    profile = place.forests[given["forest"]].level_profile()
    trees, levels = np.nonzero(profile)
    return table(trees, levels, profile[trees, levels])


@peer("trees/leaf-count", "numpy")
def _(place: Place, given: Given) -> Rows:
    children = _children(place, given)
    members = place.forests[given["forest"]].members()
    return table(range(len(children)), members.sum(axis=1), (members & (children == 0)).sum(axis=1))


@peer("trees/leaves", "numpy")
def _(place: Place, given: Given) -> Rows:
    forest, tree = place.forests[given["forest"]], given["tree"]
    leaves = np.flatnonzero(forest.members()[tree] & (_children(place, given)[tree] == 0))
    return table(leaves, forest.parents()[tree, leaves], forest.levels()[tree, leaves])


@peer("trees/fan-out", "numpy")
def _(place: Place, given: Given) -> Rows:
    children, members = _children(place, given), place.forests[given["forest"]].members()
    counts = [np.bincount(row[inside]) for row, inside in zip(children, members, strict=True)]
    return [
        (tree, many, nodes)
        for tree, row in enumerate(counts)
        for many, nodes in enumerate(row.tolist())
        if nodes
    ]


def _children(place: Place, given: Given) -> Numbers:
    """Return the number of children of each node in each tree, int64 ``[trees, nodes]``.

    The query parameter ``forest`` names the forest.
    """
    forest, edges = place.forests[given["forest"]], place.numpy.edges[given["forest"]]
    size = forest.trees * place.topology.nodes
    return np.bincount(edges.tree * place.topology.nodes + edges.parent, minlength=size).reshape(
        forest.trees, -1
    )


@peer("trees/heights", "numpy")
def _(place: Place, given: Given) -> Rows:
    levels = place.forests[given["forest"]].levels()
    heights = levels.max(axis=1)
    return table(range(len(levels)), heights, (levels == heights[:, None]).sum(axis=1))


@peer("trees/root-subtrees", "numpy")
def _(place: Place, given: Given) -> Rows:
    forest = place.forests[given["forest"]]
    trees, nodes = np.nonzero(forest.levels() == 1)
    return table(trees, nodes, forest.subtree_sizes()[trees, nodes])


@peer("trees/deeper-nodes", "numpy")
def _(place: Place, given: Given) -> Rows:
    excess = _excess(place, place.forests[given["forest"]])
    trees, nodes = np.nonzero(excess >= given["min_excess"])
    return table(trees, nodes, excess[trees, nodes])


@peer("trees/stretch", "numpy")
def _(place: Place, given: Given) -> Rows:
    counts = [np.bincount(row) for row in _excess(place, place.forests[given["forest"]])]
    return [
        (tree, excess, nodes)
        for tree, row in enumerate(counts)
        for excess, nodes in enumerate(row.tolist())
        if nodes
    ]


def _excess(place: Place, forest: Forest) -> Numbers:
    """Return each node's level in each tree of a spanning forest, minus the node's distance."""
    return np.asarray(forest.levels() - place.topology.distances(forest.root).astype(np.int64))


@peer("trees/changed-parents", "numpy")
def _(place: Place, given: Given) -> Rows:
    one, other = (place.forests[given[name]].parents() for name in ("forest", "other_forest"))
    trees = min(len(one), len(other))
    changed = np.nonzero(one[:trees] != other[:trees])
    return table(*changed, one[changed], other[changed])


@peer("trees/node-in-trees", "numpy")
def _(place: Place, given: Given) -> Rows:
    forest, node = place.forests[given["forest"]], place.rank[given["node"]]
    return table(
        range(forest.trees),
        forest.levels()[:, node],
        forest.parents()[:, node],
        forest.subtree_sizes()[:, node],
    )


@peer("paths/parallel-paths", "numpy")
def _(place: Place, given: Given) -> Rows:
    forest = place.forests[given["forest"]]
    return [
        (tree, len(path) - 1, *path[::-1])
        for tree, path in enumerate(_climbs(forest, place.rank[given["node"]]))
    ]


@peer("paths/tree-path", "numpy")
def _(place: Place, given: Given) -> Rows:
    forest, tree = place.forests[given["forest"]], given["tree"]
    up, down = (_climbs(forest, place.rank[given[name]])[tree] for name in ("source", "target"))
    ahead = [node for node in up if node not in down]
    behind = [node for node in down if node not in up]
    meeting = up[len(ahead)]
    return [(len(ahead) + len(behind), len(ahead), *ahead, meeting, *reversed(behind))]


def _climbs(forest: Forest, node: int) -> list[list[int]]:
    """Return the path from a node to the root in each tree."""
    paths = []
    for parents in forest.parents():
        path = [node]
        while path[-1] != forest.root:
            path.append(int(parents[path[-1]]))
        paths.append(path)
    return paths


@peer("faults/cut-off", "numpy")
def _(place: Place, given: Given) -> Rows:
    forest = place.forests[given["forest"]]
    cut = _cut(place, given)
    cut[:, _dead(place, given)] = False
    trees, nodes = np.nonzero(cut)
    return table(trees, nodes, forest.levels()[trees, nodes], forest.parents()[trees, nodes])


@peer("faults/damage", "numpy")
def _(place: Place, given: Given) -> Rows:
    forest, dead = place.forests[given["forest"]], _dead(place, given)
    living = np.ones(place.topology.nodes, dtype=bool)
    living[dead] = False
    cut, owed = _cut(place, given) & living, (forest.parents() >= 0) & living
    return table(range(forest.trees), (owed & ~cut).sum(axis=1), cut.sum(axis=1))


@peer("faults/unreached-nodes", "numpy")
def _(place: Place, given: Given) -> Rows:
    owed = place.forests[given["forest"]].parents() >= 0
    cut = _cut(place, given)
    left = np.setdiff1d(
        np.flatnonzero(owed.any(axis=0) & ~(owed & ~cut).any(axis=0)), _dead(place, given)
    )
    return table(left, owed.sum(axis=0)[left])


@peer("faults/fewer-trees", "numpy")
def _(place: Place, given: Given) -> Rows:
    owed = place.forests[given["forest"]].parents() >= 0
    cut = _cut(place, given)
    reached = (owed & ~cut).sum(axis=0)
    few = np.setdiff1d(
        np.flatnonzero(cut.any(axis=0) & (reached < given["required_trees"])), _dead(place, given)
    )
    return table(few, reached[few])


def _dead(place: Place, given: Given) -> list[int]:
    return [place.rank[label] for label in given["dead_nodes"]]


def _cut(place: Place, given: Given) -> NDArray[np.bool_]:
    """Return whether faults cut off each node from each tree's root, bool ``[trees, nodes]``."""
    forest = place.forests[given["forest"]]
    parents, broken = forest.parents(), np.zeros((forest.trees, place.topology.nodes), dtype=bool)
    for dead in _dead(place, given):
        broken |= parents == dead
    for link in given["dead_links"]:
        one, other = (place.rank[label] for label in link.split("-"))
        broken[:, one] |= parents[:, one] == other
        broken[:, other] |= parents[:, other] == one
    return place.numpy.below(forest, broken)


@peer("faults/worst-nodes", "numpy")
def _(place: Place, given: Given) -> Rows:
    forest = place.forests[given["forest"]]
    cut = np.where(forest.parents() >= 0, forest.subtree_sizes() - 1, 0).sum(axis=0)
    nodes = np.argsort(-cut, kind="stable")[: given["limit"]]
    return table(nodes, cut[nodes])


@peer("faults/worst-links", "numpy")
def _(place: Place, given: Given) -> Rows:
    forest, arrays, edges = (
        place.forests[given["forest"]],
        place.numpy,
        place.numpy.edges[given["forest"]],
    )
    sizes = forest.subtree_sizes()[edges.tree, edges.child]
    # Links of S_n have the same port at both ends, so the parent's port is also the child's.
    links = arrays.link(np.minimum(edges.parent, edges.child), edges.port)
    cut = np.bincount(
        links, weights=sizes, minlength=place.topology.nodes * place.topology.degree
    ).astype(np.int64)
    lower, port = arrays.ends(np.arange(len(cut)))
    order = np.lexsort((arrays.across(lower, port), lower, -cut))[: given["limit"]]
    return table(lower[order], port[order], cut[order])


@peer("schedules/sends", "numpy")
def _(place: Place, given: Given) -> Rows:
    return _sends(
        place.broadcast, place.broadcast.step == given["step"], "sender", "port", "unit", "tree"
    )


@peer("schedules/deliveries", "numpy")
def _(place: Place, given: Given) -> Rows:
    arriving = place.broadcast.receiver == place.rank[given["node"]]
    return _sends(place.broadcast, arriving, "step", "unit", "sender", "port", "tree")


@peer("schedules/activity", "numpy")
def _(place: Place, given: Given) -> Rows:
    node = place.rank[given["node"]]
    busy = (place.broadcast.sender == node) | (place.broadcast.receiver == node)
    return _sends(place.broadcast, busy, "step", "port", "unit", "tree")


def _sends(schedule: Schedule, chosen: NDArray[np.bool_], *columns: str) -> Rows:
    return table(*(getattr(schedule, column)[chosen] for column in columns))


@peer("schedules/idle-links", "numpy")
def _(place: Place, given: Given) -> Rows:
    now = place.broadcast.step == given["step"]
    idle = np.ones(place.topology.nodes * place.topology.degree, dtype=bool)
    idle[place.numpy.link(place.broadcast.sender[now], place.broadcast.port[now])] = False
    node, port = place.numpy.ends(np.flatnonzero(idle))
    return table(node, port, place.numpy.across(node, port))


@peer("schedules/steps", "numpy")
def _(place: Place, given: Given) -> Rows:  # noqa: ARG001 - a place has one schedule
    step, units, _links = _packets(place, place.broadcast)
    largest = np.zeros(place.broadcast.steps + 1, dtype=np.int64)
    np.maximum.at(largest, step, units)
    busy, all_units = (
        np.bincount(step, weights=weights, minlength=len(largest)).astype(int)
        for weights in (None, units)
    )
    return table(range(1, len(largest)), busy[1:], all_units[1:], largest[1:])


@peer("schedules/dimensions", "numpy")
def _(place: Place, given: Given) -> Rows:  # noqa: ARG001 - a place has one schedule
    used: Any = np.zeros((place.broadcast.steps + 1, place.topology.n + 1), dtype=np.int64)
    used[place.broadcast.step, place.broadcast.port] = 1
    return table(range(1, len(used)), (used << np.arange(used.shape[1])).sum(axis=1)[1:])


@peer("schedules/last-arrivals", "numpy")
def _(place: Place, given: Given) -> Rows:
    """Trace the last arrivals back to the source.

    The path of an arrival is unique, because a node receives a unit at most once in each tree.
    """
    schedule = place.broadcast
    last = np.flatnonzero(schedule.step == schedule.steps)
    order = np.lexsort((schedule.tree[last], schedule.unit[last], schedule.receiver[last]))
    return [_chain(schedule, int(row)) for row in last[order][: given["limit"]]]


def _chain(schedule: Schedule, row: int) -> tuple[Any, ...]:
    unit, tree = int(schedule.unit[row]), int(schedule.tree[row])
    same = np.flatnonzero((schedule.unit == unit) & (schedule.tree == tree))
    into = dict(zip(schedule.receiver[same].tolist(), schedule.sender[same].tolist(), strict=True))
    nodes = [int(schedule.receiver[row])]
    while nodes[-1] in into:
        nodes.append(into[nodes[-1]])
    return unit, tree, *nodes[::-1]
