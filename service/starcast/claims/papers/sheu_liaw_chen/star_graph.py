"""Sheu, Liaw & Chen 1993, section 2: the star graph and its substars."""

import numpy as np

from starcast import permutations
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import factorial
from starcast.claims.papers.common import check_star_size
from starcast.claims.reference import bfs
from starcast.claims.reference.star_labels import symbols
from starcast.claims.registry import check
from starcast.support.integers import ceil_div


@check("SLC.size")
def star_size(check: ClaimCheck) -> None:
    """Check nodes, degree and diameter; the other reading of the brackets is the ceiling."""
    check_star_size(check)
    diameter = bfs.diameter(check)
    ceiling_reading = check.reading("the brackets as the ceiling")
    ceiling_reading.equal("greatest distance", diameter, ceil_div(3 * (check.n - 1), 2))


@check("SLC.substars")
def substars(check: ClaimCheck) -> None:
    """Map the substars of every position to S_{n-1}, node by node and link by link."""
    n = check.n
    label_symbols = symbols(check)
    smaller_neighbours = check.at(f"S{n - 1}").neighbours

    def link_tail(_: int, node: int) -> str:
        return check.label(node)

    for index in range(1, n):
        position = index + 1
        fixed = label_symbols[:, index]
        sizes = np.bincount(fixed, minlength=n + 1)[1:]
        check.equal(f"nodes with a symbol in position {position}", sizes, factorial(n - 1))
        rest = np.delete(label_symbols, index, axis=1)
        # Close the gap that the fixed symbol leaves, so that the rest is a permutation of 1..n-1.
        image = permutations.rank(rest - (rest > fixed[:, None]))
        pairs = np.unique(fixed.astype(np.int64) * check.nodes + image)
        check.equal("nodes of S_{n-1} that the substars stand for", len(pairs), factorial(n))
        inside = np.delete(check.neighbours, index - 1, axis=0)
        check.equal("substar across a link", fixed[inside], fixed[None], node=link_tail)
        stated = smaller_neighbours[:, image]
        check.equal("links of the substars", image[inside], stated, node=link_tail)
        leaves = fixed[check.neighbours[index - 1]] != fixed
        check.true(f"dimension {position} leaves the substar", leaves, node=check.label)
    if n == 4:
        for suffix in ("1", "23"):
            _check_substar(check, suffix)


def _check_substar(check: ClaimCheck, suffix: str) -> None:
    """Check that the nodes whose labels end with a suffix form a star graph."""
    i = check.n - len(suffix)
    labels = check.labels()
    nodes = np.array([node for node, label in enumerate(labels) if label.endswith(suffix)])
    prefixes = symbols(check)[nodes, :i]
    order = np.argsort(np.argsort(prefixes, axis=1), axis=1)
    substar_ranks = permutations.rank(order.astype(np.uint8) + np.uint8(1))
    name = f"S_{i}({suffix})"
    check.equal(f"nodes of {name}", len(nodes), factorial(i))
    expected_ranks = np.arange(factorial(i))
    check.equal(f"nodes of {name} as those of S_{i}", np.sort(substar_ranks), expected_ranks)
    image = np.full(check.nodes, -1)
    image[nodes] = substar_ranks
    inside = image[check.neighbours[: i - 1, nodes]]
    stated = check.at(f"S{i}").neighbours[:, substar_ranks]

    def link_tail(_: int, index: int) -> str:
        return check.label(int(nodes[index]))

    check.equal(f"links of {name}", inside, stated, node=link_tail)
