"""Fragopoulou & Akl 1993, sections 7 to 9: total exchange by rules 9 and 10, one-port, and the open problem."""

from fractions import Fraction

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import distance_sum
from starcast.claims.growth import Number, divided, factorial, rounded_up
from starcast.claims.reference import bfs, lower_bound_counts, necklaces
from starcast.claims.registry import check
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

_WRITTEN_OUT = 120  # nodes: up to S_5 the schedule of all sources is executed as well, not only the one that stands for all


def _rows(topology: Topology) -> int:
    """Bytes a node of the schedule of one source with one message a pair."""
    return 80 * 2 * topology.n


def _many_rows(topology: Topology) -> int:
    """Bytes a node of the schedule of one source with 2(n-1) messages a pair."""
    return _rows(topology) * 2 * topology.degree


def _rule_9(check: ClaimCheck) -> Schedule:
    return check.objects.schedule(check.topology.spec, "alltoall", "necklace")


def _steps(check: ClaimCheck) -> int:
    return check.execute(_rule_9(check)).steps


def _conflict_free(check: ClaimCheck, made: Schedule, most: int = _WRITTEN_OUT) -> None:
    """One source, standing for all; the link types of its steps; on small topologies all sources written out."""
    check.execute(made)
    used = np.unique(made.step.astype(np.int64) * (made.topology.n + 1) + made.port)
    check.equal("links that share type and step with another", len(made) - len(used), 0, of=made)
    if check.topology.nodes <= most:
        key = ("written out", check.topology.spec, made.algorithm, *made.arguments.items())
        check.execute(check.objects.get_or_create("schedule", key, made.expand))


def _in_groups(check: ClaimCheck, made: Schedule, messages: int) -> None:
    """Rules 9 and 10: messages to one necklace leave together, the nearest necklaces first, and then hop without a pause.

    A group leaves when the one before has arrived. By rule 9 a necklace is one group, by rule 10 it is M p/(n-1) of them.
    """
    leader, away = (
        lower_bound_counts.necklaces(check.objects, check.topology.spec),
        bfs.distances(check.objects, check.topology.spec),
    )
    left, came = made.sender == 0, made.receiver == made.unit // messages
    node, step = made.unit[left] // messages, made.step[left]
    begin, first, group = np.unique(step, return_index=True, return_inverse=True)
    ring, far = leader[node[first]], away[node[first]].astype(np.int64)
    check.equal(
        "necklace of those that leave together", leader[node], ring[group], step=step, of=made
    )
    check.equal("distances do not fall", far, np.sort(far), step=begin, of=made)
    check.equal("step in which a group leaves", begin, np.cumsum(far) - far + 1, of=made)
    groups = np.bincount(ring, minlength=check.topology.nodes)[np.unique(leader)[1:]]
    periods = necklaces.periods(check.objects, check.topology)[np.unique(leader)[1:]]
    check.equal(
        "groups of a necklace",
        groups,
        messages * periods // (check.topology.n - 1) if messages > 1 else 1,
        of=made,
    )
    took = np.zeros(check.topology.nodes * messages, dtype=np.int64)
    took[made.unit[came]] += made.step[came]
    took[made.unit[left]] -= step
    needs = np.repeat(np.maximum(away - 1, 0), messages)
    check.equal("steps from the first hop to the last", took, needs, of=made)


def _mean_distance(check: ClaimCheck) -> Fraction:
    """d, by search."""
    return Fraction(bfs.distance_sum(check.objects, check.topology.spec), check.topology.nodes)


def _necklaces(check: ClaimCheck) -> int:
    """h, by turning every node."""
    return len(np.unique(lower_bound_counts.necklaces(check.objects, check.topology.spec))) - 1


# Rule 9


@check("FA.R9.conflict-free", bytes_per_node=_rows)
def _conflicts(check: ClaimCheck) -> None:
    _in_groups(check, _rule_9(check), 1)
    _conflict_free(check, _rule_9(check))


@check("FA.R9.transmissions", bytes_per_node=_rows)
def _transmissions(check: ClaimCheck) -> None:
    n, took = check.topology.n, check.execute(_rule_9(check))
    check.equal(
        "transmissions", took.transmissions, factorial(n) * distance_sum(n), of=_rule_9(check)
    )


@check("FA.R9.time", bytes_per_node=_rows)
def _time(check: ClaimCheck) -> None:
    n, h, steps = check.topology.n, _necklaces(check), _steps(check)
    d = Fraction(distance_sum(n), int(factorial(n)))
    check.equal("mean distance, by search", _mean_distance(check), d)
    check.equal("steps", steps, h * d, of=_rule_9(check))
    check.reading("h counts the necklace of 12..n too").equal(
        "steps", steps, (h + 1) * d, of=_rule_9(check)
    )
    instead = check.correction(
        "the sum of the distances of all necklaces, each counted once; in closed form (Burnside) 1/(n-1) times t_n - t and the "
        "sum over a m = n-1 of phi(a) a^m m! (n - 3 + H_m P(a)/a), with t = (n-1)!(n - 3 + H_{n-1}), P(a) the sum of gcd(a,e), "
        "e = 1..a"
    )
    instead.equal(
        "steps, by the distances of the necklaces",
        steps,
        necklaces.total_distance(check.objects, check.topology),
    )
    instead.equal("steps, in closed form", steps, necklaces.rule_9_steps(n))


@check("FA.R9.h")
def _number_of_necklaces(check: ClaimCheck) -> None:
    n, h = check.topology.n, _necklaces(check)
    check.at_most("necklaces", h, 2 * factorial(n - 1) - 1)
    check.reading("h counts the necklace of 12..n too").at_most(
        "necklaces", h + 1, 2 * factorial(n - 1) - 1
    )
    check.equal(
        "necklaces, by Burnside's count", h, factorial(n - 1) + necklaces.starting_necklaces(n)
    )


@check("FA.R9.bound", bytes_per_node=_rows)
def _bound(check: ClaimCheck) -> None:
    n, steps = check.topology.n, _steps(check)
    d = Fraction(distance_sum(n), int(factorial(n)))
    check.equal("mean distance, by search", _mean_distance(check), d)
    check.at_most("steps", steps, (2 * factorial(n - 1) - 1) * d, of=_rule_9(check))
    instead = check.correction(
        "at most 2(n-1)! d steps, as if the necklace of 12..n were sent to as well"
    )
    instead.at_most("steps", steps, 2 * factorial(n - 1) * d, of=_rule_9(check))


@check("FA.R9.order", bytes_per_node=_rows)
def _order(check: ClaimCheck) -> None:
    check.equal(
        "steps, in closed form",
        _steps(check),
        necklaces.rule_9_steps(check.topology.n),
        of=_rule_9(check),
    )
    check.order("steps / ceil(t_n/(n-1))", _to_the_bound)


def _to_the_bound(n: int) -> Number:
    return divided(necklaces.rule_9_steps(n), rounded_up(divided(distance_sum(n), n - 1)))


# Rule 10, one port, and the open problem


@check("FA.R10", bytes_per_node=_many_rows)
def _rule_10(check: ClaimCheck) -> None:
    n = check.topology.n
    for messages in (n - 1, 2 * (n - 1)):
        made = check.objects.schedule(
            check.topology.spec, "alltoall", "perfectly-balanced", messages=messages
        )
        _in_groups(check, made, messages)
        _conflict_free(check, made, most=24)
        took = check.execute(made)
        check.equal(
            "steps", took.steps, ceil_div(messages * distance_sum(n), n - 1), M=messages, of=made
        )
        check.equal(
            "transmissions",
            took.transmissions,
            messages * factorial(n) * distance_sum(n),
            M=messages,
            of=made,
        )


@check("FA.S8", bytes_per_node=_rows)
def _one_port(check: ClaimCheck) -> None:
    n = check.topology.n
    made = check.objects.schedule(check.topology.spec, "alltoall", "one-port", ports="one")
    took = check.execute(made)
    check.equal(
        "messages on their way from a source in a step",
        np.bincount(made.step)[1:],
        1,
        step=lambda at: at + 1,
        of=made,
    )
    check.equal("steps", took.steps, distance_sum(n), of=made)
    check.equal("transmissions", took.transmissions, factorial(n) * distance_sum(n), of=made)
    if check.topology.nodes <= _WRITTEN_OUT:
        check.execute(
            check.objects.get_or_create(
                "schedule", ("written out, one-port", check.topology.spec), made.expand
            )
        )


@check("FA.open", bytes_per_node=_rows)
def _open(check: ClaimCheck) -> None:
    n = check.topology.n
    made = check.objects.schedule(check.topology.spec, "alltoall", "exact")
    _conflict_free(check, made)
    check.equal("steps", check.execute(made).steps, ceil_div(distance_sum(n), n - 1), of=made)
