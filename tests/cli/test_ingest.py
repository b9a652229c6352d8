"""`starcast ingest`, `topology`, `forest` and `schedule` with servers: output and exit codes."""

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from sqlalchemy import URL

from campaign.proxy import Proxy
from starcast.ingest import Stores
from starcast.ingest.both_stores import lock_stores
from starcast.stores import GraphAddress
from starcast.stores.graph.writer import BoltWriter
from starcast.support.progress import Silent
from starcast.trees import Forest, forest
from support import fix_cli
from support.checks import assert_stored, counts, states, stored_counts
from support.fix_cli import Result, Starcast, name_store
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
    """Return the error and the hint; all earlier lines of stderr must begin with "over Bolt"."""
    assert all(line.startswith("over Bolt") for line in result.err.splitlines()[:-2])
    return fix_cli.refused(result, code, remarks=True)


def untouched(stores: Stores) -> bool:
    """Return whether both stores are empty."""
    return counts(stores.graph) == (0, 0) and set(stored_counts(stores).values()) == {0}


def test_an_ingest_applies_its_options_and_creates_each_artifact_once(
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
    assert_stored(stores, what)
    second = starcast(f"ingest {trees} {schedules}")
    assert second == Result(0, "", f"nothing to create: {things} of {things} are already stored\n")


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
    """The exit code is 0, a remark says that the ingest is too large, and no forest is built."""
    monkeypatch.setattr(Forest, "__post_init__", Mock(side_effect=AssertionError("built")))
    result = starcast("ingest S11 --trees all --schedules all --dry-run --format json")
    assert result.code == 0
    rows = {row["id"]: row for row in result.json}
    assert rows["S11"]["nodes"] == 39_916_800
    assert rows["S11:multiple:123456789ab"]["relationships"] == 10 * 39_916_799
    total = rows.pop("")["relationships"]
    assert total == sum(row["relationships"] for row in rows.values())
    assert "too large to ingest: 39,916,800 nodes" in result.err


@pytest.mark.parametrize(
    ("words", "code", "error", "hint"),
    [
        ("S5 --schedules all --segments 0", 2, "segments is 0", ""),
        ("S4 --method import", 2, "only with the embedded Neo4j", "Bolt"),
        ("S11", 7, "39,916,800 nodes and 199,584,000 relationships", "--dry-run"),
        ("S11", 7, "rows for loading over Bolt", "--dry-run"),
        ("S11", 7, "min of writing and comparing", "--dry-run"),
    ],
)
def test_an_impossible_ingest_is_refused(
    starcast: Starcast, stores: Stores, words: str, code: int, error: str, hint: str
) -> None:
    """The error names the invalid option, or the size or time that exceeds the limit.

    No artifact is stored. Limits and load methods are checked after the graph has been paired
    with the database.
    """
    actual = refused(starcast(f"ingest {words}"), code)
    assert error in actual[0]
    assert hint in actual[1]
    is_paired = code == 7 or "--method" in words
    assert counts(stores.graph) == (int(is_paired), 0)
    assert set(stored_counts(stores).values()) == {0}


def test_a_dry_run_reports_the_load_method_for_the_embedded_stack(
    starcast: Starcast, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Offline import is chosen if it is faster or requested, else Bolt. No server is needed."""
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


def test_a_server_that_is_not_running_is_reported(
    starcast: Starcast, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is 4 for either server, and nothing is stored on the other server."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name, uri, server in (
        ("NEO4J", f"bolt://127.0.0.1:{port}", f"Neo4j at bolt://127.0.0.1:{port}"),
        ("POSTGRES", f"postgresql://a@127.0.0.1:{port}/b", f"PostgreSQL at 127.0.0.1:{port}"),
    ):
        with monkeypatch.context() as other:
            other.setenv(f"STARCAST_{name}_URI", uri)
            assert server in refused(starcast("ingest S3"), 4)[0]
    assert untouched(stores)


def test_a_wrong_password_is_reported(starcast: Starcast, stores: Stores, tmp_path: Path) -> None:
    """The exit code is 4. The fixture checks that no password is printed."""
    (tmp_path / "NEO4J").write_text("not-the-password", encoding="utf-8")
    error, hint = refused(starcast("ingest S3"), 4)
    assert "refuses the login" in error
    assert "not-the-password" not in error
    assert "STARCAST_NEO4J_PASSWORD_FILE" in hint
    assert untouched(stores)


@pytest.mark.usefixtures("clean_graph")
def test_a_database_without_the_schema_is_refused(
    starcast: Starcast, fresh_database: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is 6, and a hint names the command to run."""
    monkeypatch.delenv("STARCAST_POSTGRES_PASSWORD_FILE")
    name_store(monkeypatch, fresh_database)
    assert "starcast db upgrade" in refused(starcast("ingest S3"), 6)[1]


def test_a_concurrent_ingest_is_refused(starcast: Starcast, stores: Stores) -> None:
    """The exit code of `ingest` and of `drop` is 5."""
    with lock_stores(stores, wait=False, reporter=Silent()):
        assert "--wait" in refused(starcast("ingest S3"), 5)[1]
        refused(starcast("topology drop S3"), 5)
    assert starcast("ingest S3 --wait").code == 0


def test_ctrl_c_ends_an_ingest(
    starcast: Starcast, stores: Stores, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit code is 130, the last line is "interrupted", and complete artifacts are kept."""
    with monkeypatch.context() as other:
        other.setattr(Forest, "verify", Mock(side_effect=KeyboardInterrupt))
        result = starcast("ingest S4 --trees greedy")
    assert result.code == 130
    assert result.err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in result.err
    assert states(stores) == {"S4": "complete", "S4:greedy:1234": "failed"}
    assert starcast("ingest S4 --trees greedy").code == 0
    assert_stored(stores, plan("S4", "greedy"))


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
    """The command ends within a minute, with an error message."""
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


def test_the_list_commands_print_the_stored_artifacts(starcast: Starcast, stores: Stores) -> None:
    """Every command group lists its artifacts. Forests and schedules can be listed by topology."""
    del stores
    assert starcast("topology list -f json").json == []
    starcast("ingest S4 --schedules greedy")
    starcast("ingest S3 --trees greedy")
    topologies = starcast("topology list -f json").json
    assert [(row["id"], row["nodes"], row["links"], row["state"]) for row in topologies] == [
        ("S3", 6, 6, "complete"),
        ("S4", 24, 36, "complete"),
    ]
    trees = starcast("forest list S3 -f csv").rows
    assert [(row["id"], row["root_label"]) for row in trees] == [("S3:greedy:123", "123")]
    assert starcast("schedule list S9 -f json").json == []
    schedules = starcast("schedule list -f markdown").out.splitlines()
    assert len(schedules) == 3
    assert "S4:broadcast:greedy:all:segments=1:1234" in schedules[2]


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
    assert "graph rebuild" in refused(starcast("forest show S4:multiple:1234 --verify"), 6)[1]
    assert starcast("topology show S4 --verify").code == 0
    computed = starcast("topology show S4 -f json").json
    assert "mean_distance" in computed
    assert "state" not in computed
    stored = starcast("topology show S4 --stored -f json").json
    assert (stored["state"], stored["nodes"], stored["expected_nodes"]) == ("complete", 24, 24)


def test_commands_accept_ids_of_forests_with_arguments(starcast: Starcast, stores: Stores) -> None:
    """`forest show`, `query run` and `forest drop` accept the id that `forest list` prints."""
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


def test_the_drop_commands_refuse_artifacts_with_dependents(
    starcast: Starcast, stores: Stores
) -> None:
    """The error names the dependents. With --cascade, they are dropped too."""
    starcast("ingest S4 --schedules greedy")
    error, hint = refused(starcast("topology drop S4"), 6)
    assert "depend on it: S4:broadcast:greedy:all:segments=1:1234, S4:greedy:1234" in error
    assert "--cascade" in hint
    assert starcast("topology drop S4 --cascade").code == 0
    assert counts(stores.graph) == (1, 0)
