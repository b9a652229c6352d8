"""Fragopoulou & Akl 1996, Table 4 and section 5: orders of growth on star graph and hypercube.

S_n is compared with the smallest hypercube Q_k of at least n! nodes: k is of order n log n.
"""

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, divided, factorial, log2
from starcast.claims.reference import star_vs_hypercube
from starcast.claims.reference.star_vs_hypercube import (
    Bound,
    Comparison,
    GrowthCell,
    NetworkCounts,
    Order,
    check_counts,
    least_steps,
    messages_and_copies,
    network_bytes,
    star,
)
from starcast.claims.registry import check, check_rows


def n_log_n(n: int) -> Number:
    """Return n log2 n, the order of the degree and of the diameter of the hypercube."""
    return n * log2(n)


def pipeline_steps(counts: NetworkCounts, units: int) -> Number:
    """Return ceil(units/degree) + D - 1."""
    return least_steps(units, counts.links) + counts.far - 1


def by_degree_and_diameter(units: Number, links: Number) -> Number:
    """Return units/links + links, the order of a pipeline: links is of the order of D as well."""
    return divided(units, links) + links


M_STAR = Order("O(M/n + n)", lambda n, m, _: by_degree_and_diameter(m, n))
M_CUBE = Order("O(M/(n log n) + n log n)", lambda n, m, _: by_degree_and_diameter(m, n_log_n(n)))
COPIES_STAR = Order("O(Mx/n + n)", lambda n, m, x: by_degree_and_diameter(m * x, n))
COPIES_CUBE = Order(
    "O(Mx/(n log n) + n log n)", lambda n, m, x: by_degree_and_diameter(m * x, n_log_n(n))
)
M_NODES = Order("O(M n!)", lambda n, m, _: m * factorial(n))
NODES = Order("O(Mx n!)", lambda n, m, x: m * x * factorial(n))
PAIRS = Order("O(Mx n!^2)", lambda n, m, x: m * x * factorial(n) ** 2)
NODES_BY_N = Order("O(Mx n!/n)", lambda n, m, x: divided(m * x * factorial(n), n))
NODES_BY_N_LOG_N = Order(
    "O(Mx n!/(n log n))", lambda n, m, x: divided(m * x * factorial(n), n_log_n(n))
)
NODES_N = Order("O(Mx n! n)", lambda n, m, x: m * x * factorial(n) * n)
NODES_N_LOG_N = Order("O(Mx n! n log n)", lambda n, m, x: m * x * factorial(n) * n_log_n(n))
PAIRS_N = Order("O(Mx n!^2 n)", lambda n, m, x: m * x * factorial(n) ** 2 * n)
PAIRS_N_LOG_N = Order("O(Mx n!^2 n log n)", lambda n, m, x: m * x * factorial(n) ** 2 * n_log_n(n))

ALLTOALL_TIME = "ft-alltoall-time"
#: The bounds of Tables 2 and 3 as functions of the counts of a network, M and x.
BOUNDS: dict[str, Bound] = {
    "broadcast-time": lambda c, m, _: pipeline_steps(c, m),
    "broadcast-transmissions": lambda c, m, _: m * (c.nodes - 1),
    "ft-broadcast-time": lambda c, m, x: pipeline_steps(c, m * x),
    "ft-broadcast-transmissions": lambda c, m, x: m * x * (c.nodes - 1),
    "ft-allgather-time": lambda c, m, x: least_steps(m * x * (c.nodes - 1), c.links),
    "ft-allgather-transmissions": lambda c, m, x: m * x * c.nodes * (c.nodes - 1),
    "ft-scatter-time": lambda c, m, x: least_steps(m * x * (c.nodes - 1), c.links),
    "ft-scatter-transmissions": lambda c, m, x: m * x * c.total,
    ALLTOALL_TIME: lambda c, m, x: divided(m * x * c.total, c.links),
    "ft-alltoall-transmissions": lambda c, m, x: m * x * c.nodes * c.total,
}
#: Table 4: the order of each bound on S_n and on the hypercube.
ORDERS = {
    "broadcast-time": (M_STAR, M_CUBE),
    "broadcast-transmissions": (M_NODES, M_NODES),
    "ft-broadcast-time": (COPIES_STAR, COPIES_CUBE),
    "ft-broadcast-transmissions": (NODES, NODES),
    "ft-allgather-time": (NODES_BY_N, NODES_BY_N_LOG_N),
    "ft-allgather-transmissions": (PAIRS, PAIRS),
    "ft-scatter-time": (NODES_BY_N, NODES_BY_N_LOG_N),
    "ft-scatter-transmissions": (NODES_N, NODES_N_LOG_N),
    ALLTOALL_TIME: (NODES, NODES),
    "ft-alltoall-transmissions": (PAIRS_N, PAIRS_N_LOG_N),
}
CELLS = star_vs_hypercube.growth_cells("EDT.Tab4", BOUNDS, ORDERS)


def check_order(check: ClaimCheck, cell: GrowthCell) -> None:
    """Check that a bound is of the stated order, for all M and x."""
    check_counts(check, (cell.network,))
    star_vs_hypercube.order(check, cell.quotient_words, cell.quotient, messages_and_copies)
    if cell.row == ALLTOALL_TIME:
        by_degree = cell._replace(stated=NODES_BY_N if cell.network is star else NODES_BY_N_LOG_N)
        other = check.reading(
            f"{by_degree.stated.formula}: what follows Mx n! in the damaged cell is read as a "
            "fraction with the degree, as the closing comparison has it"
        )
        what = by_degree.quotient_words
        star_vs_hypercube.order(other, what, by_degree.quotient, messages_and_copies)


check_rows(check_order, CELLS, bytes_per_node=lambda topology, _: network_bytes(topology))


# The closing comparison


def compare(check: ClaimCheck, comparison: Comparison, *rows: str) -> None:
    """Check that quotients of the bounds on both networks are of constant order."""
    for row in rows:
        star_vs_hypercube.compare(check, row, comparison, BOUNDS[row], messages_and_copies)


@check("EDT.hyper.degree", bytes_per_node=network_bytes)
def allgather_and_scatter_steps(check: ClaimCheck) -> None:
    """Check that the hypercube takes fewer steps by a factor of order log n."""
    check_counts(check)
    compare(check, "star / hypercube / log n", "ft-allgather-time", "ft-scatter-time")


@check("EDT.hyper.te-time", bytes_per_node=network_bytes)
def alltoall_steps(check: ClaimCheck) -> None:
    """Check the factor of the steps of total exchanges, and that it is bounded instead."""
    check_counts(check)
    compare(check, "star / hypercube / log n", ALLTOALL_TIME)
    instead = check.correction(
        "Mx t_n/(n-1) and Mx 2^(k-1) steps are of the same order: "
        "a hypercube has more links and longer ways"
    )
    compare(instead, "star / hypercube", ALLTOALL_TIME)
    other = check.reading(
        "of the terms with which the damaged rows begin, ceil(Mx(N-1)/degree), "
        "which are bounds too, and weaker ones"
    )
    # The terms are the same as in the row of scatters.
    compare(other, "star / hypercube / log n", "ft-scatter-time")


@check("EDT.hyper.diameter", bytes_per_node=network_bytes)
def scatter_and_alltoall_transmissions(check: ClaimCheck) -> None:
    """Check that the star graph takes fewer transmissions by a factor of order log n."""
    check_counts(check)
    rows = ("ft-scatter-transmissions", "ft-alltoall-transmissions")
    compare(check, "hypercube / star / log n", *rows)


@check("EDT.hyper.broadcast", bytes_per_node=network_bytes)
def broadcast_steps(check: ClaimCheck) -> None:
    """Check that the steps of broadcasts are exactly of the stated orders."""
    check_counts(check)
    for cell in CELLS.values():
        if cell.row in ("broadcast-time", "ft-broadcast-time"):
            what = cell.quotient_words
            star_vs_hypercube.same_order(check, what, cell.quotient, messages_and_copies)


@check("EDT.hyper.other", bytes_per_node=network_bytes)
def broadcast_transmissions(check: ClaimCheck) -> None:
    """Check that both networks take transmissions of the same order."""
    check_counts(check)
    collectives = ("broadcast", "ft-broadcast", "ft-allgather")
    rows = [f"{collective}-transmissions" for collective in collectives]
    compare(check, "star / hypercube", *rows)
