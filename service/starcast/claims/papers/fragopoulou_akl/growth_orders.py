"""Fragopoulou & Akl 1993, Table 6 and what closes the paper: star graph and hypercube compared, in orders of growth."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, divided, factorial, log2
from starcast.claims.model import BYTES_PER_LINK
from starcast.claims.reference.star_vs_hypercube import (
    NetworkCounts,
    check_counts,
    cube,
    describe_cell,
    least_steps,
    star,
)
from starcast.claims.registry import check, register
from starcast.topologies import Topology

Order = Callable[[int], Number]


class Pair(NamedTuple):
    """A row and problem of Table 6.

    Attributes:
        cell: what the ids call it, without the network.
        entry: the entry of Tables 4 and 5, by what it is made of.
        star, cube: the orders that are stated, and in symbols.
    """

    cell: str
    entry: Callable[[NetworkCounts], Number]
    star: tuple[Order, str]
    cube: tuple[Order, str]


def _n_log_n(n: int) -> Number:
    return n * log2(n)


_SQUARE = (lambda n: factorial(n) ** 2, "O(n!^2)")
_NODES = (factorial, "O(n!)")
_BY_N = (lambda n: divided(factorial(n), n), "O(n!/n)")
_BY_N_LOG_N = (lambda n: divided(factorial(n), _n_log_n(n)), "O(n!/(n log n))")
_TIMES_N = (lambda n: factorial(n) * n, "O(n! n)")
_TIMES_N_LOG_N = (lambda n: factorial(n) * _n_log_n(n), "O(n! n log n)")
PAIRS = {
    pair.cell: pair
    for pair in (
        Pair("allgather-transmissions", lambda s: s.nodes * (s.nodes - 1), _SQUARE, _SQUARE),
        Pair("allgather-oneport-time", lambda s: s.nodes - 1, _NODES, _NODES),
        Pair(
            "allgather-allport-time",
            lambda s: least_steps(s.nodes - 1, s.links),
            _BY_N,
            _BY_N_LOG_N,
        ),
        Pair("scatter-transmissions", lambda s: s.total, _TIMES_N, _TIMES_N_LOG_N),
        Pair("scatter-oneport-time", lambda s: s.nodes - 1, _NODES, _NODES),
        Pair(
            "scatter-allport-time", lambda s: least_steps(s.nodes - 1, s.links), _BY_N, _BY_N_LOG_N
        ),
        Pair(
            "alltoall-transmissions",
            lambda s: s.nodes * s.total,
            (lambda n: factorial(n) ** 2 * n, "O(n!^2 n)"),
            (lambda n: factorial(n) ** 2 * _n_log_n(n), "O(n!^2 n log n)"),
        ),
        Pair("alltoall-oneport-time", lambda s: s.total, _TIMES_N, _TIMES_N),
        Pair("alltoall-allport-time", lambda s: least_steps(s.total, s.links), _NODES, _NODES),
    )
}
_WRONG = "alltoall-oneport-time"


def weight(topology: Topology) -> int:
    """The neighbours of the hypercube, of up to twice as many nodes, come to those of the star graph."""
    return BYTES_PER_LINK * 4 * topology.n


def _is(
    check: ClaimCheck, *, pair: Pair, side: Callable[[int], NetworkCounts], stated: Order, said: str
) -> None:
    """The entry is of the order that is stated."""
    check_counts(check, (side,))
    check.order(
        f"{describe_cell(pair.cell)} / {said}", lambda n: divided(pair.entry(side(n)), stated(n))
    )
    if pair.cell == _WRONG and side is cube:
        _true_alltoall(check)


def _true_alltoall(check: ClaimCheck) -> None:
    true = check.correction(
        "O(n! n log n) steps, as a node of the hypercube has k 2^(k-1) hops to pass on, k of order n log n"
    )
    true.same_order(
        "k 2^(k-1) / (n! n log n)",
        lambda n: divided(PAIRS[_WRONG].entry(cube(n)), _TIMES_N_LOG_N[0](n)),
    )


def _factor(cell: str, n: int) -> Number:
    """Star over hypercube."""
    entry = PAIRS[cell].entry
    return divided(entry(star(n)), entry(cube(n)))


for _pair in PAIRS.values():
    for _name, _side, (_stated, _said) in (
        ("star", star, _pair.star),
        ("hypercube", cube, _pair.cube),
    ):
        register(
            f"FA.Tab6.{_pair.cell}-{_name}",
            partial(_is, pair=_pair, side=_side, stated=_stated, said=_said),
            bytes_per_node=weight,
        )


@check("FA.hyper.degree", bytes_per_node=weight)
def _degree(check: ClaimCheck) -> None:
    check_counts(check)
    for cell in ("allgather-allport-time", "scatter-allport-time"):
        check.same_order(
            f"{describe_cell(cell)}, star / hypercube / log n",
            lambda n, cell=cell: divided(_factor(cell, n), log2(n)),
        )


@check("FA.hyper.diameter", bytes_per_node=weight)
def _diameter(check: ClaimCheck) -> None:
    check_counts(check)
    for cell in ("scatter-transmissions", "alltoall-transmissions"):
        check.same_order(
            f"{describe_cell(cell)}, hypercube / star / log n",
            lambda n, cell=cell: divided(1, _factor(cell, n) * log2(n)),
        )


@check("FA.hyper.both", bytes_per_node=weight)
def _both(check: ClaimCheck) -> None:
    check_counts(check)
    check.same_order(
        "steps of all-port alltoall, star / hypercube",
        lambda n: _factor("alltoall-allport-time", n),
    )


@check("FA.hyper.other", bytes_per_node=weight)
def _other(check: ClaimCheck) -> None:
    check_counts(check)
    same = ("allgather-transmissions", "allgather-oneport-time", "scatter-oneport-time")
    true = check.correction(
        "one-port alltoall takes fewer steps on the star graph, by a factor of order log n; the others are the same"
    )
    for cell in (*same, _WRONG):
        check.same_order(
            f"{describe_cell(cell)}, star / hypercube", lambda n, cell=cell: _factor(cell, n)
        )
    for cell in same:
        true.same_order(
            f"{describe_cell(cell)}, star / hypercube", lambda n, cell=cell: _factor(cell, n)
        )
    true.same_order(
        f"{describe_cell(_WRONG)}, hypercube / star / log n",
        lambda n: divided(1, _factor(_WRONG, n) * log2(n)),
    )
