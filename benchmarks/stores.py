"""Measure the speed of writing rows to Neo4j over Bolt, and to PostgreSQL by COPY."""

from collections.abc import Iterator
from time import perf_counter

import numpy as np
from sqlalchemy import Column, Engine, Integer, MetaData, SmallInteger, Table, insert
from sqlalchemy.orm import Session

from benchmarks.measure import Figure, elapsed, embedded_stack
from starcast import forest, topology
from starcast.embedded.endpoints import graph_address, migration_url
from starcast.ingest import drop, ingest, open_stores, parse_request
from starcast.ingest.planning import Estimate
from starcast.stores.database.sessions import connect, copy_rows
from starcast.stores.graph import artifacts
from starcast.stores.graph.artifacts import graph_artifact
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import LINK
from starcast.stores.graph.writer import BoltWriter, delete_artifact
from starcast.support.settings import Settings
from starcast.topologies import Topology

COUNT = 1_000_000
#: Seconds of writing before the measurement, because a newly started server is slow at first.
WARM_UP = 40.0


def _ignore(_: int) -> None:
    pass


def figures() -> Iterator[Figure]:
    """Compare the speed of batches over Bolt with single MERGE statements, and COPY with INSERT."""
    with embedded_stack() as settings:
        yield _first_ingest(settings)
        with Graph.open(graph_address(settings)) as graph:
            yield from _bolt(graph, settings.batch)
        engine = connect(migration_url(settings))
        yield from _copy(engine)
        engine.dispose()


def _first_ingest(settings: Settings) -> Figure:
    """Compare the time of the first ingest after the server start with the estimated time."""
    wanted = parse_request("S7", "multiple")
    with open_stores(settings) as stores:
        duration = elapsed(lambda: ingest(stores, wanted), repeats=1)
        drop(stores, "topology", "S7", cascade=True)
        stores.graph.write("MATCH (s:Store) DELETE s")
    estimate = Estimate.of(wanted.artifacts)
    name = "first ingest after a start, S7 with trees"
    return Figure(name, duration, "s", "< 10", "the estimate", estimate.cold_seconds)


def _bolt(graph: Graph, batch: int) -> Iterator[Figure]:
    writer = BoltWriter(graph, batch)
    writer.prepare()
    s7, s8 = topology("S7"), topology("S8")
    links, trees = graph_artifact(s7).rows, graph_artifact(forest(s7, "multiple")).rows
    _nodes(writer, s7)
    merging = _merge_rate(graph, s7, 1_000)
    begin = perf_counter()
    while perf_counter() - begin < WARM_UP:
        writer.write_relationships(links, _ignore)
        writer.write_relationships(trees, _ignore)
        # Replace the nodes before each round, because nodes with many relationships slow down
        # writing.
        delete_artifact(graph, "topology", "S7", s7, batch, _ignore)
        _nodes(writer, s7)
    yield _figure("S7 links", _rate(writer, links), merging)
    yield _figure("S7 tree edges", _rate(writer, trees), merging)
    _nodes(writer, s8)
    yield _figure("S8 links", _rate(writer, graph_artifact(s8).rows), merging)


def _figure(what: str, rate: float, merging: float) -> Figure:
    return Figure(f"Bolt, {what}", rate, "relationships/s", "> 40 000", "MERGE one by one", merging)


def _nodes(writer: BoltWriter, topology: Topology) -> None:
    writer.begin(graph_artifact(topology))
    writer.write_nodes(topology, _ignore)


def _rate(writer: BoltWriter, links: artifacts.Rows) -> float:
    """Return the relationships written per second, in the better of two rounds."""
    return len(links) / elapsed(lambda: writer.write_relationships(links, _ignore), repeats=2)


def _merge_rate(graph: Graph, topology: Topology, count: int) -> float:
    """Return the relationships written per second, by one MERGE statement per relationship."""
    ends = zip(range(count), topology.neighbours(2)[:count].tolist(), strict=True)
    statement = (
        "MATCH (a:Node {topology: $t, rank: $a}) MATCH (b:Node {topology: $t, rank: $b}) "
        f"MERGE (a)-[:{LINK.name}]->(b)"
    )
    with (
        graph.driver.session(database=graph.database) as session,
        session.begin_transaction() as transaction,
    ):
        begin = perf_counter()
        for a, b in ends:
            transaction.run(statement, {"t": topology.spec, "a": a, "b": b})
        transaction.rollback()
        return count / (perf_counter() - begin)


def _copy(engine: Engine) -> Iterator[Figure]:
    table = Table(
        "bench", MetaData(), Column("a", Integer), Column("b", Integer), Column("c", SmallInteger)
    )
    values = np.arange(COUNT, dtype=np.int32)
    lists = [values.tolist(), values[::-1].tolist(), (values % 1000).tolist()]
    table.create(engine)

    def copying() -> None:
        with Session(engine) as session:
            copy_rows(session, table, ("a", "b", "c"), zip(*lists, strict=True))
            session.rollback()

    def inserting() -> None:
        some = [{"a": index, "b": index, "c": 1} for index in range(COUNT // 50)]
        with Session(engine) as session:
            session.execute(insert(table), some)
            session.rollback()

    rate = COUNT / elapsed(copying)
    yield Figure(
        "COPY of narrow rows",
        rate,
        "rows/s",
        "> 1 000 000",
        "INSERT of lists",
        COUNT / 50 / elapsed(inserting, repeats=2),
    )
    table.drop(engine)
