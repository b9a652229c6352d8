"""Allgather schedules built by starcast, as rows of one source or of all sources."""

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
    """Return the allgather schedule that starcast builds for these arguments."""
    return build(spec, "allgather", algorithm, ports=ports, root=root, **arguments)


def hops_of(schedule: Schedule) -> list[Row]:
    """Return the rows of a schedule, with nodes instead of ranks.

    Units are numbers, or pairs (source, unit) if the schedule is expanded to all sources.
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
    """Return the function (q, x) that relabels a node x by the symbols of a source q.

    Symbols that the label of q lacks are appended in ascending order.
    """
    return lambda q, x: star_graph.compose(nk_star.extension(q, n), x)


def all_sources(schedule: Schedule) -> list[Row]:
    """Return the rows of all sources, by translating those of one source."""
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
