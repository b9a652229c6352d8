"""Tseng & Sheu 1997, sections 2 to 4: the star graph, the trees L(r) and L-hat, their paths, heights and congestion."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import diameter
from starcast.claims.growth import factorial
from starcast.claims.instruments import searching, shifting, star_labels
from starcast.claims.instruments.naming import leaving
from starcast.claims.see import See

FAMILY = Family("tseng_sheu_trees")
claim = FAMILY.claim


@claim(
    "TS.size",
    "Section 2",
    stars(7, 8, 9),
    "S_n has n! nodes, n-1 links at each, and D_n = floor(3(n-1)/2) as greatest distance. Translations take the identity to "
    "every node, and translations and the rotation R take one directed link to every other.",
    weight=lambda where: 24 * where.degree * where.n,
)
def _size(see: See) -> None:
    sized(see)
    where, across = see.where, see.lab.neighbours(see.where.spec)
    maps = _automorphisms(see)
    ports = np.array(where.ports)
    for image, turned in maps:
        columns = np.searchsorted(ports, turned)
        see.equal(
            "links go to links",
            across[columns][:, image],
            image[across],
            node=lambda _, v: where.label(v),
        )
    nodes = np.stack([image for image, _ in maps])
    reached = searching.searched(nodes, 0) >= 0
    see.equal(
        "nodes to which automorphisms take the identity",
        np.count_nonzero(reached),
        factorial(where.n),
    )
    links = [
        image * where.degree + np.searchsorted(ports, turned)[:, None] for image, turned in maps
    ]
    moved = np.stack([several.T.ravel() for several in links])
    reached = searching.searched(moved, 0) >= 0
    directed = factorial(where.n) * (where.n - 1)
    see.equal(
        "directed links to which they take the first link of the identity",
        np.count_nonzero(reached),
        directed,
    )


def sized(see: See) -> None:
    """The nodes, the degree and the diameter of S_n, from the table of neighbours."""
    where, across = see.where, see.lab.neighbours(see.where.spec)
    n, rows = where.n, star_labels.symbols(see.lab, see.where)
    see.equal("nodes with labels of their own", len(np.unique(where.labels())), factorial(n))
    for port, there in zip(where.ports, across, strict=True):
        swapped = rows.copy()
        swapped[:, [0, port - 1]] = swapped[:, [port - 1, 0]]
        exchanged = (rows[there] == swapped).all(axis=1)
        see.true(f"dimension {port} exchanges positions 1 and {port}", exchanged, node=where.label)
    ordered = np.sort(across, axis=0)
    different = 1 + np.count_nonzero(np.diff(ordered, axis=0), axis=0)
    see.equal("neighbours of a node", different, n - 1, node=where.label)
    for root in searching.roots(where):
        distances = searching.distances(see.lab, where.spec, root)
        see.equal(
            "nodes reached", np.count_nonzero(distances >= 0), factorial(n), node=where.label(root)
        )
        see.equal("greatest distance", distances.max(), diameter(n), node=where.label(root))


def _automorphisms(see: See) -> list[tuple[NDArray[Any], NDArray[Any]]]:
    """Translations by the neighbours of the identity, and R: the image of each node, and of each dimension.

    They generate all others: what they take the identity to is found by search.
    """
    lab, where = see.lab, see.where
    dimensions = np.array(where.ports)
    by = lab.neighbours(where.spec)[:, 0].tolist()
    made = [(star_labels.translation(lab, where, node), dimensions) for node in by]
    return [*made, (star_labels.rotation(lab, where), star_labels.r(where.n)[dimensions])]


@claim(
    "TS.L3",
    "Lemma 3",
    stars(7, 8, 9),
    "The links v -> g_alpha(v), alpha = alpha_r(v), form a tree `greedy` that spans S_n from r, and each leads closer to r.",
)
def _greedy(see: See) -> None:
    where = see.where
    for root in searching.roots(where):
        tree = see.lab.forest(where.spec, "greedy", root=root)
        at = where.label(root)
        see.equal(
            f"ports of L({at})",
            tree.parent_port,
            shifting.alpha(see.lab, where, root),
            node=lambda _, v: where.label(v),
            of=tree,
        )
        see.checked(checkers.spanning(where, tree.parent_port, root), of=tree)
        distances = searching.distances(see.lab, where.spec, root)
        nodes = np.flatnonzero(np.arange(where.nodes) != root)
        parents = searching.parents(see.lab, where, tree.parent_port[0])[nodes]
        found = np.where(parents < 0, where.nodes, distances[parents])
        see.equal(
            "distance of the next node",
            found,
            distances[nodes] - 1,
            node=lambda v, of=nodes: where.label(int(of[v])),
            of=tree,
        )


@claim(
    "TS.L4",
    "Lemma 4",
    stars(7, 8, 9),
    "Of the n-1 trees L(rho^i(r)), i = 1..n-1, at most two have the same directed link, which points to their roots.",
)
def _congestion_to_roots(see: See) -> None:
    where = see.where
    for root in searching.roots(where):
        loads = shifting.loads_to(see.lab, where, root)
        see.equal(
            "links of all trees",
            loads.sum(),
            (where.n - 1) * (factorial(where.n) - 1),
            node=where.label(root),
        )
        see.at_most(
            f"trees on a link, r = {where.label(root)}", loads, 2, link=leaving(see.lab, where)
        )


@claim(
    "TS.D2",
    "Definition 2",
    stars(7, 8, 9),
    "The links of L(rho^i(r)), reversed but for those of p_i, are tree i-1 of `multiple`, i = 1..n-1, and it spans S_n from r.",
)
def _reversed(see: See) -> None:
    where, lab = see.where, see.lab
    for root in searching.roots(where, 3):
        trees = lab.forest(where.spec, "multiple", root=root)
        see.equal("number of trees", trees.trees, where.n - 1, of=trees)
        for row, way in zip(trees.parent_port, shifting.paths(lab, where, root), strict=False):
            stated = shifting.ports_to(lab, where, shifting.shifted(where, root, way.i)).copy()
            stated[way.nodes[0]] = 0
            stated[way.nodes[1:]] = way.ports
            see.equal("ports of L-hat", row, stated, tree=way.i - 1, node=where.label, of=trees)
        see.checked(checkers.spanning(where, trees.parent_port, root), of=trees)


@claim(
    "TS.L5",
    "Lemma 5",
    stars(7, 8, 9),
    "The height of tree i-1 of `multiple` is D_n + n + gcd(n,i) - 2, i = 1..n-1.",
)
def _heights(see: See) -> None:
    n, where = see.where.n, see.where
    i = np.arange(1, n)
    true = see.instead(
        "the height is |p_i| + e, e the greatest level of L(rho^i(r)) outside of the branch that p_i arrives by, and "
        "e = D_n but for n = 3, i = 2, where e = D_n - 1"
    )
    for root in searching.roots(where, 2):
        trees = see.lab.forest(where.spec, "multiple", root=root)
        found = np.array(
            checkers.height(where, trees.parent_port, trees.root, bound=where.nodes).measured
        )
        see.equal("number of trees", trees.trees, n - 1, of=trees)
        stated = diameter(n) + n + np.gcd(n, i) - 2
        see.equal(
            "height of L-hat(rho^i(r))", found, stated[: len(found)], i=i[: len(found)], of=trees
        )
        outside = np.array(
            [_outside(see, root, way) for way in shifting.paths(see.lab, where, root)]
        )[: len(found)]
        lengths = np.array([len(way.ports) for way in shifting.paths(see.lab, where, root)])[
            : len(found)
        ]
        true.equal("height", found, lengths + outside, i=i[: len(found)], of=trees)
        true.equal(
            "e",
            outside,
            (diameter(n) - ((n == 3) & (i == 2)))[: len(found)],
            i=i[: len(found)],
            of=trees,
        )


def _outside(see: See, root: int, way: shifting.Path) -> int:
    """The greatest level of L(rho^i(r)) but for the branch by which p_i comes to rho^i(r)."""
    where = see.where
    goal = shifting.shifted(where, root, way.i)
    parent = searching.parents(see.lab, where, shifting.ports_to(see.lab, where, goal))
    levels = searching.levels(parent, goal)
    parent[way.nodes[-2]] = -1  # cut off: what hangs there does not come to the root any more
    return int(levels[searching.levels(parent, goal) >= 0].max())


@claim(
    "TS.h",
    "Section 4.1",
    stars(7, 8, 9),
    "D_n + n - 1 <= h <= 2 D_n for the greatest height h of the trees of `multiple`.",
)
def _greatest_height(see: See) -> None:
    n, trees = see.where.n, see.lab.forest(see.where.spec, "multiple")
    measured = checkers.height(
        see.where, trees.parent_port, trees.root, bound=see.where.nodes
    ).measured
    h = int(np.max(measured))
    see.at_least("greatest height of the trees L-hat", h, diameter(n) + n - 1, of=trees)
    see.at_most("greatest height of the trees L-hat", h, 2 * diameter(n), of=trees)


@claim(
    "TS.L6",
    "Lemma 6",
    stars(7, 8, 9),
    "No directed link is used by more than two trees of `multiple`, from parent to child.",
)
def _congestion(see: See) -> None:
    where = see.where
    for root in searching.roots(where, 2):
        trees = see.lab.forest(where.spec, "multiple", root=root)
        loads = checkers.loads(where, trees.parent_port, root)
        see.equal("number of trees", trees.trees, where.n - 1, of=trees)
        see.equal(
            "links of all trees", loads.sum(), (where.n - 1) * (factorial(where.n) - 1), of=trees
        )
        see.at_most("trees on a link", loads, 2, link=leaving(see.lab, where), of=trees)
