"""Executing a point: build, verify, simulate, price. Nothing here touches a database."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from time import perf_counter

import psutil

from starcast import costs
from starcast.collectives import schedule
from starcast.collectives.model import MULTI_SOURCE
from starcast.database import models
from starcast.errors import LimitError, RejectedError
from starcast.experiments.point import Point
from starcast.simulator import Fault, Simulation, simulate
from starcast.simulator.step_profile import Profile, profile
from starcast.support.provenance import provenance
from starcast.support.text import pluralize
from starcast.topologies import topology

#: Memory that building and simulating takes for each row of a schedule, at its peak: 45 to 85 were measured, on S8 and S9.
BYTES_PER_ROW = 100


@dataclass
class Execution:
    """What building and simulating the schedule of a point gave; points of the same structure share it.

    ``error`` says why it is no basis for figures: the first violation, or, without faults, what is missing in the end.
    """

    simulation: Simulation | None = None
    error: str | None = None
    timings: dict[str, float] = field(default_factory=dict)
    begun: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def sound(self) -> Simulation | None:
        """The simulation, where it is a basis for figures."""
        return None if self.error else self.simulation

    @property
    def profile(self) -> Profile:
        """What each step carried; nothing where it failed."""
        return () if self.sound is None else profile(self.sound)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the simulation has to say beside its figures, such as that a fault is at the root."""
        return () if self.simulation is None else self.simulation.remarks


def execute(point: Point) -> Execution:
    """Build the schedule of a point, verify its forest and simulate it; a rejection becomes the execution's error.

    Raises:
        LimitError: it does not fit into the memory that is free.
    """
    demand_memory(point, psutil.virtual_memory().available)
    return perform(point)


def perform(point: Point) -> Execution:
    """`execute`, by whoever knows that the memory suffices."""
    done = Execution()
    try:
        with _timed(done.timings, "build"):
            built = schedule(
                point.topology,
                point.collective,
                point.algorithm,
                ports=point.ports,
                **point.arguments,
            )
        with _timed(done.timings, "verify"):
            if built.forest is not None:
                built.forest.verify()
        with _timed(done.timings, "simulate"):
            done.simulation = simulate(built, [Fault.parse(fault) for fault in point.faults])
    except RejectedError as error:
        done.error = error.message
    else:
        done.error = _verdict(done.simulation, under_faults=bool(point.faults))
    return done


def needed(point: Point) -> int:
    """The bytes that executing a point takes, about: by the rows of its schedule, counted without building it."""
    rule, where = point.rule, topology(point.topology)
    rows = rule.count(where, point.ports, point.arguments)
    # Faults break the symmetry, and translation may not keep ports: then all sources are written out.
    if point.collective in MULTI_SOURCE and (point.faults or not where.translation_keeps_ports):
        rows *= where.nodes // rule.sources(where, point.ports)
    return rows * BYTES_PER_ROW


def demand_memory(point: Point, free: int) -> int:
    """Accept a point that fits into so many bytes; returns how many it takes.

    Raises:
        LimitError: it does not fit.
    """
    bytes_needed = needed(point)
    if bytes_needed > free:
        raise LimitError(
            f"{point.algorithm} on {point.topology} with p = {point.p} needs about {bytes_needed / 1e9:.1f} GB of memory,"
            f" {free / 1e9:.1f} GB are free",
            hint="take a smaller topology, or fewer segments or messages",
        )
    return bytes_needed


def priced(point: Point, execution: Execution) -> models.Run:
    """The run at this point: with its three costs, or failed with the reason and without figures."""
    timings = dict(execution.timings)
    with _timed(timings, "price"):
        figures = [] if execution.sound is None else _costs(point, execution.sound)
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
        copies=point.copies,
        tree=point.tree,
        faults=list(point.faults),
        seed=point.seed,
        missing=execution.sound.missing if execution.sound else 0,
        status="failed" if execution.error else "complete",
        error=execution.error,
        timings=timings,
        provenance=provenance(),
        started_at=execution.begun,
        finished_at=datetime.now(UTC),
        costs=figures,
    )


@contextmanager
def _timed(timings: dict[str, float], phase: str) -> Iterator[None]:
    """Note the seconds that a phase takes."""
    begin = perf_counter()
    try:
        yield
    finally:
        timings[phase] = round(perf_counter() - begin, 6)


def _verdict(simulation: Simulation, *, under_faults: bool) -> str | None:
    if simulation.violation is not None:
        return simulation.violation
    if not simulation.complete and not under_faults:  # what faults cost is a result
        label, unit = simulation.undelivered[0]
        what = pluralize(simulation.missing, "unit is", "units are")
        return f"incomplete: {what} missing in the end, the first is unit {unit} at {label}"
    return None


def _costs(point: Point, simulation: Simulation) -> list[models.Cost]:
    where, what, by = topology(point.topology), point.collective, point.algorithm
    machine = costs.Machine(point.T_s, point.T_c)
    unit = costs.unit_bytes(where, what, by, point.m, **point.arguments)
    messages = point.messages if point.rule.split_argument == "messages" else None
    bound = costs.lower_bound(
        where, what, point.ports, point.m, machine, messages=messages, copies=point.copies
    )
    return [
        _row(
            "closed form",
            costs.closed_form(where, what, by, point.ports, point.m, machine, **point.arguments),
        ),
        _row("simulated", costs.price_simulation(simulation, unit, machine)),
        _row("lower bound", bound),
    ]


def _row(kind: str, cost: costs.Cost) -> models.Cost:
    return models.Cost(
        kind=kind,
        steps=cost.steps,
        start_ups=Fraction(cost.start_ups),
        transmissions=cost.transmissions,
        bytes=cost.bytes,
        time=cost.time,
        source=cost.source,
    )
