"""Fragopoulou & Akl 1993, sections 1 to 3.1: degree, substars, distances, the examples, and cycle rotation (Theorem 3)."""

from fractions import Fraction

import numpy as np

from starcast import permutations
from starcast.claims import growth
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.papers.fragopoulou_akl import nodes
from starcast.claims.reference.bfs import distances, roots
from starcast.claims.reference.star_labels import rotation, rotation_function, symbols
from starcast.claims.registry import check


@check("FA.S1-degree")
def _degree(check: ClaimCheck) -> None:
    n = check.topology.n
    around = np.sort(nodes.across(check), axis=1)
    degree = (np.diff(around, axis=1) > 0).sum(axis=1) + 1
    check.equal("different neighbours of a node", degree, n - 1, node=check.topology.label)
    check.equal("diameter", int(distances(check.objects, check.topology.spec).max()), diameter(n))
    check.order(
        "(n-1) log2 n / log2 n!",
        lambda n: growth.divided((n - 1) * growth.log2(n), growth.log2(growth.factorial(n))),
    )
    check.order(
        "floor(3(n-1)/2) log2 n / log2 n!",
        lambda n: growth.divided(diameter(n) * growth.log2(n), growth.log2(growth.factorial(n))),
    )
    cube = check.objects.topology(f"Q{(check.topology.nodes - 1).bit_length()}")
    check.true(
        "the least hypercube with n! nodes has less than 2 n!",
        check.topology.nodes <= cube.nodes < 2 * check.topology.nodes,
    )
    check.equal("its degree", len(np.unique(check.objects.neighbours(cube.spec)[:, 0])), cube.n)
    below = check.reading("both are less than log2 n! at every n")
    for what, value in (("degree", n - 1), ("diameter", diameter(n))):
        below.true(
            f"2 to the power of the {what} is less than n!",
            2**value < check.topology.nodes,
            found=2**value,
            stated=check.topology.nodes,
        )
    check.same_order(
        "log2 n! / (n log2 n)",
        lambda n: growth.divided(growth.log2(growth.factorial(n)), n * growth.log2(n)),
    )


@check("FA.S1-substars")
def _substars(check: ClaimCheck) -> None:
    n, row, around = check.topology.n, symbols(check.objects, check.topology), nodes.across(check)
    for k in range(1, n):
        fixed = np.unique(row[:, k:], axis=0, return_inverse=True)[1].reshape(-1)
        inner = permutations.rank(
            np.argsort(np.argsort(row[:, :k], axis=1), axis=1).astype(np.uint8) + np.uint8(1)
        )
        size = growth.factorial(k)
        check.equal("number of classes", len(np.unique(fixed)), growth.factorial(n) // size, k=k)
        check.equal("nodes of a class", np.bincount(fixed), size, k=k)
        check.equal(
            "different nodes of S_k in a class",
            len(np.unique(fixed.astype(np.int64) * size + inner)),
            check.topology.nodes,
            k=k,
        )
        stays = fixed[around] == fixed[:, None]
        check.equal(
            "a link stays in the class",
            stays,
            nodes.types(check) <= k,
            k=k,
            node=lambda x, _: check.topology.label(x),
        )
        if k > 1:
            image = check.objects.neighbours(f"S{k}").T[inner]
            check.equal(
                "its image is a link of S_k",
                inner[around[:, : k - 1]],
                image,
                k=k,
                node=lambda x, _: check.topology.label(x),
            )


@check("FA.d")
def _mean_distance(check: ClaimCheck) -> None:
    n = check.topology.n
    d = n + Fraction(2, n) + sum((Fraction(1, i) for i in range(1, n + 1)), Fraction(0)) - 4
    for root in roots(check.topology):
        total = int(distances(check.objects, check.topology.spec, root).sum(dtype=np.int64))
        check.equal(
            "mean of the distances",
            Fraction(total, check.topology.nodes),
            d,
            node=check.topology.label(root),
        )
        check.equal(
            "sum of the distances",
            Fraction(total),
            growth.factorial(n) * d,
            node=check.topology.label(root),
        )


@check("FA.dist")
def _distance(check: ClaimCheck) -> None:
    stated = (
        nodes.cycles(check)
        + nodes.spread(check)
        - np.where(symbols(check.objects, check.topology)[:, 0] == 1, 0, 2)
    )
    check.equal(
        "distance from 12..n",
        distances(check.objects, check.topology.spec),
        stated,
        node=check.topology.label,
    )


@check("FA.ex")
def _examples(check: ClaimCheck) -> None:
    here = check.topology
    if here.n == 3:
        q, x = (
            symbols(check.objects, check.topology)[here.rank(label)] for label in ("312", "213")
        )
        image = check.objects.array("F_312(213)", here.spec, lambda: permutations.compose(q, x))
        check.equal("F_312(213)", str(permutations.labels(image[None, :])[0]), "132", node="213")
    else:
        row = check.objects.array(
            "341526", here.spec, lambda: symbols(check.objects, check.topology)[here.rank("341526")]
        )
        check.equal("cycle notation", nodes.notation(row), "(1 3)(2 4 5)", node="341526")


@check("FA.T3")
def _rotation_keeps_links(check: ClaimCheck) -> None:
    turn, around = rotation(check.objects, check.topology), nodes.across(check)
    types = nodes.types(check)
    image = (types - 1) % (check.topology.n - 1) + 2
    check.equal(
        "rank of the rotated neighbour",
        turn[around],
        around[turn][:, image - 2],
        node=lambda x, _: check.topology.label(x),
        dimension=lambda _, t: types[t],
    )
    check.equal("R is one to one", np.sort(turn), np.arange(check.topology.nodes))


@check("FA.T3-coordinates")
def _coordinates(check: ClaimCheck) -> None:
    n, row = check.topology.n, symbols(check.objects, check.topology)
    moved = rotation_function(n)[row].astype(np.uint8)
    stated = permutations.rank(np.column_stack([moved[:, 0], moved[:, n - 1], moved[:, 1 : n - 1]]))
    check.equal(
        "rank of R(x)", rotation(check.objects, check.topology), stated, node=check.topology.label
    )
