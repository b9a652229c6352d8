"""Fragopoulou & Akl 1996, Tables 1 to 3: lower bounds for M messages in x copies, on star graphs and on hypercubes.

Each copy of a message reaches a node over a path of its own, which shares no link with those of the others. So the source sends
a message over x of its links, a node receives it x times, and every path is at least as long as the distance.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import NamedTuple

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter, distance_sum
from starcast.claims.growth import factorial
from starcast.claims.model import BYTES_PER_LINK
from starcast.claims.reference import lower_bound_counts
from starcast.claims.reference.cube_schedules import unit_schedules_on_cube
from starcast.claims.reference.lower_bound_counts import NodeCounts, count_from_node
from starcast.claims.registry import register
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

Value = int | Fraction


class Entry(NamedTuple):
    """What is counted for a cell that all three tables have.

    Attributes:
        cell: what the ids call it.
        collective: whose.
        why: the argument, in words.
        counts: what it counts, for M and x.
    """

    cell: str
    collective: str
    why: str
    counts: Callable[[NodeCounts, int, int], Value]

    @property
    def what(self) -> str:
        """Steps or transmissions."""
        return "steps" if self.cell.endswith("time") else "transmissions"

    @property
    def copied(self) -> bool:
        """Whether messages go in copies."""
        return self.cell.startswith("ft-")


_LEAVES = "the last message leaves the source, and has D-1 links to go"
ENTRIES = (
    Entry(
        "broadcast-time", "broadcast", _LEAVES, lambda c, m, _x: ceil_div(m, c.links) + c.far - 1
    ),
    Entry(
        "broadcast-transmissions",
        "broadcast",
        "messages that all but the source lack",
        lambda c, m, _x: m * c.others,
    ),
    Entry(
        "ft-broadcast-time",
        "broadcast",
        "the last copy leaves the source, and has D-1 links to go",
        lambda c, m, x: ceil_div(m * x, c.links) + c.far - 1,
    ),
    Entry(
        "ft-broadcast-transmissions",
        "broadcast",
        "copies that all but the source lack",
        lambda c, m, x: m * x * c.others,
    ),
    Entry(
        "ft-allgather-time",
        "allgather",
        "copies that a node lacks, shared by its links",
        lambda c, m, x: ceil_div(m * x * c.others, c.links),
    ),
    Entry(
        "ft-allgather-transmissions",
        "allgather",
        "copies that all nodes lack",
        lambda c, m, x: m * x * c.nodes * c.others,
    ),
    Entry(
        "ft-scatter-time",
        "scatter",
        "copies that the source sends, shared by its links",
        lambda c, m, x: ceil_div(m * x * c.others, c.links),
    ),
    Entry(
        "ft-scatter-transmissions",
        "scatter",
        "distances that the copies travel",
        lambda c, m, x: m * x * c.total,
    ),
    Entry(
        "ft-alltoall-time",
        "alltoall",
        "distances that all copies travel, shared by all links",
        lambda c, m, x: Fraction(m * x * c.nodes * c.total, c.nodes * c.links),
    ),
    Entry(
        "ft-alltoall-transmissions",
        "alltoall",
        "distances that all copies travel",
        lambda c, m, x: m * x * c.nodes * c.total,
    ),
)

Stated = Callable[[int, int, int], Value]


def _nodes(n: int) -> int:
    return int(factorial(n))


#: Table 1, in the order of the entries: a function of n, M and x, and its symbols. There is no x but n-1.
_TABLE_1: tuple[tuple[Stated, str], ...] = (
    (lambda n, m, _x: ceil_div(m, n - 1) + diameter(n) - 1, "ceil(M/(n-1)) + D - 1"),
    (lambda n, m, _x: m * (_nodes(n) - 1), "M(n!-1)"),
    (lambda n, m, _x: m + diameter(n) - 1, "M + D - 1"),
    (lambda n, m, _x: m * (n - 1) * (_nodes(n) - 1), "M(n-1)(n!-1)"),
    (lambda n, m, _x: m * (_nodes(n) - 1), "M(n!-1)"),
    (lambda n, m, _x: m * _nodes(n) * (n - 1) * (_nodes(n) - 1), "M n!(n-1)(n!-1)"),
    (lambda n, m, _x: m * (_nodes(n) - 1), "M(n!-1)"),
    (lambda n, m, _x: m * (n - 1) * distance_sum(n), "M(n-1) t_n"),
    (lambda n, m, _x: m * distance_sum(n), "M t_n"),
    (lambda n, m, _x: m * _nodes(n) * (n - 1) * distance_sum(n), "M n!(n-1) t_n"),
)
_TABLE_2: tuple[tuple[Stated, str], ...] = (
    (lambda n, m, _x: ceil_div(m, n - 1) + diameter(n) - 1, "ceil(M/(n-1)) + D - 1"),
    (lambda n, m, _x: m * (_nodes(n) - 1), "M(n!-1)"),
    (lambda n, m, x: ceil_div(m * x, n - 1) + diameter(n) - 1, "ceil(Mx/(n-1)) + D - 1"),
    (lambda n, m, x: m * x * (_nodes(n) - 1), "Mx(n!-1)"),
    (lambda n, m, x: ceil_div(m * x * (_nodes(n) - 1), n - 1), "ceil(Mx(n!-1)/(n-1))"),
    (lambda n, m, x: m * x * _nodes(n) * (_nodes(n) - 1), "Mx n!(n!-1)"),
    (lambda n, m, x: ceil_div(m * x * (_nodes(n) - 1), n - 1), "ceil(Mx(n!-1)/(n-1))"),
    (lambda n, m, x: m * x * distance_sum(n), "Mx t_n"),
    (lambda n, m, x: Fraction(m * x * distance_sum(n), n - 1), "Mx t_n/(n-1)"),
    (lambda n, m, x: m * x * _nodes(n) * distance_sum(n), "Mx n! t_n"),
)
_TABLE_3: tuple[tuple[Stated, str], ...] = (
    (lambda k, m, _x: ceil_div(m, k) + k - 1, "ceil(M/k) + k - 1"),
    (lambda k, m, _x: m * (2**k - 1), "M(2^k-1)"),
    (lambda k, m, x: ceil_div(m * x, k) + k - 1, "ceil(Mx/k) + k - 1"),
    (lambda k, m, x: m * x * (2**k - 1), "Mx(2^k-1)"),
    (lambda k, m, x: ceil_div(m * x * (2**k - 1), k), "ceil(Mx(2^k-1)/k)"),
    (lambda k, m, x: m * x * 2**k * (2**k - 1), "Mx 2^k(2^k-1)"),
    (lambda k, m, x: ceil_div(m * x * (2**k - 1), k), "ceil(Mx(2^k-1)/k)"),
    (lambda k, m, x: m * x * k * 2 ** (k - 1), "Mx k 2^(k-1)"),
    (lambda k, m, x: m * x * 2 ** (k - 1), "Mx 2^(k-1)"),
    (lambda k, m, x: m * x * k * 2 ** (2 * k - 1), "Mx k 2^(2k-1)"),
)


def _amounts(topology: Topology, entry: Entry, table: int) -> Iterator[tuple[int, int]]:
    """M and x to look at."""
    degree = topology.degree
    several = {1, 2, 3, degree, degree + 1} if entry.collective == "broadcast" else {1, 2}
    copies = {1} if not entry.copied else {degree} if table == 1 else {1, 2, degree}
    for messages in sorted(several):
        for x in sorted(copies & set(range(1, degree + 1))):
            yield messages, x


def _schedules(
    check: ClaimCheck, collective: str, messages: int, copies: int
) -> Iterator[Schedule]:
    if check.topology.family == "hypercube":
        return unit_schedules_on_cube(check, collective, "all", messages, copies)
    return lower_bound_counts.unit_schedules_on_star(check, collective, "all", messages, copies)


def _bound(check: ClaimCheck, *, entry: Entry, stated: Stated, table: int) -> None:
    """The counts are those stated, and no schedule takes less."""
    size = check.topology.n
    found = count_from_node(check, degree=size if table == 3 else size - 1)
    for messages, x in _amounts(check.topology, entry, table):
        place = {"M": messages, "x": x} if entry.copied else {"M": messages}
        least = stated(size, messages, x)
        check.equal(entry.why, entry.counts(found, messages, x), least, **place)
        lower_bound_counts.check_not_beaten(
            check, _schedules(check, entry.collective, messages, x), least, entry.what, **place
        )
    if entry.cell == "ft-alltoall-time" and table > 1:
        _fragment(check, entry, found, table)


def _fragment(check: ClaimCheck, entry: Entry, found: NodeCounts, table: int) -> None:
    """What is left of the row in the scan."""
    other = check.reading(
        "the term with which the damaged row begins, ceil(Mx(N-1)/degree): a bound too, and a weaker one"
    )
    for messages, x in _amounts(check.topology, entry, table):
        least = ceil_div(messages * x * found.others, found.links)
        lower_bound_counts.check_not_beaten(
            other,
            _schedules(check, entry.collective, messages, x),
            least,
            entry.what,
            M=messages,
            x=x,
        )


def _weight(topology: Topology, entry: Entry, table: int) -> int:
    """Schedules of all M and x: a row a node and copy, and one a link of its path where it is addressed."""
    each = 2 * topology.n if entry.collective in ("scatter", "alltoall") else 1
    return max(
        BYTES_PER_LINK * topology.degree,
        80 * each * sum(m * x for m, x in _amounts(topology, entry, table)),
    )


for _table, _cells in ((1, _TABLE_1), (2, _TABLE_2), (3, _TABLE_3)):
    for _entry, (_stated, _) in zip(ENTRIES, _cells, strict=True):
        register(
            f"EDT.Tab{_table}.{_entry.cell}",
            partial(_bound, entry=_entry, stated=_stated, table=_table),
            bytes_per_node=partial(_weight, entry=_entry, table=_table),
        )
