"""Broadcasts down the trees SP and MT of S_{n,k}, executed: what they take with every number of segments, and with the best.

The message is cut into p segments for each tree. Once p is the greatest height, one segment more adds the same slot to all
others: what is executed up to there says what every p takes.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import nk_diameter
from starcast.claims.reference import bfs
from starcast.claims.reference.nk_labels import size
from starcast.claims.reference.pipelines import Parameters, parameters
from starcast.claims.reference.surds import floor_sqrt
from starcast.collectives.model import Schedule
from starcast.topologies import Topology

ONE_TREE, MANY_TREES = "nk-greedy", "nk-multiple"
#: m = 1, 2, 1024, in this order; then T_s = 1, 2, 1024; then T_c = 1, 2.
GRID = parameters((1, 2, 1024), (1, 2, 1024), (1, 2))
WITHIN = "m = 1, 2, 1024, T_s = 1, 2, 1024, T_c = 1, 2"


def weight(topology: Topology) -> int:
    """Bytes a node of the broadcast with the most segments that is executed, and of its execution."""
    return 200 * topology.degree * (2 * topology.diameter + 2)


def heights(check: ClaimCheck, construction: str) -> NDArray[np.int64]:
    """The height of each tree of a construction at Id; -1 where it does not span."""
    found = bfs.depths(
        check.objects,
        check.topology,
        check.objects.forest(check.topology.spec, construction).parent_port,
    )
    return np.where(found.min(axis=1) >= 0, found.max(axis=1), -1).astype(np.int64)


@dataclass(frozen=True)
class Broadcast:
    """A broadcast with p = 1, 2, .. segments a tree.

    Attributes:
        made: the schedule with one segment.
        trees: how many trees share the message.
        slot: steps from one segment to the next.
        steps: start-ups of each p that was executed.
        packets: segments that the largest packets of all steps have together, of each p that was executed.
    """

    made: Schedule
    trees: int
    slot: int
    steps: tuple[int, ...]
    packets: tuple[int, ...]

    @property
    def further(self) -> int:
        """What one segment more adds to the packets, once there are as many as were executed."""
        return self.packets[-1] - self.packets[-2]

    def start_ups(self, p: int) -> int:
        """With p segments."""
        return self.steps[0] + self.slot * (p - 1)

    def share(self, p: int) -> Fraction:
        """The bytes that take time, as a multiple of m, with p segments."""
        executed = len(self.packets)
        packets = (
            self.packets[p - 1]
            if p <= executed
            else self.packets[-1] + self.further * (p - executed)
        )
        return Fraction(packets, p * self.trees)

    def time(self, p: int, T_s: Fraction, b: Fraction) -> Fraction:  # noqa: N803 - as the papers write it
        """With p segments; b = m T_c."""
        return self.start_ups(p) * T_s + self.share(p) * b

    def best(self, T_s: Fraction, b: Fraction) -> tuple[Fraction, int]:  # noqa: N803
        """The least time over whole p, and the smallest such p; T_s > 0."""
        executed = len(self.packets)
        rest = (
            self.packets[-1] - self.further * executed
        )  # p segments have further * p + rest packets, from there on
        at = max(executed, floor_sqrt(max(0, rest) * b / (self.trees * self.slot * T_s)))
        return min((self.time(p, T_s, b), p) for p in (*range(1, executed + 1), at, at + 1))

    def bests(self, of: Parameters) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """`best` of many parameters: the times, and the p."""
        found = [self.best(*load) for load in of.each()]
        return array(time for time, _ in found), np.array([p for _, p in found])


def executed(check: ClaimCheck, construction: str, ports: str) -> Broadcast:
    """The broadcast of a construction with p = 1, .., h+2 segments; p > h is seen to add the same again and again."""
    spec, trees = check.topology.spec, 1 if construction == ONE_TREE else check.topology.degree
    most = int(heights(check, construction).max()) + 2
    made = [
        check.objects.schedule(spec, "broadcast", construction, ports, segments=p)
        for p in range(1, most + 1)
    ]
    took = [check.execute(one) for one in made]
    slot = 1 if ports == "all" else check.topology.degree
    steps = tuple(one.steps for one in took)
    packets = tuple(int(one.packet_sizes.sum()) for one in took)
    p = np.arange(1, most + 1)
    check.equal("start-ups", steps, steps[0] + slot * (p - 1), p=p, of=made[0])
    check.equal(
        "segments of the broadcast", [one.units for one in made], trees * p, p=p, of=made[0]
    )
    check.equal(
        "packets that one more segment adds",
        packets[-1] - packets[-2],
        packets[-2] - packets[-3],
        of=made[0],
    )
    return Broadcast(made[0], trees, slot, steps, packets)


def array(values: Iterable[Any]) -> NDArray[Any]:
    """Exact numbers as an array of objects."""
    return np.array(list(values), dtype=object)


def doublings(count: int) -> int:
    """How often one who knows has to double until there are so many."""
    knowing, steps = 1, 0
    while knowing < count:
        knowing, steps = 2 * knowing, steps + 1
    return steps


def pluralize(check: ClaimCheck, root: int = 0) -> None:
    """What the lower bounds count: links of the longest way, and of a node."""
    topology = check.topology
    label = topology.label(root)
    far = bfs.distances(check.objects, topology.spec, root)
    check.equal(
        "greatest distance from the source",
        int(far.max()),
        nk_diameter(topology.n, size(topology)),
        source=label,
    )
    links = set(check.objects.neighbours(topology.spec)[:, root].tolist()) - {root}
    check.equal("links of the source", len(links), topology.n - 1, source=label)
