"""Checks of Fragopoulou & Akl 1993, section 2, Tables 1 to 6 and the abstract.

Tables 1 to 3 state the numbers of steps and transmissions of the paper's algorithms. `CELLS` has
one row per algorithm and number of messages M; each row belongs to one or two claims. Tables 4 and
5 state the lower bounds of section 2 for the star graph S_n and the hypercube Q_k. Table 6 states
the orders of growth of these bounds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, NamedTuple

from starcast.claims.check import ClaimCheck
from starcast.claims.growth import ClosedForm, Number, divide, factorial, log2
from starcast.claims.registry import Execution, Memory, check_rows, checks, execute
from starcast.collectives.model import BYTES_PER_ROW, Schedule
from starcast.support.integers import ceil_div

from ..common import lower_bound_counts, star_vs_hypercube, stars
from ..common.closed_forms import (
    distance_sum,
    largest_branch,
    largest_branch_quotient,
    rule_9_quotient,
    rule_9_steps,
)
from ..common.star_vs_hypercube import GrowthCell, Order, Ratio, cube, least_steps


@dataclass(frozen=True)
class Bound:
    """A lower bound of section 2 and of Tables 4 and 5.

    Attributes:
        cell: collective, port model (if relevant) and quantity, as in ``scatter-oneport-time``.
        argument: what the proof of the bound counts, in words.
        count: function that computes the bound from the counts of a network, such as the numbers
            of nodes and links.
        on_star: the bound that the paper states for S_n, as a function of n.
        on_cube: the bound that the paper states for the hypercube Q_k, as a function of k.
        algorithms: algorithms that meet the bound, with their port models, the paper's own first.
    """

    cell: str
    argument: str
    count: Callable[[lower_bound_counts.NetworkCounts], Number]
    on_star: Callable[[int], int]
    on_cube: Callable[[int], int]
    algorithms: tuple[tuple[str, str], ...]

    @property
    def collective(self) -> str:
        """The collective to which the bound applies."""
        return self.cell.split("-")[0]

    @property
    def ports(self) -> str:
        """The port model; all-port if the bound holds for both models."""
        return "one" if "oneport" in self.cell else "all"

    @property
    def quantity(self) -> str:
        """The bounded quantity: ``steps`` or ``transmissions``."""
        return "steps" if self.cell.endswith("time") else "transmissions"


def others(n: int, messages: int = 1) -> int:
    """Return M(n!-1), the number of messages from one node of S_n to all others.

    There are M messages for each node.
    """
    return messages * (int(factorial(n)) - 1)


def pairs(n: int, messages: int = 1) -> int:
    """Return M n!(n!-1), the number of messages between all nodes of S_n.

    There are M messages for each ordered pair of nodes.
    """
    return int(factorial(n)) * others(n, messages)


def shared_others(n: int, messages: int = 1) -> int:
    """Return ceil(M(n!-1)/(n-1)), the largest load if n-1 links share M(n!-1) messages evenly."""
    return ceil_div(others(n, messages), n - 1)


def distances(n: int, messages: int = 1) -> int:
    """Return M times the sum t_n of all distances from a node, for M messages per node."""
    return messages * int(distance_sum(n))


def distances_of_pairs(n: int, messages: int = 1) -> int:
    """Return M times the sum of the distances of all ordered node pairs, for M messages per pair.

    This sum is n! t_n, where t_n is the sum of all distances from a node.
    """
    return int(factorial(n)) * distances(n, messages)


def shared_distances(n: int, messages: int = 1) -> int:
    """Return the largest load if the n-1 links of a node share its transmissions evenly.

    For M messages per pair of nodes, this is ceil(M t_n/(n-1)), where t_n is the sum of all
    distances from a node.
    """
    return ceil_div(distances(n, messages), n - 1)


_TREES = (("rotated-hamiltonian", "all"), ("necklace", "all"))
_CYCLE = ("hamiltonian-cycle", "one")
_ONE_PORT = ("one-port", "one")
_BALANCED = ("balanced", "all")
#: The algorithm `exact`, which is starcast's own and not the paper's, and its port model.
_EXACT = ("exact", "all")

#: The quantity that the proof of each bound counts, in words.
ARGUMENTS = {
    "allgather-transmissions": "messages that all nodes lack",
    "allgather-oneport-time": "messages that a node lacks, one a step",
    "allgather-allport-time": "messages that a node lacks, shared by its links",
    "scatter-transmissions": "distances of all nodes from the root",
    "scatter-oneport-time": "messages that the root sends, one a step",
    "scatter-allport-time": "messages that the root sends, shared by its links",
    "alltoall-transmissions": "distances of all pairs",
    "alltoall-oneport-time": "distances of all pairs, n! links a step",
    "alltoall-allport-time": "distances of all pairs, n!(n-1) links a step",
}
COUNTS: dict[str, Callable[[lower_bound_counts.NetworkCounts], Number]] = {
    "allgather-transmissions": lambda c: c.nodes * (c.nodes - 1),
    "allgather-oneport-time": lambda c: c.nodes - 1,
    "allgather-allport-time": lambda c: least_steps(c.nodes - 1, c.links),
    "scatter-transmissions": lambda c: c.total,
    "scatter-oneport-time": lambda c: c.nodes - 1,
    "scatter-allport-time": lambda c: least_steps(c.nodes - 1, c.links),
    "alltoall-transmissions": lambda c: c.nodes * c.total,
    "alltoall-oneport-time": lambda c: c.total,
    "alltoall-allport-time": lambda c: least_steps(c.nodes * c.total, c.nodes * c.links),
}
#: The bounds in the table of section 2 and in Table 4, as functions of n.
ON_STAR: dict[str, Callable[[int], int]] = {
    "allgather-transmissions": pairs,
    "allgather-oneport-time": others,
    "allgather-allport-time": shared_others,
    "scatter-transmissions": distances,
    "scatter-oneport-time": others,
    "scatter-allport-time": shared_others,
    "alltoall-transmissions": distances_of_pairs,
    "alltoall-oneport-time": distances,
    "alltoall-allport-time": shared_distances,
}
#: The bounds in Table 5, as functions of k.
ON_CUBE: dict[str, Callable[[int], int]] = {
    "allgather-transmissions": lambda k: 2**k * (2**k - 1),
    "allgather-oneport-time": lambda k: 2**k - 1,
    "allgather-allport-time": lambda k: ceil_div(2**k - 1, k),
    "scatter-transmissions": lambda k: k * 2 ** (k - 1),
    "scatter-oneport-time": lambda k: 2**k - 1,
    "scatter-allport-time": lambda k: ceil_div(2**k - 1, k),
    "alltoall-transmissions": lambda k: k * 2 ** (2 * k - 1),
    "alltoall-oneport-time": lambda k: k * 2 ** (k - 1),
    "alltoall-allport-time": lambda k: 2 ** (k - 1),
}
ALGORITHMS: dict[str, tuple[tuple[str, str], ...]] = {
    "allgather-transmissions": (*_TREES, _CYCLE),
    "allgather-oneport-time": (_CYCLE,),
    "allgather-allport-time": _TREES,
    "scatter-transmissions": (_BALANCED, ("near-balanced", "all"), _ONE_PORT),
    "scatter-oneport-time": (_ONE_PORT,),
    "scatter-allport-time": (_BALANCED,),
    "alltoall-transmissions": (("necklace", "all"), _ONE_PORT, _EXACT),
    "alltoall-oneport-time": (_ONE_PORT,),
    "alltoall-allport-time": (_EXACT,),
}
BOUNDS = {
    cell: Bound(cell, ARGUMENTS[cell], COUNTS[cell], ON_STAR[cell], ON_CUBE[cell], ALGORITHMS[cell])
    for cell in ARGUMENTS
}
#: The bound that rule 9 attains according to the paper; in fact rule 9 takes more steps.
RULE_9_CELL = "alltoall-allport-time"


def check_count(check: ClaimCheck, bound: Bound) -> int:
    """Check that a stated bound equals the number counted in its proof, and return the bound."""
    on_cube = check.topology.family == "hypercube"
    stated = bound.on_cube(check.n) if on_cube else bound.on_star(check.n)
    counts = lower_bound_counts.count_from_node(check, degree=check.n if on_cube else check.n - 1)
    check.equal(bound.argument, bound.count(counts), stated)
    return stated


def no_schedule_beats_bound(check: ClaimCheck, bound: Bound) -> None:
    """Check that no executed schedule takes fewer steps or transmissions than a stated bound.

    The bound must also equal the number counted in its proof, computed on the network. In the
    executed schedules, every message is a single unit.
    """
    stated = check_count(check, bound)
    schedules = lower_bound_counts.unit_schedules(check, bound.collective, bound.ports)
    lower_bound_counts.check_not_beaten(check, schedules, stated, bound.quantity)


def bound_is_met(check: ClaimCheck, bound: Bound) -> None:
    """Check that the algorithms in `Bound.algorithms` attain a stated lower bound.

    Also check that no schedule of `lower_bound_counts.unit_schedules` takes fewer steps or
    transmissions than the bound.
    """
    stated = check_count(check, bound)
    for schedule in lower_bound_counts.unit_schedules(check, bound.collective, bound.ports):
        measured = getattr(check.execute(schedule), bound.quantity)
        what = f"{schedule.algorithm} takes no fewer {bound.quantity}"
        check.true(what, measured >= stated, found=measured, stated=stated, of=schedule)
    for algorithm, ports in bound.algorithms:
        run = execute(check, bound.collective, algorithm, ports)
        measured = getattr(run, bound.quantity)
        check.equal(f"{bound.quantity} of {algorithm}", measured, stated, of=run.schedule)


check_rows(no_schedule_beats_bound, {f"FA.LB.{cell}": bound for cell, bound in BOUNDS.items()})
check_rows(bound_is_met, {f"FA.Tab4.{cell}": bound for cell, bound in BOUNDS.items()})
check_rows(
    no_schedule_beats_bound,
    {f"FA.Tab5.{cell}": bound for cell, bound in BOUNDS.items()},
    memory=Memory(2 * BYTES_PER_ROW),
)


@checks("FA.S2-optimal")
def algorithms_meet_all_bounds(check: ClaimCheck) -> None:
    """Check whether the paper's algorithms for one message attain the bounds of section 2.

    All nine lower bounds are checked.
    """
    for cell, bound in BOUNDS.items():
        if cell == RULE_9_CELL:
            schedule, simulation = execute(check, "alltoall", "necklace")
            stated = bound.on_star(check.n)
            check.equal("steps of Rule 9, alltoall", simulation.steps, stated, of=schedule)
        else:
            check_paper_meets(check, bound)
    correction = check.correction()
    for bound in BOUNDS.values():
        check_paper_meets(correction, bound)
    check_rule_9(correction)


@checks("FA.abstract")
def abstract(check: ClaimCheck) -> None:
    """Check that allgather and scatter attain their lower bounds, and the alltoall up to a factor.

    The paper's abstract states this. The alltoall follows Rule 9. Its number of steps must equal a
    closed form, and this number divided by the lower bound must be bounded by a constant.
    """
    for bound in BOUNDS.values():
        if bound.collective != "alltoall":
            check_paper_meets(check, bound)
    schedule = check_rule_9(check)
    check_count(check, BOUNDS[RULE_9_CELL])
    steps = check.execute(schedule).steps
    stated = rule_9_steps(check.n)
    check.equal("steps of Rule 9, and the closed form", steps, stated, of=schedule)
    check.order("steps of Rule 9 / ceil(t_n/(n-1))", rule_9_quotient)


def check_paper_meets(check: ClaimCheck, bound: Bound) -> None:
    """Check that the paper's algorithms attain a bound.

    If the paper states no algorithm for the bound, starcast's own algorithm is executed.
    """
    own = [algorithm for algorithm in bound.algorithms if algorithm != _EXACT]
    for algorithm, ports in own or bound.algorithms:
        run = execute(check, bound.collective, algorithm, ports)
        measured = getattr(run, bound.quantity)
        what = f"{bound.quantity} of {bound.collective} {algorithm}"
        check.equal(what, measured, bound.on_star(check.n), of=run.schedule)


def check_rule_9(check: ClaimCheck) -> Schedule:
    """Check that Rule 9's alltoall takes as many steps as the sum of the necklaces' distances.

    Distances are counted from 12..n. A necklace is an orbit of the rotation R, whose nodes all have
    the same distance.

    Returns:
        The schedule of Rule 9.
    """
    schedule, simulation = execute(check, "alltoall", "necklace")
    distances = stars.leader_distances(check)
    what = "steps of Rule 9 and the sum of the distances of the necklaces"
    check.equal(what, simulation.steps, int(distances.sum()), of=schedule)
    return schedule


# Table 6 and section 9: orders of growth


NODES = Order("O(n!)", factorial)
PAIRS = Order("O(n!^2)", lambda n: factorial(n) ** 2)
OVER_N = Order("O(n!/n)", lambda n: divide(factorial(n), n))
OVER_N_LOG_N = Order("O(n!/(n log n))", lambda n: divide(factorial(n), n * log2(n)))
TIMES_N = Order("O(n! n)", lambda n: factorial(n) * n)
TIMES_N_LOG_N = Order("O(n! n log n)", lambda n: factorial(n) * n * log2(n))
PAIRS_TIMES_N = Order("O(n!^2 n)", lambda n: factorial(n) ** 2 * n)
PAIRS_TIMES_N_LOG_N = Order("O(n!^2 n log n)", lambda n: factorial(n) ** 2 * n * log2(n))
#: Table 6: the stated order of growth of each bound, on the star graph and on the hypercube.
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
#: The cell for which Table 6 states too low an order on the hypercube.
WRONG_CELL = "alltoall-oneport-time"


def entry_is_of_order(check: ClaimCheck, cell: GrowthCell) -> None:
    """Check whether a bound of Table 4 or 5 has the order of growth that Table 6 states.

    In fact, the order stated for the steps of the one-port alltoall on the hypercube is too low.
    """
    star_vs_hypercube.check_counts(check, (cell.network,))
    check.order(cell.quotient_words, cell.quotient)
    if cell.row == WRONG_CELL and cell.network is cube:
        quotient = cell._replace(stated=TIMES_N_LOG_N).quotient
        check.correction().same_order("k 2^(k-1) / (n! n log n)", quotient)


check_rows(
    entry_is_of_order,
    star_vs_hypercube.growth_cells("FA.Tab6", COUNTS, ORDERS),
    memory=star_vs_hypercube.NETWORKS,
)


compare = partial(star_vs_hypercube.compare, bounds=COUNTS, amounts=star_vs_hypercube.one_message)


def networks_differ_by(check: ClaimCheck, row: tuple[Ratio, tuple[str, ...]]) -> None:
    """Check how the orders of growth in Table 6 differ between S_n and the hypercube.

    The argument ``row`` is a value of `_FACTORS`: the name of a quotient of the bounds on the two
    networks, and the cells for which this quotient must be bounded from above and below.
    """
    factor, cells = row
    star_vs_hypercube.check_counts(check)
    compare(check, factor, *cells)


#: For each claim, the quotient that must be bounded, and the cells of Table 6 that are compared.
_FACTORS: dict[str, tuple[Ratio, tuple[str, ...]]] = {
    "FA.hyper.degree": (
        "star / hypercube / log n",
        ("allgather-allport-time", "scatter-allport-time"),
    ),
    "FA.hyper.diameter": (
        "hypercube / star / log n",
        ("scatter-transmissions", "alltoall-transmissions"),
    ),
    "FA.hyper.both": ("star / hypercube", ("alltoall-allport-time",)),
}
check_rows(networks_differ_by, _FACTORS, memory=star_vs_hypercube.NETWORKS)


@checks("FA.hyper.other", memory=star_vs_hypercube.NETWORKS)
def other_cells_are_of_one_order(check: ClaimCheck) -> None:
    """Check whether the cells of Table 6 without a stated factor have one order on both networks.

    The networks are S_n and the hypercube. The paper states a factor between the orders of the two
    networks only for some cells. In fact, the orders for the steps of a one-port alltoall differ by
    the factor log n.
    """
    star_vs_hypercube.check_counts(check)
    equal_cells = ("allgather-transmissions", "allgather-oneport-time", "scatter-oneport-time")
    correction = check.correction()
    compare(check, "star / hypercube", *equal_cells, WRONG_CELL)
    compare(correction, "star / hypercube", *equal_cells)
    compare(correction, "hypercube / star / log n", WRONG_CELL)


# Tables 1 to 3: steps and transmissions of the paper's algorithms


def one_message(_n: int) -> tuple[int, ...]:
    """Return 1 as the only sample value of M, the number of messages."""
    return (1,)


def any_messages(n: int) -> tuple[int, ...]:
    """Return sample values of M, the number of messages, near 1 and near n."""
    return tuple(sorted({1, 2, 3, n - 1, n}))


def multiples(n: int) -> tuple[int, ...]:
    """Return n-1 and 2(n-1), the sample values of M for algorithms that need multiples of n-1."""
    return (n - 1, 2 * (n - 1))


class ResultCell(NamedTuple):
    """An algorithm in Tables 1 to 3, with the numbers of messages for which it is executed.

    Attributes:
        collective: the collective of the algorithm.
        algorithm: name of starcast's algorithm.
        ports: the port model.
        amounts: function of n that returns the values of M with which the algorithm is executed.
        steps: the stated number of steps, as a function of n and M; None if the table states an
            order of growth, or if there is a separate check.
        transmissions: the stated number of transmissions, as a function of n and M.
    """

    collective: str
    algorithm: str
    ports: str
    amounts: Callable[[int], tuple[int, ...]]
    steps: ClosedForm | None
    transmissions: ClosedForm


#: An algorithm of Tables 1 to 3, a quantity about which a claim is made, and the stated formula.
ClaimedQuantity = tuple[ResultCell, Literal["steps", "transmissions"], ClosedForm]

_ON_CYCLE = partial(ResultCell, "allgather", "hamiltonian-cycle", "one")
_PATHS = partial(ResultCell, "allgather", "rotated-hamiltonian", "all")
_SCATTER = partial(ResultCell, "scatter", "one-port", "one")
_EXCHANGE = partial(ResultCell, "alltoall", "one-port", "one")
_PERFECT = "perfectly-balanced"
CELLS = {
    "Tab1.oneport-1": _ON_CYCLE(one_message, others, pairs),
    "Tab1.oneport-M": _ON_CYCLE(any_messages, others, pairs),
    "Tab1.allport-paths-1": _PATHS(one_message, shared_others, pairs),
    "Tab1.allport-paths-M": _PATHS(any_messages, None, pairs),
    "Tab1.allport-necklace-1": ResultCell(
        "allgather", "necklace", "all", one_message, shared_others, pairs
    ),
    "Tab2.oneport-1": _SCATTER(one_message, others, distances),
    "Tab2.oneport-M": _SCATTER(any_messages, others, distances),
    "Tab2.allport-balanced-1": ResultCell(
        "scatter", "balanced", "all", one_message, shared_others, distances
    ),
    "Tab2.allport-near-1": ResultCell(
        "scatter", "near-balanced", "all", one_message, None, distances
    ),
    "Tab2.allport-perfect-M": ResultCell(
        "scatter", _PERFECT, "all", multiples, shared_others, distances
    ),
    "Tab3.oneport-1": _EXCHANGE(one_message, distances, distances_of_pairs),
    "Tab3.oneport-M": _EXCHANGE(any_messages, distances, distances_of_pairs),
    "Tab3.allport-near-1": ResultCell(
        "alltoall", "necklace", "all", one_message, None, distances_of_pairs
    ),
    "Tab3.allport-perfect-M": ResultCell(
        "alltoall", _PERFECT, "all", multiples, shared_distances, distances_of_pairs
    ),
}


def run_cell(check: ClaimCheck, cell: ResultCell, messages: int = 1, root: int = 0) -> Execution:
    """Execute the algorithm of a table cell for M = ``messages``, and return the execution."""
    is_rule_9 = (cell.collective, cell.algorithm) == ("alltoall", "necklace")
    # The alltoall of rule 9 has no parameter for the number of messages.
    arguments = {} if is_rule_9 else {"messages": messages}
    return execute(check, cell.collective, cell.algorithm, cell.ports, root, **arguments)


def quantity_is_exact(check: ClaimCheck, row: ClaimedQuantity) -> None:
    """Check a number of steps or transmissions that Tables 1 to 3 state for an algorithm."""
    cell, quantity, formula = row
    has_root = cell.collective == "scatter"
    for messages in cell.amounts(check.n):
        for root in check.roots(3) if has_root else (0,):
            run = run_cell(check, cell, messages, root)
            place: dict[str, Any] = {"of": run.schedule}
            if cell.amounts is not one_message:
                place["M"] = messages
            if has_root:
                place["root"] = root
            what = f"{quantity} of {cell.algorithm}"
            check.equal(what, getattr(run, quantity), formula(check.n, messages), **place)


for _name, _cell in CELLS.items():
    _rows: dict[str, ClaimedQuantity] = {
        f"FA.{_name}-transmissions": (_cell, "transmissions", _cell.transmissions)
    }
    if _cell.steps is not None:
        _rows[f"FA.{_name}-time"] = (_cell, "steps", _cell.steps)
    # With about n messages per node, a schedule has about n times as many rows as with one message,
    # so the memory grows with the square of the degree.
    _is_large = _cell.collective != "allgather" and _cell.amounts is not one_message
    _memory = Memory(5 * BYTES_PER_ROW, power=2 if _is_large else 1)
    check_rows(quantity_is_exact, _rows, memory=_memory)


@checks("FA.Tab2.allport-near-1-time")
def near_balanced_scatter(check: ClaimCheck) -> None:
    """Check the number of steps of a scatter over the near-balanced tree (Definition 13).

    The number must equal the number of necklaces (orbits of the rotation R) other than {12..n}, and
    the closed form `largest_branch`. The number divided by the lower bound ceil((n!-1)/(n-1)) must
    have the stated order of growth.
    """
    schedule, simulation = run_cell(check, CELLS["Tab2.allport-near-1"])
    count = len(stars.leader_distances(check))
    what = "steps of near-balanced, and necklaces without the root's"
    check.equal(what, simulation.steps, count, of=schedule)
    what = "steps of near-balanced, and the closed form"
    check.equal(what, simulation.steps, largest_branch(check.n), of=schedule)
    check.order("necklaces / ceil((n!-1)/(n-1))", largest_branch_quotient)


@checks("FA.Tab3.allport-near-1-time", memory=Memory(2 * BYTES_PER_ROW))
def rule_9_exchange(check: ClaimCheck) -> None:
    """Check the number of steps of Rule 9's alltoall, which serves one necklace at a time.

    A necklace is an orbit of the rotation R. The number must equal the sum of the necklaces'
    distances from 12..n, and the closed form `rule_9_steps`. The number divided by the lower bound
    ceil(t_n/(n-1)) must have the stated order of growth; t_n is the sum of all distances from a
    node.
    """
    schedule, simulation = run_cell(check, CELLS["Tab3.allport-near-1"])
    total = stars.leader_distances(check).sum()
    what = "steps of Rule 9, and the sum of the distances of the necklaces"
    check.equal(what, simulation.steps, int(total), of=schedule)
    what = "steps of Rule 9, and the closed form"
    check.equal(what, simulation.steps, rule_9_steps(check.n), of=schedule)
    check.order("steps of Rule 9 / ceil(t_n/(n-1))", rule_9_quotient)
