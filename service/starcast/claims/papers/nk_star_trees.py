"""Li, Chen, Xiang & Yao, sections 2 and 3: the (n,k)-star, distances by cycles, the tree SP and its leaves."""

import numpy as np
from numpy.typing import NDArray

from starcast import checkers, permutations
from starcast.claims.declaration import Family, nk_stars, only
from starcast.claims.formulas import arrangements, nk_diameter
from starcast.claims.instruments import searching
from starcast.claims.instruments.naming import labelled, leaving
from starcast.claims.instruments.nk_labels import cycles, size, symbols, turned
from starcast.claims.see import See
from starcast.permutations import Ranks
from starcast.topologies import Topology

FAMILY = Family("nk_star_trees")
claim = FAMILY.claim


def tree(see: See, root: int = 0) -> tuple[Ranks, Ranks]:
    """The parents and levels of SP(root)."""
    where = see.where
    parents = searching.parents(
        see.lab, where, see.lab.forest(where.spec, "nk-greedy", root=root).parent_port[0]
    )
    parents[root] = -1
    return parents, searching.levels(parents, root)


def leaves(parents: Ranks) -> NDArray[np.intp]:
    """The nodes that are nobody's parent, in rank order."""
    inner = np.zeros(len(parents), dtype=bool)
    inner[parents[parents >= 0]] = True
    return np.flatnonzero(~inner)


def _each_pair(where: Topology) -> int:
    """Bytes a node of what is kept of all pairs of nodes."""
    return 40 * where.nodes


@claim(
    "NK.size",
    "Section 2",
    nk_stars(6, 8, 9),
    "S_{n,k} has N = n!/(n-k)! nodes, n-1 neighbours each, and the diameter D: 2k-1 for k <= floor(n/2), k + floor((n-1)/2) "
    "above.",
)
def _size(see: See) -> None:
    n, k, where = see.where.n, size(see.where), see.where
    ordered = np.sort(see.lab.neighbours(where.spec), axis=0)
    distinct = np.count_nonzero(np.diff(ordered, axis=0, prepend=-1) != 0, axis=0)
    see.equal("neighbours of each node", distinct, n - 1, node=where.label)
    for root in searching.roots(where):
        label = where.label(root)
        far = searching.distances(see.lab, where.spec, root)
        see.equal(
            "nodes that are reached", np.count_nonzero(far >= 0), arrangements(n, k), source=label
        )
        see.equal("greatest distance", far.max(), nk_diameter(n, k), source=label)


@claim(
    "NK.E1",
    "(1)",
    nk_stars(6, 7, 8),
    "A node with an internal cycle of m positions is m-1 steps farther from Id than the node in which these positions are as "
    "in Id, if the cycle contains position 1, and m+1 if not. For every node and each of its internal cycles.",
)
def _internal_cycles(see: See) -> None:
    where, rows = see.where, symbols(see.lab, see.where)
    far, of = searching.distances(see.lab, where.spec), cycles(rows)
    home = np.arange(1, size(where) + 1, dtype=np.uint8)
    node, first = np.nonzero(of.moved & (of.first == home - 1))
    corrected = permutations.arrangement_rank(
        np.where(of.first[node] == first[:, None], home, rows[node]), where.n
    )
    m = of.length[node, first]
    stated = np.where(first == 0, m - 1, m + 1)
    see.equal("steps", far[node] - far[corrected], stated, node=where.labels(node), symbols=m)
    inside = np.flatnonzero(of.beta == 0)
    see.equal(
        "steps of all internal cycles",
        far[inside],
        of.internal_steps[inside],
        node=where.labels(inside),
    )


@claim(
    "NK.E2",
    "(2)",
    nk_stars(6, 7, 8),
    "The external chains of a node without internal cycles, beta >= 1 of them with M' positions in all, put it M'+beta-1 "
    "steps from Id if one of them contains position 1, M'+beta+1 if not. Of every node, that and (1) for each internal cycle "
    "add up to the distance from Id.",
)
def _external_cycles(see: See) -> None:
    where, of = see.where, cycles(symbols(see.lab, see.where))
    far = searching.distances(see.lab, where.spec)
    alone = np.flatnonzero((of.beta > 0) & ~of.moved.any(axis=1))
    see.equal("steps", far[alone], of.external_steps[alone], node=where.labels(alone))
    see.equal("distance from Id", far, of.internal_steps + of.external_steps, node=where.label)


@claim(
    "NK.T1",
    "Theorem 1",
    nk_stars(6, 7, 8),
    "`nk-greedy` is a spanning tree in which every parent is one step closer to the root than its child; its height is D.",
)
def _greedy(see: See) -> None:
    where, stated = see.where, nk_diameter(see.where.n, size(see.where))
    for root in searching.roots(where):
        trees = see.lab.forest(where.spec, "nk-greedy", root=root)
        see.checked(checkers.spanning(where, trees.parent_port, root), of=trees)
        parents, levels = tree(see, root)
        far = searching.distances(see.lab, where.spec, root)
        child = np.flatnonzero(far > 0)
        see.equal(
            "distance of the parent",
            far[parents[child]],
            far[child] - 1,
            node=where.labels(child),
            of=trees,
        )
        see.equal("height", levels.max(), stated, root=where.label(root), of=trees)


@claim(
    "NK.C1.worded",
    "Corollary 1, as worded",
    nk_stars(6, 6, 6),
    "Two nodes are adjacent if their levels in `nk-greedy` differ by at most 1. Pairs (node, other) in rank order.",
    reading="as worded, 'if'; the proof shows the converse",
    weight=_each_pair,
)
def _adjacent_if(see: See) -> None:
    where, levels = see.where, tree(see)[1].astype(np.int64)
    across = see.lab.neighbours(where.spec)
    adjacent = np.zeros((where.nodes, where.nodes), dtype=bool)
    adjacent[np.arange(where.nodes), across] = True
    node, other = np.nonzero(np.triu(np.abs(levels[:, None] - levels) <= 1, 1))
    see.true(
        "two nodes on the same level or on consecutive levels are adjacent",
        adjacent[node, other],
        of=see.lab.forest(where.spec, "nk-greedy"),
        node=labelled(where, node),
        other=labelled(where, other),
    )
    true = see.instead("adjacent nodes are on the same level or on consecutive levels")
    true.at_most("difference of the levels", np.abs(levels[across] - levels).T, 1)


@claim(
    "NK.C1.converse",
    "Corollary 1, the converse",
    nk_stars(6, 8, 9),
    "The levels of adjacent nodes in `nk-greedy` differ by at most 1.",
)
def _same_or_next_level(see: See) -> None:
    where = see.where
    across = see.lab.neighbours(where.spec)
    for root in searching.roots(where, 3):
        levels = tree(see, root)[1]
        see.true(
            "the levels are the same or consecutive",
            (np.abs(levels[across] - levels) <= 1).T & (levels >= 0)[:, None],
            link=leaving(see.lab, where),
            root=where.label(root),
        )


@claim(
    "NK.C2.balance",
    "Corollary 2",
    nk_stars(6, 7, 8),
    "The levels of any two leaves of `nk-greedy` differ by at most 1. Pairs (node, other) of leaves in rank order.",
)
def _balance(see: See) -> None:
    n, k, where = see.where.n, size(see.where), see.where
    parents, levels = tree(see)
    leaf = leaves(parents)
    depth = levels[leaf].astype(np.int64)
    # For each depth, the first leaf that differs from it by more than 1; else the first that differs most.
    other = np.zeros(len(leaf), dtype=np.intp)
    for value in np.unique(depth):
        apart = np.abs(depth - value)
        other[depth == value] = np.argmax(apart > 1) if (apart > 1).any() else np.argmax(apart)
    see.at_most(
        "difference of the levels",
        np.abs(depth - depth[other]),
        1,
        node=where.labels(leaf),
        other=where.labels(leaf[other]),
        of=see.lab.forest(where.spec, "nk-greedy"),
    )
    true = see.instead(
        "the highest leaf is on level k, for k = 2 and n >= 4 on level 3, and the deepest on level D"
    )
    true.equal("level of the highest leaf", depth.min(), 3 if k == 2 and n >= 4 else k)
    true.equal("level of the deepest leaf", depth.max(), nk_diameter(n, k))


@claim(
    "NK.C2.s42",
    "Corollary 2, S_{4,2}",
    only("S4,2"),
    "All leaves of `nk-greedy` on S_{4,2} are on the same level.",
)
def _balance_of_s42(see: See) -> None:
    parents, levels = tree(see)
    leaf = leaves(parents)
    see.equal("level", levels[leaf], levels[leaf[0]], node=see.where.labels(leaf))


@claim(
    "NK.C2.farthest",
    "Corollary 2, proof, cases (1) to (3)",
    nk_stars(6, 7, 8),
    "Every node at distance D from Id has one of these forms. k <= floor(n/2): p_1 = 1 and k-1 external symbols, or k "
    "external symbols. Above: p_1 = 1 (n odd) or p_1 != 1 (n even) with n-k external chains of length 1, the rest in internal "
    "cycles of length 2; n even also p_1 = 1 with n-k external chains of length 1, one internal cycle of length 3, the rest "
    "of length 2.",
    reading="the length of an external cycle counts positions: the external symbol does, the missing symbol does not, as M' "
    "in (2)",
)
def _farthest(see: See) -> None:
    n, k, where = see.where.n, size(see.where), see.where
    rows = symbols(see.lab, where)
    of, first = cycles(rows), rows[:, 0] == 1
    fixed = first & (np.count_nonzero(of.length == 1, axis=1) == 1)  # position 1 alone is as in Id
    none = np.count_nonzero(of.length == 1, axis=1) == 0
    beta, single, threes = of.beta, of.chained == of.beta, of.internal_of(3)
    twos = 2 * of.internal_of(2) + 3 * threes + of.chained + first == k
    if k <= n // 2:
        stated = (first & (beta == k - 1)) | (beta == k)
    else:
        stated = (
            single & (beta == n - k) & twos & (threes == 0) & (fixed if n % 2 else none & ~first)
        )
        if n % 2 == 0:
            stated |= single & (beta == n - k) & twos & (threes == 1) & fixed
    far = searching.distances(see.lab, where.spec)
    see.equal(
        "distance by (1) and (2), as the proof has it",
        of.internal_steps + of.external_steps,
        far,
        node=where.label,
    )
    at = np.flatnonzero(far == nk_diameter(n, k))
    see.true("it has one of the forms", stated[at], node=where.labels(at))
    if n % 2 == 0 and k > n // 2:
        longer = fixed & (beta == n - k) & (of.chained == beta + 1) & twos & (threes == 0)
        fewer = fixed & single & (beta == n - k - 1) & (beta > 0) & twos & (threes == 0)
        stated |= longer | fewer
    true = see.instead(
        "for n even and k > n/2 there are two more forms, both with p_1 = 1 and internal cycles of length 2: n-k external "
        "chains, one of length 2 and the others of length 1, or n-k-1 >= 1 external chains of length 1; then exactly these "
        "nodes but Id are at distance D"
    )
    true.equal("distance D", far == nk_diameter(n, k), stated & (far > 0), node=where.label)


@claim(
    "NK.S51-EC",
    "Section 5.1, EC",
    nk_stars(6, 7, 7),
    "Every i = 0..n-2 takes `nk-greedy` to a spanning tree if the dimensions d of its paths from Id become ((d-2+i) mod "
    "(n-1)) + 2, where dimension d exchanges positions 1 and d of the label p_1..p_k[p_{k+1}..p_n]: every node is then "
    "reached once.",
    reading="what is exchanged with p_1 stays where it comes to in the brackets; the brackets begin as k+1..n. The other "
    "reading sorts them",
)
def _dimension_change(see: See) -> None:
    n, k, where = see.where.n, size(see.where), see.where
    other = see.reading("the same with the brackets sorted at every node")
    for i in range(n - 1):
        shifted = np.array([0, 0, *((np.arange(2, n + 1) - 2 + i) % (n - 1) + 2)])
        see.equal("times that the node is reached", _images(see, shifted), 1, i=i, node=where.label)
        other.equal(
            "times that the node is reached",
            _images(see, shifted, in_order=True),
            1,
            i=i,
            node=where.label,
        )
    true = see.instead(
        "for k = 1 and k = n-1 it does; for all others the cyclic shifts of positions 2..k alone, without the brackets, take "
        "it to spanning trees"
    )
    last = n if k in (1, n - 1) else k
    for i in range(last - 1):
        shifted = np.arange(n + 1)
        shifted[2 : last + 1] = (np.arange(last - 1) + i) % (last - 1) + 2
        if 1 < k < n - 1:
            reached = np.bincount(
                turned(where, symbols(see.lab, where), last, i), minlength=where.nodes
            )
            true.equal(
                "times that the node is reached as an image", reached, 1, i=i, node=where.label
            )
        true.equal(
            "times that the node is reached", _images(see, shifted), 1, i=i, node=where.label
        )


def _images(see: See, dimension: NDArray[np.int64], *, in_order: bool = False) -> NDArray[np.int64]:
    """How often each node is reached by the paths of SP from Id with other dimensions; labels are written with brackets."""
    n, k, where = see.where.n, size(see.where), see.where
    parents, levels = tree(see)
    rows = symbols(see.lab, where)
    label = np.tile(np.arange(1, n + 1, dtype=np.uint8), (where.nodes, 1))
    image = label.copy()
    for level in range(1, int(levels.max()) + 1):
        node = np.flatnonzero(levels == level)
        above = label[parents[node]]
        crossed = np.argmax(
            above == rows[node, :1], axis=1
        )  # where the symbol stood that now comes first
        label[node] = _crossed(above, crossed, k, in_order=in_order)
        image[node] = _crossed(
            image[parents[node]], dimension[crossed + 1] - 1, k, in_order=in_order
        )
    ranks = permutations.arrangement_rank(image[levels >= 0, :k], n)
    return np.bincount(ranks, minlength=where.nodes)


def _crossed(
    label: NDArray[np.uint8], place: NDArray[np.intp], k: int, *, in_order: bool
) -> NDArray[np.uint8]:
    """Labels with the first symbol and that of a place exchanged, places counted from 0."""
    out, row = label.copy(), np.arange(len(label))
    out[row, 0], out[row, place] = label[row, place], label[row, 0]
    if in_order:
        out[:, k:] = np.sort(out[:, k:], axis=1)
    return out


@claim(
    "NK.T4.links",
    "Theorem 4, proof",
    nk_stars(6, 8, 9),
    "S_{n,k} has (n-1)(N-1) directed links.",
    reading="directed links, since the proof spreads over them what all nodes send; the other reading counts both directions "
    "as one",
)
def _links(see: See) -> None:
    n, k, where = see.where.n, size(see.where), see.where
    across = see.lab.neighbours(where.spec).astype(np.int64)
    ends = np.arange(where.nodes) * np.ones_like(across)
    directed = len(np.unique(ends * where.nodes + across))
    undirected = len(np.unique(np.minimum(ends, across) * where.nodes + np.maximum(ends, across)))
    nodes = arrangements(n, k)
    see.equal("directed links", directed, (n - 1) * (nodes - 1))
    see.reading("undirected links").equal("links", undirected, (n - 1) * (nodes - 1))
    true = see.instead("there are N(n-1) directed links, N(n-1)/2 undirected ones")
    true.equal("directed links", directed, nodes * (n - 1))
    true.equal("undirected links, twice", 2 * undirected, nodes * (n - 1))
