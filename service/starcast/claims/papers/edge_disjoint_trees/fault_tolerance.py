"""Fragopoulou & Akl 1996, section 4.3: broadcasts that survive faults."""

from collections.abc import Iterator
from itertools import chain
from math import factorial

import numpy as np

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.papers.edge_disjoint_trees import collectives
from starcast.claims.reference import fault_cuts
from starcast.claims.registry import check
from starcast.collectives.model import Schedule
from starcast.support.integers import ceil_div
from starcast.topologies import Topology

#: Number of fault sets that are executed in the simulator, for each schedule.
EXECUTED_SETS = 12


def divisors(n: int) -> list[int]:
    """Return the numbers of copies that divide n-1."""
    return [copies for copies in range(1, n) if (n - 1) % copies == 0]


def broadcasts(check: ClaimCheck) -> Iterator[collectives.ExecutedCollective]:
    """Yield broadcasts whose copies divide n-1: one message, fewer than trees, as many, more."""
    n = check.n
    for copies in divisors(n):
        for messages in sorted({1, 2, n - 2, n - 1, n}):
            broadcast = collectives.execute_collective(check, "broadcast", messages, copies)
            # Stored evidence has this finding twice; new evidence stays comparable with it.
            check.execute(broadcast.schedule)
            yield broadcast


def check_survives(check: ClaimCheck, messages: int, copies: int) -> None:
    """Check that every healthy node receives every message in spite of copies - 1 faults.

    If no fault keeps two copies from a node, this follows for all sets of faults. In addition, all
    sets of up to two faults (or a sample) are tried, and some sets are executed.
    """
    schedule = collectives.execute_collective(check, "broadcast", messages, copies).schedule
    faults = fault_cuts.PossibleFaults(check)
    cuts = fault_cuts.blocked_copies(schedule, faults)
    place = {"M": messages, "x": copies}
    units = np.arange(schedule.units)
    trees = _trees_per_unit(schedule)
    check.equal("subtrees that carry a message", trees, copies, message=units, of=schedule, **place)

    blocked = fault_cuts.count_blocked_copies(cuts, faults)
    unit, fault, node = np.unravel_index(int(blocked.argmax()), blocked.shape)
    worst = {"faults": faults.describe([int(fault)]), "node": check.label(int(node))}
    what = "copies that a fault keeps from a node, at most"
    check.equal(what, int(blocked.max()), 1, of=schedule, **place, message=unit, **worst)

    sets = faults.sets(copies - 1)
    missing = fault_cuts.count_missing(cuts, faults, sets)
    what = "healthy nodes without a message"
    check.equal(what, missing, 0, faults=lambda i: faults.describe(sets[i]), of=schedule, **place)
    for numbers in sets[:: max(1, len(sets) // EXECUTED_SETS)]:
        executed = [faults.fault(int(number)) for number in numbers]
        missing_units = check.objects.simulation(schedule, executed).missing
        described = faults.describe(numbers)
        what = "missing when executed"
        check.equal(what, missing_units, 0, faults=described, of=schedule, **place)


def _trees_per_unit(schedule: Schedule) -> list[int]:
    return [len(fault_cuts.trees_of_unit(schedule, unit)) for unit in range(schedule.units)]


def cuts_bytes(topology: Topology) -> int:
    """Return the bytes per node of the faults that block copies."""
    return 16 * topology.degree * topology.nodes


@check("EDT.FT.survives", bytes_per_node=cuts_bytes)
def all_copies_survive(check: ClaimCheck) -> None:
    """Check that n-1 copies survive any n-2 faults."""
    for messages in (1, 2) if check.n <= 5 else (1,):
        check_survives(check, messages, check.n - 1)


@check("EDT.FT.copies", bytes_per_node=cuts_bytes)
def some_copies_survive(check: ClaimCheck) -> None:
    """Check that x copies survive any x-1 faults, for x that divide n-1."""
    for copies in divisors(check.n):
        for messages in sorted({1, (check.n - 1) // copies}):
            check_survives(check, messages, copies)


@check("EDT.FT.steps", given=broadcasts)
def steps_of_copies(check: ClaimCheck, broadcast: collectives.ExecutedCollective) -> None:
    """Check the bounds for the number of steps."""
    n = check.n
    messages = broadcast.messages
    copies = broadcast.copies
    steps = broadcast.steps
    place = {"M": messages, "x": copies, "of": broadcast.schedule}
    bound = ceil_div(messages * copies, n - 1) + diameter(n) + 3
    check.at_most("steps", steps, bound, **place)
    if copies == n - 1:
        check.at_most("steps with n-1 copies", steps, messages + diameter(n) + 3, **place)


@check("EDT.FT.transmissions", given=broadcasts)
def transmissions_of_copies(check: ClaimCheck, broadcast: collectives.ExecutedCollective) -> None:
    """Check that x copies of M messages take Mx(n!-1) transmissions."""
    copies = broadcast.copies
    collectives.check_transmissions(check, broadcast, copies * (factorial(check.n) - 1), x=copies)


#: M and x that are tried for n > 4, besides (n-1, 2) and (n, 3).
_SAMPLE = ((1, 2), (1, 3), (3, 3))


@check("EDT.FT.divides", bytes_per_node=lambda topology: 4 * cuts_bytes(topology))
def copies_that_do_not_divide(check: ClaimCheck) -> None:
    """Check whether distributing copies round robin suffices if x does not divide n-1."""
    n = check.n
    instead = check.correction(
        "dealt like cards, x copies of any M messages take ceil(Mx/(n-1)) + h - 1 steps "
        "and survive x-1 faults"
    )
    for copies in range(1, n):
        for messages in range(1, n + 1):
            if n > 4 and (messages, copies) not in (*_SAMPLE, (n - 1, 2), (n, 3)):
                continue
            schedule = _broadcast(check, messages, copies)
            simulation = check.objects.simulation(schedule)
            steps = simulation.steps
            # One message along one subtree takes as many steps as EDT is deep.
            height = check.objects.simulation(_broadcast(check, 1, 1)).steps
            stated = ceil_div(messages * copies, n - 1) + height - 1
            survives = _survives_all_faults(check, schedule, copies)
            place = {"x": copies, "M": messages}
            if (n - 1) % copies:
                suffices = int(survives and steps <= stated and simulation.complete)
                check.equal("dealings that suffice", suffices, 0, of=schedule, **place)
            instead.equal("steps", steps, stated, **place)
            instead.true("any x-1 faults are survived", survives, **place)


def _broadcast(check: ClaimCheck, messages: int, copies: int) -> Schedule:
    return check.schedule("broadcast", "edge-disjoint", messages=messages, copies=copies)


def _survives_all_faults(check: ClaimCheck, schedule: Schedule, copies: int) -> bool:
    """Return whether all messages use x subtrees, and no fault keeps two copies from a node."""
    faults = fault_cuts.PossibleFaults(check)
    cuts = fault_cuts.blocked_copies(schedule, faults)
    blocked = fault_cuts.count_blocked_copies(cuts, faults)
    return bool(blocked.max() <= 1) and set(_trees_per_unit(schedule)) == {copies}


@check("EDT.FT-example")
def example(check: ClaimCheck) -> None:
    """Check the two packets of the example, and that any two subtrees survive a fault."""
    for messages in (2, 4):
        schedule = collectives.execute_collective(check, "broadcast", messages, 2).schedule
        trees = [tuple(fault_cuts.trees_of_unit(schedule, u)) for u in range(schedule.units)]
        packets = sorted(set(trees))
        place = {"M": messages, "of": schedule}
        check.equal("packets", len(packets), 2, **place)
        sizes = [trees.count(packet) for packet in packets]
        check.equal("messages of a packet", sizes, messages // 2, **place)
        check.equal("subtrees", [*chain(*packets)], np.arange(4), **place)
        check_survives(check, messages, 2)
    schedule = collectives.execute_collective(check, "broadcast", 1, 4).schedule
    faults = fault_cuts.PossibleFaults(check)
    cuts = fault_cuts.blocked_copies(schedule, faults)[0]
    for second in range(len(cuts)):
        for first in range(second):
            pair = cuts[None, [first, second]]
            missing = fault_cuts.count_missing(pair, faults, faults.sets(1))
            subtrees = f"{first + 2}, {second + 2}"
            what = "healthy nodes without the message"
            check.equal(what, missing, 0, subtrees=subtrees, of=schedule)
