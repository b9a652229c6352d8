"""Export to the file formats of other tools, and import of schedules from them.

Schedules, topologies and forests can be exported. `docs/formats.md` describes the contents and
limits of each format, and the data that it omits.
"""

from pathlib import Path

from starcast.collectives import Schedule, schedule_from_csv
from starcast.formats.goal import schedule_from_goal
from starcast.formats.msccl_reader import schedule_from_msccl
from starcast.formats.writing import export, render
from starcast.support.vocabulary import Collective, Ports
from starcast.topologies import Topology

__all__ = ["export", "read_schedule", "render", "schedule_from_goal", "schedule_from_msccl"]


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
