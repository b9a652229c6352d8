"""Execute points of experiments: build, verify and simulate schedules, and compute their costs.

A point is a combination of all parameters of a run. No database is needed. Points are executed in
parallel as far as memory permits.
"""

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from time import perf_counter
from typing import Any

import psutil

from starcast import costs
from starcast.catalogue import plugins
from starcast.catalogue.plugins import describe_used
from starcast.collectives import schedule as build_schedule
from starcast.collectives.model import MULTI_SOURCE
from starcast.experiments.design import group_by_structure
from starcast.experiments.point import Point
from starcast.judges.simulator import Fault, Simulation
from starcast.judges.simulator.simulation import Profile
from starcast.support import parallel
from starcast.support.axes import AXES
from starcast.support.errors import LimitError, RejectedError
from starcast.support.installation import provenance
from starcast.support.parallel import count_slots
from starcast.support.runs import COST_FIELDS, Run, RunCost
from starcast.support.text import pluralize
from starcast.topologies import as_topology

#: Estimated peak memory in bytes per schedule row. On S8 and S9, 45 to 85 bytes were measured.
BYTES_PER_ROW = 100
#: If all schedules together need less memory than this number of bytes, starting processes takes
#: longer than executing the points.
_WORTH_PROCESSES = 200_000_000


@dataclass
class Execution:
    """The result of building and simulating a point's schedule.

    Points with the same `Point.structure` share one execution.

    Attributes:
        simulation: the simulation, or None if the schedule was rejected before the simulation.
        error: the reason why there are no valid results, for example the first violation of the
            port model, or units that are missing although there are no faults; None if the results
            are valid.
        message_units: the number of units into which one message is split.
        critical_work: the packets and units on the critical path of the execution; None if the cost
            is not computed from this path.
        timings: the seconds that each phase took: ``build``, ``verify``, ``simulate``.
        started_at: the time at which the execution began.
    """

    simulation: Simulation | None = None
    error: str | None = None
    message_units: int = 1
    critical_work: costs.CriticalWork | None = None
    timings: dict[str, float] = field(default_factory=dict)
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))

    @property
    def valid_simulation(self) -> Simulation | None:
        """The simulation, or None if the execution has no valid results."""
        return None if self.error else self.simulation

    @property
    def profile(self) -> Profile:
        """The links used, packets and largest packet of each step; empty for a failed execution."""
        return () if self.valid_simulation is None else self.valid_simulation.step_profile

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks from the simulation, for example that a fault is at the root."""
        return () if self.simulation is None else self.simulation.remarks


def execute(point: Point) -> Execution:
    """Build the schedule of a point, verify the schedule's forest, and simulate the schedule.

    If the schedule is rejected, the reason becomes the error of the execution.

    Raises:
        LimitError: the schedule does not fit into free memory.
    """
    check_memory(point, _free_memory())
    return execute_unchecked(point)


def execute_unchecked(point: Point) -> Execution:
    """Execute a point without checking free memory."""
    execution = Execution()
    try:
        with _measure(execution.timings, "build"):
            schedule = build_schedule(
                point.topology,
                point.collective,
                point.catalogue_entry.name,
                ports=point.ports,
                root=point.root_rank,
                **point.arguments,
            )
        # The number is at least 1, even if a schedule has no units, because the message size is
        # divided by this number.
        execution.message_units = max(1, schedule.message_units)
        with _measure(execution.timings, "verify"):
            if schedule.forest is not None:
                schedule.forest.verify()
        with _measure(execution.timings, "simulate"):
            faults = [Fault.parse(fault) for fault in point.faults]
            unit = point.message_bytes / execution.message_units
            machine = costs.Machine(point.t_s, point.t_c)
            execution.simulation, execution.critical_work = costs.execute_in_model(
                schedule, unit, machine, point.execution, faults
            )
    # Only this error is caught: a rejected schedule is a result, which is stored as a failed run.
    # Any other error ends the experiment.
    except RejectedError as error:
        execution.error = error.message
    else:
        execution.error = _find_error(execution.simulation, has_faults=bool(point.faults))
    return execution


def _execute_in_worker(plugin_names: tuple[str, ...], point: Point) -> Execution:
    """Load plug-ins in this worker process, and execute a point."""
    plugins.load_once(plugin_names)
    return execute_unchecked(point)


def required_memory(point: Point) -> int:
    """Estimate the memory for executing a point, in bytes.

    The rows of the point's schedule are counted without building the schedule.
    """
    algorithm = point.catalogue_entry
    topology = as_topology(point.topology)
    rows = algorithm.count(topology, point.ports, point.arguments)
    # A symmetric schedule contains only the rows of one source. The rows of all sources are needed
    # if faults break the symmetry, or if translations may change ports.
    if point.collective in MULTI_SOURCE and (point.faults or not topology.translation_keeps_ports):
        rows *= topology.endpoints // algorithm.sources(topology, point.ports)
    return rows * BYTES_PER_ROW


def check_memory(point: Point, free: int) -> int:
    """Check that there is enough memory for a point, and return the estimate in bytes.

    Raises:
        LimitError: the point needs more memory than is free.
    """
    required = required_memory(point)
    if required > free:
        raise LimitError(
            f"{point.algorithm} on {point.topology} with segments = {point.segments} needs about"
            f" {required / 1e9:.1f} GB of memory, but only {free / 1e9:.1f} GB are free",
            hint="use a smaller topology, fewer segments, or fewer messages",
        )
    return required


def count_processes(points: Sequence[Point], jobs: int | None = None) -> int:
    """Return the number of processes that execute points; 1 means this process only.

    Args:
        points: the points to execute.
        jobs: the requested number of processes; by default one per core, or 1 if all schedules
            together need little memory.

    Raises:
        InputError: fewer than 1 process is requested.
    """
    worth_it = jobs is None and sum(map(required_memory, points)) > _WORTH_PROCESSES
    return parallel.choose_jobs(len(points), jobs, worth_it=worth_it)


@contextmanager
def execute_all(
    points: Iterable[Point], jobs: int | None = None, executor: Executor | None = None
) -> Iterator[tuple[Iterator[tuple[Point, Execution]], int]]:
    """Execute points within the context, in this process or in several processes.

    Points with the same `Point.structure` share one execution and are consecutive. With one
    process, the executions are in the order of the given points, otherwise in the order of
    completion. All processes that this function starts have ended when the context ends; an error
    or interruption ends them at once.

    Args:
        points: the points to execute.
        jobs: the requested number of processes on this machine; by default one per core, or 1 if
            all schedules together need little memory.
        executor: executes the points instead of processes on this machine; a remote executor sends
            the plug-ins to its workers.

    Yields:
        Two values: an iterator over pairs (point, execution), and the number of processes or, with
        an executor, the number of slots.

    Raises:
        LimitError: a point does not fit into free memory, a process cannot be started, or the
            processes that executed a point were killed; in the last case, the executions of all
            other points have been yielded.
        InputError: fewer than 1 process is requested; or several processes are requested, but a
            plug-in is defined in a script.
    """
    groups = {group[0]: group for group in group_by_structure(points)}
    first = list(groups)
    count = count_slots(executor) if executor else count_processes(first, jobs)
    running: AbstractContextManager[Iterator[tuple[Point, Execution]]]
    if executor is None and count == 1:
        running = nullcontext((point, execute(point)) for point in first)
    else:
        perform = execute_unchecked
        # Processes on this machine load plug-ins by name. Tasks that are sent to a cluster contain
        # the source code of the plug-ins, except plug-ins in installed packages.
        if not getattr(executor, "is_remote", False):
            perform = partial(_execute_in_worker, plugins.loadable())
        work = parallel.Workload(
            perform, required_memory, _free_memory, check_memory, Point.command
        )
        running = parallel.run_parallel(first, work, executor, count)
    with running as executions:
        yield (
            ((point, execution) for each, execution in executions for point in groups[each]),
            count,
        )


def price_run(point: Point, execution: Execution, **origin: Any) -> Run:
    """Compute the costs of an executed point, and return its run.

    The costs are the closed form, the simulated cost and the lower bound. A failed run has an error
    and no costs.

    Args:
        point: the point.
        execution: the execution of the point.
        origin: further entries for the run's provenance.
    """
    timings = dict(execution.timings)
    simulation = execution.valid_simulation
    with _measure(timings, "price"):
        costs_of_run = () if simulation is None else _price(point, simulation, execution)
    entry = (f"{point.collective} algorithm", point.catalogue_entry.name)
    used = describe_used(as_topology(point.topology), entry, point.arguments)
    return Run(
        **{axis: getattr(point, axis) for axis in AXES},
        message_units=execution.message_units,
        missing=simulation.missing if simulation else 0,
        status="failed" if execution.error else "complete",
        error=execution.error,
        timings=timings,
        provenance=provenance() | ({"plugins": used} if used else {}) | origin,
        started_at=execution.started_at,
        finished_at=datetime.now(UTC),
        costs=costs_of_run,
    )


@contextmanager
def _measure(timings: dict[str, float], phase: str) -> Iterator[None]:
    """Measure how many seconds the body of the context takes, and record them for a phase."""
    begin = perf_counter()
    try:
        yield
    finally:
        timings[phase] = round(perf_counter() - begin, 6)


def _free_memory() -> int:
    return int(psutil.virtual_memory().available)


def _find_error(simulation: Simulation, *, has_faults: bool) -> str | None:
    if simulation.violation is not None:
        return simulation.violation
    # If there are faults, missing units are an expected result, not an error.
    if not simulation.complete and not has_faults:
        label, unit = simulation.undelivered[0]
        missing = pluralize(simulation.missing, "unit is", "units are")
        return f"incomplete: {missing} missing at the end, the first is unit {unit} at {label}"
    return None


def _price(point: Point, simulation: Simulation, execution: Execution) -> tuple[RunCost, ...]:
    """Return a run's costs: the closed form, if any, the simulated cost and the lower bound."""
    unit = point.message_bytes / execution.message_units
    machine = costs.Machine(point.t_s, point.t_c)
    simulated = costs.price_simulation(simulation, unit, machine, execution.critical_work)
    known = formula_costs(point)
    # The order is closed form, simulated, lower bound: a key that occurs twice in the dict keeps
    # its first place.
    priced = {"closed form": known.get("closed form"), "simulated": simulated, **known}
    return tuple(
        RunCost(kind, **{name: getattr(cost, name) for name in COST_FIELDS[1:]})
        for kind, cost in priced.items()
        if cost is not None
    )


def formula_costs(point: Point) -> dict[str, costs.Cost]:
    """Return the costs of a point that need no execution, keyed by kind.

    These costs are the lower bound and, if the algorithm has a closed form and all links have
    capacity 1 and latency 0, the closed form.
    """
    known = {}
    has_form = (point.collective, point.algorithm) in costs.FORMS
    if has_form and as_topology(point.topology).has_equal_links:
        known["closed form"] = costs.closed_form(
            as_topology(point.topology),
            point.collective,
            point.algorithm,
            point.ports,
            point.message_bytes,
            costs.Machine(point.t_s, point.t_c),
            **point.arguments,
        )
    takes_messages = point.catalogue_entry.split_argument == "messages"
    return {**known, "lower bound": bound_cost(point, takes_messages=takes_messages)}


def bound_cost(point: Point, *, takes_messages: bool) -> costs.Cost:
    """Return the lower bound on the cost of a point.

    Args:
        point: the point.
        takes_messages: whether the algorithm sends unit messages; only then does the lower bound
            include transmissions.
    """
    topology = as_topology(point.topology)
    messages = point.messages if takes_messages else None
    form = costs.FORMS.get((point.collective, point.algorithm))
    if messages is not None and form is not None:
        messages = form.split(topology, messages)
    return costs.lower_bound(
        topology,
        point.collective,
        point.ports,
        point.message_bytes,
        costs.Machine(point.t_s, point.t_c),
        messages=messages,
        copies=point.copies,
        root=point.root_rank,
    )
