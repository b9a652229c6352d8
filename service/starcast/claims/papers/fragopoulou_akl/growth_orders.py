"""Fragopoulou & Akl 1993, Table 6 and section 9: star graph and hypercube in orders of growth."""

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import divided, factorial, log2
from starcast.claims.papers.fragopoulou_akl.lower_bounds import COUNTS
from starcast.claims.reference import star_vs_hypercube
from starcast.claims.reference.star_vs_hypercube import (
    Comparison,
    GrowthCell,
    Order,
    check_counts,
    cube,
    network_bytes,
    one_message,
)
from starcast.claims.registry import check, check_rows

NODES = Order("O(n!)", factorial)
PAIRS = Order("O(n!^2)", lambda n: factorial(n) ** 2)
OVER_N = Order("O(n!/n)", lambda n: divided(factorial(n), n))
OVER_N_LOG_N = Order("O(n!/(n log n))", lambda n: divided(factorial(n), n * log2(n)))
TIMES_N = Order("O(n! n)", lambda n: factorial(n) * n)
TIMES_N_LOG_N = Order("O(n! n log n)", lambda n: factorial(n) * n * log2(n))
PAIRS_TIMES_N = Order("O(n!^2 n)", lambda n: factorial(n) ** 2 * n)
PAIRS_TIMES_N_LOG_N = Order("O(n!^2 n log n)", lambda n: factorial(n) ** 2 * n * log2(n))
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


def entry_is_of_order(check: ClaimCheck, cell: GrowthCell) -> None:
    """Check that an entry of Tables 4 and 5 is of the order that Table 6 states."""
    check_counts(check, (cell.network,))
    check.order(cell.quotient_words, cell.quotient)
    if cell.row == WRONG_CELL and cell.network is cube:
        correction = check.correction(
            "O(n! n log n) steps, as a node of the hypercube has k 2^(k-1) hops to pass on, "
            "k of order n log n"
        )
        quotient = cell._replace(stated=TIMES_N_LOG_N).quotient
        correction.same_order("k 2^(k-1) / (n! n log n)", quotient)


check_rows(
    entry_is_of_order,
    star_vs_hypercube.growth_cells("FA.Tab6", COUNTS, ORDERS),
    bytes_per_node=lambda topology, _: network_bytes(topology),
)


def compare(check: ClaimCheck, comparison: Comparison, *cells: str) -> None:
    """Check that quotients of the entries on both networks are of constant order."""
    for cell in cells:
        star_vs_hypercube.compare(check, cell, comparison, COUNTS[cell], one_message)


@check("FA.hyper.degree", bytes_per_node=network_bytes)
def hypercube_is_faster_by_degree(check: ClaimCheck) -> None:
    """Check that all-port allgather and scatter are slower on S_n by a factor of order log n."""
    check_counts(check)
    compare(check, "star / hypercube / log n", "allgather-allport-time", "scatter-allport-time")


@check("FA.hyper.diameter", bytes_per_node=network_bytes)
def star_needs_fewer_transmissions(check: ClaimCheck) -> None:
    """Check that the transmissions on Q_k are more by a factor of order log n."""
    check_counts(check)
    compare(check, "hypercube / star / log n", "scatter-transmissions", "alltoall-transmissions")


@check("FA.hyper.both", bytes_per_node=network_bytes)
def exchange_times_are_of_one_order(check: ClaimCheck) -> None:
    """Check that the steps of all-port alltoall are of the same order on both networks."""
    check_counts(check)
    compare(check, "star / hypercube", "alltoall-allport-time")


@check("FA.hyper.other", bytes_per_node=network_bytes)
def other_cells_are_of_one_order(check: ClaimCheck) -> None:
    """Check that all other cells of Table 6 are of the same order on both networks."""
    check_counts(check)
    equal_cells = ("allgather-transmissions", "allgather-oneport-time", "scatter-oneport-time")
    correction = check.correction(
        "one-port alltoall takes fewer steps on the star graph, by a factor of order log n; "
        "the others are the same"
    )
    compare(check, "star / hypercube", *equal_cells, WRONG_CELL)
    compare(correction, "star / hypercube", *equal_cells)
    compare(correction, "hypercube / star / log n", WRONG_CELL)
