"""Label change and dimension change of trees, and Algorithm 2 (Tseng & Sheu 1997, section 5)."""

from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.object_cache import CachedTopology, single_trees
from starcast.claims.reference import bfs, labels
from starcast.collectives.model import Schedule, build_schedule
from starcast.collectives.rows import Columns, concatenate_rows

_CHUNK = 4_000_000  # number of array entries computed at a time
_DEEP = ("rotated-hamiltonian", "hamiltonian-cycle")
_DEEPEST = 6  # trees whose height is of order (n-1)! are used only up to S_6

Row = NDArray[np.uint8]


class Tree(NamedTuple):
    """A spanning tree.

    Attributes:
        name: the tree's name in evidence.
        root: rank of its root.
        row: the port of each node towards its parent.
        in_catalogue: whether ``name`` is a construction of the catalogue.
    """

    name: str
    root: int
    row: Row
    in_catalogue: bool = False


def sample_trees(network: CachedTopology, *, other_roots: bool = False) -> list[Tree]:
    """Return the catalogue's single spanning trees and three random trees, rooted at the identity.

    With ``other_roots``, two random trees with other roots are added.
    """
    trees = []
    for name in single_trees(network.topology):
        if network.n <= _DEEPEST or name not in _DEEP:
            row = network.forest(name).parent_port[0]
            trees.append(Tree(name, 0, row, in_catalogue=True))
    roots = [0, 0, 0]
    if other_roots:
        roots += [network.nodes // 2, network.nodes - 1]
    return trees + [random_tree(network, *drawn) for drawn in enumerate(roots, 1)]


def random_tree(network: CachedTopology, seed: int, root: int = 0) -> Tree:
    """Return a random spanning tree."""
    name = f"random tree {seed} rooted at {network.label(root)}"
    create = partial(bfs.random_tree, network, seed, root)
    return Tree(name, root, network.array(name, create))


def label_change(network: CachedTopology, tree: Tree, x: int) -> Tree:
    """Return LC(x, T): every node y becomes x∘y, and every link keeps its dimension."""
    image = labels.translation(network, x)
    row = np.zeros_like(tree.row)
    row[image] = tree.row
    return Tree(f"LC({network.label(x)}, {tree.name})", int(image[tree.root]), row)


def dimension_change(network: CachedTopology, tree: Tree, i: int) -> Tree:
    """Return DC(i, T): every path d1, d2, .. from the root becomes d1 + i, d2 + i, ...

    Dimensions are counted cyclically from 2 to n.
    """
    parent = bfs.parents(network, tree.row)
    levels = bfs.levels(parent, tree.root)
    column = (tree.row.astype(np.int64) - 2 + i) % (network.n - 1)
    image = np.full(network.nodes, tree.root, dtype=np.int32)
    row = np.zeros_like(tree.row)
    order = np.argsort(levels, kind="stable")
    ends = np.searchsorted(levels[order], np.arange(int(levels.max()) + 2))
    # Level by level, because a node's image depends on the image of its parent.
    for begin, end in pairwise(ends[1:].tolist()):
        nodes = order[begin:end]
        image[nodes] = network.neighbours[column[nodes], image[parent[nodes]]]
        row[image[nodes]] = column[nodes] + 2
    return Tree(f"DC({i}, {tree.name})", tree.root, row)


def link_loads(
    network: CachedTopology, tree: Tree, changes: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return how many trees LC(x, DC(i, T)) use each directed link on each level.

    Trees for all nodes x and for i = 0, .., changes - 1 are counted.

    Returns:
        The loads, int64 ``[levels, nodes, ports]``, from parent to child; and the number of nodes
        of T on each level from 1.
    """
    images = labels.translations(network)
    parent = bfs.parents(network, tree.row)
    profile = np.bincount(np.maximum(bfs.levels(parent, tree.root), 0))[1:]
    links = network.nodes * network.degree
    loads = np.zeros(len(profile) * links, dtype=np.int64)
    chunk = max(1, _CHUNK // network.nodes)
    for i in range(changes):
        changed = dimension_change(network, tree, i)
        changed_parent = bfs.parents(network, changed.row)
        levels = bfs.levels(changed_parent, changed.root).astype(np.int64)
        nodes = np.flatnonzero(levels > 0)
        column = changed.row[nodes].astype(np.int64) - 2
        offset = (levels[nodes] - 1) * links + column
        for begin in range(0, network.nodes, chunk):
            senders = images[begin : begin + chunk, changed_parent[nodes]].astype(np.int64)
            index = senders * network.degree + offset
            loads += np.bincount(index.ravel(), minlength=len(loads))[: len(loads)]
    return loads.reshape(len(profile), network.nodes, network.degree), profile.astype(np.int64)


def allgather_schedule(network: CachedTopology, tree: Tree) -> Schedule:
    """Return the all-port schedule of Algorithm 2 on a tree rooted at the identity.

    In step t, segment i of each message crosses the links on level t of DC(i, T).
    """

    def create() -> Schedule:
        segments = range(network.n - 1)
        return build_schedule(
            concatenate_rows([_rows_of_segment(network, tree, i) for i in segments]),
            topology=network.topology,
            collective="allgather",
            algorithm="dimension-change",
            ports="all",
            units=len(segments),
            packets=True,
            arguments={"tree": tree.name.replace(" ", "-")},
            symmetric=True,
        )

    return network.build(create, "Algorithm 2 on", tree.name)


def _rows_of_segment(network: CachedTopology, tree: Tree, i: int) -> Columns:
    changed = dimension_change(network, tree, i)
    parent = bfs.parents(network, changed.row)
    levels = bfs.levels(parent, changed.root)
    nodes = np.flatnonzero(levels > 0)
    segment = np.full(len(nodes), i)
    return Columns(levels[nodes], parent[nodes], changed.row[nodes], nodes, segment, segment)


def tree_with_detour(network: CachedTopology) -> Tree | None:
    """Return a tree rooted at the identity that has height D_n but is not a shortest-path tree.

    Returns:
        None if no node can be given a longer path of at most D_n links while all others keep
        shortest paths.
    """
    name = "tree of height D_n with a detour"
    row = network.array(name, partial(_row_with_detour, network))
    return Tree(name, 0, row) if len(row) else None


def _row_with_detour(network: CachedTopology) -> Row:
    distances = bfs.distances(network)
    nodes = np.arange(network.nodes, dtype=np.int32)
    height = int(distances.max())
    for node in np.flatnonzero((distances > 0) & (distances < height - 1)).tolist():
        # All other nodes get shortest paths that avoid the node. The node then becomes a leaf below
        # a neighbour so deep that its path is longer than its distance.
        without = np.where(network.neighbours == node, nodes, network.neighbours)
        without[:, node] = node
        detours = bfs.search(without, 0)
        level = detours[network.neighbours[:, node]] + 1
        longer = np.flatnonzero((level > distances[node]) & (level <= height))
        if detours.max() > height or not len(longer):
            continue
        closer = detours[without] == detours - 1
        row = np.where(closer.any(axis=0), closer.argmax(axis=0) + 2, 0).astype(np.uint8)
        row[0] = 0
        row[node] = longer[0] + 2
        return row
    return np.empty(0, dtype=np.uint8)
