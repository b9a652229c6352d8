"""Execution of schedules by SimGrid, an independent simulator that confirms their times."""

from starcast.judges.simulator.simgrid.runs import (
    SimGridRequest,
    SimGridRun,
    run_simgrid,
    run_simgrid_batch,
)

__all__ = ["SimGridRequest", "SimGridRun", "run_simgrid", "run_simgrid_batch"]
