"""Star graph and hypercube side by side, for orders of growth: their counts as closed forms that work for huge n.

Beside S_n stands the least hypercube with as many nodes: of dimension k = ceil(log2 n!). So 2^k is from n! to 2 n!.
"""

from collections.abc import Callable, Iterable
from functools import cache
from math import isqrt
from typing import NamedTuple

import mpmath

from starcast.claims.check import REVERSED, ClaimCheck
from starcast.claims.formulas import diameter, distance_sum
from starcast.claims.growth import EXACT, Number, divided, factorial, greatest, log2, rounded_up
from starcast.claims.reference.lower_bound_counts import counted

_WORDS = {"ft": "fault-tolerant", "allport": "all-port", "oneport": "one-port", "time": "steps"}


class Side(NamedTuple):
    """What the bounds of a network are made of.

    Attributes:
        nodes, links, far: its nodes, its degree and its diameter.
        total: the sum of all distances from a node.
    """

    nodes: Number
    links: Number
    far: Number
    total: Number


@cache
def star(n: int) -> Side:
    """S_n."""
    return Side(factorial(n), n - 1, diameter(n), distance_sum(n))


@cache
def cube(n: int) -> Side:
    """The hypercube beside S_n."""
    k = dimension(n)
    nodes = power_of_2(k)
    return Side(nodes, k, k, k * nodes // 2 if isinstance(k, int) else k * nodes / 2)


def dimension(n: int) -> Number:
    """The dimension ceil(log2 n!); for huge n the logarithm, whose digits behind the point do not matter."""
    return int(factorial(n) - 1).bit_length() if n <= EXACT else log2(factorial(n))


def power_of_2(exponent: Number) -> Number:
    """2^exponent, exact for small whole numbers."""
    return (
        2**exponent if isinstance(exponent, int) and exponent < 4096 else mpmath.mpf(2) ** exponent
    )


def through(count: Number, links: Number) -> Number:
    """ceil(count/links): the least steps in which a count is through."""
    return rounded_up(divided(count, links))


def seen(check: ClaimCheck, which: Iterable[Callable[[int], Side]] = (star, cube)) -> None:
    """The closed forms are what is counted by search at this size."""
    n = check.topology.n
    for side in which:
        said = side(n)
        spec = f"S{n}" if side is star else f"Q{said.links}"
        found = counted(check, spec, degree=said.links)
        check.equal(
            f"nodes, degree, diameter and distances of {spec}",
            [found.nodes, *found[1:]],
            list(said),
        )


def in_words(cell: str) -> str:
    """The name of a table's cell in words: ``alltoall-oneport-time`` is steps of one-port alltoall."""
    *named, what = cell.split("-")
    of = sorted(named, key=lambda word: word not in _WORDS)
    return f"{_WORDS.get(what, what)} of {' '.join(_WORDS.get(word, word) for word in of)}"


# The greatest over all M and x


def amounts(n: int) -> list[tuple[int, int]]:
    """M and x to look at: powers of n, M beyond all others, x up to n-1."""
    return [
        (m, x) for m in (1, isqrt(n), n, n**2, n**3, n**6) for x in sorted({1, isqrt(n), n - 1})
    ]


def order(check: ClaimCheck, what: str, quotient: Callable[[int, int, int], Number]) -> None:
    """A quotient stays below one constant for all n, M and x."""
    check.order(what, lambda n: greatest(quotient(n, m, x) for m, x in amounts(n)))


def same_order(check: ClaimCheck, what: str, quotient: Callable[[int, int, int], Number]) -> None:
    """A quotient and its reciprocal stay below one constant for all n, M and x."""
    order(check, what, quotient)
    order(check, f"{what}{REVERSED}", lambda n, m, x: divided(1, quotient(n, m, x)))
