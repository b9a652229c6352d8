"""What a collective promises: who begins with which unit, and who is owed it.

Units are numbered as `starcast.collectives.Schedule` says; here that numbering is read backwards.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import Schedule
from starcast.errors import InputError

Numbers = NDArray[np.int64]

#: The collectives in which many nodes have something to send; of a dead one nobody is owed anything.
_MANY_SENDERS = ("allgather", "gather", "alltoall")


@dataclass(frozen=True)
class Promise:
    """A collective's promise, unit by unit.

    Attributes:
        collective: of a symmetric schedule, the one of its one source: allgather is then a broadcast, alltoall a scatter.
        nodes, units, root: as in `Schedule`.
        each: units of each source, destination, or pair of them, M; all units where there is but the root.
    """

    collective: str
    nodes: int
    units: int
    root: int
    each: int

    @property
    def to_all(self) -> bool:
        """Whether everybody is owed every unit; else a unit has one destination."""
        return self.collective in ("broadcast", "allgather")

    @property
    def many_senders(self) -> bool:
        """Whether many nodes have something to send."""
        return self.collective in _MANY_SENDERS

    @property
    def pairs(self) -> int:
        """How many (node, unit) pairs are owed, those included that are there from the start."""
        return self.units * (self.nodes if self.to_all else 1)

    def source(self, unit: Numbers) -> Numbers:
        """Who holds a unit from the start."""
        if self.collective == "alltoall":
            return unit // (self.each * self.nodes)
        return unit // self.each if self.many_senders else np.full(len(unit), self.root)

    def destination(self, unit: Numbers) -> Numbers:
        """Who is owed a unit, where it is one node."""
        if self.collective == "gather":
            return np.full(len(unit), self.root)
        return unit // self.each % self.nodes


#: How many sources and destinations, as powers of the number of nodes, a collective has units for.
_POWERS = {"broadcast": 0, "allgather": 1, "scatter": 1, "gather": 1, "alltoall": 2}
#: What the one source does whose rows stand for all.
_OF_ONE_SOURCE = {"allgather": "broadcast", "alltoall": "scatter"}


def promised(schedule: Schedule) -> Promise:
    """The promise of a schedule.

    Raises:
        InputError: its number of units is no multiple of the number of sources and destinations.
    """
    topology, units = schedule.topology, schedule.units
    collective = _OF_ONE_SOURCE[schedule.collective] if schedule.symmetric else schedule.collective
    parts = topology.nodes ** _POWERS[collective]
    if units < 0 or units % parts:
        raise InputError(
            f"a {schedule.collective} on {topology.spec} has no {units:,} units",
            hint=f"give a multiple of {parts:,}" if units >= 0 else "give 0 or more",
        )
    return Promise(collective, topology.nodes, units, schedule.root, max(units // parts, 1))
