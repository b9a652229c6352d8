"""The step profile of a simulation: links used, packets and largest packet of each step."""

import numpy as np
from numpy.typing import NDArray

from starcast.judges.simulator.simulation import Simulation

#: The columns of a stored profile, after the step.
COLUMNS = ("links_used", "packets", "largest_packet")

#: Links used, packets and units in the largest packet, int64 ``[steps]`` each; may be empty.
Profile = tuple[NDArray[np.int64], ...]


def profile(simulation: Simulation) -> Profile:
    """Return the step profile of a simulation.

    A directed link carries one packet per step, so there are as many packets as links used.
    """
    return simulation.links_used, simulation.links_used, simulation.packet_sizes
