"""Forest files: opening a saved forest returns it unchanged, and other files are refused."""

import io
import os
import subprocess
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.support.errors import InputError
from starcast.topologies import topology
from starcast.trees import Forest, constructions, forest, plain_constructions
from starcast.trees.construction import CONSTRUCTIONS
from support.record_files import npy_header
from support.workers import run_program

SPECS = ("S2", "S4", "S5", "S4,2", "S5,1", "Q3")
PLAIN = [(spec, name) for spec in SPECS for name in plain_constructions(spec)]


def same(first: Forest, other: Forest) -> bool:
    """Return whether two forests are equal in all fields."""
    parts = ("topology", "root", "construction", "spanning", "id", "trees")
    return (
        all(getattr(first, name) == getattr(other, name) for name in parts)
        and dict(first.arguments) == dict(other.arguments)
        and (first.verify_hubs is None) == (other.verify_hubs is None)
        and list(first.verify_hubs or ()) == list(other.verify_hubs or ())
        and np.array_equal(first.parent_port, other.parent_port)
    )


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """The path of a file with the forest `multiple` of S5."""
    path = tmp_path / "forest.npz"
    forest("S5", "multiple", "54321").save(path)
    return path


def refusal(path: Path) -> InputError:
    """Check that a file cannot be opened and return the error."""
    with pytest.raises(InputError) as caught:
        Forest.open(path)
    assert "\n" not in caught.value.message
    assert path.name in caught.value.message
    assert caught.value.hint
    return caught.value


def rewritten(path: Path, **parts: Any) -> Path:
    """Replace parts of a file, or remove those whose value is None; return the path of the file."""
    with np.load(path, allow_pickle=False) as loaded:
        contents = {name: loaded[name] for name in loaded} | parts
    np.savez(path, **{name: part for name, part in contents.items() if part is not None})
    return path


@pytest.mark.parametrize(("spec", "construction"), PLAIN)
def test_forests_can_be_saved_and_opened_again_unchanged(
    tmp_path: Path, spec: str, construction: str
) -> None:
    trees = forest(spec, construction, topology(spec).nodes // 2)
    trees.save(tmp_path / "f.npz")
    loaded = Forest.open(tmp_path / "f.npz")
    assert same(loaded, trees)
    assert loaded.parent_port.dtype == np.uint8
    assert not loaded.parent_port.flags.writeable
    loaded.verify()


@pytest.mark.parametrize("arguments", [{"base": "multiple"}, {"base": "shortest-path", "i": 2}])
def test_arguments_saved_in_a_forest_file_keep_their_types(
    tmp_path: Path, arguments: dict[str, str | int]
) -> None:
    name = "dimension-change" if "i" in arguments else "label-change"
    assert {first.name for first in CONSTRUCTIONS[name].arguments} == set(arguments)
    trees = forest("S4", name, "4132", **arguments)
    trees.save(tmp_path / "f.npz")
    assert same(Forest.open(tmp_path / "f.npz"), trees)


def test_an_array_is_saved_even_if_it_is_not_a_forest(tmp_path: Path) -> None:
    """Neither saving nor opening verifies the forest."""
    array = np.full((1, 24), 2, dtype=np.uint8)
    array[0, 0] = 0
    Forest(topology("S4"), array).save(tmp_path / "f.npz")
    loaded = Forest.open(tmp_path / "f.npz")
    assert np.array_equal(loaded.parent_port, array)
    with pytest.raises(Exception, match="cycle"):
        loaded.verify()


def test_the_path_of_a_forest_file_may_be_a_string_and_gets_no_suffix(tmp_path: Path) -> None:
    for name in ("multiple", "greedy"):  # the second forest replaces the first
        forest("S3", name).save(str(tmp_path / "trees"))
    assert os.listdir(tmp_path) == ["trees"]  # noqa: PTH208 - a string, like the path above
    assert Forest.open(str(tmp_path / "trees")).id == "S3:greedy:123"


def test_a_forest_file_with_the_part_names_of_earlier_versions_is_read(tmp_path: Path) -> None:
    """In earlier files, the part ``verify_hubs`` is called ``toward``.

    The argument ``base`` is called ``tree``.
    """
    trees = forest("S4", "label-change", "4132", base="multiple")
    trees.save(tmp_path / "f.npz")
    hubs = np.array(trees.verify_hubs)
    arguments = np.array('{"tree": "multiple"}')
    rewritten(tmp_path / "f.npz", verify_hubs=None, toward=hubs, arguments=arguments)
    assert same(Forest.open(tmp_path / "f.npz"), trees)


def test_a_forest_file_contains_no_pickled_objects(saved: Path) -> None:
    with zipfile.ZipFile(saved) as archive:
        for name in archive.namelist():
            np.load(io.BytesIO(archive.read(name)), allow_pickle=False)


def test_an_interrupted_write_of_a_forest_file_leaves_only_the_old_file(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = saved.read_bytes()

    def broken(file: Any, **_: object) -> None:
        file.write(b"half")
        raise KeyboardInterrupt

    monkeypatch.setattr(np, "savez_compressed", broken)
    with pytest.raises(KeyboardInterrupt):
        forest("S3", "greedy").save(saved)
    assert saved.read_bytes() == before
    assert [path.name for path in saved.parent.iterdir()] == [saved.name]


@pytest.mark.parametrize("place", ["no-such-folder/f.npz", "", "a-file/f.npz"])
def test_saving_a_forest_to_an_unwritable_path_is_an_input_error(
    tmp_path: Path, place: str
) -> None:
    (tmp_path / "a-file").write_text("here")
    with pytest.raises(InputError) as caught:
        forest("S3", "greedy").save(tmp_path / place)
    assert caught.value.hint
    assert [path.name for path in tmp_path.iterdir()] == ["a-file"]


@pytest.mark.parametrize(
    "content", [b"", b"parent_port", b"PK\x03\x04 not really", b"\x93NUMPY\x01\x00"]
)
def test_a_file_of_another_program_is_refused_as_a_forest(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "f.npz"
    path.write_bytes(content)
    assert "is not a starcast forest" in refusal(path).message
    assert "such as breadth-first" in refusal(path).hint
    for parts in ({"parent_port": np.zeros((1, 24), np.uint8)}, {"format": np.array("another")}):
        np.savez(path, **parts)
        assert "is not a starcast forest" in refusal(path).message
    assert "cannot be read" in refusal(tmp_path).message
    assert "No such file" in refusal(tmp_path / "nowhere.npz").message


def test_pickled_objects_in_a_forest_file_are_refused_without_unpickling_them(
    tmp_path: Path, saved: Path
) -> None:
    class Trap:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "sprung"),)

    for part in ("format", "parent_port", "arguments"):
        forest("S5", "multiple").save(saved)
        rewritten(saved, **{part: np.array([Trap()], dtype=object)})
        assert "forest" in refusal(saved).message
    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("version", [0, 2, 77])
def test_the_error_for_another_version_of_forest_files_names_both_versions(
    saved: Path, version: int
) -> None:
    error = refusal(rewritten(saved, version=np.array(version)))
    assert f"version {version}" in error.message
    assert "reads version 1" in error.message


@pytest.mark.parametrize(
    "parts",
    [
        {"version": np.array("one")},
        {"version": np.array([1, 1])},
        {"topology": np.array("S13")},
        {"topology": np.array("T4")},
        {"topology": None},
        {"root": np.array(120)},
        {"root": np.array(-1)},
        {"root": None},
        {"construction": None},
        {"arguments": np.array("{")},
        {"arguments": np.array("[]")},
        {"arguments": np.array('{"base": []}')},
        {"spanning": np.array([True, False])},
        {"verify_hubs": np.array([0])},
        {"verify_hubs": np.array([0, 1, 2, 120])},
        {"parent_port": None},
        {"parent_port": np.zeros((4, 120), dtype=np.int64)},
        {"arguments": np.array("null")},
        {"arguments": np.array("[" * 3_000 + "]" * 3_000)},
        {"arguments": np.array('{"i": ' + "9" * 5_000 + "}")},
        {"arguments": np.array('{"i": true}')},
        {"arguments": np.array('{"i,base": 1}')},
        {"construction": np.array("multi(ple")},
        {"construction": np.array("two\nlines")},
        {"construction": np.array("x" * 1_000)},
    ],
    ids=lambda parts: " ".join(f"{name}={part}" for name, part in parts.items()).replace("\n", " ")[
        :40
    ],
)
def test_a_forest_file_with_an_invalid_part_is_reported_as_damaged(
    saved: Path, parts: dict[str, Any]
) -> None:
    assert "is a damaged forest file" in refusal(rewritten(saved, **parts)).message


@pytest.mark.parametrize("shape", [(4, 24), (120,), (0, 120)])
def test_a_forest_file_whose_array_has_a_wrong_shape_is_refused(
    saved: Path, shape: tuple[int, ...]
) -> None:
    rewritten(
        saved, parent_port=np.zeros(shape, dtype=np.uint8), verify_hubs=np.array([], dtype=np.int64)
    )
    with pytest.raises(InputError, match="a forest on S5 must be an array"):
        Forest.open(saved)


def open_with_limited_memory(path: Path, megabytes: int = 64) -> subprocess.CompletedProcess[str]:
    """Open a file in a process that may allocate at most `megabytes` MB after its start."""
    script = f"""
import resource, sys
from starcast import Forest, StarcastError
Forest("S3", [[0, 3, 2, 2, 2, 3]]).verify()
with open("/proc/self/statm") as statm:
    used = int(statm.read().split()[0]) * resource.getpagesize()
limit = used + {megabytes} * 2**20
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    Forest.open(sys.argv[1])
except StarcastError as error:
    print(error.message)
"""
    return run_program(script, str(path), check=False)


def with_member(path: Path, name: str, header: bytes, data: Iterable[bytes]) -> Path:
    """Replace a member of a zip file by an array, given by its header and data; return the path."""
    with zipfile.ZipFile(path) as archive:
        others = {info: archive.read(info) for info in archive.namelist() if info != f"{name}.npy"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for other, content in others.items():
            archive.writestr(other, content)
        with archive.open(f"{name}.npy", "w") as member:
            member.write(header)
            for part in data:
                member.write(part)
    return path


@pytest.mark.parametrize(
    ("part", "dtype", "shape"),
    [
        ("parent_port", "|u1", (2**20, 128)),  # too many trees
        ("parent_port", "|u1", (4, 120)),  # more bytes than the array needs
        *((part, "<U33554432", ()) for part in ("format", "topology", "construction", "arguments")),
        *((part, "<i8", (2**24,)) for part in ("root", "version", "spanning", "verify_hubs")),
    ],
)
def test_a_part_of_a_forest_file_that_expands_to_many_bytes_is_refused_unread(
    saved: Path, part: str, dtype: str, shape: tuple[int, ...]
) -> None:
    """A compressed file can expand to a thousand times its size."""
    with_member(saved, part, npy_header(shape, dtype), (b"x\0\0\0" * 2**18 for _ in range(128)))
    assert saved.stat().st_size < 2**20
    done = open_with_limited_memory(saved)
    assert done.stderr == ""
    assert ("forest" if part == "format" else "is a damaged forest file") in done.stdout


@pytest.mark.parametrize("end", [b"'shape': (", b"'shape': (4, 120", b"9" * 5_000, b"\x00", b"("])
def test_a_forest_file_with_a_damaged_array_header_is_reported_as_damaged(
    saved: Path, end: bytes
) -> None:
    header = bytearray(npy_header((4, 120)))
    start = header.index(b"'shape'")
    header[start:] = end[: len(header) - start].ljust(len(header) - start - 1) + b"\n"
    with_member(saved, "parent_port", bytes(header), [bytes(480)])
    assert "is a damaged forest file" in refusal(saved).message


@given(st.data())
def test_a_changed_or_truncated_forest_file_does_not_open_as_another_forest(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """The file is refused or, if the changed bit does not matter, opens as the same forest."""
    path = tmp_path_factory.mktemp("damage") / "forest.npz"
    meant = forest("S4", "multiple", "4321")
    meant.save(path)
    content = bytearray(path.read_bytes())
    place = data.draw(st.integers(0, len(content) - 1))
    if data.draw(st.booleans()):
        content = content[:place]
    else:
        content[place] ^= 1 << data.draw(st.integers(0, 7))
    path.write_bytes(content)
    try:
        loaded = Forest.open(path)
    except InputError:
        return
    assert same(loaded, meant)


def test_the_tests_of_forest_files_cover_all_constructions_without_required_arguments() -> None:
    tested = {name for _, name in PLAIN}
    needed = {
        name: [each for each in CONSTRUCTIONS[name].arguments if each.default is None]
        for name in constructions()
    }
    assert {name for name, arguments in needed.items() if not arguments} == tested


@pytest.mark.parametrize(("name", "arguments"), [("a:b", {}), ("mine", {"tag": "a:b"})])
def test_a_colon_cannot_be_part_of_a_construction_or_its_arguments(
    name: str, arguments: dict[str, str]
) -> None:
    greedy = forest("S3", "greedy")
    with pytest.raises(InputError, match="cannot be part of an id"):
        Forest(greedy.topology, greedy.parent_port, 0, name, arguments)
