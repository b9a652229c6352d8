"""Collectives, and the algorithms that build their schedules."""

# Each module declares its algorithms; `starcast` lists them in this order.
# isort: off
from starcast.collectives import (  # noqa: F401
    one_to_all,
    allgather,
    alltoall,
    edge_disjoint,
    doubling,
    yardsticks,
    greedy,
    reductions,
)

# isort: on
from starcast.collectives.algorithm import algorithms, schedule
from starcast.collectives.columns import schedule_from_columns, schedule_from_csv
from starcast.collectives.model import Schedule

__all__ = ["Schedule", "algorithms", "schedule", "schedule_from_columns", "schedule_from_csv"]
