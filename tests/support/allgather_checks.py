"""Allgathers of the catalogue as hops of the pages, and their execution for all sources."""

from collections import Counter
from functools import cache
from typing import Any

from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from starcast.simulator import simulate
from support import oracles, oracles_nk
from support.oracles_allgather import Execution, Hop, execute, for_all


@cache
def allgather(
    spec: str, algorithm: str, ports: str | None = None, root: int | str = 0, **arguments: int | str
) -> Schedule:
    """Return starcast's schedule."""
    return build(spec, "allgather", algorithm, ports=ports, root=root, **arguments)


def places(schedule: Schedule) -> tuple[Any, ...]:
    """The nodes of its topology in rank order."""
    topology = schedule.topology
    if topology.family == "hypercube":
        return tuple(f"{rank:0{topology.n}b}" for rank in range(topology.nodes))
    return (
        oracles.nodes(topology.n)
        if topology.k is None
        else oracles_nk.nodes(topology.n, topology.k)
    )


def hops_of(schedule: Schedule) -> list[Hop]:
    """Return the rows with nodes instead of ranks.

    Units are numbers, or pairs (source, unit) if the schedule is expanded.
    """
    every = places(schedule)
    out = schedule.collective == "allgather" and not schedule.symmetric
    of_a_source = schedule.units // len(every) if out else 1

    def unit_of(unit: int) -> Any:
        source, number = divmod(unit, of_a_source)
        return (every[source], number) if out else unit

    columns = (
        schedule.step,
        schedule.sender,
        schedule.port,
        schedule.receiver,
        schedule.tree,
        schedule.unit,
    )
    return [
        Hop(step, every[sender], port, every[receiver], tree, unit_of(unit))
        for step, sender, port, receiver, tree, unit in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def relabelled(n: int) -> Any:
    """The relabelling of a node by a source, symbols missing from the source's label ascending."""
    return lambda q, x: oracles_nk.relabel(oracles_nk.extension(q, n), x)


def all_sources(schedule: Schedule) -> list[Hop]:
    """Return the hops of all sources of S_n: the given source's hops, translated as on the page."""
    n, every = schedule.topology.n, places(schedule)
    home = oracles.inverse(every[schedule.root])
    at_identity = [
        hop._replace(
            sender=oracles.compose(home, hop.sender),  # type: ignore[arg-type]
            receiver=oracles.compose(home, hop.receiver),  # type: ignore[arg-type]
        )
        for hop in hops_of(schedule)
    ]
    return for_all(at_identity, every, relabelled(n))


def assert_complete(schedule: Schedule, hops: list[Hop]) -> Execution:
    """Execute all sources together; assert that no rule is violated and every unit is delivered.

    starcast's simulator must report the same for the symmetric and for the expanded schedule.
    """
    n, every = schedule.topology.n, places(schedule)
    units = schedule.units if schedule.symmetric else schedule.units // len(every)
    own: dict[Any, set[Any]] = {q: {(q, unit) for unit in range(units)} for q in every}
    done = execute(
        hops,
        own,
        lambda x, port: (
            oracles_nk.across(x, port, n)  # type: ignore[arg-type]
            if schedule.topology.k
            else oracles.swap(x, port)  # type: ignore[arg-type]
        ),
        one_port=schedule.ports == "one",
        packets=schedule.packets,
    )
    assert done.broken is None
    everything = set[Any]().union(*own.values())
    assert all(held == everything for held in done.holds.values())
    for judged in (schedule, schedule.expand()):
        assert_simulator_agrees(judged, done)
    return done


def assert_simulator_agrees(schedule: Schedule, done: Execution) -> None:
    """Assert that the simulator accepts the schedule and counts the same."""
    run = simulate(schedule)
    assert run.violation is None
    assert (run.complete, run.missing) == (True, 0)
    assert run.steps == max(done.loads)
    assert run.transmissions == sum(sum(load.values()) for load in done.loads.values())
    crossed = [done.loads.get(step, Counter()) for step in range(1, run.steps + 1)]
    assert run.links_used.tolist() == [len(load) for load in crossed]
    assert run.packet_sizes.tolist() == [max(load.values(), default=0) for load in crossed]
    assert run.largest_packet == max(run.packet_sizes)
