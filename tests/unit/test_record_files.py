"""Record files: damaged, forged and unrelated files are refused with a one-sentence error."""

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from starcast import network, topology
from starcast.records import Attempt, Record, find_record, load_record, shipped_record
from starcast.records.files import as_summary, unpack_witness, write_record
from starcast.records.model import ARGUMENTS, FIELDS
from starcast.search import PROBLEMS, running, save_record
from starcast.support.errors import InputError
from starcast.topologies import networks
from support.record_files import FOUR_ROUNDS, put_record

PROOF = shipped_record("edge-disjoint-trees", "S5").fields()["proof"]
SECOND = {**PROOF, "format": "second solver", "proof_sha256": "", "proof_bytes": 0}
TRIED = {"method": "m", "target": 1, "result": "open", "seconds": 1.0, "value": None}
NAN, INFINITY = float("nan"), float("inf")
WITNESS = {"file": "missing.npz", "sha256": "0" * 64}
#: Changes to a record file, each with a part of the expected message.
DAMAGED: list[tuple[dict[str, object], str]] = [
    ({"format": 2}, "has the format 2"),
    ({"format": None}, "has the format None"),
    ({"problem": "other"}, "unknown problem 'other'"),
    ({"problem": 5}, "problem: Input should be a valid string"),
    ({"topology": "S4;"}, "topology: String should match pattern"),
    ({"topology": None}, "topology: Input should be a valid string"),
    ({"value": "5"}, "value: Input should be a valid integer"),
    ({"value": True}, "value: Input should be a valid integer"),
    ({"value": NAN}, "NaN is not a valid JSON number"),
    ({"value": -1}, "value: Input should be greater than or equal to 0"),
    ({"value": 10**30}, "value: Input should be less than or equal to 2147483647"),
    ({"bound": 10**30}, "bound: Input should be less than or equal to 2147483647"),
    ({"bound": 5.5}, "bound: Input should be a valid integer"),
    ({"reason": "x" * 10_000}, "reason: String should have at most 2000"),
    ({"reason": "\0"}, "a string contains a NUL character"),
    ({"command": 7}, "command: Input should be a valid string"),
    ({"seconds": INFINITY}, "Infinity is not a valid JSON number"),
    ({"seconds": -1}, "seconds: Input should be greater than or equal to 0"),
    ({"seconds": 1e30}, "seconds: Input should be less than or equal to"),
    ({"seconds": "1"}, "seconds: Input should be a valid number"),
    ({"arguments": {"congestion": 2}}, "the arguments of one-port-broadcast must be: none"),
    ({"arguments": []}, "arguments: Input should be a valid dictionary"),
    ({"problem": "congestion-trees"}, "the arguments of congestion-trees must be: congestion"),
    ({"optimal": False}, "'optimal' is False, but the value is 5 and the bound is 5"),
    ({"optimal": 1}, "optimal: Input should be a valid boolean"),
    ({"tried": [{"method": 1}]}, "tried.0.method: Input should be a valid string"),
    ({"tried": [{**TRIED, "target": 10**30}]}, "tried.0.target: Input should be less than"),
    ({"tried": [{**TRIED, "result": "won"}]}, "tried.0.result: Input should be 'witness'"),
    ({"tried": {}}, "tried: Input should be a valid list"),
    ({"proof": {"format": "DRAT"}}, "proof.statement: Field required"),
    ({"proof": {**PROOF, "format": "belief"}}, "proof.format: Input should be 'LRAT'"),
    (
        {"proof": {**PROOF, "format": "second solver"}},
        "'second solver' must have neither",
    ),
    ({"proof": {**SECOND, "proof_bytes": 1}}, "'second solver' must have neither"),
    ({"proof": {**SECOND, "format": "LRAT"}}, "a proof in the format 'LRAT' must have a SHA-256"),
    ({"proof": {**PROOF, "formula_sha256": "0"}}, "proof.formula_sha256: String should match"),
    ({"proof": {**PROOF, "proof_bytes": 10**30}}, "proof.proof_bytes: Input should be"),
    ({"proof": {**PROOF, "author": "x"}}, "proof.author: Extra inputs are not permitted"),
    ({"proof": "DRAT"}, "proof: Input should be a valid dictionary"),
    ({"author": "x"}, "author: Extra inputs are not permitted"),
    ({"witness": WITNESS}, "missing.npz cannot be read"),
    ({"witness": {**WITNESS, "file": "../S5.npz"}}, "witness.file: String should match"),
    ({"witness": {**WITNESS, "sha256": ""}}, "witness.sha256: String should match"),
    ({"witness": {}}, "witness.file: Field required"),
    ({"witness": None}, "witness: Field required"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGED)
def test_a_damaged_record_file_is_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    path = put_record(tmp_path, shipped_record("one-port-broadcast", "S4"))
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(InputError) as refused:
        load_record(path)
    assert message in refused.value.message
    assert "\n" not in refused.value.message


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tried": (Attempt("m", 1, "open", 1.0, seed=2**31),)}, "tried.0.seed: Input should be"),
        ({"command": "x" * 3_000}, "command: String should have at most 2000 characters"),
        ({"arguments": {"congestion": 3}}, "the arguments of one-port-broadcast must be: none"),
    ],
)
def test_a_record_with_content_that_could_not_be_read_back_is_not_written(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    record = shipped_record("one-port-broadcast", "S4")
    path = put_record(tmp_path, record)
    files = {each: each.read_bytes() for each in path.parent.iterdir() if each.is_file()}
    with pytest.raises(InputError) as refused:
        write_record(path, replace(record, witness=FOUR_ROUNDS.witness, **change))
    assert refused.value.message == (
        f"{path} cannot be written: its content is not a record: {message}"
        f"{refused.value.message.partition(message)[2]}"
    )
    assert files == {each: each.read_bytes() for each in path.parent.iterdir() if each.is_file()}


def test_after_a_damaged_record_file_is_removed_as_the_hint_says_a_record_can_be_saved(
    tmp_path: Path,
) -> None:
    record = shipped_record("one-port-broadcast", "S4")
    path = put_record(tmp_path, record)
    path.write_text("{}")
    with pytest.raises(InputError) as refused:
        save_record(tmp_path, record)
    assert refused.value.hint == "restore the files, or remove them and search again"
    path.unlink()
    assert load_record(save_record(tmp_path, record)).fields() == record.fields()


@pytest.mark.parametrize("name", FIELDS)
def test_a_record_file_without_a_required_field_is_refused(tmp_path: Path, name: str) -> None:
    path = put_record(tmp_path, shipped_record("one-port-broadcast", "S4"))
    fields = json.loads(path.read_text())
    del fields[name]
    path.write_text(json.dumps(fields))
    with pytest.raises(InputError, match=f"is not a record: {name}: Field required"):
        load_record(path)


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "null", '"x"', "[" * 100_000, "1" * 5_000])
def test_a_record_file_without_a_json_object_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "S4.json"
    path.write_text(text)
    with pytest.raises(InputError, match="is not a record"):
        load_record(path)


def test_a_witness_file_with_a_wrong_checksum_is_refused(tmp_path: Path) -> None:
    path = put_record(tmp_path, shipped_record("one-port-broadcast", "S4"))
    (witness,) = path.parent.glob("*.npz")
    witness.write_bytes(witness.read_bytes() + b"\0")
    with pytest.raises(InputError, match="is damaged: its SHA-256 differs from that in the record"):
        load_record(path)


def _packed(*members: tuple[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", compression) as archive:
        for name, content in members:
            archive.writestr(name, content)
    return packed.getvalue()


def _array(array: object) -> bytes:
    packed = io.BytesIO()
    np.save(packed, np.asarray(array))
    return packed.getvalue()


def _claiming(flags: int = 0, method: int = zipfile.ZIP_STORED) -> bytes:
    """Return an archive whose headers state the given flags and compression method."""
    content = bytearray(_packed(("a.npy", _array([1, 2]))))
    claim = flags.to_bytes(2, "little") + method.to_bytes(2, "little")
    entry = content.index(b"PK\1\2")
    content[6:10] = content[entry + 8 : entry + 12] = claim
    return bytes(content)


def _broken_deflate() -> bytes:
    content = bytearray(_packed(("a.npy", _array([1, 2])), compression=zipfile.ZIP_DEFLATED))
    content[40:60] = bytes(20)
    return bytes(content)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        _array([1, 2]),
        _packed(("a.txt", b"text")),
        _packed(("a.npy", b"text")),
        _packed(("a.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': (((    \n")),
        _packed(("a.npy", _array(np.array([None])))),
        _claiming(method=97),
        _claiming(method=zipfile.ZIP_BZIP2),
        _claiming(method=zipfile.ZIP_LZMA),
        _claiming(method=zipfile.ZIP_DEFLATED),
        _claiming(flags=1),
        _broken_deflate(),
    ],
)
def test_a_witness_that_is_not_an_archive_of_arrays_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="the witness here cannot be read"):
        unpack_witness(content, "here")


def test_record_files_and_searches_declare_the_same_arguments_for_each_problem() -> None:
    for name, problem in PROBLEMS.items():
        assert set(ARGUMENTS[name]) == problem.arguments.keys()


def test_a_record_with_the_file_name_of_another_record_is_refused(tmp_path: Path) -> None:
    path = put_record(tmp_path, shipped_record("one-port-broadcast", "S4"))
    path.rename(path.with_name("S5.json"))
    with pytest.raises(InputError, match="its name does not match its id one-port-broadcast:S4"):
        find_record([tmp_path], "one-port-broadcast", "S5")


@pytest.fixture
def carried(monkeypatch: pytest.MonkeyPatch) -> Record:
    """A record on a custom network that no other process knows."""
    monkeypatch.setattr(networks, "_known", {})
    ladder = network([("x", "y"), ("y", "z"), ("z", "x"), ("z", "a")], name="ladder")
    return replace(FOUR_ROUNDS, topology=ladder.spec)


def test_the_file_of_a_record_on_a_custom_network_contains_the_network(
    tmp_path: Path, carried: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = put_record(tmp_path, carried)
    table = topology(carried.topology).table()
    monkeypatch.setattr(networks, "_known", {})
    assert load_record(path).digest == carried.digest
    np.testing.assert_array_equal(topology(carried.topology).table(), table)
    assert path.read_text().count("\n") == 1


def test_a_search_shard_contains_the_custom_network_of_its_record(
    carried: Record, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.loads(json.dumps(running._to_json(carried)))
    monkeypatch.setattr(networks, "_known", {})
    read = running._from_json(running._SearchResult.model_validate(content), "a shard")
    assert read.digest == carried.digest
    assert topology(carried.topology).nodes == 4


def test_the_file_of_a_record_on_a_built_in_topology_contains_no_network(tmp_path: Path) -> None:
    path = put_record(tmp_path, shipped_record("one-port-broadcast", "S4"))
    assert "network" not in json.loads(path.read_text())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"sha256": "0" * 64}, "the network 'ladder' does not have the SHA-256 000"),
        ({"name": "other"}, "its network is other-"),
        ({"links": [[0, 9, 1]]}, "joins a node that does not exist"),
        ({"links": 5}, "network.links: Input should be a valid list"),
        ({"author": "x"}, "network.author: Extra inputs are not permitted"),
    ],
)
def test_a_changed_network_in_a_record_file_is_refused(
    tmp_path: Path, carried: Record, changes: dict[str, object], message: str
) -> None:
    path = put_record(tmp_path, carried)
    content = json.loads(path.read_text())
    path.write_text(json.dumps({**content, "network": {**content["network"], **changes}}))
    with pytest.raises(InputError, match="is not a record") as refused:
        load_record(path)
    assert message in refused.value.message


def test_a_record_summary_abbreviates_consecutive_topologies() -> None:
    """The topologies S3, S4 and S5 are shown as S3..S5."""
    specs = ("S3", "S4", "S5", "Ring5", "Mesh4x5", "ladder-123456")
    records = [replace(FOUR_ROUNDS, topology=spec) for spec in specs]
    assert as_summary(records).readable()["topologies"] == [
        "S3..S5", "Ring5", "Mesh4x5", "ladder-123456",
    ]  # fmt: skip
