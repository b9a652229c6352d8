"""Tseng & Sheu 1997, sections 4 and 5: Algorithms 1 and 2 and their one-port simulations, executed."""

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast import checkers
from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.growth import factorial
from starcast.claims.reference import bfs, tree_transforms
from starcast.claims.reference.place_labels import outgoing_links, row_links
from starcast.claims.registry import check
from starcast.collectives.model import BYTES_PER_ROW, Schedule
from starcast.simulator import Simulation
from starcast.topologies import Topology

_SEGMENTS = (1, 2, 3, 5)
#: T_s, T_c and m, the smallest first.
_TIMES = tuple(product((0, 1, 3), (0, 1, 2), (1, 2, 6)))


def _rows(topology: Topology) -> int:
    """The bytes a node of the largest schedule here: Algorithm 1 with five segments a tree."""
    return BYTES_PER_ROW * topology.degree * max(_SEGMENTS)


@check("TS.A1", bytes_per_node=_rows)
def _pipelined(check: ClaimCheck) -> None:
    topology = check.topology
    for root in bfs.roots(topology, 2)[:6]:
        trees = check.objects.forest(topology.spec, "multiple", root=root)
        h = max(
            np.atleast_1d(
                checkers.height(topology, trees.parent_port, root, bound=topology.nodes).measured
            ).tolist()
        )
        for p in _SEGMENTS:
            made = check.objects.schedule(
                topology.spec, "broadcast", "multiple", root=root, segments=p
            )
            took = check.execute(made)
            check.equal("number of the last slot", took.steps, h + p - 1, p=p, of=made)
            check.equal("segments", made.units, p * (topology.n - 1), p=p, of=made)
            link = row_links(made)
            check.equal(
                "slots that a segment waits",
                _waits(made, p),
                0,
                p=p,
                step=made.step,
                link=link,
                of=made,
            )
            sizes = _packets(made)
            check.true(
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


@check("TS.T2.simulation", bytes_per_node=_rows)
def _sub_slots(check: ClaimCheck) -> None:
    topology, across = check.topology, check.objects.neighbours(check.topology.spec)
    for port, there in zip(topology.ports, across, strict=True):
        check.equal(
            f"back over dimension {port}",
            there[there],
            np.arange(topology.nodes),
            node=topology.label,
        )
    for p in _SEGMENTS[:3]:
        one = check.objects.schedule(
            topology.spec, "broadcast", "multiple", ports="one", segments=p
        )
        check.execute(one)
        step, link = one.step, row_links(one)
        for end, there in ((one.sender, one.receiver), (one.receiver, one.sender)):
            check.equal(
                "packets of a node in a sub-slot",
                _partners(one, end, there),
                1,
                p=p,
                step=step,
                link=link,
                of=one,
            )
        slot, turn = np.divmod(step - 1, topology.n - 1)
        check.equal(
            "dimension of a sub-slot", one.port, turn + 2, p=p, step=step, link=link, of=one
        )
        every = check.objects.schedule(topology.spec, "broadcast", "multiple", segments=p)
        both = [_sent(every, every.step), _sent(one, slot + 1)]
        check.equal("segments over links", len(both[1]), len(both[0]), p=p, of=one)
        different = np.setdiff1d(both[0], both[1])
        check.equal(
            "what is sent in a slot and not in its sub-slots", len(different), 0, p=p, of=one
        )


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


@check(
    "TS.A2",
    bytes_per_node=lambda topology: (
        BYTES_PER_ROW * topology.degree * (topology.nodes if topology.n <= 6 else 1)
    ),
)
def _all_to_all(check: ClaimCheck) -> None:
    topology, n = check.topology, check.topology.n
    made = check.objects.schedule(topology.spec, "allgather", "dimension-change", base="greedy")
    took = check.execute(made)
    check.equal("number of the last step", took.steps, diameter(n), of=made)
    messages = Fraction(factorial(n) - 1, n - 1)
    check.equal("messages in the packets, one a step", _messages(took, n), messages, of=made)
    if n <= 6:
        every = check.objects.get_or_create(
            "schedule", (topology.spec, "Algorithm 2 for all sources"), made.expand
        )
        check.execute(every)
        found = np.zeros((topology.nodes, topology.degree), dtype=np.int64)
        np.add.at(found, (every.sender, every.port.astype(np.int64) - 2), 1)
        check.equal(
            "segments over a link",
            found,
            factorial(n) - 1,
            link=outgoing_links(check.objects, topology),
            of=every,
        )


def _messages(took: Simulation, n: int) -> Fraction:
    """The largest packets of all steps, in messages of n-1 segments."""
    return Fraction(int(took.packet_sizes.sum()), n - 1)


def _time(took: Simulation, parts: int, startup: int, byte: int, m: int) -> Fraction:
    """How long all steps take in which anything moves, a message of m bytes cut into equal parts."""
    busy = took.packet_sizes[took.links_used > 0]
    return sum((startup + Fraction(int(size) * m, parts) * byte for size in busy), Fraction(0))


def _timed(
    check: ClaimCheck, took: Simulation, height: int, made: Schedule, repeats: int = 1
) -> None:
    """The time of an executed allgather is `repeats` * height T_s + m (repeats (n!-1)/(n-1)) T_c."""
    n = check.topology.n
    for startup, byte, m in _TIMES:
        stated = (
            repeats * height * startup + repeats * Fraction(m * (factorial(n) - 1), n - 1) * byte
        )
        check.equal(
            "time",
            _time(took, n - 1, startup, byte, m),
            stated,
            T_s=startup,
            T_c=byte,
            m=m,
            of=made,
        )


@check("TS.T3.time", bytes_per_node=lambda topology: BYTES_PER_ROW * topology.degree)
def _theorem_3(check: ClaimCheck) -> None:
    made = check.objects.schedule(
        check.topology.spec, "allgather", "dimension-change", base="greedy"
    )
    _timed(check, check.execute(made), diameter(check.topology.n), made)


@check("TS.T3.any-tree", bytes_per_node=lambda topology: BYTES_PER_ROW * topology.degree)
def _any_tree(check: ClaimCheck) -> None:
    topology, objects = check.topology, check.objects
    detour = tree_transforms.roundabout(objects, topology)
    check.equal(
        "trees of height D_n that are not greedy are looked at", detour is not None, topology.n > 4
    )
    if detour is not None:
        above = bfs.parents(objects, topology, detour.row)
        levels, distances = bfs.levels(above, 0), bfs.distances(objects, topology.spec)
        check.equal(
            "height of a tree that is not greedy",
            levels.max(),
            diameter(topology.n),
            of=detour.name,
        )
        check.true(
            "some node is further than its distance", (levels > distances).any(), of=detour.name
        )
    for tree in [*tree_transforms.trees(objects, topology), *([] if detour is None else [detour])]:
        check.passes(checkers.spanning(topology, tree.row[None], 0), of=tree.name)
        (height,) = np.atleast_1d(
            checkers.height(topology, tree.row[None], 0, bound=topology.nodes).measured
        )
        made = tree_transforms.all_to_all(objects, topology, tree)
        _timed(check, check.execute(made), int(height), made)
        if not tree.drawn:
            ours = objects.schedule(topology.spec, "allgather", "dimension-change", base=tree.name)
            _timed(check, check.execute(ours), int(height), ours)


@check("TS.S52", bytes_per_node=lambda topology: BYTES_PER_ROW * topology.degree)
def _one_port(check: ClaimCheck) -> None:
    topology = check.topology
    made = check.objects.schedule(
        topology.spec, "allgather", "dimension-change", ports="one", base="greedy"
    )
    took = check.execute(made)
    check.equal("sub-slots", took.steps, (topology.n - 1) * diameter(topology.n), of=made)
    turn = (made.step - 1) % (topology.n - 1)
    check.equal(
        "dimension of a sub-slot",
        made.port,
        turn + 2,
        step=made.step,
        link=row_links(made),
        of=made,
    )
    _timed(check, took, diameter(topology.n), made, repeats=topology.n - 1)


@check(
    "TS.S62-trees", bytes_per_node=lambda topology: BYTES_PER_ROW * topology.degree * topology.nodes
)
def _count(check: ClaimCheck) -> None:
    topology, n = check.topology, check.topology.n
    made = check.objects.schedule(topology.spec, "allgather", "dimension-change", base="greedy")
    check.execute(made)
    every = check.objects.get_or_create(
        "schedule", (topology.spec, "Algorithm 2 for all sources"), made.expand
    )
    source = every.unit.astype(np.int64) // (n - 1)
    used = np.zeros((topology.nodes, n - 1, topology.nodes), dtype=np.uint8)
    used[source, every.tree, every.receiver] = every.port
    rows = used.reshape(-1, topology.nodes)
    different = len(np.unique(rows[rows.any(axis=1)], axis=0))
    check.equal("different trees", different, (n - 1) * factorial(n), of=every)
    each = [len(np.unique(trees[trees.any(axis=1)], axis=0)) for trees in used]
    check.equal("different trees of a source", each, n - 1, node=topology.label, of=every)
    full = np.count_nonzero(used, axis=2)
    check.equal(
        "links of a tree", full, factorial(n) - 1, node=lambda v, _: topology.label(v), of=every
    )
