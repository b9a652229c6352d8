"""Fragopoulou & Akl 1993, Table 5: what the three problems require on the hypercube of dimension k."""

from collections.abc import Callable
from functools import partial

from starcast.claims.check import ClaimCheck
from starcast.claims.model import BYTES_PER_LINK
from starcast.claims.papers.fragopoulou_akl.lower_bounds import BOUNDS, Bound
from starcast.claims.reference import lower_bound_counts
from starcast.claims.reference.cube_schedules import unit_schedules_on_cube
from starcast.claims.reference.lower_bound_counts import count_from_node
from starcast.claims.registry import register
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

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


def _bound(check: ClaimCheck, *, bound: Bound, stated: Callable[[int], int]) -> None:
    """The counts are those stated, and no schedule takes less."""
    least = stated(check.topology.n)
    check.equal(bound.why, bound.count(count_from_node(check, degree=check.topology.n)), least)
    lower_bound_counts.check_not_beaten(
        check, unit_schedules_on_cube(check, bound.collective, bound.ports), least, bound.what
    )


def _weight(topology: Topology) -> int:
    return max(BYTES_PER_LINK, 80 * 2) * topology.degree


for _which, (_stated, _) in zip(BOUNDS, _CELLS, strict=True):
    register(
        f"FA.Tab5.{_which.cell}",
        partial(_bound, bound=_which, stated=_stated),
        bytes_per_node=_weight,
    )
