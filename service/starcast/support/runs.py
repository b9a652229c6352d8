"""Runs: executions of an algorithm, each with its parameters and the resulting costs and counts.

`Run` adds results to the declared parameters. Executions return runs, and comparisons match runs.
The table ``run`` and experiment files have the same fields as `Run`. This module imports no
third-party library, so that ``starcast --help`` stays fast.
"""

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from datetime import datetime
from fractions import Fraction
from typing import Any

from starcast.support.axes import Parameters


@dataclass(frozen=True)
class RunCost:
    """The cost of a run according to one source; values missing from the source are None.

    Attributes:
        kind: ``closed form``, ``simulated`` or ``lower bound``.
        steps: number of steps.
        transmissions: number of times that units cross links.
        start_ups: the coefficient of t_s.
        bytes: the coefficient of t_c.
        time: ``start_ups * t_s + bytes * t_c``, plus the latencies of links, if any; for a lower
            bound, the larger of the two terms.
        source: the paper with the number of the formula, or ``simulated``.
    """

    kind: str
    steps: int | None
    transmissions: int | None
    start_ups: Fraction | None
    bytes: Fraction | None
    time: Fraction
    source: str


@dataclass(frozen=True, eq=False)
class Run(Parameters):
    """One execution of an algorithm: its parameters and costs; a failed run has no costs.

    Attributes:
        messages: number of unit messages. It is stored, because it cannot be derived on a machine
            without the run's algorithm.
        message_units: number of units into which a message is split; None in runs that older
            versions stored.
        missing: number of (node, unit) pairs that the faults left undelivered.
        status: ``complete`` or ``failed``.
        error: the reason why the run failed; None if it is complete.
        timings: the duration in seconds of each phase (build, verify, simulate, price), by phase.
        provenance: code, libraries and machine that produced the run.
        started_at: the time at which the execution began.
        finished_at: the time at which the costs had been computed.
        costs: the costs of every computed kind; empty for a failed run.
        id: the number of the run in the store; None if the run is not stored.
    """

    _: KW_ONLY
    messages: int
    message_units: int | None
    missing: int
    status: str
    error: str | None
    timings: Mapping[str, float]
    provenance: Mapping[str, Any]
    started_at: datetime
    finished_at: datetime
    costs: tuple[RunCost, ...] = ()
    id: int | None = None

    # Two runs with the same parameters are different runs, so runs are compared by identity. This
    # also makes them fast dictionary keys; hashing the fractions in a run would take long.
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def __post_init__(self) -> None:
        # Faults that are read from JSON, the database or a file are a list, not a tuple.
        object.__setattr__(self, "faults", tuple(self.faults))


#: The fields of a run that are columns of the table ``run`` and keys in files.
RUN_FIELDS = tuple(each.name for each in fields(Run) if each.name not in {"costs", "id"})
#: The fields of a cost, which are columns of the table ``cost`` and keys in files.
COST_FIELDS = tuple(each.name for each in fields(RunCost))
#: The numeric fields of a cost.
FIGURES = tuple(name for name in COST_FIELDS if name not in {"kind", "source"})
