"""Checks that several papers share."""

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.growth import factorial
from starcast.claims.reference import bfs, star_labels


def check_star_size(check: ClaimCheck) -> None:
    """Check number of nodes, links, degree and diameter of S_n against its neighbour table."""
    n = check.n
    symbols = star_labels.symbols(check)
    check.equal("nodes with labels of their own", len(np.unique(check.labels())), factorial(n))
    for port, heads in zip(check.ports, check.neighbours, strict=True):
        swapped = symbols.copy()
        swapped[:, [0, port - 1]] = swapped[:, [port - 1, 0]]
        exchanges = (symbols[heads] == swapped).all(axis=1)
        what = f"dimension {port} exchanges positions 1 and {port}"
        check.true(what, exchanges, node=check.label)
    # Equal neighbours are adjacent after sorting: every step between different ones is one more.
    ordered = np.sort(check.neighbours, axis=0)
    degree = 1 + np.count_nonzero(np.diff(ordered, axis=0), axis=0)
    check.equal("neighbours of a node", degree, n - 1, node=check.label)
    for root in bfs.roots(check):
        distances = bfs.distances(check, root)
        label = check.label(root)
        check.equal("nodes reached", np.count_nonzero(distances >= 0), factorial(n), node=label)
        check.equal("greatest distance", distances.max(), diameter(n), node=label)
