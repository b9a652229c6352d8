"""`starcast graph`: tables, messages, seeds and exit codes."""

import csv
import io
import json
from pathlib import Path

import pytest
from sqlalchemy import URL

from starcast.graph.address import GraphAddress
from starcast.graph.artifact_nodes import LABEL_OF
from starcast.graph.schema import GraphState
from starcast.ingest import Plan, Stores, ingest
from support.checks import assert_stored
from support.fix_cli import Starcast, name_store
from support.plans import plan

TREES = "S4:multiple:1234"


@pytest.fixture
def starcast(
    starcast: Starcast,
    monkeypatch: pytest.MonkeyPatch,
    graph_address: GraphAddress,
    clean_database: URL,
    tmp_path: Path,
) -> Starcast:
    """Return the command line with the servers of the tests."""
    (tmp_path / "neo4j").write_text(graph_address.password, encoding="utf-8")
    monkeypatch.setenv("STARCAST_NEO4J_PASSWORD_FILE", str(tmp_path / "neo4j"))
    monkeypatch.setenv("STARCAST_NEO4J_URI", graph_address.uri)
    name_store(monkeypatch, clean_database)
    return starcast


@pytest.fixture
def what(stores: Stores) -> Plan:
    """S4 with the multiple trees, stored."""
    wanted = plan("S4", "multiple")
    ingest(stores, wanted)
    return wanted


@pytest.mark.slow
def test_verify_accepts_a_correct_graph(starcast: Starcast, what: Plan) -> None:
    """One line is printed to stderr; other formats print an empty list."""
    del what
    done = starcast("graph", "verify")
    assert (done.code, done.out) == (0, "")
    assert done.err.endswith("the graph matches the generators\n")
    for words in (["S4"], [TREES, "--all"], ["--sample", "3", "--seed", "5"]):
        assert starcast("graph", "verify", *words).code == 0
    assert json.loads(starcast("graph", "verify", "--format", "json").out) == []


def test_verify_lists_differences_and_rebuild_fixes_them(
    starcast: Starcast, stores: Stores, what: Plan
) -> None:
    """The advice in the table fixes the problems."""
    stores.graph.write(
        "MATCH (a:Node {label: '1234'})-[r:LINK]->(b:Node {label: '2134'}) SET r.port = 4"
    )
    found = starcast("graph", "verify", "--all")
    assert found.code == 6
    assert "LINK 1234-2134: port 4, not 2" in found.out
    assert "error: graph verification found 2 problems" in found.err
    rows = list(
        csv.DictReader(
            io.StringIO(starcast("graph", "verify", "S4", "--all", "--format", "csv").out)
        )
    )
    assert [row["artifact"] for row in rows] == ["S4", "S4"]
    assert (rows[1]["found"], rows[1]["expected"], rows[1]["advice"]) == (
        "port 4",
        "port 2",
        "starcast graph rebuild 'S4'",
    )
    rebuilt = starcast("graph", "rebuild", "S4", "--format", "json")
    assert rebuilt.code == 0, rebuilt.err
    assert [row["id"] for row in json.loads(rebuilt.out)] == ["S4", TREES]
    assert "rebuilt 2 artifacts" in rebuilt.err
    assert starcast("graph", "verify", "--all").code == 0
    assert_stored(stores, what)


@pytest.mark.slow
def test_a_random_seed_is_reported(starcast: Starcast, what: Plan) -> None:
    """The same nodes can be compared again with this seed."""
    del what
    line = starcast("graph", "verify", "--sample", "2").err.splitlines()[0]
    assert line.startswith("comparing 2 nodes of each topology, drawn with --seed ")
    seed = line.rpartition(" ")[2]
    assert starcast("graph", "verify", "--sample", "2", "--seed", seed).err.splitlines()[0] == line


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["verify", "--sample", "2", "--all"], 2, "--sample and --all cannot be combined"),
        (["verify", "--seed", "2"], 2, "--seed needs --sample"),
        (["verify", "S5"], 3, "no artifact 'S5' is stored"),
        (["rebuild", "S5"], 3, "no artifact 'S5' is stored"),
        (["rebuild", "--method", "import"], 2, "this Neo4j is not the embedded one"),
    ],
)
def test_bad_input(
    starcast: Starcast, what: Plan, words: list[str], code: int, sentence: str
) -> None:
    """An error is one sentence with a hint."""
    del what
    done = starcast("graph", *words)
    assert (done.code, done.out) == (code, "")
    assert sentence in done.err
    assert "\nhint: " in done.err


def test_adopt_verifies_and_completes_an_import(
    starcast: Starcast, stores: Stores, what: Plan
) -> None:
    """Imported artifacts become complete; a second adopt has nothing to do."""
    for label in LABEL_OF.values():
        stores.graph.write(
            f"MATCH (o:{label.name}) SET o.state = $state", {"state": GraphState.IMPORTED.value}
        )
    waiting = starcast("graph", "verify", "--format", "json")
    assert waiting.code == 6
    assert {row["problem"].partition(" has ")[2] for row in json.loads(waiting.out)} == {
        "state imported, not complete"
    }
    done = starcast("graph", "adopt", "--format", "json")
    assert done.code == 0, done.err
    assert [row["id"] for row in json.loads(done.out)] == ["S4", TREES]
    assert "adopted 2 artifacts" in done.err
    assert_stored(stores, what)
    again = starcast("graph", "adopt")
    assert (again.code, again.out, again.err) == (0, "", "nothing to adopt: no import is waiting\n")
