"""Fragopoulou & Akl 1993, sections 1 to 3.1: degree, substars, distances, the examples, and cycle rotation (Theorem 3)."""

from fractions import Fraction

import numpy as np

from starcast import permutations
from starcast.claims import growth
from starcast.claims.declaration import Family, only, stars
from starcast.claims.formulas import diameter
from starcast.claims.instruments import fragopoulou_akl_nodes as nodes
from starcast.claims.instruments.searching import distances, roots
from starcast.claims.instruments.star_labels import r, rotation, symbols
from starcast.claims.see import See

FAMILY = Family("fragopoulou_akl_structure")
claim = FAMILY.claim


@claim(
    "FA.S1-degree",
    "Section 1",
    stars(7, 8, 9),
    "The degree n-1 and the diameter floor(3(n-1)/2) of S_n are O(log2 n! / log n); the k of a Q_k with n! nodes is of order "
    "n log n.",
    reading="'More slowly than log2 n!': the quotient goes to 0, as 1/log n does. Small n decide nothing about that.",
)
def _degree(see: See) -> None:
    n = see.where.n
    around = np.sort(nodes.across(see), axis=1)
    degree = (np.diff(around, axis=1) > 0).sum(axis=1) + 1
    see.equal("different neighbours of a node", degree, n - 1, node=see.where.label)
    see.equal("diameter", int(distances(see.lab, see.where.spec).max()), diameter(n))
    see.order(
        "(n-1) log2 n / log2 n!",
        lambda n: growth.divided((n - 1) * growth.log2(n), growth.log2(growth.factorial(n))),
    )
    see.order(
        "floor(3(n-1)/2) log2 n / log2 n!",
        lambda n: growth.divided(diameter(n) * growth.log2(n), growth.log2(growth.factorial(n))),
    )
    cube = see.lab.topology(f"Q{(see.where.nodes - 1).bit_length()}")
    see.true(
        "the least hypercube with n! nodes has less than 2 n!",
        see.where.nodes <= cube.nodes < 2 * see.where.nodes,
    )
    see.equal("its degree", len(np.unique(see.lab.neighbours(cube.spec)[:, 0])), cube.n)
    below = see.reading("both are less than log2 n! at every n")
    for what, value in (("degree", n - 1), ("diameter", diameter(n))):
        below.true(
            f"2 to the power of the {what} is less than n!",
            2**value < see.where.nodes,
            found=2**value,
            stated=see.where.nodes,
        )
    see.same_order(
        "log2 n! / (n log2 n)",
        lambda n: growth.divided(growth.log2(growth.factorial(n)), n * growth.log2(n)),
    )


@claim(
    "FA.S1-substars",
    "Section 1",
    stars(7, 8, 9),
    "For 1 <= k <= n-1 the nodes of S_n with the same last n-k symbols are k!, form n!/k! classes, and with the links within a "
    "class each is an S_k.",
)
def _substars(see: See) -> None:
    n, row, around = see.where.n, symbols(see.lab, see.where), nodes.across(see)
    for k in range(1, n):
        fixed = np.unique(row[:, k:], axis=0, return_inverse=True)[1].reshape(-1)
        inner = permutations.rank(
            np.argsort(np.argsort(row[:, :k], axis=1), axis=1).astype(np.uint8) + np.uint8(1)
        )
        size = growth.factorial(k)
        see.equal("number of classes", len(np.unique(fixed)), growth.factorial(n) // size, k=k)
        see.equal("nodes of a class", np.bincount(fixed), size, k=k)
        see.equal(
            "different nodes of S_k in a class",
            len(np.unique(fixed.astype(np.int64) * size + inner)),
            see.where.nodes,
            k=k,
        )
        stays = fixed[around] == fixed[:, None]
        see.equal(
            "a link stays in the class",
            stays,
            nodes.types(see) <= k,
            k=k,
            node=lambda x, _: see.where.label(x),
        )
        if k > 1:
            image = see.lab.neighbours(f"S{k}").T[inner]
            see.equal(
                "its image is a link of S_k",
                inner[around[:, : k - 1]],
                image,
                k=k,
                node=lambda x, _: see.where.label(x),
            )


@claim(
    "FA.d",
    "Section 2",
    stars(7, 8, 9),
    "The sum of the distances from any node is t_n = n!(n + 2/n + H_n - 4), and their mean t_n/n!.",
)
def _mean_distance(see: See) -> None:
    n = see.where.n
    d = n + Fraction(2, n) + sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0)) - 4
    for root in roots(see.where):
        total = int(distances(see.lab, see.where.spec, root).sum(dtype=np.int64))
        see.equal(
            "mean of the distances", Fraction(total, see.where.nodes), d, node=see.where.label(root)
        )
        see.equal(
            "sum of the distances",
            Fraction(total),
            growth.factorial(n) * d,
            node=see.where.label(root),
        )


@claim(
    "FA.dist",
    "Proof of Theorem 7",
    stars(7, 8, 9),
    "The distance of x from 12..n is c(x) + s(x) if x_1 = 1, else c(x) + s(x) - 2.",
)
def _distance(see: See) -> None:
    stated = (
        nodes.cycles(see)
        + nodes.spread(see)
        - np.where(symbols(see.lab, see.where)[:, 0] == 1, 0, 2)
    )
    see.equal(
        "distance from 12..n", distances(see.lab, see.where.spec), stated, node=see.where.label
    )


@claim(
    "FA.ex",
    "Definitions 2 and 3",
    only("S3", "S6"),
    "In S_3, F_312(213) = 132; in S_6, the cycle notation of 341526 is (1 3)(2 4 5).",
)
def _examples(see: See) -> None:
    here = see.where
    if here.n == 3:
        q, x = (symbols(see.lab, see.where)[here.rank(label)] for label in ("312", "213"))
        image = see.lab.array("F_312(213)", here.spec, lambda: permutations.compose(q, x))
        see.equal("F_312(213)", str(permutations.labels(image[None, :])[0]), "132", node="213")
    else:
        row = see.lab.array(
            "341526", here.spec, lambda: symbols(see.lab, see.where)[here.rank("341526")]
        )
        see.equal("cycle notation", nodes.notation(row), "(1 3)(2 4 5)", node="341526")


@claim(
    "FA.T3",
    "Theorem 3",
    stars(7, 8, 9),
    "If y = g_t(x), then R(y) = g_u(R(x)) with u = (t-1) mod (n-1) + 2.",
)
def _rotation_keeps_links(see: See) -> None:
    turn, around = rotation(see.lab, see.where), nodes.across(see)
    types = nodes.types(see)
    image = (types - 1) % (see.where.n - 1) + 2
    see.equal(
        "rank of the rotated neighbour",
        turn[around],
        around[turn][:, image - 2],
        node=lambda x, _: see.where.label(x),
        dimension=lambda _, t: types[t],
    )
    see.equal("R is one to one", np.sort(turn), np.arange(see.where.nodes))


@claim(
    "FA.T3-coordinates",
    "Appendix A",
    stars(7, 8, 9),
    "R(x) = r(x_1) r(x_n) r(x_2) .. r(x_{n-1}); R is defined by cycles: s followed by x_s becomes r(s) followed by r(x_s).",
)
def _coordinates(see: See) -> None:
    n, row = see.where.n, symbols(see.lab, see.where)
    moved = r(n)[row].astype(np.uint8)
    stated = permutations.rank(np.column_stack([moved[:, 0], moved[:, n - 1], moved[:, 1 : n - 1]]))
    see.equal("rank of R(x)", rotation(see.lab, see.where), stated, node=see.where.label)
