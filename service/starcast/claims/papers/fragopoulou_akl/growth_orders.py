"""Fragopoulou & Akl 1993, Table 6 and section 9: star graph and hypercube in orders of growth."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, divided, factorial, log2
from starcast.claims.model import BYTES_PER_LINK
from starcast.claims.papers.fragopoulou_akl.lower_bounds import BOUNDS
from starcast.claims.reference.star_vs_hypercube import (
    NetworkCounts,
    check_counts,
    cube,
    describe_cell,
    star,
)
from starcast.claims.registry import check, check_rows
from starcast.topologies import Topology

Network = Callable[[int], NetworkCounts]


class GrowthOrder(NamedTuple):
    """The order n!^factorials (n log2 n)^power, with or without the logarithm, and its words."""

    words: str
    factorials: int
    power: int = 0
    has_logarithm: bool = False

    def value(self, n: int) -> Number:
        """Return the value at n, exact for small n if there is no logarithm."""
        nodes = factorial(n) ** self.factorials
        factor = n * log2(n) if self.has_logarithm else n
        return nodes * factor**self.power if self.power >= 0 else divided(nodes, factor)


NODES = GrowthOrder("O(n!)", 1)
PAIRS = GrowthOrder("O(n!^2)", 2)
OVER_N = GrowthOrder("O(n!/n)", 1, -1)
OVER_N_LOG_N = GrowthOrder("O(n!/(n log n))", 1, -1, has_logarithm=True)
TIMES_N = GrowthOrder("O(n! n)", 1, 1)
TIMES_N_LOG_N = GrowthOrder("O(n! n log n)", 1, 1, has_logarithm=True)
PAIRS_TIMES_N = GrowthOrder("O(n!^2 n)", 2, 1)
PAIRS_TIMES_N_LOG_N = GrowthOrder("O(n!^2 n log n)", 2, 1, has_logarithm=True)
#: Table 6: the order of each entry on the star graph and on the hypercube.
ORDERS = {
    "allgather-transmissions": (PAIRS, PAIRS),
    "allgather-oneport-time": (NODES, NODES),
    "allgather-allport-time": (OVER_N, OVER_N_LOG_N),
    "scatter-transmissions": (TIMES_N, TIMES_N_LOG_N),
    "scatter-oneport-time": (NODES, NODES),
    "scatter-allport-time": (OVER_N, OVER_N_LOG_N),
    "alltoall-transmissions": (PAIRS_TIMES_N, PAIRS_TIMES_N_LOG_N),
    "alltoall-oneport-time": (TIMES_N, TIMES_N),
    "alltoall-allport-time": (NODES, NODES),
}
#: The cell of which Table 6 states the order for the hypercube too low.
WRONG_CELL = "alltoall-oneport-time"


def weight(topology: Topology) -> int:
    """Return the bytes per node of both neighbour tables: the hypercube has up to 2 n! nodes."""
    return BYTES_PER_LINK * 4 * topology.n


class GrowthOrderRow(NamedTuple):
    """A cell of Table 6, the network, and the order that the paper states."""

    cell: str
    network: Network
    order: GrowthOrder


def order_quotient(row: GrowthOrderRow, n: int) -> Number:
    """Return the entry of Tables 4 and 5 over the stated order."""
    return divided(BOUNDS[row.cell].count(row.network(n)), row.order.value(n))


def entry_is_of_order(check: ClaimCheck, row: GrowthOrderRow) -> None:
    """Check that an entry is of the order that Table 6 states."""
    check_counts(check, (row.network,))
    what = f"{describe_cell(row.cell)} / {row.order.words}"
    check.order(what, partial(order_quotient, row))
    if row.cell == WRONG_CELL and row.network is cube:
        correction = check.correction(
            "O(n! n log n) steps, as a node of the hypercube has k 2^(k-1) hops to pass on, "
            "k of order n log n"
        )
        quotient = partial(order_quotient, row._replace(order=TIMES_N_LOG_N))
        correction.same_order("k 2^(k-1) / (n! n log n)", quotient)


_ROWS = {
    f"FA.Tab6.{cell}-{name}": GrowthOrderRow(cell, network, orders[index])
    for cell, orders in ORDERS.items()
    for index, (name, network) in enumerate((("star", star), ("hypercube", cube)))
}
check_rows(entry_is_of_order, _ROWS, bytes_per_node=lambda topology, _: weight(topology))


def star_over_cube(cell: str, n: int) -> Number:
    """Return the entry on the star graph over the entry on the hypercube."""
    entry = BOUNDS[cell].count
    return divided(entry(star(n)), entry(cube(n)))


def star_over_cube_over_log(cell: str, n: int) -> Number:
    """Return star graph over hypercube, divided by log n."""
    return divided(star_over_cube(cell, n), log2(n))


def cube_over_star_over_log(cell: str, n: int) -> Number:
    """Return hypercube over star graph, divided by log n."""
    return divided(1, star_over_cube(cell, n) * log2(n))


@check("FA.hyper.degree", bytes_per_node=weight)
def hypercube_is_faster_by_degree(check: ClaimCheck) -> None:
    """Check that all-port allgather and scatter are slower on S_n by a factor of order log n."""
    check_counts(check)
    for cell in ("allgather-allport-time", "scatter-allport-time"):
        what = f"{describe_cell(cell)}, star / hypercube / log n"
        check.same_order(what, partial(star_over_cube_over_log, cell))


@check("FA.hyper.diameter", bytes_per_node=weight)
def star_needs_fewer_transmissions(check: ClaimCheck) -> None:
    """Check that the transmissions on Q_k are more by a factor of order log n."""
    check_counts(check)
    for cell in ("scatter-transmissions", "alltoall-transmissions"):
        what = f"{describe_cell(cell)}, hypercube / star / log n"
        check.same_order(what, partial(cube_over_star_over_log, cell))


@check("FA.hyper.both", bytes_per_node=weight)
def exchange_times_are_of_one_order(check: ClaimCheck) -> None:
    """Check that the steps of all-port alltoall are of the same order on both networks."""
    check_counts(check)
    quotient = partial(star_over_cube, "alltoall-allport-time")
    check.same_order("steps of all-port alltoall, star / hypercube", quotient)


@check("FA.hyper.other", bytes_per_node=weight)
def other_cells_are_of_one_order(check: ClaimCheck) -> None:
    """Check that all other cells of Table 6 are of the same order on both networks."""
    check_counts(check)
    equal_cells = ("allgather-transmissions", "allgather-oneport-time", "scatter-oneport-time")
    correction = check.correction(
        "one-port alltoall takes fewer steps on the star graph, by a factor of order log n; "
        "the others are the same"
    )
    for recorder, cells in ((check, (*equal_cells, WRONG_CELL)), (correction, equal_cells)):
        for cell in cells:
            what = f"{describe_cell(cell)}, star / hypercube"
            recorder.same_order(what, partial(star_over_cube, cell))
    what = f"{describe_cell(WRONG_CELL)}, hypercube / star / log n"
    correction.same_order(what, partial(cube_over_star_over_log, WRONG_CELL))
