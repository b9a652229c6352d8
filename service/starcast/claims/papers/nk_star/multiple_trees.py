"""Li, Chen, Xiang & Yao, sections 6 and 7: the trees SP(R_i(Id)) and MT(R_i(Id)), i = 1..n-1."""

import numpy as np
from numpy.typing import NDArray

from starcast import checkers, permutations
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import nk_diameter
from starcast.claims.providers import forests
from starcast.claims.reference import bfs
from starcast.claims.reference.nk_labels import right_shifts, shifted_roots
from starcast.claims.reference.nk_pipelines import MANY_TREES, ONE_TREE, heights
from starcast.claims.registry import check
from starcast.trees.model import Forest

many_trees = forests(MANY_TREES)


def shifted_trees(check: ClaimCheck) -> list[Forest]:
    """Return SP(R_1(Id)), .., SP(R_{n-1}(Id))."""
    roots = shifted_roots(check)
    return [check.forest(ONE_TREE, root=root) for root in roots]


def path_lengths(check: ClaimCheck) -> NDArray[np.int64]:
    """Return the number of links from R_i(Id) to Id in SP(R_i(Id)): the level of Id."""
    lengths = []
    for tree in shifted_trees(check):
        parents = bfs.parents(check, tree.parent_port[0])
        lengths.append(int(bfs.levels(parents, tree.root)[0]))
    return np.array(lengths)


def shifts(n: int) -> NDArray[np.int64]:
    """Return i = 1..n-1."""
    return np.arange(1, n)


@check("NK.T6")
def congestion_of_shifted_trees(check: ClaimCheck) -> None:
    """Compare the greatest load of a link with ceil(n/k) - 1."""
    n, k = check.n_and_k
    loads = np.zeros((check.nodes, check.degree), dtype=np.int64)
    for tree in shifted_trees(check):
        loads += checkers.loads(check.topology, tree.parent_port, tree.root)
    congestion = loads.max()
    stated = next(i for i in range(n) if i * k < n <= (i + 1) * k)
    check.equal("congestion", congestion, stated)
    correction = check.correction(
        "the congestion is 1 for k = 1, and max{2, min{k-1, n-k}} for k >= 2"
    )
    correction.equal("congestion", congestion, 1 if k == 1 else max(2, min(k - 1, n - k)))


@check("NK.T6-Rn")
def full_shift(check: ClaimCheck) -> None:
    """Compare R_n(Id) with 23..n1."""
    n = check.n
    labels = permutations.labels(right_shifts(check))
    stated = permutations.SYMBOLS[1:n] + permutations.SYMBOLS[0]
    check.equal("R_n(Id)", labels[n - 1], stated, i=n)
    correction = check.correction("R_n(Id) = Id, and 23..n1 is R_{n-1}(Id)")
    correction.equal("R_n(Id)", labels[n - 1], permutations.SYMBOLS[:n])
    correction.equal("R_{n-1}(Id)", labels[n - 2], stated)


@check("NK.T7.spanning", given=many_trees)
def reversed_trees_span(check: ClaimCheck, forest: Forest) -> None:
    """Check that MT(R_i(Id)) spans and has the links of SP(R_i(Id)), directions aside."""
    check.passes(checkers.spanning(check.topology, forest.parent_port, 0), of=forest)
    trees = zip(forest.parent_port, shifted_trees(check), strict=True)
    for i, (row, tree) in enumerate(trees, start=1):
        links = _undirected_links(check, row, 0)
        stated = _undirected_links(check, tree.parent_port[0], tree.root)
        check.equal("links", links, stated, i=i, of=forest)


def _undirected_links(check: ClaimCheck, row: NDArray[np.uint8], root: int) -> NDArray[np.int64]:
    """Return the links of a tree as sorted numbers; -1 for the root, which has no parent."""
    parents = bfs.parents(check, row).astype(np.int64)
    parents[root] = -1
    node = np.arange(len(parents))
    links = np.minimum(node, parents) * len(node) + np.maximum(node, parents)
    return np.sort(np.where(parents < 0, -1, links))


@check("NK.T7.path")
def paths_have_k_to_diameter_links(check: ClaimCheck) -> None:
    """Check that the paths from R_i(Id) to Id have at least k and at most D links."""
    n, k = check.n_and_k
    lengths = path_lengths(check)
    check.at_least("links of the path", lengths, k, i=shifts(n))
    check.at_most("links of the path", lengths, nk_diameter(n, k), i=shifts(n))


@check("NK.T7.sum", given=many_trees)
def height_is_diameter_plus_path(check: ClaimCheck, forest: Forest) -> None:
    """Compare the heights of the trees MT with D plus the length of the path."""
    n, k = check.n_and_k
    i = shifts(n)
    height = heights(check, MANY_TREES)
    path = path_lengths(check)
    stated = nk_diameter(n, k) + path
    check.equal("height", height, stated, i=i, of=forest)
    correction = check.correction(
        "that is the height but for n = 2k-1 and i = n-1, where it is one less; the path has "
        "k-1 + min{i, n-i, k, n-k} + max{0, gcd(i,n) - (n-k)} links"
    )
    correction.equal("height", height, stated - ((n == 2 * k - 1) & (i == n - 1)), i=i)
    least = np.minimum(np.minimum(i, n - i), min(k, n - k))
    expected = k - 1 + least + np.maximum(0, np.gcd(i, n) - (n - k))
    correction.equal("links of the path", path, expected, i=i)


@check("NK.T7.lower", given=many_trees)
def height_is_at_least_k_plus_diameter(check: ClaimCheck, forest: Forest) -> None:
    """Compare the heights of the trees MT with k + D."""
    n, k = check.n_and_k
    i = shifts(n)
    height = heights(check, MANY_TREES)
    stated = k + nk_diameter(n, k)
    check.at_least("height", height, stated, i=i, of=forest)
    correction = check.correction(
        "it is at least k + D but for n = 2k-1 and i = n-1, where it is k + D - 1"
    )
    correction.at_least("height", height, stated - (n == 2 * k - 1), i=i)
    last = height[-1:] if n == 2 * k - 1 else height[:0]
    correction.equal("height of the last tree", last, stated - 1)


@check("NK.T7.upper")
def height_is_at_most_twice_diameter(check: ClaimCheck) -> None:
    """Check that the trees MT span and that their heights are at most 2D."""
    n, k = check.n_and_k
    height = heights(check, MANY_TREES)
    check.true("it is a spanning tree", height >= 0, i=shifts(n))
    check.at_most("height", height, 2 * nk_diameter(n, k), i=shifts(n))
