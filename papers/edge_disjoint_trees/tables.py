"""Checks of Fragopoulou & Akl 1996, Tables 1 to 4: lower bounds for M messages in x copies.

Each copy of a message reaches a node over its own path, which shares no link with the paths of the
other copies. So the source sends a message over x of its links, a node receives the message x
times, and every path is at least as long as the distance. `BOUNDS` derives a bound for each row
from these counts, `REASONS` describes the counts in words, and `TABLES` has the formulas that the
tables state.

Table 4 and section 5 compare S_n with the smallest hypercube Q_k of at least n! nodes, where k is
of order n log n.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import ClosedForm, Number, divide, factorial, log2
from starcast.claims.registry import Memory, check_rows, checks
from starcast.collectives.model import BYTES_PER_ROW
from starcast.support.integers import ceil_div

from ..common import lower_bound_counts, star_vs_hypercube
from ..common.closed_forms import diameter, distance_sum
from ..common.lower_bound_counts import NetworkCounts
from ..common.star_vs_hypercube import (
    NETWORKS,
    GrowthCell,
    Order,
    check_counts,
    least_steps,
    messages_and_copies,
    star,
)


def n_log_n(n: int) -> Number:
    """Return n log2 n, the order of the degree and diameter of a hypercube with about n! nodes."""
    return n * log2(n)


def pipeline_steps(counts: NetworkCounts, units: int) -> Number:
    """Return a lower bound on the steps of a broadcast of several units.

    On a network of diameter D, the bound is ceil(units/degree) + D - 1. The last of the units
    leaves the source in step ceil(units/degree) or later.
    """
    return least_steps(units, counts.links) + counts.far - 1


def by_degree_and_diameter(units: Number, links: Number) -> Number:
    """Return units/links + links, the order of growth of `pipeline_steps`.

    The argument ``links`` is the degree of the network, or the order of growth of the degree. The
    diameter has the same order as the degree.
    """
    return divide(units, links) + links


M_STAR = Order("O(M/n + n)", lambda n, m, _: by_degree_and_diameter(m, n))
M_CUBE = Order("O(M/(n log n) + n log n)", lambda n, m, _: by_degree_and_diameter(m, n_log_n(n)))
COPIES_STAR = Order("O(Mx/n + n)", lambda n, m, x: by_degree_and_diameter(m * x, n))
COPIES_CUBE = Order(
    "O(Mx/(n log n) + n log n)", lambda n, m, x: by_degree_and_diameter(m * x, n_log_n(n))
)
M_NODES = Order("O(M n!)", lambda n, m, _: m * factorial(n))
NODES = Order("O(Mx n!)", lambda n, m, x: m * x * factorial(n))
PAIRS = Order("O(Mx n!^2)", lambda n, m, x: m * x * factorial(n) ** 2)
NODES_BY_N = Order("O(Mx n!/n)", lambda n, m, x: divide(m * x * factorial(n), n))
NODES_BY_N_LOG_N = Order(
    "O(Mx n!/(n log n))", lambda n, m, x: divide(m * x * factorial(n), n_log_n(n))
)
NODES_N = Order("O(Mx n! n)", lambda n, m, x: m * x * factorial(n) * n)
NODES_N_LOG_N = Order("O(Mx n! n log n)", lambda n, m, x: m * x * factorial(n) * n_log_n(n))
PAIRS_N = Order("O(Mx n!^2 n)", lambda n, m, x: m * x * factorial(n) ** 2 * n)
PAIRS_N_LOG_N = Order("O(Mx n!^2 n log n)", lambda n, m, x: m * x * factorial(n) ** 2 * n_log_n(n))

ALLTOALL_TIME = "ft-alltoall-time"
#: The bounds of Tables 2 and 3, as functions of a network's counts and of the numbers M of messages
#: and x of copies.
BOUNDS: dict[str, ClosedForm] = {
    "broadcast-time": lambda c, m, _: pipeline_steps(c, m),
    "broadcast-transmissions": lambda c, m, _: m * (c.nodes - 1),
    "ft-broadcast-time": lambda c, m, x: pipeline_steps(c, m * x),
    "ft-broadcast-transmissions": lambda c, m, x: m * x * (c.nodes - 1),
    "ft-allgather-time": lambda c, m, x: least_steps(m * x * (c.nodes - 1), c.links),
    "ft-allgather-transmissions": lambda c, m, x: m * x * c.nodes * (c.nodes - 1),
    "ft-scatter-time": lambda c, m, x: least_steps(m * x * (c.nodes - 1), c.links),
    "ft-scatter-transmissions": lambda c, m, x: m * x * c.total,
    ALLTOALL_TIME: lambda c, m, x: divide(m * x * c.total, c.links),
    "ft-alltoall-transmissions": lambda c, m, x: m * x * c.nodes * c.total,
}
#: Table 4: the order of growth of each bound on S_n and on the hypercube.
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
    """Check that a cell of Table 4 has the order of growth that the paper states.

    The order must hold for every number of messages M and every number of copies x.
    """
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


check_rows(check_order, CELLS, memory=NETWORKS)


# The comparison of S_n and the hypercube in section 5


compare = partial(star_vs_hypercube.compare, bounds=BOUNDS, amounts=messages_and_copies)


@checks("EDT.hyper.degree", memory=NETWORKS)
def allgather_and_scatter_steps(check: ClaimCheck) -> None:
    """Check that allgather and scatter take fewer steps on hypercubes, by a factor of log n.

    The lower bounds of Table 4 are compared; constant factors are ignored.
    """
    check_counts(check)
    compare(check, "star / hypercube / log n", "ft-allgather-time", "ft-scatter-time")


@checks("EDT.hyper.te-time", memory=NETWORKS)
def alltoall_steps(check: ClaimCheck) -> None:
    """Check whether alltoalls take fewer steps on hypercubes, by a factor of log n, as stated.

    In fact, the lower bounds on S_n and on hypercubes differ only by a constant factor.
    """
    check_counts(check)
    compare(check, "star / hypercube / log n", ALLTOALL_TIME)
    compare(check.correction(), "star / hypercube", ALLTOALL_TIME)
    other = check.reading(
        "of the terms with which the damaged rows begin, ceil(Mx(N-1)/degree), "
        "which are bounds too, and weaker ones"
    )
    # The scatter's row consists of exactly the terms that this reading compares.
    compare(other, "star / hypercube / log n", "ft-scatter-time")


@checks("EDT.hyper.diameter", memory=NETWORKS)
def scatter_and_alltoall_transmissions(check: ClaimCheck) -> None:
    """Check that scatter and alltoall take fewer transmissions on S_n, by a factor of log n.

    The lower bounds of Table 4 are compared; constant factors are ignored.
    """
    check_counts(check)
    rows = ("ft-scatter-transmissions", "ft-alltoall-transmissions")
    compare(check, "hypercube / star / log n", *rows)


@checks("EDT.hyper.broadcast", memory=NETWORKS)
def broadcast_steps(check: ClaimCheck) -> None:
    """Check that the lower bounds on broadcast steps have exactly the stated orders of growth.

    Both networks, S_n and the hypercube, are checked.
    """
    check_counts(check)
    for cell in CELLS.values():
        if cell.row in ("broadcast-time", "ft-broadcast-time"):
            what = cell.quotient_words
            star_vs_hypercube.same_order(check, what, cell.quotient, messages_and_copies)


@checks("EDT.hyper.other", memory=NETWORKS)
def broadcast_transmissions(check: ClaimCheck) -> None:
    """Check that broadcast and allgather transmissions have the same order on S_n and hypercubes.

    The lower bounds of Table 4 are compared; constant factors are ignored.
    """
    check_counts(check)
    collectives = ("broadcast", "ft-broadcast", "ft-allgather")
    rows = [f"{collective}-transmissions" for collective in collectives]
    compare(check, "star / hypercube", *rows)


# Tables 1 to 3. Stated bounds are functions of n (of k for hypercubes) and of the numbers M of
# messages and x of copies.


#: For each bound in `BOUNDS`, the count from which the bound follows, in words.
REASONS = {
    "broadcast-time": "the last message leaves the source, and has D-1 links to go",
    "broadcast-transmissions": "messages that all but the source lack",
    "ft-broadcast-time": "the last copy leaves the source, and has D-1 links to go",
    "ft-broadcast-transmissions": "copies that all but the source lack",
    "ft-allgather-time": "copies that a node lacks, shared by its links",
    "ft-allgather-transmissions": "copies that all nodes lack",
    "ft-scatter-time": "copies that the source sends, shared by its links",
    "ft-scatter-transmissions": "distances that the copies travel",
    "ft-alltoall-time": "distances that all copies travel, shared by all links",
    "ft-alltoall-transmissions": "distances that all copies travel",
}


def star_nodes(n: int) -> int:
    """Return n!, the number of nodes of S_n."""
    return int(factorial(n))


#: Table 1: bounds for the star graph S_n with n-1 copies.
TABLE_1: dict[str, ClosedForm] = {
    "broadcast-time": lambda n, m, _: ceil_div(m, n - 1) + diameter(n) - 1,
    "broadcast-transmissions": lambda n, m, _: m * (star_nodes(n) - 1),
    "ft-broadcast-time": lambda n, m, _: m + diameter(n) - 1,
    "ft-broadcast-transmissions": lambda n, m, _: m * (n - 1) * (star_nodes(n) - 1),
    "ft-allgather-time": lambda n, m, _: m * (star_nodes(n) - 1),
    "ft-allgather-transmissions": (
        lambda n, m, _: m * star_nodes(n) * (n - 1) * (star_nodes(n) - 1)
    ),
    "ft-scatter-time": lambda n, m, _: m * (star_nodes(n) - 1),
    "ft-scatter-transmissions": lambda n, m, _: m * (n - 1) * distance_sum(n),
    "ft-alltoall-time": lambda n, m, _: m * distance_sum(n),
    "ft-alltoall-transmissions": lambda n, m, _: m * star_nodes(n) * (n - 1) * distance_sum(n),
}
#: Table 2: bounds for the star graph S_n with x copies.
TABLE_2: dict[str, ClosedForm] = {
    "broadcast-time": lambda n, m, _: ceil_div(m, n - 1) + diameter(n) - 1,
    "broadcast-transmissions": lambda n, m, _: m * (star_nodes(n) - 1),
    "ft-broadcast-time": lambda n, m, x: ceil_div(m * x, n - 1) + diameter(n) - 1,
    "ft-broadcast-transmissions": lambda n, m, x: m * x * (star_nodes(n) - 1),
    "ft-allgather-time": lambda n, m, x: ceil_div(m * x * (star_nodes(n) - 1), n - 1),
    "ft-allgather-transmissions": lambda n, m, x: m * x * star_nodes(n) * (star_nodes(n) - 1),
    "ft-scatter-time": lambda n, m, x: ceil_div(m * x * (star_nodes(n) - 1), n - 1),
    "ft-scatter-transmissions": lambda n, m, x: m * x * distance_sum(n),
    "ft-alltoall-time": lambda n, m, x: Fraction(m * x * distance_sum(n), n - 1),
    "ft-alltoall-transmissions": lambda n, m, x: m * x * star_nodes(n) * distance_sum(n),
}
#: Table 3: bounds for the hypercube Q_k with x copies.
TABLE_3: dict[str, ClosedForm] = {
    "broadcast-time": lambda k, m, _: ceil_div(m, k) + k - 1,
    "broadcast-transmissions": lambda k, m, _: m * (2**k - 1),
    "ft-broadcast-time": lambda k, m, x: ceil_div(m * x, k) + k - 1,
    "ft-broadcast-transmissions": lambda k, m, x: m * x * (2**k - 1),
    "ft-allgather-time": lambda k, m, x: ceil_div(m * x * (2**k - 1), k),
    "ft-allgather-transmissions": lambda k, m, x: m * x * 2**k * (2**k - 1),
    "ft-scatter-time": lambda k, m, x: ceil_div(m * x * (2**k - 1), k),
    "ft-scatter-transmissions": lambda k, m, x: m * x * k * 2 ** (k - 1),
    "ft-alltoall-time": lambda k, m, x: m * x * 2 ** (k - 1),
    "ft-alltoall-transmissions": lambda k, m, x: m * x * k * 2 ** (2 * k - 1),
}
TABLES = {1: TABLE_1, 2: TABLE_2, 3: TABLE_3}


class BoundCell(NamedTuple):
    """A cell of Tables 1 to 3: the table's number, the row's name, and the stated bound."""

    table: int
    row: str
    stated: ClosedForm

    @property
    def unit(self) -> str:
        """The unit of the bound: steps or transmissions."""
        return "steps" if self.row.endswith("time") else "transmissions"

    @property
    def has_copies(self) -> bool:
        """Whether messages are sent in several copies."""
        return self.row.startswith("ft-")

    @property
    def collective(self) -> str:
        """The collective to which the row applies."""
        return self.row.removeprefix("ft-").split("-")[0]


def amounts(degree: int, cell: BoundCell) -> Iterator[tuple[int, int]]:
    """Yield the pairs of M messages and x copies with which a table cell is checked."""
    numbers = {1, 2, 3, degree, degree + 1} if cell.collective == "broadcast" else {1, 2}
    copies = {1}
    if cell.has_copies:
        # Table 1 states bounds only for n-1 copies.
        copies = {degree} if cell.table == 1 else {1, 2, degree}
    for messages in sorted(numbers):
        for x in sorted(copies & set(range(1, degree + 1))):
            yield messages, x


def check_bound(check: ClaimCheck, cell: BoundCell) -> None:
    """Check that a cell's bound equals the bound derived from counts on the network.

    Also check that no executed schedule takes fewer steps or transmissions than the bound.
    """
    size = check.n
    node = lower_bound_counts.count_from_node(check, degree=size if cell.table == 3 else size - 1)
    for messages, x in amounts(check.degree, cell):
        place = {"M": messages, "x": x} if cell.has_copies else {"M": messages}
        bound = cell.stated(size, messages, x)
        check.equal(REASONS[cell.row], BOUNDS[cell.row](node, messages, x), bound, **place)
        schedules = lower_bound_counts.unit_schedules(check, cell.collective, "all", messages, x)
        lower_bound_counts.check_not_beaten(check, schedules, bound, cell.unit, **place)
    if cell.row == "ft-alltoall-time" and cell.table > 1:
        _check_fragment(check, cell, node)


def _check_fragment(check: ClaimCheck, cell: BoundCell, node: NetworkCounts) -> None:
    """Check that the legible first term of a partly legible table row is a lower bound too."""
    other = check.reading(
        "the term with which the damaged row begins, ceil(Mx(N-1)/degree): "
        "a bound too, and a weaker one"
    )
    for messages, x in amounts(check.degree, cell):
        bound = ceil_div(messages * x * (node.nodes - 1), node.links)
        schedules = lower_bound_counts.unit_schedules(check, cell.collective, "all", messages, x)
        lower_bound_counts.check_not_beaten(other, schedules, bound, cell.unit, M=messages, x=x)


def _memory(cell: BoundCell) -> Memory:
    # In the largest schedule, the number of messages or copies per node is close to the degree. A
    # message takes one row per node that it reaches. In scatter and alltoall, where every
    # destination has its own messages, a message takes one row per link of its path.
    rows = 16 if cell.collective in ("scatter", "alltoall") else 7
    return Memory(rows * BYTES_PER_ROW, power=1 if cell.collective == "allgather" else 2)


for _table, _formulas in TABLES.items():
    for _row, _stated in _formulas.items():
        _cell = BoundCell(_table, _row, _stated)
        check_rows(check_bound, {f"EDT.Tab{_table}.{_row}": _cell}, memory=_memory(_cell))
