"""One-line checks of what the stores hold, for tests."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import func, select

from starcast.database import models, repository
from starcast.database.sessions import session
from starcast.graph import artifact_nodes, reader, rows
from starcast.graph.connection import Graph
from starcast.graph.rows import Rows
from starcast.graph.schema import TREE_EDGE
from starcast.ingest import Plan, Stores
from starcast.ingest.artifacts import ForestThing, ScheduleThing, Thing


def check_nodes(graph: Graph, label: str, properties: Sequence[str]) -> set[tuple[Any, ...]]:
    """The nodes of a label as tuples of these properties."""
    listed = ", ".join(f"n.{name}" for name in properties)
    return {tuple(row["row"]) for row in graph.read(f"MATCH (n:{label}) RETURN [{listed}] AS row")}


def check_relationships(
    graph: Graph, kind: str, ends: str, properties: Sequence[str]
) -> list[tuple[Any, ...]]:
    """The relationships of a type, sorted, as tuples of a property of both ends and their own properties."""
    listed = ", ".join([f"a.{ends}", f"b.{ends}", *(f"r.{name}" for name in properties)])
    return sorted(
        tuple(row["row"])
        for row in graph.read(f"MATCH (a)-[r:{kind}]->(b) RETURN [{listed}] AS row")
    )


def counts(graph: Graph) -> tuple[int, int]:
    """Nodes and relationships in the whole graph."""
    nodes = graph.read("MATCH (n) RETURN count(n) AS n")[0]["n"]
    return nodes, graph.read("MATCH ()-[r]->() RETURN count(r) AS n")[0]["n"]


def same_rows(one: Rows, other: Rows) -> bool:
    """Whether two have the same relationships."""
    pairs = zip(
        (one.start, one.end, *one.columns.values()),
        (other.start, other.end, *other.columns.values()),
        strict=True,
    )
    return (one.kind, one.owner) == (other.kind, other.owner) and all(
        np.array_equal(a, b) for a, b in pairs
    )


def states(stores: Stores) -> dict[str, str]:
    """The state of everything that is known, by name."""
    with session(stores.engine) as opened:
        return {row.id: row.state for row in opened.scalars(select(models.Materialization))}


def stored_counts(stores: Stores) -> dict[str, int]:
    """Rows of the relational tables that ingestion fills."""
    tables = (models.Topology, models.Forest, models.Tree, models.Schedule, models.Materialization)
    with session(stores.engine) as opened:
        return {
            table.__tablename__: opened.scalar(select(func.count()).select_from(table)) or 0
            for table in tables
        }


def nothing_unproved_is_complete(stores: Stores) -> None:
    """Whatever one of the stores calls complete is whole there."""
    in_graph = {key: row["state"] for key, row in reader.states(stores.graph).items()}
    with session(stores.engine) as opened:
        expected = {
            (row.kind, row.id): (
                row.state,
                row.expected_nodes,
                row.expected_relationships,
                row.expected_checksum,
            )
            for row in opened.scalars(select(models.Materialization))
        }
    for (kind, key), state in in_graph.items():
        if state == "complete" or expected.get((kind, key), ("",))[0] == "complete":
            assert state == "complete"
            found = reader.content(stores.graph, kind, key, rows_topology(key))
            assert (found.nodes, found.relationships, found.checksum) == expected[kind, key][1:]
    for thing, (state, *_) in expected.items():
        assert state != "complete" or in_graph.get(thing) == "complete"


def rows_topology(key: str) -> Any:
    """The topology of a thing."""
    from starcast.topologies import topology

    return topology(key.partition(":")[0])


def assert_stored(stores: Stores, what: Plan) -> None:
    """Both stores hold exactly what the plan names: every array equals the one that is built afresh, all is complete."""
    assert states(stores) == {thing.key: "complete" for thing in what.things}
    assert {key for _, key in reader.states(stores.graph)} == {thing.key for thing in what.things}
    assert {row["state"] for row in reader.states(stores.graph).values()} == {"complete"}
    owned = sum(_hangs(thing) for thing in what.things)
    nodes = sum(thing.nodes for thing in what.things) + len(what.things) + 1
    assert counts(stores.graph) == (
        nodes,
        sum(thing.relationships for thing in what.things) + owned,
    )
    topology = what.things[0].topology
    assert reader.read_labels(stores.graph, topology) == topology.labels().tolist()
    assert same_rows(reader.read_links(stores.graph, topology), rows.link_rows(topology))
    assert reader.differences(stores.graph, artifact_nodes.topology_owner(topology)) == []
    for thing in what.things:
        if isinstance(thing, ForestThing):
            _forest_stored(stores, thing)
        if isinstance(thing, ScheduleThing):
            _schedule_stored(stores, thing)


def _hangs(thing: Thing) -> bool:
    """Whether a relationship leads from its node: a forest is on a topology, a schedule may use a forest."""
    if not isinstance(thing, ScheduleThing):
        return thing.kind == "forest"
    return thing.rule.forest_construction(thing.topology, thing.ports, thing.arguments) is not None


def _forest_stored(stores: Stores, thing: ForestThing) -> None:
    found = reader.read_forest(stores.graph, thing.key)
    assert np.array_equal(found.parent_port, thing.forest.parent_port)
    assert found.id == thing.key
    rows_found = reader.read_rows(stores.graph, TREE_EDGE, thing.key, thing.topology)
    assert same_rows(rows_found, rows.tree_rows(thing.forest))
    with session(stores.engine) as opened:
        kept = repository.load_forest(opened, thing.key)
        figures = opened.execute(
            select(models.Tree.height, models.Tree.leaves, models.Tree.size)
            .where(models.Tree.forest == thing.key)
            .order_by(models.Tree.number)
        ).all()
    assert np.array_equal(kept.parent_port, thing.forest.parent_port)
    fresh = zip(
        thing.forest.heights.tolist(),
        thing.forest.leaves.tolist(),
        thing.forest.sizes.tolist(),
        strict=True,
    )
    assert [tuple(row) for row in figures] == list(fresh)


def _schedule_stored(stores: Stores, thing: ScheduleThing) -> None:
    from starcast.collectives import schedule

    fresh = schedule(
        thing.topology,
        thing.rule.collective,
        thing.rule.name,
        thing.ports,
        thing.root,
        **thing.arguments,
    )
    found = reader.read_schedule(stores.graph, thing.key)
    for name in ("step", "sender", "port", "receiver", "tree", "unit"):
        ours, theirs = (
            np.lexsort((one.unit, one.tree, one.port, one.sender, one.step))
            for one in (found, fresh)
        )
        assert np.array_equal(getattr(found, name)[ours], getattr(fresh, name)[theirs])
    plain = {field.name for field in dataclasses.fields(fresh)} - {
        "topology",
        "forest",
        "arguments",
    }
    for name in plain - {"step", "sender", "port", "receiver", "tree", "unit"}:
        assert getattr(found, name) == getattr(fresh, name)
    assert (found.id, dict(found.arguments)) == (thing.key, dict(thing.arguments))
    with session(stores.engine) as opened:
        row = opened.get_one(models.Schedule, thing.key)
        sources = thing.topology.nodes if fresh.symmetric else 1
        assert (row.transmissions, row.steps, row.forest) == (
            len(fresh) * sources,
            fresh.steps,
            fresh.along,
        )
