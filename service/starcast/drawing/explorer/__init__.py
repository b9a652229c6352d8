"""The explorer as a single page that works without a server."""

from starcast.drawing.explorer.data import describe_forest, describe_schedule, describe_topology
from starcast.drawing.explorer.page import build_page
from starcast.drawing.explorer.requests import build_schedule

__all__ = [
    "build_page",
    "build_schedule",
    "describe_forest",
    "describe_schedule",
    "describe_topology",
]
