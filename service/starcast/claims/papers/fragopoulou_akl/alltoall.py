"""Fragopoulou & Akl 1993, sections 7 to 9: total exchange (rules 9 and 10, one-port, `exact`)."""

from fractions import Fraction

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.closed_forms import (
    distance_sum,
    factorial,
    rule_9_quotient,
    rule_9_steps,
    starting_necklaces,
)
from starcast.claims.papers.fragopoulou_akl.tables import (
    distances_of_pairs,
    shared_distances,
)
from starcast.claims.registry import Execution, Memory, checks, executions
from starcast.collectives.model import BYTES_PER_ROW, Schedule

#: The schedule of all sources is also executed up to S_5, or S_4 with several messages.
_ALL_SOURCES_NODES = 120
_ALL_SOURCES_NODES_OF_MESSAGES = 24
#: Memory of one source's schedule of unit messages.
ONE_SOURCE = Memory(3 * BYTES_PER_ROW)

rule_9 = executions("alltoall", "necklace")


def check_conflict_free(
    check: ClaimCheck, schedule: Schedule, all_sources_nodes: int = _ALL_SOURCES_NODES
) -> None:
    """Check that one source's schedule is valid and never uses a link type twice in a step.

    Up to ``all_sources_nodes`` nodes the schedule of all sources is executed as well.
    """
    check.execute(schedule)
    types = np.unique(schedule.step.astype(np.int64) * (check.n + 1) + schedule.port)
    what = "links that share type and step with another"
    check.equal(what, len(schedule) - len(types), 0, of=schedule)
    if check.nodes <= all_sources_nodes:
        check.execute(check.build(schedule.expand, "written out", schedule.id))


def check_groups(check: ClaimCheck, schedule: Schedule, messages: int) -> None:
    """Check that a schedule follows rule 9, or rule 10 for several messages.

    Messages to one necklace leave together, the nearest necklaces first, and travel without pause.
    A group leaves when the previous group has arrived. By rule 9 a necklace forms one group.
    By rule 10 a necklace of p nodes forms M p/(n-1) groups, for M messages per node.
    """
    leader = check.leaders
    distance = check.distances()
    departs = schedule.sender == 0
    arrives = schedule.receiver == schedule.unit // messages
    node = schedule.unit[departs] // messages
    step = schedule.step[departs]
    # Units that leave the source in the same step are a group.
    begin, first, group = np.unique(step, return_index=True, return_inverse=True)
    necklace = leader[node[first]]
    what = "necklace of those that leave together"
    check.equal(what, leader[node], necklace[group], step=step, of=schedule)
    group_distance = distance[node[first]].astype(np.int64)
    stated = np.sort(group_distance)
    check.equal("distances do not fall", group_distance, stated, step=begin, of=schedule)
    stated = np.cumsum(group_distance) - group_distance + 1
    check.equal("step in which a group leaves", begin, stated, of=schedule)

    leaders = np.unique(leader)[1:]
    groups = np.bincount(necklace, minlength=check.nodes)[leaders]
    periods = check.periods[leaders]
    stated_groups = messages * periods // (check.n - 1) if messages > 1 else 1
    check.equal("groups of a necklace", groups, stated_groups, of=schedule)

    # Adding arrival steps and subtracting departure steps gives each unit's travel time without
    # sorting the rows.
    travel = np.zeros(check.nodes * messages, dtype=np.int64)
    travel[schedule.unit[arrives]] += schedule.step[arrives]
    travel[schedule.unit[departs]] -= step
    stated = np.repeat(np.maximum(distance - 1, 0), messages)
    check.equal("steps from the first hop to the last", travel, stated, of=schedule)


def check_mean_distance(check: ClaimCheck) -> Fraction:
    """Check the closed form of the mean distance d against a search, and return it."""
    mean = Fraction(distance_sum(check.n), int(factorial(check.n)))
    measured = Fraction(check.distance_sum, check.nodes)
    check.equal("mean distance, by search", measured, mean)
    return mean


def necklace_count(check: ClaimCheck) -> int:
    """Count the necklaces except that of 12..n (h in the paper) by rotating every node."""
    return len(np.unique(check.leaders)) - 1


# Rule 9


@checks("FA.R9.conflict-free", memory=ONE_SOURCE)
def rule_9_is_conflict_free(check: ClaimCheck) -> None:
    """Check that the schedule follows rule 9 and has no conflict."""
    schedule = check.schedule("alltoall", "necklace")
    check_groups(check, schedule, 1)
    check_conflict_free(check, schedule)


@checks("FA.R9.transmissions", given=rule_9, memory=ONE_SOURCE)
def rule_9_transmissions(check: ClaimCheck, exchange: Execution) -> None:
    """Check that rule 9 takes n! t_n transmissions, where t_n is the distance sum of a node."""
    stated = distances_of_pairs(check.n)
    check.equal("transmissions", exchange.transmissions, stated, of=exchange.schedule)


@checks("FA.R9.time", given=rule_9, memory=ONE_SOURCE)
def rule_9_time(check: ClaimCheck, exchange: Execution) -> None:
    """Check whether rule 9 takes h d steps, for h necklaces and the mean distance d."""
    steps = exchange.steps
    h = necklace_count(check)
    d = check_mean_distance(check)
    check.equal("steps", steps, h * d, of=exchange.schedule)
    reading = check.reading("h counts the necklace of 12..n too")
    reading.equal("steps", steps, (h + 1) * d, of=exchange.schedule)
    correction = check.correction()
    total = int(check.leader_distances.sum(dtype=np.int64))
    correction.equal("steps, by the distances of the necklaces", steps, total)
    correction.equal("steps, in closed form", steps, rule_9_steps(check.n))


@checks("FA.R9.h")
def number_of_necklaces(check: ClaimCheck) -> None:
    """Check that there are at most 2(n-1)! - 1 necklaces besides that of 12..n."""
    h = necklace_count(check)
    bound = 2 * factorial(check.n - 1) - 1
    check.at_most("necklaces", h, bound)
    check.reading("h counts the necklace of 12..n too").at_most("necklaces", h + 1, bound)
    stated = factorial(check.n - 1) + starting_necklaces(check.n)
    check.equal("necklaces, by Burnside's count", h, stated)


@checks("FA.R9.bound", given=rule_9, memory=ONE_SOURCE)
def rule_9_bound(check: ClaimCheck, exchange: Execution) -> None:
    """Check whether rule 9 takes at most (2(n-1)! - 1) d steps, where d is the mean distance."""
    nodes = 2 * factorial(check.n - 1)
    steps = exchange.steps
    d = check_mean_distance(check)
    check.at_most("steps", steps, (nodes - 1) * d, of=exchange.schedule)
    check.correction().at_most("steps", steps, nodes * d, of=exchange.schedule)


@checks("FA.R9.order", given=rule_9, memory=ONE_SOURCE)
def rule_9_order(check: ClaimCheck, exchange: Execution) -> None:
    """Check the closed form for the steps of rule 9, and its order of growth."""
    stated = rule_9_steps(check.n)
    check.equal("steps, in closed form", exchange.steps, stated, of=exchange.schedule)
    check.order("steps / ceil(t_n/(n-1))", rule_9_quotient)


# Rule 10, one-port total exchange, and the open problem


@checks("FA.R10", memory=Memory(6 * BYTES_PER_ROW, power=2))
def rule_10(check: ClaimCheck) -> None:
    """Check the steps and transmissions of rule 10, and that it has no conflict."""
    n = check.n
    # Rule 10 is defined only for multiples of n-1.
    for messages in (n - 1, 2 * (n - 1)):
        schedule = check.schedule("alltoall", "perfectly-balanced", messages=messages)
        check_groups(check, schedule, messages)
        check_conflict_free(check, schedule, _ALL_SOURCES_NODES_OF_MESSAGES)
        transmissions = distances_of_pairs(n, messages)
        check.takes(schedule, shared_distances(n, messages), transmissions, M=messages)


@checks("FA.S8", given=executions("alltoall", "one-port", ports="one"), memory=ONE_SOURCE)
def one_port_exchange(check: ClaimCheck, exchange: Execution) -> None:
    """Check steps and transmissions of one-port exchange, with one message under way at a time."""
    schedule, simulation = exchange
    what = "messages on their way from a source in a step"
    check.equal(what, np.bincount(schedule.step)[1:], 1, step=lambda index: index + 1, of=schedule)
    check.equal("steps", simulation.steps, distance_sum(check.n), of=schedule)
    check.equal("transmissions", simulation.transmissions, distances_of_pairs(check.n), of=schedule)
    if check.nodes <= _ALL_SOURCES_NODES:
        check.execute(check.build(schedule.expand, "written out", schedule.id))


@checks("FA.open", memory=ONE_SOURCE)
def exact_exchange(check: ClaimCheck) -> None:
    """Check that the alltoall `exact` takes ceil(t_n/(n-1)) steps; t_n is a node's distance sum."""
    schedule = check.schedule("alltoall", "exact")
    check_conflict_free(check, schedule)
    check.takes(schedule, shared_distances(check.n))
