"""Fragopoulou & Akl 1993, Table 5: lower bounds on the hypercube of dimension k."""

from collections.abc import Callable

from starcast.claims.check import ClaimCheck
from starcast.claims.model import BYTES_PER_LINK
from starcast.claims.papers.fragopoulou_akl.lower_bounds import BOUNDS, Bound
from starcast.claims.reference import lower_bound_counts
from starcast.claims.reference.cube_schedules import unit_schedules_on_cube
from starcast.claims.reference.lower_bound_counts import count_from_node
from starcast.claims.registry import check_rows
from starcast.collectives.model import BYTES_PER_ROW
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

Row = tuple[Bound, Callable[[int], int]]


def one_per_other_node(k: int) -> int:
    """Return 2^k - 1."""
    return (1 << k) - 1


def one_per_pair(k: int) -> int:
    """Return 2^k(2^k - 1)."""
    return (1 << k) * one_per_other_node(k)


def share_of_a_link(k: int) -> int:
    """Return ceil((2^k - 1)/k)."""
    return ceil_div(one_per_other_node(k), k)


def distance_sum(k: int) -> int:
    """Return k 2^(k-1)."""
    return k * (1 << (k - 1))


def distance_sum_of_pairs(k: int) -> int:
    """Return k 2^(2k-1)."""
    return k * (1 << (2 * k - 1))


def distance_share(k: int) -> int:
    """Return 2^(k-1)."""
    return 1 << (k - 1)


#: Table 5: the bound of each cell, as a function of k.
CELLS = {
    "allgather-transmissions": one_per_pair,
    "allgather-oneport-time": one_per_other_node,
    "allgather-allport-time": share_of_a_link,
    "scatter-transmissions": distance_sum,
    "scatter-oneport-time": one_per_other_node,
    "scatter-allport-time": share_of_a_link,
    "alltoall-transmissions": distance_sum_of_pairs,
    "alltoall-oneport-time": distance_sum,
    "alltoall-allport-time": distance_share,
}


def no_schedule_beats_bound(check: ClaimCheck, row: Row) -> None:
    """Check the count of the argument, and that no schedule on Q_k beats the bound."""
    bound, formula = row
    k = check.topology.n
    stated = formula(k)
    counts = count_from_node(check, degree=k)
    check.equal(bound.argument, bound.count(counts), stated)
    schedules = unit_schedules_on_cube(check, bound.collective, bound.ports)
    lower_bound_counts.check_not_beaten(check, schedules, stated, bound.quantity)


def schedule_bytes(topology: Topology, _: Row) -> int:
    """Return the bytes per node of the schedules on a hypercube."""
    return max(BYTES_PER_LINK, 2 * BYTES_PER_ROW) * topology.degree


check_rows(
    no_schedule_beats_bound,
    {f"FA.Tab5.{cell}": (BOUNDS[cell], formula) for cell, formula in CELLS.items()},
    bytes_per_node=schedule_bytes,
)
