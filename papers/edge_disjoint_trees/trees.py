"""Checks of Fragopoulou & Akl 1996, section 3: the n-1 edge-disjoint spanning trees EDT.

The checks cover the trees' parents and children, depth, depth-first traversals, and images under
rotation and translation.
"""

from collections.abc import Iterator
from itertools import count, permutations

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import CachedTopology, heights, search
from starcast.claims.check import ClaimCheck
from starcast.claims.registry import checks
from starcast.records import checkers
from starcast.topologies.permutations import Ranks
from starcast.trees.model import Forest

from ..common import stars
from ..common.closed_forms import diameter
from . import star_graph as rules

# Edge-disjoint trees of small depth, one through each neighbour of the identity of S_n
#
# The identity is the root. Each directed link is in exactly one of these trees, except that links
# into the root are in none. So in the n-1 trees, a node has n-1 different parents: all of its
# neighbours. A neighbour of the root has the root as its parent in the tree that passes through
# this neighbour. An assignment of parents to a node is a tuple of port indices, one for each tree.


#: Depth of a node without a path to the root; it is larger than the depth of any tree.
_UNREACHABLE = 1_000
#: Edge-disjoint trees of S_4 that are less deep than EDT, found by a search. The string has a digit
#: for each node, in rank order: the dimension of the node's link to its parent in subtree 2. The
#: other subtrees are rotations of subtree 2.
_LOWER_TREE = "022222233334332222442234"


def least_depth(network: CachedTopology) -> int:
    """Return a lower bound on the depth of n-1 edge-disjoint trees rooted at the identity.

    The depths 1, 2, .. are tried; the result is the first depth that is not ruled out. An
    assignment of a node selects a parent in each tree, one level above the node. Assignments that
    put the node on a level beyond the tried depth are excluded. The remaining assignments determine
    the node's minimum level in each tree. If this level rises, assignments of the node's neighbours
    may be excluded too. If a node has no assignment left, the tried depth is ruled out.
    """
    return next(depth for depth in count(1) if _is_possible(network, depth))


def _least_levels(network: CachedTopology) -> NDArray[np.int64]:
    """Return the smallest possible level of each node in each tree, int64 ``[trees, nodes]``.

    In each tree, the root has one child. The path from the root to a node passes this child, and
    does not return to the root.
    """
    without_root = network.neighbours.copy()
    for port, child in enumerate(network.neighbours[:, 0]):
        # The child's link to the root becomes a loop, so that the search does not begin with it.
        without_root[port, child] = child
    levels = [1 + search(without_root, int(child)) for child in network.neighbours[:, 0]]
    return np.stack(levels).astype(np.int64)


def _levels_by_parent(network: CachedTopology, levels: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the smallest level of each node in each tree, for each possible port to its parent.

    The argument ``levels`` contains a lower bound on each node's level, ``[trees, nodes]``.

    Returns:
        int64 ``[trees, ports, nodes]``.
    """
    by_parent = 1 + levels[:, network.neighbours]
    for port, child in enumerate(network.neighbours[:, 0]):
        by_parent[:, port, child] = _UNREACHABLE
        by_parent[port, port, child] = 1
    return by_parent


def _is_possible(network: CachedTopology, depth: int) -> bool:
    """Return whether edge-disjoint trees of a given depth may exist.

    The result is False if the argument described in `least_depth` rules such trees out.
    """
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


def _with_rotations(network: CachedTopology, tree: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Return a tree and its n-2 rotations, uint8 ``[trees, nodes]``.

    A tree is given by the dimension of each node's link to its parent.
    """
    rotated_node = stars.rotation(network)
    trees = [tree]
    for _ in range(network.degree - 1):
        rotated = np.zeros_like(tree)
        rotated[rotated_node] = stars.rotation_function(network.n)[trees[-1]]
        trees.append(rotated)
    return np.stack(trees)


# The trees EDT


def edt(check: ClaimCheck, root: int = 0) -> Forest:
    """Return the forest of edge-disjoint trees EDT, and record whether it has n-1 trees."""
    forest = check.forest("edge-disjoint", root=root)
    check.equal("subtrees of EDT", forest.trees, check.n - 1, of=forest)
    return forest


def edt_forests(check: ClaimCheck) -> Iterator[Forest]:
    """Yield the forest of the edge-disjoint trees EDT rooted at the identity."""
    yield edt(check)


# Definition 8: the parents and children of the trees EDT


@checks("EDT.D8.consistent", given=edt_forests)
def edt_parents_and_children(check: ClaimCheck, forest: Forest) -> None:
    """Check the links of each node to its parent and children in the trees EDT (Definition 8)."""
    symbols = stars.symbols(check)
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
    """Check the parents in the edge-disjoint trees EDT that the paper's worked examples state."""
    for node, subtree, parent in EXAMPLES:
        rank = check.rank(node)
        port = int(forest.parent_port[min(subtree - 2, forest.trees - 1), rank])
        observed = int(check.neighbours[port - 2, rank]) if port in check.ports else -1
        place = {"node": node, "subtree": subtree, "parent": parent, "of": forest}
        check.equal("rank of the parent", observed, check.rank(parent), **place)


@checks("EDT.D8.spanning", given=edt_forests)
def subtrees_span(check: ClaimCheck, forest: Forest) -> None:
    """Check that the l-th edge-disjoint tree reaches all nodes over the root's link of dimension l.

    The trees are numbered l = 2..n.
    """
    check.passes(checkers.spanning, forest)
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


# Lemma 6: properties of the trees EDT


@checks("EDT.L6.1", given=edt_forests)
def subtrees_are_edge_disjoint(check: ClaimCheck, forest: Forest) -> None:
    """Check that no directed link is in two of the edge-disjoint trees EDT."""
    if check.passes(checkers.rooted, forest):
        check.passes(checkers.edge_disjoint, forest)


@checks("EDT.L6.2", given=edt_forests)
def subtrees_are_rotations(check: ClaimCheck, forest: Forest) -> None:
    """Check that the rotation R maps each edge-disjoint tree to the next tree, link by link."""
    rotated_node = stars.rotation(check)
    rotated_dimension = stars.rotation_function(check.n)
    for tree, row in enumerate(forest.parent_port):
        next_row = forest.parent_port[(tree + 1) % forest.trees]
        place = {"subtree": tree + 2, "x": check.label, "of": forest}
        what = "dimension toward the parent of R(x)"
        check.equal(what, next_row[rotated_node], rotated_dimension[row], **place)


@checks("EDT.L6.3", given=edt_forests)
def paths_are_disjoint(check: ClaimCheck, forest: Forest) -> None:
    """Check that the n-1 paths to a node in the edge-disjoint trees EDT share no inner node.

    Also check that each of these paths is at most 4 links longer than the node's distance.
    """
    if not check.passes(checkers.spanning, forest):
        return
    check.passes(checkers.disjoint_paths, forest)
    levels = check.depths(forest.parent_port)
    extra = levels - check.distances()
    place = {"subtree": lambda row, _: row + 2, "node": check.ranks, "of": forest}
    check.at_most("links more than the distance", extra, 4, **place)


@checks("EDT.L6.4", given=edt_forests)
def depth_bound(check: ClaimCheck, forest: Forest) -> None:
    """Check that the depth of the edge-disjoint trees EDT is at most the diameter plus 4."""
    if check.passes(checkers.spanning, forest):
        check.passes(checkers.height, forest, "<=", bound=diameter(check.n) + 4)


@checks("EDT.depth", given=edt_forests)
def optimal_depth(check: ClaimCheck, forest: Forest) -> None:
    """Check whether the trees EDT have the smallest depth that n-1 edge-disjoint trees can have.

    The depth is compared with a lower bound. In fact, there are edge-disjoint trees of smaller
    depth on S_4.
    """
    height = max(heights(forest))
    bound = least_depth(check)
    depth = _depth_of_lower_trees(check) if check.n == 4 else None
    if depth is None:
        check.at_least("depth of any such trees, by the nodes' levels", bound, height, of=forest)
    else:
        what = "depth of trees that are rotations of one another"
        place = {"subtree": 2, "dimensions_to_parents_by_rank": _LOWER_TREE, "of": forest}
        check.at_least(what, depth, height, **place)
    instead = check.correction()
    least = diameter(check.n) + 2
    instead.equal("least depth by the nodes' levels", bound, least)
    instead.equal("depth of the best trees", height if depth is None else depth, least)
    instead.equal("depth of EDT", height, least if check.n % 2 else least + 1)


def _depth_of_lower_trees(check: ClaimCheck) -> int | None:
    """Return the maximum depth of three trees on S_4 that are shallower than the trees EDT.

    The trees are `_LOWER_TREE` and its rotations. The result is None unless they are edge-disjoint
    spanning trees, and the root's only child in tree i is across its i-th port.
    """
    tree = np.array([int(port) for port in _LOWER_TREE], dtype=np.uint8)
    forest = Forest(check.topology, _with_rotations(check, tree))
    arguments = (check.topology, forest.parent_port, 0)
    expected = (check.nodes - 1) * np.eye(check.degree, dtype=int)
    is_valid = (
        checkers.spanning(*arguments).holds
        and np.array_equal(checkers.branch_sizes(*arguments), expected)
        and checkers.edge_disjoint(*arguments).holds
    )
    return max(heights(forest)) if is_valid else None


@checks("EDT.twice", given=edt_forests)
def links_are_in_one_tree(check: ClaimCheck, forest: Forest) -> None:
    """Check whether each directed link is in exactly one of the edge-disjoint trees EDT.

    In fact, links to the root are in no tree.
    """
    loads = checkers.loads(check.topology, forest.parent_port, forest.root)
    check.equal("trees that have the directed link", loads, 1, link=check.links, of=forest)
    instead = check.correction()
    stated = np.where(check.neighbours.T == 0, 0, 1)
    instead.equal("trees that have the directed link", loads, stated, link=check.links)
    instead.equal("directed links of EDT", loads.sum(), (check.n - 1) * (check.nodes - 1))


# Other roots, and the order of children


@checks("EDT.root", given=edt_forests)
def edt_at_other_roots(check: ClaimCheck, forest: Forest) -> None:
    """Check that the trees EDT at other roots are edge-disjoint spanning trees.

    These trees must be the images of EDT at the identity under translations.
    """
    for root in check.roots():
        translated = edt(check, root)
        if not check.passes(checkers.spanning, translated):
            return
        check.passes(checkers.edge_disjoint, translated)
        # EDT at another root is defined as the image of EDT under a translation: a node's image has
        # the image of the node's parent as its parent, across a link of the same dimension.
        image = stars.translation(check, root)
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
    """Check that the rotation R maps the depth-first traversals of the trees EDT to one another.

    For every h, R must map the h-th link in the traversal of a tree to the h-th link in the
    traversal of the next tree. Also check that the h-th links of all traversals have different
    dimensions.
    """
    if not check.passes(checkers.spanning, forest) or forest.trees != check.n - 1:
        return
    rotated = stars.rotation(check)
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
    """Return the nodes of a subtree except the root, in depth-first order.

    Children are visited in cyclic order of their dimensions, starting with ``subtree``.
    """
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
    """Check that translations never map links of different dimensions to the same link."""
    images = stars.translations(check)
    schedule = check.schedule("allgather", "edge-disjoint", messages=1, copies=check.n - 1)
    rng = np.random.default_rng(check.n)
    ports = np.arange(check.degree)
    # The lemma covers every set of links of different dimensions. Random sets are tried, and the
    # sets of links that the allgather uses in a step.
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
        # Compare the translated head with the neighbour of the translated tail in this dimension.
        changed = np.count_nonzero(check.neighbours[ports, tail] != head)
        check.equal("links of another dimension", changed, 0, **place)
