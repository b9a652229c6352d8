"""Schedules from files, whose formats follow from their names."""

from pathlib import Path

from starcast.collectives import Schedule, schedule_from_csv
from starcast.formats.goal_reader import schedule_from_goal
from starcast.formats.msccl_reader import schedule_from_msccl
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology


def read_schedule(
    path: str | Path,
    topology: Topology | str,
    collective: Collective,
    ports: Ports = "all",
    root: int | str = 0,
) -> Schedule:
    """Return the schedule of a GOAL file (.goal), of an MSCCL XML file (.xml), or of a CSV file.

    See `starcast.schedule_from_goal`, `starcast.schedule_from_msccl` and
    `starcast.schedule_from_csv` for arguments and errors.
    """
    readers = {".goal": schedule_from_goal, ".xml": schedule_from_msccl}
    read = readers.get(Path(path).suffix.lower(), schedule_from_csv)
    return read(path, topology, collective, ports, root)
