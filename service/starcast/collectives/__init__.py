"""Collectives: what every node ends with, and the schedules that deliver it."""

from starcast.collectives.catalogue import algorithms, schedule
from starcast.collectives.columns import schedule_from_columns, schedule_from_csv
from starcast.collectives.model import Schedule

__all__ = ["Schedule", "algorithms", "schedule", "schedule_from_columns", "schedule_from_csv"]
