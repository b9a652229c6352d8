"""Allgather schedules of starcast, as hops for one source and for all sources."""

from functools import cache
from typing import Any

from oracles import nk_star, star_graph
from oracles.schedule_rows import Row, for_all
from starcast.collectives import Schedule
from starcast.collectives import schedule as build
from support.meeting import places, plain_rows


@cache
def allgather(
    spec: str, algorithm: str, ports: str | None = None, root: int | str = 0, **arguments: int | str
) -> Schedule:
    """Return the allgather schedule that starcast builds."""
    return build(spec, "allgather", algorithm, ports=ports, root=root, **arguments)


def hops_of(schedule: Schedule) -> list[Row]:
    """Return the rows of a schedule, with nodes instead of ranks.

    Units are numbers, or pairs (source, unit) if the schedule is expanded.
    """
    rows = plain_rows(schedule)
    if schedule.collective != "allgather" or schedule.symmetric:
        return rows
    every = places(schedule.topology)
    of_a_source = schedule.units // len(every)
    result = []
    for row in rows:
        source, number = divmod(row.unit, of_a_source)
        result.append(row._replace(unit=(every[source], number)))
    return result


def relabelled(n: int) -> Any:
    """Return the function that relabels a node by a source.

    Symbols missing in the source's label are appended in ascending order.
    """
    return lambda q, x: star_graph.compose(nk_star.extension(q, n), x)


def all_sources(schedule: Schedule) -> list[Row]:
    """Return the hops for all sources of S_n, by translating those of one source."""
    n, every = schedule.topology.n, places(schedule.topology)
    home = star_graph.inverse(every[schedule.root])
    at_identity = [
        hop._replace(
            sender=star_graph.compose(home, hop.sender),
            receiver=star_graph.compose(home, hop.receiver),
        )
        for hop in hops_of(schedule)
    ]
    return for_all(at_identity, every, relabelled(n))
