"""Counts of star graphs and hypercubes as closed forms for huge n, to compare orders of growth.

S_n is compared with the smallest hypercube that has at least n! nodes, of dimension
k = ceil(log2 n!); 2^k is between n! and 2 n!.
"""

from collections.abc import Callable, Iterable
from functools import cache
from math import isqrt
from typing import NamedTuple

import mpmath

from starcast.claims.check import REVERSED, ClaimCheck
from starcast.claims.formulas import diameter, distance_sum
from starcast.claims.growth import EXACT, Number, divided, factorial, greatest, log2, rounded_up
from starcast.claims.reference.lower_bound_counts import count_from_node

_WORDS = {"ft": "fault-tolerant", "allport": "all-port", "oneport": "one-port", "time": "steps"}


class NetworkCounts(NamedTuple):
    """Counts of a network from which the bounds are computed.

    Attributes:
        nodes: number of nodes.
        links: degree.
        far: diameter.
        total: sum of all distances from a node.
    """

    nodes: Number
    links: Number
    far: Number
    total: Number


@cache
def star(n: int) -> NetworkCounts:
    """Return the counts of S_n."""
    return NetworkCounts(factorial(n), n - 1, diameter(n), distance_sum(n))


@cache
def cube(n: int) -> NetworkCounts:
    """Return the counts of the hypercube that S_n is compared with."""
    k = dimension(n)
    nodes = power_of_2(k)
    return NetworkCounts(nodes, k, k, k * nodes // 2 if isinstance(k, int) else k * nodes / 2)


def dimension(n: int) -> Number:
    """Return the dimension ceil(log2 n!); for huge n the logarithm, without rounding."""
    return int(factorial(n) - 1).bit_length() if n <= EXACT else log2(factorial(n))


def power_of_2(exponent: Number) -> Number:
    """Return 2^exponent, exact for small integers."""
    return (
        2**exponent if isinstance(exponent, int) and exponent < 4096 else mpmath.mpf(2) ** exponent
    )


def least_steps(count: Number, links: Number) -> Number:
    """Return ceil(count/links): the fewest steps in which a count passes these links."""
    return rounded_up(divided(count, links))


def check_counts(
    check: ClaimCheck, which: Iterable[Callable[[int], NetworkCounts]] = (star, cube)
) -> None:
    """Check the closed forms against counts by search."""
    n = check.topology.n
    for side in which:
        stated = side(n)
        spec = f"S{n}" if side is star else f"Q{stated.links}"
        found = count_from_node(check, spec, degree=stated.links)
        check.equal(
            f"nodes, degree, diameter and distances of {spec}",
            [found.nodes, *found[1:]],
            list(stated),
        )


def describe_cell(cell: str) -> str:
    """Return a cell in words: ``alltoall-oneport-time`` is "steps of one-port alltoall"."""
    *named, what = cell.split("-")
    of = sorted(named, key=lambda word: word not in _WORDS)
    return f"{_WORDS.get(what, what)} of {' '.join(_WORDS.get(word, word) for word in of)}"


# The greatest quotient over all M and x


def amounts(n: int) -> list[tuple[int, int]]:
    """Return pairs of M and x: powers of n as M up to far beyond the rest, x up to n-1."""
    return [
        (m, x) for m in (1, isqrt(n), n, n**2, n**3, n**6) for x in sorted({1, isqrt(n), n - 1})
    ]


def order(check: ClaimCheck, what: str, quotient: Callable[[int, int, int], Number]) -> None:
    """Check that a quotient stays below one constant for all n, M and x."""
    check.order(what, lambda n: greatest(quotient(n, m, x) for m, x in amounts(n)))


def same_order(check: ClaimCheck, what: str, quotient: Callable[[int, int, int], Number]) -> None:
    """Check that a quotient and its reciprocal stay below one constant for all n, M and x."""
    order(check, what, quotient)
    order(check, f"{what}{REVERSED}", lambda n, m, x: divided(1, quotient(n, m, x)))
