"""Label change and dimension change of trees, and Algorithm 2 (Tseng & Sheu 1997, section 5)."""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import ObjectCache
from starcast.claims.reference import bfs, star_labels
from starcast.collectives.model import Schedule
from starcast.permutations import Ranks
from starcast.topologies import Topology
from starcast.trees.catalogue import single_trees

_FEW = 4_000_000  # entries at a time
_DEEP = ("rotated-hamiltonian", "hamiltonian-cycle")

Row = NDArray[np.uint8]


class Tree(NamedTuple):
    """A spanning tree: each node's port towards its parent. ``drawn`` tells that no construction of the catalogue made it."""

    name: str
    root: int
    row: Row
    drawn: bool = False


def trees(
    objects: ObjectCache, topology: Topology, *, elsewhere: bool = False, deepest: int = 6
) -> list[Tree]:
    """Spanning trees rooted at the identity: the single trees of the catalogue, and three drawn at random.

    Args:
        objects: cache for the forests.
        topology: S_n.
        elsewhere: add two random trees with other roots.
        deepest: the greatest n with trees of height of order (n-1)!.
    """
    names = [name for name in single_trees(topology) if topology.n <= deepest or name not in _DEEP]
    made = [Tree(name, 0, objects.forest(topology.spec, name).parent_port[0]) for name in names]
    roots = [0, 0, 0, *((topology.nodes // 2, topology.nodes - 1) if elsewhere else ())]
    return [*made, *(drawn(objects, topology, seed, root) for seed, root in enumerate(roots, 1))]


def drawn(objects: ObjectCache, topology: Topology, seed: int, root: int = 0) -> Tree:
    """A spanning tree drawn at random."""
    name = f"random tree {seed} rooted at {topology.label(root)}"
    row = objects.array(
        name, topology.spec, partial(bfs.random_tree, objects, topology, seed, root)
    )
    return Tree(name, root, row, drawn=True)


def relabelled(objects: ObjectCache, topology: Topology, tree: Tree, x: int) -> Tree:
    """LC(x, T): every node y becomes x∘y, and every link keeps its dimension."""
    image = star_labels.translation(objects, topology, x)
    moved = np.zeros_like(tree.row)
    moved[image] = tree.row
    return Tree(f"LC({topology.label(x)}, {tree.name})", int(image[tree.root]), moved, drawn=True)


def turned(objects: ObjectCache, topology: Topology, tree: Tree, i: int) -> Tree:
    """DC(i, T): the path d1, d2, .. from the root becomes that of d1 + i, d2 + i, .., counted cyclically from 2 to n."""
    across, n = objects.neighbours(topology.spec), topology.n
    parent = bfs.parents(objects, topology, tree.row)
    levels = bfs.levels(parent, tree.root)
    column = (tree.row.astype(np.int64) - 2 + i) % (n - 1)
    image = np.full(topology.nodes, tree.root, dtype=np.int32)
    row = np.zeros_like(tree.row)
    order = np.argsort(levels, kind="stable")
    ends = np.searchsorted(levels[order], np.arange(int(levels.max()) + 2))
    for begin, end in pairwise(ends[1:].tolist()):
        nodes = order[begin:end]
        image[nodes] = across[column[nodes], image[parent[nodes]]]
        row[image[nodes]] = column[nodes] + 2
    return Tree(f"DC({i}, {tree.name})", tree.root, row, drawn=True)


def uses(
    objects: ObjectCache, topology: Topology, tree: Tree, turns: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """How many of all trees LC(x, DC(i, T)), i < turns, have each directed link on each level.

    Returns:
        int64 ``[levels, nodes, ports]``, from parent to child; and how many nodes T has on each level from 1.
    """
    images = star_labels.translations(objects, topology)
    parent = bfs.parents(objects, topology, tree.row)
    profile = np.bincount(np.maximum(bfs.levels(parent, tree.root), 0))[1:]
    links = topology.nodes * topology.degree
    found = np.zeros(len(profile) * links, dtype=np.int64)
    together = max(1, _FEW // topology.nodes)
    for i in range(turns):
        made = turned(objects, topology, tree, i)
        above = bfs.parents(objects, topology, made.row)
        levels = bfs.levels(above, made.root)
        nodes = np.flatnonzero(levels > 0)
        place = (levels[nodes].astype(np.int64) - 1) * links + made.row[nodes].astype(np.int64) - 2
        for begin in range(0, topology.nodes, together):
            at = (
                images[begin : begin + together, above[nodes]].astype(np.int64) * topology.degree
                + place
            )
            found += np.bincount(at.ravel(), minlength=len(found))[: len(found)]
    return found.reshape(len(profile), topology.nodes, topology.degree), profile.astype(np.int64)


def all_to_all(objects: ObjectCache, topology: Topology, tree: Tree) -> Schedule:
    """Algorithm 2, all-port, on a tree at the identity: in step t segment i crosses the links of level t of DC(i, T)."""

    def made() -> Schedule:
        columns = [
            _columns(objects, topology, turned(objects, topology, tree, i), i)
            for i in range(topology.n - 1)
        ]
        step, sender, port, receiver, unit = (
            np.concatenate(parts) for parts in zip(*columns, strict=True)
        )
        order = np.argsort(step, kind="stable")
        return Schedule(
            topology, "allgather", "dimension-change", "all", topology.n - 1, packets=True, step=step[order], sender=sender[order],
            port=port[order], receiver=receiver[order], tree=unit[order].astype(np.uint8), unit=unit[order],
            arguments={"tree": tree.name.replace(" ", "-")}, symmetric=True,
        )  # fmt: skip

    return objects.get_or_create("schedule", (topology.spec, "Algorithm 2 on", tree.name), made)


def _columns(
    objects: ObjectCache, topology: Topology, tree: Tree, i: int
) -> tuple[Ranks, Ranks, Row, Ranks, Ranks]:
    parent = bfs.parents(objects, topology, tree.row)
    levels = bfs.levels(parent, tree.root)
    nodes = np.flatnonzero(levels > 0).astype(np.int32)
    return (
        levels[nodes],
        parent[nodes],
        tree.row[nodes],
        nodes,
        np.full(len(nodes), i, dtype=np.int32),
    )


def roundabout(objects: ObjectCache, topology: Topology) -> Tree | None:
    """A tree of height D_n at the identity that is no shortest-path tree; None where there is none of this kind.

    One node is left out of the search for shortest paths, and hung on where its way becomes longer.
    """
    distances = bfs.distances(objects, topology.spec)
    row = objects.array(
        "tree of height D_n with a detour",
        topology.spec,
        partial(_roundabout, objects, topology, distances),
    )
    return Tree("tree of height D_n with a detour", 0, row, drawn=True) if len(row) else None


def _roundabout(objects: ObjectCache, topology: Topology, distances: Ranks) -> Row:
    across, most = objects.neighbours(topology.spec), int(distances.max())
    for node in np.flatnonzero((distances > 0) & (distances < most - 1)).tolist():
        without = np.where(across == node, np.arange(topology.nodes, dtype=np.int32), across)
        without[:, node] = node
        found = bfs.search(without, 0)
        around = found[across[:, node]]
        longer = np.flatnonzero((around + 1 > distances[node]) & (around + 1 <= most))
        if found.max() > most or not len(longer):
            continue
        closer = found[without] == found - 1
        row = np.where(closer.any(axis=0), closer.argmax(axis=0) + 2, 0).astype(np.uint8)
        row[0], row[node] = 0, longer[0] + 2
        return row
    return np.empty(0, dtype=np.uint8)
