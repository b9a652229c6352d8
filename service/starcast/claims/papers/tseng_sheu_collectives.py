"""Tseng & Sheu 1997, sections 4 and 5: Algorithms 1 and 2 and their one-port simulations, executed."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.declaration import Family, stars
from starcast.claims.formulas import diameter
from starcast.claims.growth import factorial
from starcast.claims.instruments import changing, searching
from starcast.claims.instruments.naming import leaving, of_row
from starcast.claims.see import See
from starcast.collectives.model import BYTES_PER_ROW, Schedule
from starcast.simulator import Simulation
from starcast.topologies import Topology

FAMILY = Family("tseng_sheu_collectives")
claim = FAMILY.claim
_SEGMENTS = (1, 2, 3, 5)
#: T_s, T_c and m, the smallest first.
_TIMES = tuple(product((0, 1, 3), (0, 1, 2), (1, 2, 6)))


def _rows(where: Topology) -> int:
    """The bytes a node of the largest schedule here: Algorithm 1 with five segments a tree."""
    return BYTES_PER_ROW * where.degree * max(_SEGMENTS)


@claim(
    "TS.A1",
    "Algorithm 1",
    stars(6, 7, 8),
    "Broadcast by `multiple`, all-port, p segments a tree, ends in step h + p - 1, h the greatest height. The root sends "
    "segment j of every tree in step j, every other node sends a segment in the step after it came, and a packet has at most "
    "two segments.",
    reading="That a packet holds two segments is a rule of the algorithm, which is kept or broken, and no bound by itself.",
    weight=_rows,
)
def _pipelined(see: See) -> None:
    where = see.where
    for root in searching.roots(where, 2)[:6]:
        trees = see.lab.forest(where.spec, "multiple", root=root)
        h = max(
            np.atleast_1d(
                checkers.height(where, trees.parent_port, root, bound=where.nodes).measured
            ).tolist()
        )
        for p in _SEGMENTS:
            made = see.lab.schedule(where.spec, "broadcast", "multiple", root=root, segments=p)
            took = see.executed(made)
            see.equal("number of the last slot", took.steps, h + p - 1, p=p, of=made)
            see.equal("segments", made.units, p * (where.n - 1), p=p, of=made)
            link = of_row(made)
            see.equal(
                "slots that a segment waits",
                _waits(made, p),
                0,
                p=p,
                step=made.step,
                link=link,
                of=made,
            )
            sizes = _packets(made)
            see.true(
                "no more than two segments in a packet",
                sizes <= 2,
                p=p,
                step=made.step,
                link=link,
                found=sizes,
                of=made,
            )


def _waits(made: Schedule, p: int) -> NDArray[np.int64]:
    """How many slots each row's segment stands at its sender; that of the root, after the slot in which it is issued."""
    came = np.zeros((made.topology.nodes, made.units), dtype=np.int64)
    came[made.receiver, made.unit] = made.step
    came[made.root] = (
        np.arange(made.units) % p
    )  # segment j of each tree, from 0, can leave in slot j + 1
    return np.asarray(made.step - came[made.sender, made.unit] - 1)


def _packets(made: Schedule) -> NDArray[np.int64]:
    """For each row, how many share its step and directed link."""
    crossed = (made.step.astype(np.int64) * made.topology.nodes + made.sender) * 256 + made.port
    _, which, count = np.unique(crossed, return_inverse=True, return_counts=True)
    return np.asarray(count[which])


@claim(
    "TS.T2.simulation",
    "Section 4.2",
    stars(6, 7, 8),
    "The links of a dimension join the nodes in pairs. Broadcast by `multiple`, one-port, sends in sub-slot (t-1)(n-1) + a - 1 "
    "what the all-port one sends over dimension a in slot t, a = 2..n: nobody sends or receives two packets in a step.",
    weight=_rows,
)
def _sub_slots(see: See) -> None:
    where, across = see.where, see.lab.neighbours(see.where.spec)
    for port, there in zip(where.ports, across, strict=True):
        see.equal(
            f"back over dimension {port}", there[there], np.arange(where.nodes), node=where.label
        )
    for p in _SEGMENTS[:3]:
        one = see.lab.schedule(where.spec, "broadcast", "multiple", ports="one", segments=p)
        see.executed(one)
        step, link = one.step, of_row(one)
        for end, there in ((one.sender, one.receiver), (one.receiver, one.sender)):
            see.equal(
                "packets of a node in a sub-slot",
                _partners(one, end, there),
                1,
                p=p,
                step=step,
                link=link,
                of=one,
            )
        slot, turn = np.divmod(step - 1, where.n - 1)
        see.equal("dimension of a sub-slot", one.port, turn + 2, p=p, step=step, link=link, of=one)
        every = see.lab.schedule(where.spec, "broadcast", "multiple", segments=p)
        both = [_sent(every, every.step), _sent(one, slot + 1)]
        see.equal("segments over links", len(both[1]), len(both[0]), p=p, of=one)
        different = np.setdiff1d(both[0], both[1])
        see.equal("what is sent in a slot and not in its sub-slots", len(different), 0, p=p, of=one)


def _partners(
    made: Schedule, end: NDArray[np.int32], other: NDArray[np.int32]
) -> NDArray[np.int64]:
    """For each row, with how many nodes the one at its end has to do in that step."""
    nodes = made.topology.nodes
    at = made.step.astype(np.int64) * nodes + end
    pairs = np.unique(at * nodes + other)
    meets, count = np.unique(pairs // nodes, return_counts=True)
    return np.asarray(count[np.searchsorted(meets, at)])


def _sent(made: Schedule, slot: NDArray[Any]) -> NDArray[np.int64]:
    """What crosses which link in which slot, as one number a row."""
    place = (slot.astype(np.int64) * made.topology.nodes + made.sender) * 256 + made.port
    return np.sort(place * made.units + made.unit)


@claim(
    "TS.A2",
    "Algorithm 2",
    stars(6, 7, 8),
    "Allgather by `dimension-change` on `greedy`, all-port, ends in step D_n, and everybody has every message. The packets of "
    "a directed link have n!-1 segments together, (n!-1)/(n-1) messages: (8).",
    weight=lambda where: BYTES_PER_ROW * where.degree * (where.nodes if where.n <= 6 else 1),
)
def _all_to_all(see: See) -> None:
    where, n = see.where, see.where.n
    made = see.lab.schedule(where.spec, "allgather", "dimension-change", base="greedy")
    took = see.executed(made)
    see.equal("number of the last step", took.steps, diameter(n), of=made)
    messages = Fraction(factorial(n) - 1, n - 1)
    see.equal("messages in the packets, one a step", _messages(took, n), messages, of=made)
    if n <= 6:
        every = see.lab.keep("schedule", (where.spec, "Algorithm 2 for all sources"), made.expand)
        see.executed(every)
        found = np.zeros((where.nodes, where.degree), dtype=np.int64)
        np.add.at(found, (every.sender, every.port.astype(np.int64) - 2), 1)
        see.equal(
            "segments over a link", found, factorial(n) - 1, link=leaving(see.lab, where), of=every
        )


def _messages(took: Simulation, n: int) -> Fraction:
    """The largest packets of all steps, in messages of n-1 segments."""
    return Fraction(int(took.packet_sizes.sum()), n - 1)


def _time(took: Simulation, parts: int, startup: int, byte: int, m: int) -> Fraction:
    """How long all steps take in which anything moves, a message of m bytes cut into equal parts."""
    busy = took.packet_sizes[took.links_used > 0]
    return sum((startup + Fraction(int(size) * m, parts) * byte for size in busy), Fraction(0))


def _timed(see: See, took: Simulation, height: int, made: Schedule, repeats: int = 1) -> None:
    """The time of an executed allgather is `repeats` * height T_s + m (repeats (n!-1)/(n-1)) T_c."""
    n = see.where.n
    for startup, byte, m in _TIMES:
        stated = (
            repeats * height * startup + repeats * Fraction(m * (factorial(n) - 1), n - 1) * byte
        )
        see.equal(
            "time",
            _time(took, n - 1, startup, byte, m),
            stated,
            T_s=startup,
            T_c=byte,
            m=m,
            of=made,
        )


@claim(
    "TS.T3.time",
    "Theorem 3",
    stars(6, 7, 8),
    "Allgather by `dimension-change` on `greedy`, all-port, takes D_n T_s + m(n!-1)/(n-1) T_c: a step lasts T_s, and T_c for "
    "each byte of its largest packet, whose units have m/(n-1) bytes.",
    weight=lambda where: BYTES_PER_ROW * where.degree,
)
def _theorem_3(see: See) -> None:
    made = see.lab.schedule(see.where.spec, "allgather", "dimension-change", base="greedy")
    _timed(see, see.executed(made), diameter(see.where.n), made)


@claim(
    "TS.T3.any-tree",
    "Section 5.1, after Theorem 3",
    stars(6, 6, 7),
    "Algorithm 2 on any spanning tree T rooted at the identity ends with every message everywhere. If T has height D_n it "
    "takes D_n T_s + m(n!-1)/(n-1) T_c, also where T is no shortest-path tree; else its height stands for D_n.",
    reading="Trees of height D_n that are no shortest-path trees are looked at from n = 5 on; S_3 and S_4 have none.",
    weight=lambda where: BYTES_PER_ROW * where.degree,
)
def _any_tree(see: See) -> None:
    where, lab = see.where, see.lab
    detour = changing.roundabout(lab, where)
    see.equal(
        "trees of height D_n that are not greedy are looked at", detour is not None, where.n > 4
    )
    if detour is not None:
        above = searching.parents(lab, where, detour.row)
        levels, distances = searching.levels(above, 0), searching.distances(lab, where.spec)
        see.equal(
            "height of a tree that is not greedy", levels.max(), diameter(where.n), of=detour.name
        )
        see.true(
            "some node is further than its distance", (levels > distances).any(), of=detour.name
        )
    for tree in [*changing.trees(lab, where), *([] if detour is None else [detour])]:
        see.checked(checkers.spanning(where, tree.row[None], 0), of=tree.name)
        (height,) = np.atleast_1d(
            checkers.height(where, tree.row[None], 0, bound=where.nodes).measured
        )
        made = changing.all_to_all(lab, where, tree)
        _timed(see, see.executed(made), int(height), made)
        if not tree.drawn:
            ours = lab.schedule(where.spec, "allgather", "dimension-change", base=tree.name)
            _timed(see, see.executed(ours), int(height), ours)


@claim(
    "TS.S52",
    "Section 5.2",
    stars(6, 7, 8),
    "Allgather by `dimension-change` on `greedy`, one-port, n-1 sub-slots for a step, takes (n-1) D_n T_s + m(n!-1) T_c.",
    weight=lambda where: BYTES_PER_ROW * where.degree,
)
def _one_port(see: See) -> None:
    where = see.where
    made = see.lab.schedule(where.spec, "allgather", "dimension-change", ports="one", base="greedy")
    took = see.executed(made)
    see.equal("sub-slots", took.steps, (where.n - 1) * diameter(where.n), of=made)
    turn = (made.step - 1) % (where.n - 1)
    see.equal(
        "dimension of a sub-slot", made.port, turn + 2, step=made.step, link=of_row(made), of=made
    )
    _timed(see, took, diameter(where.n), made, repeats=where.n - 1)


@claim(
    "TS.S62-trees",
    "Section 6.2",
    stars(5, 6, 6),
    "Algorithm 2 sends along n-1 trees of each source, no two of them the same, and along (n-1) n! trees of all together.",
    weight=lambda where: BYTES_PER_ROW * where.degree * where.nodes,
)
def _count(see: See) -> None:
    where, n = see.where, see.where.n
    made = see.lab.schedule(where.spec, "allgather", "dimension-change", base="greedy")
    see.executed(made)
    every = see.lab.keep("schedule", (where.spec, "Algorithm 2 for all sources"), made.expand)
    source = every.unit.astype(np.int64) // (n - 1)
    used = np.zeros((where.nodes, n - 1, where.nodes), dtype=np.uint8)
    used[source, every.tree, every.receiver] = every.port
    rows = used.reshape(-1, where.nodes)
    different = len(np.unique(rows[rows.any(axis=1)], axis=0))
    see.equal("different trees", different, (n - 1) * factorial(n), of=every)
    each = [len(np.unique(trees[trees.any(axis=1)], axis=0)) for trees in used]
    see.equal("different trees of a source", each, n - 1, node=where.label, of=every)
    full = np.count_nonzero(used, axis=2)
    see.equal("links of a tree", full, factorial(n) - 1, node=lambda v, _: where.label(v), of=every)
