"""Exported experiments keep their provenance; files that contradict stored runs are refused."""

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine

from starcast.catalogue import plugins
from starcast.catalogue.plugins import PluginMissingError
from starcast.comparison.compare import compare
from starcast.comparison.curves import load_profiles
from starcast.comparison.listing import list_repetitions, list_runs, run_facts
from starcast.comparison.plots import plot_file
from starcast.comparison.presentation import describe
from starcast.comparison.sides import load_side
from starcast.experiments.design import Design, Grid, as_toml
from starcast.experiments.exchange import export_experiments, import_experiments
from starcast.experiments.running import (
    Outcome,
    drop_experiment,
    exclusive,
    reproduce,
    run_experiment,
    run_once,
)
from starcast.stores.database import models, repository
from starcast.stores.database.sessions import open_session
from starcast.support.errors import BusyError, InputError, NotFoundError, RejectedError
from starcast.support.progress import Silent
from support.experiments import make_point
from support.fix_cli import Starcast, name_store
from support.fix_plugins import load_examples
from support.fix_servers import execute, scalars
from support.recorder import Recorder
from support.stored_runs import PROVENANCE

GRID = Grid({
    "topology": "S4", "collective": "broadcast", "algorithm": ["multiple", "edge-disjoint"],
    "message_bytes": ["64", "23/3"], "faults": ["none", "2134"],
})  # fmt: skip
SMALL = Grid({
    "topology": "S3", "collective": "allgather", "algorithm": "dimension-change",
    "base": ["greedy", "necklace"], "message_bytes": "1",
})  # fmt: skip


@pytest.fixture
def colleague(migrated: Engine) -> Engine:
    """A second database, which represents the store of a colleague."""
    return migrated


@pytest.fixture
def stored(engine: Engine) -> Engine:
    """Two experiments with grids and a collection of single runs, from another machine."""
    run_experiment(engine, "a", GRID, Silent(), jobs=1)
    run_experiment(engine, "b", SMALL, Silent(), jobs=1)
    run_once(engine, GRID.points()[0], "single")
    with open_session(engine) as session:
        for run in session.query(models.Run):
            run.provenance = {**PROVENANCE, "note": "ü"}
    return engine


@pytest.fixture(params=["runs.json", "runs.json.gz"])
def file(stored: Engine, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    target: Path = tmp_path / request.param
    assert export_experiments(stored, ["b", "a", "single", "a"], target) == 11
    return target


def rows(engine: Engine) -> dict[str, list[str]]:
    """Return the sorted rows of each experiment table, without ids, which differ per database."""
    of_runs = (
        "select (to_jsonb(t) - 'run')::text || r.topology || r.algorithm || r.faults"
        " from {} as t join run as r on r.id = t.run"
    )
    queries = {
        "experiment": "select (to_jsonb(e) - 'id')::text from experiment as e",
        "run": "select (to_jsonb(r) - 'id' - 'experiment')::text || e.name from run as r"
        " join experiment as e on e.id = r.experiment",
        "cost": of_runs.format("cost"),
        "step_profile": of_runs.format("step_profile"),
    }
    return {name: sorted(scalars(engine, query)) for name, query in queries.items()}


def test_imported_runs_equal_the_exported_ones_including_provenance(
    stored: Engine, file: Path, colleague: Engine
) -> None:
    imported = import_experiments(colleague, file)
    assert imported == [
        Outcome("b", 0, 2),
        Outcome("a", 0, 8),
        Outcome("single", 0, 1),
    ]
    assert rows(colleague) == rows(stored)
    assert all(each.agrees for each in reproduce(colleague, "a", Silent(), jobs=1))
    assert run_experiment(colleague, "a", GRID, Silent()).kept == 8
    with open_session(colleague) as session:
        assert compare([load_side(session, "a")]).rows()


@pytest.mark.slow
def test_an_import_adds_the_missing_runs_of_an_incomplete_experiment(
    file: Path, colleague: Engine
) -> None:
    run_experiment(colleague, "a", GRID, Silent(), jobs=1)
    execute(colleague, "delete from run where id <= 3")
    assert import_experiments(colleague, file)[1] == Outcome("a", 5, 3)


def test_an_experiment_can_be_imported_under_another_name(
    stored: Engine, colleague: Engine, tmp_path: Path
) -> None:
    export_experiments(stored, ["b"], tmp_path / "b.json")
    assert import_experiments(colleague, tmp_path / "b.json", "theirs")[0].name == "theirs"
    with pytest.raises(InputError, match="'a b' is not a valid name"):
        import_experiments(colleague, tmp_path / "b.json", "a b")


@pytest.mark.parametrize(
    ("change", "figure"),
    [
        ("update cost set time = '1' where kind = 'simulated'", "costs"),
        ("update cost set steps = 1 where kind = 'simulated'", "steps"),
        ("update run set missing = 17", "missing"),
        ("update step_profile set packets = 77", "profile"),
    ],
)
@pytest.mark.parametrize("name", ["a", "another"])
def test_a_run_that_contradicts_a_stored_run_is_refused_and_nothing_is_stored(
    file: Path, colleague: Engine, change: str, figure: str, name: str
) -> None:
    """The stored run is in an experiment with the same name or with another name."""
    run_experiment(colleague, name, GRID, Silent(), jobs=1)
    execute(colleague, change)
    before = rows(colleague)
    with pytest.raises(RejectedError, match=f"differs from the stored run .* in {figure}"):
        import_experiments(colleague, file)
    assert rows(colleague) == before


@pytest.mark.slow
def test_importing_an_experiment_whose_stored_grid_differs_is_refused(
    file: Path, colleague: Engine
) -> None:
    run_experiment(colleague, "a", SMALL, Silent(), jobs=1)
    before = rows(colleague)
    with pytest.raises(
        InputError, match="the stored experiment 'a' has a different grid"
    ) as refused:
        import_experiments(colleague, file)
    assert refused.value.hint == "use another name"
    assert rows(colleague) == before


@pytest.mark.slow
def test_importing_into_an_experiment_in_use_is_reported_as_busy(
    file: Path, colleague: Engine
) -> None:
    with exclusive(colleague, "a"), pytest.raises(BusyError, match="using the experiment 'a'"):
        import_experiments(colleague, file)


def test_many_experiments_are_imported_from_one_file(engine: Engine, tmp_path: Path) -> None:
    """The import does not need a separate database connection for each experiment's lock."""
    names = [f"part-{number}" for number in range(20)]
    for name in names:
        run_experiment(engine, name, SMALL, Silent(), jobs=1)
    export_experiments(engine, names, tmp_path / "all.json")
    for name in names[:10]:
        drop_experiment(engine, name)
    imported = import_experiments(engine, tmp_path / "all.json")
    assert [each.created for each in imported] == [2] * 10 + [0] * 10


def test_an_export_of_an_unknown_experiment_is_refused(stored: Engine, tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no experiment 'c' is stored"):
        export_experiments(stored, ["a", "c"], tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


def damaged(file: Path) -> Iterator[bytes]:
    data = file.read_bytes()
    for part in (0, 1, 2, 100, len(data) // 2, len(data) - 1):
        yield data[:part]
    yield b"[" * 100_000
    yield b"PK\x03\x04"
    yield gzip.compress(data)[:-20]
    yield bytes(range(256)) * 10


def test_importing_a_damaged_or_foreign_file_is_refused(
    file: Path, colleague: Engine, tmp_path: Path
) -> None:
    bad = tmp_path / "bad"
    for data in damaged(file):
        bad.write_bytes(data)
        with pytest.raises(InputError, match="is not a valid experiment file"):
            import_experiments(colleague, bad)
    for other in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match="cannot be read"):
            import_experiments(colleague, other)
    assert not any(rows(colleague).values())


PLUGIN = """
import starcast

__version__ = "1.5"

@starcast.construction("mine", source="a colleague")
def mine(topology, root):
    return starcast.forest(topology, "breadth-first", root)

@starcast.algorithm("broadcast", "own", source="a colleague")
def own(topology, root, ports, segments: int = 1):
    along = starcast.schedule(
        topology, "broadcast", "forest", base="mine", root=root, segments=segments
    )
    return {name: getattr(along, name) for name in ("step", "sender", "port", "unit")}
"""
OWN = {
    "topology": ["S4", "P4"],
    "algorithm": ["own", "forest(base=mine)", "forest(base=breadth-first)"],
    "message_bytes": [64, 1024], "segments": [1, 2],
}  # fmt: skip


@pytest.fixture
def own_file(engine: Engine, tmp_path: Path, registries: Callable[[], None]) -> tuple[Path, Path]:
    """Two paths: a file with runs of plug-ins that are no longer loaded, and one such plug-in."""
    plugin, file = tmp_path / "mine.py", tmp_path / "own.json"
    plugin.write_text(PLUGIN, encoding="utf-8")
    load_examples()
    plugins.load([str(plugin)])
    run_experiment(engine, "own", Design.from_json(OWN), Silent(), jobs=1)
    run_once(engine, make_point("S4", "broadcast", "own"), "single")
    export_experiments(engine, ["own", "single"], file)
    registries()
    return file, plugin


def test_runs_of_plug_ins_can_be_imported_without_the_plug_ins(
    engine: Engine, own_file: tuple[Path, Path], colleague: Engine, tmp_path: Path,
    registries: Callable[[], None],
) -> None:  # fmt: skip
    file, plugin = own_file
    assert import_experiments(colleague, file) == [
        Outcome("own", 0, 24),
        Outcome("single", 0, 1),
    ]
    assert import_experiments(colleague, file) == [
        Outcome("own", 24, 0),
        Outcome("single", 1, 0),
    ]
    assert rows(colleague) == rows(engine)
    with open_session(colleague) as session:
        side = load_side(session, "own")
        assert (len(side.runs), side.incomplete) == (24, None)
        assert "--algorithm 'forest(base=mine)' --algorithm own" in side.commands[0]
        assert '"forest(base=mine)"' in as_toml(repository.load_experiment(session, "own").grid)
        assert len(list_runs(session).rows) == 25
        assert run_facts(side.runs[0], "own")["reproduce"].startswith("starcast run once")
        comparison = compare([side, load_side(session, "single")])
        assert comparison.complete.rows()
        assert describe(comparison, load_profiles(session, comparison))["panels"]
        assert plot_file(comparison, load_profiles(session, comparison), ".svg")
    export_experiments(colleague, ["own"], tmp_path / "again.json")
    missing = r"'own' of the plug-in mine \(version 1.5, SHA-256 [0-9a-f]{12}\)"
    (single,) = reproduce(colleague, "single", Silent(), jobs=1)
    assert re.search(missing, str(single.obstacle))
    assert run_facts(single.run, "single")["plugins"][0].startswith("own: mine, version 1.5, SHA-")
    run_experiment(colleague, "shipped", SMALL, Silent(), jobs=1)
    listed = list_repetitions([single, *reproduce(colleague, "shipped", Silent())], "mixed")
    assert (listed.rows[0]["agrees"], listed.rows[-1]["agrees"]) == (None, True)
    assert listed.note.endswith("; 1 run was not repeated")
    assert isinstance(listed.failure, PluginMissingError)
    load_examples()
    plugins.load([str(plugin)])
    assert import_experiments(colleague, file)[0] == Outcome("own", 24, 0)
    assert all(each.agrees for each in reproduce(colleague, "own", Silent(), jobs=1))
    registries()
    plugin.write_text(f"{PLUGIN}\n", encoding="utf-8")
    plugins.load([str(plugin)])
    listener = Recorder()
    assert all(each.agrees for each in reproduce(colleague, "single", listener, jobs=1))
    assert "the plug-in of 'own' differs from the plug-in that stored runs used" in listener.lines


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda run: run.update(provenance={}), "unknown broadcast algorithm 'own'"),
        (lambda run: run["provenance"]["plugins"]["own"].update(sha256="no"), "pattern"),
        (lambda run: run.update(algorithm="own", topology="x y"), "not a valid experiment file"),
        (lambda run: run["costs"][0].update(time="1"), "must be"),
        (lambda run: run.update(algorithm="greedy", costs=[]), "not a valid experiment file"),
    ],
)  # fmt: skip
def test_forged_runs_of_plug_ins_are_refused(
    own_file: tuple[Path, Path],
    colleague: Engine,
    change: Callable[[dict[str, Any]], None],
    problem: str,
) -> None:
    file, _ = own_file
    content = json.loads(file.read_text(encoding="utf-8"))
    change(content["experiments"][1]["runs"][0])
    file.write_text(json.dumps(content), encoding="utf-8")
    with pytest.raises((InputError, RejectedError), match=problem) as refused:
        import_experiments(colleague, file)
    assert "\n" not in refused.value.message
    assert not any(rows(colleague).values())


def test_runs_of_another_version_of_a_loaded_plug_in_are_refused(
    own_file: tuple[Path, Path], colleague: Engine
) -> None:
    file, plugin = own_file
    plugin.write_text(PLUGIN + "\n", encoding="utf-8")
    load_examples()
    plugins.load([str(plugin)])
    with pytest.raises(
        RejectedError, match=r"made with another version of the plug-in that defines '(own|mine)'"
    ):
        import_experiments(colleague, file)
    assert not any(rows(colleague).values())


@pytest.mark.slow
def test_runs_can_be_copied_to_another_store_by_experiment_export_and_import(
    stored: Engine,
    colleague: Engine,
    tmp_path: Path,
    starcast: Starcast,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = tmp_path / "both.json.gz"
    name_store(monkeypatch, stored.url)
    exported = starcast("experiment", "export", "a", "b", "--out", str(file))
    assert (exported.code, exported.err) == (0, f"{file}: 10 runs\n")
    name_store(monkeypatch, colleague.url)
    imported = starcast("experiment", "import", str(file), "-f", "csv")
    assert imported.code == 0
    assert "a,8,0\n" in imported.out
    execute(colleague, "update cost set time = '1' where kind = 'simulated'")
    refused = starcast("experiment", "import", str(file))
    assert refused.code == 6
    assert "nothing was stored" in refused.err
    assert starcast("experiment", "import", str(file), "--as", "c").code == 2


def test_an_import_replaces_a_stored_failed_run_by_a_complete_run(
    file: Path, colleague: Engine
) -> None:
    import_experiments(colleague, file)
    before = rows(colleague)
    execute(
        colleague,
        "update run set status = 'failed', error = 'e' where id = (select min(id) from run)",
        "delete from cost where run = (select min(id) from run)",
        "delete from step_profile where run = (select min(id) from run)",
    )
    outcomes = import_experiments(colleague, file)
    assert sum(outcome.created for outcome in outcomes) == 1
    assert rows(colleague) == before
