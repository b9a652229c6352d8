"""Fragopoulou & Akl 1993, section 2, Table 4 and the abstract: lower bounds on S_n.

`BOUNDS` has one row of data per cell of the table of section 2; Table 4 has the same cells.
"""

from collections.abc import Callable
from dataclasses import dataclass

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import distance_sum
from starcast.claims.growth import Number, divided, factorial
from starcast.claims.reference import lower_bound_counts
from starcast.claims.reference.lower_bound_counts import NodeCounts, count_from_node
from starcast.claims.reference.necklaces import rule_9_steps
from starcast.claims.reference.star_vs_hypercube import NetworkCounts, least_steps
from starcast.claims.registry import check, check_rows
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div

#: Counts of one node by search, or the closed forms of a network.
Counts = NodeCounts | NetworkCounts


@dataclass(frozen=True)
class Bound:
    """A lower bound.

    Attributes:
        cell: collective, port model if it matters, and quantity, as in the ids of claims.
        argument: what the argument counts, in words.
        count: the count from which the bound follows.
        stated: the bound that the paper states, as a function of n.
        algorithms: algorithms that meet the bound, those of the paper first, with their ports.
    """

    cell: str
    argument: str
    count: Callable[[Counts], Number]
    stated: Callable[[int], int]
    algorithms: tuple[tuple[str, str], ...]

    @property
    def collective(self) -> str:
        """The collective."""
        return self.cell.split("-")[0]

    @property
    def ports(self) -> str:
        """The port model; all-port if the bound holds for both."""
        return "one" if "oneport" in self.cell else "all"

    @property
    def quantity(self) -> str:
        """``steps`` or ``transmissions``."""
        return "steps" if self.cell.endswith("time") else "transmissions"


def count_others(counts: Counts) -> Number:
    """Return the number of nodes but one."""
    return counts.nodes - 1


def count_others_per_link(counts: Counts) -> Number:
    """Return the share of each link of a node in all other nodes, rounded up."""
    return least_steps(counts.nodes - 1, counts.links)


def count_pairs(counts: Counts) -> Number:
    """Return the number of ordered pairs of nodes."""
    return counts.nodes * (counts.nodes - 1)


def count_distances(counts: Counts) -> Number:
    """Return the sum of the distances from a node, which is also that of all pairs per node."""
    return counts.total


def count_distances_of_pairs(counts: Counts) -> Number:
    """Return the sum of the distances of all ordered pairs."""
    return counts.nodes * counts.total


def count_distances_per_link(counts: Counts) -> Number:
    """Return the sum of the distances of all pairs, divided by the directed links, rounded up."""
    return least_steps(counts.nodes * counts.total, counts.nodes * counts.links)


def others(n: int, messages: int = 1) -> int:
    """Return M(n!-1)."""
    return messages * (int(factorial(n)) - 1)


def pairs(n: int, messages: int = 1) -> int:
    """Return M n!(n!-1)."""
    return int(factorial(n)) * others(n, messages)


def shared_others(n: int, messages: int = 1) -> int:
    """Return ceil(M(n!-1)/(n-1))."""
    return ceil_div(others(n, messages), n - 1)


def distances(n: int, messages: int = 1) -> int:
    """Return M t_n."""
    return messages * int(distance_sum(n))


def distances_of_pairs(n: int, messages: int = 1) -> int:
    """Return M n! t_n."""
    return int(factorial(n)) * distances(n, messages)


def shared_distances(n: int, messages: int = 1) -> int:
    """Return ceil(M t_n/(n-1))."""
    return ceil_div(distances(n, messages), n - 1)


_TREES = (("rotated-hamiltonian", "all"), ("necklace", "all"))
_CYCLE = ("hamiltonian-cycle", "one")
_ONE_PORT = ("one-port", "one")
_BALANCED = ("balanced", "all")
_EXACT = ("exact", "all")  # not an algorithm of the paper

_BOUNDS = (
    Bound(
        "allgather-transmissions",
        "messages that all nodes lack",
        count_pairs,
        pairs,
        (*_TREES, _CYCLE),
    ),
    Bound(
        "allgather-oneport-time",
        "messages that a node lacks, one a step",
        count_others,
        others,
        (_CYCLE,),
    ),
    Bound(
        "allgather-allport-time",
        "messages that a node lacks, shared by its links",
        count_others_per_link,
        shared_others,
        _TREES,
    ),
    Bound(
        "scatter-transmissions",
        "distances of all nodes from the root",
        count_distances,
        distances,
        (_BALANCED, ("near-balanced", "all"), _ONE_PORT),
    ),
    Bound(
        "scatter-oneport-time",
        "messages that the root sends, one a step",
        count_others,
        others,
        (_ONE_PORT,),
    ),
    Bound(
        "scatter-allport-time",
        "messages that the root sends, shared by its links",
        count_others_per_link,
        shared_others,
        (_BALANCED,),
    ),
    Bound(
        "alltoall-transmissions",
        "distances of all pairs",
        count_distances_of_pairs,
        distances_of_pairs,
        (("necklace", "all"), _ONE_PORT, _EXACT),
    ),
    Bound(
        "alltoall-oneport-time",
        "distances of all pairs, n! links a step",
        count_distances,
        distances,
        (_ONE_PORT,),
    ),
    Bound(
        "alltoall-allport-time",
        "distances of all pairs, n!(n-1) links a step",
        count_distances_per_link,
        shared_distances,
        (_EXACT,),
    ),
)
BOUNDS = {bound.cell: bound for bound in _BOUNDS}
#: The bound that rule 9 would have to meet.
RULE_9_CELL = "alltoall-allport-time"


def bound_schedule(check: ClaimCheck, bound: Bound, algorithm: str, ports: str) -> Schedule:
    """Return the schedule of an algorithm for the collective of a bound."""
    return check.objects.schedule(check.topology.spec, bound.collective, algorithm, ports=ports)


def measured_quantity(check: ClaimCheck, bound: Bound, schedule: Schedule) -> int:
    """Execute a schedule; return its steps or transmissions, whichever is bounded."""
    simulation = check.execute(schedule)
    return simulation.steps if bound.quantity == "steps" else simulation.transmissions


def check_count(check: ClaimCheck, bound: Bound) -> int:
    """Check the count of the argument, and return the stated bound."""
    stated = bound.stated(check.topology.n)
    counts = count_from_node(check, degree=check.topology.n - 1)
    check.equal(bound.argument, bound.count(counts), stated)
    return stated


def no_schedule_beats_bound(check: ClaimCheck, bound: Bound) -> None:
    """Check the count of the argument, and that no schedule of the catalogue beats the bound."""
    stated = check_count(check, bound)
    schedules = lower_bound_counts.unit_schedules_on_star(check, bound.collective, bound.ports)
    lower_bound_counts.check_not_beaten(check, schedules, stated, bound.quantity)


def bound_is_met(check: ClaimCheck, bound: Bound) -> None:
    """Check that no schedule beats the bound, and that its algorithms take exactly this much."""
    stated = check_count(check, bound)
    schedules = lower_bound_counts.unit_schedules_on_star(check, bound.collective, bound.ports)
    for schedule in schedules:
        measured = measured_quantity(check, bound, schedule)
        what = f"{schedule.algorithm} takes no fewer {bound.quantity}"
        check.true(what, measured >= stated, found=measured, stated=stated, of=schedule)
    for algorithm, ports in bound.algorithms:
        schedule = bound_schedule(check, bound, algorithm, ports)
        measured = measured_quantity(check, bound, schedule)
        check.equal(f"{bound.quantity} of {algorithm}", measured, stated, of=schedule)


check_rows(no_schedule_beats_bound, {f"FA.LB.{cell}": bound for cell, bound in BOUNDS.items()})
check_rows(bound_is_met, {f"FA.Tab4.{cell}": bound for cell, bound in BOUNDS.items()})


@check("FA.S2-optimal")
def algorithms_meet_all_bounds(check: ClaimCheck) -> None:
    """Check that the paper's algorithms for one message meet all nine bounds."""
    for cell, bound in BOUNDS.items():
        if cell == RULE_9_CELL:
            schedule = bound_schedule(check, bound, "necklace", "all")
            steps = check.execute(schedule).steps
            stated = bound.stated(check.topology.n)
            check.equal("steps of Rule 9, alltoall", steps, stated, of=schedule)
        else:
            check_paper_meets(check, bound)
    correction = check.correction(
        "eight bounds are met; Rule 9 takes the sum of the distances of the necklaces, "
        "and `exact` (ours) meets the ninth"
    )
    for bound in BOUNDS.values():
        check_paper_meets(correction, bound)
    check_rule_9(correction)


@check("FA.abstract")
def abstract(check: ClaimCheck) -> None:
    """Check that allgather and scatter meet their bounds, and the order of rule 9."""
    for bound in BOUNDS.values():
        if bound.collective != "alltoall":
            check_paper_meets(check, bound)
    schedule = check_rule_9(check)
    check_count(check, BOUNDS[RULE_9_CELL])
    steps = check.execute(schedule).steps
    stated = rule_9_steps(check.topology.n)
    check.equal("steps of Rule 9, and the closed form", steps, stated, of=schedule)
    check.order("steps of Rule 9 / ceil(t_n/(n-1))", rule_9_quotient)


def rule_9_quotient(n: int) -> Number:
    """Return the steps of Rule 9 over ceil(t_n/(n-1))."""
    return divided(rule_9_steps(n), least_steps(distance_sum(n), n - 1))


def check_paper_meets(check: ClaimCheck, bound: Bound) -> None:
    """Check that the paper's algorithms take exactly the bound; ours, if the paper has none."""
    own = [algorithm for algorithm in bound.algorithms if algorithm != _EXACT]
    for algorithm, ports in own or bound.algorithms:
        schedule = bound_schedule(check, bound, algorithm, ports)
        stated = bound.stated(check.topology.n)
        measured = measured_quantity(check, bound, schedule)
        what = f"{bound.quantity} of {bound.collective} {algorithm}"
        check.equal(what, measured, stated, of=schedule)


def check_rule_9(check: ClaimCheck) -> Schedule:
    """Check that Rule 9 takes the sum of the distances of the necklaces; return its schedule."""
    schedule = check.objects.schedule(check.topology.spec, "alltoall", "necklace")
    steps = check.execute(schedule).steps
    distances = lower_bound_counts.necklace_distances(check.objects, check.topology.spec)
    what = "steps of Rule 9 and the sum of the distances of the necklaces"
    check.equal(what, steps, int(distances.sum()), of=schedule)
    return schedule
