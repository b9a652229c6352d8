"""Fragopoulou & Akl, edge-disjoint spanning trees, sections 4.4 to 4.6: multinode broadcasting, scattering, total exchange."""

from collections.abc import Callable, Sequence
from functools import partial
from math import factorial

import numpy as np
from numpy.typing import NDArray

from starcast.claims import growth
from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import distance_sum
from starcast.claims.instruments import searching
from starcast.claims.instruments import star_labels as labels
from starcast.claims.instruments.cutting import Faulty, Place
from starcast.claims.instruments.naming import labelled, leaving
from starcast.claims.see import See
from starcast.collectives.model import Schedule
from starcast.simulator import Simulation, simulate_acknowledged

FAMILY = Family("edge_disjoint_exchange")
claim = FAMILY.claim


_EXPANDED = 6  # up to which n + M all sources are written out


def _made(
    see: See, collective: str, messages: int = 1, root: int = 0
) -> tuple[Schedule, Simulation]:
    """A collective of the paper with n-1 copies, carried out."""
    n = see.where.n
    made = see.lab.schedule(
        see.where.spec, collective, "edge-disjoint", root=root, messages=messages, copies=n - 1
    )
    return made, see.executed(made)


def _written_out(see: See, made: Schedule) -> Schedule:
    """The same, the rows of all sources written out."""
    return see.lab.keep("schedule", (made.id, "expanded"), made.expand)


def _conflict_free(see: See, collective: str) -> None:
    """No directed link carries two messages in a step, all n! sources sending: by dimensions, and written out where few."""
    for messages in (1, 2, 3):
        made, took = _made(see, collective, messages)
        see.equal(
            "messages on a directed link in a step, at most",
            took.largest_packet,
            1,
            M=messages,
            of=made,
        )
        if see.where.n + messages <= _EXPANDED:
            all_sources = _written_out(see, made)
            took = see.executed(all_sources)
            see.equal(
                "messages on a directed link, written out",
                took.largest_packet,
                1,
                M=messages,
                of=all_sources,
            )
            keys = (all_sources.step.astype(np.int64) * see.where.nodes + all_sources.sender) * (
                see.where.n + 1
            )
            used = np.unique(keys + all_sources.port)
            see.equal(
                "rows on different links or in different steps",
                len(used),
                len(all_sources),
                M=messages,
                of=all_sources,
            )


# Section 4.4


@claim(
    "EDT.MNB.conflict-free",
    "Section 4.4",
    stars(6, 7, 7),
    "`edge-disjoint` allgather, M messages, n-1 copies: with all n! sources at once no directed link carries two messages in a "
    "step, and everybody gets everything.",
)
def _allgather(see: See) -> None:
    _conflict_free(see, "allgather")


@claim(
    "EDT.MNB.steps",
    "Section 4.4",
    stars(6, 7, 8),
    "`edge-disjoint` allgather, M messages, n-1 copies, takes M(n!-1) steps, a hop after the other in every subtree; an "
    "acknowledgement takes none.",
)
def _allgather_steps(see: See) -> None:
    for messages in (1, 2, 3):
        made, took = _made(see, "allgather", messages)
        see.equal("steps", took.steps, messages * (factorial(see.where.n) - 1), M=messages, of=made)
        waiting = _waiting(see, made, [])
        see.equal(
            "steps, waiting for acknowledgements",
            waiting.steps,
            messages * (factorial(see.where.n) - 1),
            M=messages,
        )
        rows = np.lexsort((made.step, made.tree))
        stated = np.resize(np.arange(1, took.steps + 1), len(made))
        see.equal(
            "step of a row of a subtree",
            made.step[rows],
            stated,
            subtree=made.tree[rows] + 2,
            M=messages,
            of=made,
        )


@claim(
    "EDT.MNB.transmissions",
    "Section 4.4",
    stars(6, 7, 8),
    "`edge-disjoint` allgather, M messages, n-1 copies, takes M n!(n-1)(n!-1) transmissions.",
)
def _allgather_transmissions(see: See) -> None:
    n, nodes = see.where.n, factorial(see.where.n)
    for messages in (1, 2, 3):
        made, took = _made(see, "allgather", messages)
        see.equal(
            "transmissions",
            took.transmissions,
            messages * nodes * (n - 1) * (nodes - 1),
            M=messages,
            of=made,
        )


def _waiting(see: See, made: Schedule, faults: Sequence[Place]) -> Simulation:
    """The allgather carried out as printed: a node passes messages on when the child before has acknowledged them."""
    key = ("acknowledged", made.id, *map(str, faults))
    return see.lab.keep("simulation", key, lambda: simulate_acknowledged(made, faults).simulation)


@claim(
    "EDT.MNB.fault-tolerant",
    "Section 4.4",
    stars(5, 5, 5),
    "`edge-disjoint` allgather, n-1 copies, each node waiting for its child's acknowledgement before the next child: up to n-2 "
    "nodes or links are down from the start, and every healthy node gets the message of every healthy source.",
    reading="A node or link that is down acknowledges nothing, and an acknowledgement is waited for without a time limit, as "
    "rule 3 of section 4.4 has it. The first fault is the identity or one of its links: translations take it anywhere.",
    weight=lambda where: 400 * where.degree * where.nodes,
)
def _waiting_under_faults(see: See) -> None:
    made, _ = _made(see, "allgather")
    instead = see.instead(
        "driven by steps, the same schedule waits for nobody and survives every such set of faults"
    )
    sets, told = _fault_sets(see)
    for faults, words in zip(sets, told, strict=True):
        took = _waiting(see, made, faults)
        at = {"faults": words, **({} if took.missing == 0 else _missed(see, took))}
        see.equal("(healthy node, message) pairs that are missing", took.missing, 0, of=made, **at)
        instead.equal(
            "pairs that are missing", see.lab.simulation(made, faults).missing, 0, faults=words
        )


def _missed(see: See, took: Simulation) -> dict[str, str]:
    """The first node that misses something, and whose message it is; with one message a source its number is the source."""
    if not took.undelivered:
        return {}
    node, unit = took.undelivered[0]
    return {"node": node, "source": see.where.label(unit)}


def _fault_sets(see: See) -> tuple[list[list[Place]], list[str]]:
    """Sets of 1 to n-2 faults, the identity or one of its links first: single ones, then some that are drawn."""
    where, across = see.where, see.lab.neighbours(see.where.spec)
    others = Faulty(see.lab, where)
    first: list[Place] = [0, *((0, int(there)) for there in across[:, 0])]
    sets: list[list[Place]] = [[fault] for fault in first]
    rng = np.random.default_rng(where.n)
    for size in range(2, where.n - 1):
        for _ in range(16 if where.n == 4 else 2):
            more = rng.choice(len(others), size - 1, replace=False)
            chosen = [
                first[int(rng.integers(len(first)))],
                *(others.what(int(fault)) for fault in more),
            ]
            sets.append(list(dict.fromkeys(chosen)))
    return sets, [" and ".join(map(partial(_label, see), faults)) for faults in sets]


def _label(see: See, fault: Place) -> str:
    ends = fault if isinstance(fault, tuple) else (fault,)
    return " - ".join(see.where.label(see.where.node(end)) for end in ends)


# Section 4.5


@claim(
    "EDT.SC.steps",
    "Section 4.5",
    stars(6, 7, 8),
    "`edge-disjoint` scatter, M messages for each node, n-1 copies, the deepest node of a subtree first, takes M(n!-1) steps.",
)
def _scatter_steps(see: See) -> None:
    for messages, root in _cases(see):
        made, took = _made(see, "scatter", messages, root)
        stated = messages * (factorial(see.where.n) - 1)
        place = {"M": messages, "root": see.where.label(root), "of": made}
        see.equal("steps", took.steps, stated, **place)
        hops = np.bincount(
            made.unit * np.int64(see.where.n) + made.tree, minlength=made.units * see.where.n
        )
        tree, goal = _first_hops(made, root)
        level = hops[goal * see.where.n + tree]
        deepest_first = (np.diff(level) <= 0) | (np.diff(tree) > 0)
        see.true(
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


def _cases(see: See) -> list[tuple[int, int]]:
    """Numbers of messages at the identity, and one message at other roots."""
    return [(1, 0), (2, 0), (3, 0), *((1, root) for root in searching.roots(see.where)[1:])]


@claim(
    "EDT.SC.bottleneck",
    "Section 4.5",
    stars(6, 7, 8),
    "n-1 copies of a message leave the source over its n-1 links, since their paths share no node. So each of these links "
    "carries M(n!-1) messages, and no schedule takes fewer steps.",
)
def _bottleneck(see: See) -> None:
    where = see.where
    over = leaving(see.lab, where)
    for messages, root in _cases(see):
        made, took = _made(see, "scatter", messages, root)
        stated = messages * (factorial(where.n) - 1)
        leave = np.bincount(made.port[made.sender == root], minlength=where.n + 1)[2:]
        see.equal(
            "messages over a link of the source",
            leave,
            stated,
            M=messages,
            link=partial(over, root),
            of=made,
        )
        see.at_least("steps", took.steps, stated, M=messages, root=where.label(root), of=made)


# The levels of EDT sum up to t_n + 3(n-2)(n-1)! - 2(n-2)! + 2 in each of its trees


def _level_sum(n: int) -> growth.Number:
    return distance_sum(n) + 3 * (n - 2) * growth.factorial(n - 1) - 2 * growth.factorial(n - 2) + 2


def _to_distances(n: int) -> growth.Number:
    return growth.divided(_level_sum(n), distance_sum(n))


def _transmissions(see: See, collective: str, stated: Callable[[int], int]) -> None:
    """The exact count behind an order: what is executed, M times the levels of all trees."""
    for messages in (1, 2, 3):
        made, took = _made(see, collective, messages)
        see.equal(
            "transmissions", took.transmissions, messages * stated(see.where.n), M=messages, of=made
        )


@claim(
    "EDT.SC.transmissions",
    "Section 4.5",
    stars(6, 7, 8),
    "`edge-disjoint` scatter with n-1 copies takes M(n-1)(t_n + 3(n-2)(n-1)! - 2(n-2)! + 2) transmissions, of the order of "
    "M(n-1) t_n.",
)
def _scatter_transmissions(see: See) -> None:
    _transmissions(see, "scatter", lambda n: (n - 1) * int(_level_sum(n)))
    see.same_order("transmissions / (M(n-1) t_n)", _to_distances)


# Section 4.6


@claim(
    "EDT.TE.conflict-free",
    "Section 4.6",
    stars(6, 7, 7),
    "`edge-disjoint` alltoall, M messages a pair, n-1 copies: everything is delivered, and with all n! sources at once no "
    "directed link carries two messages in a step. What leaves I for x through subtree l, leaves for R(x) through r(l).",
)
def _exchange(see: See) -> None:
    _conflict_free(see, "alltoall")
    made, _ = _made(see, "alltoall")
    _, goal = _first_hops(made, 0)
    there = np.resize(goal, (see.where.n - 1, factorial(see.where.n) - 1))
    turn = labels.rotation(see.lab, see.where)
    see.equal(
        "destinations through the next subtree",
        there[1:],
        turn[there[:-1]],
        subtree=lambda row, _: row + 3,
        of=made,
    )


@claim(
    "EDT.TE.steps",
    "Section 4.6",
    stars(6, 7, 8),
    "`edge-disjoint` alltoall with n-1 copies takes M(t_n + 3(n-2)(n-1)! - 2(n-2)! + 2) steps; less M(n!-1) that is O(M t_n).",
)
def _exchange_steps(see: See) -> None:
    for messages in (1, 2, 3):
        made, took = _made(see, "alltoall", messages)
        see.equal("steps", took.steps, messages * int(_level_sum(see.where.n)), M=messages, of=made)
    see.order(
        "(steps - M(n!-1)) / (M t_n)",
        lambda n: growth.divided(_level_sum(n) - growth.factorial(n) + 1, distance_sum(n)),
    )


@claim(
    "EDT.TE.transmissions",
    "Section 4.6",
    stars(6, 7, 8),
    "`edge-disjoint` alltoall with n-1 copies takes M n!(n-1)(t_n + 3(n-2)(n-1)! - 2(n-2)! + 2) transmissions, of the order "
    "M n!(n-1) t_n.",
)
def _exchange_transmissions(see: See) -> None:
    _transmissions(see, "alltoall", lambda n: factorial(n) * (n - 1) * int(_level_sum(n)))
    see.same_order("transmissions / (M n!(n-1) t_n)", _to_distances)


@claim(
    "EDT.TE.fault-tolerant",
    "Section 4.6",
    stars(6, 7, 8),
    "In `edge-disjoint` alltoall with n-1 copies every message goes from its source to its destination over n-1 paths, of "
    "which no two share a node or a link.",
)
def _paths(see: See) -> None:
    where = see.where
    for messages in (1, 2):
        made, _ = _made(see, "alltoall", messages)
        order = np.lexsort((made.step, made.tree, made.unit))
        unit, tree, sender, receiver = (column[order].astype(np.int64) for column in _columns(made))
        goal = unit // messages
        first = np.append(True, (unit[1:] != unit[:-1]) | (tree[1:] != tree[:-1]))
        last = np.append(first[1:], True)
        place = {"M": messages, "of": made}
        see.equal(
            "where a path begins",
            sender[first],
            0,
            destination=labelled(see.where, goal[first]),
            subtree=tree[first] + 2,
            **place,
        )
        see.equal("where a path ends", receiver[last], goal[last], subtree=tree[last] + 2, **place)
        see.equal(
            "next hop from",
            sender[~first],
            receiver[~last],
            destination=labelled(see.where, goal[~first]),
            **place,
        )
        goals = np.arange(messages, where.nodes * messages) // messages
        paths = np.bincount(unit[first], minlength=where.nodes * messages)[messages:]
        see.equal(
            "paths of a message",
            paths,
            where.n - 1,
            destination=labelled(see.where, goals),
            **place,
        )
        inner = unit[~last] * where.nodes + receiver[~last]
        see.equal(
            "inner nodes of a message's paths, all different",
            len(np.unique(inner)),
            len(inner),
            **place,
        )
        direct = np.count_nonzero(first & last)
        see.equal("paths of a single link", direct, messages * where.degree, **place)
        ends = np.count_nonzero((receiver[~last] == 0) | (receiver[~last] == goal[~last]))
        see.equal("paths that pass their own ends", ends, 0, **place)


def _columns(made: Schedule) -> tuple[NDArray[np.integer], ...]:
    return made.unit, made.tree, made.sender, made.receiver
