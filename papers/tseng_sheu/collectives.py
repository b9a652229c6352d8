"""Checks of Tseng & Sheu 1997, sections 4 and 5: executions of Algorithms 1 and 2.

Algorithm 1 is a broadcast and Algorithm 2 an allgather. Algorithms of other papers with which Tseng
& Sheu compare them are also executed. In times, T_s is the time of a start-up, T_c the time per
byte, and m the size of a message in bytes.
"""

from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.cached_topology import heights
from starcast.claims.check import ClaimCheck
from starcast.claims.growth import factorial
from starcast.claims.registry import (
    Execution,
    Memory,
    Provider,
    all_pairs,
    allgather_by_levels,
    checks,
    execute,
    executions,
)
from starcast.collectives.model import BYTES_PER_ROW, Schedule
from starcast.judges.simulator import Simulation
from starcast.support.integers import ceil_div

from ..common.closed_forms import diameter, even_share, multiple_height, parameters

#: Maximum number of segments per tree in executions; all smaller numbers are executed too.
MAX_SEGMENTS = 4
SEGMENTS = tuple(range(1, MAX_SEGMENTS + 1))
SMALL = parameters()
#: Memory of a check that executes Algorithm 1 with every number of segments in `SEGMENTS`.
ALGORITHM_1 = Memory(80 * MAX_SEGMENTS * (MAX_SEGMENTS + 1))
#: Numbers of segments with which Algorithm 1 is checked slot by slot.
FOLLOWED = (1, 2, 3, 5)
#: Triples of start-up time T_s, time per byte T_c and message size m for which times are checked.
TIMES = tuple(product((0, 1, 3), (0, 1, 2), (1, 2, 6)))
#: The largest n for which Algorithm 2 is executed for all sources.
_ALL_SOURCES = 6
#: Memory of a check that executes the rows of one source of Algorithm 2.
ONE_SOURCE = Memory(BYTES_PER_ROW)


# Executions of Algorithms 1 and 2, and of the algorithms with which the paper compares them


def height(check: ClaimCheck, construction: str) -> int:
    """Return the largest height of the trees of a construction, rooted at the identity."""
    return max(heights(check.forest(construction)))


def algorithm1(ports: str = "all") -> Provider[Execution]:
    """Return a function that yields executions of Algorithm 1, a broadcast along n-1 trees.

    The trees are starcast's construction `multiple`. Section 4.2 describes the one-port form.
    """
    return executions("broadcast", "multiple", ports=ports, segments=SEGMENTS)


def algorithm2(ports: str = "all", base: str = "greedy") -> Provider[Execution]:
    """Return a function that yields executions of Algorithm 2, an allgather.

    Each source sends along the dimension changes of the tree that the construction ``base`` builds.
    Section 5.2 of the paper describes the one-port form.
    """
    return executions("allgather", "dimension-change", ports=ports, base=base)


def check_algorithm1(check: ClaimCheck, ports: str = "all") -> None:
    """Check that broadcasts by Algorithm 1 in p segments per tree take h+p-1 slots.

    Here h is the height that Lemma 5 states. In the one-port model, a slot consists of n-1
    sub-slots, and the last slot may end early. Also check that at most two segments cross a link
    per step.
    """
    for execution in algorithm1(ports)(check):
        p = execution.argument("segments")
        place = {"p": p, "of": execution.schedule}
        stated = multiple_height(check.n) + p - 1
        if ports == "all":
            check.equal("slots of Algorithm 1", execution.steps, stated, **place)
        else:
            # Sub-slots after the last packet of the last slot are not executed.
            slots = ceil_div(execution.steps, check.n - 1)
            check.equal("slots of n-1 sub-slots", slots, stated, **place)
        is_enough = execution.simulation.largest_packet <= 2
        check.true("a packet of two segments is large enough", is_enough, **place)


def check_single_tree(
    check: ClaimCheck, algorithm: str, split: str, stated: int, segments: tuple[int, ...] = SEGMENTS
) -> None:
    """Check a tree's height h' and the all-port broadcast time (h'+p-1)(T_s + m T_c/p).

    Args:
        check: records the results.
        algorithm: name of the broadcast algorithm; the construction of its tree has the same name.
        split: name of the algorithm's argument for p, the number of packets per message.
        stated: the stated height h'.
        segments: the values of p.
    """
    check.equal(f"height of {algorithm}", height(check, algorithm), stated)
    split_argument: dict[str, Any] = {split: segments}
    for execution in executions("broadcast", algorithm, **split_argument)(check):
        schedule = execution.schedule
        p = execution.argument(split)
        observed = SMALL.time_of(execution)
        slot = SMALL.time(1, Fraction(1, p))
        # Without pipelining p is always 1, so p is not recorded.
        place: dict[str, Any] = {"p": p} if len(segments) > 1 else {}
        place |= {"of": schedule, **SMALL.place}
        check.equal(f"time of {algorithm}", observed, (stated + p - 1) * slot, **place)


def check_sheu93(check: ClaimCheck, segments: tuple[int, ...] = SEGMENTS) -> None:
    """Check the height and the time of the broadcast of Sheu, Liaw & Chen 1993 (reference [16])."""
    check_single_tree(check, "recursive-substar", "messages", 2 * check.n - 3, segments)


def check_day(check: ClaimCheck, segments: tuple[int, ...] = SEGMENTS) -> None:
    """Check the height and the time of the broadcast of Day & Tripathi (reference [7]).

    The broadcast uses a greedy tree.
    """
    check_single_tree(check, "greedy", "segments", diameter(check.n), segments)


def check_hamiltonian(check: ClaimCheck) -> None:
    """Check that the allgather on rotated Hamiltonian paths takes ceil((n!-1)/(n-1)) steps.

    Also check that a link carries at most one message per step.
    """
    stated = even_share(check.n)
    schedule, simulation = execute(check, "allgather", "rotated-hamiltonian", messages=1)
    check.equal("steps of rotated Hamiltonian paths", simulation.steps, stated, of=schedule)
    check.equal("messages in a packet", simulation.largest_packet, 1, of=schedule)


def check_theorem3(check: ClaimCheck, ports: str = "all") -> None:
    """Check the time of the allgather of Algorithm 2 on the greedy tree.

    On a star graph of diameter D_n, the all-port time must be D_n T_s + (n!-1)/(n-1) m T_c. The
    one-port time must be n-1 times as long.
    """
    n = check.n
    steps_per_slot = 1 if ports == "all" else n - 1
    carried = Fraction((factorial(n) - 1) * steps_per_slot, n - 1)
    stated = SMALL.time(diameter(n) * steps_per_slot, carried)
    for allgather in algorithm2(ports)(check):
        what = f"time of Algorithm 2, {ports}-port"
        check.equal(what, SMALL.time_of(allgather), stated, of=allgather.schedule, **SMALL.place)


def allgather_by_level(check: ClaimCheck, construction: str) -> Schedule:
    """Return the allgather in which each source sends along a translated copy of one tree.

    In step t, messages cross the links on level t of the trees. Messages are not segmented, and all
    messages that cross a link in a step form one packet.
    """
    create = partial(allgather_by_levels, check.forest(construction), f"{construction} by levels")
    return check.build(create, "by level", construction)


# Sections 4 and 5: Algorithms 1 and 2 step by step


@checks("TS.A1", memory=Memory(BYTES_PER_ROW * max(FOLLOWED)))
def nothing_waits_in_algorithm1(check: ClaimCheck) -> None:
    """Check that in Algorithm 1, a broadcast, no segment waits and no packet exceeds two segments.

    Also check that there are h+p-1 slots, for p segments per tree and the largest tree height h.
    """
    for root in check.roots(2)[:6]:
        h = max(heights(check.forest("multiple", root=root)))
        for p in FOLLOWED:
            schedule, simulation = execute(check, "broadcast", "multiple", root=root, segments=p)
            check.equal("number of the last slot", simulation.steps, h + p - 1, p=p, of=schedule)
            check.equal("segments", schedule.units, p * (check.n - 1), p=p, of=schedule)
            place = {"p": p, **place_of_rows(schedule)}
            check.equal("slots that a segment waits", waiting_slots(schedule, p), 0, **place)
            sizes = packet_sizes(schedule)
            check.true("no more than two segments in a packet", sizes <= 2, **place, found=sizes)


def place_of_rows(schedule: Schedule) -> dict[str, Any]:
    """Return the steps and links of a schedule's rows, as keyword arguments for `ClaimCheck`."""
    link = (schedule.sender, schedule.receiver)
    return {"step": schedule.step, "link": link, "of": schedule}


def waiting_slots(schedule: Schedule, p: int) -> NDArray[np.int64]:
    """Return for each row the number of slots that its segment waits at the sender.

    The argument ``p`` is the number of segments per tree.
    """
    arrival = np.zeros((schedule.topology.nodes, schedule.units), dtype=np.int64)
    arrival[schedule.receiver, schedule.unit] = schedule.step
    # At the root, segment j (counted from 0) of every tree can leave in slot j + 1.
    arrival[schedule.root] = np.arange(schedule.units) % p
    return np.asarray(schedule.step - arrival[schedule.sender, schedule.unit] - 1)


def link_slots(schedule: Schedule, slots: NDArray[Any]) -> NDArray[np.int64]:
    """Return for each row a number that identifies its directed link and its slot.

    Args:
        schedule: the schedule.
        slots: the number of each row's slot.
    """
    # Ports are below 256 (uint8), so slot, sender and port fit into one number.
    sender_slots = slots.astype(np.int64) * schedule.topology.nodes + schedule.sender
    return np.asarray(sender_slots * 256 + schedule.port)


def packet_sizes(schedule: Schedule) -> NDArray[np.int64]:
    """Return for each row the number of rows with the same step and directed link."""
    keys = link_slots(schedule, schedule.step)
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse])


@checks("TS.T2.simulation", memory=Memory(BYTES_PER_ROW * max(FOLLOWED)))
def one_port_simulation(check: ClaimCheck) -> None:
    """Check the one-port form of Algorithm 1, in which a slot has one sub-slot per dimension.

    The sub-slots of a slot must send the same segments as the all-port slot.
    """
    for port, heads in zip(check.ports, check.neighbours, strict=True):
        check.equal(f"back over dimension {port}", heads[heads], check.ranks, node=check.ranks)
    for broadcast in executions("broadcast", "multiple", ports="one", segments=FOLLOWED[:3])(check):
        schedule = broadcast.schedule
        p = broadcast.argument("segments")
        place = {"p": p, **place_of_rows(schedule)}
        what = "packets of a node in a sub-slot"
        check.equal(what, partners(schedule, schedule.sender, schedule.receiver), 1, **place)
        check.equal(what, partners(schedule, schedule.receiver, schedule.sender), 1, **place)
        slot, turn = np.divmod(schedule.step - 1, check.n - 1)
        check.equal("dimension of a sub-slot", schedule.port, turn + 2, **place)
        all_port = check.schedule("broadcast", "multiple", segments=p)
        stated = sent_units(all_port, all_port.step)
        observed = sent_units(schedule, slot + 1)
        check.equal("segments over links", len(observed), len(stated), p=p, of=schedule)
        missing = len(np.setdiff1d(stated, observed))
        check.equal("what is sent in a slot and not in its sub-slots", missing, 0, p=p, of=schedule)


def partners(
    schedule: Schedule, ends: NDArray[np.int32], other_ends: NDArray[np.int32]
) -> NDArray[np.int64]:
    """Return for each row the number of nodes with which one end of its link communicates.

    If ``ends`` are the senders, these are the nodes to which the row's sender sends in the row's
    step. If ``ends`` are the receivers, these are the nodes from which the row's receiver receives
    in this step.

    Args:
        schedule: the schedule.
        ends: for each row, the rank of the sender, or of the receiver.
        other_ends: for each row, the rank of the other end of its link.
    """
    nodes = schedule.topology.nodes
    end_steps = schedule.step.astype(np.int64) * nodes + ends
    pairs = np.unique(end_steps * nodes + other_ends)
    distinct, counts = np.unique(pairs // nodes, return_counts=True)
    return np.asarray(counts[np.searchsorted(distinct, end_steps)])


def sent_units(schedule: Schedule, slots: NDArray[Any]) -> NDArray[np.int64]:
    """Return sorted numbers that identify the slot, directed link and unit of each row."""
    return np.sort(link_slots(schedule, slots) * schedule.units + schedule.unit)


@checks(
    "TS.A2",
    given=algorithm2(),
    memory=Memory(BYTES_PER_ROW, of_pairs=lambda topology: topology.n <= _ALL_SOURCES),
)
def algorithm2_delivers_everything(check: ClaimCheck, allgather: Execution) -> None:
    """Check that the allgather of Algorithm 2 takes as many steps as the diameter.

    Also check the sum of the largest packets of all steps and, up to S_6, the number of segments
    over each link.
    """
    n = check.n
    schedule = allgather.schedule
    check.equal("number of the last step", allgather.steps, diameter(n), of=schedule)
    carried = allgather.share
    stated = Fraction(factorial(n) - 1, n - 1)
    check.equal("messages in the packets, one a step", carried, stated, of=schedule)
    if n <= _ALL_SOURCES:
        expanded = all_sources(check, schedule)
        check.execute(expanded)
        loads = np.zeros((check.nodes, n - 1), dtype=np.int64)
        np.add.at(loads, (expanded.sender, expanded.port.astype(np.int64) - 2), 1)
        stated = factorial(n) - 1
        check.equal("segments over a link", loads, stated, link=check.links, of=expanded)


def all_sources(check: ClaimCheck, schedule: Schedule) -> Schedule:
    """Expand a schedule of Algorithm 2 from the rows of one source to the rows of all sources."""
    return check.build(schedule.expand, "Algorithm 2 for all sources")


def check_allgather_time(
    check: ClaimCheck, schedule: Schedule, simulation: Simulation, height: int, slots: int = 1
) -> None:
    """Check the time of an allgather along trees.

    The time must be c h T_s + c m (n!-1)/(n-1) T_c. Here h is the height of the trees, and c is the
    number of steps per level.

    Args:
        check: records the results.
        schedule: the schedule of the allgather.
        simulation: the simulation of the schedule.
        height: h, the height of the trees.
        slots: c, which is 1 in the all-port model and n-1 in the one-port model.
    """
    # Steps in which nothing is sent take no time.
    busy = simulation.packet_sizes[simulation.links_used > 0]
    for startup, per_byte, m in TIMES:
        share = Fraction(m * (factorial(check.n) - 1), check.n - 1)
        carried = Fraction(int(busy.sum()) * m, check.n - 1)
        measured = len(busy) * startup + carried * per_byte
        stated = slots * (height * startup + share * per_byte)
        check.equal("time", measured, stated, T_s=startup, T_c=per_byte, m=m, of=schedule)


@checks("TS.T3.time", given=algorithm2(), memory=ONE_SOURCE)
def time_of_theorem3(check: ClaimCheck, allgather: Execution) -> None:
    """Check the all-port time that Theorem 3 states for the allgather of Algorithm 2.

    The tree is L(I), the greedy tree at the identity.
    """
    check_allgather_time(check, allgather.schedule, allgather.simulation, diameter(check.n))


@checks("TS.S52", given=algorithm2("one"), memory=ONE_SOURCE)
def one_port_allgather(check: ClaimCheck, allgather: Execution) -> None:
    """Check the number of sub-slots of the one-port allgather of Algorithm 2.

    The number must be n-1 times the diameter. All rows of a sub-slot must cross the same dimension.
    Also check the allgather's time.
    """
    n = check.n
    schedule = allgather.schedule
    check.equal("sub-slots", allgather.steps, (n - 1) * diameter(n), of=schedule)
    turn = (schedule.step - 1) % (n - 1)
    check.equal("dimension of a sub-slot", schedule.port, turn + 2, **place_of_rows(schedule))
    check_allgather_time(check, schedule, allgather.simulation, diameter(n), slots=n - 1)


@checks("TS.S62-trees", given=algorithm2(), memory=Memory(BYTES_PER_ROW, of_pairs=all_pairs))
def number_of_trees(check: ClaimCheck, allgather: Execution) -> None:
    """Check that the allgather of Algorithm 2 uses n-1 trees per source, and (n-1) n! in total."""
    n = check.n
    expanded = all_sources(check, allgather.schedule)
    source = expanded.unit.astype(np.int64) // (n - 1)
    ports = np.zeros((check.nodes, n - 1, check.nodes), dtype=np.uint8)
    # A tree is identified by an array with the port over which each node receives, as in a forest.
    ports[source, expanded.tree, expanded.receiver] = expanded.port
    total = count_distinct(ports.reshape(-1, check.nodes))
    check.equal("different trees", total, (n - 1) * factorial(n), of=expanded)
    per_source = [count_distinct(trees) for trees in ports]
    check.equal("different trees of a source", per_source, n - 1, node=check.ranks, of=expanded)
    links = np.count_nonzero(ports, axis=2)
    sources = check.ranks[:, None]
    check.equal("links of a tree", links, factorial(n) - 1, node=sources, of=expanded)


def count_distinct(trees: NDArray[np.uint8]) -> int:
    """Return the number of different trees; each row is a tree, and rows of zeros do not count."""
    return len(np.unique(trees[trees.any(axis=1)], axis=0))
