"""Nodes, degree, diameter and sum of distances of S_n and of hypercubes, as closed forms in n.

The closed forms are evaluated for huge n to compare orders of growth.

S_n is compared with the smallest hypercube that has at least n! nodes. Its dimension is
k = ceil(log2 n!), so n! <= 2^k < 2 n!.
"""

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache, partial
from math import isqrt
from typing import Literal, NamedTuple

import mpmath

from starcast.claims.check import REVERSED, ClaimCheck
from starcast.claims.growth import (
    EXACT,
    ClosedForm,
    Number,
    ceil,
    divide,
    factorial,
    greatest,
    log2,
)
from starcast.claims.registry import Memory

from .closed_forms import diameter, distance_sum
from .lower_bound_counts import NetworkCounts, count_from_node

_WORDS = {"ft": "fault-tolerant", "allport": "all-port", "oneport": "one-port", "time": "steps"}


@cache
def star(n: int) -> NetworkCounts:
    """Return the nodes, degree, diameter and sum of distances of S_n, by closed forms."""
    return NetworkCounts(factorial(n), n - 1, diameter(n), distance_sum(n))


@cache
def cube(n: int) -> NetworkCounts:
    """Return the nodes, degree, diameter and sum of distances of a hypercube, by closed forms.

    It is the smallest hypercube with at least n! nodes. For huge n, its dimension is not rounded up
    to an integer.
    """
    # For huge n, log2 n! is not rounded up, because its fractional part is not computed exactly.
    k = int(factorial(n) - 1).bit_length() if n <= EXACT else log2(factorial(n))
    nodes = power_of_2(k)
    return NetworkCounts(nodes, k, k, k * nodes // 2 if isinstance(k, int) else k * nodes / 2)


def power_of_2(exponent: Number) -> Number:
    """Return 2^exponent, as an exact integer if the exponent is an integer below 4096.

    All other results are floating-point numbers of mpmath.
    """
    is_small = isinstance(exponent, int) and exponent < 4096
    return 2**exponent if is_small else mpmath.mpf(2) ** exponent


def least_steps(count: Number, links: Number) -> Number:
    """Return ceil(count/links), the fewest steps in which ``links`` links carry ``count`` units.

    A link carries one unit per step.
    """
    return ceil(divide(count, links))


def check_counts(
    check: ClaimCheck, which: Iterable[Callable[[int], NetworkCounts]] = (star, cube)
) -> None:
    """Check the closed forms in ``which``, such as `star`, by a breadth-first search."""
    n = check.n
    for side in which:
        stated = side(n)
        spec = f"S{n}" if side is star else f"Q{stated.links}"
        found = count_from_node(check, spec, degree=stated.links)
        check.equal(f"nodes, degree, diameter and distances of {spec}", list(found), list(stated))


def describe_cell(cell: str) -> str:
    """Return a description of a table cell, such as "steps of one-port alltoall".

    The argument ``cell`` is the id of the cell, in this example ``alltoall-oneport-time``.
    """
    *named, what = cell.split("-")
    of = sorted(named, key=lambda word: word not in _WORDS)
    return f"{_WORDS.get(what, what)} of {' '.join(_WORDS.get(word, word) for word in of)}"


#: Memory for the neighbour tables of both networks; the hypercube has up to 2 n! nodes.
NETWORKS = Memory(6 * 64)

# Orders of growth. A bound is a function of a network's counts, an order is a function of n, and
# both also depend on amounts such as M messages and x copies. The quotient of a bound and its order
# is maximized over all sample amounts.

#: A function of n that returns the tuples of amounts, such as (M, x), over which to maximize.
Amounts = Callable[[int], list[tuple[int, ...]]]


class Order(NamedTuple):
    """A stated order of growth: its formula, and its value as a function of n and amounts.

    Amounts are, for example, the number M of messages and the number x of copies.
    """

    formula: str
    value: Callable[..., Number]


class GrowthCell(NamedTuple):
    """A table cell that states the order of growth of a lower bound.

    The fields are the row's name, the closed form of the bound, the network's counts as a function
    of n, and the stated order.
    """

    row: str
    bound: ClosedForm
    network: Callable[[int], NetworkCounts]
    stated: Order

    @property
    def quotient_words(self) -> str:
        """The quotient of the cell's bound and the stated order, in words."""
        return f"{describe_cell(self.row)} / {self.stated.formula}"

    def quotient(self, n: int, *amounts: int) -> Number:
        """Return the quotient of the cell's bound and the stated order, for n and the amounts."""
        bound = self.bound(self.network(n), *amounts)
        return divide(bound, self.stated.value(n, *amounts))


def growth_cells(
    table: str, bounds: Mapping[str, ClosedForm], orders: Mapping[str, tuple[Order, Order]]
) -> dict[str, GrowthCell]:
    """Return the cells of a table that states orders of growth, by claim id.

    Args:
        table: prefix of the claim ids.
        bounds: closed form of the bound, by row.
        orders: stated orders on S_n and on the hypercube, by row.
    """
    return {
        f"{table}.{row}-{name}": GrowthCell(row, bounds[row], network, stated)
        for row, stated_orders in orders.items()
        for name, network, stated in zip(
            ("star", "hypercube"), (star, cube), stated_orders, strict=True
        )
    }


def one_message(_n: int) -> list[tuple[int, ...]]:
    """Return a list with one empty tuple, because bounds for one message depend only on n."""
    return [()]


def messages_and_copies(n: int) -> list[tuple[int, ...]]:
    """Return sample pairs of M messages and x copies: M from 1 to n^6, and x from 1 to n-1."""
    return [
        (m, x) for m in (1, isqrt(n), n, n**2, n**3, n**6) for x in sorted({1, isqrt(n), n - 1})
    ]


def order(check: ClaimCheck, what: str, quotient: ClosedForm, amounts: Amounts) -> None:
    """Check that a quotient is bounded by a constant, for all n and all sample amounts."""
    check.order(what, partial(_greatest, quotient, amounts))


# The results are cached, because the checks of a claim at different sizes all use the same huge n.
@lru_cache(maxsize=1024)
def _greatest(quotient: ClosedForm, amounts: Amounts, n: int) -> Number:
    return greatest(quotient(n, *values) for values in amounts(n))


def same_order(check: ClaimCheck, what: str, quotient: ClosedForm, amounts: Amounts) -> None:
    """Check that a quotient and its reciprocal are bounded, for all n and all sample amounts."""
    order(check, what, quotient, amounts)
    order(check, f"{what}{REVERSED}", lambda *values: divide(1, quotient(*values)), amounts)


Ratio = Literal["star / hypercube", "star / hypercube / log n", "hypercube / star / log n"]


def compare(
    check: ClaimCheck,
    comparison: Ratio,
    *rows: str,
    bounds: Mapping[str, ClosedForm],
    amounts: Amounts,
) -> None:
    """Compare the orders of growth of the lower bounds for S_n and the hypercube in some rows.

    For each of ``rows``, the quotient of the two bounds that ``comparison`` names must be bounded
    from above and below by positive constants. So the orders are equal, or they differ by the
    factor log n.
    """
    for row in rows:
        quotient = partial(_compared, comparison, bounds[row])
        same_order(check, f"{describe_cell(row)}, {comparison}", quotient, amounts)


def _compared(comparison: Ratio, bound: ClosedForm, n: int, *values: int) -> Number:
    factor = divide(bound(star(n), *values), bound(cube(n), *values))
    if comparison == "hypercube / star / log n":
        return divide(1, factor * log2(n))
    return factor if comparison == "star / hypercube" else divide(factor, log2(n))
