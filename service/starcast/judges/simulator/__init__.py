"""The simulator executes a schedule under its port model and reports the first violation.

The simulator is independent of how schedules are built. Its model is store and forward: a unit that
arrives in step t can leave in step t+1 at the earliest. A row of a schedule sends one unit over one
link in one step. Without faults all rows are checked together. The simulator assumes that every row
delivers its unit, and records when each node first receives each unit. If every sender has its unit
before the step of its row, then, by induction on the steps, every row really delivers. Otherwise
the failing rows of the earliest step are real violations, because all earlier rows deliver. Steps
are executed one after the other under faults, because rows can be dropped, and in reductions,
because sums grow from step to step.

A symmetric schedule contains the rows of one source; the rows of the other sources are its
translations. So all units of one source are delivered if and only if those of every other source
are delivered, and it suffices to check one source. All sources send at the same time. If
translations keep ports, they map the link of a row to every directed link of the same port exactly
once. This determines the traffic of every link (the *dimension rule*; Fragopoulou & Akl 1996, Lemma
7).
Otherwise the schedule is expanded to all sources and the links are counted.
"""

from starcast.judges.simulator.acknowledgements import AcknowledgedRun, simulate_acknowledged
from starcast.judges.simulator.asynchronous import CriticalSend
from starcast.judges.simulator.execution_models import PacketTimes, Timing, timing
from starcast.judges.simulator.faults import Fault, FaultLike, find_executed
from starcast.judges.simulator.simulation import Simulation, simulate

__all__ = [
    "AcknowledgedRun",
    "CriticalSend",
    "Fault",
    "FaultLike",
    "PacketTimes",
    "Simulation",
    "Timing",
    "find_executed",
    "simulate",
    "simulate_acknowledged",
    "timing",
]
