"""Li, Chen, Xiang & Yao, sections 6 and 7: the trees SP(R_i(Id)), their congestion, and the trees MT that they become."""

import numpy as np
from numpy.typing import NDArray

from starcast import checkers, permutations
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import nk_diameter
from starcast.claims.reference import bfs
from starcast.claims.reference.nk_labels import right_shifts, shifted_roots, size
from starcast.claims.reference.nk_pipelines import MANY_TREES, heights
from starcast.claims.registry import check
from starcast.permutations import Ranks


def _parents(check: ClaimCheck, row: NDArray[np.uint8], root: int) -> Ranks:
    parents = bfs.parents(check.objects, check.topology, row)
    parents[root] = -1
    return parents


def _path_lengths(check: ClaimCheck) -> NDArray[np.int64]:
    """For i = 1..n-1, how many links lead from R_i(Id) to Id in SP(R_i(Id)): the level of Id."""
    found = []
    for root in shifted_roots(check.objects, check.topology):
        row = check.objects.forest(check.topology.spec, "nk-greedy", root=root).parent_port[0]
        found.append(int(bfs.levels(bfs.parents(check.objects, check.topology, row), root)[0]))
    return np.array(found)


def _shifts(n: int) -> NDArray[np.int64]:
    return np.arange(1, n)


@check("NK.T6")
def _congestion(check: ClaimCheck) -> None:
    n, k, topology = check.topology.n, size(check.topology), check.topology
    load = np.zeros((topology.nodes, topology.degree), dtype=np.int64)
    for root in shifted_roots(check.objects, topology):
        load += checkers.loads(
            topology, check.objects.forest(topology.spec, "nk-greedy", root=root).parent_port, root
        )
    check.equal("congestion", load.max(), next(i for i in range(n) if i * k < n <= (i + 1) * k))
    true = check.correction("the congestion is 1 for k = 1, and max{2, min{k-1, n-k}} for k >= 2")
    true.equal("congestion", load.max(), 1 if k == 1 else max(2, min(k - 1, n - k)))


@check("NK.T6-Rn")
def _full_shift(check: ClaimCheck) -> None:
    n = check.topology.n
    found = permutations.labels(right_shifts(check.objects, check.topology))
    stated = "".join(permutations.SYMBOLS[s - 1] for s in (*range(2, n + 1), 1))
    check.equal("R_n(Id)", found[n - 1], stated, i=n)
    true = check.correction("R_n(Id) = Id, and 23..n1 is R_{n-1}(Id)")
    true.equal("R_n(Id)", found[n - 1], permutations.SYMBOLS[:n])
    true.equal("R_{n-1}(Id)", found[n - 2], stated)


@check("NK.T7.spanning")
def _spanning(check: ClaimCheck) -> None:
    topology = check.topology
    trees = check.objects.forest(topology.spec, "nk-multiple")
    check.passes(checkers.spanning(topology, trees.parent_port, 0), of=trees)
    for i, (row, root) in enumerate(
        zip(trees.parent_port, shifted_roots(check.objects, topology), strict=True), 1
    ):
        hub = check.objects.forest(topology.spec, "nk-greedy", root=root).parent_port[0]
        check.equal("links", _links(check, row, 0), _links(check, hub, root), i=i, of=trees)


def _links(check: ClaimCheck, row: NDArray[np.uint8], root: int) -> NDArray[np.int64]:
    """The links of a tree as numbers, in order."""
    parents = _parents(check, row, root).astype(np.int64)
    node = np.arange(len(parents))
    return np.sort(
        np.where(parents < 0, -1, np.minimum(node, parents) * len(node) + np.maximum(node, parents))
    )


@check("NK.T7.path")
def _paths(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    found = _path_lengths(check)
    check.at_least("links of the path", found, k, i=_shifts(n))
    check.at_most("links of the path", found, nk_diameter(n, k), i=_shifts(n))


@check("NK.T7.sum")
def _height_is_sum(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    found, path, i = heights(check, MANY_TREES), _path_lengths(check), _shifts(n)
    check.equal(
        "height",
        found,
        nk_diameter(n, k) + path,
        i=i,
        of=check.objects.forest(check.topology.spec, "nk-multiple"),
    )
    true = check.correction(
        "that is the height but for n = 2k-1 and i = n-1, where it is one less; the path has "
        "k-1 + min{i, n-i, k, n-k} + max{0, gcd(i,n) - (n-k)} links"
    )
    true.equal("height", found, nk_diameter(n, k) + path - ((n == 2 * k - 1) & (i == n - 1)), i=i)
    least = np.minimum(np.minimum(i, n - i), min(k, n - k))
    true.equal(
        "links of the path", path, k - 1 + least + np.maximum(0, np.gcd(i, n) - (n - k)), i=i
    )


@check("NK.T7.lower")
def _height_at_least(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    found, i = heights(check, MANY_TREES), _shifts(n)
    check.at_least(
        "height",
        found,
        k + nk_diameter(n, k),
        i=i,
        of=check.objects.forest(check.topology.spec, "nk-multiple"),
    )
    true = check.correction(
        "it is at least k + D but for n = 2k-1 and i = n-1, where it is k + D - 1"
    )
    true.at_least("height", found, k + nk_diameter(n, k) - (n == 2 * k - 1), i=i)
    last = found[-1:] if n == 2 * k - 1 else found[:0]
    true.equal("height of the last tree", last, k + nk_diameter(n, k) - 1)


@check("NK.T7.upper")
def _height_at_most(check: ClaimCheck) -> None:
    n, k = check.topology.n, size(check.topology)
    found = heights(check, MANY_TREES)
    check.true("it is a spanning tree", found >= 0, i=_shifts(n))
    check.at_most("height", found, 2 * nk_diameter(n, k), i=_shifts(n))
