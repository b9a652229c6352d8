"""Collectives: what everybody ends with, and the schedules that bring it about."""

from starcast.collectives.catalogue import algorithms, schedule
from starcast.collectives.model import Schedule

__all__ = ["Schedule", "algorithms", "schedule"]
