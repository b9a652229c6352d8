"""Fragopoulou & Akl 1996, Table 4 and what closes the paper: star graph and hypercube compared, in orders of growth."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, divided, factorial, log2
from starcast.claims.papers.fragopoulou_akl.growth_orders import weight
from starcast.claims.reference import star_vs_hypercube
from starcast.claims.reference.star_vs_hypercube import (
    NetworkCounts,
    check_counts,
    cube,
    describe_cell,
    least_steps,
    star,
)
from starcast.claims.registry import check, register

Entry = Callable[[NetworkCounts, int, int], Number]
Order = Callable[[int, int, int], Number]


class Pair(NamedTuple):
    """A row and problem of Table 4.

    Attributes:
        cell: what the ids call it, without the network.
        entry: the entry of Tables 2 and 3, by what it is made of, M and x.
        star, cube: the orders that are stated, functions of n, M and x, and in symbols.
    """

    cell: str
    entry: Entry
    star: tuple[Order, str]
    cube: tuple[Order, str]


def _n_log_n(n: int) -> Number:
    return n * log2(n)


def _pipelined(side: NetworkCounts, units: int) -> Number:
    return least_steps(units, side.links) + side.far - 1


def _by_degree(
    name: str, units: Callable[[int, int], int]
) -> tuple[tuple[Order, str], tuple[Order, str]]:
    """M/n + n, and M/(n log n) + n log n, of as many units as there are."""
    return (
        (lambda n, m, x: divided(units(m, x), n) + n, f"O({name}/n + n)"),
        (
            lambda n, m, x: divided(units(m, x), _n_log_n(n)) + _n_log_n(n),
            f"O({name}/(n log n) + n log n)",
        ),
    )


_RECEIVED = (lambda n, m, x: m * x * factorial(n), "O(Mx n!)")
_RECEIVED_BY_ALL = (lambda n, m, x: m * x * factorial(n) ** 2, "O(Mx n!^2)")
_BY_N = (lambda n, m, x: divided(m * x * factorial(n), n), "O(Mx n!/n)")
_BY_N_LOG_N = (lambda n, m, x: divided(m * x * factorial(n), _n_log_n(n)), "O(Mx n!/(n log n))")
_ALONE = (lambda n, m, _x: m * factorial(n), "O(M n!)")
PAIRS = {
    pair.cell: pair
    for pair in (
        Pair(
            "broadcast-time", lambda s, m, _x: _pipelined(s, m), *_by_degree("M", lambda m, _x: m)
        ),
        Pair("broadcast-transmissions", lambda s, m, _x: m * (s.nodes - 1), _ALONE, _ALONE),
        Pair(
            "ft-broadcast-time",
            lambda s, m, x: _pipelined(s, m * x),
            *_by_degree("Mx", lambda m, x: m * x),
        ),
        Pair(
            "ft-broadcast-transmissions",
            lambda s, m, x: m * x * (s.nodes - 1),
            _RECEIVED,
            _RECEIVED,
        ),
        Pair(
            "ft-allgather-time",
            lambda s, m, x: least_steps(m * x * (s.nodes - 1), s.links),
            _BY_N,
            _BY_N_LOG_N,
        ),
        Pair(
            "ft-allgather-transmissions",
            lambda s, m, x: m * x * s.nodes * (s.nodes - 1),
            _RECEIVED_BY_ALL,
            _RECEIVED_BY_ALL,
        ),
        Pair(
            "ft-scatter-time",
            lambda s, m, x: least_steps(m * x * (s.nodes - 1), s.links),
            _BY_N,
            _BY_N_LOG_N,
        ),
        Pair(
            "ft-scatter-transmissions",
            lambda s, m, x: m * x * s.total,
            (lambda n, m, x: m * x * factorial(n) * n, "O(Mx n! n)"),
            (lambda n, m, x: m * x * factorial(n) * _n_log_n(n), "O(Mx n! n log n)"),
        ),
        Pair(
            "ft-alltoall-time",
            lambda s, m, x: divided(m * x * s.total, s.links),
            _RECEIVED,
            _RECEIVED,
        ),
        Pair(
            "ft-alltoall-transmissions",
            lambda s, m, x: m * x * s.nodes * s.total,
            (lambda n, m, x: m * x * factorial(n) ** 2 * n, "O(Mx n!^2 n)"),
            (lambda n, m, x: m * x * factorial(n) ** 2 * _n_log_n(n), "O(Mx n!^2 n log n)"),
        ),
    )
}
_EXCHANGE = "ft-alltoall-time"
_CUT = "what follows Mx n! in the damaged cell is read as a fraction with the degree, as the closing comparison has it"


def _is(
    check: ClaimCheck, *, pair: Pair, side: Callable[[int], NetworkCounts], stated: Order, said: str
) -> None:
    """The entry is of the order that is stated, for all M and x."""
    check_counts(check, (side,))
    star_vs_hypercube.order(
        check, f"{describe_cell(pair.cell)} / {said}", partial(_quotient, pair, side, stated)
    )
    if pair.cell == _EXCHANGE:
        by_degree, words = _BY_N if side is star else _BY_N_LOG_N
        other = check.reading(f"{words}: {_CUT}")
        star_vs_hypercube.order(
            other,
            f"{describe_cell(pair.cell)} / {words}",
            partial(_quotient, pair, side, by_degree),
        )


def _factor(cell: str, n: int, m: int, x: int) -> Number:
    """Star over hypercube."""
    entry = PAIRS[cell].entry
    return divided(entry(star(n), m, x), entry(cube(n), m, x))


def _more(cell: str, n: int, m: int, x: int) -> Number:
    """Hypercube over star, over log n."""
    return divided(1, _factor(cell, n, m, x) * log2(n))


def _quotient(
    pair: Pair, side: Callable[[int], NetworkCounts], stated: Order, n: int, m: int, x: int
) -> Number:
    return divided(pair.entry(side(n), m, x), stated(n, m, x))


for _pair in PAIRS.values():
    for _name, _side, (_stated, _said) in (
        ("star", star, _pair.star),
        ("hypercube", cube, _pair.cube),
    ):
        register(
            f"EDT.Tab4.{_pair.cell}-{_name}",
            partial(_is, pair=_pair, side=_side, stated=_stated, said=_said),
            bytes_per_node=weight,
        )


@check("EDT.hyper.degree", bytes_per_node=weight)
def _degree(check: ClaimCheck) -> None:
    check_counts(check)
    for cell in ("ft-allgather-time", "ft-scatter-time"):
        _slower(check, cell)


@check("EDT.hyper.te-time", bytes_per_node=weight)
def _exchanged(check: ClaimCheck) -> None:
    check_counts(check)
    _slower(check, _EXCHANGE)
    true = check.correction(
        "Mx t_n/(n-1) and Mx 2^(k-1) steps are of the same order: a hypercube has more links and longer ways"
    )
    star_vs_hypercube.same_order(
        true, f"{describe_cell(_EXCHANGE)}, star / hypercube", partial(_factor, _EXCHANGE)
    )
    cut = check.reading(
        "of the terms with which the damaged rows begin, ceil(Mx(N-1)/degree), which are bounds too, and weaker ones"
    )
    _slower(cut, "ft-scatter-time")


@check("EDT.hyper.diameter", bytes_per_node=weight)
def _diameter(check: ClaimCheck) -> None:
    check_counts(check)
    for cell in ("ft-scatter-transmissions", "ft-alltoall-transmissions"):
        star_vs_hypercube.same_order(
            check, f"{describe_cell(cell)}, hypercube / star / log n", partial(_more, cell)
        )


@check("EDT.hyper.broadcast", bytes_per_node=weight)
def _broadcast(check: ClaimCheck) -> None:
    check_counts(check)
    for cell in ("broadcast-time", "ft-broadcast-time"):
        pair = PAIRS[cell]
        for side, (stated, said) in ((star, pair.star), (cube, pair.cube)):
            star_vs_hypercube.same_order(
                check, f"{describe_cell(cell)} / {said}", partial(_quotient, pair, side, stated)
            )


@check("EDT.hyper.other", bytes_per_node=weight)
def _other(check: ClaimCheck) -> None:
    check_counts(check)
    for cell in (
        "broadcast-transmissions",
        "ft-broadcast-transmissions",
        "ft-allgather-transmissions",
    ):
        star_vs_hypercube.same_order(
            check, f"{describe_cell(cell)}, star / hypercube", partial(_factor, cell)
        )


def _slower(check: ClaimCheck, cell: str) -> None:
    """The star graph takes more steps, by a factor of order log n."""
    star_vs_hypercube.same_order(
        check,
        f"{describe_cell(cell)}, star / hypercube / log n",
        lambda n, m, x: divided(_factor(cell, n, m, x), log2(n)),
    )
