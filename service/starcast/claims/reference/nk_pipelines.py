"""Executed broadcasts down the trees SP and MT of S_{n,k}, for all numbers of segments.

The message is cut into p segments for each tree. Once p is the largest height, each further
segment adds the same slot, so that executions up to that p determine the time for every p.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.reference import bfs
from starcast.claims.reference.pipelines import Parameters, parameters
from starcast.claims.reference.surds import floor_sqrt
from starcast.collectives.model import Schedule
from starcast.records import checkers
from starcast.topologies import Topology

ONE_TREE = "nk-greedy"
MANY_TREES = "nk-multiple"
#: m = 1, 2, 1024, in this order; then T_s = 1, 2, 1024; then T_c = 1, 2.
GRID = parameters((1, 2, 1024), (1, 2, 1024), (1, 2))


def broadcast_bytes(topology: Topology) -> int:
    """Estimate the memory, in bytes per node, of executing the longest broadcast."""
    return 200 * topology.degree * (2 * topology.diameter + 2)


def heights(check: ClaimCheck, construction: str) -> NDArray[np.int64]:
    """Return the height of each tree of a construction at Id; -1 if it is not spanning."""
    depths = bfs.depths(check, check.forest(construction).parent_port)
    return np.where(depths.min(axis=1) >= 0, depths.max(axis=1), -1).astype(np.int64)


def link_loads(check: ClaimCheck, construction: str) -> NDArray[np.integer]:
    """Return the number of trees of a construction on each directed link, ``[nodes, ports]``."""
    return checkers.loads(check.topology, check.forest(construction).parent_port, 0)


def greatest_height(check: ClaimCheck, construction: str) -> int:
    """Return the largest of the `heights`."""
    return int(heights(check, construction).max())


@dataclass(frozen=True)
class Broadcast:
    """A broadcast with p = 1, 2, .. segments per tree.

    Attributes:
        schedule: the schedule with one segment.
        trees: number of trees that share the message.
        slot: steps from one segment to the next.
        steps: start-ups for each executed p.
        packets: sum of the largest packets of all steps, in segments, for each executed p.
    """

    schedule: Schedule
    trees: int
    slot: int
    steps: tuple[int, ...]
    packets: tuple[int, ...]

    @property
    def segments(self) -> NDArray[np.int64]:
        """The executed p = 1, 2, ..."""
        return np.arange(1, len(self.steps) + 1)

    @property
    def shares(self) -> NDArray[Any]:
        """The `share` of each executed p."""
        return exact_array(self.share(p) for p in range(1, len(self.steps) + 1))

    @property
    def increment(self) -> int:
        """The packets that each segment beyond the executed p adds."""
        return self.packets[-1] - self.packets[-2]

    def start_ups(self, p: int) -> int:
        """Return the number of steps with p segments."""
        return self.steps[0] + self.slot * (p - 1)

    def share(self, p: int) -> Fraction:
        """Return the bytes in the largest packets of all steps with p segments, divided by m."""
        executed = len(self.packets)
        if p <= executed:
            packets = self.packets[p - 1]
        else:
            packets = self.packets[-1] + self.increment * (p - executed)
        return Fraction(packets, p * self.trees)

    def time(self, p: int, T_s: Fraction, b: Fraction) -> Fraction:  # noqa: N803 - as in the papers
        """Return the time with p segments; b = m T_c."""
        return self.start_ups(p) * T_s + self.share(p) * b

    def best(self, T_s: Fraction, b: Fraction) -> tuple[Fraction, int]:  # noqa: N803
        """Return the smallest time over integers p, and the smallest such p; T_s > 0."""
        executed = len(self.packets)
        # Beyond the executed p there are increment * p + rest packets.
        rest = self.packets[-1] - self.increment * executed
        below = floor_sqrt(max(0, rest) * b / (self.trees * self.slot * T_s))
        below = max(executed, below)
        # There the time is a/p + b p and a constant: convex, so that the best integer is next to
        # the best real p.
        candidates = (*range(1, executed + 1), below, below + 1)
        return min((self.time(p, T_s, b), p) for p in candidates)

    def best_on(self, grid: Parameters) -> tuple[NDArray[Any], NDArray[np.int64]]:
        """Return the smallest times and their p for a grid of parameters."""
        times, segments = zip(*(self.best(*load) for load in grid.each()), strict=True)
        return exact_array(times), np.array(segments)


def execute_broadcast(check: ClaimCheck, construction: str, ports: str) -> Broadcast:
    """Execute a broadcast with p = 1, .., h+2 segments; beyond p = h the increment is constant."""
    trees = 1 if construction == ONE_TREE else check.degree
    slot = 1 if ports == "all" else check.degree
    p = np.arange(1, greatest_height(check, construction) + 3)
    schedules = [
        check.schedule("broadcast", construction, ports, segments=count) for count in p.tolist()
    ]
    simulations = [check.execute(schedule) for schedule in schedules]
    steps = tuple(simulation.steps for simulation in simulations)
    packets = tuple(int(simulation.packet_sizes.sum()) for simulation in simulations)
    first = schedules[0]
    check.equal("start-ups", steps, steps[0] + slot * (p - 1), p=p, of=first)
    units = [schedule.units for schedule in schedules]
    check.equal("segments of the broadcast", units, trees * p, p=p, of=first)
    last = packets[-1] - packets[-2]
    check.equal("packets that one more segment adds", last, packets[-2] - packets[-3], of=first)
    return Broadcast(first, trees, slot, steps, packets)


def exact_array(values: Iterable[Any]) -> NDArray[Any]:
    """Return exact numbers as an array of objects."""
    return np.array(list(values), dtype=object)
