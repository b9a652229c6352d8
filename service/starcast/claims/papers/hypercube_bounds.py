"""Fragopoulou & Akl 1993, Table 5: what the three problems require on the hypercube of dimension k."""

from collections.abc import Callable
from functools import partial

from starcast.claims.declaration import USUAL, Family, cubes
from starcast.claims.instruments import counting
from starcast.claims.instruments.counting import counted
from starcast.claims.instruments.cube_schedules import on_cubes
from starcast.claims.papers.fragopoulou_akl_bounds import BOUNDS, Bound
from starcast.claims.see import See
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

FAMILY = Family("hypercube_bounds")

#: Table 5, in the order of `BOUNDS`: a function of k, and its symbols.
_CELLS: tuple[tuple[Callable[[int], int], str], ...] = (
    (lambda k: 2**k * (2**k - 1), "2^k(2^k-1)"),
    (lambda k: 2**k - 1, "2^k-1"),
    (lambda k: ceil_div(2**k - 1, k), "ceil((2^k-1)/k)"),
    (lambda k: k * 2 ** (k - 1), "k 2^(k-1)"),
    (lambda k: 2**k - 1, "2^k-1"),
    (lambda k: ceil_div(2**k - 1, k), "ceil((2^k-1)/k)"),
    (lambda k: k * 2 ** (2 * k - 1), "k 2^(2k-1)"),
    (lambda k: k * 2 ** (k - 1), "k 2^(k-1)"),
    (lambda k: 2 ** (k - 1), "2^(k-1)"),
)


def _bound(see: See, *, bound: Bound, stated: Callable[[int], int]) -> None:
    """The counts are those stated, and no schedule takes less."""
    least = stated(see.where.n)
    see.equal(bound.why, bound.count(counted(see, degree=see.where.n)), least)
    counting.not_beaten(see, on_cubes(see, bound.collective, bound.ports), least, bound.what)


def _weight(where: Topology) -> int:
    return max(USUAL, 80 * 2) * where.degree


for _which, (_stated, _said) in zip(BOUNDS, _CELLS, strict=True):
    _whose = f"{_which.collective}{'' if _which.what == 'transmissions' else f', {_which.ports}-port'}, one message, Q_k"
    FAMILY.add(
        f"FA.Tab5.{_which.cell}", "Table 5", cubes(8, 9, 10), f"{_whose}: no schedule takes fewer than {_said} {_which.what}.",
        partial(_bound, bound=_which, stated=_stated), weight=_weight,
    )  # fmt: skip
