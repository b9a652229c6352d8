"""Schedules for simulator tests (built, mutated or random), and comparison with the oracle."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from hypothesis import strategies as st

from oracles.reductions import Sums
from oracles.schedule_rows import Row
from oracles.simulator import Faults, Outcome, Plan, World, execute_all, world
from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.collectives.algorithm import algorithms_on
from starcast.collectives.model import (
    COLLECTIVES,
    COLUMNS,
    MULTI_SOURCE,
    REDUCTIONS,
    build_schedule,
)
from starcast.collectives.rows import Columns
from starcast.judges.simulator import Fault, Simulation, simulate
from starcast.topologies import Topology, as_topology
from starcast.topologies.networks import Network

#: Hypothesis's function that draws a value from a strategy.
Draw = Callable[[st.SearchStrategy[Any]], Any]
#: An algorithm in a port model on a topology: topology, collective, algorithm and port model.
Base = tuple[str, str, str, str]


def bases(*specs: str) -> list[Base]:
    """Return all catalogue algorithms on the given topologies, in each of their port models."""
    return [
        (spec, entry.collective, entry.name, ports)
        for spec in specs
        for entry in algorithms_on(as_topology(spec))
        for ports in entry.ports
    ]


@cache
def built(base: Base, **arguments: int | str) -> Schedule:
    """Return the schedule of an algorithm."""
    spec, collective, name, ports = base
    return build(spec, collective, name, ports, **arguments)


def plan_of(schedule: Schedule) -> Plan:
    """Convert a schedule to the oracle's `Plan`; an invalid rank becomes an unused label."""
    topology = world_of(schedule.topology)
    columns = zip(*(getattr(schedule, name).tolist() for name in COLUMNS), strict=True)
    rows = [
        Row(step, named(topology.nodes, sender), port, named(topology.nodes, receiver), tree, unit)
        for step, sender, port, receiver, tree, unit in columns
    ]
    if schedule.combine is not None:
        pairs = zip(rows, schedule.combine.tolist(), strict=True)
        rows = [row._replace(combine=combine) for row, combine in pairs]
    what = schedule.collective, topology.nodes[schedule.root], schedule.units
    rules = schedule.ports == "one", schedule.packets
    return Plan(topology, *what, *rules, rows, schedule.symmetric)


def world_of(topology: Topology) -> World:
    """Return a topology as a `World`, by the oracle's own definition if the family has one."""
    if isinstance(topology, Network):
        return network_world(topology)
    if topology.family in ("star", "nk-star", "hypercube"):
        return world(topology.spec)
    labels = topology.labels().tolist()
    across = {
        (labels[node], port): labels[end]
        for port in topology.ports
        for node, end in enumerate(topology.neighbours(port).tolist())
    }
    return World(labels, across, {})


def network_world(network: Network) -> World:
    """Return a network as the oracle's `World`."""
    stored = network.as_json()
    nodes = stored["labels"]
    across, capacities, latencies = dict[tuple[str, int], str](), {}, {}
    for number, (first, second, port) in enumerate(stored["links"]):
        for end, other in ((first, second), (second, first)):
            across[nodes[end], port] = nodes[other]
            if stored["capacities"]:
                capacities[nodes[end], port] = stored["capacities"][number]
            if stored["latencies"]:
                latencies[nodes[end], port] = stored["latencies"][number]
    switches = frozenset(nodes[network.endpoints :])
    return World(nodes, across, {}, capacities=capacities, latencies=latencies, switches=switches)


def named(nodes: Sequence[str], rank: int) -> str:
    """Return the label of the node with this rank, or an unused label if the rank is invalid."""
    return nodes[rank] if 0 <= rank < len(nodes) else f"node {rank}"


def down(faults: Iterable[Fault]) -> Faults:
    """Convert faults to the notation of the oracle: sets of labels, each with its first step."""
    return {frozenset(str(end) for end in fault.ends): fault.step for fault in faults}


def assert_same_verdict(schedule: Schedule, faults: Sequence[Fault] = ()) -> Simulation:
    """Simulate a schedule, and assert that the oracle finds the same violation and counts."""
    run, outcome = simulate(schedule, faults), execute_all(plan_of(schedule), down(faults))
    agrees(run, outcome)
    if outcome.broken:
        step = min(row.step for row in outcome.broken)
        assert run.violation is not None
        assert run.violation.startswith(f"step {step}:")
        assert schedule.symmetric or any(names(run.violation, row) for row in outcome.broken)
    else:
        assert run.violation is None
    assert run.complete == (not outcome.broken and not outcome.missing)
    return run


def agrees(run: Simulation, outcome: Outcome) -> None:
    """Check that all counts of the simulation agree with the oracle."""
    assert run.steps == len(outcome.links_used)
    assert run.transmissions == outcome.transmissions
    assert run.links_used.tolist() == outcome.links_used
    assert run.packet_sizes.tolist() == outcome.packet_sizes
    assert run.largest_packet == max(outcome.packet_sizes, default=0)
    assert run.missing == len(outcome.missing)


def names_the_first(run: Simulation, schedule: Schedule, faults: Sequence[Fault] = ()) -> None:
    """Check that the first undelivered units are reported in order of node and unit."""
    outcome = execute_all(plan_of(schedule), down(faults))
    assert run.undelivered == tuple(sorted(outcome.missing)[: len(run.undelivered)])
    assert bool(run.undelivered) == bool(outcome.missing)


def names(sentence: str, row: Row) -> bool:
    """Return whether the text of a violation describes the given row."""
    ends = f"{row.sender} sends", f"to {row.receiver}:"
    parts = f"step {row.step}:", f"unit {row.unit} ", f"port {row.port} "
    return all(part in sentence for part in (*ends, *parts))


def same(run: Simulation, other: Simulation) -> None:
    """Assert that two simulations agree. Violations agree if they are in the same step."""
    assert (run.violation is None, run.complete) == (other.violation is None, other.complete)
    steps = [str(each.violation).partition(":")[0] for each in (run, other)]
    assert steps[0] == steps[1]
    assert (run.steps, run.transmissions) == (other.steps, other.transmissions)
    assert (run.largest_packet, run.missing) == (other.largest_packet, other.missing)
    assert np.array_equal(run.links_used, other.links_used)
    assert np.array_equal(run.packet_sizes, other.packet_sizes)


#: The ways to mutate a schedule.
MUTATIONS = (
    "dropped",
    "another step",
    "early",
    "another receiver",
    "another port",
    "doubled",
    "another unit",
    "another link",
    "exchanged steps",
    "another combine",
)


def changed(schedule: Schedule, row: int, **values: int) -> Schedule:
    """Return a copy of a schedule with the given values in one row."""
    columns: dict[str, Any] = {name: getattr(schedule, name).astype(np.int64) for name in values}
    for name, value in values.items():
        columns[name][row] = value
    return replace(schedule, **columns)


def flipped(schedule: Schedule, row: int) -> Schedule:
    """Return a copy of a reduction schedule with ``combine`` inverted in one row."""
    if schedule.combine is None:
        return schedule
    combine = schedule.combine.copy()
    combine[row] = ~combine[row]
    return replace(schedule, combine=combine)


def kept(schedule: Schedule, rows: Sequence[int] | np.ndarray[Any, Any]) -> Schedule:
    """Return a copy of a schedule with only the given rows, in their order; rows can recur."""
    chosen = np.asarray(rows, dtype=np.int64)
    return replace(schedule, **schedule.columns.apply(lambda column: column[chosen]).present())


def mutate(draw: Draw, schedule: Schedule, way: str) -> Schedule:
    """Return a copy of a schedule with a random row mutated in the given way."""
    row, topology = draw(st.integers(0, len(schedule) - 1)), schedule.topology
    every = range(len(schedule))
    match way:
        case "dropped":
            return kept(schedule, [other for other in every if other != row])
        case "another step":
            return changed(schedule, row, step=draw(st.integers(-1, schedule.steps + 2)))
        case "early":
            latest = max(int(schedule.step[row]), 1)
            return changed(schedule, row, step=draw(st.integers(1, latest)))
        case "another receiver":
            return changed(schedule, row, receiver=draw(st.integers(-1, topology.nodes)))
        case "another port":
            return changed(schedule, row, port=draw(st.integers(0, topology.degree + 3)))
        case "doubled":
            return kept(schedule, [*every, row])
        case "exchanged steps":
            steps = schedule.step.copy()
            other = draw(st.integers(0, len(schedule) - 1))
            steps[[row, other]] = steps[[other, row]]
            return replace(schedule, step=steps)
        case "another combine":
            return flipped(schedule, row)
        case "another unit":
            return changed(schedule, row, unit=draw(st.integers(-1, schedule.units)))
        case _:
            sender = draw(st.integers(0, topology.nodes - 1))
            port = draw(st.sampled_from(topology.ports))
            receiver = int(topology.neighbours(port, [sender])[0])
            return changed(schedule, row, sender=sender, port=port, receiver=receiver)


@st.composite
def mutated(draw: st.DrawFn, schedule: Schedule, most: int = 2) -> Schedule:
    """Draw a copy of a schedule with 1 to ``most`` mutations."""
    for _ in range(draw(st.integers(1, most))):
        schedule = mutate(draw, schedule, draw(st.sampled_from(MUTATIONS)))
    return schedule


@st.composite
def random_schedules(draw: st.DrawFn, *specs: str, symmetric: bool | None = None) -> Schedule:
    """Draw a random schedule in which most rows are valid."""
    topology = as_topology(draw(st.sampled_from(specs)))
    collective = draw(st.sampled_from(MULTI_SOURCE if symmetric else COLLECTIVES))
    together = collective in MULTI_SOURCE and (
        draw(st.booleans()) if symmetric is None else symmetric
    )
    schedule = no_rows(
        topology,
        collective,
        draw(st.sampled_from(["all", "one"])),
        each=draw(st.integers(1, 2)),
        packets=draw(st.booleans()),
        root=draw(st.integers(0, topology.endpoints - 1)),
        symmetric=together,
    )
    lot = np.random.default_rng(draw(st.integers(0, 2**32)))
    steps, astray = draw(st.integers(1, 6)), draw(st.sampled_from([0.0, 0.1]))
    return replace(schedule, **random_rows(schedule, lot, steps, astray))


def no_rows(
    topology: Topology, collective: str, ports: str, each: int = 1, **others: Any
) -> Schedule:
    """Return a schedule without rows; ``each`` is the number of units per source or destination."""
    combine = np.empty(0, dtype=bool) if collective in REDUCTIONS else None
    return build_schedule(
        Columns(*(np.empty(0, dtype=np.int32),) * 6, combine),
        topology=topology,
        collective=collective,
        algorithm="by-lot",
        ports=ports,
        units=each
        * topology.endpoints ** powers(collective, symmetric=bool(others.get("symmetric"))),
        **{"packets": False} | others,
    )


def powers(collective: str, *, symmetric: bool) -> int:
    """Return the exponent e for which the number of units is proportional to endpoints^e."""
    halves = {"allgather": "broadcast", "alltoall": "scatter", "reduce-scatter": "reduce"}
    kind = halves.get(collective, collective) if symmetric else collective
    return {"broadcast": 0, "reduce": 0, "allreduce": 0, "alltoall": 2}.get(kind, 1)


def random_rows(
    schedule: Schedule, lot: np.random.Generator, steps: int, astray: float
) -> Mapping[str, Any]:
    """Return the columns of random rows in random order.

    In each step some nodes send. With probability ``astray`` a row may send a unit that its sender
    does not hold, or use a port that is not free.
    """
    plan, topology = plan_of(schedule), schedule.topology
    holds: dict[str, set[int]] = {node: set() for node in plan.world.nodes}
    for unit, source, _ in plan.messages():
        for node in [source] if source else plan.world.endpoints:
            holds[node].add(unit)
    rows: list[tuple[int, ...]] = []
    combine: list[bool] = []
    sums = Sums(plan.world.endpoints, plan.world.endpoints)
    for step in range(1, steps + 1):
        got = []
        now: list[Row] = []
        used: set[object] = set()
        for _ in range(int(lot.integers(0, 2 * topology.nodes))):
            port, wrong = int(lot.choice(topology.ports)), lot.random() < astray
            able = [rank for rank, node in enumerate(plan.world.nodes) if holds[node] or wrong]
            sender = int(lot.choice(able))
            receiver = int(topology.neighbours(port, [sender])[0])
            choice = range(schedule.units) if wrong else sorted(holds[plan.world.nodes[sender]])
            unit = int(lot.choice(choice))
            keys = taken(schedule, sender, port, receiver, unit)
            # If the port has no link, the sender is its own receiver.
            if not wrong and (keys & used or receiver == sender):
                continue
            tree = int(lot.integers(0, 2))
            ends = named(plan.world.nodes, sender), named(plan.world.nodes, receiver)
            row = Row(step, ends[0], port, ends[1], tree, unit, not sums.is_complete(ends[0], unit))
            adds = schedule.combine is not None and not wrong
            if adds and (not sums.may_send(row) or deepcopy(sums).execute([*now, row])):
                continue
            used |= keys
            now.append(row)
            rows.append((step, sender, port, receiver, tree, unit))
            combine.append(bool(row.combine))
            got.append((receiver, unit))
        sums.execute(now)
        for receiver, unit in got:
            holds[plan.world.nodes[receiver]].add(unit)
    order = lot.permutation(len(rows))
    columns = np.array(rows, dtype=np.int32).reshape(-1, 6)[order].T
    values: dict[str, Any] = dict(zip(COLUMNS, columns, strict=True))
    if schedule.combine is not None:
        values["combine"] = np.array(combine, dtype=bool)[order]
    return values


def taken(schedule: Schedule, sender: int, port: int, receiver: int, unit: int) -> set[object]:
    """Return the resources that a row occupies in its step."""
    if schedule.symmetric:
        return {"all"} if schedule.ports == "one" else {port}
    if schedule.ports == "one":
        ends = [("sends", sender), ("receives", receiver)]
        nodes = {end for end in ends if end[1] < schedule.topology.endpoints}
        return nodes | ({(sender, port)} if len(nodes) < 2 else set())
    return {(sender, port, unit)} if schedule.packets else {(sender, port)}


@st.composite
def fault_sets(draw: st.DrawFn, topology: Topology, latest: int, most: int = 3) -> list[Fault]:
    """Draw 1 to ``most`` failures of nodes and links, each from a step in 1..``latest`` on."""
    result: dict[object, Fault] = {}
    for _ in range(draw(st.integers(1, most))):
        rank = draw(st.integers(0, topology.nodes - 1))
        other = draw(st.sampled_from(topology.linked(rank)))
        what = rank if draw(st.booleans()) else (rank, other)
        fault = Fault(what, draw(st.integers(1, latest))).on(topology)
        result[fault.what] = fault
    return list(result.values())
