"""Allgathers of the catalogue as hops of the pages, of one source and of all."""

from functools import cache
from typing import Any

from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from support import oracles, oracles_nk
from support.oracles_allgather import Hop, for_all


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
