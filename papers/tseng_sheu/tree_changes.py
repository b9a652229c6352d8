"""Checks of Tseng & Sheu 1997, sections 5 and 6.2: label and dimension changes of trees.

Both changes map a spanning tree to another spanning tree (see `label_change` and
`dimension_change`). The checks count how many changed trees use each link.
"""

from fractions import Fraction
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import CachedTopology, cached, heights, search, tree_levels
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import factorial
from starcast.claims.registry import Memory, all_pairs, checks
from starcast.collectives.model import Draft, Schedule
from starcast.collectives.rows import Columns, concatenate_rows
from starcast.records import checkers
from starcast.trees.model import Forest

from ..common import stars
from ..common.closed_forms import diameter
from ..common.lower_bound_counts import single_trees
from .collectives import ONE_SOURCE, algorithm2, check_allgather_time
from .tables import QUOTIENTS

#: Memory of the images of all nodes under all translations.
TRANSLATIONS = Memory(16, power=0, of_pairs=all_pairs)
#: The number of array entries that are computed at a time.
_CHUNK = 4_000_000
_DEEP = ("rotated-hamiltonian", "hamiltonian-cycle")
#: Trees with a height of order (n-1)! are used only up to this n.
_DEEPEST = 6


class Tree(NamedTuple):
    """A spanning tree.

    Attributes:
        name: the tree's name in evidence.
        root: rank of the root.
        row: the port of each node towards its parent.
        in_catalogue: whether ``name`` is one of starcast's constructions.
    """

    name: str
    root: int
    row: NDArray[np.uint8]
    in_catalogue: bool = False


def sample_trees(network: CachedTopology, *, other_roots: bool = False) -> list[Tree]:
    """Return the tree of each built-in construction of a single tree, and three random trees.

    All these trees are spanning trees rooted at the identity. Beyond S_6, trees whose height is of
    order (n-1)! are omitted. With ``other_roots``, two random trees with other roots are added.
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
    """Return the random spanning tree with the given seed and root."""
    name = f"random tree {seed} rooted at {network.label(root)}"
    return Tree(name, root, network.random_tree(seed, root))


def label_change(network: CachedTopology, tree: Tree, x: int) -> Tree:
    """Return the label change LC(x, T), the image of the tree T under the translation by x.

    Node y becomes x∘y, its image under the translation, and links keep their dimensions.
    """
    image = stars.translation(network, x)
    row = np.zeros_like(tree.row)
    row[image] = tree.row
    return Tree(f"LC({network.label(x)}, {tree.name})", int(image[tree.root]), row)


def dimension_change(network: CachedTopology, tree: Tree, i: int) -> Tree:
    """Return the dimension change DC(i, T), which adds i to every link's dimension in the tree T.

    A path from the root over the dimensions d1, d2, .. becomes the path over d1 + i, d2 + i, ..;
    dimensions are counted cyclically from 2 to n.
    """
    parent = network.parents(tree.row)
    levels = tree_levels(parent, tree.root)
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
    """Return how many changed trees use each directed link, on each level of the trees.

    A changed tree is LC(x, DC(i, T)): the tree T after `dimension_change` by i and `label_change`
    by node x. The changed trees for all nodes x and for i = 0, .., changes - 1 are counted.

    Returns:
        Two arrays: the loads of links from parent to child, int64 ``[levels, nodes, ports]``, and
        the number of nodes of T on each level, int64 ``[levels]``. The first level is level 1.
    """
    images = stars.translations(network)
    parent = network.parents(tree.row)
    profile = np.bincount(np.maximum(tree_levels(parent, tree.root), 0))[1:]
    links = network.nodes * network.degree
    loads = np.zeros(len(profile) * links, dtype=np.int64)
    chunk = max(1, _CHUNK // network.nodes)
    for i in range(changes):
        changed = dimension_change(network, tree, i)
        changed_parent = network.parents(changed.row)
        levels = tree_levels(changed_parent, changed.root).astype(np.int64)
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

    In step t, segment i of the message of source x crosses the links on level t of the changed tree
    LC(x, DC(i, T)). The schedule is symmetric: it contains only the rows of the identity.
    """

    def create() -> Schedule:
        segments = range(network.n - 1)
        rows = concatenate_rows([_rows_of_segment(network, tree, i) for i in segments])
        draft = Draft(rows, len(segments), packets=True, symmetric=True)
        arguments = {"tree": tree.name.replace(" ", "-")}
        names = ("allgather", "dimension-change")
        return draft.complete(network.topology, *names, arguments=arguments)

    return network.build(create, "Algorithm 2 on", tree.name)


def _rows_of_segment(network: CachedTopology, tree: Tree, i: int) -> Columns:
    changed = dimension_change(network, tree, i)
    parent = network.parents(changed.row)
    levels = tree_levels(parent, changed.root)
    nodes = np.flatnonzero(levels > 0)
    segment = np.full(len(nodes), i)
    return Columns(levels[nodes], parent[nodes], changed.row[nodes], nodes, segment, segment)


def tree_with_detour(network: CachedTopology) -> Tree | None:
    """Return a tree whose height is the diameter, but which is not a shortest-path tree.

    The tree is rooted at the identity. The path of one node is longer than the node's distance. All
    other nodes have paths that avoid this node, and that are as short as such paths can be.

    Returns:
        The tree, or None if no such tree is found.
    """
    row = _row_with_detour(network)
    return Tree("tree of height D_n with a detour", 0, row) if len(row) else None


@cached
def _row_with_detour(network: CachedTopology) -> NDArray[np.uint8]:
    distances = network.distances()
    nodes = np.arange(network.nodes, dtype=np.int32)
    height = int(distances.max())
    for node in np.flatnonzero((distances > 0) & (distances < height - 1)).tolist():
        # All other nodes get shortest paths that avoid the node. The node then becomes the child of
        # a neighbour on a deep level, so that the node's path is longer than its distance.
        without = np.where(network.neighbours == node, nodes, network.neighbours)
        without[:, node] = node
        detours = search(without, 0)
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


# Label and dimension changes, and the use of links (sections 5 and 6.2)


def check_spanning(check: ClaimCheck, tree: Tree, root: int) -> None:
    """Check that a changed tree is a spanning tree with the given root."""
    forest = Forest(check.topology, tree.row[None], root)
    check.passes(checkers.spanning, forest, of=tree.name)


def check_ports(check: ClaimCheck, what: str, forest: Forest, expected: Tree) -> None:
    """Check that a forest of starcast's constructions consists of the expected tree only."""
    check.equal(what, forest.parent_port, expected.row, node=check.ranks, of=forest)


@checks("TS.D3")
def label_changes_span(check: ClaimCheck) -> None:
    """Check that label changes of trees are spanning trees with the right roots.

    The label change LC(x, T) is the image of a tree T under the translation by node x. The root of
    LC(x, T) must be the image of T's root, and starcast's `label-change` must build the same tree.
    On S_4, also check the paper's example.
    """
    for tree in sample_trees(check, other_roots=True):
        for x in check.roots(3):
            changed = label_change(check, tree, x)
            check_spanning(check, changed, changed.root)
            if tree.in_catalogue:
                forest = check.forest("label-change", root=x, base=tree.name)
                check_ports(check, "ports of LC(x,T)", forest, changed)
    if check.n == 4:
        check_label_example(check)


def check_label_example(check: ClaimCheck) -> None:
    """Check the paper's example LC(3021, L(0123)), a label change of the greedy tree L(0123).

    The symbols, counted from 0, must be replaced in both ends of every link.
    """
    x = "4132"
    replacement = str.maketrans("1234", x)
    base = check.forest("greedy").parent_port[0]
    forest = check.forest("label-change", root=check.rank(x), base="greedy")
    parents = check.parents(base)
    changed_parents = check.parents(forest.parent_port[0])
    root = check.label(forest.root)
    check.equal("root of LC(3021, L(0123))", root, "1234".translate(replacement), of=forest)
    for node in range(1, check.nodes):
        changed_node = check.rank(check.label(node).translate(replacement))
        measured = check.label(int(changed_parents[changed_node]))
        stated = check.label(int(parents[node])).translate(replacement)
        check.equal("parent in LC(3021, L(0123))", measured, stated, node=node, of=forest)


@checks("TS.D4")
def dimension_changes_span(check: ClaimCheck) -> None:
    """Check that dimension changes DC(i, T) are spanning trees with the root of the tree T.

    Starcast's construction `dimension-change` must build the same trees. On S_4, also check the
    paper's example.
    """
    for tree in sample_trees(check, other_roots=True):
        stated = check.label(tree.root)
        for i in range(check.n - 1):
            changed = dimension_change(check, tree, i)
            check.equal("root of DC(i,T)", check.label(changed.root), stated, i=i, of=changed.name)
            check_spanning(check, changed, tree.root)
            if tree.in_catalogue:
                forest = check.forest("dimension-change", base=tree.name, i=i)
                check_ports(check, "ports of DC(i,T)", forest, changed)
    if check.n == 4:
        forest = check.forest("dimension-change", base="greedy", i=1)
        rotation = str.maketrans("123", "231")
        base_paths = dimension_words(check, check.forest("greedy").parent_port[0])
        measured = " ".join(dimension_words(check, forest.parent_port[0]))
        expected = " ".join(sorted(word.translate(rotation) for word in base_paths))
        what = "dimensions of the paths of DC(1, L(0123)), from 0"
        check.equal(what, measured, expected, of=forest)


def dimension_words(check: ClaimCheck, row: NDArray[np.uint8]) -> list[str]:
    """Return the sequences of dimensions (from 0) on a tree's paths from the identity, sorted."""
    parent = check.parents(row)
    words = []
    for leaf in range(check.nodes):
        word = ""
        node = leaf
        # A corrupted tree may have a cycle, so the loop also ends at a maximum length.
        while parent[node] >= 0 and len(word) <= check.nodes:
            word = str(row[node] - 1) + word
            node = int(parent[node])
        words.append(word)
    return sorted(words)


@checks("TS.S51-roots")
def changed_trees_are_rooted_at_x(check: ClaimCheck) -> None:
    """Check that label changes of the dimension changes of a tree are spanning trees.

    A tree T has the n-1 dimension changes DC(i, T). For several nodes x, the label changes LC(x,
    DC(i, T)) must be rooted at x.
    """
    for tree in sample_trees(check):
        numbers = range(check.n - 1)
        changes = [dimension_change(check, tree, i) for i in numbers]
        for x in check.roots(3):
            for i, change in enumerate(changes):
                changed = label_change(check, change, x)
                check.equal("root", check.label(changed.root), check.label(x), i=i, of=changed.name)
                check_spanning(check, changed, x)
                if tree.name == "greedy":
                    forest = check.forest("dimension-change", root=x, base=tree.name, i=i)
                    check_ports(check, "ports", forest, changed)


@checks("TS.L7", memory=TRANSLATIONS)
def links_are_used_equally(check: ClaimCheck) -> None:
    """Check that the changed trees of a tree use all links equally often on each level.

    The changed trees of a tree T are LC(x, DC(i, T)), for all nodes x and all i. On each level, the
    number of changed trees that use a link must equal the number of nodes of T on this level.
    """
    for tree in sample_trees(check, other_roots=True):
        loads, profile = link_loads(check, tree, check.n - 1)
        place = {"level": lambda index, *_: index + 1, "link": check.links, "of": tree.name}
        check.equal("trees with a link on a level", loads, profile[:, None, None], **place)


@checks("TS.S62-height")
def heights_of_single_trees(check: ClaimCheck) -> None:
    """Check the heights that the paper states for two trees of Fragopoulou & Akl, reference [8].

    The trees are `rotated-hamiltonian` and `necklace`. Also check that the height of
    `rotated-hamiltonian` has the order (n-1)!.
    """
    stated = {"rotated-hamiltonian": factorial(check.n - 1) + 1, "necklace": diameter(check.n)}
    for name, height in stated.items():
        tree = check.forest(name)
        check.passes(checkers.spanning, tree)
        check.equal(f"height of {name}", heights(tree), height, of=tree)
    check.same_order("((n-1)! + 1) / (n-1)!", QUOTIENTS["(n-1)!+1 over (n-1)!"])


@checks("TS.S62-equal", memory=TRANSLATIONS)
def translates_use_links_equally(check: ClaimCheck) -> None:
    """Check whether the translations of a tree use all links equally often, as stated.

    The trees are `rotated-hamiltonian` and `necklace` of Fragopoulou & Akl, reference [8]. In fact,
    the number of translations that use a link depends on the link's dimension.
    """
    n = check.n
    mean = Fraction(factorial(n) - 1, n - 1)
    correction = check.correction()
    for name in ("rotated-hamiltonian", "necklace"):
        forest = check.forest(name)
        place = {"link": check.links, "of": forest}
        tree = Tree(name, forest.root, forest.parent_port[0])
        levels, _ = link_loads(check, tree, 1)
        loads = levels.sum(axis=0)
        check.equal(f"translates of {name} on a link", loads, mean, **place)
        links_of_dimension = np.bincount(tree.row, minlength=n + 1)[2:]
        correction.equal("translates on a link", loads, links_of_dimension, **place)
        is_rounded = (loads >= int(mean)) & (loads <= int(mean) + 1)
        correction.true("one of two numbers", is_rounded, **place)
        levels, _ = link_loads(check, tree, n - 1)
        what = "trees on a link with all dimension changes"
        correction.equal(what, levels.sum(axis=0), factorial(n) - 1, **place)


@checks("TS.T3.any-tree", memory=ONE_SOURCE)
def time_on_any_tree(check: ClaimCheck) -> None:
    """Check that Algorithm 2 takes the time of Theorem 3 on many trees.

    If n > 4, one of these trees has the diameter as its height without being a shortest-path tree
    (see `tree_with_detour`).
    """
    trees = sample_trees(check)
    detour = tree_with_detour(check)
    what = "trees of height D_n that are not greedy are checked"
    check.equal(what, detour is not None, check.n > 4)
    if detour is not None:
        check_detour(check, detour)
        trees.append(detour)
    for tree in trees:
        forest = Forest(check.topology, tree.row[None])
        check.passes(checkers.spanning, forest, of=tree.name)
        (height,) = heights(forest)
        schedule = allgather_schedule(check, tree)
        check_allgather_time(check, schedule, check.execute(schedule), height)
        if tree.in_catalogue:
            for run in algorithm2(base=tree.name)(check):
                check_allgather_time(check, run.schedule, run.simulation, height)


def check_detour(check: ClaimCheck, tree: Tree) -> None:
    """Check that a tree's height is the diameter, but that not all its paths are shortest."""
    levels = tree_levels(check.parents(tree.row), 0)
    what = "height of a tree that is not greedy"
    check.equal(what, levels.max(), diameter(check.n), of=tree.name)
    is_longer = (levels > check.distances()).any()
    check.true("some node is further than its distance", is_longer, of=tree.name)
