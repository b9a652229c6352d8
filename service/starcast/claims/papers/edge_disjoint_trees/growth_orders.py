"""Fragopoulou & Akl 1996, Table 4 and section 5: orders of growth on star graph and hypercube.

S_n is compared with the smallest hypercube Q_k of at least n! nodes: k is of order n log n.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, divided, factorial, log2
from starcast.claims.model import BYTES_PER_LINK
from starcast.claims.reference import star_vs_hypercube
from starcast.claims.reference.star_vs_hypercube import (
    NetworkCounts,
    check_counts,
    cube,
    describe_cell,
    least_steps,
    star,
)
from starcast.claims.registry import check, check_rows
from starcast.topologies import Topology

Network = Callable[[int], NetworkCounts]
#: A bound of Tables 2 and 3 as a function of the counts of a network, M and x.
Bound = Callable[[NetworkCounts, int, int], Number]


class Order(NamedTuple):
    """A stated order of growth: a function of n, M and x, and its formula."""

    value: Callable[[int, int, int], Number]
    formula: str


class GrowthRow(NamedTuple):
    """A row of Table 4 with its bound, and the stated orders on S_n and on the hypercube."""

    bound: Bound
    star: Order
    cube: Order


class Cell(NamedTuple):
    """A cell of Table 4: name of the row, network, and the stated order."""

    row: str
    network: Network
    stated: Order


def n_log_n(n: int) -> Number:
    """Return n log2 n, the order of the degree and of the diameter of the hypercube."""
    return n * log2(n)


def pipeline_steps(counts: NetworkCounts, units: int) -> Number:
    """Return ceil(units/degree) + D - 1."""
    return least_steps(units, counts.links) + counts.far - 1


def by_degree_and_diameter(units: Number, links: Number) -> Number:
    """Return units/links + links, the order of a pipeline: links is of the order of D as well."""
    return divided(units, links) + links


M_STAR = Order(lambda n, m, _: by_degree_and_diameter(m, n), "O(M/n + n)")
M_CUBE = Order(lambda n, m, _: by_degree_and_diameter(m, n_log_n(n)), "O(M/(n log n) + n log n)")
COPIES_STAR = Order(lambda n, m, x: by_degree_and_diameter(m * x, n), "O(Mx/n + n)")
COPIES_CUBE = Order(
    lambda n, m, x: by_degree_and_diameter(m * x, n_log_n(n)), "O(Mx/(n log n) + n log n)"
)
M_NODES = Order(lambda n, m, _: m * factorial(n), "O(M n!)")
NODES = Order(lambda n, m, x: m * x * factorial(n), "O(Mx n!)")
PAIRS = Order(lambda n, m, x: m * x * factorial(n) ** 2, "O(Mx n!^2)")
NODES_BY_N = Order(lambda n, m, x: divided(m * x * factorial(n), n), "O(Mx n!/n)")
NODES_BY_N_LOG_N = Order(
    lambda n, m, x: divided(m * x * factorial(n), n_log_n(n)), "O(Mx n!/(n log n))"
)
NODES_N = Order(lambda n, m, x: m * x * factorial(n) * n, "O(Mx n! n)")
NODES_N_LOG_N = Order(lambda n, m, x: m * x * factorial(n) * n_log_n(n), "O(Mx n! n log n)")
PAIRS_N = Order(lambda n, m, x: m * x * factorial(n) ** 2 * n, "O(Mx n!^2 n)")
PAIRS_N_LOG_N = Order(lambda n, m, x: m * x * factorial(n) ** 2 * n_log_n(n), "O(Mx n!^2 n log n)")

ALLTOALL_TIME = "ft-alltoall-time"
ROWS = {
    "broadcast-time": GrowthRow(lambda c, m, _: pipeline_steps(c, m), M_STAR, M_CUBE),
    "broadcast-transmissions": GrowthRow(lambda c, m, _: m * (c.nodes - 1), M_NODES, M_NODES),
    "ft-broadcast-time": GrowthRow(
        lambda c, m, x: pipeline_steps(c, m * x), COPIES_STAR, COPIES_CUBE
    ),
    "ft-broadcast-transmissions": GrowthRow(lambda c, m, x: m * x * (c.nodes - 1), NODES, NODES),
    "ft-allgather-time": GrowthRow(
        lambda c, m, x: least_steps(m * x * (c.nodes - 1), c.links), NODES_BY_N, NODES_BY_N_LOG_N
    ),
    "ft-allgather-transmissions": GrowthRow(
        lambda c, m, x: m * x * c.nodes * (c.nodes - 1), PAIRS, PAIRS
    ),
    "ft-scatter-time": GrowthRow(
        lambda c, m, x: least_steps(m * x * (c.nodes - 1), c.links), NODES_BY_N, NODES_BY_N_LOG_N
    ),
    "ft-scatter-transmissions": GrowthRow(lambda c, m, x: m * x * c.total, NODES_N, NODES_N_LOG_N),
    ALLTOALL_TIME: GrowthRow(lambda c, m, x: divided(m * x * c.total, c.links), NODES, NODES),
    "ft-alltoall-transmissions": GrowthRow(
        lambda c, m, x: m * x * c.nodes * c.total, PAIRS_N, PAIRS_N_LOG_N
    ),
}


def neighbour_tables_bytes(topology: Topology) -> int:
    """Return the bytes per node of the neighbour tables of S_n and of the larger hypercube."""
    return BYTES_PER_LINK * 4 * topology.n


def check_order(check: ClaimCheck, cell: Cell) -> None:
    """Check that a bound is of the stated order, for all M and x."""
    check_counts(check, (cell.network,))
    _check_cell(check, cell)
    if cell.row == ALLTOALL_TIME:
        by_degree = NODES_BY_N if cell.network is star else NODES_BY_N_LOG_N
        other = check.reading(
            f"{by_degree.formula}: what follows Mx n! in the damaged cell is read as a fraction "
            "with the degree, as the closing comparison has it"
        )
        _check_cell(other, cell._replace(stated=by_degree))


def _check_cell(check: ClaimCheck, cell: Cell) -> None:
    what = f"{describe_cell(cell.row)} / {cell.stated.formula}"
    star_vs_hypercube.order(check, what, partial(bound_by_order, cell))


def bound_by_order(cell: Cell, n: int, m: int, x: int) -> Number:
    """Return the quotient of a bound and the stated order."""
    return divided(ROWS[cell.row].bound(cell.network(n), m, x), cell.stated.value(n, m, x))


def star_by_cube(row: str, n: int, m: int, x: int) -> Number:
    """Return the quotient of the bounds on S_n and on the hypercube."""
    bound = ROWS[row].bound
    return divided(bound(star(n), m, x), bound(cube(n), m, x))


def star_by_cube_by_log(row: str, n: int, m: int, x: int) -> Number:
    """Return the quotient of the bounds on S_n and on the hypercube, divided by log n."""
    return divided(star_by_cube(row, n, m, x), log2(n))


def cube_by_star_by_log(row: str, n: int, m: int, x: int) -> Number:
    """Return the quotient of the bounds on the hypercube and on S_n, divided by log n."""
    return divided(1, star_by_cube(row, n, m, x) * log2(n))


for _network, _name in ((star, "star"), (cube, "hypercube")):
    _cells = {
        f"EDT.Tab4.{name}-{_name}": Cell(name, _network, row.star if _network is star else row.cube)
        for name, row in ROWS.items()
    }
    check_rows(
        check_order, _cells, bytes_per_node=lambda topology, _: neighbour_tables_bytes(topology)
    )


# The closing comparison


def _check_log_factor(check: ClaimCheck, row: str) -> None:
    """Check that the star graph takes more steps by a factor of order log n."""
    what = f"{describe_cell(row)}, star / hypercube / log n"
    star_vs_hypercube.same_order(check, what, partial(star_by_cube_by_log, row))


@check("EDT.hyper.degree", bytes_per_node=neighbour_tables_bytes)
def allgather_and_scatter_steps(check: ClaimCheck) -> None:
    """Check that the hypercube takes fewer steps by a factor of order log n."""
    check_counts(check)
    for row in ("ft-allgather-time", "ft-scatter-time"):
        _check_log_factor(check, row)


@check("EDT.hyper.te-time", bytes_per_node=neighbour_tables_bytes)
def alltoall_steps(check: ClaimCheck) -> None:
    """Check the factor of the steps of total exchanges, and that it is bounded instead."""
    check_counts(check)
    _check_log_factor(check, ALLTOALL_TIME)
    instead = check.correction(
        "Mx t_n/(n-1) and Mx 2^(k-1) steps are of the same order: "
        "a hypercube has more links and longer ways"
    )
    what = f"{describe_cell(ALLTOALL_TIME)}, star / hypercube"
    star_vs_hypercube.same_order(instead, what, partial(star_by_cube, ALLTOALL_TIME))
    other = check.reading(
        "of the terms with which the damaged rows begin, ceil(Mx(N-1)/degree), "
        "which are bounds too, and weaker ones"
    )
    # The terms are the same as in the row of scatters.
    _check_log_factor(other, "ft-scatter-time")


@check("EDT.hyper.diameter", bytes_per_node=neighbour_tables_bytes)
def scatter_and_alltoall_transmissions(check: ClaimCheck) -> None:
    """Check that the star graph takes fewer transmissions by a factor of order log n."""
    check_counts(check)
    for row in ("ft-scatter-transmissions", "ft-alltoall-transmissions"):
        what = f"{describe_cell(row)}, hypercube / star / log n"
        star_vs_hypercube.same_order(check, what, partial(cube_by_star_by_log, row))


@check("EDT.hyper.broadcast", bytes_per_node=neighbour_tables_bytes)
def broadcast_steps(check: ClaimCheck) -> None:
    """Check that the steps of broadcasts are exactly of the stated orders."""
    check_counts(check)
    for name in ("broadcast-time", "ft-broadcast-time"):
        for network, stated in ((star, ROWS[name].star), (cube, ROWS[name].cube)):
            what = f"{describe_cell(name)} / {stated.formula}"
            quotient = partial(bound_by_order, Cell(name, network, stated))
            star_vs_hypercube.same_order(check, what, quotient)


@check("EDT.hyper.other", bytes_per_node=neighbour_tables_bytes)
def broadcast_transmissions(check: ClaimCheck) -> None:
    """Check that both networks take transmissions of the same order."""
    check_counts(check)
    for row in (
        "broadcast-transmissions",
        "ft-broadcast-transmissions",
        "ft-allgather-transmissions",
    ):
        what = f"{describe_cell(row)}, star / hypercube"
        star_vs_hypercube.same_order(check, what, partial(star_by_cube, row))
