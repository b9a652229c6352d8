"""`starcast ingest`, `topology`, `forest` and `schedule` with servers: output and exit codes."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import URL

from campaign.proxy import Proxy
from starcast.ingest import Stores
from starcast.stores import GraphAddress
from starcast.stores.graph.writer import BoltWriter
from starcast.trees import Forest, forest
from support import fix_cli
from support.checks import assert_stored, counts, stored_counts
from support.fix_cli import Result, Starcast
from support.fix_servers import without_password
from support.plans import plan
from support.striking import ctrl_c


@pytest.fixture
def starcast(
    starcast: Starcast,
    monkeypatch: pytest.MonkeyPatch,
    graph_address: GraphAddress,
    clean_database: URL,
    tmp_path: Path,
) -> Starcast:
    """Return a function that runs commands on the test servers, with passwords in files."""
    secrets = {"NEO4J": graph_address.password, "POSTGRES": clean_database.password or ""}
    for name, secret in secrets.items():
        (tmp_path / name).write_text(str(secret), encoding="utf-8")
        monkeypatch.setenv(f"STARCAST_{name}_PASSWORD_FILE", str(tmp_path / name))
    monkeypatch.setenv("STARCAST_NEO4J_URI", graph_address.uri)
    monkeypatch.setenv("STARCAST_POSTGRES_URI", without_password(clean_database))

    def call(line: str, *words: object) -> Result:
        result = starcast(line, *words)
        assert all(secret not in result.out + result.err for secret in secrets.values() if secret)
        return result

    return call


def refused(result: Result, code: int) -> tuple[str, str]:
    """Return the error and the hint, which must be the only output, apart from the load method."""
    assert all(line.startswith("over Bolt") for line in result.err.splitlines()[:-2])
    return fix_cli.refused(result, code, remarks=True)


def untouched(stores: Stores) -> bool:
    """Return whether both stores are empty."""
    return counts(stores.graph) == (0, 0) and set(stored_counts(stores).values()) == {0}


def test_an_ingest_applies_its_options_and_creates_everything_once(
    starcast: Starcast, stores: Stores
) -> None:
    """The options set the root, the port models, the segments and the messages."""
    trees = "S4 --root 4321 --trees greedy"
    schedules = "--schedules multiple,recursive-substar --ports both --segments 2 --messages 3"
    options = {"root": "4321", "ports": "both", "segments": 2, "messages": 3}
    what = plan("S4", "greedy", "multiple,recursive-substar", **options)
    first = starcast(f"ingest {trees} {schedules} --format json")
    assert first.code == 0
    assert [row["id"] for row in first.json] == [thing.id for thing in what.artifacts]
    things = len(what.artifacts)
    assert f"over Bolt: {sum(thing.rows for thing in what.artifacts):,} rows" in first.err
    assert f"created {things}" in first.err
    assert "rows/s" in first.err
    second = starcast(f"ingest {trees} {schedules}")
    assert second == Result(0, "", f"nothing to create: {things} of {things} are already stored\n")
    assert_stored(stores, what)


def test_a_dry_run_needs_no_server(
    starcast: Starcast, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command prints an estimate for each artifact and the total."""
    monkeypatch.setenv("STARCAST_NEO4J_URI", "bolt://127.0.0.1:1")
    monkeypatch.setenv("STARCAST_POSTGRES_URI", "postgresql://nobody@127.0.0.1:1/nothing")
    result = starcast("ingest S8 --trees multiple --dry-run --format csv")
    assert result.code == 0
    rows = result.rows
    assert [(row["id"], row["nodes"], row["relationships"]) for row in rows] == [
        ("S8", "40320", "141120"),
        ("S8:multiple:12345678", "0", str(7 * 40319)),
        ("", "40320", str(141120 + 7 * 40319)),
    ]
    assert float(rows[-1]["megabytes"]) > 1
    for method in ("bolt", "import"):
        assert float(rows[-1][f"{method}_seconds"]) > 1
    assert float(rows[-1]["import_megabytes"]) > float(rows[-1]["megabytes"])
    assert "over Bolt: 463,673 rows" in result.err
    assert untouched(stores)


def test_a_dry_run_also_estimates_an_ingest_that_is_too_large(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is 0, a remark says that the ingest is too large, and nothing is built."""
    monkeypatch.setattr(Forest, "__post_init__", Mock(side_effect=AssertionError("built")))
    result = starcast("ingest S11 --trees all --schedules all --dry-run --format json")
    assert result.code == 0
    rows = {row["id"]: row for row in result.json}
    assert rows["S11"]["nodes"] == 39_916_800
    assert rows["S11:multiple:123456789ab"]["relationships"] == 10 * 39_916_799
    total = rows.pop("")["relationships"]
    assert total == sum(row["relationships"] for row in rows.values())
    assert "too large to ingest: 39,916,800 nodes" in result.err


def test_an_ingest_that_is_too_large_is_refused(starcast: Starcast, stores: Stores) -> None:
    """The error names nodes, relationships and time. The graph is paired, but nothing is stored."""
    error, hint = refused(starcast("ingest S11"), 7)
    assert "39,916,800 nodes and 199,584,000 relationships" in error
    assert "rows for loading over Bolt" in error
    assert "min of writing and comparing" in error
    assert "--dry-run" in hint
    assert counts(stores.graph) == (1, 0)
    assert set(stored_counts(stores).values()) == {0}


def test_a_dry_run_reports_the_load_method_for_the_embedded_stack(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It is offline import if that is faster or requested, else Bolt. No server is needed."""
    for name in ("NEO4J_URI", "POSTGRES_URI"):
        monkeypatch.delenv(f"STARCAST_{name}")
    monkeypatch.setenv("STARCAST_HOME", str(tmp_path / "nothing"))
    for words, way in (
        ("S10", "by offline import"),
        ("S9 --method bolt", "over Bolt"),
        ("S4", "over Bolt"),
        ("S4 --method import", "by offline import"),
    ):
        result = starcast(f"ingest {words} --dry-run")
        assert (result.code, way in result.err.splitlines()[0]) == (0, True), result.err
    assert not (tmp_path / "nothing").exists()


@pytest.fixture
def silent(
    starcast: Starcast, graph_address: GraphAddress, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """Put Neo4j behind a proxy that stops forwarding once the nodes are written."""
    del starcast
    host, _, port = graph_address.uri.partition("://")[2].partition(":")
    proxy = Proxy(int(port))
    monkeypatch.setenv("STARCAST_NEO4J_URI", f"bolt://{host}:{proxy.port}")
    write_nodes = BoltWriter.write_nodes

    def write_and_freeze(self: BoltWriter, *arguments: Any) -> None:
        write_nodes(self, *arguments)
        proxy.is_silent = True

    monkeypatch.setattr(BoltWriter, "write_nodes", write_and_freeze)
    yield
    proxy.close()


@pytest.mark.slow
def test_an_ingest_ends_if_neo4j_stops_responding(starcast: Starcast, silent: None) -> None:
    """The command ends within a minute, with a one-sentence error."""
    del silent
    began = time.monotonic()
    result = starcast("ingest S4 --method bolt")
    assert time.monotonic() - began < 60
    assert result.code == 4
    assert "cannot be reached or closed the connection" in result.err.splitlines()[-2]


@pytest.mark.slow
def test_ctrl_c_ends_an_ingest_if_neo4j_has_stopped_responding(
    starcast: Starcast, silent: None
) -> None:
    """The command ends at once, without waiting for Neo4j."""
    del silent
    with ctrl_c(5) as striking:
        striking.start()
        began = time.monotonic()
        result = starcast("ingest S4 --method bolt")
    assert result.code == 130
    assert time.monotonic() - began < 12


def test_the_show_commands_print_properties_and_can_verify_the_graph(
    starcast: Starcast, stores: Stores
) -> None:
    """With --verify, the commands detect a manual edit of the graph.

    `topology show` computes the properties; with --stored, it reads them from the store.
    """
    starcast("ingest S4 --trees multiple")
    shown = starcast("forest show S4:multiple:1234 -f json").json
    assert (shown["trees"], shown["height"], shown["congestion"]) == (3, 8, 2)
    assert sum(shown["load_histogram"].values()) == 72
    assert starcast("forest show S4:multiple:1234 --verify").code == 0
    stores.graph.write("MATCH ()-[r:TREE_EDGE]->() WITH r LIMIT 1 DELETE r")
    assert "drop" in refused(starcast("forest show S4:multiple:1234 --verify"), 6)[1]
    assert starcast("topology show S4 --verify").code == 0
    computed = starcast("topology show S4 -f json").json
    assert "mean_distance" in computed
    assert "state" not in computed
    stored = starcast("topology show S4 --stored -f json").json
    assert (stored["state"], stored["nodes"], stored["expected_nodes"]) == ("complete", 24, 24)


def test_ids_of_forests_with_arguments_are_accepted_by_every_command(
    starcast: Starcast, stores: Stores
) -> None:
    """The ids are those that the listing prints."""
    words = "greedy,dimension-change(base=multiple,i=1)"
    assert starcast(f"ingest S4 --trees {words} --root 4321").code == 0
    assert_stored(stores, plan("S4", words, root="4321"))
    name = "S4:dimension-change(base=multiple,i=1):4321"
    listed = starcast("forest list -f json").json
    assert [row["id"] for row in listed] == [name, "S4:greedy:4321"]
    assert starcast(f"forest show {name} --verify").code == 0
    loads = starcast(f"query run load-histogram forest={name} -f json").json
    histogram = forest("S4", "dimension-change", "4321", base="multiple", i=1).load_histogram()
    assert {row["load"]: row["links"] for row in loads} == histogram
    assert starcast(f"forest drop {name}").code == 0
    assert_stored(stores, plan("S4", "greedy", root="4321"))


def test_an_unknown_id_is_not_found(starcast: Starcast, stores: Stores) -> None:
    """The exit code is 3, and a hint names a similar id."""
    del stores
    starcast("ingest S4 --schedules greedy")
    for noun, near in (
        ("topology", "S4"),
        ("forest", "S4:greedy:1234"),
        ("schedule", "S4:broadcast:greedy:all:segments=1:1234"),
    ):
        show = "show --stored" if noun == "topology" else "show"
        for verb in (show, "drop"):
            error, hint = refused(starcast(f"{noun} {verb} {near}5"), 3)
            assert f"no {noun} '{near}5' is stored" in error
            assert near in hint
