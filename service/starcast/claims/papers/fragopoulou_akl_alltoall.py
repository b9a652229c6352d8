"""Fragopoulou & Akl 1993, sections 7 to 9: total exchange by rules 9 and 10, one-port, and the open problem."""

from fractions import Fraction

import numpy as np

from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import distance_sum
from starcast.claims.growth import Number, divided, factorial, rounded_up
from starcast.claims.instruments import counting, necklaces, searching
from starcast.claims.see import See
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

FAMILY = Family("fragopoulou_akl_alltoall")
claim = FAMILY.claim

_WRITTEN_OUT = 120  # nodes: up to S_5 the schedule of all sources is executed as well, not only the one that stands for all


def _rows(where: Topology) -> int:
    """Bytes a node of the schedule of one source with one message a pair."""
    return 80 * 2 * where.n


def _many_rows(where: Topology) -> int:
    """Bytes a node of the schedule of one source with 2(n-1) messages a pair."""
    return _rows(where) * 2 * where.degree


def _rule_9(see: See) -> Schedule:
    return see.lab.schedule(see.where.spec, "alltoall", "necklace")


def _steps(see: See) -> int:
    return see.executed(_rule_9(see)).steps


def _conflict_free(see: See, made: Schedule, most: int = _WRITTEN_OUT) -> None:
    """One source, standing for all; the link types of its steps; on small topologies all sources written out."""
    see.executed(made)
    used = np.unique(made.step.astype(np.int64) * (made.topology.n + 1) + made.port)
    see.equal("links that share type and step with another", len(made) - len(used), 0, of=made)
    if see.where.nodes <= most:
        key = ("written out", see.where.spec, made.algorithm, *made.arguments.items())
        see.executed(see.lab.keep("schedule", key, made.expand))


def _in_groups(see: See, made: Schedule, messages: int) -> None:
    """Rules 9 and 10: messages to one necklace leave together, the nearest necklaces first, and then hop without a pause.

    A group leaves when the one before has arrived. By rule 9 a necklace is one group, by rule 10 it is M p/(n-1) of them.
    """
    leader, away = (
        counting.necklaces(see.lab, see.where.spec),
        searching.distances(see.lab, see.where.spec),
    )
    left, came = made.sender == 0, made.receiver == made.unit // messages
    node, step = made.unit[left] // messages, made.step[left]
    begin, first, group = np.unique(step, return_index=True, return_inverse=True)
    ring, far = leader[node[first]], away[node[first]].astype(np.int64)
    see.equal(
        "necklace of those that leave together", leader[node], ring[group], step=step, of=made
    )
    see.equal("distances do not fall", far, np.sort(far), step=begin, of=made)
    see.equal("step in which a group leaves", begin, np.cumsum(far) - far + 1, of=made)
    groups = np.bincount(ring, minlength=see.where.nodes)[np.unique(leader)[1:]]
    periods = necklaces.periods(see.lab, see.where)[np.unique(leader)[1:]]
    see.equal(
        "groups of a necklace",
        groups,
        messages * periods // (see.where.n - 1) if messages > 1 else 1,
        of=made,
    )
    took = np.zeros(see.where.nodes * messages, dtype=np.int64)
    took[made.unit[came]] += made.step[came]
    took[made.unit[left]] -= step
    needs = np.repeat(np.maximum(away - 1, 0), messages)
    see.equal("steps from the first hop to the last", took, needs, of=made)


def _mean_distance(see: See) -> Fraction:
    """d, by search."""
    return Fraction(searching.distance_sum(see.lab, see.where.spec), see.where.nodes)


def _necklaces(see: See) -> int:
    """h, by turning every node."""
    return len(np.unique(counting.necklaces(see.lab, see.where.spec))) - 1


# Rule 9


@claim(
    "FA.R9.conflict-free",
    "Section 7, rule 9",
    stars(6, 7, 8),
    "Every node ends with everybody's message for it, no directed link carries two messages in a step, and the links of a "
    "source's step are of different types.",
    weight=_rows,
)
def _conflicts(see: See) -> None:
    _in_groups(see, _rule_9(see), 1)
    _conflict_free(see, _rule_9(see))


@claim(
    "FA.R9.transmissions",
    "Section 7, rule 9",
    stars(7, 8, 8),
    "It takes n! t_n transmissions.",
    weight=_rows,
)
def _transmissions(see: See) -> None:
    n, took = see.where.n, see.executed(_rule_9(see))
    see.equal("transmissions", took.transmissions, factorial(n) * distance_sum(n), of=_rule_9(see))


@claim(
    "FA.R9.time",
    "Section 7, rule 9",
    stars(7, 8, 8),
    "It takes h d steps, h the number of necklaces other than that of 12..n, d = t_n/n! = n + 2/n + H_n - 4.",
    reading="Section 7 defines d as the mean over all n! nodes, 12..n included. The groups follow one another without a pause.",
    weight=_rows,
)
def _time(see: See) -> None:
    n, h, steps = see.where.n, _necklaces(see), _steps(see)
    d = Fraction(distance_sum(n), int(factorial(n)))
    see.equal("mean distance, by search", _mean_distance(see), d)
    see.equal("steps", steps, h * d, of=_rule_9(see))
    see.reading("h counts the necklace of 12..n too").equal(
        "steps", steps, (h + 1) * d, of=_rule_9(see)
    )
    instead = see.instead(
        "the sum of the distances of all necklaces, each counted once; in closed form (Burnside) 1/(n-1) times t_n - t and the "
        "sum over a m = n-1 of phi(a) a^m m! (n - 3 + H_m P(a)/a), with t = (n-1)!(n - 3 + H_{n-1}), P(a) the sum of gcd(a,e), "
        "e = 1..a"
    )
    instead.equal(
        "steps, by the distances of the necklaces",
        steps,
        necklaces.total_distance(see.lab, see.where),
    )
    instead.equal("steps, in closed form", steps, necklaces.rule_9_steps(n))


@claim(
    "FA.R9.h",
    "Section 7",
    stars(7, 8, 9),
    "h <= 2(n-1)! - 1, h the number of necklaces other than that of 12..n.",
)
def _number_of_necklaces(see: See) -> None:
    n, h = see.where.n, _necklaces(see)
    see.at_most("necklaces", h, 2 * factorial(n - 1) - 1)
    see.reading("h counts the necklace of 12..n too").at_most(
        "necklaces", h + 1, 2 * factorial(n - 1) - 1
    )
    see.equal(
        "necklaces, by Burnside's count", h, factorial(n - 1) + necklaces.starting_necklaces(n)
    )


@claim(
    "FA.R9.bound",
    "Section 7, rule 9",
    stars(7, 8, 8),
    "It takes at most (2(n-1)! - 1) d steps, d = n + 2/n + H_n - 4.",
    weight=_rows,
)
def _bound(see: See) -> None:
    n, steps = see.where.n, _steps(see)
    d = Fraction(distance_sum(n), int(factorial(n)))
    see.equal("mean distance, by search", _mean_distance(see), d)
    see.at_most("steps", steps, (2 * factorial(n - 1) - 1) * d, of=_rule_9(see))
    instead = see.instead(
        "at most 2(n-1)! d steps, as if the necklace of 12..n were sent to as well"
    )
    instead.at_most("steps", steps, 2 * factorial(n - 1) * d, of=_rule_9(see))


@claim(
    "FA.R9.order",
    "Section 7, rule 9",
    stars(7, 8, 8),
    "It takes O(ceil(t_n/(n-1))) steps. In closed form (Burnside) the sum of the distances of all necklaces; above n = 60, "
    "that with each node that starts with 1 as a necklace of its own, which is no less.",
    weight=_rows,
)
def _order(see: See) -> None:
    see.equal(
        "steps, in closed form", _steps(see), necklaces.rule_9_steps(see.where.n), of=_rule_9(see)
    )
    see.order("steps / ceil(t_n/(n-1))", _to_the_bound)


def _to_the_bound(n: int) -> Number:
    return divided(necklaces.rule_9_steps(n), rounded_up(divided(distance_sum(n), n - 1)))


# Rule 10, one port, and the open problem


@claim(
    "FA.R10",
    "Section 7, rule 10",
    stars(6, 7, 7),
    "For M a multiple of n-1, the total exchange of M messages a pair by rule 10 has no conflicts and takes ceil(M t_n/(n-1)) "
    "steps and M n! t_n transmissions.",
    weight=_many_rows,
)
def _rule_10(see: See) -> None:
    n = see.where.n
    for messages in (n - 1, 2 * (n - 1)):
        made = see.lab.schedule(see.where.spec, "alltoall", "perfectly-balanced", messages=messages)
        _in_groups(see, made, messages)
        _conflict_free(see, made, most=24)
        took = see.executed(made)
        see.equal(
            "steps", took.steps, ceil_div(messages * distance_sum(n), n - 1), M=messages, of=made
        )
        see.equal(
            "transmissions",
            took.transmissions,
            messages * factorial(n) * distance_sum(n),
            M=messages,
            of=made,
        )


@claim(
    "FA.S8",
    "Section 8",
    stars(7, 8, 8),
    "One-port total exchange, in every step over all links of one type, takes t_n steps and n! t_n transmissions.",
    weight=_rows,
)
def _one_port(see: See) -> None:
    n = see.where.n
    made = see.lab.schedule(see.where.spec, "alltoall", "one-port", ports="one")
    took = see.executed(made)
    see.equal(
        "messages on their way from a source in a step",
        np.bincount(made.step)[1:],
        1,
        step=lambda at: at + 1,
        of=made,
    )
    see.equal("steps", took.steps, distance_sum(n), of=made)
    see.equal("transmissions", took.transmissions, factorial(n) * distance_sum(n), of=made)
    if see.where.nodes <= _WRITTEN_OUT:
        see.executed(
            see.lab.keep("schedule", ("written out, one-port", see.where.spec), made.expand)
        )


@claim(
    "FA.open",
    "Section 9, open problem",
    stars(7, 8, 8),
    "Some all-port total exchange of one message a pair takes exactly ceil(t_n/(n-1)) steps.",
    reading="A schedule of the house, which is no paper's, answers it at each size; for every n there is a proof beside it.",
    weight=_rows,
)
def _open(see: See) -> None:
    n = see.where.n
    made = see.lab.schedule(see.where.spec, "alltoall", "exact")
    _conflict_free(see, made)
    see.equal("steps", see.executed(made).steps, ceil_div(distance_sum(n), n - 1), of=made)
