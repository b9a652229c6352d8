"""The checker next to the records: plain Python that judges witnesses as starcast does."""

import ast
import hashlib
import json
import runpy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from starcast.records import Record, load_record, shipped_folder, witness_value
from starcast.topologies import topology

CHECKER = shipped_folder() / "check.py"
CHECK = runpy.run_path(str(CHECKER))
SMALL = ("S3", "S4", "S5", "S4,2", "S5,2", "S5,3", "Q3", "Q4")
FILES = sorted(
    path for path in shipped_folder().glob("*/*.json") if path.stem.split("-")[0] in SMALL
)
by_file = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}:{path.stem}")


@by_file
def test_a_shipped_witness_is_accepted(path: Path) -> None:
    assert CHECK["check"](path)["value"] == load_record(path).value


@pytest.mark.parametrize("spec", ["S4", "S5,2", "S5,4", "S4,1", "Q4"])
def test_the_checker_has_the_topologies_of_starcast(spec: str) -> None:
    graph = topology(spec)
    table = CHECK["neighbours"](spec)
    assert list(table) == list(graph.ports)
    for port, row in table.items():
        assert row == graph.neighbours(port).tolist()


def write(folder: Path, record: Record, witness: dict[str, Any]) -> Path:
    """Write a record with another witness, whose SHA-256 is right."""
    np.savez_compressed(folder / "spoiled.npz", **witness)
    digest = hashlib.sha256((folder / "spoiled.npz").read_bytes()).hexdigest()
    fields = {**record.fields(), "witness": {"file": "spoiled.npz", "sha256": digest}}
    path = folder / "spoiled.json"
    path.write_text(json.dumps(fields))
    return path


@by_file
def test_a_spoiled_witness_is_accepted_only_if_its_value_is_the_same(
    path: Path, tmp_path: Path
) -> None:
    """The verdict on a witness with one changed entry is that of starcast's own check."""
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
            CHECK["check"](write(tmp_path, record, witness))
        except (ValueError, KeyError, IndexError):
            rejected += 1
            assert value != record.value
        else:
            assert value == record.value
    assert rejected > 0


def test_a_changed_file_and_a_wrong_value_are_named_with_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    record = load_record(shipped_folder() / "one-port-broadcast" / "S4.json")
    path = write(tmp_path, record, dict(record.witness))
    (tmp_path / "spoiled.npz").write_bytes(b"other")
    monkeypatch.setattr(sys, "argv", [str(CHECKER), str(path)])
    with pytest.raises(SystemExit) as ended:
        CHECK["main"]()
    assert ended.value.code == 1
    assert capsys.readouterr().out == f"REJECTED {path}: the witness has another SHA-256\n"


def test_the_checker_imports_only_the_standard_library() -> None:
    tree = ast.parse(CHECKER.read_text())
    imported = {
        name.name.partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for name in node.names
    }
    assert imported <= sys.stdlib_module_names
    assert not any(isinstance(node, ast.ImportFrom) for node in ast.walk(tree))
