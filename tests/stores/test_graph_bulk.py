"""A real offline import: files are exported, imported by Neo4j's own tool, and adopted."""

import os
import shlex
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from starcast.database.sessions import session
from starcast.embedded.home import Home
from starcast.embedded.neo4j import JAVA_OPTIONS, Neo4j
from starcast.embedded.processes import LOOPBACK
from starcast.embedded.stack import Startup, stop
from starcast.graph import reader, rows
from starcast.graph.address import GraphAddress
from starcast.graph.connection import Graph
from starcast.graph.schema import NODE
from starcast.ingest import Plan, Stores
from starcast.ingest.export_files import Export, export
from starcast.ingest.loading import build_and_save
from starcast.ingest.offline import adopt
from starcast.ingest.stores import LoadState, set_state
from starcast.progress import Silent
from starcast.settings import Settings
from starcast.topologies import topology
from support.checks import assert_stored, same_rows
from support.plans import plan

#: Every family, ids with commas and parentheses, all constructions, and schedules of all
#: collectives.
STORED = (
    plan("S4,2", ["all"]),
    plan("Q4", ["all"]),
    plan("S5", ["multiple", "dimension-change(base=greedy,i=2)"], root="31425"),
)
ASKED = plan("S4", ["all"], ["all"], ports="both")


@pytest.fixture
def everything(engine: Engine, graph: Graph) -> Plan:
    """Complete artifacts in PostgreSQL, and those exported with them; the graph is empty."""
    stored = [artifact for one in STORED for artifact in one.artifacts]
    stores = Stores(engine, graph, 1000)
    for artifact in stored:
        build_and_save(stores, "bolt", artifact, lambda _stage, _thing: None)
        with session(engine) as opened:
            set_state(opened, artifact.kind, artifact.id, LoadState.COMPLETE)
    return Plan((*stored, *ASKED.artifacts))


@pytest.fixture
def exported(engine: Engine, everything: Plan, tmp_path: Path) -> Export:
    """The export, in a folder whose name the import tool would misread as a path."""
    written = export(engine, tmp_path / "S4,2 and more", ASKED)
    assert set(written.artifacts) == {artifact.id for artifact in everything.artifacts}
    return written


@pytest.fixture
def imported(exported: Export, stack_settings: Settings, tmp_path: Path) -> Iterator[GraphAddress]:
    """A server with the store that the script has created from the export, in its own home."""
    home = Home(tmp_path / "home")
    home.create()
    server = Neo4j(home)
    server.prepare(stack_settings)
    (home.neo4j / "conf" / "neo4j.conf").touch()
    subprocess.run(
        ["sh", exported.files.folder / "import.sh"],
        cwd="/",
        env={"PATH": os.defpath, "NEO4J_ADMIN": str(_tool(server, stack_settings, tmp_path))},
        stdout=subprocess.DEVNULL,
        check=True,
    )
    try:
        started = Startup(home, stack_settings, Silent()).start([server])
        yield GraphAddress(
            f"bolt://{LOOPBACK}:{started[server.name].port}", server.user, server.password
        )
    finally:
        stop([server])


def _tool(server: Neo4j, settings: Settings, folder: Path) -> Path:
    """Return a ``neo4j-admin`` that runs the embedded server's jars, wherever they are."""
    java = [server.java(), "-Xmx256m", *JAVA_OPTIONS, "-cp", server.jars(settings).class_path]
    words = ["env", f"NEO4J_HOME={server.home.neo4j}", *java, "org.neo4j.cli.AdminTool"]
    tool = folder / "neo4j-admin"
    tool.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    tool.chmod(stat.S_IRWXU)
    return tool


@pytest.mark.slow
def test_an_exported_and_imported_graph_is_adopted(
    engine: Engine, everything: Plan, imported: GraphAddress
) -> None:
    """Every node and row is as built, in both stores; no query may use it before the adoption."""
    with Graph.open(imported) as graph:
        stores = Stores(engine, graph, 1000)
        assert {row["state"] for row in reader.read_states(graph).values()} == {"imported"}
        adopted = adopt(stores, Silent())
        assert {one.id for one in adopted} == {artifact.id for artifact in everything.artifacts}
        assert_stored(stores, everything)
        for one in (*STORED, ASKED):
            topology = one.artifacts[0].topology
            assert reader.read_labels(graph, topology) == topology.labels().tolist()
            assert same_rows(reader.read_links(graph, topology), rows.link_rows(topology))
        _check_properties(graph)


def _check_properties(graph: Graph) -> None:
    """Absent properties are absent, empty texts are present, numbers are numbers."""
    kinds = graph.read(
        "MATCH (t:Topology) RETURN t.spec AS name, 't.k' IN [x IN keys(t) | 't.' + x] AS k "
        "ORDER BY name"
    )
    assert [(row["name"], row["k"]) for row in kinds] == [
        ("Q4", False),
        ("S4", False),
        ("S4,2", True),
        ("S5", False),
    ]
    empty = graph.read(
        "MATCH (f:Forest {id: 'S4:greedy:1234'}) RETURN f.arguments AS arguments, f.root AS root"
    )
    assert empty == [{"arguments": "", "root": 0}]
    actual = graph.read(
        f"MATCH (n:{NODE.name} {{topology: 'S4,2', label: '12'}}) "
        "RETURN n.rank AS rank, labels(n) AS labels"
    )
    assert actual == [{"rank": topology("S4,2").node("12"), "labels": ["Node"]}]
