"""What a simulation tells."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Simulation:
    """What happened; of a symmetric schedule, all counts are those of all sources together.

    Attributes:
        steps: the last step in which anything moved.
        transmissions: rows carried out, units times links.
        largest_packet: most units on one directed link in one step.
        complete: everybody alive ends with what the collective promises.
        missing: how many (node, unit) pairs are missing.
        undelivered: the first few of them, (label, unit); of a symmetric schedule without faults, those of the source that
            it writes out, with the units of its own rows; under faults, with those of `Schedule.expand`.
        violation: None, or one sentence: step, sender, port, receiver and the rule it breaks.
        links_used: int64 ``[steps]``: directed links busy in each step, one packet each.
        packet_sizes: int64 ``[steps]``: units in the largest packet of each step.
        remarks: sentences worth saying beside the figures, such as that a fault is at the root.
    """

    steps: int
    transmissions: int
    largest_packet: int
    complete: bool
    missing: int
    undelivered: tuple[tuple[str, int], ...]
    violation: str | None
    links_used: NDArray[np.int64]
    packet_sizes: NDArray[np.int64]
    remarks: tuple[str, ...] = ()
