"""Checks of Li, Chen, Xiang & Yao 2007, sections 2 to 7: the (n,k)-star and its spanning trees.

The trees SP and MT are described in `common`.
"""

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import tree_levels
from starcast.claims.check import ClaimCheck
from starcast.claims.registry import Memory, all_pairs, checks, forests
from starcast.records import checkers
from starcast.topologies import permutations
from starcast.topologies.permutations import Ranks
from starcast.trees.model import Forest

from ..common import stars
from ..common.closed_forms import arrangements, nk_diameter
from . import common
from .common import MANY_TREES, ONE_TREE, heights

one_tree = forests(ONE_TREE)


def parents_and_levels(check: ClaimCheck, tree: Forest) -> tuple[Ranks, Ranks]:
    """Return each node's parent (-1 for the root) and level in a tree."""
    parents = check.parents(tree.parent_port[0])
    parents[tree.root] = -1
    return parents, tree_levels(parents, tree.root)


def leaves(parents: Ranks) -> NDArray[np.intp]:
    """Return the ranks of a tree's nodes without children, in ascending order."""
    inner = np.zeros(len(parents), dtype=bool)
    inner[parents[parents >= 0]] = True
    return np.flatnonzero(~inner)


@checks("NK.size")
def nk_star_size(check: ClaimCheck) -> None:
    """Check the degree, number of nodes and diameter of S_{n,k} against the stated formulas."""
    n, k = check.n_and_k
    check.equal("neighbours of each node", check.degrees, n - 1, node=check.ranks)
    for root in check.roots():
        distance = check.distances(root)
        reached = np.count_nonzero(distance >= 0)
        check.equal("nodes that are reached", reached, arrangements(n, k), source=root)
        check.equal("greatest distance", distance.max(), nk_diameter(n, k), source=root)


@checks("NK.E1")
def internal_cycles_take_formula_1(check: ClaimCheck) -> None:
    """Check that formula (1) counts the steps that bring an internal cycle's symbols into place."""
    distance = check.distances()
    n, k = check.n_and_k
    labels = stars.symbols(check)
    of_nodes = common.cycles(labels)
    in_place = np.arange(1, k + 1, dtype=np.uint8)
    node, first = np.nonzero(of_nodes.misplaced & (of_nodes.first == in_place - 1))
    on_cycle = of_nodes.first[node] == first[:, None]
    corrected = permutations.arrangement_rank(np.where(on_cycle, in_place, labels[node]), n)
    m = of_nodes.length[node, first]
    stated = np.where(first == 0, m - 1, m + 1)
    steps = distance[node] - distance[corrected]
    check.equal("steps", steps, stated, node=node, symbols=m)
    inside = np.flatnonzero(of_nodes.beta == 0)
    stated = of_nodes.internal_steps[inside]
    check.equal("steps of all internal cycles", distance[inside], stated, node=inside)


@checks("NK.E2")
def external_chains_take_formula_2(check: ClaimCheck) -> None:
    """Check that the distance of each node from the identity Id is the sum of formulas (1) and (2).

    Formula (1) counts the steps that internal cycles take, and formula (2) the steps that external
    chains take. For nodes without internal cycles of several symbols, formula (2) alone must be the
    distance.
    """
    distance = check.distances()
    of_nodes = common.cycles(stars.symbols(check))
    external = of_nodes.external_steps
    alone = np.flatnonzero((of_nodes.beta > 0) & ~of_nodes.misplaced.any(axis=1))
    check.equal("steps", distance[alone], external[alone], node=alone)
    stated = of_nodes.internal_steps + external
    check.equal("distance from Id", distance, stated, node=check.ranks)


@checks("NK.T1", given=forests(ONE_TREE, roots=None))
def tree_is_spanning_and_shortest(check: ClaimCheck, tree: Forest) -> None:
    """Check that SP is a spanning shortest-path tree whose height is the diameter."""
    root = tree.root
    check.passes(checkers.spanning, tree)
    parents, levels = parents_and_levels(check, tree)
    distance = check.distances(root)
    child = np.flatnonzero(distance > 0)
    stated = distance[child] - 1
    check.equal("distance of the parent", distance[parents[child]], stated, node=child, of=tree)
    height = nk_diameter(*check.n_and_k)
    check.equal("height", levels.max(), height, root=root, of=tree)


@checks("NK.C1.worded", given=one_tree, memory=Memory(40, power=0, of_pairs=all_pairs))
def near_levels_imply_adjacency(check: ClaimCheck, tree: Forest) -> None:
    """Check whether nodes are adjacent if their levels in a tree differ by at most 1.

    The tree is the shortest-path tree SP. In fact, only the converse is true: the levels of
    adjacent nodes differ by at most 1.
    """
    levels = parents_and_levels(check, tree)[1].astype(np.int64)
    adjacent = np.zeros((check.nodes, check.nodes), dtype=bool)
    adjacent[np.arange(check.nodes), check.neighbours] = True
    near = np.abs(levels[:, None] - levels) <= 1
    node, other = np.nonzero(np.triu(near, 1))
    what = "two nodes on the same level or on consecutive levels are adjacent"
    check.true(what, adjacent[node, other], node=node, other=other, of=tree)
    difference = np.abs(levels[check.neighbours] - levels).T
    check.correction().at_most("difference of the levels", difference, 1)


@checks("NK.C1.converse", given=forests(ONE_TREE, roots=3))
def adjacency_implies_near_levels(check: ClaimCheck, tree: Forest) -> None:
    """Check that the levels of adjacent nodes in the shortest-path tree SP differ by at most 1."""
    _, levels = parents_and_levels(check, tree)
    near = (np.abs(levels[check.neighbours] - levels) <= 1).T
    # Nodes outside a corrupted tree have the level -1. They are excluded, because -1 and the root's
    # level 0 differ by only 1.
    near &= (levels >= 0)[:, None]
    check.true("the levels are the same or consecutive", near, link=check.links, root=tree.root)


@checks("NK.C2.balance", given=one_tree)
def leaves_are_balanced(check: ClaimCheck, tree: Forest) -> None:
    """Check whether the levels of any two leaves of the shortest-path tree SP differ by at most 1.

    In fact, the largest level of a leaf is the diameter, and the smallest is k, or 3 for k = 2 and
    n >= 4.
    """
    n, k = check.n_and_k
    parents, levels = parents_and_levels(check, tree)
    leaf = leaves(parents)
    depth = levels[leaf].astype(np.int64)
    # To get the smallest counterexample, the other leaf is the first leaf whose level differs by
    # more than 1 or, if no leaf does, the first leaf whose level differs most.
    other = np.zeros(len(leaf), dtype=np.intp)
    for value in np.unique(depth):
        difference = np.abs(depth - value)
        is_far = difference > 1
        other[depth == value] = np.argmax(is_far if is_far.any() else difference)
    difference = np.abs(depth - depth[other])
    check.at_most("difference of the levels", difference, 1, node=leaf, other=leaf[other], of=tree)
    correction = check.correction()
    highest = 3 if k == 2 and n >= 4 else k
    correction.equal("level of the highest leaf", depth.min(), highest)
    correction.equal("level of the deepest leaf", depth.max(), nk_diameter(n, k))


@checks("NK.C2.s42", given=one_tree)
def leaves_of_s42_are_on_one_level(check: ClaimCheck, tree: Forest) -> None:
    """Check that in S_{4,2} all leaves of the shortest-path tree SP are on the same level."""
    parents, levels = parents_and_levels(check, tree)
    leaf = leaves(parents)
    check.equal("level", levels[leaf], levels[leaf[0]], node=leaf)


@checks("NK.C2.farthest")
def farthest_nodes_have_stated_forms(check: ClaimCheck) -> None:
    """Check whether each node farthest from the identity has a form that the paper's proof lists.

    In fact, some of these nodes have a form that the proof omits; see `_farthest_forms`.
    """
    distance = check.distances()
    n, k = check.n_and_k
    labels = stars.symbols(check)
    of_nodes = common.cycles(labels)
    computed = of_nodes.internal_steps + of_nodes.external_steps
    what = "distance by (1) and (2), as the proof has it"
    check.equal(what, computed, distance, node=check.ranks)
    is_farthest = distance == nk_diameter(n, k)
    farthest = np.flatnonzero(is_farthest)
    stated, more = _farthest_forms(n, k, labels[:, 0] == 1, of_nodes)
    check.true("it has one of the forms", stated[farthest], node=farthest)
    expected = (stated | more) & (distance > 0)
    check.correction().equal("distance D", is_farthest, expected, node=check.ranks)


def _farthest_forms(
    n: int, k: int, first: NDArray[np.bool_], of_nodes: common.Cycles
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which nodes have a form that the paper's proof lists, and which have an omitted form.

    The forms describe the cycles and chains of the nodes that are farthest from the identity Id.

    Args:
        n: number of symbols.
        k: number of symbols in a label.
        first: whether each node starts with symbol 1.
        of_nodes: cycles and chains of all nodes.

    Returns:
        two arrays, bool ``[nodes]``: one for the listed forms, and one for the omitted forms.
    """
    beta = of_nodes.beta
    none = np.zeros_like(first)
    if k <= n // 2:
        return (first & (beta == k - 1)) | (beta == k), none
    in_place = np.count_nonzero(of_nodes.length == 1, axis=1)
    #: For each node, whether position 1 is the only position with the same symbol as in Id.
    only_first = first & (in_place == 1)
    threes = of_nodes.count_internal(3)
    on_cycles = 2 * of_nodes.count_internal(2) + 3 * threes
    #: For each node, whether all positions are on chains or on internal cycles of two or three
    #: positions. If position 1 contains symbol 1, it is ignored.
    is_short = on_cycles + of_nodes.chained + first == k
    short_chains = (of_nodes.chained == beta) & is_short
    twos = short_chains & (beta == n - k) & (threes == 0)
    if n % 2:
        return twos & only_first, none
    with_three = short_chains & (beta == n - k) & (threes == 1)
    stated = (twos & (in_place == 0) & ~first) | (with_three & only_first)
    longer = (beta == n - k) & (of_nodes.chained == beta + 1) & is_short
    fewer = (beta == n - k - 1) & (beta > 0) & short_chains
    return stated, (longer | fewer) & (threes == 0) & only_first


@checks("NK.S51-EC", given=one_tree)
def shifted_dimensions_span(check: ClaimCheck, tree: Forest) -> None:
    """Check whether cyclic shifts of all n-1 dimensions map the tree SP to spanning trees.

    In fact, this is true only for k = 1 and k = n-1. For other k, cyclic shifts of the dimensions
    2..k map SP to spanning trees.
    """
    n, k = check.n_and_k
    what = "times that the node is reached"
    other = check.reading("the same with the brackets sorted at every node")
    for i in range(n - 1):
        dimension = common.shifted_places(n, n, i)
        check.equal(what, _count_reached(check, tree, dimension), 1, i=i, node=check.ranks)
        reached = _count_reached(check, tree, dimension, in_order=True)
        other.equal(what, reached, 1, i=i, node=check.ranks)
    correction = check.correction()
    last = n if k in (1, n - 1) else k
    for i in range(last - 1):
        if 1 < k < n - 1:
            images = common.shift_nodes(check, stars.symbols(check), last, i)
            reached = np.bincount(images, minlength=check.nodes)
            correction.equal(f"{what} as an image", reached, 1, i=i, node=check.ranks)
        reached = _count_reached(check, tree, common.shifted_places(n, last, i))
        correction.equal(what, reached, 1, i=i, node=check.ranks)


def _count_reached(
    check: ClaimCheck, tree: Forest, dimension: NDArray[np.int64], *, in_order: bool = False
) -> NDArray[np.int64]:
    """Return how often each node is reached if the dimensions on the paths of a tree are replaced.

    The array ``dimension`` maps each dimension to its replacement. With ``in_order``, the symbols
    that a label lacks are kept in ascending order at every node.
    """
    n, k = check.n_and_k
    parents, levels = parents_and_levels(check, tree)
    label_symbols = stars.symbols(check)
    label = np.tile(np.arange(1, n + 1, dtype=np.uint8), (check.nodes, 1))
    image = label.copy()
    for level in range(1, int(levels.max()) + 1):
        node = np.flatnonzero(levels == level)
        parent = parents[node]
        # The link swaps the parent's first symbol with the symbol that is first in the child.
        place = np.argmax(label[parent] == label_symbols[node, :1], axis=1)
        label[node] = _exchange(label[parent], place, k, in_order=in_order)
        image[node] = _exchange(image[parent], dimension[place + 1] - 1, k, in_order=in_order)
    ranks = permutations.arrangement_rank(image[levels >= 0, :k], n)
    return np.bincount(ranks, minlength=check.nodes)


def _exchange(
    labels: NDArray[np.uint8], place: NDArray[np.intp], k: int, *, in_order: bool
) -> NDArray[np.uint8]:
    """Return labels in which the first symbol and the symbol at a position (from 0) are swapped.

    With ``in_order``, the missing symbols, in positions k+1..n, are then sorted.
    """
    exchanged = labels.copy()
    row = np.arange(len(labels))
    exchanged[row, 0] = labels[row, place]
    exchanged[row, place] = labels[row, 0]
    if in_order:
        # Positions k+1..n contain the missing symbols, whose order has no meaning.
        exchanged[:, k:] = np.sort(exchanged[:, k:], axis=1)
    return exchanged


@checks("NK.T4.links")
def number_of_links(check: ClaimCheck) -> None:
    """Check whether S_{n,k} with N nodes has (n-1)(N-1) links, as stated.

    In fact, S_{n,k} has N(n-1) directed links, and half as many undirected links.
    """
    n, k = check.n_and_k
    nodes = arrangements(n, k)
    heads = check.neighbours.astype(np.int64)
    tails = np.arange(check.nodes) * np.ones_like(heads)
    directed = len(np.unique(tails * check.nodes + heads))
    lower = np.minimum(tails, heads)
    undirected = len(np.unique(lower * check.nodes + np.maximum(tails, heads)))
    check.equal("directed links", directed, (n - 1) * (nodes - 1))
    check.reading("undirected links").equal("links", undirected, (n - 1) * (nodes - 1))
    correction = check.correction()
    correction.equal("directed links", directed, nodes * (n - 1))
    correction.equal("undirected links, twice", 2 * undirected, nodes * (n - 1))


# Sections 6 and 7: the trees SP(R_i(Id)) and MT(R_i(Id)), i = 1..n-1


many_trees = forests(MANY_TREES)


def shifted_trees(check: ClaimCheck) -> list[Forest]:
    """Return the shortest-path trees SP with the shifted roots R_1(Id), .., R_{n-1}(Id)."""
    roots = common.shifted_roots(check)
    return [check.forest(ONE_TREE, root=root) for root in roots]


def path_lengths(check: ClaimCheck) -> NDArray[np.int64]:
    """Return the level of the identity Id in the tree SP with root R_i(Id), for i = 1..n-1."""
    levels = [parents_and_levels(check, tree)[1] for tree in shifted_trees(check)]
    return np.array([int(level[0]) for level in levels])


@checks("NK.T6")
def congestion_of_shifted_trees(check: ClaimCheck) -> None:
    """Check whether the congestion of the trees SP(R_i(Id)) is ceil(n/k) - 1, as stated.

    These are shortest-path trees with shifted roots. The congestion is the largest number of trees
    that use the same directed link. In fact, it is 1 for k = 1, else max{2, min{k-1, n-k}}.
    """
    n, k = check.n_and_k
    loads = np.zeros((check.nodes, check.degree), dtype=np.int64)
    for tree in shifted_trees(check):
        loads += checkers.loads(check.topology, tree.parent_port, tree.root)
    congestion = loads.max()
    # ceil(n/k) - 1, computed from its definition.
    stated = next(i for i in range(n) if i * k < n <= (i + 1) * k)
    check.equal("congestion", congestion, stated)
    check.correction().equal("congestion", congestion, 1 if k == 1 else max(2, min(k - 1, n - k)))


@checks("NK.T6-Rn")
def full_shift(check: ClaimCheck) -> None:
    """Check whether R_n(Id), the label 12..n rotated right by n positions, is 23..n1, as stated.

    In fact, R_n(Id) is 12..n, and the stated label is R_{n-1}(Id).
    """
    n = check.n
    labels = permutations.labels(common.right_shifts(check))
    stated = permutations.SYMBOLS[1:n] + permutations.SYMBOLS[0]
    check.equal("R_n(Id)", labels[n - 1], stated, i=n)
    correction = check.correction()
    correction.equal("R_n(Id)", labels[n - 1], permutations.SYMBOLS[:n])
    correction.equal("R_{n-1}(Id)", labels[n - 2], stated)


@checks("NK.T7.spanning", given=many_trees)
def reversed_trees_span(check: ClaimCheck, forest: Forest) -> None:
    """Check that the trees MT are spanning trees, and check their undirected links.

    Let SP(R_i(Id)) be the shortest-path tree with the shifted root R_i(Id), for i = 1..n-1.
    Reversing the path from Id to this root gives the tree MT(R_i(Id)), whose root is Id. Both trees
    must have the same undirected links.
    """
    check.passes(checkers.spanning, forest)
    trees = zip(forest.parent_port, shifted_trees(check), strict=True)
    for i, (row, tree) in enumerate(trees, start=1):
        links = _undirected_links(check, row, 0)
        stated = _undirected_links(check, tree.parent_port[0], tree.root)
        check.equal("links", links, stated, i=i, of=forest)


def _undirected_links(check: ClaimCheck, row: NDArray[np.uint8], root: int) -> NDArray[np.int64]:
    """Return sorted numbers that identify the undirected links of a tree, int64 ``[nodes]``.

    Each node contributes the number of the link to its parent, and the root contributes -1.
    """
    parents = check.parents(row).astype(np.int64)
    parents[root] = -1
    node = np.arange(len(parents))
    # The smaller end comes first, so that both directions of a link have one number.
    links = np.minimum(node, parents) * len(node) + np.maximum(node, parents)
    return np.sort(np.where(parents < 0, -1, links))


@checks("NK.T7.path")
def paths_have_k_to_diameter_links(check: ClaimCheck) -> None:
    """Check the lengths of the paths from the shifted roots R_i(Id) to Id, for i = 1..n-1.

    Each path is in the shortest-path tree SP(R_i(Id)). Its length must be at least k and at most
    the diameter.
    """
    n, k = check.n_and_k
    lengths = path_lengths(check)
    check.at_least("links of the path", lengths, k, i=np.arange(1, n))
    check.at_most("links of the path", lengths, nk_diameter(n, k), i=np.arange(1, n))


@checks("NK.T7.sum", given=many_trees)
def height_is_diameter_plus_path(check: ClaimCheck, forest: Forest) -> None:
    """Check whether the height of each tree MT(R_i(Id)) is the diameter plus a path length.

    The path leads from R_i(Id) to Id in the shortest-path tree SP(R_i(Id)), for i = 1..n-1. In
    fact, the last tree is one level lower if n = 2k-1.
    """
    n, k = check.n_and_k
    i = np.arange(1, n)
    height = heights(check, MANY_TREES)
    path = path_lengths(check)
    stated = nk_diameter(n, k) + path
    check.equal("height", height, stated, i=i, of=forest)
    correction = check.correction()
    correction.equal("height", height, stated - ((n == 2 * k - 1) & (i == n - 1)), i=i)
    least = np.minimum(np.minimum(i, n - i), min(k, n - k))
    expected = k - 1 + least + np.maximum(0, np.gcd(i, n) - (n - k))
    correction.equal("links of the path", path, expected, i=i)


@checks("NK.T7.lower", given=many_trees)
def height_is_at_least_k_plus_diameter(check: ClaimCheck, forest: Forest) -> None:
    """Check whether the heights of the n-1 spanning trees MT are at least k plus the diameter.

    In fact, the last tree is one level lower than this bound if n = 2k-1.
    """
    n, k = check.n_and_k
    i = np.arange(1, n)
    height = heights(check, MANY_TREES)
    stated = k + nk_diameter(n, k)
    check.at_least("height", height, stated, i=i, of=forest)
    correction = check.correction()
    correction.at_least("height", height, stated - (n == 2 * k - 1), i=i)
    # For other n, the empty array records a finding without values, so that all sizes have the same
    # findings.
    last = height[-1:] if n == 2 * k - 1 else height[:0]
    correction.equal("height of the last tree", last, stated - 1)


@checks("NK.T7.upper")
def height_is_at_most_twice_diameter(check: ClaimCheck) -> None:
    """Check that the trees MT are spanning trees whose height is at most twice the diameter."""
    n, k = check.n_and_k
    height = heights(check, MANY_TREES)
    check.true("it is a spanning tree", height >= 0, i=np.arange(1, n))
    check.at_most("height", height, 2 * nk_diameter(n, k), i=np.arange(1, n))
