"""Test data for the query packs: topologies, forests and schedules, loaded over Bolt."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from starcast.collectives import Schedule, schedule
from starcast.collectives.model import Structure
from starcast.stores.graph.artifacts import graph_artifact
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.writer import BoltWriter, refresh_plans
from starcast.topologies import topology
from starcast.trees import Forest, forest, plain_constructions
from support import irregular
from support.fix_servers import empty

SPECS = ("S2", "S3", "S4", "S5", "S6", "S4,2", "S5,3", "Q4", "AG4")
#: Stands for the last endpoint of a topology; from S3 on, it is not a cyclic shift of the identity.
LAST = -1

#: The stored forests: construction and root, by topology. S4 has every construction
#: that needs no arguments.
FORESTS: dict[str, tuple[tuple[str, int], ...]] = {
    "S2": (("greedy", 0), ("multiple", LAST)),
    "S3": (("multiple", 0), ("greedy", LAST), ("shortest-path-graph", LAST)),
    "S4": (
        *((name, 0) for name in plain_constructions("S4")),
        ("greedy", LAST),
        ("multiple", LAST),
        ("perfectly-balanced", LAST),
    ),
    "S5": (
        ("multiple", LAST),
        ("perfectly-balanced", 0),
        ("shortest-path", LAST),
        ("recursive-substar", LAST),
    ),
    "S6": (("multiple", LAST), ("balanced", 0)),
    "S4,2": (("nk-greedy", 0), ("nk-multiple", LAST)),
    "S5,3": (("nk-multiple", LAST),),
    "Q4": (("binomial", LAST), ("binomial", 0), ("edge-disjoint-binomial", 0)),
    "AG4": (("breadth-first", LAST), ("breadth-first", 0)),
}

#: The stored schedules: collective, algorithm, root and arguments, by topology. They cover both
#: port models, copies, one source and all sources, schedules with and without packets, and
#: schedules along stored forests and along other trees.
SCHEDULES: dict[str, tuple[tuple[str, str, int, dict[str, Any]], ...]] = {
    "S2": (("broadcast", "greedy", 0, {"ports": "all", "segments": 2}),),
    "S3": (
        ("broadcast", "multiple", 0, {"ports": "one"}),
        ("allgather", "dimension-change", LAST, {}),
    ),
    "S4": (
        ("broadcast", "greedy", 0, {"ports": "all", "segments": 2}),
        ("broadcast", "multiple", LAST, {"ports": "all", "segments": 2}),
        ("broadcast", "multiple", 0, {"ports": "one"}),
        ("broadcast", "edge-disjoint", 0, {"messages": 3, "copies": 2}),
        ("allgather", "dimension-change", LAST, {}),
        ("allgather", "hamiltonian-cycle", 0, {}),
        ("scatter", "perfectly-balanced", 0, {}),
        ("gather", "balanced", LAST, {"messages": 2}),
        ("alltoall", "exact", 0, {}),
        ("reduce", "greedy", LAST, {"ports": "all", "segments": 2}),
        ("allreduce", "multiple", 0, {"ports": "one"}),
    ),
    "S5": (
        ("broadcast", "recursive-substar", LAST, {"ports": "all", "messages": 3}),
        ("broadcast", "multiple", LAST, {"ports": "all", "segments": 2}),
    ),
    "S6": (("broadcast", "multiple", LAST, {"ports": "all", "segments": 2}),),
    "S4,2": (
        ("broadcast", "nk-multiple", LAST, {"ports": "one", "segments": 2}),
        ("allgather", "nk-multiple", LAST, {}),
    ),
    "S5,3": (("broadcast", "nk-multiple", LAST, {"ports": "all", "segments": 2}),),
    "Q4": (
        ("broadcast", "binomial", LAST, {"ports": "all", "segments": 2}),
        ("broadcast", "edge-disjoint-binomial", 0, {"messages": 2, "copies": 3}),
        ("allreduce", "binomial", 0, {}),
    ),
    "AG4": (
        ("broadcast", "forest", LAST, {"base": "breadth-first", "ports": "all", "segments": 2}),
        ("scatter", "forest", 0, {"base": "breadth-first"}),
    ),
}


# The topologies of support/plugins/irregular.py are stored by tests that load this plug-in.
for _spec in irregular.ALL:
    FORESTS[_spec] = (("breadth-first", 0), ("breadth-first", LAST))
    SCHEDULES[_spec] = (
        ("broadcast", "forest", LAST, {"base": "breadth-first", "segments": 2}),
        ("broadcast", "forest", 0, {"base": "breadth-first", "ports": "one"}),
        ("scatter", "forest", 0, {"base": "breadth-first"}),
        ("reduce", "forest", LAST, {"base": "breadth-first"}),
    )
    if _spec != "Line301":  # the allgather on Line301 would have 90,300 rows
        SCHEDULES[_spec] += (("allgather", "forest", 0, {"base": "breadth-first"}),)


@cache
def forests(spec: str) -> tuple[Forest, ...]:
    """Return the forests that are stored on a topology."""
    return tuple(
        forest(spec, construction, _rank(spec, root)) for construction, root in FORESTS[spec]
    )


@cache
def schedules(spec: str) -> tuple[Schedule, ...]:
    """Return the schedules that are stored on a topology."""
    return tuple(
        schedule(spec, collective, algorithm, root=_rank(spec, root), **arguments)
        for collective, algorithm, root, arguments in SCHEDULES[spec]
    )


def _rank(spec: str, root: int) -> int:
    return root % topology(spec).endpoints


@contextmanager
def loaded(graph: Graph, specs: Sequence[str] = SPECS) -> Iterator[None]:
    """Replace the content of a store by topologies, forests and schedules; empty it afterwards."""
    empty(graph, graph.driver)
    try:
        writer = BoltWriter(graph, 20_000)
        writer.prepare()
        for spec in specs:
            structures: list[Structure] = [topology(spec), *forests(spec), *schedules(spec)]
            for structure in structures:
                write(writer, structure)
        refresh_plans(graph)
        yield
    finally:
        empty(graph, graph.driver)


@contextmanager
def without_indexes(graph: Graph) -> Iterator[None]:
    """Remove all nodes, and starcast's constraints and indexes, which are restored afterwards."""
    empty(graph, graph.driver)
    try:
        for kind in ("CONSTRAINT", "INDEX"):
            for row in graph.read(
                f"SHOW {kind} YIELD name WHERE name STARTS WITH 'starcast_' RETURN name"
            ):
                graph.write(f"DROP {kind} {row['name']}")
        yield
    finally:
        BoltWriter(graph, 20_000).prepare()


def write(writer: BoltWriter, structure: Structure) -> None:
    """Write the rows of an artifact, and the node that describes it."""
    artifact = graph_artifact(structure)
    writer.begin(artifact)
    writer.write(artifact, lambda _: None)
    writer.finish(artifact)
