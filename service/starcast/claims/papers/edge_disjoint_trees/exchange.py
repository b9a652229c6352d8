"""Fragopoulou & Akl, edge-disjoint spanning trees, sections 4.4 to 4.6: multinode broadcasting, scattering, total exchange."""

from collections.abc import Callable, Sequence
from functools import partial
from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast.claims import growth
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import distance_sum
from starcast.claims.reference import bfs
from starcast.claims.reference import star_labels as labels
from starcast.claims.reference.fault_cuts import PossibleFaults, FaultyPart
from starcast.claims.reference.place_labels import node_labels, outgoing_links
from starcast.claims.registry import check
from starcast.collectives.model import Schedule
from starcast.simulator import Simulation, simulate_acknowledged

_EXPANDED = 6  # up to which n + M all sources are written out


def _made(
    check: ClaimCheck, collective: str, messages: int = 1, root: int = 0
) -> tuple[Schedule, Simulation]:
    """A collective of the paper with n-1 copies, carried out."""
    n = check.topology.n
    made = check.objects.schedule(
        check.topology.spec, collective, "edge-disjoint", root=root, messages=messages, copies=n - 1
    )
    return made, check.execute(made)


def _written_out(check: ClaimCheck, made: Schedule) -> Schedule:
    """The same, the rows of all sources written out."""
    return check.objects.get_or_create("schedule", (made.id, "expanded"), made.expand)


def _conflict_free(check: ClaimCheck, collective: str) -> None:
    """No directed link carries two messages in a step, all n! sources sending: by dimensions, and written out where few."""
    for messages in (1, 2, 3):
        made, took = _made(check, collective, messages)
        check.equal(
            "messages on a directed link in a step, at most",
            took.largest_packet,
            1,
            M=messages,
            of=made,
        )
        if check.topology.n + messages <= _EXPANDED:
            all_sources = _written_out(check, made)
            took = check.execute(all_sources)
            check.equal(
                "messages on a directed link, written out",
                took.largest_packet,
                1,
                M=messages,
                of=all_sources,
            )
            keys = (
                all_sources.step.astype(np.int64) * check.topology.nodes + all_sources.sender
            ) * (check.topology.n + 1)
            used = np.unique(keys + all_sources.port)
            check.equal(
                "rows on different links or in different steps",
                len(used),
                len(all_sources),
                M=messages,
                of=all_sources,
            )


# Section 4.4


@check("EDT.MNB.conflict-free")
def _allgather(check: ClaimCheck) -> None:
    _conflict_free(check, "allgather")


@check("EDT.MNB.steps")
def _allgather_steps(check: ClaimCheck) -> None:
    for messages in (1, 2, 3):
        made, took = _made(check, "allgather", messages)
        check.equal(
            "steps", took.steps, messages * (factorial(check.topology.n) - 1), M=messages, of=made
        )
        waiting = _waiting(check, made, [])
        check.equal(
            "steps, waiting for acknowledgements",
            waiting.steps,
            messages * (factorial(check.topology.n) - 1),
            M=messages,
        )
        rows = np.lexsort((made.step, made.tree))
        stated = np.resize(np.arange(1, took.steps + 1), len(made))
        check.equal(
            "step of a row of a subtree",
            made.step[rows],
            stated,
            subtree=made.tree[rows] + 2,
            M=messages,
            of=made,
        )


@check("EDT.MNB.transmissions")
def _allgather_transmissions(check: ClaimCheck) -> None:
    n, nodes = check.topology.n, factorial(check.topology.n)
    for messages in (1, 2, 3):
        made, took = _made(check, "allgather", messages)
        check.equal(
            "transmissions",
            took.transmissions,
            messages * nodes * (n - 1) * (nodes - 1),
            M=messages,
            of=made,
        )


def _waiting(check: ClaimCheck, made: Schedule, faults: Sequence[FaultyPart]) -> Simulation:
    """The allgather carried out as printed: a node passes messages on when the child before has acknowledged them."""
    key = ("acknowledged", made.id, *map(str, faults))
    return check.objects.get_or_create(
        "simulation", key, lambda: simulate_acknowledged(made, faults).simulation
    )


@check(
    "EDT.MNB.fault-tolerant", bytes_per_node=lambda topology: 400 * topology.degree * topology.nodes
)
def _waiting_under_faults(check: ClaimCheck) -> None:
    made, _ = _made(check, "allgather")
    instead = check.correction(
        "driven by steps, the same schedule waits for nobody and survives every such set of faults"
    )
    sets, told = _fault_sets(check)
    for faults, words in zip(sets, told, strict=True):
        took = _waiting(check, made, faults)
        at = {"faults": words, **({} if took.missing == 0 else _missed(check, took))}
        check.equal(
            "(healthy node, message) pairs that are missing", took.missing, 0, of=made, **at
        )
        instead.equal(
            "pairs that are missing",
            check.objects.simulation(made, faults).missing,
            0,
            faults=words,
        )


def _missed(check: ClaimCheck, took: Simulation) -> dict[str, str]:
    """The first node that misses something, and whose message it is; with one message a source its number is the source."""
    if not took.undelivered:
        return {}
    node, unit = took.undelivered[0]
    return {"node": node, "source": check.topology.label(unit)}


def _fault_sets(check: ClaimCheck) -> tuple[list[list[FaultyPart]], list[str]]:
    """Sets of 1 to n-2 faults, the identity or one of its links first: single ones, then some that are drawn."""
    topology, across = check.topology, check.objects.neighbours(check.topology.spec)
    others = PossibleFaults(check.objects, topology)
    first: list[FaultyPart] = [0, *((0, int(there)) for there in across[:, 0])]
    sets: list[list[FaultyPart]] = [[fault] for fault in first]
    rng = np.random.default_rng(topology.n)
    for size in range(2, topology.n - 1):
        for _ in range(16 if topology.n == 4 else 2):
            more = rng.choice(len(others), size - 1, replace=False)
            chosen = [
                first[int(rng.integers(len(first)))],
                *(others.fault(int(fault)) for fault in more),
            ]
            sets.append(list(dict.fromkeys(chosen)))
    return sets, [" and ".join(map(partial(_label, check), faults)) for faults in sets]


def _label(check: ClaimCheck, fault: FaultyPart) -> str:
    ends = fault if isinstance(fault, tuple) else (fault,)
    return " - ".join(check.topology.label(check.topology.node(end)) for end in ends)


# Section 4.5


@check("EDT.SC.steps")
def _scatter_steps(check: ClaimCheck) -> None:
    for messages, root in _cases(check):
        made, took = _made(check, "scatter", messages, root)
        stated = messages * (factorial(check.topology.n) - 1)
        place = {"M": messages, "root": check.topology.label(root), "of": made}
        check.equal("steps", took.steps, stated, **place)
        hops = np.bincount(
            made.unit * np.int64(check.topology.n) + made.tree,
            minlength=made.units * check.topology.n,
        )
        tree, goal = _first_hops(made, root)
        level = hops[goal * check.topology.n + tree]
        deepest_first = (np.diff(level) <= 0) | (np.diff(tree) > 0)
        check.true(
            "whether a deeper node's message does not leave later",
            deepest_first,
            subtree=tree[1:] + 2,
            **place,
        )


def _first_hops(made: Schedule, root: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tree and the unit of all that leaves the root, tree by tree, in the order of steps."""
    leaves = np.flatnonzero(made.sender == root)
    order = leaves[np.lexsort((made.step[leaves], made.tree[leaves]))]
    return made.tree[order].astype(np.int64), made.unit[order].astype(np.int64)


def _cases(check: ClaimCheck) -> list[tuple[int, int]]:
    """Numbers of messages at the identity, and one message at other roots."""
    return [(1, 0), (2, 0), (3, 0), *((1, root) for root in bfs.roots(check.topology)[1:])]


@check("EDT.SC.bottleneck")
def _bottleneck(check: ClaimCheck) -> None:
    topology = check.topology
    over = outgoing_links(check.objects, topology)
    for messages, root in _cases(check):
        made, took = _made(check, "scatter", messages, root)
        stated = messages * (factorial(topology.n) - 1)
        leave = np.bincount(made.port[made.sender == root], minlength=topology.n + 1)[2:]
        check.equal(
            "messages over a link of the source",
            leave,
            stated,
            M=messages,
            link=partial(over, root),
            of=made,
        )
        check.at_least("steps", took.steps, stated, M=messages, root=topology.label(root), of=made)


# The levels of EDT sum up to t_n + 3(n-2)(n-1)! - 2(n-2)! + 2 in each of its trees


def _level_sum(n: int) -> growth.Number:
    return distance_sum(n) + 3 * (n - 2) * growth.factorial(n - 1) - 2 * growth.factorial(n - 2) + 2


def _to_distances(n: int) -> growth.Number:
    return growth.divided(_level_sum(n), distance_sum(n))


def _transmissions(check: ClaimCheck, collective: str, stated: Callable[[int], int]) -> None:
    """The exact count behind an order: what is executed, M times the levels of all trees."""
    for messages in (1, 2, 3):
        made, took = _made(check, collective, messages)
        check.equal(
            "transmissions",
            took.transmissions,
            messages * stated(check.topology.n),
            M=messages,
            of=made,
        )


@check("EDT.SC.transmissions")
def _scatter_transmissions(check: ClaimCheck) -> None:
    _transmissions(check, "scatter", lambda n: (n - 1) * int(_level_sum(n)))
    check.same_order("transmissions / (M(n-1) t_n)", _to_distances)


# Section 4.6


@check("EDT.TE.conflict-free")
def _exchange(check: ClaimCheck) -> None:
    _conflict_free(check, "alltoall")
    made, _ = _made(check, "alltoall")
    _, goal = _first_hops(made, 0)
    there = np.resize(goal, (check.topology.n - 1, factorial(check.topology.n) - 1))
    turn = labels.rotation(check.objects, check.topology)
    check.equal(
        "destinations through the next subtree",
        there[1:],
        turn[there[:-1]],
        subtree=lambda row, _: row + 3,
        of=made,
    )


@check("EDT.TE.steps")
def _exchange_steps(check: ClaimCheck) -> None:
    for messages in (1, 2, 3):
        made, took = _made(check, "alltoall", messages)
        check.equal(
            "steps", took.steps, messages * int(_level_sum(check.topology.n)), M=messages, of=made
        )
    check.order(
        "(steps - M(n!-1)) / (M t_n)",
        lambda n: growth.divided(_level_sum(n) - growth.factorial(n) + 1, distance_sum(n)),
    )


@check("EDT.TE.transmissions")
def _exchange_transmissions(check: ClaimCheck) -> None:
    _transmissions(check, "alltoall", lambda n: factorial(n) * (n - 1) * int(_level_sum(n)))
    check.same_order("transmissions / (M n!(n-1) t_n)", _to_distances)


@check("EDT.TE.fault-tolerant")
def _paths(check: ClaimCheck) -> None:
    topology = check.topology
    for messages in (1, 2):
        made, _ = _made(check, "alltoall", messages)
        order = np.lexsort((made.step, made.tree, made.unit))
        unit, tree, sender, receiver = (column[order].astype(np.int64) for column in _columns(made))
        goal = unit // messages
        first = np.append(True, (unit[1:] != unit[:-1]) | (tree[1:] != tree[:-1]))
        last = np.append(first[1:], True)
        place = {"M": messages, "of": made}
        check.equal(
            "where a path begins",
            sender[first],
            0,
            destination=node_labels(check.topology, goal[first]),
            subtree=tree[first] + 2,
            **place,
        )
        check.equal(
            "where a path ends", receiver[last], goal[last], subtree=tree[last] + 2, **place
        )
        check.equal(
            "next hop from",
            sender[~first],
            receiver[~last],
            destination=node_labels(check.topology, goal[~first]),
            **place,
        )
        goals = np.arange(messages, topology.nodes * messages) // messages
        paths = np.bincount(unit[first], minlength=topology.nodes * messages)[messages:]
        check.equal(
            "paths of a message",
            paths,
            topology.n - 1,
            destination=node_labels(check.topology, goals),
            **place,
        )
        inner = unit[~last] * topology.nodes + receiver[~last]
        check.equal(
            "inner nodes of a message's paths, all different",
            len(np.unique(inner)),
            len(inner),
            **place,
        )
        direct = np.count_nonzero(first & last)
        check.equal("paths of a single link", direct, messages * topology.degree, **place)
        ends = np.count_nonzero((receiver[~last] == 0) | (receiver[~last] == goal[~last]))
        check.equal("paths that pass their own ends", ends, 0, **place)


def _columns(made: Schedule) -> tuple[NDArray[np.integer], ...]:
    return made.unit, made.tree, made.sender, made.receiver
