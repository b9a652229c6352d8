"""What the tests of the packs ask about: topologies, forests and broadcasts, written by the store's own way in."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache

from starcast.collectives import Schedule, schedule
from starcast.graph.connection import Graph
from starcast.graph.owners import Owner, forest_owner, schedule_owner, topology_owner
from starcast.graph.rows import Rows, link_rows, send_rows, tree_rows
from starcast.graph.writer import Bolt
from starcast.progress import Silent
from starcast.topologies import Topology, topology
from starcast.trees import Forest, forest, plain_constructions

SPECS = ("S2", "S3", "S4", "S5", "S6")


@cache
def forests(spec: str) -> tuple[Forest, ...]:
    """On stars, one root is the identity, the other neither that nor a cyclic shift of it; elsewhere every construction."""
    if topology(spec).family != "star":
        return tuple(forest(spec, construction) for construction in plain_constructions(spec))
    last = topology(spec).nodes - 1
    wanted = (("greedy", 0), ("multiple", 0), ("multiple", last), ("recursive-substar", last))
    return tuple(forest(spec, construction, root) for construction, root in wanted)


@cache
def schedules(spec: str) -> tuple[Schedule, ...]:
    """Broadcasts along those forests, under both port models, and other collectives along trees of their own; on stars."""
    if topology(spec).family != "star":
        return ()
    last = topology(spec).nodes - 1
    return (
        schedule(spec, "broadcast", "greedy", ports="all", segments=2),
        schedule(spec, "broadcast", "multiple", ports="all", segments=2, root=last),
        schedule(spec, "broadcast", "multiple", ports="one"),
        schedule(spec, "broadcast", "recursive-substar", ports="all", messages=3, root=last),
        schedule(spec, "allgather", "dimension-change", root=last),
        schedule(spec, "gather", "balanced", messages=2),
        schedule(spec, "alltoall", "exact"),
    )


@contextmanager
def loaded(graph: Graph, specs: Sequence[str] = SPECS) -> Iterator[None]:
    """The store holds these topologies with their forests and broadcasts, and nothing else; nothing at all afterwards."""
    _empty(graph)
    try:
        _fill(graph, specs)
        yield
    finally:
        _empty(graph)


@contextmanager
def without_indexes(graph: Graph) -> Iterator[None]:
    """The store is as before its first ingest: no node, and none of our constraints and indexes; they are back afterwards."""
    _empty(graph)
    try:
        for kind in ("CONSTRAINT", "INDEX"):
            for row in graph.read(f"SHOW {kind} YIELD name WHERE name STARTS WITH 'starcast_' RETURN name"):
                graph.write(f"DROP {kind} {row['name']}")
        yield
    finally:
        Bolt(graph, 20_000).prepare()


def _empty(graph: Graph) -> None:
    with graph.driver.session(database=graph.database) as session:
        session.run("MATCH (n) CALL (n) { DETACH DELETE n } IN TRANSACTIONS OF 500 ROWS").consume()


def _fill(graph: Graph, specs: Sequence[str]) -> None:
    way = Bolt(graph, 20_000)
    way.prepare()
    for spec in specs:
        _load_topology(way, topology(spec))
        for grown in forests(spec):
            _load(way, forest_owner(grown), tree_rows(grown))
        for planned in schedules(spec):
            _load(way, schedule_owner(planned), send_rows(planned))


def _load_topology(way: Bolt, place: Topology) -> None:
    owner = topology_owner(place)
    way.begin(owner)
    with Silent().task("", place.nodes) as task:
        way.nodes(place, task)
        way.relationships(link_rows(place), task)
    way.finish(owner)


def _load(way: Bolt, owner: Owner, rows: Rows) -> None:
    way.begin(owner)
    with Silent().task("", len(rows)) as task:
        way.relationships(rows, task)
    way.finish(owner)
