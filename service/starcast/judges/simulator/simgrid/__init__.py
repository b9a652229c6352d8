"""Simulators of other projects, which execute schedules as independent witnesses of their times."""

from starcast.judges.simulator.simgrid.runs import (
    SimGridRequest,
    SimGridRun,
    run_simgrid,
    run_simgrid_batch,
)

__all__ = ["SimGridRequest", "SimGridRun", "run_simgrid", "run_simgrid_batch"]
