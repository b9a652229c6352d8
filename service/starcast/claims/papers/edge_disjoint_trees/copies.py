"""Fragopoulou & Akl 1996, sections 4.3 to 4.6: fault-tolerant collectives that send copies."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain
from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast.claims import growth
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import diameter, distance_sum, divide
from starcast.claims.papers.edge_disjoint_trees.broadcast import (
    check_transmissions,
    execute_copies,
)
from starcast.claims.reference import bfs, fault_cuts, labels
from starcast.claims.reference.fault_cuts import FaultyPart, PossibleFaults, describe_fault
from starcast.claims.registry import Execution, Memory, all_pairs, checks, executions
from starcast.collectives.model import Schedule
from starcast.judges.simulator import Simulation, simulate_acknowledged
from starcast.support.integers import ceil_div

#: Number of fault sets executed in the simulator per schedule.
EXECUTED_SETS = 12
#: Memory to store, for every fault, copy and node, whether the fault blocks the copy.
CUTS = Memory(16, of_pairs=all_pairs)


def divisors(n: int) -> list[int]:
    """Return the divisors of n-1, as numbers of copies."""
    return [copies for copies in range(1, n) if (n - 1) % copies == 0]


def broadcasts(check: ClaimCheck) -> Iterator[Execution]:
    """Yield broadcasts of few and many messages whose number of copies divides n-1."""
    for broadcast in executions(
        "broadcast",
        "edge-disjoint",
        copies=divisors,
        messages=lambda n: sorted({1, 2, n - 2, n - 1, n}),
    )(check):
        # The second execution records its findings again. Stored evidence contains these findings
        # twice, and new evidence must stay comparable with stored evidence.
        check.execute(broadcast.schedule)
        yield broadcast


def check_survives(check: ClaimCheck, messages: int, copies: int) -> None:
    """Check that every healthy node receives every message if there are copies - 1 faults.

    This follows for all sets of faults if no single fault keeps two copies from a node. In
    addition, sets of copies - 1 faults (all, or a random sample) are tried, and some of them are
    executed.
    """
    schedule = execute_copies(check, "broadcast", messages, copies).schedule
    faults = PossibleFaults(check)
    cuts = fault_cuts.blocked_copies(schedule, faults)
    place = {"M": messages, "x": copies}
    units = np.arange(schedule.units)
    trees = _trees_per_unit(schedule)
    check.equal("subtrees that carry a message", trees, copies, message=units, of=schedule, **place)

    blocked = fault_cuts.count_blocked_copies(cuts, faults)
    unit, fault, node = np.unravel_index(int(blocked.argmax()), blocked.shape)
    worst = {"faults": faults.describe([int(fault)]), "node": node}
    what = "copies that a fault keeps from a node, at most"
    check.equal(what, int(blocked.max()), 1, of=schedule, **place, message=unit, **worst)

    sets = faults.sets(copies - 1)
    missing = fault_cuts.count_missing(cuts, faults, sets)
    what = "healthy nodes without a message"
    check.equal(what, missing, 0, faults=lambda i: faults.describe(sets[i]), of=schedule, **place)
    # So far, missing messages were derived from the faults that block each copy. For some sets, the
    # simulator verifies the result independently.
    for numbers in sets[:: max(1, len(sets) // EXECUTED_SETS)]:
        executed = [faults.fault(int(number)) for number in numbers]
        missing_units = check.objects.simulation(schedule, executed).missing
        described = faults.describe(numbers)
        what = "missing when executed"
        check.equal(what, missing_units, 0, faults=described, of=schedule, **place)


def _trees_per_unit(schedule: Schedule) -> list[int]:
    return [len(fault_cuts.trees_of_unit(schedule, unit)) for unit in range(schedule.units)]


@checks("EDT.FT.survives", memory=CUTS)
def all_copies_survive(check: ClaimCheck) -> None:
    """Check that broadcasts in n-1 copies reach all healthy nodes despite any n-2 faults."""
    for messages in (1, 2) if check.n <= 5 else (1,):
        check_survives(check, messages, check.n - 1)


@checks("EDT.FT.copies", memory=CUTS)
def some_copies_survive(check: ClaimCheck) -> None:
    """Check that broadcasts in x copies survive any x-1 faults, for all x that divide n-1."""
    for copies in divisors(check.n):
        for messages in sorted({1, (check.n - 1) // copies}):
            check_survives(check, messages, copies)


@checks("EDT.FT.steps", given=broadcasts)
def steps_of_copies(check: ClaimCheck, broadcast: Execution) -> None:
    """Check the bounds on the number of steps if a message is broadcast in several copies."""
    n = check.n
    messages, copies, steps = broadcast.messages, broadcast.argument("copies"), broadcast.steps
    place = {"x": copies, **broadcast.place}
    bound = ceil_div(messages * copies, n - 1) + diameter(n) + 3
    check.at_most("steps", steps, bound, **place)
    if copies == n - 1:
        check.at_most("steps with n-1 copies", steps, messages + diameter(n) + 3, **place)


@checks("EDT.FT.transmissions", given=broadcasts)
def transmissions_of_copies(check: ClaimCheck, broadcast: Execution) -> None:
    """Check that x copies of M messages take Mx(n!-1) transmissions."""
    copies = broadcast.argument("copies")
    check_transmissions(check, broadcast, copies * (factorial(check.n) - 1), x=copies)


#: Pairs of M messages and x copies that are tried for n > 4, in addition to (n-1, 2) and (n, 3).
_SAMPLE = ((1, 2), (1, 3), (3, 3))


@checks("EDT.FT.divides", memory=Memory(64, of_pairs=all_pairs))
def copies_that_do_not_divide(check: ClaimCheck) -> None:
    """Check whether distributing x copies round robin suffices if x does not divide n-1."""
    n = check.n
    instead = check.correction()
    for copies in range(1, n):
        for messages in range(1, n + 1):
            if n > 4 and (messages, copies) not in (*_SAMPLE, (n - 1, 2), (n, 3)):
                continue
            schedule = _broadcast(check, messages, copies)
            simulation = check.objects.simulation(schedule)
            steps = simulation.steps
            # One message along one subtree takes as many steps as the depth of EDT.
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
    """Return whether all messages use x subtrees and no fault keeps two copies from a node."""
    faults = PossibleFaults(check)
    cuts = fault_cuts.blocked_copies(schedule, faults)
    blocked = fault_cuts.count_blocked_copies(cuts, faults)
    return bool(blocked.max() <= 1) and set(_trees_per_unit(schedule)) == {copies}


@checks("EDT.FT-example")
def example(check: ClaimCheck) -> None:
    """Check the two packets of the paper's example; copies on any two subtrees survive a fault."""
    for messages in (2, 4):
        schedule = execute_copies(check, "broadcast", messages, 2).schedule
        trees = [tuple(fault_cuts.trees_of_unit(schedule, u)) for u in range(schedule.units)]
        packets = sorted(set(trees))
        place = {"M": messages, "of": schedule}
        check.equal("packets", len(packets), 2, **place)
        sizes = [trees.count(packet) for packet in packets]
        check.equal("messages of a packet", sizes, messages // 2, **place)
        check.equal("subtrees", [*chain(*packets)], np.arange(4), **place)
        check_survives(check, messages, 2)
    schedule = execute_copies(check, "broadcast", 1, 4).schedule
    faults = PossibleFaults(check)
    cuts = fault_cuts.blocked_copies(schedule, faults)[0]
    for second in range(len(cuts)):
        # A pair of subtrees is evaluated like a schedule with two copies.
        for first in range(second):
            pair = cuts[None, [first, second]]
            missing = fault_cuts.count_missing(pair, faults, faults.sets(1))
            subtrees = f"{first + 2}, {second + 2}"
            what = "healthy nodes without the message"
            check.equal(what, missing, 0, subtrees=subtrees, of=schedule)


# Sections 4.4 to 4.6: allgather, scatter and alltoall in n-1 copies


#: Schedules are expanded to the rows of all sources if n + M is at most this.
MAX_EXPANDED = 6


#: Providers of collectives from the identity whose messages have n-1 copies each.
in_all_trees = partial(executions, algorithm="edge-disjoint", copies=lambda n: n - 1)
allgathers = in_all_trees("allgather", messages=(1, 2, 3))
scatters = in_all_trees("scatter", messages=(1, 2, 3))
alltoalls = in_all_trees("alltoall", messages=(1, 2, 3))


@checks("EDT.MNB.conflict-free", given=allgathers)
def check_conflict_free(check: ClaimCheck, executed: Execution) -> None:
    """Check that no directed link carries two messages in a step if all n! sources send.

    The simulator verifies a symmetric schedule by the dimensions of its links. Small schedules are
    also expanded to the rows of all sources.
    """
    what = "messages on a directed link in a step, at most"
    check.equal(what, executed.simulation.largest_packet, 1, **executed.place)
    if check.n + executed.messages > MAX_EXPANDED:
        return
    expanded = check.build(executed.schedule.expand, executed.schedule.id, "expanded")
    place = {"M": executed.messages, "of": expanded}
    largest_packet = check.execute(expanded).largest_packet
    check.equal("messages on a directed link, written out", largest_packet, 1, **place)
    # Step, sender and port (at most n) are combined into one number. Two rows with the same number
    # would use the same link in the same step.
    senders = expanded.step.astype(np.int64) * check.nodes + expanded.sender
    link_steps = np.unique(senders * (check.n + 1) + expanded.port)
    what = "rows on different links or in different steps"
    check.equal(what, len(link_steps), len(expanded), **place)


# Section 4.4


@checks("EDT.MNB.steps", given=allgathers)
def allgather_steps(check: ClaimCheck, allgather: Execution) -> None:
    """Check the steps with and without acknowledgements, and that no subtree pauses."""
    schedule = allgather.schedule
    messages = allgather.messages
    stated = messages * (factorial(check.n) - 1)
    check.equal("steps", allgather.steps, stated, **allgather.place)
    acknowledged = _execute_acknowledged(check, schedule, []).steps
    check.equal("steps, waiting for acknowledgements", acknowledged, stated, M=messages)
    rows = np.lexsort((schedule.step, schedule.tree))
    what = "step of a row of a subtree"
    expected = np.resize(np.arange(1, allgather.steps + 1), len(schedule))
    subtree = schedule.tree[rows] + 2
    check.equal(what, schedule.step[rows], expected, subtree=subtree, **allgather.place)


@checks("EDT.MNB.transmissions", given=allgathers)
def allgather_transmissions(check: ClaimCheck, allgather: Execution) -> None:
    """Check that an allgather of M messages per node takes M n!(n-1)(n!-1) transmissions."""
    nodes = factorial(check.n)
    check_transmissions(check, allgather, nodes * (check.n - 1) * (nodes - 1))


def _execute_acknowledged(
    check: ClaimCheck, schedule: Schedule, faults: Sequence[FaultyPart]
) -> Simulation:
    """Execute an allgather as printed, with acknowledgements.

    A node sends a message to its next child when the previous child has acknowledged it.
    """

    def create() -> Simulation:
        return simulate_acknowledged(schedule, faults).simulation

    key = ("acknowledged", schedule.id, *map(str, faults))
    return check.objects.get_or_create("simulation", key, create)


@checks("EDT.MNB.fault-tolerant", memory=Memory(400, of_pairs=all_pairs))
def acknowledged_allgather_under_faults(check: ClaimCheck) -> None:
    """Count the units that healthy nodes miss under faults, with and without acknowledgements."""
    schedule = execute_copies(check, "allgather", 1, check.n - 1).schedule
    instead = check.correction()
    for faults in _fault_sets(check):
        described = " and ".join(describe_fault(check, fault) for fault in faults)
        simulation = _execute_acknowledged(check, schedule, faults)
        place = {"faults": described, **_first_missing(simulation), "of": schedule}
        what = "(healthy node, message) pairs that are missing"
        check.equal(what, simulation.missing, 0, **place)
        missing = check.objects.simulation(schedule, faults).missing
        instead.equal("pairs that are missing", missing, 0, faults=described)


def _first_missing(simulation: Simulation) -> dict[str, int | str]:
    """Return the first node that misses a message, and the source of the message."""
    if simulation.missing == 0 or not simulation.undelivered:
        return {}
    node, unit = simulation.undelivered[0]
    # With one message per source, the number of a unit is the rank of its source.
    return {"node": node, "source": unit}


def _fault_sets(check: ClaimCheck) -> list[list[FaultyPart]]:
    """Return sets of 1 to n-2 faults; the first fault is the identity or one of its links.

    All single faults come first, then random sets.
    """
    faults = PossibleFaults(check)
    neighbours = check.neighbours[:, 0]
    # A translation maps any fault to the identity or one of its links, and maps the allgather of
    # all sources to itself. So other first faults need not be tried.
    first: list[FaultyPart] = [0, *((0, int(neighbour)) for neighbour in neighbours)]
    sets: list[list[FaultyPart]] = [[fault] for fault in first]
    rng = np.random.default_rng(check.n)
    for size in range(2, check.n - 1):
        for _ in range(16 if check.n == 4 else 2):
            numbers = rng.choice(len(faults), size - 1, replace=False)
            others = [faults.fault(int(number)) for number in numbers]
            chosen = [first[int(rng.integers(len(first)))], *others]
            sets.append(list(dict.fromkeys(chosen)))
    return sets


# Section 4.5


def scatters_from_roots(check: ClaimCheck) -> Iterator[Execution]:
    """Yield scatters of several messages from the identity, and of one message from other roots."""
    yield from scatters(check)
    for root in bfs.roots(check)[1:]:
        yield execute_copies(check, "scatter", 1, check.n - 1, root)


@checks("EDT.SC.steps", given=scatters_from_roots)
def scatter_steps(check: ClaimCheck, scatter: Execution) -> None:
    """Check the number of steps, and that messages for the deepest nodes leave first."""
    n = check.n
    schedule = scatter.schedule
    stated = scatter.messages * (factorial(n) - 1)
    place = {"root": schedule.root, **scatter.place}
    check.equal("steps", scatter.steps, stated, **place)
    # In a tree, a unit crosses as many links as the level of its destination.
    keys = schedule.unit * np.int64(n) + schedule.tree
    levels = np.bincount(keys, minlength=schedule.units * n)
    tree, unit = _first_hops(schedule)
    level = levels[unit * n + tree]
    is_deepest_first = (np.diff(level) <= 0) | (np.diff(tree) > 0)
    what = "whether a deeper node's message does not leave later"
    check.true(what, is_deepest_first, subtree=tree[1:] + 2, **place)


def _first_hops(schedule: Schedule) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return trees and units of the rows that the root sends, sorted by tree, then by step."""
    leaves = np.flatnonzero(schedule.sender == schedule.root)
    order = leaves[np.lexsort((schedule.step[leaves], schedule.tree[leaves]))]
    return schedule.tree[order].astype(np.int64), schedule.unit[order].astype(np.int64)


@checks("EDT.SC.bottleneck", given=scatters_from_roots)
def scatter_bound(check: ClaimCheck, scatter: Execution) -> None:
    """Check that each link of the source carries M(n!-1) messages, for M messages per node."""
    schedule = scatter.schedule
    root = schedule.root
    stated = scatter.messages * (factorial(check.n) - 1)
    leaving = np.bincount(schedule.port[schedule.sender == root], minlength=check.n + 1)[2:]
    link = (root, check.neighbours[:, root])
    check.equal("messages over a link of the source", leaving, stated, **scatter.place, link=link)
    check.at_least("steps", scatter.steps, stated, **scatter.place, root=root)


def level_sum(n: int) -> growth.Number:
    """Return the sum of the levels of all nodes in one tree of EDT.

    It is t_n + 3(n-2)(n-1)! - 2(n-2)! + 2, where t_n is the sum of all distances from a node.
    """
    return distance_sum(n) + 3 * (n - 2) * growth.factorial(n - 1) - 2 * growth.factorial(n - 2) + 2


def _levels_by_distances(n: int) -> growth.Number:
    return divide(level_sum(n), distance_sum(n))


@checks("EDT.SC.transmissions")
def scatter_transmissions(check: ClaimCheck) -> None:
    """Check the number of transmissions of scatters, and its order of growth."""
    for scatter in scatters(check):
        check_transmissions(check, scatter, (check.n - 1) * int(level_sum(check.n)))
    check.same_order("transmissions / (M(n-1) t_n)", _levels_by_distances)


# Section 4.6


@checks("EDT.TE.conflict-free")
def alltoall_is_conflict_free(check: ClaimCheck) -> None:
    """Check that total exchanges have no conflicts, and the order in which messages are sent."""
    for alltoall in alltoalls(check):
        check_conflict_free(check, alltoall)
    schedule = execute_copies(check, "alltoall", 1, check.n - 1).schedule
    _, unit = _first_hops(schedule)
    # `np.resize` repeats or cuts the array, so that a corrupted schedule gives a counterexample
    # instead of an error about array shapes.
    destination = np.resize(unit, (check.n - 1, factorial(check.n) - 1))
    rotated = labels.rotation(check)
    what = "destinations through the next subtree"
    stated = rotated[destination[:-1]]
    check.equal(what, destination[1:], stated, subtree=lambda row, _: row + 3, of=schedule)


@checks("EDT.TE.steps")
def alltoall_steps(check: ClaimCheck) -> None:
    """Check the steps of total exchanges of M messages, and how the steps beyond M(n!-1) grow."""
    for alltoall in alltoalls(check):
        stated = alltoall.messages * int(level_sum(check.n))
        check.equal("steps", alltoall.steps, stated, **alltoall.place)
    what = "(steps - M(n!-1)) / (M t_n)"
    check.order(what, lambda n: divide(level_sum(n) - growth.factorial(n) + 1, distance_sum(n)))


@checks("EDT.TE.transmissions")
def alltoall_transmissions(check: ClaimCheck) -> None:
    """Check the number of transmissions of total exchanges, and its order of growth."""
    per_message = factorial(check.n) * (check.n - 1) * int(level_sum(check.n))
    for alltoall in alltoalls(check):
        check_transmissions(check, alltoall, per_message)
    check.same_order("transmissions / (M n!(n-1) t_n)", _levels_by_distances)


@checks("EDT.TE.fault-tolerant", given=in_all_trees("alltoall", messages=(1, 2)))
def alltoall_paths(check: ClaimCheck, alltoall: Execution) -> None:
    """Check that every message takes n-1 paths to its destination without common inner nodes."""
    schedule = alltoall.schedule
    messages = alltoall.messages
    order = np.lexsort((schedule.step, schedule.tree, schedule.unit))
    unit = schedule.unit[order].astype(np.int64)
    tree = schedule.tree[order].astype(np.int64)
    sender = schedule.sender[order].astype(np.int64)
    receiver = schedule.receiver[order].astype(np.int64)
    # Units are numbered by destination, then by message.
    destination = unit // messages
    first = np.append(True, (unit[1:] != unit[:-1]) | (tree[1:] != tree[:-1]))
    last = np.append(first[1:], True)
    place = alltoall.place

    begins = {"destination": destination[first], "subtree": tree[first] + 2}
    check.equal("where a path begins", sender[first], 0, **begins, **place)
    subtrees = tree[last] + 2
    check.equal("where a path ends", receiver[last], destination[last], subtree=subtrees, **place)
    onward = destination[~first]
    check.equal("next hop from", sender[~first], receiver[~last], destination=onward, **place)

    units = np.arange(messages, check.nodes * messages)
    paths = np.bincount(unit[first], minlength=check.nodes * messages)[messages:]
    destinations = units // messages
    check.equal("paths of a message", paths, check.n - 1, destination=destinations, **place)
    inner = receiver[~last]
    inner_of_unit = unit[~last] * check.nodes + inner
    distinct = len(np.unique(inner_of_unit))
    what = "inner nodes of a message's paths, all different"
    check.equal(what, distinct, len(inner_of_unit), **place)
    direct = np.count_nonzero(first & last)
    check.equal("paths of a single link", direct, messages * check.degree, **place)
    # A path must not pass its own source or destination, which all other paths of the message have
    # in common with it.
    is_own_end = (inner == 0) | (inner == destination[~last])
    check.equal("paths that pass their own ends", np.count_nonzero(is_own_end), 0, **place)
