"""The check scripts in the record folders use plain Python and agree with starcast."""

import ast
import hashlib
import json
import runpy
import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from starcast.records import PROBLEM_NAMES, Record, load_record, shipped_folder, witness_value
from starcast.topologies import topology

CHECKERS = {name: shipped_folder() / name / "check.py" for name in PROBLEM_NAMES}
CHECKS = {name: runpy.run_path(str(path)) for name, path in CHECKERS.items()}
SMALL = ("S3", "S4", "S5", "S4,2", "S5,2", "S5,3", "Q3", "Q4")
FILES = sorted(
    path for path in shipped_folder().glob("*/*.json") if path.stem.split("-")[0] in SMALL
)
by_file = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}:{path.stem}")


@by_file
def test_the_check_script_of_a_problem_accepts_the_records_on_small_topologies(path: Path) -> None:
    assert CHECKS[path.parent.name]["check"](path)["value"] == load_record(path).value


@pytest.mark.parametrize("spec", ["S4", "S5,2", "S5,4", "S4,1", "Q4"])
def test_the_check_script_of_records_computes_the_same_neighbours_as_starcast(spec: str) -> None:
    graph = topology(spec)
    table = CHECKS["bisection-width"]["neighbours"](spec)
    assert list(table) == list(graph.ports)
    for port, row in table.items():
        assert row == graph.neighbours(port).tolist()


def write(folder: Path, record: Record, witness: dict[str, Any]) -> Path:
    """Write a record with another witness and the matching SHA-256; return the record's path."""
    np.savez_compressed(folder / "spoiled.npz", **witness)
    digest = hashlib.sha256((folder / "spoiled.npz").read_bytes()).hexdigest()
    fields = {**record.fields(), "witness": {"file": "spoiled.npz", "sha256": digest}}
    path = folder / "spoiled.json"
    path.write_text(json.dumps(fields))
    return path


@by_file
def test_the_check_script_of_records_and_starcast_agree_on_a_changed_witness(
    path: Path, tmp_path: Path
) -> None:
    """Each of six trials changes one random entry of the record's witness."""
    record, chance = load_record(path), np.random.default_rng(5)
    names = [
        name for name in ("parent_port", "round", "ports", "pair", "side") if name in record.witness
    ]
    rejected = 0
    for _ in range(6):
        name = str(chance.choice(names))
        array = record.witness[name].copy()
        position = tuple(int(chance.integers(length)) for length in array.shape)
        array[position] = chance.integers(0, 5)
        witness = {**record.witness, name: array}
        try:
            value = witness_value(record.problem, record.topology, record.arguments, witness)
        except Exception:  # noqa: BLE001 - starcast rejects it
            value = None
        try:
            CHECKS[record.problem]["check"](write(tmp_path, record, witness))
        except (ValueError, KeyError, IndexError):
            rejected += 1
            assert value != record.value
        else:
            assert value == record.value
    assert rejected > 0


def test_trees_that_share_a_link_are_rejected_as_edge_disjoint_trees(
    tmp_path: Path,
) -> None:
    shared = load_record(shipped_folder() / "congestion-trees" / "S4-congestion-2.json")
    path = write(tmp_path, shared, dict(shared.witness))
    assert CHECKS["congestion-trees"]["check"](path)["value"] == shared.value
    with pytest.raises(ValueError, match="two trees use a link in the same direction"):
        CHECKS["edge-disjoint-trees"]["check"](path)


def test_the_check_script_of_records_rejects_a_changed_witness_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = load_record(shipped_folder() / "one-port-broadcast" / "S4.json")
    path = write(tmp_path, record, dict(record.witness))
    (tmp_path / "spoiled.npz").write_bytes(b"other")
    checker = str(CHECKERS[record.problem])
    monkeypatch.setattr(sys, "argv", [checker, str(path)])
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(checker, run_name="__main__")
    assert ended.value.code == f"REJECTED {path}: the witness has another SHA-256"


def test_one_script_runs_the_check_scripts_in_all_record_folders(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    together = str(shutil.copy(shipped_folder() / "check.py", tmp_path))
    for name in ("bisection-width", "fault-diameter"):
        shutil.copytree(shipped_folder() / name, tmp_path / name)
        for path in (tmp_path / name).glob("*.json"):
            if path.stem != "S4":
                path.unlink()
    monkeypatch.setattr(sys, "argv", [together])
    runpy.run_path(together, run_name="__main__")
    printed = capsys.readouterr().out
    assert printed == "accepted bisection-width:S4: value 8\naccepted fault-diameter:S4: value 6\n"


@pytest.mark.parametrize("name", PROBLEM_NAMES)
def test_a_check_script_of_records_imports_only_the_standard_library(name: str) -> None:
    tree = ast.parse(CHECKERS[name].read_text())
    imported = {
        alias.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert imported <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))


def test_all_check_scripts_of_records_contain_the_same_helper_functions() -> None:
    shared = {path.read_text().partition("def require(")[2] for path in CHECKERS.values()}
    assert len(shared) == 1
