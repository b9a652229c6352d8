"""Checks of Fragopoulou & Akl 1996, sections 4.3 and 4.4: broadcast and allgather under faults.

Every message is sent in several copies, each along its own tree. The first part of the module
determines which copies of a broadcast message cannot reach a node because of faults. As in the
paper, a node forwards a copy along a tree only if the copy arrived along that tree. The simulator
is less strict: a node that has received a unit can send it along every tree.
"""

from collections.abc import Iterable, Iterator
from itertools import chain, combinations
from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import CachedTopology
from starcast.claims.check import ClaimCheck
from starcast.claims.registry import Execution, Memory, all_pairs, checks, executions
from starcast.collectives.model import Schedule
from starcast.judges.simulator import Simulation
from starcast.support.integers import ceil_div

from ..common.closed_forms import diameter
from .collectives import check_transmissions, execute_acknowledged, execute_copies

#: Whether a fault blocks a unit's copy on its way to a node, bool ``[units, copies, faults,
#: nodes]``.
Cuts = NDArray[np.bool_]
#: A faulty node, or the two ends of a faulty link.
FaultyPart = int | tuple[int, int]
_SEED = 1996
#: If there are at most `_MAX_SETS` pairs of faults, all pairs are tried. Otherwise, and for sets of
#: three or more faults, `_MAX_SETS` / 2 sets are drawn at random.
_MAX_SETS = 3_000


def describe_fault(network: CachedTopology, fault: FaultyPart) -> str:
    """Return the label of a faulty node, or the labels of the ends of a faulty link."""
    ends = fault if isinstance(fault, tuple) else (fault,)
    return " - ".join(map(network.label, ends))


class PossibleFaults:
    """The nodes and links that can be faulty, numbered from 0. Only the source is never faulty.

    Attributes:
        network: the topology.
        source: rank of the source, which is never faulty.
        nodes: the other nodes in rank order, numbered 0, 1, ..
        links: the two ends of each link, lower rank first; links are numbered after the nodes.
        of_link: number of the link at a port and node, int64 ``[ports, nodes]``.
        of_node: number of a node, int64 ``[nodes]``; -1 for the source.
    """

    def __init__(self, network: CachedTopology) -> None:
        self.network = network
        self.source = 0
        self.nodes = np.arange(1, network.nodes)
        self.of_node = np.full(network.nodes, -1)
        self.of_node[self.nodes] = np.arange(len(self.nodes))
        neighbours = network.neighbours
        tails = np.repeat(np.arange(network.nodes), len(neighbours))
        heads = neighbours.T.ravel()
        ordered = tails < heads
        self.links = list(zip(tails[ordered].tolist(), heads[ordered].tolist(), strict=True))
        number = {link: len(self.nodes) + index for index, link in enumerate(self.links)}
        self.of_link: NDArray[np.int64] = np.full(neighbours.shape, -1)
        for port, row in enumerate(neighbours.tolist()):
            for node, neighbour in enumerate(row):
                link = (min(node, neighbour), max(node, neighbour))
                self.of_link[port, node] = number.get(link, -1)

    def __len__(self) -> int:
        return len(self.nodes) + len(self.links)

    def fault(self, number: int) -> FaultyPart:
        """Return the node or link with the given number, in the form that the simulator expects."""
        if number < len(self.nodes):
            return int(self.nodes[number])
        return self.links[number - len(self.nodes)]

    def describe(self, numbers: Iterable[int]) -> str:
        """Return the labels of the nodes and links with the given numbers, as text."""
        faults = [self.fault(int(number)) for number in numbers]
        return ", ".join(describe_fault(self.network, fault) for fault in faults) or "none"

    def sets(self, size: int) -> NDArray[np.int64]:
        """Return all sets of ``size`` faults, or a random sample if there are too many sets.

        For three or more faults, the result is always a sample. In half of the sample, the faults
        of each set are neighbours or links of one node.

        Returns:
            the sets, each a row of indices into all possible faults, int64 ``[sets, size]``.
        """
        if size == 0:
            return np.empty((1, 0), dtype=np.int64)
        if size == 1 or (size == 2 and len(self) ** 2 // 2 <= _MAX_SETS):
            return np.array(list(combinations(range(len(self)), size)), dtype=np.int64)
        rng = np.random.default_rng([_SEED, self.network.n, size])
        drawn = [rng.choice(len(self), size, replace=False) for _ in range(_MAX_SETS // 4)]
        drawn += [self._draw_near_node(rng, size) for _ in range(_MAX_SETS // 4)]
        return np.sort(np.array(drawn), axis=1)

    def _draw_near_node(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Draw faults among the neighbours and links of one node, which block the most copies."""
        node = int(rng.choice(self.nodes))
        links = self.of_link[:, node]
        ends = np.array([self.links[link - len(self.nodes)] for link in links])
        neighbours = self.of_node[np.where(ends[:, 0] == node, ends[:, 1], ends[:, 0])]
        return rng.choice(np.append(links, neighbours[neighbours >= 0]), size, replace=False)


def blocked_copies(schedule: Schedule, faults: PossibleFaults) -> Cuts:
    """Return, for each copy, fault and node, whether the fault blocks the copy's path to the node.

    Each tree that carries a unit delivers one copy. A copy without a path from the source is taken
    to be blocked by every fault. If a unit has fewer copies than other units, its missing copies
    are taken to be blocked too.

    Returns:
        bool ``[units, copies, faults, nodes]``.
    """

    def create() -> Cuts:
        cuts_of_units = []
        for unit in range(schedule.units):
            trees = trees_of_unit(schedule, unit)
            cuts_of_units.append([_cuts_of_copy(schedule, faults, unit, tree) for tree in trees])
        copies = max(map(len, cuts_of_units))
        # A missing copy of a unit is treated as a copy that every fault blocks.
        missing = np.ones((len(faults), schedule.topology.nodes), dtype=bool)
        padded = [cuts + [missing] * (copies - len(cuts)) for cuts in cuts_of_units]
        return np.array(padded)

    return faults.network.array(f"cuts of {schedule.id}", create)


def count_blocked_copies(cuts: Cuts, faults: PossibleFaults) -> NDArray[np.uint8]:
    """Return, for each unit, fault and node, how many of the unit's copies the fault blocks.

    A fault blocks a copy if the copy cannot reach the node.

    Returns:
        uint8 ``[units, faults, nodes]``; 0 for the faulty node itself.
    """
    counts: NDArray[np.uint8] = cuts.sum(axis=1, dtype=np.uint8)
    # A faulty node need not receive copies, so its own fault is not counted against it.
    counts[:, np.arange(len(faults.nodes)), faults.nodes] = 0
    return counts


def trees_of_unit(schedule: Schedule, unit: int) -> list[int]:
    """Return the numbers of the trees along which a schedule sends a unit."""
    trees: list[int] = np.unique(schedule.tree[schedule.unit == unit]).tolist()
    return trees


def count_missing(
    cuts: Cuts, faults: PossibleFaults, fault_sets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Count the undelivered (healthy node, unit) pairs for each set of faults.

    Args:
        cuts: the result of `blocked_copies`.
        faults: all possible faults.
        fault_sets: the sets, each a row of indices into all faults, int64 ``[sets, size]``.

    Returns:
        int64 ``[sets]``.
    """
    missing = np.zeros(len(fault_sets), dtype=np.int64)
    for index, chosen in enumerate(fault_sets):
        faulty_nodes = faults.nodes[chosen[chosen < len(faults.nodes)]]
        lost: NDArray[np.bool_] = np.all(np.any(cuts[:, :, chosen], axis=2), axis=1)
        lost[:, [faults.source, *faulty_nodes]] = False
        missing[index] = np.count_nonzero(lost)
    return missing


def _cuts_of_copy(schedule: Schedule, faults: PossibleFaults, unit: int, tree: int) -> Cuts:
    """Return, for each fault and node, whether the fault blocks a copy's path to the node.

    The copy belongs to the given unit and is sent along the given tree.

    Returns:
        bool ``[faults, nodes]``.
    """
    nodes = schedule.topology.nodes
    rows = (schedule.unit == unit) & (schedule.tree == tree)
    receivers = schedule.receiver[rows]
    parent = np.full(nodes, -1, dtype=np.int32)
    parent[receivers] = schedule.sender[rows]
    port = np.full(nodes, -1, dtype=np.int32)
    port[receivers] = schedule.port[rows].astype(np.int32) - 2
    cuts = np.zeros((len(faults), nodes), dtype=bool)
    ends = np.arange(nodes)
    current = np.arange(nodes, dtype=np.int32)
    for _ in range(nodes):
        has_parent = (current != faults.source) & (parent[current] >= 0)
        if not has_parent.any():
            break
        children = current[has_parent]
        parents = parent[children]
        cuts[faults.of_link[port[children], children], ends[has_parent]] = True
        is_inner = parents != faults.source
        cuts[faults.of_node[parents[is_inner]], ends[has_parent][is_inner]] = True
        current = np.where(has_parent, parent[current], current)
    # Nodes that this copy never reaches are treated as cut off by every fault.
    cuts[:, current != faults.source] = True
    return cuts


# Section 4.3: broadcasts in copies


#: Number of fault sets executed in the simulator per schedule.
EXECUTED_SETS = 12
#: Memory of an array `Cuts`, which has an entry for every fault, copy and node.
CUTS = Memory(16, of_pairs=all_pairs)


def divisors(n: int) -> list[int]:
    """Return the divisors of n-1; each is used as a number of copies."""
    return [copies for copies in range(1, n) if (n - 1) % copies == 0]


def broadcasts(check: ClaimCheck) -> Iterator[Execution]:
    """Yield broadcasts of 1, 2, n-2, n-1 and n messages on the edge-disjoint trees EDT.

    Each message is sent in x copies, for every divisor x of n-1.
    """
    for broadcast in executions(
        "broadcast",
        "edge-disjoint",
        copies=divisors,
        messages=lambda n: sorted({1, 2, n - 2, n - 1, n}),
    )(check):
        # This second execution records the same findings again, because stored evidence, with which
        # new evidence is compared, contains them twice.
        check.execute(broadcast.schedule)
        yield broadcast


def check_survives(check: ClaimCheck, messages: int, copies: int) -> None:
    """Check that every healthy node receives every message despite any ``copies`` - 1 faults.

    This is true if no single fault blocks two copies of a message on their way to the same node. In
    addition, sets of ``copies`` - 1 faults (all, or a random sample) are tried. The simulator
    executes the schedule with some of these sets.
    """
    schedule = execute_copies(check, "broadcast", messages, copies).schedule
    faults = PossibleFaults(check)
    cuts = blocked_copies(schedule, faults)
    place = {"M": messages, "x": copies}
    units = np.arange(schedule.units)
    trees = _trees_per_unit(schedule)
    check.equal("subtrees that carry a message", trees, copies, message=units, of=schedule, **place)

    blocked = count_blocked_copies(cuts, faults)
    unit, fault, node = np.unravel_index(int(blocked.argmax()), blocked.shape)
    worst = {"faults": faults.describe([int(fault)]), "node": node}
    what = "copies that a fault keeps from a node, at most"
    check.equal(what, int(blocked.max()), 1, of=schedule, **place, message=unit, **worst)

    sets = faults.sets(copies - 1)
    missing = count_missing(cuts, faults, sets)
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
    return [len(trees_of_unit(schedule, unit)) for unit in range(schedule.units)]


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
    """Check the number of steps of broadcasts in copies along the edge-disjoint trees EDT.

    For M messages in x copies each, on a graph of diameter D, the number must be at most
    ceil(Mx/(n-1)) + D + 3.
    """
    n = check.n
    messages, copies, steps = broadcast.messages, broadcast.argument("copies"), broadcast.steps
    place = {"x": copies, **broadcast.place}
    bound = ceil_div(messages * copies, n - 1) + diameter(n) + 3
    check.at_most("steps", steps, bound, **place)
    if copies == n - 1:
        check.at_most("steps with n-1 copies", steps, messages + diameter(n) + 3, **place)


@checks("EDT.FT.transmissions", given=broadcasts)
def transmissions_of_copies(check: ClaimCheck, broadcast: Execution) -> None:
    """Check that broadcasts of M messages in x copies each take Mx(n!-1) transmissions."""
    copies = broadcast.argument("copies")
    check_transmissions(check, broadcast, copies * (factorial(check.n) - 1), x=copies)


#: Pairs of M messages and x copies that are tried for n > 4, in addition to (n-1, 2) and (n, 3).
_SAMPLE = ((1, 2), (1, 3), (3, 3))


@checks("EDT.FT.divides", memory=Memory(64, of_pairs=all_pairs))
def copies_that_do_not_divide(check: ClaimCheck) -> None:
    """Check whether x copies can be assigned to trees round robin if x does not divide n-1.

    The assignment of x copies suffices if the broadcast survives any x-1 faults and takes at most
    the stated number of steps. The paper treats only values of x that divide n-1. In fact, the
    assignment suffices for all tested x.
    """
    n = check.n
    instead = check.correction()
    for copies in range(1, n):
        for messages in range(1, n + 1):
            if n > 4 and (messages, copies) not in (*_SAMPLE, (n - 1, 2), (n, 3)):
                continue
            schedule = _broadcast(check, messages, copies)
            simulation = check.objects.simulation(schedule)
            steps = simulation.steps
            # The number of steps of a broadcast of one message along one subtree of EDT is the
            # height of this subtree.
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
    """Return whether a broadcast in x copies survives any x-1 faults.

    The broadcast survives if every message uses x different subtrees, and if no single fault blocks
    two copies of a message on their way to the same node.
    """
    faults = PossibleFaults(check)
    cuts = blocked_copies(schedule, faults)
    blocked = count_blocked_copies(cuts, faults)
    return bool(blocked.max() <= 1) and set(_trees_per_unit(schedule)) == {copies}


@checks("EDT.FT-example")
def example(check: ClaimCheck) -> None:
    """Check the paper's example, a broadcast in two copies along four subtrees.

    The messages must form two packets of equal size, and each packet must use two of the subtrees.
    Also check, for every pair of subtrees, that a message sent along both reaches all healthy nodes
    despite any single fault.
    """
    for messages in (2, 4):
        schedule = execute_copies(check, "broadcast", messages, 2).schedule
        trees = [tuple(trees_of_unit(schedule, u)) for u in range(schedule.units)]
        packets = sorted(set(trees))
        place = {"M": messages, "of": schedule}
        check.equal("packets", len(packets), 2, **place)
        sizes = [trees.count(packet) for packet in packets]
        check.equal("messages of a packet", sizes, messages // 2, **place)
        check.equal("subtrees", [*chain(*packets)], np.arange(4), **place)
        check_survives(check, messages, 2)
    schedule = execute_copies(check, "broadcast", 1, 4).schedule
    faults = PossibleFaults(check)
    cuts = blocked_copies(schedule, faults)[0]
    for second in range(len(cuts)):
        # A pair of subtrees is evaluated like a schedule with two copies.
        for first in range(second):
            pair = cuts[None, [first, second]]
            missing = count_missing(pair, faults, faults.sets(1))
            subtrees = f"{first + 2}, {second + 2}"
            what = "healthy nodes without the message"
            check.equal(what, missing, 0, subtrees=subtrees, of=schedule)


# Section 4.4: allgather with acknowledgements


@checks("EDT.MNB.fault-tolerant", memory=Memory(400, of_pairs=all_pairs))
def acknowledged_allgather_under_faults(check: ClaimCheck) -> None:
    """Check whether all healthy nodes receive all messages of an allgather despite n-2 faults.

    The allgather is executed with acknowledgements, as the paper describes it. The corrected claim
    is about an execution in fixed steps, without acknowledgements.
    """
    schedule = execute_copies(check, "allgather", 1, check.n - 1).schedule
    instead = check.correction()
    for faults in _fault_sets(check):
        described = " and ".join(describe_fault(check, fault) for fault in faults)
        simulation = execute_acknowledged(check, schedule, faults)
        place = {"faults": described, **_first_missing(simulation), "of": schedule}
        what = "(healthy node, message) pairs that are missing"
        check.equal(what, simulation.missing, 0, **place)
        missing = check.objects.simulation(schedule, faults).missing
        instead.equal("pairs that are missing", missing, 0, faults=described)


def _first_missing(simulation: Simulation) -> dict[str, int | str]:
    """Return the first node that misses a message, and the message's source.

    The result is a dictionary of keyword arguments for methods of `ClaimCheck`. It is empty if no
    message is missing.
    """
    if simulation.missing == 0 or not simulation.undelivered:
        return {}
    node, unit = simulation.undelivered[0]
    # With one message per source, the number of a unit is the rank of its source.
    return {"node": node, "source": unit}


def _fault_sets(check: ClaimCheck) -> list[list[FaultyPart]]:
    """Return sets of 1 to n-2 faults, each containing the identity or a link of the identity.

    The sets of one fault come first, then random sets of several faults.
    """
    faults = PossibleFaults(check)
    neighbours = check.neighbours[:, 0]
    # For every fault there is a translation that maps it to the identity or to a link of the
    # identity. Translations map the allgather of all sources to itself. So it is enough to try sets
    # that contain the identity or one of its links.
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
