"""Checks of Tables 1 and 2 of Li, Chen, Xiang & Yao 2007.

Lemmas 1 and 2 are checked here too, because the rows 'optimal' of the tables contain their bounds.
The trees SP and MT are described in `common`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Literal, get_args

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, divide, greatest, sqrt
from starcast.claims.registry import check_rows, executions
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div

from ..common import lower_bound_counts
from ..common.closed_forms import Pipeline, arrangements, nk_diameter
from . import common
from .common import MANY_TREES, ONE_TREE, height_bound


def stated_height(n: int, k: int) -> int:
    """Return 2D-1, the height that the paper states for the spanning trees MT.

    Here D is the diameter of the graph.
    """
    return 2 * nk_diameter(n, k) - 1


def register_cells(
    function: Callable[[ClaimCheck, str], None], cells: str, ports: Iterable[str] = ("all", "one")
) -> None:
    """Register a check for cells of Table 1.

    Args:
        function: called with the `ClaimCheck` and the port model of the cell.
        cells: suffixes of the claim ids, such as ``one-tree-startup``, separated by ", ".
        ports: the port models of the cells.
    """
    for cell in cells.split(", "):
        rows = {f"NK.Tab1.{model}port-{cell}": model for model in ports}
        check_rows(function, rows, memory=common.BROADCASTS)


# Table 1: broadcasts along one tree SP


def _check_one_tree(check: ClaimCheck, ports: str) -> None:
    """Check the slots of broadcasts on the shortest-path tree SP.

    For a message of m bytes in p segments, on a graph of diameter D, a broadcast must take D+p-1
    slots, with packets of m/p bytes. A one-port broadcast must take at most n-1 times as many steps
    and bytes, and at least (n-1)m bytes.
    """
    n, k = check.n_and_k
    diameter = nk_diameter(n, k)
    broadcast = common.execute_broadcast(check, ONE_TREE, ports)
    for p in broadcast.segments.tolist():
        place = {"p": p, "of": broadcast.schedule}
        steps = broadcast.steps[p - 1]
        share = broadcast.share(p)
        slots = diameter + p - 1
        if ports == "all":
            check.equal("start-ups", steps, slots, **place)
            check.equal("bytes over m", share, Fraction(slots, p), **place)
            continue
        check.true("start-ups are at most (n-1)(D+p-1)", steps <= (n - 1) * slots, **place)
        within = n - 1 <= share <= Fraction((n - 1) * slots, p)
        check.true("bytes are at least (n-1)m and at most (n-1)(D+p-1)m/p", within, **place)


def one_tree_start_up(check: ClaimCheck, ports: str) -> None:
    """Check the start-up time of the broadcast on the shortest-path tree SP, and how it grows.

    The start-up time is the time if the time per byte T_c is 0.
    """
    _check_one_tree(check, ports)
    if ports == "all":
        check.order("D T_s over D T_s", lambda n, k: divide(nk_diameter(n, k), nk_diameter(n, k)))
        return
    what = "(n-1)D T_s over n D T_s"
    check.order(what, lambda n, k: divide((n - 1) * nk_diameter(n, k), n * nk_diameter(n, k)))


def one_tree_transmission(check: ClaimCheck, ports: str) -> None:
    """Check whether the transmission time of the broadcast on the tree SP has the stated order.

    SP is the shortest-path tree. The transmission time is the time if the start-up time T_s is 0.
    In fact, the order of the transmission time is n-1 times the stated order.
    """
    _check_one_tree(check, ports)
    if ports == "all":
        check.order("m T_c over m T_c/(n-1)", lambda n, _: divide(1, divide(1, n - 1)))
        check.correction().order("m T_c over m T_c", lambda *_: divide(1, 1))
        return
    check.order("(n-1)m T_c over m T_c", lambda n, _: n - 1)
    check.correction().order("(n-1)m T_c over (n-1)m T_c", lambda n, _: divide(n - 1, n - 1))


def one_tree_overall(check: ClaimCheck, ports: str) -> None:
    """Check whether the broadcast time on the shortest-path tree SP has the stated order of growth.

    The order must hold for all T_s and T_c. In fact, the order for T_s = 0 is n-1 times the stated
    order.
    """
    _check_one_tree(check, ports)
    if ports == "all":
        what = "time over D T_s + m T_c/(n-1) + 2 sqrt(m(D-1)T_s T_c/(n-1))"
        check.order(what, lambda n, k: _pipeline_quotient(n, k, 1, Fraction(1, n - 1)))
        correction = check.correction()
        what = "time over D T_s + m T_c + 2 sqrt(m(D-1)T_s T_c)"
        correction.order(what, lambda n, k: _pipeline_quotient(n, k, 1, 1))
        return
    check.order("time with T_s = 0, (n-1)m T_c, over m T_c", lambda n, _: n - 1)
    correction = check.correction()
    what = "time over (n-1)(D T_s + m T_c + 2 sqrt(m(D-1)T_s T_c))"
    correction.order(what, lambda n, k: _pipeline_quotient(n, k, n - 1, 1))


# The results are cached, because the check at each size needs the same results for huge n.
@cache
def _pipeline_quotient(n: int, k: int, slot: Number, share: Number) -> Number:
    """Return the largest quotient of a broadcast time and a stated order of growth.

    The broadcast uses the shortest-path tree SP, with the best integer number of segments and
    ``slot`` steps per slot. On a graph of diameter D, the stated order is slot (D T_s + share m T_c
    + 2 sqrt(share m (D-1) T_s T_c)). The maximum is over sample values of T_s and m T_c.
    """
    diameter = nk_diameter(n, k)

    def stated(T_s: Number, b: Number) -> Number:  # noqa: N803 - as in the papers
        root = sqrt(share * b * (diameter - 1) * T_s)
        return slot * (diameter * T_s + share * b + 2 * root)

    # The dominant term of the time changes where m T_c / T_s has the order of a power of n. So
    # these powers, and the two limits T_c = 0 and T_s = 0, determine the order of the time.
    loads = [(1, 0), (0, 1), *((1, Fraction(n) ** power) for power in range(-2, 5))]
    line = Pipeline(diameter, 1, slot)
    return greatest(divide(line.least_whole(*load), stated(*load)) for load in loads)


register_cells(one_tree_start_up, "one-tree-startup")
register_cells(one_tree_transmission, "one-tree-transmission")
register_cells(one_tree_overall, "one-tree-overall")


# Table 1: broadcasts along the trees MT


def _check_many_trees(check: ClaimCheck, ports: str) -> None:
    """Check the slots of broadcasts on the n-1 spanning trees MT.

    With p = 1 and 2 segments per tree, a broadcast must take h+p-1 slots, where h is the largest
    height of the trees. This height must be at most twice the diameter.
    """
    n, k = check.n_and_k
    height = common.greatest_height(check, MANY_TREES)
    check.true("the trees span, and are at most 2D high", 0 < height <= height_bound(n, k))
    for broadcast in executions("broadcast", MANY_TREES, ports=ports, segments=(1, 2))(check):
        p = broadcast.argument("segments")
        place = {"p": p, "of": broadcast.schedule}
        simulation = broadcast.simulation
        # The last slot may end early, because sub-slots after its last packet are not executed.
        slots = simulation.steps if ports == "all" else ceil_div(simulation.steps, n - 1)
        check.equal("slots", slots, height + p - 1, **place)
        small = simulation.largest_packet <= (n - 1) * p
        check.true("a packet has at most one segment a tree", small, **place)


def many_trees_start_up(check: ClaimCheck, ports: str) -> None:
    """Check the order of growth of the broadcast's start-up time on the n-1 spanning trees MT.

    The start-up time is the time if the time per byte T_c is 0.
    """
    _check_many_trees(check, ports)
    if ports == "all":
        what = "2D T_s, no less than the time with T_c = 0, over (2D-1)T_s"
        check.order(what, lambda n, k: divide(height_bound(n, k), stated_height(n, k)))
        return
    what = "2(n-1)D T_s, no less than the time with T_c = 0, over (n-1)(2D-1)T_s"
    check.order(what, lambda n, k: divide((n - 1) * height_bound(n, k), one_port_height(n, k)))


def many_trees_transmission(check: ClaimCheck, ports: str) -> None:
    """Check the order of growth of the all-port transmission time on the n-1 spanning trees MT.

    The transmission time is the time if the start-up time T_s is 0. If there are many segments per
    tree, one more segment per tree adds a slot whose largest packet has c segments. The congestion
    c is the largest number of trees that use the same directed link.
    """
    _check_many_trees(check, ports)
    broadcast = common.execute_broadcast(check, MANY_TREES, ports)
    congestion = int(common.link_loads(check, MANY_TREES).max())
    what = "segments that one more adds to the largest packets"
    check.equal(what, broadcast.increment, congestion, of=broadcast.schedule)
    check.true("the congestion is at most n-1", congestion <= check.n - 1)
    what = "m T_c, no less than c m/(n-1) T_c, over m(N-1)/(n-1) T_c"
    check.order(what, lambda n, k: divide(n - 1, arrangements(n, k) - 1))


def many_trees_overall(check: ClaimCheck, ports: str) -> None:
    """Check the order of growth of the all-port broadcast time on the n-1 spanning trees MT."""
    _check_many_trees(check, ports)

    def quotient(n: int, k: int) -> Number:
        measured = height_bound(n, k)
        stated = (stated_height(n, k), common.optimal_bytes(n, k))
        return common.greatest_quotient(*((measured, term) for term in stated))

    what = "2D(T_s + m T_c), no less than the time with p = 1, over (2D-1)T_s + m(N-1)/(n-1) T_c"
    check.order(what, quotient)


def many_trees_one_port(check: ClaimCheck, ports: str) -> None:
    """Check whether one-port broadcasts on the spanning trees MT transmit O(m) bytes, as stated.

    The message has m bytes. All numbers of segments are considered. In fact, the number of bytes
    grows like n m for k = n/2.
    """
    n, k = check.n_and_k
    _check_many_trees(check, ports)
    loads = common.link_loads(check, MANY_TREES)
    port_loads = loads.max(axis=0)
    total = int(port_loads.sum())
    height = common.greatest_height(check, MANY_TREES)
    packets = []
    lengths = (height, height + 1)
    for broadcast in executions("broadcast", MANY_TREES, ports=ports, segments=lengths)(check):
        p = broadcast.argument("segments")
        packets.append(int(broadcast.simulation.packet_sizes.sum()))
        what = "p segments take at least p times the loads of the fullest links"
        check.true(what, packets[-1] >= p * total, p=p)
    check.equal("segments that one more adds to the packets", packets[1] - packets[0], total)
    what = "port k+s has a link of load min{s, k-1, n-k-1} or more, every port one of 1 or more"
    check.true(what, port_loads >= common.least_loads(n, k))
    what = "the links and the trees of which this is proved for all n and k are there"
    check.true(what, common.contains_shared_links(check))
    what = (
        "((k-1) + sum over s = 1..n-k of max{1, min{s, k-1, n-k-1}})/(n-1), no more than the bytes "
        "over m, over 1"
    )
    check.order(what, lambda n, k: divide(common.least_sum(n, k), n - 1))
    other = check.reading(
        "no sub-slots: only what a node itself sends, one packet after the other, takes time"
    )
    sends = loads.sum(axis=1).max()
    other.true("the busiest node sends at least so often", sends >= common.least_sends(n, k))
    what = (
        "max{n-1, t(n-k-t+1)}/(n-1) with the best t < k, t < n-k, no more than the bytes over m of "
        "one node, over 1"
    )
    other.order(what, lambda n, k: divide(common.least_sends(n, k), n - 1))
    correction = check.correction()
    what = "bytes over m, times n-1"
    correction.at_least(what, port_loads.sum(), common.least_sum(n, k))
    correction.at_most(what, port_loads.sum(), (n - 1) * int(loads.max()))


register_cells(many_trees_start_up, "many-trees-startup")
register_cells(many_trees_transmission, "many-trees-transmission", ["all"])
register_cells(many_trees_overall, "many-trees-overall", ["all"])
register_cells(many_trees_one_port, "many-trees-transmission, many-trees-overall", ["one"])


# Table 1: the cited broadcast of Y.S. Chen & Tai


def cited_broadcast(check: ClaimCheck, ports: str) -> None:
    """Record that the paper only cites the broadcast of Y.S. Chen & Tai."""
    check.absent(
        f"the {ports}-port broadcast of Y.S. Chen & Tai [4]",
        "the broadcast of Y.S. Chen & Tai is only cited: the cell is all that the papers have of "
        "it, no algorithm and no other formula",
    )


check_rows(
    cited_broadcast,
    {
        f"NK.Tab1.{ports}port-chen-{column}": ports
        for ports in ("all", "one")
        for column in ("startup", "transmission", "overall")
    },
)


# Table 2: allgather


@dataclass(frozen=True)
class TableLine:
    """A row of Table 2: trees, port model, stated start-ups, and the terms of the time as text."""

    trees: str
    ports: str
    start_ups: Callable[[int, int], Number]
    start_ups_text: str
    bytes_text: str

    def start_up_terms(self, n: int, k: int) -> tuple[Number, Number]:
        """Return an upper bound on the number of executed start-ups, and the stated number."""
        levels = nk_diameter(n, k) if self.trees == ONE_TREE else height_bound(n, k)
        return levels * (1 if self.ports == "all" else n - 1), self.start_ups(n, k)

    def byte_terms(self, n: int, k: int) -> tuple[Number, Number]:
        """Return an upper bound on the number of executed bytes, and the stated number.

        Both numbers are divided by the message size m. Executed bytes are the sum of the largest
        packets of all steps.
        """
        if self.ports == "all":
            return common.bytes_formula(n, k), common.optimal_bytes(n, k)
        return arrangements(n, k) - 1, arrangements(n, k) - 1


def one_port_height(n: int, k: int) -> Number:
    """Return (n-1)(2D-1), the one-port start-ups that the paper states for the spanning trees MT.

    Here D is the diameter of the graph.
    """
    return (n - 1) * stated_height(n, k)


LINES = (
    TableLine(ONE_TREE, "all", nk_diameter, "D T_s", "m(N-1)/(n-1) T_c"),
    TableLine(MANY_TREES, "all", stated_height, "(2D-1)T_s", "m(N-1)/(n-1) T_c"),
    TableLine(
        ONE_TREE, "one", lambda n, k: n * (n - 1) * nk_diameter(n, k), "n(n-1)D T_s", "(N-1)m T_c"
    ),
    TableLine(MANY_TREES, "one", one_port_height, "(n-1)(2D-1)T_s", "(N-1)m T_c"),
)


def _check_levels(check: ClaimCheck, line: TableLine) -> None:
    """Check the tree heights and link loads that determine the times in a row of Table 2.

    Let D be the diameter, and N the number of nodes. The height of the shortest-path tree SP must
    be D, and that of the spanning trees MT at most 2D. In the all-port model, the bytes must be at
    most m times `common.bytes_formula`. In the one-port model, they must be (N-1)m, with at most
    n-1 start-ups per level.
    """
    n, k = check.n_and_k
    loads = common.class_loads(check, line.trees)
    levels = len(loads)
    if line.trees == ONE_TREE:
        check.equal("levels", levels, nk_diameter(n, k))
    else:
        check.true("levels are at most 2D", levels <= height_bound(n, k))
    if line.ports == "all":
        formula = common.bytes_formula(n, k)
        share = common.bytes_by_class(loads)
        check.equal("bytes over m, each class of links by itself", share, formula)
        check.true("bytes over m are no more", common.all_port_bytes(loads) <= formula)
        return
    check.equal("bytes over m", common.one_port_bytes(check, loads), arrangements(n, k) - 1)
    few = common.last_sub_slot(check, loads) <= (n - 1) * levels
    check.true("start-ups are at most n-1 for every level", few)


CostTerm = Literal["startup", "transmission", "overall"]


def allgather_order(check: ClaimCheck, cell: tuple[TableLine, CostTerm]) -> None:
    """Check the order of growth that a cell of Table 2 states for start-ups, bytes or time."""
    line, column = cell
    _check_levels(check, line)
    if column == "startup":
        what = f"start-up over {line.start_ups_text}"
        check.order(what, lambda n, k: divide(*line.start_up_terms(n, k)))
    elif column == "transmission":
        what = f"transmission over {line.bytes_text}"
        check.order(what, lambda n, k: divide(*line.byte_terms(n, k)))
    else:
        what = f"time over {line.start_ups_text} + {line.bytes_text}"
        terms = (line.start_up_terms, line.byte_terms)
        check.order(what, lambda n, k: common.greatest_quotient(*(of(n, k) for of in terms)))


_NAMES = {ONE_TREE: "one-tree", MANY_TREES: "many-trees"}
check_rows(
    allgather_order,
    {
        f"NK.Tab2.{line.ports}port-{_NAMES[line.trees]}-{column}": (line, column)
        for line in LINES
        for column in get_args(CostTerm)
    },
)


# Lemmas 1 and 2, and the rows 'optimal' of both tables


#: Maximum number of rows of a compared schedule, counted over all sources if it is expanded.
_MAX_ROWS = 80_000
#: Broadcasts with up to this many nodes are executed from two roots.
_TWO_ROOTS = 130
#: Up to this n, bounds on S_{n,n-1} are also compared with schedules of the algorithms on S_n.
_MAX_N_ON_STAR = 4


@dataclass(frozen=True)
class Bound:
    """A lower bound on a collective's time: max{`start_ups` T_s, `share` m T_c}.

    T_s is the time of a start-up, and m T_c the transmission time of a message.
    """

    collective: str
    ports: str

    def messages(self, n: int, k: int) -> Number:
        """Return the number of messages that a node receives in the bound's collective."""
        return 1 if self.collective == "broadcast" else arrangements(n, k) - 1

    def informed(self, nodes: int) -> int:
        """Return the number x in the term ceil(log2 x) T_s of the lemmas' one-port bounds.

        For a broadcast, x is the number of nodes; for an allgather, it is one less.
        """
        return nodes - (self.collective == "allgather")

    def start_ups(self, n: int, k: int) -> int:
        """Return the minimum number of start-ups: the coefficient of T_s in the bound."""
        diameter = nk_diameter(n, k)
        if self.ports == "all":
            return diameter
        return max(diameter, lower_bound_counts.ceil_log2(self.informed(arrangements(n, k))))

    def share(self, n: int, k: int) -> Number:
        """Return the number of messages that some link must carry: the coefficient of m T_c."""
        messages = self.messages(n, k)
        return divide(messages, n - 1) if self.ports == "all" else messages


def bounded_schedules(check: ClaimCheck, bound: Bound) -> Iterator[Schedule]:
    """Yield schedules of starcast's algorithms for the bound's collective, with sample arguments.

    Schedules with too many rows are omitted.
    """
    n, k = check.n_and_k
    is_broadcast = bound.collective == "broadcast"
    # S_{n,n-1} is isomorphic to S_n, for which the catalogue has more algorithms.
    for network in (check, check.at(f"S{n}")) if k == n - 1 and n <= _MAX_N_ON_STAR else (check,):
        one_source = is_broadcast or network.topology.translation_keeps_ports
        # Expanding a schedule to all sources multiplies its rows by the number of nodes.
        most_rows = _MAX_ROWS if one_source else _MAX_ROWS // network.nodes
        has_two_roots = is_broadcast and network.nodes <= _TWO_ROOTS
        roots = (0, network.nodes - 1) if has_two_roots else (0,)
        yield from lower_bound_counts.catalogue_schedules(
            network, bound.collective, bound.ports, roots, most_rows=most_rows, bases=3
        )


def check_counts(check: ClaimCheck, bound: Bound) -> None:
    """Check the counts from which a lower bound follows, by breadth-first search.

    The counts are the largest distance from a source, and the number of messages that a node
    receives. For the one-port model, they include the number of doublings from one informed node
    to the number that `Bound.informed` returns.
    """
    n, k = check.n_and_k
    for source in (0, check.nodes - 1):
        lower_bound_counts.check_source(check, source, nk_diameter(n, k))
    reached = int(np.count_nonzero(check.distances() >= 0))
    received = 1 if bound.collective == "broadcast" else reached - 1
    check.equal("messages that a node gets", received, bound.messages(n, k))
    if bound.ports == "one":
        stated = lower_bound_counts.ceil_log2(bound.informed(arrangements(n, k)))
        doublings = lower_bound_counts.count_doublings(bound.informed(reached))
        check.equal("doublings until so many know", doublings, stated)


def check_start_ups(check: ClaimCheck, bound: Bound) -> None:
    """Check that no schedule of starcast's algorithms has fewer start-ups than the bound."""
    check_counts(check, bound)
    least = bound.start_ups(*check.n_and_k)
    for schedule in bounded_schedules(check, bound):
        simulation = check.execute(schedule)
        check.at_least(f"start-ups of {schedule.algorithm}", simulation.steps, least, of=schedule)


def check_time(check: ClaimCheck, bound: Bound) -> None:
    """Check that no schedule of starcast's algorithms takes less time than the bound."""
    check_counts(check, bound)
    terms = (bound.start_ups(*check.n_and_k), bound.share(*check.n_and_k))
    lower_bound_counts.check_times(check, bounded_schedules(check, bound), *terms)


def start_up_order(check: ClaimCheck, bound: Bound) -> None:
    """Check the order of growth of a lower bound if bytes take no time (T_c = 0)."""
    check_counts(check, bound)
    what = "the lemma with T_c = 0 over D T_s"
    # For T_c = 0, the bound is the maximum of the start-ups and 0.
    check.order(what, lambda n, k: divide(greatest([nk_diameter(n, k), 0]), nk_diameter(n, k)))


#: The stated order of the transmission time, by collective and port model: the order divided by T_c
#: as text, and the order divided by m T_c as a function of n and k.
_CELLS: dict[tuple[str, str], tuple[str, Callable[[int, int], Number]]] = {
    ("broadcast", "all"): ("m/(n-1)", lambda n, k: divide(1, n - 1)),  # noqa: ARG005
    ("broadcast", "one"): ("m", lambda n, k: 1),  # noqa: ARG005
    ("allgather", "all"): ("m(N-1)/(n-1)", lambda n, k: divide(arrangements(n, k) - 1, n - 1)),
    ("allgather", "one"): ("m(N-1)", lambda n, k: arrangements(n, k) - 1),
}


def transmission_order(check: ClaimCheck, bound: Bound) -> None:
    """Check the order of growth of a lower bound if start-ups take no time (T_s = 0)."""
    check_counts(check, bound)
    name, cell = _CELLS[bound.collective, bound.ports]
    what = f"the lemma with T_s = 0 over {name} T_c"
    check.order(what, lambda n, k: divide(greatest([0, bound.share(n, k)]), cell(n, k)))


def check_lemma(check: ClaimCheck, collective: str) -> None:
    """Check that no schedule of a collective takes less time than Lemma 1 or 2 states.

    Both port models are checked.
    """
    for ports in ("all", "one"):
        check_time(check, Bound(collective, ports))


def _rows(cells: str) -> dict[str, Bound]:
    """Return the bounds in the given cells of the rows 'optimal' of both tables, by claim id.

    Args:
        cells: port model and column of each cell, such as "all startup, one startup".
    """
    tables = {1: "broadcast", 2: "allgather"}
    chosen = product(tables.items(), (cell.split() for cell in cells.split(", ")))
    return {
        f"NK.Tab{table}.{ports}port-optimal-{column}": Bound(collective, ports)
        for (table, collective), (ports, column) in chosen
    }


check_rows(check_lemma, {"NK.L1": "broadcast", "NK.L2": "allgather"}, memory=common.ALLGATHERS)
check_rows(start_up_order, _rows("all startup"), memory=common.ALLGATHERS)
check_rows(check_start_ups, _rows("one startup"), memory=common.ALLGATHERS)
check_rows(transmission_order, _rows("all transmission, one transmission"))
check_rows(check_time, _rows("all overall, one overall"), memory=common.ALLGATHERS)
