"""Li, Chen, Xiang & Yao: lower bounds, Lemmas 1 and 2, and the rows 'optimal' of Tables 1 and 2."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import Number, arrangements, divide, greatest, nk_diameter
from starcast.claims.reference import bfs, lower_bound_counts, nk_star
from starcast.claims.registry import check_rows
from starcast.collectives.model import Schedule

#: Largest number of rows, of all sources if they are written out, of a compared schedule.
_MAX_ROWS = 80_000
#: Broadcasts with up to this many nodes are executed from two roots.
_TWO_ROOTS = 130
#: Up to this n, S_{n,n-1} is also compared with the algorithms of S_n.
_MAX_N_ON_STAR = 4


@dataclass(frozen=True)
class Bound:
    """A lower bound: the greater of a number of start-ups, and a share of m T_c."""

    collective: str
    ports: str

    def messages(self, n: int, k: int) -> Number:
        """Return the number of messages that a node receives."""
        return 1 if self.collective == "broadcast" else arrangements(n, k) - 1

    def informed(self, nodes: int) -> int:
        """Return the number of nodes that doubling has to reach, as the lemmas count them."""
        return nodes - (self.collective == "allgather")

    def start_ups(self, n: int, k: int) -> int:
        """Return the coefficient of T_s."""
        diameter = nk_diameter(n, k)
        if self.ports == "all":
            return diameter
        return max(diameter, lower_bound_counts.ceil_log2(self.informed(arrangements(n, k))))

    def share(self, n: int, k: int) -> Number:
        """Return the coefficient of m T_c."""
        messages = self.messages(n, k)
        return divide(messages, n - 1) if self.ports == "all" else messages


def bounded_schedules(check: ClaimCheck, bound: Bound) -> Iterator[Schedule]:
    """Yield all small schedules of a collective and a port model, with several arguments."""
    n, k = check.n_and_k
    is_broadcast = bound.collective == "broadcast"
    # S_{n,n-1} is S_n, for which the catalogue has more algorithms.
    for network in (check, check.at(f"S{n}")) if k == n - 1 and n <= _MAX_N_ON_STAR else (check,):
        one_source = is_broadcast or network.topology.translation_keeps_ports
        # Expanded to all sources, a schedule has as many times its rows as there are nodes.
        most_rows = _MAX_ROWS if one_source else _MAX_ROWS // network.nodes
        has_two_roots = is_broadcast and network.nodes <= _TWO_ROOTS
        roots = (0, network.nodes - 1) if has_two_roots else (0,)
        yield from lower_bound_counts.catalogue_schedules(
            network, bound.collective, bound.ports, roots, most_rows=most_rows, bases=3
        )


def check_counts(check: ClaimCheck, bound: Bound) -> None:
    """Check the counts in the argument for a bound, by breadth-first search."""
    n, k = check.n_and_k
    for source in (0, check.nodes - 1):
        lower_bound_counts.check_source(check, source, nk_diameter(n, k))
    reached = int(np.count_nonzero(bfs.distances(check) >= 0))
    received = 1 if bound.collective == "broadcast" else reached - 1
    check.equal("messages that a node gets", received, bound.messages(n, k))
    if bound.ports == "one":
        stated = lower_bound_counts.ceil_log2(bound.informed(arrangements(n, k)))
        doublings = lower_bound_counts.count_doublings(bound.informed(reached))
        check.equal("doublings until so many know", doublings, stated)


def check_start_ups(check: ClaimCheck, bound: Bound) -> None:
    """Check that no schedule of the catalogue has fewer start-ups than the bound."""
    check_counts(check, bound)
    least = bound.start_ups(*check.n_and_k)
    for schedule in bounded_schedules(check, bound):
        simulation = check.execute(schedule)
        check.at_least(f"start-ups of {schedule.algorithm}", simulation.steps, least, of=schedule)


def check_time(check: ClaimCheck, bound: Bound) -> None:
    """Check that no schedule of the catalogue takes less time than the bound."""
    check_counts(check, bound)
    terms = (bound.start_ups(*check.n_and_k), bound.share(*check.n_and_k))
    lower_bound_counts.check_times(check, bounded_schedules(check, bound), *terms)


def start_up_order(check: ClaimCheck, bound: Bound) -> None:
    """Check the order of the bound for T_c = 0."""
    check_counts(check, bound)
    what = "the lemma with T_c = 0 over D T_s"
    # Without T_c, the bound is the larger of the start-ups and 0.
    check.order(what, lambda n, k: divide(greatest([nk_diameter(n, k), 0]), nk_diameter(n, k)))


#: The order of the transmission in a cell of the tables, in words and as a formula.
_CELLS: dict[tuple[str, str], tuple[str, Callable[[int, int], Number]]] = {
    ("broadcast", "all"): ("m/(n-1)", lambda n, k: divide(1, n - 1)),  # noqa: ARG005
    ("broadcast", "one"): ("m", lambda n, k: 1),  # noqa: ARG005
    ("allgather", "all"): ("m(N-1)/(n-1)", lambda n, k: divide(arrangements(n, k) - 1, n - 1)),
    ("allgather", "one"): ("m(N-1)", lambda n, k: arrangements(n, k) - 1),
}


def transmission_order(check: ClaimCheck, bound: Bound) -> None:
    """Check the order of the bound for T_s = 0."""
    check_counts(check, bound)
    name, cell = _CELLS[bound.collective, bound.ports]
    what = f"the lemma with T_s = 0 over {name} T_c"
    check.order(what, lambda n, k: divide(greatest([0, bound.share(n, k)]), cell(n, k)))


def check_lemma(check: ClaimCheck, collective: str) -> None:
    """Check Lemma 1 or 2 for both port models."""
    for ports in ("all", "one"):
        check_time(check, Bound(collective, ports))


def _rows(cells: str) -> dict[str, Bound]:
    """Return the bound of each cell, by claim id: both tables for each port model and column."""
    tables = {1: "broadcast", 2: "allgather"}
    chosen = product(tables.items(), (cell.split() for cell in cells.split(", ")))
    return {
        f"NK.Tab{table}.{ports}port-optimal-{column}": Bound(collective, ports)
        for (table, collective), (ports, column) in chosen
    }


check_rows(check_lemma, {"NK.L1": "broadcast", "NK.L2": "allgather"}, memory=nk_star.ALLGATHERS)
check_rows(start_up_order, _rows("all startup"), memory=nk_star.ALLGATHERS)
check_rows(check_start_ups, _rows("one startup"), memory=nk_star.ALLGATHERS)
check_rows(transmission_order, _rows("all transmission, one transmission"))
check_rows(check_time, _rows("all overall, one overall"), memory=nk_star.ALLGATHERS)
