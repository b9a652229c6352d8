"""The lab on real servers does the same as the command line, but prints nothing."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import URL

import starcast as package
from starcast import Forest, Lab, StarcastError, connect, forest, topology
from starcast.ingest.stores import LOCK
from starcast.stores.database.sessions import advisory_lock
from starcast.support.errors import (
    BusyError,
    InputError,
    LimitError,
    NotFoundError,
    RejectedError,
    UnavailableError,
)
from starcast.support.settings import Settings
from support.fix_cli import Starcast, name_store
from support.fix_lab import GRID
from support.fix_servers import without_password

S4 = topology("S4")
MULTIPLE = "S4:multiple:1234"


def assert_refused(
    kind: type[StarcastError],
    words: str,
    operation: Callable[..., object],
    *given: Any,
    **more: Any,
) -> None:
    """Check that an operation is refused with these words and a hint."""
    with pytest.raises(kind, match=words) as refusal:
        operation(*given, **more)
    assert refusal.value.hint, words


def test_a_single_run_is_stored_only_on_request(lab: Lab) -> None:
    run = lab.run("S4", "broadcast", "multiple", message_bytes=1024, segments=4, store=False)
    assert not run.run.id
    assert len(lab.runs()) == 0
    stored = lab.run("S4", "broadcast", "multiple", message_bytes="23/3", faults="2134")
    assert lab.show_run(stored.run.id)["missing"] == stored.run.missing > 0
    assert f"{stored.run.missing} units are missing" in stored.note
    assert lab.experiments()["experiment"] == ["adhoc"]


def test_nothing_is_printed_and_progress_goes_to_the_callback(
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


def test_a_script_can_be_run_twice(lab: Lab) -> None:
    """The second run keeps the stored results. Only another grid under the same name is refused."""

    def run_script() -> tuple[list[int], Any]:
        lab.ingest("S4", trees="multiple", schedules="broadcast:multiple")
        ours = lab.experiment("ours", grid=GRID, algorithm="multiple")
        theirs = lab.experiment("theirs", grid=GRID, algorithm="recursive-substar")
        counts = [ours["created"], ours["kept"], theirs["created"], theirs["kept"]]
        return counts, lab.compare("ours", "theirs").rows

    first, compared = run_script()
    assert first == [4, 0, 4, 0]
    assert run_script() == ([0, 4, 0, 4], compared)
    with pytest.raises(InputError, match="'ours' has another grid") as refused:
        lab.experiment("ours", grid=GRID, algorithm="greedy")
    assert "\n" not in str(refused.value)
    assert run_script() == ([0, 4, 0, 4], compared)


def test_a_forest_with_the_name_of_other_trees_is_refused(lab: Lab) -> None:
    array = forest("S4", "greedy").parent_port
    with pytest.raises(RejectedError, match="builds different trees") as refusal:
        lab.ingest("S4", trees=Forest(S4, array, construction="multiple"))
    assert "construction='mine'" in refusal.value.hint
    with pytest.raises(InputError, match="is on S5, not on S4"):
        lab.ingest("S4", trees=[forest("S5", "greedy")])
    assert len(lab.topologies()) == 0
    lab.ingest("S4", trees=Forest(S4, array, construction="mine"))
    changed = forest("S4", "recursive-substar").parent_port
    with pytest.raises(RejectedError, match="S4:mine:1234 but different trees is") as stored:
        lab.ingest("S4", trees=Forest(S4, changed, construction="mine"))
    assert "forest drop" in stored.value.hint
    assert np.array_equal(lab.forest("S4:mine:1234").parent_port, array)


def test_an_array_that_is_not_a_forest_is_not_stored(lab: Lab) -> None:
    cyclic = Forest(topology("S3"), np.array([[0, 2, 2, 2, 2, 2]], np.uint8), construction="mine")
    with pytest.raises(RejectedError):
        lab.ingest("S3", trees=cyclic)
    assert lab.forests()["state"] in ([], ["failed"])
    assert not lab.query("MATCH (f:Forest) RETURN f").rows


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
    assert filled.check_queries(copy)["problems"] == [""]
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


def test_a_result_cut_by_the_row_limit_has_a_note(filled: Lab) -> None:
    answer = filled.query("MATCH (n:Node) RETURN n.label AS label", row_limit=3)
    assert (len(answer), answer.more) == (3, True)
    assert "only the first 3 rows" in answer.note
    assert "only the first 3 rows" in answer._repr_html_()


def test_invalid_queries_are_refused(filled: Lab, tmp_path: Path) -> None:
    assert_refused(InputError, "no parameter", filled.query, "MATCH (n) RETURN n", x=1)
    assert_refused(
        InputError, "the row limit 0 is not valid", filled.query, "RETURN 1 AS n", row_limit=0
    )
    assert_refused(
        InputError, "the time limit -1 is not valid", filled.query, "RETURN 1 AS n", timeout=-1
    )
    assert_refused(InputError, "cannot be read", filled.query, tmp_path / "missing.cypher")
    assert_refused(
        NotFoundError, "not in the graph", filled.query, "load-histogram", forest="S3:greedy:123"
    )
    with pytest.raises(LimitError):
        filled.query(
            "UNWIND range(1, 1000000) AS a UNWIND range(1, 1000000) AS b"
            " WITH a + b AS c WHERE c < 0 RETURN c",
            timeout=0.5,
        )
    assert filled.query("MATCH (t:Topology) RETURN count(*) AS n").rows == [{"n": 1}]


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


@pytest.mark.slow
def test_example_grids_and_grid_files_can_be_run(lab: Lab, tmp_path: Path) -> None:
    file = tmp_path / "grid.toml"
    file.write_text(
        'topology = "S4"\nalgorithm = "multiple"\nmessage_bytes = 64\n', encoding="utf-8"
    )
    assert lab.experiment("e", grid=file, segments=[1, 2])["created"] == 2
    assert "crossovers-in-m" in lab.examples()["example"]
    done = lab.experiment("x", grid="crossovers-in-m", topology="S4", message_bytes=64, jobs=1)
    assert done["created"] > 0


def test_an_exported_experiment_can_be_imported(lab: Lab, tmp_path: Path) -> None:
    lab.experiment("e", grid=GRID, algorithm="multiple")
    before = lab.show_experiment("e").select("time", "gap", "segments", "message_bytes").rows
    assert lab.export_experiment("e", out=tmp_path / "e.json.gz")["runs"] == 4
    lab.drop_experiment("e")
    imported = lab.import_experiment(tmp_path / "e.json.gz", name="copy")
    assert imported.rows == [{"experiment": "copy", "created": 4, "kept": 0}]
    copy = lab.show_experiment("copy")
    assert copy.select("time", "gap", "segments", "message_bytes").rows == before


def test_a_comparison_can_be_shown_as_a_table_and_as_a_page(filled: Lab) -> None:
    comparison = filled.compare("ours", "theirs", sort="message_bytes")
    assert {"time_ours", "time_theirs", "verdict"} <= set(comparison.columns)
    assert comparison.to_polars().height == len(comparison) > 0
    assert r"\toprule" in comparison.to_latex()
    shown = comparison._repr_html_()
    assert "<b>" in shown
    page = comparison.html()
    assert page.startswith("<!DOCTYPE html>")
    assert 'id="panels"' in page
    hidden = len(filled.compare("ours", "ours"))
    assert hidden == 0
    assert filled.compare("ours", "ours", everything=True).note == ""
    assert "are the same on all sides" in filled.compare("ours", "ours").note


def test_plots_are_written_to_one_file(filled: Lab, tmp_path: Path) -> None:
    comparison = filled.compare("ours", "theirs")
    comparison.plots(tmp_path / "plot.svg")
    assert b"<svg" in (tmp_path / "plot.svg").read_bytes()
    with pytest.raises(InputError, match=r"must end in \.svg, \.pdf or \.png"):
        comparison.plots(tmp_path / "plot.gif")


@pytest.mark.slow
def test_an_example_experiment_gives_the_cost_table_of_its_paper(lab: Lab) -> None:
    lab.experiment("t", grid="tseng-sheu-1997-table-1", topology="S4", message_bytes=1024, jobs=1)
    table = lab.cost_table(experiment="t", conditions={"t_c": 1})
    assert len(table) > 1
    with pytest.raises(NotFoundError):
        lab.cost_table(experiment="nothing")
    with pytest.raises(InputError, match="no-table"):
        lab.cost_table(experiment="t", table="no-table")


@pytest.mark.slow
def test_a_construction_defined_in_a_notebook_runs_only_in_its_process(
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


def test_invalid_experiments_are_refused(filled: Lab) -> None:
    run: Callable[..., object] = filled.run
    assert_refused(
        InputError, "not an axis", filled.experiment, "e", grid=GRID, algoritm="multiple"
    )
    assert_refused(InputError, "has no algorithm", filled.experiment, "e", grid=GRID)
    assert_refused(
        InputError, "another grid", filled.experiment, "ours", grid=GRID, algorithm="greedy"
    )
    assert_refused(InputError, "cannot be read", filled.experiment, "e", grid="no-such-grid")
    assert_refused(
        InputError, "jobs", filled.experiment, "e", grid=GRID, algorithm="greedy", jobs=0
    )
    assert_refused(InputError, "several", run, "S4", "broadcast", "greedy", message_bytes=[1, 2])
    assert_refused(InputError, "message_bytes", run, "S4", "broadcast", "greedy", message_bytes="x")
    assert_refused(NotFoundError, "nothing", filled.compare, "ours", "nothing")
    assert_refused(InputError, "nothing to compare", filled.compare)
    assert_refused(InputError, "axis", filled.compare, "ours", "theirs", conditions={"colour": 1})
    assert_refused(InputError, "no values", filled.compare, "ours", conditions={"topology": []})
    assert_refused(InputError, "always differ", filled.compare, "ours", "theirs", across="segments")
    assert_refused(InputError, "column", filled.compare, "ours", "theirs", sort="colour")
    assert_refused(NotFoundError, "nothing", filled.show_experiment, "nothing")
    assert_refused(NotFoundError, "77", filled.show_run, 77)
    assert_refused(NotFoundError, "77", filled.run_steps, 77)
    assert_refused(NotFoundError, "nothing", filled.drop_experiment, "nothing")


def test_invalid_requests_are_refused_and_store_nothing(lab: Lab) -> None:
    anything: Any = 5
    assert_refused(InputError, "T4", lab.ingest, "T4")
    assert_refused(InputError, "gready", lab.ingest, "S4", trees="gready")
    assert_refused(InputError, "trees holds 5", lab.ingest, "S4", trees=[anything])
    assert_refused(InputError, "schedules holds 5", lab.ingest, "S4", schedules=[anything])
    assert_refused(InputError, "not the id of a forest", lab.ingest, "S4", trees="S4:gready:1234")
    assert_refused(InputError, "load method", lab.ingest, "S4", method="fast")
    assert_refused(InputError, "import", lab.ingest, "S4", method="import")
    assert_refused(InputError, "rank 99", lab.ingest, "S4", trees="greedy", root=99)
    assert_refused(InputError, "port", lab.ingest, "S4", schedules="greedy", ports="some")
    assert_refused(NotFoundError, "S4", lab.drop, "S4")
    assert_refused(NotFoundError, "S4", lab.show, "S4")
    assert_refused(NotFoundError, "S4:greedy:1234", lab.forest, "S4:greedy:1234")
    assert_refused(NotFoundError, "S4", lab.verify, "S4")
    assert_refused(NotFoundError, "no artifact 'S9'", lab.verify, "S9")
    assert_refused(InputError, "sample", lab.verify, sample=0)
    assert len(lab.topologies()) == 0


def test_a_topology_with_dependents_is_dropped_only_with_cascade(filled: Lab) -> None:
    with pytest.raises(RejectedError, match="dependents"):
        filled.drop("S4")
    assert len(filled.topologies()) == 1
    with advisory_lock(filled.engine, LOCK, BusyError("")), pytest.raises(BusyError):
        filled.drop("S4", cascade=True)
    assert set(filled.drop("S4", cascade=True)["dropped"]) >= {"S4", MULTIPLE}
    assert len(filled.forests()) == 0


@pytest.mark.slow
def test_verification_of_a_sample_notes_the_random_seed(filled: Lab) -> None:
    assert filled.verify(sample=5, seed=7).note == (
        "the graph matches newly built artifacts in a sample of 5 nodes of each topology, drawn"
        " with --seed 7"
    )


@pytest.mark.slow
def test_a_backup_is_restored_into_empty_stores_only(
    filled: Lab, tmp_path: Path, starcast: Starcast, fresh_database: URL
) -> None:
    manifest = filled.backup(tmp_path / "b.backup")
    assert manifest["rows"] > 0
    with pytest.raises(RejectedError):
        filled.restore(tmp_path / "b.backup")
    assert starcast("restore", str(tmp_path / "b.backup")).code == RejectedError.exit_code
    with pytest.raises(InputError):
        filled.restore(tmp_path / "missing")
    uri, password = without_password(fresh_database), fresh_database.password
    with connect(postgres_uri=uri, postgres_password=password) as other:
        assert other.restore(tmp_path / "b.backup", graph=False)["rows"] == manifest["rows"]
        assert other.runs().rows == filled.runs().rows
        assert other.schema()["differences"] == []


def test_a_closed_lab_refuses_everything_in_one_sentence(filled: Lab, tmp_path: Path) -> None:
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


def test_the_error_for_a_server_that_is_not_running_says_how_to_start_it(
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


def test_an_outdated_schema_is_refused_and_can_be_upgraded(
    fresh_database: URL, monkeypatch: pytest.MonkeyPatch
) -> None:
    name_store(monkeypatch, fresh_database)
    with connect() as lab:
        assert lab.schema()["revision"] is None
        assert isinstance(lab.schema().failure, RejectedError)
        with pytest.raises(RejectedError) as refusal:
            lab.topologies()
        assert "db upgrade" in refusal.value.hint
        newest = lab.upgrade()["revision"]
        assert lab.schema() == {"revision": newest, "newest": newest, "differences": []}
        assert len(lab.topologies()) == 0


def test_the_embedded_stack_is_found_by_its_home(
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
