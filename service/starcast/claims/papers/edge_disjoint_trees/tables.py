"""Fragopoulou & Akl 1996, Tables 1 to 3: lower bounds for M messages in x copies.

Each copy of a message reaches a node over its own path, which shares no link with the paths of the
other copies. So the source sends a message over x of its links, a node receives it x times, and
every path is at least as long as the distance. `BOUNDS` counts this for each row, in the words of
`ARGUMENTS`, and `TABLES` has the formulas that the tables state.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import NamedTuple

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter, distance_sum
from starcast.claims.growth import factorial
from starcast.claims.model import BYTES_PER_LINK
from starcast.claims.papers.edge_disjoint_trees.growth_orders import BOUNDS
from starcast.claims.reference.lower_bound_counts import (
    NodeCounts,
    check_not_beaten,
    count_from_node,
    unit_schedules,
)
from starcast.claims.registry import check_rows
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

#: A stated bound as a function of n (of k for hypercubes), M and x.
Formula = Callable[[int, int, int], int | Fraction]

#: What `BOUNDS` counts in each row.
ARGUMENTS = {
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
    """Return n!."""
    return int(factorial(n))


#: Table 1: S_n, n-1 copies.
TABLE_1: dict[str, Formula] = {
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
#: Table 2: S_n, x copies.
TABLE_2: dict[str, Formula] = {
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
#: Table 3: Q_k, x copies.
TABLE_3: dict[str, Formula] = {
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
    """A cell: number of the table, name of the row, and the bound that the table states."""

    table: int
    row: str
    stated: Formula

    @property
    def unit(self) -> str:
        """The unit of the bound: steps or transmissions."""
        return "steps" if self.row.endswith("time") else "transmissions"

    @property
    def has_copies(self) -> bool:
        """True if messages are sent in copies."""
        return self.row.startswith("ft-")

    @property
    def collective(self) -> str:
        """The collective."""
        return self.row.removeprefix("ft-").split("-")[0]


def amounts(degree: int, cell: BoundCell) -> Iterator[tuple[int, int]]:
    """Yield the values of M and x with which a cell is checked."""
    numbers = {1, 2, 3, degree, degree + 1} if cell.collective == "broadcast" else {1, 2}
    copies = {1}
    if cell.has_copies:
        copies = {degree} if cell.table == 1 else {1, 2, degree}
    for messages in sorted(numbers):
        for x in sorted(copies & set(range(1, degree + 1))):
            yield messages, x


def check_bound(check: ClaimCheck, cell: BoundCell) -> None:
    """Check that the count is the stated bound, and that no schedule beats the bound."""
    size = check.n
    node = count_from_node(check, degree=size if cell.table == 3 else size - 1)
    for messages, x in amounts(check.degree, cell):
        place = {"M": messages, "x": x} if cell.has_copies else {"M": messages}
        bound = cell.stated(size, messages, x)
        check.equal(ARGUMENTS[cell.row], BOUNDS[cell.row](node, messages, x), bound, **place)
        schedules = unit_schedules(check, cell.collective, "all", messages, x)
        check_not_beaten(check, schedules, bound, cell.unit, **place)
    if cell.row == "ft-alltoall-time" and cell.table > 1:
        _check_fragment(check, cell, node)


def _check_fragment(check: ClaimCheck, cell: BoundCell, node: NodeCounts) -> None:
    """Check the part of the row that is legible in the scan as a bound."""
    other = check.reading(
        "the term with which the damaged row begins, ceil(Mx(N-1)/degree): "
        "a bound too, and a weaker one"
    )
    for messages, x in amounts(check.degree, cell):
        bound = ceil_div(messages * x * node.others, node.links)
        schedules = unit_schedules(check, cell.collective, "all", messages, x)
        check_not_beaten(other, schedules, bound, cell.unit, M=messages, x=x)


def schedules_bytes(topology: Topology, cell: BoundCell) -> int:
    """Return the bytes per node of the schedules of all M and x.

    There is a row per node and copy, or a row per link of its path if each node has its own units.
    """
    rows = 2 * topology.n if cell.collective in ("scatter", "alltoall") else 1
    copies = sum(messages * x for messages, x in amounts(topology.degree, cell))
    return max(BYTES_PER_LINK * topology.degree, 80 * rows * copies)


for _table, _formulas in TABLES.items():
    _cells = {
        f"EDT.Tab{_table}.{row}": BoundCell(_table, row, stated)
        for row, stated in _formulas.items()
    }
    check_rows(check_bound, _cells, bytes_per_node=schedules_bytes)
