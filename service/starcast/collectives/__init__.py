"""Collectives, and the algorithms that build their schedules."""

from starcast.collectives.catalogue import algorithms, schedule
from starcast.collectives.columns import schedule_from_columns, schedule_from_csv
from starcast.collectives.model import Schedule

__all__ = ["Schedule", "algorithms", "schedule", "schedule_from_columns", "schedule_from_csv"]
