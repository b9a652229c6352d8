"""Schedules from files, whose formats follow from their names."""

from pathlib import Path

from starcast.collectives import Schedule, schedule_from_csv
from starcast.formats.goal_reader import schedule_from_goal
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology


def read_schedule(
    path: str | Path,
    topology: Topology | str,
    collective: Collective,
    ports: Ports = "all",
    root: int | str = 0,
) -> Schedule:
    """Return the schedule of a GOAL file, whose name ends in ``.goal``, or else of a CSV file.

    See `starcast.schedule_from_goal` and `starcast.schedule_from_csv` for arguments and errors.
    """
    is_goal = Path(path).suffix.lower() == ".goal"
    read = schedule_from_goal if is_goal else schedule_from_csv
    return read(path, topology, collective, ports, root)
