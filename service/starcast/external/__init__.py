"""Simulators of other projects, which execute schedules as independent witnesses of their times."""

from starcast.external.simgrid_runs import SimGridRun, run_simgrid

__all__ = ["SimGridRun", "run_simgrid"]
