"""Executes a schedule under its port model: proves that it keeps its promise, or names what breaks it.

The simulator knows nothing of how schedules are made. Its rules are those of store and forward: a unit that arrives in
step t can leave in step t+1 at the earliest. Without faults all rows are judged at once: let every row deliver, and note
when each node first gets each unit; if every sender had its unit before its row's step, then, by induction on the steps,
every row really delivers. Where some did not, those of the earliest step are real offenders, since all before were not.
With faults rows may fall out, and the steps are gone through one after the other.

A symmetric schedule is the rows of one source. Translation takes holding to holding, so that who gets what is judged on
these rows alone. It takes links to links, and all sources send together: where it keeps ports, the row's link translated to
all sources is every directed link of that port exactly once, which says what every link carries (the *dimension rule*;
Fragopoulou & Akl 1996, Lemma 7); where it does not, all sources are written out and their links counted.
"""

from starcast.simulator.acknowledgements import Acknowledged, acknowledged
from starcast.simulator.faults import Fault, FaultLike
from starcast.simulator.results import Simulation
from starcast.simulator.simulation import simulate

__all__ = ["Acknowledged", "Fault", "FaultLike", "Simulation", "acknowledged", "simulate"]
