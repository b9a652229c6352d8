"""Fragopoulou & Akl 1993, sections 1 to 3.1: degree, substars, distances, rotation (Theorem 3)."""

import numpy as np

from starcast import permutations
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.growth import divided, factorial, harmonic, log2
from starcast.claims.papers.fragopoulou_akl import nodes
from starcast.claims.providers import RootDistances, distances
from starcast.claims.reference import bfs
from starcast.claims.reference.star_labels import rotation, rotation_function, symbols
from starcast.claims.registry import check


@check("FA.S1-degree")
def degree_and_diameter_below_hypercube(check: ClaimCheck) -> None:
    """Check degree and diameter, and their order against log2 n! and the smallest hypercube."""
    n = check.n
    ordered = np.sort(nodes.neighbours(check), axis=1)
    degree = (np.diff(ordered, axis=1) > 0).sum(axis=1) + 1
    check.equal("different neighbours of a node", degree, n - 1, node=check.label)
    check.equal("diameter", bfs.diameter(check), diameter(n))
    check.order("(n-1) log2 n / log2 n!", lambda n: divided((n - 1) * log2(n), log2(factorial(n))))
    check.order(
        "floor(3(n-1)/2) log2 n / log2 n!",
        lambda n: divided(diameter(n) * log2(n), log2(factorial(n))),
    )
    cube = check.at(f"Q{(check.nodes - 1).bit_length()}")
    measured = check.nodes <= cube.nodes < 2 * check.nodes
    check.true("the least hypercube with n! nodes has less than 2 n!", measured)
    check.equal("its degree", len(np.unique(cube.neighbours[:, 0])), cube.n)
    below = check.reading("both are less than log2 n! at every n")
    for what, value in (("degree", n - 1), ("diameter", diameter(n))):
        power = 2**value
        below.true(
            f"2 to the power of the {what} is less than n!",
            power < check.nodes,
            found=power,
            stated=check.nodes,
        )
    check.same_order("log2 n! / (n log2 n)", lambda n: divided(log2(factorial(n)), n * log2(n)))


@check("FA.S1-substars")
def substars(check: ClaimCheck) -> None:
    """Check that the nodes with the same last n-k symbols form n!/k! graphs S_k."""
    n = check.n
    label_symbols = symbols(check)
    neighbours = nodes.neighbours(check)

    def tail(node: int, _: int) -> str:
        return check.label(node)

    for k in range(1, n):
        size = factorial(k)
        suffixes = np.unique(label_symbols[:, k:], axis=0, return_inverse=True)[1].reshape(-1)
        order = np.argsort(np.argsort(label_symbols[:, :k], axis=1), axis=1)
        image = permutations.rank(order.astype(np.uint8) + np.uint8(1))
        check.equal("number of classes", len(np.unique(suffixes)), factorial(n) // size, k=k)
        check.equal("nodes of a class", np.bincount(suffixes), size, k=k)
        pairs = np.unique(suffixes.astype(np.int64) * size + image)
        check.equal("different nodes of S_k in a class", len(pairs), check.nodes, k=k)
        stays = suffixes[neighbours] == suffixes[:, None]
        inside = nodes.link_types(check) <= k
        check.equal("a link stays in the class", stays, inside, k=k, node=tail)
        if k > 1:
            stated = check.at(f"S{k}").neighbours.T[image]
            heads = image[neighbours[:, : k - 1]]
            check.equal("its image is a link of S_k", heads, stated, k=k, node=tail)


@check("FA.d", given=distances())
def mean_distance(check: ClaimCheck, search: RootDistances) -> None:
    """Check the mean and the sum of the distances from a root."""
    n = check.n
    total = int(search.values.sum(dtype=np.int64))
    mean = n + divided(2, n) + harmonic(n) - 4
    measured = divided(total, check.nodes)
    check.equal("mean of the distances", measured, mean, node=search.label)
    check.equal("sum of the distances", total, factorial(n) * mean, node=search.label)


@check("FA.dist")
def distance_by_cycles(check: ClaimCheck) -> None:
    """Check that the distance from 12..n is c + s, less 2 if x_1 != 1."""
    correction = np.where(symbols(check)[:, 0] == 1, 0, 2)
    stated = nodes.cycle_counts(check) + nodes.displaced_counts(check) - correction
    distance = bfs.distances(check)
    check.equal("distance from 12..n", distance, stated, node=check.label)


@check("FA.ex")
def examples(check: ClaimCheck) -> None:
    """Check the example of a translation on S_3, and that of a cycle notation on S_6."""
    label_symbols = symbols(check)
    if check.n == 3:
        q = label_symbols[check.rank("312")]
        x = label_symbols[check.rank("213")]
        image = check.array("F_312(213)", lambda: permutations.compose(q, x))
        check.equal("F_312(213)", str(permutations.labels(image[None, :])[0]), "132", node="213")
        return
    example = check.array("341526", lambda: label_symbols[check.rank("341526")])
    check.equal("cycle notation", nodes.cycle_notation(example), "(1 3)(2 4 5)", node="341526")


@check("FA.T3")
def rotation_keeps_links(check: ClaimCheck) -> None:
    """Check that R maps a link of type t to one of type (t-1) mod (n-1) + 2."""
    rotated = rotation(check)
    neighbours = nodes.neighbours(check)
    image_types = (nodes.link_types(check) - 1) % (check.n - 1) + 2
    stated = neighbours[rotated][:, image_types - 2]
    place = nodes.node_and_type(check)
    check.equal("rank of the rotated neighbour", rotated[neighbours], stated, **place)
    check.equal("R is one to one", np.sort(rotated), np.arange(check.nodes))


@check("FA.T3-coordinates")
def rotation_by_coordinates(check: ClaimCheck) -> None:
    """Check that R(x) = r(x_1) r(x_n) r(x_2) .. r(x_{n-1})."""
    n = check.n
    images = rotation_function(n)[symbols(check)].astype(np.uint8)
    columns = [images[:, 0], images[:, n - 1], images[:, 1 : n - 1]]
    stated = permutations.rank(np.column_stack(columns))
    rotated = rotation(check)
    check.equal("rank of R(x)", rotated, stated, node=check.label)
