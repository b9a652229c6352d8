"""Fragopoulou & Akl 1996, section 3: edge-disjoint trees EDT, depth, traversal, translations."""

from collections.abc import Iterator
from itertools import count, permutations
from math import prod

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import diameter
from starcast.claims.object_cache import CachedTopology
from starcast.claims.reference import bfs, labels
from starcast.claims.reference import tree_rules as rules
from starcast.claims.registry import checks
from starcast.records import checkers
from starcast.topologies import Topology
from starcast.topologies.permutations import Ranks
from starcast.trees.model import Forest

# Edge-disjoint trees of small depth, one through each neighbour of the identity of S_n
#
# The identity is the root. Together, such trees use every directed link that does not lead into the
# root exactly once. So in the n-1 trees a node has n-1 different parents: all of its neighbours. A
# neighbour of the root has the root as its parent in its own tree. An assignment of parents to a
# node is a tuple of port indices, one for each tree.


#: Depth of a node that has no path to the root, larger than every real depth.
_UNREACHABLE = 1_000
_MAX_COMBINATIONS = 1_000_000
_BATCH = 100_000


def least_depth(network: CachedTopology) -> int:
    """Return a lower bound for the depth of n-1 edge-disjoint trees rooted at the identity.

    In every tree a node is one level deeper than its parent. Assignments of parents that put a node
    deeper than a given depth are impossible. If only assignments with larger levels are left, the
    minimum level of the node rises, which can rule out assignments of its neighbours. If a node has
    no assignment left, no trees have this depth, and the next depth is tried.
    """

    def create() -> NDArray[np.int64]:
        depths = (depth for depth in count(1) if _is_possible(network, depth))
        return np.array([next(depths)])

    return int(network.array("least depth of edge-disjoint trees", create)[0])


def rotated_trees(network: CachedTopology, depth: int) -> NDArray[np.uint8]:
    """Return edge-disjoint trees of limited depth that are rotations of one another.

    All combinations of assignments are tried, except those that put a single node too deep. Of the
    trees found, the first with the smallest depth are returned.

    Returns:
        uint8 ``[trees, nodes]``, the dimensions toward the parents; no rows if there are no such
        trees, or too many combinations.
    """
    return network.array(f"trees of depth {depth}", lambda: _search_rotated_trees(network, depth))


def _least_levels(network: CachedTopology) -> NDArray[np.int64]:
    """Return the smallest possible level of each node in each tree, int64 ``[trees, nodes]``.

    Paths pass the root's only child in the tree, and do not return to the root.
    """
    without_root = network.neighbours.copy()
    for port, child in enumerate(network.neighbours[:, 0]):
        # The link back to the root becomes a loop, so that the search cannot pass the root.
        without_root[port, child] = child
    levels = [1 + bfs.search(without_root, int(child)) for child in network.neighbours[:, 0]]
    return np.stack(levels).astype(np.int64)


def _levels_by_parent(network: CachedTopology, levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the smallest level of each node in each tree if its parent is across a given port.

    Returns:
        int64 ``[trees, ports, nodes]``.
    """
    by_parent = 1 + levels[:, network.neighbours]
    for port, child in enumerate(network.neighbours[:, 0]):
        by_parent[:, port, child] = _UNREACHABLE
        by_parent[port, port, child] = 1
    return by_parent


def _is_possible(network: CachedTopology, depth: int) -> bool:
    """Return whether every node has an assignment of parents that keeps it within a depth."""
    levels = _least_levels(network)
    trees = np.arange(network.degree)
    while True:
        by_parent = _levels_by_parent(network, levels)
        raised = np.full_like(levels, _UNREACHABLE)
        for assignment in permutations(range(network.degree)):
            assigned = by_parent[trees, np.array(assignment)]
            within = np.where(assigned.max(axis=0) <= depth, assigned, _UNREACHABLE)
            np.minimum(raised, within, out=raised)
        raised[:, 0] = levels[:, 0]
        if raised.max() >= _UNREACHABLE or np.array_equal(raised, levels):
            return bool(raised.max() < _UNREACHABLE)
        # A raised level can raise the levels of other nodes, so repeat until nothing changes.
        levels = np.maximum(levels, raised)


def _search_rotated_trees(network: CachedTopology, depth: int) -> NDArray[np.uint8]:
    orbits = _rotation_orbits(network)
    levels = _levels_by_parent(network, _least_levels(network))
    options = [
        _parent_options(network.degree, orbit, levels[:, :, orbit[0]], depth) for orbit in orbits
    ]
    combinations = prod(map(len, options))
    best = np.empty((0, network.nodes), dtype=np.uint8)
    if combinations > _MAX_COMBINATIONS:
        return best
    best_depth = depth + 1
    for start in range(0, combinations, _BATCH):
        trees = np.zeros((min(_BATCH, combinations - start), network.nodes), dtype=np.uint8)
        # The digits of a combination's number are the indices of the options chosen for the orbits.
        remaining = np.arange(start, start + len(trees))
        for orbit, parents in zip(orbits, options, strict=True):
            remaining, chosen = np.divmod(remaining, len(parents))
            trees[:, orbit] = parents[chosen]
        depths = _tree_depths(network.neighbours, trees)
        if depths.min() < best_depth:
            best = trees[depths.argmin()][None]
            best_depth = int(depths.min())
    return _with_rotations(network, best[0]) if len(best) else best


def _rotation_orbits(network: CachedTopology) -> list[list[int]]:
    """Return the necklaces except the identity's, each starting at its lowest-ranked node."""
    images = labels.rotations(network)
    sizes = labels.return_times(network)
    leaders = np.unique(images.min(axis=0))[1:]
    return [images[: sizes[leader], leader].tolist() for leader in leaders]


def _parent_options(
    trees: int, orbit: list[int], levels: NDArray[np.int64], depth: int
) -> NDArray[np.uint8]:
    """Return the possible dimensions toward the parents in tree 2, for the nodes of an orbit.

    An assignment of parents to the first node determines the parents of the other nodes. R^j maps
    the first node to node j. So R^j also maps the first node's parent in one of the trees to the
    parent of node j in tree 2. That tree is the one to which R^-j maps tree 2.

    Returns:
        uint8 ``[options, nodes of the orbit]``.
    """
    options = []
    size = len(orbit)
    for assignment in permutations(range(trees)):
        # In a shorter orbit, fewer than n-1 rotations lead back to the first node. The node's
        # assignment must then be the same again.
        returned = tuple((assignment[tree - size] + size) % trees for tree in range(trees))
        if returned != assignment:
            continue
        if levels[np.arange(trees), np.array(assignment)].max() <= depth:
            options.append([(assignment[-j % trees] + j) % trees + 2 for j in range(size)])
    return np.array(options, dtype=np.uint8).reshape(-1, size)


def _tree_depths(neighbours: Ranks, trees: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Return the depth of each tree, int64 ``[trees]``; `_UNREACHABLE` if a row is not a tree."""
    nodes = trees.shape[1]
    # Pointer doubling: `ends` is the ancestor of each node `levels` links above the node.
    ends = neighbours[np.maximum(trees, 2) - 2, np.arange(nodes)[None, :]].astype(np.int64)
    ends[:, 0] = 0
    levels = np.broadcast_to(np.arange(nodes) > 0, trees.shape).astype(np.int64)
    for _ in range(nodes.bit_length()):
        levels = levels + np.take_along_axis(levels, ends, 1)
        ends = np.take_along_axis(ends, ends, 1)
    return np.where((ends == 0).all(axis=1), levels.max(axis=1), _UNREACHABLE)


def _with_rotations(network: CachedTopology, tree: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a tree together with its rotations."""
    rotated_node = labels.rotation(network)
    trees = [tree]
    for _ in range(network.degree - 1):
        rotated = np.zeros_like(tree)
        rotated[rotated_node] = labels.rotation_function(network.n)[trees[-1]]
        trees.append(rotated)
    return np.stack(trees)


# The trees EDT


def edt(check: ClaimCheck, root: int = 0) -> Forest:
    """Return the trees EDT with the given root, and record that there are n-1 of them."""
    forest = check.forest("edge-disjoint", root=root)
    check.equal("subtrees of EDT", forest.trees, check.n - 1, of=forest)
    return forest


def edt_forests(check: ClaimCheck) -> Iterator[Forest]:
    """Yield the trees EDT rooted at the identity."""
    yield edt(check)


def _check_spanning(check: ClaimCheck, forest: Forest) -> bool:
    """Record and return whether every tree is spanning."""
    result = checkers.spanning(forest.topology, forest.parent_port, forest.root)
    check.passes(result, of=forest)
    return result.holds


# Definition 8


@checks("EDT.D8.consistent", given=edt_forests)
def edt_parents_and_children(check: ClaimCheck, forest: Forest) -> None:
    """Check dimensions toward parents and children in all subtrees of EDT against Definition 8."""
    symbols = labels.symbols(check)
    links = (check.ranks, check.neighbours)
    stated = (rules.parents_edt(symbols), rules.children_edt(symbols))
    rows = zip(check.ports, forest.parent_port, *stated, strict=False)
    for subtree, row, parents, children in rows:
        place = {"subtree": subtree, "of": forest}
        check.equal("dimension toward the parent", row, parents, **place, node=check.ranks)
        is_child = rules.is_child(check, row)
        check.equal("whether it is a child", is_child, children, **place, link=links)


#: The paper's worked examples: node, subtree, parent.
EXAMPLES = (
    ("3124", 3, "1324"),
    ("3124", 4, "4123"),
    ("2143", 4, "1243"),
    ("2143", 3, "3142"),
    ("4123", 4, "1423"),
    ("4123", 3, "2143"),
)


@checks("EDT.D8.examples", given=edt_forests)
def examples(check: ClaimCheck, forest: Forest) -> None:
    """Check the parents in the paper's worked examples."""
    for node, subtree, parent in EXAMPLES:
        rank = check.rank(node)
        port = int(forest.parent_port[min(subtree - 2, forest.trees - 1), rank])
        observed = int(check.neighbours[port - 2, rank]) if port in check.ports else -1
        place = {"node": node, "subtree": subtree, "parent": parent, "of": forest}
        check.equal("rank of the parent", observed, check.rank(parent), **place)


@checks("EDT.D8.spanning", given=edt_forests)
def subtrees_span(check: ClaimCheck, forest: Forest) -> None:
    """Check that subtree l reaches every node over the root's link of dimension l."""
    _check_spanning(check, forest)
    arguments = (check.topology, forest.parent_port, forest.root)
    if not checkers.rooted(*arguments).holds or forest.trees != check.n - 1:
        return
    sizes = checkers.branch_sizes(*arguments)
    stated = (check.nodes - 1) * np.eye(check.n - 1, dtype=int)
    place = {
        "subtree": lambda row, _: row + 2,
        "dimension": lambda _, column: column + 2,
        "of": forest,
    }
    check.equal("nodes over each link of I", sizes, stated, **place)


# Lemma 6


@checks("EDT.L6.1", given=edt_forests)
def subtrees_are_edge_disjoint(check: ClaimCheck, forest: Forest) -> None:
    """Check that no directed link is in two subtrees."""
    arguments = (check.topology, forest.parent_port, forest.root)
    rooted = checkers.rooted(*arguments)
    check.passes(rooted, of=forest)
    if rooted.holds:
        check.passes(checkers.edge_disjoint(*arguments), of=forest)


@checks("EDT.L6.2", given=edt_forests)
def subtrees_are_rotations(check: ClaimCheck, forest: Forest) -> None:
    """Check that the rotation R maps the links of each subtree of EDT to those of the next."""
    rotated_node = labels.rotation(check)
    rotated_dimension = labels.rotation_function(check.n)
    for tree, row in enumerate(forest.parent_port):
        next_row = forest.parent_port[(tree + 1) % forest.trees]
        place = {"subtree": tree + 2, "x": check.label, "of": forest}
        what = "dimension toward the parent of R(x)"
        check.equal(what, next_row[rotated_node], rotated_dimension[row], **place)


@checks("EDT.L6.3", given=edt_forests)
def paths_are_disjoint(check: ClaimCheck, forest: Forest) -> None:
    """Check that each node's n-1 paths in EDT are disjoint and at most 4 longer than shortest."""
    if not _check_spanning(check, forest):
        return
    disjoint = checkers.disjoint_paths(check.topology, forest.parent_port, forest.root)
    check.passes(disjoint, of=forest)
    levels = bfs.depths(check, forest.parent_port)
    extra = levels - bfs.distances(check)
    place = {"subtree": lambda row, _: row + 2, "node": check.ranks, "of": forest}
    check.at_most("links more than the distance", extra, 4, **place)


@checks("EDT.L6.4", given=edt_forests)
def depth_bound(check: ClaimCheck, forest: Forest) -> None:
    """Check that the depth of EDT is at most D_n + 4, where D_n is the diameter."""
    if _check_spanning(check, forest):
        bound = diameter(check.n) + 4
        height = checkers.height(check.topology, forest.parent_port, forest.root, bound=bound)
        check.passes(height, "<=", of=forest)


@checks("EDT.depth", given=edt_forests)
def optimal_depth(check: ClaimCheck, forest: Forest) -> None:
    """Compare the depth of EDT with a lower bound and with trees found by a search."""
    height = _height(check.topology, forest.parent_port)
    bound = least_depth(check)
    lower_trees = rotated_trees(check, height - 1)
    depth = _depth_of_valid_trees(check.topology, lower_trees)
    if depth is None:
        check.at_least("depth of any such trees, by the nodes' levels", bound, height, of=forest)
    else:
        what = "depth of trees that are rotations of one another"
        dimensions = "".join(map(str, lower_trees[0]))
        place = {"subtree": 2, "dimensions_to_parents_by_rank": dimensions, "of": forest}
        check.at_least(what, depth, height, **place)
    instead = check.correction(
        "no such trees are less deep than D_n + 2. "
        "EDT has it on S_3 and S_5, and 1 more on S_4, where others have it"
    )
    least = diameter(check.n) + 2
    instead.equal("least depth by the nodes' levels", bound, least)
    instead.equal("depth of the best trees", height if depth is None else depth, least)
    instead.equal("depth of EDT", height, least if check.n % 2 else least + 1)


def _height(topology: Topology, rows: NDArray[np.uint8]) -> int:
    return int(np.max(checkers.height(topology, rows, 0, bound=topology.nodes).measured))


def _depth_of_valid_trees(topology: Topology, rows: NDArray[np.uint8]) -> int | None:
    """Return the depth of trees; None unless they are edge-disjoint spanning trees."""
    if len(rows) != topology.degree or not checkers.spanning(topology, rows, 0).holds:
        return None
    expected = (topology.nodes - 1) * np.eye(topology.degree, dtype=int)
    if not np.array_equal(checkers.branch_sizes(topology, rows, 0), expected):
        return None
    return _height(topology, rows) if checkers.edge_disjoint(topology, rows, 0).holds else None


@checks("EDT.twice", given=edt_forests)
def links_are_in_one_tree(check: ClaimCheck, forest: Forest) -> None:
    """Check how many of the trees EDT use each directed link."""
    loads = checkers.loads(check.topology, forest.parent_port, forest.root)
    check.equal("trees that have the directed link", loads, 1, link=check.links, of=forest)
    instead = check.correction(
        "every directed link is in exactly one tree, but the n-1 links into I, which are in none"
    )
    stated = np.where(check.neighbours.T == 0, 0, 1)
    instead.equal("trees that have the directed link", loads, stated, link=check.links)
    instead.equal("directed links of EDT", loads.sum(), (check.n - 1) * (check.nodes - 1))


# Other roots, and the order of children


@checks("EDT.root", given=edt_forests)
def edt_at_other_roots(check: ClaimCheck, forest: Forest) -> None:
    """Check that the trees EDT at other roots are translates of EDT, and edge-disjoint."""
    for root in bfs.roots(check):
        translated = edt(check, root)
        if not _check_spanning(check, translated):
            return
        disjoint = checkers.edge_disjoint(check.topology, translated.parent_port, root)
        check.passes(disjoint, of=translated)
        # Definition of EDT at another root: the parent of the image is the image of the parent,
        # and translations keep dimensions.
        image = labels.translation(check, root)
        rows = zip(check.ports, forest.parent_port, translated.parent_port, strict=False)
        for subtree, row, translated_row in rows:
            place = {"h": check.label(root), "subtree": subtree, "of": translated}
            what = "dimension toward the parent of T_h(x)"
            check.equal(what, translated_row[image], row, **place, x=check.label)
            observed = rules.is_child(check, translated_row)[:, image]
            stated = rules.is_child(check, row)
            place |= {"x": lambda _, node: check.label(node)}
            check.equal("whether T_h(x) has a child there", observed, stated, **place)


@checks("EDT.order", given=edt_forests)
def traversals_are_rotations(check: ClaimCheck, forest: Forest) -> None:
    """Check that the h-th links of the subtrees' traversals are rotations of one another."""
    if not _check_spanning(check, forest) or forest.trees != check.n - 1:
        return
    rotated = labels.rotation(check)
    rows = list(zip(check.ports, forest.parent_port, strict=True))
    traversals = [_traversal(check, row, subtree) for subtree, row in rows]
    index = np.arange(1, check.nodes)
    for tree, order in enumerate(traversals):
        next_order = traversals[(tree + 1) % len(traversals)]
        place = {"subtree": tree + 2, "h": index, "of": forest}
        check.equal("node that link h leads to, rotated", next_order, rotated[order], **place)
    dimensions = [row[order] for (_, row), order in zip(rows, traversals, strict=True)]
    measured = np.sort(dimensions, axis=0).T
    stated = np.arange(2, check.n + 1)
    check.equal("dimensions of links h, sorted", measured, stated, h=lambda h, _: h + 1, of=forest)


def _traversal(check: ClaimCheck, row: NDArray[np.uint8], subtree: int) -> Ranks:
    """Return a tree's nodes except the root, depth first, children in cyclic order of dimension."""
    neighbours = check.neighbours
    is_child = rules.is_child(check, row)
    phi = [(subtree - 2 + offset) % check.degree for offset in range(check.degree)]
    order = []
    stack = [0]
    while stack:
        node = stack.pop()
        order.append(node)
        stack += [int(neighbours[port, node]) for port in reversed(phi) if is_child[port, node]]
    return np.array(order[1:], dtype=np.int32)


@checks("EDT.L7")
def sources_do_not_conflict(check: ClaimCheck) -> None:
    """Check that translates of links of different dimensions never coincide."""
    images = labels.translations(check)
    schedule = check.schedule("allgather", "edge-disjoint", messages=1, copies=check.n - 1)
    rng = np.random.default_rng(check.n)
    ports = np.arange(check.degree)
    # The lemma is about any set of links of different dimensions. Random sets are tried, and sets
    # of links that the allgather uses in a step.
    drawn = [(rng.integers(check.nodes, size=check.degree), ports) for _ in range(10)]
    steps = rng.permutation(np.arange(1, schedule.steps + 1))[:20]
    sent = []
    for step in steps:
        rows = schedule.step == step
        sent.append((schedule.sender[rows], schedule.port[rows].astype(np.int64) - 2))
    dimensions = [len(np.unique(ports)) for _, ports in sent]
    check.equal("different dimensions", dimensions, check.n - 1, step=steps, of=schedule)
    for nodes, ports in (*drawn, *sent):
        ends = check.labels([nodes[0], check.neighbours[ports[0], nodes[0]]])
        place = {"first_link": " -> ".join(ends)}
        tail = np.clip(images[:, nodes], 0, check.nodes - 1)
        head = np.clip(images[:, check.neighbours[ports, nodes]], 0, check.nodes - 1)
        used = np.unique(tail.astype(np.int64) * check.nodes + head)
        check.equal("directed links used", len(used), check.nodes * len(ports), **place)
        # The dimension of a translated link is determined from its actual end.
        changed = np.count_nonzero(check.neighbours[ports, tail] != head)
        check.equal("links of another dimension", changed, 0, **place)
