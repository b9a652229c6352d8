"""Sheu, Liaw & Chen 1993, section 2 after Theorem 4: lower bounds for broadcasts."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.claims.check import ClaimCheck
from starcast.claims.formulas import diameter
from starcast.claims.growth import divided, factorial, log2, rounded_up
from starcast.claims.papers.sheu_liaw_chen.broadcast import schedule_bytes
from starcast.claims.reference import bfs
from starcast.claims.registry import check
from starcast.collectives.catalogue import algorithms_on
from starcast.collectives.model import Schedule

SEGMENTS = (1, 2)


def catalogue_broadcasts(check: ClaimCheck, ports: str) -> Iterator[Schedule]:
    """Yield every broadcast of the catalogue that segments its message, for a port model."""
    for algorithm in algorithms_on(check.topology, "broadcast"):
        if ports not in algorithm.ports or algorithm.split_argument is None:
            continue
        has_copies = any(argument.name == "copies" for argument in algorithm.arguments)
        copies = (1, check.degree) if has_copies else (0,)
        create = partial(check.schedule, "broadcast", algorithm.name, ports)
        for segments in SEGMENTS:
            for count in copies:
                arguments: dict[str, Any] = {algorithm.split_argument: segments}
                if count:
                    arguments["copies"] = count
                yield create(**arguments)


def arrival_steps(schedule: Schedule) -> NDArray[np.int64]:
    """Return the step in which every node first receives a unit.

    Returns:
        int64 ``[nodes]``: 0 for the source, ``steps + 1`` for a node that receives nothing.
    """
    arrivals = np.full(schedule.topology.nodes, schedule.steps + 1, dtype=np.int64)
    np.minimum.at(arrivals, schedule.receiver, schedule.step.astype(np.int64))
    arrivals[schedule.root] = 0
    return arrivals


@check("SLC.LB-oneport", bytes_per_node=schedule_bytes)
def one_port_bound(check: ClaimCheck) -> None:
    """Check that a one-port step at most doubles the nodes that have received something."""
    nodes = factorial(check.n)
    for schedule in catalogue_broadcasts(check, "one"):
        simulation = check.execute(schedule)
        reached = np.cumsum(np.bincount(arrival_steps(schedule))[: schedule.steps + 1])
        measured = reached[1:]
        stated = 2 * reached[:-1]
        check.at_most(
            "nodes that have anything", measured, stated, step=lambda index: index + 1, of=schedule
        )
        check.at_least("steps", simulation.steps, (nodes - 1).bit_length(), of=schedule)
    what = "n log2 n / ceil(log2 n!)"
    check.order(what, lambda n: divided(n * log2(n), rounded_up(log2(factorial(n)))))


@check("SLC.LB-allport", bytes_per_node=schedule_bytes)
def all_port_bound(check: ClaimCheck) -> None:
    """Check that no node receives anything before the step of its distance from the source."""
    bound = diameter(check.n)
    check.equal("greatest distance", bfs.diameter(check), bound)
    for schedule in catalogue_broadcasts(check, "all"):
        simulation = check.execute(schedule)
        distances = bfs.distances(check, schedule.root)
        measured = arrival_steps(schedule)
        check.at_least(
            "step in which a node is reached", measured, distances, node=check.label, of=schedule
        )
        check.at_least("steps", simulation.steps, bound, of=schedule)
    check.order("n / D_n", lambda n: divided(n, diameter(n)))
