"""Fragopoulou & Akl 1993, section 2, Table 4 and the abstract: what the three problems require on S_n, and what meets it."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import distance_sum, even_share
from starcast.claims.growth import divided, factorial, rounded_up
from starcast.claims.instruments import counting
from starcast.claims.instruments.counting import Counted, counted
from starcast.claims.instruments.necklaces import rule_9_steps
from starcast.claims.see import See
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div

FAMILY = Family("fragopoulou_akl_bounds")
claim = FAMILY.claim


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
    count: Callable[[Counted], int]
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
        "allgather-transmissions", "allgather", "all", "messages that all nodes lack",
        lambda c: c.nodes * c.others, lambda n: factorial(n) * (factorial(n) - 1), "n!(n!-1)",
        (*_GATHERS, ("hamiltonian-cycle", "one")),
    ),
    Bound(
        "allgather-oneport-time", "allgather", "one", _RECEIVED,
        lambda c: c.others, lambda n: factorial(n) - 1, "n!-1", (("hamiltonian-cycle", "one"),),
    ),
    Bound(
        "allgather-allport-time", "allgather", "all", _RECEIVED_ALL,
        lambda c: ceil_div(c.others, c.links), even_share, "ceil((n!-1)/(n-1))", _GATHERS,
    ),
    Bound(
        "scatter-transmissions", "scatter", "all", "distances of all nodes from the root",
        lambda c: c.total, distance_sum, "t_n", (("balanced", "all"), ("near-balanced", "all"), ("one-port", "one")),
    ),
    Bound(
        "scatter-oneport-time", "scatter", "one", "messages that the root sends, one a step",
        lambda c: c.others, lambda n: factorial(n) - 1, "n!-1", (("one-port", "one"),),
    ),
    Bound(
        "scatter-allport-time", "scatter", "all", "messages that the root sends, shared by its links",
        lambda c: ceil_div(c.others, c.links), even_share, "ceil((n!-1)/(n-1))", (("balanced", "all"),),
    ),
    Bound(
        "alltoall-transmissions", "alltoall", "all", "distances of all pairs",
        lambda c: c.nodes * c.total, lambda n: factorial(n) * distance_sum(n), "n! t_n",
        (("necklace", "all"), ("one-port", "one"), ("exact", "all")),
    ),
    Bound(
        "alltoall-oneport-time", "alltoall", "one", "distances of all pairs, n! links a step",
        lambda c: ceil_div(c.nodes * c.total, c.nodes), distance_sum, "t_n", (("one-port", "one"),),
    ),
    Bound(
        "alltoall-allport-time", "alltoall", "all", "distances of all pairs, n!(n-1) links a step",
        lambda c: ceil_div(c.nodes * c.total, c.nodes * c.links), lambda n: ceil_div(distance_sum(n), n - 1), "ceil(t_n/(n-1))",
        (("exact", "all"),),
    ),
)  # fmt: skip


def _schedule(see: See, bound: Bound, algorithm: str, ports: str) -> Schedule:
    return see.lab.schedule(see.where.spec, bound.collective, algorithm, ports=ports)


def _taken(see: See, bound: Bound, schedule: Schedule) -> int:
    took = see.executed(schedule)
    return took.steps if bound.what == "steps" else took.transmissions


def _counts(see: See, bound: Bound) -> int:
    """The argument's counts are right; what is stated."""
    stated = bound.stated(see.where.n)
    see.equal(bound.why, bound.count(counted(see, degree=see.where.n - 1)), stated)
    return stated


def _not_beaten(see: See, *, bound: Bound) -> None:
    stated = _counts(see, bound)
    counting.not_beaten(
        see, counting.on_stars(see, bound.collective, bound.ports), stated, bound.what
    )


def _required(see: See, *, bound: Bound) -> None:
    stated = _counts(see, bound)
    for schedule in counting.on_stars(see, bound.collective, bound.ports):
        took = _taken(see, bound, schedule)
        no_less = took >= stated
        see.true(
            f"{schedule.algorithm} takes no fewer {bound.what}",
            no_less,
            found=took,
            stated=stated,
            of=schedule,
        )
    for algorithm, ports in bound.met:
        schedule = _schedule(see, bound, algorithm, ports)
        see.equal(f"{bound.what} of {algorithm}", _taken(see, bound, schedule), stated, of=schedule)


_SIZES = stars(6, 7, 8)
_UNITS = "a link carries one message in a step, as section 1 says; schedules that pack several into a packet are not looked at"
for _bound in BOUNDS:
    _whose = f"{_bound.collective}{'' if _bound.what == 'transmissions' else f', {_bound.ports}-port'}, one message"
    FAMILY.add(
        f"FA.LB.{_bound.cell}", "Section 2", _SIZES, f"{_whose}: no schedule takes fewer than {_bound.said} {_bound.what}.",
        partial(_not_beaten, bound=_bound), reading=_UNITS if _bound.collective == "allgather" else "",
    )  # fmt: skip
    FAMILY.add(
        f"FA.Tab4.{_bound.cell}", "Table 4", _SIZES, f"{_whose}: {_bound.said} {_bound.what} are needed, and enough.",
        partial(_required, bound=_bound), reading=_UNITS if _bound.collective == "allgather" else "",
    )  # fmt: skip

_OURS = ("exact",)  # not the paper's
_RULE_9 = "alltoall-allport-time"


@claim(
    "FA.S2-optimal",
    "Section 2",
    _SIZES,
    "One message: rotated-hamiltonian, necklace, hamiltonian-cycle (allgather), balanced, one-port (scatter), Rule 9 "
    "and one-port (alltoall) take exactly as many steps and transmissions as the bounds.",
    reading="section 7 gives one algorithm for one message a pair under all-port, Rule 9; where the paper gives several for a "
    "problem, the best is looked at",
)
def _optimal(see: See) -> None:
    for bound in BOUNDS:
        if bound.cell == _RULE_9:
            rule_9 = _schedule(see, bound, "necklace", "all")
            see.equal(
                "steps of Rule 9, alltoall",
                see.executed(rule_9).steps,
                bound.stated(see.where.n),
                of=rule_9,
            )
        else:
            _met(see, bound)
    true = see.instead(
        "eight bounds are met; Rule 9 takes the sum of the distances of the necklaces, and `exact` (ours) meets the ninth"
    )
    for bound in BOUNDS:
        _met(true, bound)
    _rule_9(true)


@claim(
    "FA.abstract",
    "Abstract",
    _SIZES,
    "One message: the paper's allgather and scatter take exactly their bounds, alltoall by Rule 9 O(ceil(t_n/(n-1))) steps.",
)
def _abstract(see: See) -> None:
    for bound in BOUNDS:
        if bound.collective != "alltoall":
            _met(see, bound)
    rule_9 = _rule_9(see)
    bound = BOUNDS[-1]
    see.equal(
        bound.why, bound.count(counted(see, degree=see.where.n - 1)), bound.stated(see.where.n)
    )
    see.equal(
        "steps of Rule 9, and the closed form",
        see.executed(rule_9).steps,
        rule_9_steps(see.where.n),
        of=rule_9,
    )
    see.order(
        "steps of Rule 9 / ceil(t_n/(n-1))",
        lambda n: divided(rule_9_steps(n), rounded_up(divided(distance_sum(n), n - 1))),
    )


def _met(see: See, bound: Bound) -> None:
    """The paper's algorithms take exactly the bound; ours, where there are none."""
    papers = [one for one in bound.met if one[0] not in _OURS] or list(bound.met)
    for algorithm, ports in papers:
        schedule = _schedule(see, bound, algorithm, ports)
        stated = bound.stated(see.where.n)
        see.equal(
            f"{bound.what} of {bound.collective} {algorithm}",
            _taken(see, bound, schedule),
            stated,
            of=schedule,
        )


def _rule_9(see: See) -> Schedule:
    """Rule 9 takes the sum of the necklaces' distances."""
    rule_9 = see.lab.schedule(see.where.spec, "alltoall", "necklace")
    steps = see.executed(rule_9).steps
    away = counting.necklace_distances(see.lab, see.where.spec)
    see.equal(
        "steps of Rule 9 and the sum of the distances of the necklaces",
        steps,
        int(away.sum()),
        of=rule_9,
    )
    return rule_9
