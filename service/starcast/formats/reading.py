"""Reading of schedules from files; the suffix of the name determines the format."""

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
    """Read a schedule from a GOAL file (``.goal``), MSCCL XML file (``.xml``) or CSV file (others).

    See `starcast.schedule_from_goal`, `starcast.schedule_from_msccl` and
    `starcast.schedule_from_csv` for arguments and errors.
    """
    readers = {".goal": schedule_from_goal, ".xml": schedule_from_msccl}
    read = readers.get(Path(path).suffix.lower(), schedule_from_csv)
    return read(path, topology, collective, ports, root)
