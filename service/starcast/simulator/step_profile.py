"""The step profile of a simulation: what each step carried."""

import numpy as np
from numpy.typing import NDArray

from starcast.simulator import Simulation

#: The columns of a profile as they are stored, after the step.
COLUMNS = ("links_used", "packets", "largest_packet")

#: Links used, packets and units in the largest packet, int64 ``[steps]`` each; nothing where there is no profile.
Profile = tuple[NDArray[np.int64], ...]


def profile(simulation: Simulation) -> Profile:
    """The profile of a simulation: in a step a directed link carries one packet, so there are as many packets as links."""
    return simulation.links_used, simulation.links_used, simulation.packet_sizes
