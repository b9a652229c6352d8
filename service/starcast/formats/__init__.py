"""Files of other tools: schedules, topologies and forests written for them, and schedules read.

`docs/formats.md` describes what each format holds, what is lost and its limits.
"""

from starcast.formats.goal_reader import schedule_from_goal
from starcast.formats.msccl_reader import schedule_from_msccl
from starcast.formats.reading import read_schedule
from starcast.formats.writing import export, render

__all__ = ["export", "read_schedule", "render", "schedule_from_goal", "schedule_from_msccl"]
