"""Li, Chen, Xiang & Yao, sections 6 and 7: the trees SP(R_i(Id)), their congestion, and the trees MT that they become."""

import numpy as np
from numpy.typing import NDArray

from starcast import checkers, permutations
from starcast.claims.declaration import Family, nk_stars
from starcast.claims.formulas import nk_diameter
from starcast.claims.instruments import searching
from starcast.claims.instruments.nk_labels import right_shifts, shifted_roots, size
from starcast.claims.instruments.nk_runs import MANY_TREES, heights
from starcast.claims.see import See
from starcast.permutations import Ranks

FAMILY = Family("nk_star_many_trees")
claim = FAMILY.claim


def _parents(see: See, row: NDArray[np.uint8], root: int) -> Ranks:
    parents = searching.parents(see.lab, see.where, row)
    parents[root] = -1
    return parents


def _path_lengths(see: See) -> NDArray[np.int64]:
    """For i = 1..n-1, how many links lead from R_i(Id) to Id in SP(R_i(Id)): the level of Id."""
    found = []
    for root in shifted_roots(see.lab, see.where):
        row = see.lab.forest(see.where.spec, "nk-greedy", root=root).parent_port[0]
        found.append(int(searching.levels(searching.parents(see.lab, see.where, row), root)[0]))
    return np.array(found)


def _shifts(n: int) -> NDArray[np.int64]:
    return np.arange(1, n)


@claim(
    "NK.T6",
    "Theorem 6",
    nk_stars(6, 8, 9),
    "The greatest load of a directed link, from parent to child, of the n-1 trees `nk-greedy` with the roots R_1(Id), .., "
    "R_{n-1}(Id) together is i for n in (ik, (i+1)k], so ceil(n/k) - 1.",
    reading="R_1 to R_{n-1}, as in Definition 5: R_n(Id) is Id itself, and the statement counts n-1 trees",
)
def _congestion(see: See) -> None:
    n, k, where = see.where.n, size(see.where), see.where
    load = np.zeros((where.nodes, where.degree), dtype=np.int64)
    for root in shifted_roots(see.lab, where):
        load += checkers.loads(
            where, see.lab.forest(where.spec, "nk-greedy", root=root).parent_port, root
        )
    see.equal("congestion", load.max(), next(i for i in range(n) if i * k < n <= (i + 1) * k))
    true = see.instead("the congestion is 1 for k = 1, and max{2, min{k-1, n-k}} for k >= 2")
    true.equal("congestion", load.max(), 1 if k == 1 else max(2, min(k - 1, n - k)))


@claim(
    "NK.T6-Rn",
    "Theorem 6, proof",
    nk_stars(6, 8, 9),
    "The label 12..n, shifted cyclically to the right by n positions, is R_n(Id) = 23..n1.",
)
def _full_shift(see: See) -> None:
    n = see.where.n
    found = permutations.labels(right_shifts(see.lab, see.where))
    stated = "".join(permutations.SYMBOLS[s - 1] for s in (*range(2, n + 1), 1))
    see.equal("R_n(Id)", found[n - 1], stated, i=n)
    true = see.instead("R_n(Id) = Id, and 23..n1 is R_{n-1}(Id)")
    true.equal("R_n(Id)", found[n - 1], permutations.SYMBOLS[:n])
    true.equal("R_{n-1}(Id)", found[n - 2], stated)


@claim(
    "NK.T7.spanning",
    "Theorem 7, spanning trees",
    nk_stars(6, 8, 9),
    "Every tree of `nk-multiple` at Id is a spanning tree rooted at Id, and has the links of `nk-greedy` at R_i(Id), "
    "directions aside.",
)
def _spanning(see: See) -> None:
    where = see.where
    trees = see.lab.forest(where.spec, "nk-multiple")
    see.checked(checkers.spanning(where, trees.parent_port, 0), of=trees)
    for i, (row, root) in enumerate(
        zip(trees.parent_port, shifted_roots(see.lab, where), strict=True), 1
    ):
        hub = see.lab.forest(where.spec, "nk-greedy", root=root).parent_port[0]
        see.equal("links", _links(see, row, 0), _links(see, hub, root), i=i, of=trees)


def _links(see: See, row: NDArray[np.uint8], root: int) -> NDArray[np.int64]:
    """The links of a tree as numbers, in order."""
    parents = _parents(see, row, root).astype(np.int64)
    node = np.arange(len(parents))
    return np.sort(
        np.where(parents < 0, -1, np.minimum(node, parents) * len(node) + np.maximum(node, parents))
    )


@claim(
    "NK.T7.path",
    "Theorem 7, paths",
    nk_stars(6, 8, 9),
    "The path from R_i(Id) to Id in `nk-greedy` at R_i(Id) has at least k and at most D links, i = 1..n-1.",
)
def _paths(see: See) -> None:
    n, k = see.where.n, size(see.where)
    found = _path_lengths(see)
    see.at_least("links of the path", found, k, i=_shifts(n))
    see.at_most("links of the path", found, nk_diameter(n, k), i=_shifts(n))


@claim(
    "NK.T7.sum",
    "Theorem 7, proof",
    nk_stars(6, 8, 9),
    "The height of tree i-1 of `nk-multiple` is D plus the number of links of the path from R_i(Id) to Id, i = 1..n-1.",
)
def _height_is_sum(see: See) -> None:
    n, k = see.where.n, size(see.where)
    found, path, i = heights(see, MANY_TREES), _path_lengths(see), _shifts(n)
    see.equal(
        "height",
        found,
        nk_diameter(n, k) + path,
        i=i,
        of=see.lab.forest(see.where.spec, "nk-multiple"),
    )
    true = see.instead(
        "that is the height but for n = 2k-1 and i = n-1, where it is one less; the path has "
        "k-1 + min{i, n-i, k, n-k} + max{0, gcd(i,n) - (n-k)} links"
    )
    true.equal("height", found, nk_diameter(n, k) + path - ((n == 2 * k - 1) & (i == n - 1)), i=i)
    least = np.minimum(np.minimum(i, n - i), min(k, n - k))
    true.equal(
        "links of the path", path, k - 1 + least + np.maximum(0, np.gcd(i, n) - (n - k)), i=i
    )


@claim(
    "NK.T7.lower",
    "Theorem 7, least height",
    nk_stars(6, 8, 9),
    "The height of tree i-1 of `nk-multiple` is at least k + D, i = 1..n-1.",
)
def _height_at_least(see: See) -> None:
    n, k = see.where.n, size(see.where)
    found, i = heights(see, MANY_TREES), _shifts(n)
    see.at_least(
        "height",
        found,
        k + nk_diameter(n, k),
        i=i,
        of=see.lab.forest(see.where.spec, "nk-multiple"),
    )
    true = see.instead("it is at least k + D but for n = 2k-1 and i = n-1, where it is k + D - 1")
    true.at_least("height", found, k + nk_diameter(n, k) - (n == 2 * k - 1), i=i)
    last = found[-1:] if n == 2 * k - 1 else found[:0]
    true.equal("height of the last tree", last, k + nk_diameter(n, k) - 1)


@claim(
    "NK.T7.upper",
    "Theorem 7, greatest height",
    nk_stars(6, 8, 9),
    "The height of tree i-1 of `nk-multiple` is at most 2D, i = 1..n-1.",
)
def _height_at_most(see: See) -> None:
    n, k = see.where.n, size(see.where)
    found = heights(see, MANY_TREES)
    see.true("it is a spanning tree", found >= 0, i=_shifts(n))
    see.at_most("height", found, 2 * nk_diameter(n, k), i=_shifts(n))
