"""`starcast graph`: tables, messages, seeds and exit codes."""

import pytest

from starcast.ingest import Plan, Stores, ingest
from support.checks import assert_stored
from support.fix_cli import Starcast, refused
from support.plans import plan

TREES = "S4:multiple:1234"


pytestmark = pytest.mark.usefixtures("servers")


@pytest.fixture
def what(stores: Stores) -> Plan:
    """Store S4 and its forest `multiple`, and return the plan."""
    wanted = plan("S4", "multiple")
    ingest(stores, wanted)
    return wanted


@pytest.mark.slow
@pytest.mark.usefixtures("what")
def test_graph_verify_accepts_a_correct_graph_and_reports_the_sample_seed(
    starcast: Starcast,
) -> None:
    """Without differences, stdout is empty, or an empty list with ``--format json``."""
    done = starcast("graph verify")
    assert (done.code, done.out) == (0, "")
    assert done.err.startswith("the graph matches newly built artifacts in a sample of 500 nodes")
    for words in ("S4", f"{TREES} --all", "--sample 3 --seed 5"):
        assert starcast(f"graph verify {words}").code == 0
    assert starcast("graph verify --format json").json == []
    line = starcast("graph verify --sample 2").err.splitlines()[0]
    assert "a sample of 2 nodes of each topology, drawn with --seed " in line
    seed = line.rpartition(" ")[2]
    assert starcast(f"graph verify --sample 2 --seed {seed}").err.splitlines()[0] == line


@pytest.mark.usefixtures("what")
def test_unknown_artifacts_and_imports_into_servers_that_are_not_embedded_are_refused(
    starcast: Starcast,
) -> None:
    for words, code, sentence in (
        ("verify S5", 3, "no artifact 'S5' is stored"),
        ("rebuild S5", 3, "no artifact 'S5' is stored"),
        ("rebuild --method import", 2, "an offline import stops Neo4j"),
    ):
        assert sentence in refused(starcast(f"graph {words}"), code, remarks=True)[0]


def test_graph_verify_lists_differences_that_graph_rebuild_fixes(
    starcast: Starcast, stores: Stores, what: Plan
) -> None:
    """`graph verify` exits with code 6; after `graph rebuild`, it finds no difference."""
    stores.graph.write(
        "MATCH (a:Node {label: '1234'})-[r:LINK]->(b:Node {label: '2134'}) SET r.port = 4"
    )
    found = starcast("graph verify --all")
    assert found.code == 6
    assert "LINK 1234-2134 (port 2) is missing" in found.out
    assert "error: graph verification found 3 problems" in found.err
    assert "with 'starcast graph rebuild'" in found.err
    assert "if the graph belongs to another database, check the settings" in found.err
    rows = starcast("graph verify S4 --all --format csv").rows
    assert [row["artifact"] for row in rows] == ["S4", "S4", "S4"]
    problem = "its rows in the graph differ from those of the newly built artifact"
    assert rows[0]["problem"] == problem
    assert "checksum" in rows[0]["found"]
    assert rows[0]["found"] != rows[0]["expected"]
    rebuilt = starcast("graph rebuild S4 --format json")
    assert rebuilt.code == 0, rebuilt.err
    assert [row["id"] for row in rebuilt.json] == ["S4", TREES]
    assert "rebuilt 2 artifacts" in rebuilt.err
    assert starcast("graph verify --all").code == 0
    assert_stored(stores, what)
