"""Fragopoulou & Akl 1993, section 2, Table 4 and the abstract: what the three problems require on S_n, and what meets it."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import distance_sum, even_share
from starcast.claims.growth import divided, factorial, rounded_up
from starcast.claims.reference import lower_bound_counts
from starcast.claims.reference.lower_bound_counts import NodeCounts, count_from_node
from starcast.claims.reference.necklaces import rule_9_steps
from starcast.claims.registry import check, register
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div


class Bound(NamedTuple):
    """A cell of the table of section 2.

    Attributes:
        cell: what the ids call it.
        collective, ports: whose; under all-port where the ports do not matter.
        why: the argument, in words.
        count: what it counts.
        stated: the cell, a function of n.
        said: the cell, in symbols.
        met: the algorithms that take exactly this, the paper's own first, with their ports.
    """

    cell: str
    collective: str
    ports: str
    why: str
    count: Callable[[NodeCounts], int]
    stated: Callable[[int], int]
    said: str
    met: tuple[tuple[str, str], ...]

    @property
    def what(self) -> str:
        """Steps or transmissions."""
        return "steps" if self.cell.endswith("time") else "transmissions"


_RECEIVED = "messages that a node lacks, one a step"
_RECEIVED_ALL = "messages that a node lacks, shared by its links"
_GATHERS = (("rotated-hamiltonian", "all"), ("necklace", "all"))
BOUNDS = (
    Bound(
        "allgather-transmissions",
        "allgather",
        "all",
        "messages that all nodes lack",
        lambda c: c.nodes * c.others,
        lambda n: factorial(n) * (factorial(n) - 1),
        "n!(n!-1)",
        (*_GATHERS, ("hamiltonian-cycle", "one")),
    ),
    Bound(
        "allgather-oneport-time",
        "allgather",
        "one",
        _RECEIVED,
        lambda c: c.others,
        lambda n: factorial(n) - 1,
        "n!-1",
        (("hamiltonian-cycle", "one"),),
    ),
    Bound(
        "allgather-allport-time",
        "allgather",
        "all",
        _RECEIVED_ALL,
        lambda c: ceil_div(c.others, c.links),
        even_share,
        "ceil((n!-1)/(n-1))",
        _GATHERS,
    ),
    Bound(
        "scatter-transmissions",
        "scatter",
        "all",
        "distances of all nodes from the root",
        lambda c: c.total,
        distance_sum,
        "t_n",
        (("balanced", "all"), ("near-balanced", "all"), ("one-port", "one")),
    ),
    Bound(
        "scatter-oneport-time",
        "scatter",
        "one",
        "messages that the root sends, one a step",
        lambda c: c.others,
        lambda n: factorial(n) - 1,
        "n!-1",
        (("one-port", "one"),),
    ),
    Bound(
        "scatter-allport-time",
        "scatter",
        "all",
        "messages that the root sends, shared by its links",
        lambda c: ceil_div(c.others, c.links),
        even_share,
        "ceil((n!-1)/(n-1))",
        (("balanced", "all"),),
    ),
    Bound(
        "alltoall-transmissions",
        "alltoall",
        "all",
        "distances of all pairs",
        lambda c: c.nodes * c.total,
        lambda n: factorial(n) * distance_sum(n),
        "n! t_n",
        (("necklace", "all"), ("one-port", "one"), ("exact", "all")),
    ),
    Bound(
        "alltoall-oneport-time",
        "alltoall",
        "one",
        "distances of all pairs, n! links a step",
        lambda c: ceil_div(c.nodes * c.total, c.nodes),
        distance_sum,
        "t_n",
        (("one-port", "one"),),
    ),
    Bound(
        "alltoall-allport-time",
        "alltoall",
        "all",
        "distances of all pairs, n!(n-1) links a step",
        lambda c: ceil_div(c.nodes * c.total, c.nodes * c.links),
        lambda n: ceil_div(distance_sum(n), n - 1),
        "ceil(t_n/(n-1))",
        (("exact", "all"),),
    ),
)


def _schedule(check: ClaimCheck, bound: Bound, algorithm: str, ports: str) -> Schedule:
    return check.objects.schedule(check.topology.spec, bound.collective, algorithm, ports=ports)


def _taken(check: ClaimCheck, bound: Bound, schedule: Schedule) -> int:
    took = check.execute(schedule)
    return took.steps if bound.what == "steps" else took.transmissions


def _counts(check: ClaimCheck, bound: Bound) -> int:
    """The argument's counts are right; what is stated."""
    stated = bound.stated(check.topology.n)
    check.equal(bound.why, bound.count(count_from_node(check, degree=check.topology.n - 1)), stated)
    return stated


def _not_beaten(check: ClaimCheck, *, bound: Bound) -> None:
    stated = _counts(check, bound)
    lower_bound_counts.check_not_beaten(
        check,
        lower_bound_counts.unit_schedules_on_star(check, bound.collective, bound.ports),
        stated,
        bound.what,
    )


def _required(check: ClaimCheck, *, bound: Bound) -> None:
    stated = _counts(check, bound)
    for schedule in lower_bound_counts.unit_schedules_on_star(check, bound.collective, bound.ports):
        took = _taken(check, bound, schedule)
        no_less = took >= stated
        check.true(
            f"{schedule.algorithm} takes no fewer {bound.what}",
            no_less,
            found=took,
            stated=stated,
            of=schedule,
        )
    for algorithm, ports in bound.met:
        schedule = _schedule(check, bound, algorithm, ports)
        check.equal(
            f"{bound.what} of {algorithm}", _taken(check, bound, schedule), stated, of=schedule
        )


for _bound in BOUNDS:
    register(f"FA.LB.{_bound.cell}", partial(_not_beaten, bound=_bound))
    register(f"FA.Tab4.{_bound.cell}", partial(_required, bound=_bound))

_OURS = ("exact",)  # not the paper's
_RULE_9 = "alltoall-allport-time"


@check("FA.S2-optimal")
def _optimal(check: ClaimCheck) -> None:
    for bound in BOUNDS:
        if bound.cell == _RULE_9:
            rule_9 = _schedule(check, bound, "necklace", "all")
            check.equal(
                "steps of Rule 9, alltoall",
                check.execute(rule_9).steps,
                bound.stated(check.topology.n),
                of=rule_9,
            )
        else:
            _met(check, bound)
    true = check.correction(
        "eight bounds are met; Rule 9 takes the sum of the distances of the necklaces, and `exact` (ours) meets the ninth"
    )
    for bound in BOUNDS:
        _met(true, bound)
    _rule_9(true)


@check("FA.abstract")
def _abstract(check: ClaimCheck) -> None:
    for bound in BOUNDS:
        if bound.collective != "alltoall":
            _met(check, bound)
    rule_9 = _rule_9(check)
    bound = BOUNDS[-1]
    check.equal(
        bound.why,
        bound.count(count_from_node(check, degree=check.topology.n - 1)),
        bound.stated(check.topology.n),
    )
    check.equal(
        "steps of Rule 9, and the closed form",
        check.execute(rule_9).steps,
        rule_9_steps(check.topology.n),
        of=rule_9,
    )
    check.order(
        "steps of Rule 9 / ceil(t_n/(n-1))",
        lambda n: divided(rule_9_steps(n), rounded_up(divided(distance_sum(n), n - 1))),
    )


def _met(check: ClaimCheck, bound: Bound) -> None:
    """The paper's algorithms take exactly the bound; ours, where there are none."""
    papers = [one for one in bound.met if one[0] not in _OURS] or list(bound.met)
    for algorithm, ports in papers:
        schedule = _schedule(check, bound, algorithm, ports)
        stated = bound.stated(check.topology.n)
        check.equal(
            f"{bound.what} of {bound.collective} {algorithm}",
            _taken(check, bound, schedule),
            stated,
            of=schedule,
        )


def _rule_9(check: ClaimCheck) -> Schedule:
    """Rule 9 takes the sum of the necklaces' distances."""
    rule_9 = check.objects.schedule(check.topology.spec, "alltoall", "necklace")
    steps = check.execute(rule_9).steps
    away = lower_bound_counts.necklace_distances(check.objects, check.topology.spec)
    check.equal(
        "steps of Rule 9 and the sum of the distances of the necklaces",
        steps,
        int(away.sum()),
        of=rule_9,
    )
    return rule_9
