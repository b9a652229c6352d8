"""Files of other tools: schedules, topologies and forests written for them, and schedules read.

`docs/formats.md` describes what each format holds, what is lost and its limits.
"""

from starcast.formats.goal_reader import schedule_from_goal
from starcast.formats.writing import FORMATS, export, render, suffixes

__all__ = ["FORMATS", "export", "render", "schedule_from_goal", "suffixes"]
