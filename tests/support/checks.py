"""Helpers that check the content of the stores."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import func, select

from starcast.collectives import Schedule
from starcast.ingest import Plan, Stores, Summary, ingest
from starcast.ingest.artifacts import Artifact
from starcast.ingest.verification import Problem
from starcast.judges.simulator import simulate
from starcast.stores.database import models, repository
from starcast.stores.database.sessions import open_session
from starcast.stores.graph import reader
from starcast.stores.graph.artifacts import Rows, graph_artifact
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import TREE_EDGE
from starcast.topologies import as_topology
from starcast.trees import Forest
from support import readback


def check_nodes(graph: Graph, label: str, properties: Sequence[str]) -> set[tuple[Any, ...]]:
    """Return the nodes with a label, as tuples of the given properties."""
    listed = ", ".join(f"n.{name}" for name in properties)
    return {tuple(row["row"]) for row in graph.read(f"MATCH (n:{label}) RETURN [{listed}] AS row")}


def counts(graph: Graph) -> tuple[int, int]:
    """Return the numbers of nodes and relationships in the graph."""
    nodes = graph.read("MATCH (n) RETURN count(n) AS n")[0]["n"]
    return nodes, graph.read("MATCH ()-[r]->() RETURN count(r) AS n")[0]["n"]


def same_rows(one: Rows, other: Rows) -> bool:
    """Return whether two objects describe the same relationships in the same order."""
    names = [(rows.relationship, rows.artifact_id) for rows in (one, other)]
    return names[0] == names[1] and np.array_equal(one.table, other.table)


def states(stores: Stores) -> dict[str, str]:
    """Return the state that PostgreSQL records for each artifact, by id."""
    with open_session(stores.engine) as session:
        return {row.id: row.state for row in session.scalars(select(models.Materialization))}


def stored_counts(stores: Stores) -> dict[str, int]:
    """Return the numbers of rows in the PostgreSQL tables of artifacts."""
    tables = (models.Topology, models.Forest, models.Tree, models.Schedule, models.Materialization)
    with open_session(stores.engine) as session:
        return {
            table.__tablename__: session.scalar(select(func.count()).select_from(table)) or 0
            for table in tables
        }


def graph_states(stores: Stores) -> dict[tuple[str, str], Any]:
    """Return the state of each artifact in Neo4j, by kind and id."""
    nodes = reader.read_artifact_nodes(stores.graph)
    return {name: of_name[0].properties.get("state") for name, of_name in nodes.items()}


def only_verified_is_complete(stores: Stores) -> None:
    """Check that artifacts marked complete in either store have the recorded content in Neo4j."""
    in_graph = graph_states(stores)
    with open_session(stores.engine) as session:
        recorded = {
            (row.kind, row.id): row for row in session.scalars(select(models.Materialization))
        }
    complete = {name for name, state in in_graph.items() if state == "complete"}
    assert complete >= {name for name, row in recorded.items() if row.state == "complete"}
    for kind, artifact_id in complete:
        row = recorded[kind, artifact_id]
        topology = as_topology(artifact_id.partition(":")[0])
        content = reader.read_content(stores.graph, kind, artifact_id, topology)
        assert content.nodes == row.expected_nodes
        assert content.relationships == row.expected_relationships
        assert content.checksum == row.expected_checksum


def assert_stored(stores: Stores, stored_plan: Plan) -> None:
    """Check that both stores hold exactly the planned artifacts, with correct content."""
    artifacts = stored_plan.artifacts
    complete = dict.fromkeys((artifact.id for artifact in artifacts), "complete")
    assert states(stores) == complete
    assert {name: state for (_, name), state in graph_states(stores).items()} == complete
    structures = [artifact.structure() for artifact in artifacts]
    sketches = [graph_artifact(structure) for structure in structures]
    owned = sum(sketch.parent is not None for sketch in sketches)
    nodes = sum(artifact.nodes for artifact in artifacts) + len(artifacts) + 1
    relationships = sum(artifact.relationships for artifact in artifacts) + owned
    assert counts(stores.graph) == (nodes, relationships)
    nodes_of = reader.read_artifact_nodes(stores.graph)
    for artifact, structure, expected in zip(artifacts, structures, sketches, strict=True):
        found = nodes_of[artifact.kind, artifact.id]
        assert reader.find_node_differences(expected, found) == []
        if isinstance(structure, Forest):
            _forest_stored(stores, artifact, structure)
        elif isinstance(structure, Schedule):
            _schedule_stored(stores, artifact, structure)
        else:
            topology = artifact.topology
            assert readback.read_labels(stores.graph, topology) == topology.labels().tolist()
            assert same_rows(readback.read_links(stores.graph, topology), expected.rows)


def _forest_stored(stores: Stores, artifact: Artifact, forest: Forest) -> None:
    rows_found = readback.read_rows(stores.graph, TREE_EDGE, artifact.id, artifact.topology)
    assert same_rows(rows_found, graph_artifact(forest).rows)
    with open_session(stores.engine) as session:
        kept = repository.load_forest(session, artifact.id)
        figures = session.execute(
            select(models.Tree.height, models.Tree.leaves, models.Tree.size)
            .where(models.Tree.forest == artifact.id)
            .order_by(models.Tree.number)
        ).all()
    for actual in (kept, readback.read_forest(stores.graph, artifact.id)):
        assert np.array_equal(actual.parent_port, forest.parent_port)
        for name in ("id", "topology", "root", "construction", "spanning"):
            assert getattr(actual, name) == getattr(forest, name)
        assert dict(actual.arguments) == dict(forest.arguments)
    columns = (forest.heights.tolist(), forest.leaves.tolist(), forest.sizes.tolist())
    assert [tuple(row) for row in figures] == list(zip(*columns, strict=True))


def _schedule_stored(stores: Stores, artifact: Artifact, fresh: Schedule) -> None:
    actual = readback.read_schedule(stores.graph, artifact.id)
    actual = dataclasses.replace(actual, forest=fresh.forest)
    columns = fresh.columns.present()
    for name in columns:
        ours, theirs = (
            np.lexsort((one.unit, one.tree, one.port, one.sender, one.step))
            for one in (actual, fresh)
        )
        assert np.array_equal(getattr(actual, name)[ours], getattr(fresh, name)[theirs])
    plain = {field.name for field in dataclasses.fields(fresh)} - columns.keys()
    for name in plain - {"topology", "forest", "arguments"}:
        assert getattr(actual, name) == getattr(fresh, name)
    assert (actual.id, dict(actual.arguments)) == (artifact.id, dict(fresh.arguments))
    with open_session(stores.engine) as session:
        row = session.get_one(models.Schedule, artifact.id)
        sources = artifact.topology.nodes if fresh.symmetric else 1
        assert row.transmissions == len(fresh) * sources
        assert (row.steps, row.forest) == (fresh.steps, fresh.forest_id)
        profile = repository.load_schedule_profile(session, artifact.id)
        stored = [(row.step, row.links_used, row.packets, row.largest_packet) for row in profile]
    result = simulate(actual)
    assert result.complete
    # Without copies, every link that is used in a step carries a single packet.
    pairs = zip(result.links_used.tolist(), result.packet_sizes.tolist(), strict=True)
    assert stored == [(step, used, used, size) for step, (used, size) in enumerate(pairs, 1)]


def finish_interrupted(
    stores: Stores, stored_plan: Plan, kind: str, stage: str, state: str | None = None
) -> Summary:
    """Check the stores after an interrupted ingest, repeat the ingest, and return its summary.

    Args:
        stores: both stores.
        stored_plan: the ingested plan, with one artifact of each kind.
        kind: the kind of the artifact at which the ingest was interrupted.
        stage: the last completed stage of this artifact.
        state: the state of this artifact if it is incomplete (default: the state after kill -9).
    """
    ids = [artifact.id for artifact in stored_plan.artifacts]
    place = models.KINDS.index(kind)
    done = place + (stage == "complete")
    left = states(stores)
    assert [name for name in ids if left.get(name) == "complete"] == ids[:done]
    if stage != "complete":
        killed = "planned" if stage in {"planned", "built"} else "loading"
        assert left[ids[place]] == (state or killed)
    # At the stage "finished" Neo4j, but not yet PostgreSQL, marks the artifact complete.
    if stage != "finished":
        only_verified_is_complete(stores)
    summary = ingest(stores, stored_plan)
    assert summary.present == ids[:done]
    assert_stored(stores, stored_plan)
    return summary


def described(problems: Sequence[Problem]) -> list[str]:
    """Return each verification problem as a text with its artifact and description."""
    return [f"{problem.artifact}: {problem.problem}" for problem in problems]
