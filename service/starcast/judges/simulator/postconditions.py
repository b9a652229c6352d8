"""The postcondition of a collective: the source of every unit, and the nodes that must receive it.

Units are numbered as `starcast.collectives.Schedule` describes; this module decodes the numbers.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from starcast.collectives.model import REDUCTIONS, Schedule
from starcast.support.errors import InputError
from starcast.support.vocabulary import Collective

Numbers = NDArray[np.int64]

#: Collectives in which many nodes send. The units of a dead node need not be delivered.
_MANY_SENDERS = ("allgather", "gather", "alltoall")
#: The number of sources and destinations of units, as a power of the number of nodes.
_POWERS = {
    "broadcast": 0,
    "allgather": 1,
    "scatter": 1,
    "gather": 1,
    "alltoall": 2,
    "reduce": 0,
    "reduce-scatter": 1,
    "allreduce": 0,
}
#: The collective of the single source whose rows represent all sources.
_OF_ONE_SOURCE: dict[str, Collective] = {
    "allgather": "broadcast",
    "alltoall": "scatter",
    "reduce-scatter": "reduce",
    "allreduce": "allreduce",
}


@dataclass(frozen=True)
class Postcondition:
    """The units that each node must hold after a collective.

    Attributes:
        collective: the collective; for a symmetric schedule, that of its one source: a broadcast
            instead of an allgather, a scatter instead of an alltoall, a reduce instead of a
            reduce-scatter.
        nodes: the number of nodes.
        units: the number of units.
        root: rank of the root.
        multiplicity: M, the number of units per source, destination, or pair of both; all units
            of a broadcast, reduce or allreduce.
    """

    collective: Collective
    nodes: int
    units: int
    root: int
    multiplicity: int

    @property
    def to_all(self) -> bool:
        """Whether every node must receive every unit; otherwise a unit has one destination."""
        return self.collective in ("broadcast", "allgather", "allreduce")

    @property
    def reduces(self) -> bool:
        """Whether all nodes contribute to every unit, and a unit is held once it is complete."""
        return self.collective in REDUCTIONS

    @property
    def many_senders(self) -> bool:
        """Whether many nodes have units to send."""
        return self.collective in _MANY_SENDERS

    @property
    def pairs(self) -> int:
        """The number of required (node, unit) pairs, including those that hold from the start."""
        return self.units * (self.nodes if self.to_all else 1)

    def source(self, unit: Numbers) -> Numbers:
        """Return the node that holds each unit from the start; not for reductions."""
        if self.collective == "alltoall":
            return unit // (self.multiplicity * self.nodes)
        return unit // self.multiplicity if self.many_senders else np.full(len(unit), self.root)

    def destination(self, unit: Numbers) -> Numbers:
        """Return the destination of each unit, for collectives with one destination per unit."""
        if self.collective in ("gather", "reduce"):
            return np.full(len(unit), self.root)
        return unit // self.multiplicity % self.nodes


def derive_postcondition(schedule: Schedule) -> Postcondition:
    """Return the postcondition of a schedule's collective.

    Raises:
        InputError: the number of units is not a multiple of the number of sources and
            destinations.
    """
    topology = schedule.topology
    units = schedule.units
    collective = schedule.collective
    if schedule.symmetric:
        collective = _OF_ONE_SOURCE[collective]
    parts = topology.nodes ** _POWERS[collective]
    if units < 0 or units % parts:
        raise InputError(
            f"a {schedule.collective} on {topology.spec} cannot have {units:,} units",
            hint=f"give a multiple of {parts:,}" if units >= 0 else "give 0 or more",
        )
    # Without any units the divisions of the other methods must still be possible.
    multiplicity = max(units // parts, 1)
    return Postcondition(collective, topology.nodes, units, schedule.root, multiplicity)
