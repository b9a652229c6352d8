"""The lab on real servers does the same as the command line, but prints nothing."""

import json
import multiprocessing
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import URL

import starcast as package
from starcast import Forest, Lab, connect, forest, topology
from starcast.embedded import endpoints
from starcast.support.errors import (
    InputError,
    NotFoundError,
    RejectedError,
    UnavailableError,
)
from starcast.support.settings import Settings
from support.fix_cli import Starcast
from support.fix_lab import GRID
from support.fix_servers import without_password

S4 = topology("S4")
MULTIPLE = "S4:multiple:1234"


def test_a_lab_prints_nothing_and_passes_progress_messages_to_the_callback(
    servers: None,  # noqa: ARG001
    capfd: pytest.CaptureFixture[str],
) -> None:
    lines: list[str] = []
    with connect(reporter=lines.append) as lab:
        lab.ingest("S4", trees="multiple")
        lab.experiment("e", grid=GRID, algorithm="multiple", faults="2134")
        lab.compare("e", "e")
        assert len(lab.verify()) == 0
        assert lab.rebuild("S4")["id"] == ["S4", MULTIPLE]
    assert "forest S4:multiple:1234: 69 rows, compared and complete" in lines
    assert capfd.readouterr() == ("", "")


@pytest.mark.slow
def test_forests_defined_by_the_user_are_stored_under_their_own_names(lab: Lab) -> None:
    array = forest("S4", "greedy", root="4321").parent_port
    mine = Forest(S4, array, 23, construction="mine", arguments={"i": 2})
    other = "S4:dimension-change(base=greedy,i=1):2134"
    created = lab.ingest(
        topology("S4"), trees=["multiple", mine, other], schedules="broadcast:greedy", segments=2
    )
    assert set(created["id"]) == {
        "S4",
        "S4:multiple:1234",
        "S4:greedy:1234",
        "S4:mine(i=2):4321",
        other,
        "S4:broadcast:greedy:all:segments=2:1234",
    }
    assert np.array_equal(lab.forest(mine.id).parent_port, array)
    assert lab.query("overlap/load-histogram", forest=mine.id).rows == [
        {"load": 0, "links": 49},
        {"load": 1, "links": 23},
    ]
    assert len(lab.verify()) == 0
    lab.rebuild(mine.id)
    assert lab.show(mine.id, verify=True)["height"] == mine.height
    again = lab.ingest("S4", trees=mine)
    assert not again.rows
    assert again.note == "nothing to create: 2 of 2 are already stored"
    assert lab.drop("S4", cascade=True)["dropped"][-1] == "S4"


def test_query_files_run_with_and_without_a_header(filled: Lab, tmp_path: Path) -> None:
    free = tmp_path / "free.cypher"
    free.write_text("MATCH (n:Node {label: $label})\nRETURN n.rank AS rank;\n", encoding="utf-8")
    answer = filled.query(free, label="4321")
    assert (answer.columns, answer.rows) == (("rank",), [{"rank": 23}])
    assert answer.parameters == {"label": "4321"}
    shipped = package.queries.find("overlap/load-histogram")
    copy = tmp_path / "pack" / "mine.cypher"
    copy.parent.mkdir()
    copy.write_text(shipped.text, encoding="utf-8")
    assert (
        filled.query(copy, forest=MULTIPLE).rows
        == filled.query("overlap/load-histogram", {"forest": MULTIPLE}).rows
    )
    assert filled.check_queries(copy)["problem"] == [""]
    assert filled.ask("RETURN $a + $b AS c", {"a": 1}, b=2).rows == [{"c": 3}]


def test_a_query_result_can_be_converted_and_drawn(filled: Lab) -> None:
    answer = filled.query("shortest-paths", topology="S4", source="1234", target="4321")
    assert answer.cypher.startswith("// title:")
    assert answer.to_polars().columns == list(answer.columns)
    assert answer.to_pandas().shape == (len(answer), len(answer.columns))
    assert r"\begin{tabular}" in answer.to_latex()
    assert answer.svg().startswith("<svg")
    assert answer.svg("ring") != answer.svg("levels")
    assert "-4-&gt;" in answer._repr_html_()
    nodes = filled.query("MATCH (n:Node {rank: 0}) RETURN n")
    assert "<td" in nodes._repr_html_()
    assert nodes.to_polars().height == 1
    with pytest.raises(InputError, match="cannot be drawn"):
        nodes.svg()
    with pytest.raises(InputError, match="layout"):
        answer.svg("spiral")


def test_an_experiment_accepts_axis_values_of_several_python_types(lab: Lab) -> None:
    done = lab.experiment(
        "e",
        topology=topology("S4"),
        algorithm=("multiple", "recursive-substar"),
        segments=np.arange(1, 3),
        message_bytes=range(64, 192, 64),
        t_s=0.5,
    )
    assert (done["created"], done["kept"]) == (8, 0)
    assert lab.experiment("e", grid=tomllib.loads(lab.grid("e")))["kept"] == 8
    runs = lab.show_experiment("e")
    assert set(runs["t_s"]) == {0.5}
    assert runs.to_polars()["segments"].unique().sort().to_list() == [1, 2]
    comparison = lab.compare("e")
    assert len(comparison.comparison.sides) == 2
    assert lab.drop_experiment("e")["runs"] == 8


def test_a_comparison_can_be_shown_as_a_table_and_as_a_page(filled: Lab) -> None:
    comparison = filled.compare("ours", "theirs", sort="message_bytes")
    assert {"time_ours", "time_theirs", "verdict"} <= set(comparison.columns)
    assert comparison.to_polars().height == len(comparison) > 0
    assert r"\label{tab:compare-ours-theirs}" in comparison.to_latex()
    assert r"\begin{table*}" in comparison.to_latex("a caption", wide=True)
    assert {"side", "time"} <= set(comparison.runs().to_polars().columns)
    shown = comparison._repr_html_()
    assert "<b>" in shown
    page = comparison.html()
    assert page.startswith("<!DOCTYPE html>")
    assert 'id="panels"' in page
    hidden = len(filled.compare("ours", "ours"))
    assert hidden == 0
    assert filled.compare("ours", "ours", everything=True).note == ""
    assert "are the same on all sides" in filled.compare("ours", "ours").note


@pytest.mark.slow
def test_a_construction_defined_in_a_notebook_is_unknown_to_worker_processes(
    lab: Lab,
    registries: None,  # noqa: ARG001
) -> None:
    code = """
import starcast
@starcast.construction("defined-here", source="this notebook")
def defined_here(topology, root):
    return starcast.forest(topology, "greedy", root).parent_port
"""
    exec(compile(code, "<cell 1>", "exec"), {"__name__": "__main__"})  # noqa: S102
    grid = {**GRID, "algorithm": "forest(base=defined-here)"}
    assert lab.experiment("mine", grid=grid)["created"] == 4
    assert all(lab.reproduce("mine")["agrees"])
    with pytest.raises(InputError, match="defined-here"):
        lab.experiment("others", grid=grid, jobs=2)
    lab.ingest("S4", trees="defined-here")
    assert lab.show("S4:defined-here:1234", verify=True)["trees"] == 1


@pytest.mark.slow
def test_a_backup_is_restored_into_empty_stores_only(
    filled: Lab, tmp_path: Path, fresh_database: URL
) -> None:
    manifest = filled.backup(tmp_path / "b.backup")
    assert manifest["rows"] > 0
    with pytest.raises(RejectedError):
        filled.restore(tmp_path / "b.backup")
    uri, password = without_password(fresh_database), fresh_database.password
    with connect(postgres_uri=uri, postgres_password=password) as other:
        assert other.restore(tmp_path / "b.backup", graph=False)["rows"] == manifest["rows"]
        assert other.runs().rows == filled.runs().rows
        assert other.schema()["differences"] == []


def test_invalid_values_that_only_python_can_pass_are_refused(filled: Lab) -> None:
    """Invalid values that the command line can pass too are tested in tests/cli."""
    anything: Any = 5
    sizes: Any = [1, 2]
    steps: Any = "steps"
    cases: tuple[tuple[str, Callable[[], object]], ...] = (
        ("each item of `trees` must be", lambda: filled.ingest("S4", trees=[anything])),
        ("each item of `schedules` must be", lambda: filled.ingest("S4", schedules=[anything])),
        ("not the id of a forest", lambda: filled.ingest("S4", trees="S4:gready:1234")),
        ("load method", lambda: filled.ingest("S4", method="fast")),
        ("rank 99", lambda: filled.ingest("S4", trees="greedy", root=99)),
        ("sample", lambda: filled.verify(sample=0)),
        ("'S4:balanced:1234' is stored", lambda: filled.forest("S4:balanced:1234")),
        ("not an axis", lambda: filled.experiment("e", grid=GRID, algoritm="multiple")),
        ("has no algorithm", lambda: filled.experiment("e", grid=GRID)),
        (
            "has one value for each axis",
            lambda: filled.run("S4", "broadcast", "greedy", message_bytes=sizes),
        ),
        ("nothing to compare", filled.compare),
        ("axis", lambda: filled.compare("ours", "theirs", conditions={"colour": 1})),
        ("no values", lambda: filled.compare("ours", conditions={"topology": []})),
        ("always differ", lambda: filled.compare("ours", "theirs", across="segments")),
        ("cannot be paired", lambda: filled.compare("ours", "theirs", by=steps)),
        ("no run 77", lambda: filled.run_steps(77)),
    )
    for words, use in cases:
        with pytest.raises((InputError, NotFoundError), match=words) as refusal:
            use()
        assert refusal.value.hint, words
    assert len(filled.forests()) == 2


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("a\0b", "a string contains the character NUL"),
        ("a\udc80", r"the string 'a\\udc80' contains an unpaired surrogate"),
    ],
)
def test_names_that_postgresql_cannot_store_are_refused(lab: Lab, name: str, problem: str) -> None:
    for operation in (lab.show_experiment, lab.reproduce, lab.compare, lab.forest):
        with pytest.raises(InputError, match=f"PostgreSQL does not accept a value: {problem}"):
            operation(name)


def test_operations_of_a_closed_lab_are_refused_with_a_hint(filled: Lab, tmp_path: Path) -> None:
    comparison = filled.compare("ours", "theirs")
    filled.query("MATCH (t:Topology) RETURN t.spec AS spec")
    filled.close()
    filled.close()
    assert "closed" in repr(filled)
    uses: list[Callable[[], object]] = [
        filled.topologies,
        filled.claims,
        lambda: filled.ingest("S3"),
        lambda: filled.query("MATCH (n) RETURN n"),
        lambda: filled.experiment("e", grid=GRID, algorithm="multiple"),
        lambda: filled.backup(tmp_path / "b"),
        lambda: filled.restore(tmp_path / "b"),
        filled.schema,
        filled.upgrade,
        comparison.html,
        lambda: comparison.plots(tmp_path / "p.svg"),
    ]
    for use in uses:
        with pytest.raises(UnavailableError, match=r"^the lab is closed") as refusal:
            use()
        assert "connect()" in refusal.value.hint
    assert comparison.to_polars().height == len(comparison)


def test_the_error_for_a_stopped_server_says_how_to_start_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UnavailableError, match="is not running") as refusal:
        connect(tmp_path / "empty")
    assert "connect(start=True)" in refusal.value.hint
    assert "starcast up" in refusal.value.hint
    with pytest.raises(UnavailableError) as foreign:
        connect(postgres_uri="postgresql://nobody@127.0.0.1:1/none")
    assert "start=True" not in foreign.value.hint
    with pytest.raises(InputError, match="start=True"):
        connect(
            start=True,
            neo4j_uri="bolt://127.0.0.1:1",
            postgres_uri="postgresql://nobody@127.0.0.1:1/none",
        )
    with pytest.raises(InputError, match="colour"):
        connect(colour="red")
    with pytest.raises(InputError, match=r"missing\.py"):
        connect(plugins=[tmp_path / "missing.py"])
    monkeypatch.setenv("STARCAST_ROW_LIMIT", "0")
    with pytest.raises(InputError, match="row_limit"):
        connect()


def test_a_forked_process_opens_its_own_connections(filled: Lab) -> None:
    """Otherwise, parent and child would read each other's answers."""
    statement = "MATCH (n:Node) RETURN count(n) AS nodes"
    expected = (filled.forests().rows, filled.query(statement).rows)

    def answer(sending: Any) -> None:
        sending.send([(filled.forests().rows, filled.query(statement).rows) for _ in range(5)])

    context = multiprocessing.get_context("fork")
    pipes = [context.Pipe(duplex=False) for _ in range(3)]
    children = [context.Process(target=answer, args=(sending,)) for _, sending in pipes]
    for child in children:
        child.start()
    assert [(filled.forests().rows, filled.query(statement).rows) for _ in range(5)] == [
        expected
    ] * 5
    for receiving, _ in pipes:
        assert receiving.recv() == [expected] * 5
    for child in children:
        child.join()
    assert (filled.forests().rows, filled.query(statement).rows) == expected


def test_a_lab_finds_postgresql_after_a_restart_on_another_port(
    servers: None,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with connect() as lab:
        before = lab.database.url
        monkeypatch.setattr(endpoints, "store_url", lambda _: before.set(port=1))
        with pytest.raises(UnavailableError):
            lab.topologies()
        monkeypatch.setattr(endpoints, "store_url", lambda _: before)
        assert len(lab.topologies()) == 0


def test_without_neo4j_a_lab_still_runs_experiments_and_lists_artifacts(
    servers: None,  # noqa: ARG001
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("STARCAST_NEO4J_URI", "bolt://127.0.0.1:1")
    with connect() as lab:
        assert lab.experiment("e", grid=GRID, algorithm="multiple")["created"] == 4
        with pytest.raises(UnavailableError):
            lab.query("MATCH (n) RETURN n")
        with pytest.raises(UnavailableError):
            lab.ingest("S4")
        assert len(lab.topologies()) == 0


def test_a_lab_can_connect_to_the_embedded_stack_of_a_home_folder(
    stack_settings: Settings, starcast: Starcast
) -> None:
    with connect(stack_settings.home, start=True) as lab:
        shown = json.loads(starcast("--home", str(stack_settings.home), "status", "-f", "json").out)
        status = lab.status()
        assert status["state"] == ["running", "running"]
        assert status.select("server", "pid", "port").rows == [
            {name: row[name] for name in ("server", "pid", "port")} for row in shown
        ]
        assert set(lab.doctor()["verdict"]) <= {"ok", "warning"}
        assert str(stack_settings.home) in repr(lab)
