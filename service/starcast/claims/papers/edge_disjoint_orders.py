"""Fragopoulou & Akl 1996, Table 4 and what closes the paper: star graph and hypercube compared, in orders of growth."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from starcast.claims.declaration import Family, stars
from starcast.claims.growth import Number, divided, factorial, log2
from starcast.claims.instruments import sides
from starcast.claims.instruments.sides import Side, cube, in_words, seen, star, through
from starcast.claims.papers.fragopoulou_akl_orders import weight
from starcast.claims.see import See

FAMILY = Family("edge_disjoint_orders")
claim = FAMILY.claim

Entry = Callable[[Side, int, int], Number]
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


def _pipelined(side: Side, units: int) -> Number:
    return through(units, side.links) + side.far - 1


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
        Pair("broadcast-time", lambda s, m, _x: _pipelined(s, m), *_by_degree("M", lambda m, _x: m)),
        Pair("broadcast-transmissions", lambda s, m, _x: m * (s.nodes - 1), _ALONE, _ALONE),
        Pair("ft-broadcast-time", lambda s, m, x: _pipelined(s, m * x), *_by_degree("Mx", lambda m, x: m * x)),
        Pair("ft-broadcast-transmissions", lambda s, m, x: m * x * (s.nodes - 1), _RECEIVED, _RECEIVED),
        Pair("ft-allgather-time", lambda s, m, x: through(m * x * (s.nodes - 1), s.links), _BY_N, _BY_N_LOG_N),
        Pair(
            "ft-allgather-transmissions", lambda s, m, x: m * x * s.nodes * (s.nodes - 1), _RECEIVED_BY_ALL, _RECEIVED_BY_ALL
        ),
        Pair("ft-scatter-time", lambda s, m, x: through(m * x * (s.nodes - 1), s.links), _BY_N, _BY_N_LOG_N),
        Pair(
            "ft-scatter-transmissions", lambda s, m, x: m * x * s.total,
            (lambda n, m, x: m * x * factorial(n) * n, "O(Mx n! n)"),
            (lambda n, m, x: m * x * factorial(n) * _n_log_n(n), "O(Mx n! n log n)"),
        ),
        Pair("ft-alltoall-time", lambda s, m, x: divided(m * x * s.total, s.links), _RECEIVED, _RECEIVED),
        Pair(
            "ft-alltoall-transmissions", lambda s, m, x: m * x * s.nodes * s.total,
            (lambda n, m, x: m * x * factorial(n) ** 2 * n, "O(Mx n!^2 n)"),
            (lambda n, m, x: m * x * factorial(n) ** 2 * _n_log_n(n), "O(Mx n!^2 n log n)"),
        ),
    )
}  # fmt: skip
_EXCHANGE = "ft-alltoall-time"
_CUT = "what follows Mx n! in the damaged cell is read as a fraction with the degree, as the closing comparison has it"


def _is(see: See, *, pair: Pair, side: Callable[[int], Side], stated: Order, said: str) -> None:
    """The entry is of the order that is stated, for all M and x."""
    seen(see, (side,))
    sides.order(see, f"{in_words(pair.cell)} / {said}", partial(_quotient, pair, side, stated))
    if pair.cell == _EXCHANGE:
        by_degree, words = _BY_N if side is star else _BY_N_LOG_N
        other = see.reading(f"{words}: {_CUT}")
        sides.order(
            other, f"{in_words(pair.cell)} / {words}", partial(_quotient, pair, side, by_degree)
        )


def _factor(cell: str, n: int, m: int, x: int) -> Number:
    """Star over hypercube."""
    entry = PAIRS[cell].entry
    return divided(entry(star(n), m, x), entry(cube(n), m, x))


def _more(cell: str, n: int, m: int, x: int) -> Number:
    """Hypercube over star, over log n."""
    return divided(1, _factor(cell, n, m, x) * log2(n))


def _quotient(
    pair: Pair, side: Callable[[int], Side], stated: Order, n: int, m: int, x: int
) -> Number:
    return divided(pair.entry(side(n), m, x), stated(n, m, x))


_SIZES = stars(6, 7, 8, beyond=False)
_RESTORED = "fractions cut in our copy are restored from Tables 2 and 3, and rows lost by the argument of section 4.1"
for _pair in PAIRS.values():
    for _name, _side, (_stated, _said) in (
        ("star", star, _pair.star),
        ("hypercube", cube, _pair.cube),
    ):
        _where = "S_n" if _side is star else "Q_k, k = ceil(log2 n!)"
        FAMILY.add(
            f"EDT.Tab4.{_pair.cell}-{_name}", "Table 4", _SIZES,
            f"{in_words(_pair.cell)}, {_where}, all M and x <= n-1: {_said}.",
            partial(_is, pair=_pair, side=_side, stated=_stated, said=_said), reading=_RESTORED, weight=weight,
        )  # fmt: skip


def _closing(
    name: str, notation: str, reading: str = ""
) -> Callable[[Callable[[See], None]], Callable[[See], None]]:
    return claim(
        f"EDT.hyper.{name}",
        "Section 5",
        _SIZES,
        f"{notation} For all M and x <= n-1.",
        reading=reading,
        weight=weight,
    )


@_closing(
    "degree",
    "allgather and scatter in x copies: the steps on S_n over those on Q_k are of order log n.",
)
def _degree(see: See) -> None:
    seen(see)
    for cell in ("ft-allgather-time", "ft-scatter-time"):
        _slower(see, cell)


@_closing(
    "te-time",
    "alltoall in x copies: the steps on S_n over those on Q_k are of order log n.",
    reading="the steps are Mx t_n/(n-1) and Mx 2^(k-1), as section 4.1 argues for n-1 copies; the rows of tables are damaged",
)
def _exchanged(see: See) -> None:
    seen(see)
    _slower(see, _EXCHANGE)
    true = see.instead(
        "Mx t_n/(n-1) and Mx 2^(k-1) steps are of the same order: a hypercube has more links and longer ways"
    )
    sides.same_order(true, f"{in_words(_EXCHANGE)}, star / hypercube", partial(_factor, _EXCHANGE))
    cut = see.reading(
        "of the terms with which the damaged rows begin, ceil(Mx(N-1)/degree), which are bounds too, and weaker ones"
    )
    _slower(cut, "ft-scatter-time")


@_closing(
    "diameter",
    "scatter and alltoall in x copies: the transmissions on Q_k over those on S_n are of order log n.",
)
def _diameter(see: See) -> None:
    seen(see)
    for cell in ("ft-scatter-transmissions", "ft-alltoall-transmissions"):
        sides.same_order(see, f"{in_words(cell)}, hypercube / star / log n", partial(_more, cell))


@_closing(
    "broadcast",
    "broadcast in 1 and in x copies: the steps are of order M/n + n on S_n, and of order M/(n log n) + n log n on Q_k.",
)
def _broadcast(see: See) -> None:
    seen(see)
    for cell in ("broadcast-time", "ft-broadcast-time"):
        pair = PAIRS[cell]
        for side, (stated, said) in ((star, pair.star), (cube, pair.cube)):
            sides.same_order(
                see, f"{in_words(cell)} / {said}", partial(_quotient, pair, side, stated)
            )


@_closing(
    "other",
    "the transmissions of broadcast in 1 and in x copies, and of allgather: S_n and Q_k are of the same order.",
)
def _other(see: See) -> None:
    seen(see)
    for cell in (
        "broadcast-transmissions",
        "ft-broadcast-transmissions",
        "ft-allgather-transmissions",
    ):
        sides.same_order(see, f"{in_words(cell)}, star / hypercube", partial(_factor, cell))


def _slower(see: See, cell: str) -> None:
    """The star graph takes more steps, by a factor of order log n."""
    sides.same_order(
        see,
        f"{in_words(cell)}, star / hypercube / log n",
        lambda n, m, x: divided(_factor(cell, n, m, x), log2(n)),
    )
