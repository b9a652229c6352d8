"""Schedules by the short names that the explorer's URLs have."""

from starcast.collectives import Schedule, schedule
from starcast.errors import InputError
from starcast.topologies import Topology


def build_schedule(topology: Topology, name: str, root: int | str = 0) -> Schedule:
    """Return a schedule by its short name.

    Args:
        topology: the topology.
        name: collective, algorithm with its arguments, and optionally the port model:
            ``broadcast:multiple``, ``broadcast:multiple(segments=4)``, ``scatter:balanced:one``.
        root: label or rank of the root, or of the source of a symmetric schedule.

    Raises:
        InputError: the text, a name, an argument or the root is wrong.
        LimitError: the schedule does not fit into memory.
    """
    parts = name.split(":")
    if len(parts) not in (2, 3):
        raise InputError(
            f"'{name}' does not name a schedule",
            hint="write COLLECTIVE:ALGORITHM, such as 'broadcast:multiple(segments=4)'",
        )
    collective, algorithm, *ports = parts
    return schedule(topology, collective, algorithm, ports[0] if ports else None, root)
