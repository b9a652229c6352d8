"""Executing a point: build, verify, simulate, price. Nothing here touches a database."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from time import perf_counter

import numpy as np
import psutil
from numpy.typing import NDArray

from starcast import costs
from starcast.collectives import schedule
from starcast.errors import LimitError, RejectedError
from starcast.runs import models
from starcast.runs.grid import Point
from starcast.runs.provenance import provenance
from starcast.simulator import Simulation, simulate
from starcast.topologies import topology

#: Memory that building and simulating takes for each row of a schedule, at its peak; measured on S8 and S9.
BYTES_A_ROW = 140


@dataclass
class Execution:
    """What building and simulating the schedule of a point gave; points of the same structure share it.

    ``error`` says why it is no basis for figures: the first violation, or what is missing in the end.
    """

    simulation: Simulation | None = None
    error: str | None = None
    timings: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Note the seconds that a phase takes."""
        begin = perf_counter()
        try:
            yield
        finally:
            self.timings[name] = round(perf_counter() - begin, 6)

    @property
    def profile(self) -> tuple[NDArray[np.int64], ...]:
        """Links used, packets and units in the largest packet, int64 ``[steps]`` each; nothing where it failed."""
        if self.simulation is None or self.error is not None:
            return ()
        # In a step a directed link carries one packet: as many packets as links.
        return self.simulation.link_use, self.simulation.link_use, self.simulation.packet_sizes


def execute(point: Point) -> Execution:
    """Build the schedule of a point, verify its forest and simulate it; a rejection becomes the execution's error.

    Raises:
        LimitError: it does not fit into the memory that is free.
    """
    done = Execution()
    _demand_memory(point)
    try:
        with done.phase("build"):
            built = schedule(point.topology, point.collective, point.algorithm, ports=point.ports, **point.arguments)
        with done.phase("verify"):
            if built.forest is not None:
                built.forest.verify()
        with done.phase("simulate"):
            done.simulation = simulate(built)
    except RejectedError as error:
        done.error = error.message
    else:
        done.error = _verdict(done.simulation)
    return done


def priced(point: Point, execution: Execution) -> models.Run:
    """The run at this point: with its three costs, or failed with the reason and without figures."""
    started = datetime.now(UTC)
    own = Execution(timings=dict(execution.timings))
    with own.phase("price"):
        figures = [] if execution.simulation is None or execution.error else _costs(point, execution.simulation)
    return models.Run(
        topology=point.topology,
        collective=point.collective,
        algorithm=point.algorithm,
        ports=point.ports,
        m=point.m,
        M=point.messages,
        T_s=point.T_s,
        T_c=point.T_c,
        p=point.p,
        status="failed" if execution.error else "complete",
        error=execution.error,
        timings=own.timings,
        provenance=provenance(),
        started_at=started,
        finished_at=datetime.now(UTC),
        costs=figures,
    )


def _demand_memory(point: Point) -> None:
    where = topology(point.topology)
    units = 1 / costs.unit_bytes(where, point.collective, point.algorithm, Fraction(1), **point.arguments)
    needed, free = int(units) * where.nodes * BYTES_A_ROW, psutil.virtual_memory().available
    if needed > free:
        raise LimitError(
            f"{point.algorithm} on {point.topology} with p = {point.p} needs about {needed / 1e9:.1f} GB of memory,"
            f" {free / 1e9:.1f} GB are free",
            hint="take a smaller topology or fewer segments",
        )


def _verdict(simulation: Simulation) -> str | None:
    if simulation.violation is not None:
        return simulation.violation
    if not simulation.complete:
        label, unit = simulation.undelivered[0]
        return f"incomplete: {simulation.missing} units are missing in the end, the first is unit {unit} at {label}"
    return None


def _costs(point: Point, simulation: Simulation) -> list[models.Cost]:
    where, what, by = topology(point.topology), point.collective, point.algorithm
    machine = costs.Machine(point.T_s, point.T_c)
    unit = costs.unit_bytes(where, what, by, point.m, **point.arguments)
    return [
        _row("closed form", costs.closed_form(where, what, by, point.ports, point.m, machine, **point.arguments)),
        _row("simulated", costs.simulated(simulation, unit, machine)),
        _row("lower bound", costs.lower_bound(where, what, point.ports, point.m, machine)),
    ]


def _row(kind: str, cost: costs.Cost) -> models.Cost:
    return models.Cost(
        kind=kind,
        steps=cost.steps,
        start_ups=cost.start_ups,
        transmissions=cost.transmissions,
        bytes=cost.bytes,
        time=cost.time,
        source=cost.source,
    )
