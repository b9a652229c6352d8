"""Export artifacts to the file formats of other tools, and import schedules and networks.

Schedules, topologies and forests can be exported. `docs/formats.md` describes the contents and
limits of each format, and the data that it omits.
"""

from starcast.formats.goal_reader import schedule_from_goal
from starcast.formats.msccl_reader import schedule_from_msccl
from starcast.formats.mscclpp_reader import schedule_from_mscclpp
from starcast.formats.networks import network
from starcast.formats.reading import read_schedule
from starcast.formats.writing import export, render

__all__ = [
    "export",
    "network",
    "read_schedule",
    "render",
    "schedule_from_goal",
    "schedule_from_msccl",
    "schedule_from_mscclpp",
]
