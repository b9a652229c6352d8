"""Helpers that compare forests and schedules of starcast with those of the oracles."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import pytest

from oracles import hypercube, nk_star, rooted_trees, star_graph
from oracles.schedule_rows import Row
from starcast.collectives import Schedule, schedule
from starcast.judges.simulator import Simulation, simulate
from starcast.support.errors import StarcastError
from starcast.topologies import Topology
from starcast.trees import Forest


@contextmanager
def refused(*words: str, exit_code: int = 2) -> Iterator[pytest.ExceptionInfo[StarcastError]]:
    """Expect a `StarcastError` with a hint, the given exit code and words in its message."""
    with pytest.raises(StarcastError) as refusal:
        yield refusal
    assert refusal.value.exit_code == exit_code
    assert refusal.value.hint
    for word in words:
        assert word in refusal.value.message


def roots(n: int) -> list[star_graph.Node]:
    """Return all cyclic shifts of the identity of S_n, and two other nodes."""
    every = star_graph.nodes(n)
    return list(dict.fromkeys([*star_graph.cyclic_roots(n), every[-1], every[len(every) // 3]]))


def tree_of(row: Iterable[int], n: int) -> rooted_trees.Tree:
    """Convert an array of parent ports, which need not form a tree, to a dictionary of parents."""
    return {
        x: star_graph.swap(x, int(port))
        for x, port in zip(star_graph.nodes(n), row, strict=True)
        if port
    }


def trees_of(trees: Forest) -> list[rooted_trees.Tree]:
    """Return the trees of a forest as dictionaries of parents."""
    return [tree_of(row.tolist(), trees.topology.n) for row in trees.parent_port]


#: Broadcast algorithms, each with the name of the argument that splits its message.
BROADCASTS = {"greedy": "segments", "multiple": "segments", "recursive-substar": "messages"}


@cache
def broadcast(
    n: int, algorithm: str, ports: str, share: int, root: star_graph.Node | None = None
) -> Schedule:
    """Return the schedule that starcast builds for a broadcast on S_n."""
    label = star_graph.label(root or star_graph.identity(n))
    return schedule(
        f"S{n}",
        "broadcast",
        algorithm,
        ports=ports,
        root=label,
        **{BROADCASTS[algorithm]: share},
    )


def places(topology: Topology) -> Sequence[Any]:
    """Return the nodes of a topology in rank order, in the notation of the oracles."""
    if topology.family == "hypercube":
        return hypercube.nodes(topology.n)
    return nk_star.nodes(topology.n, topology.k or topology.n)


def plain_rows(schedule: Schedule) -> list[Row]:
    """Return the rows of a schedule, with nodes instead of ranks."""
    every = places(schedule.topology)
    columns = schedule.columns.present().values()
    return [
        Row(step, every[sender], port, every[receiver], *others)
        for step, sender, port, receiver, *others in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def assert_complete(plan: Schedule) -> Simulation:
    """Assert that the simulator accepts a schedule and that all units are delivered."""
    run = simulate(plan)
    assert run.violation is None
    assert run.complete
    return run
