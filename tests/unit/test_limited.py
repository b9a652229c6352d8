"""Small files that expand to large content are refused with bounded memory and time."""

import gzip
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.records import load_record, path_of, shipped_folder
from starcast.support.errors import LimitError
from starcast.support.json_files import JsonCursor, parse_json
from starcast.support.limited import LimitedStream, read_bytes, read_text
from support import bombs

#: Limits for a process that reads a file, including the interpreter and its libraries.
MAX_MEMORY = 600 * bombs.MB
MAX_SECONDS = 30

#: A program that reads a file and prints the error and its peak memory in kB. Its own limits
#: protect the machine.
READER = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_DATA, (3 * 10**9, 3 * 10**9))
resource.setrlimit(resource.RLIMIT_CPU, ({seconds}, {seconds}))
from starcast.support.errors import StarcastError
file = Path(sys.argv[1])
try:
    {statement}
    print("read")
except StarcastError as error:
    print(f"{{error.exit_code}} {{error.message}}")
# Unlike ru_maxrss, this does not begin with the memory of the process that started this one.
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""

EXPERIMENTS = (
    "from starcast.experiments.exchange import import_experiments; import_experiments(None, file)"
)
SHARDS = (
    "from starcast.experiments.exchange import merge_experiment; merge_experiment(None, [file])"
)
BACKUP = "from starcast.stores.database.backup import read_manifest; read_manifest(file)"
RECORD = "from starcast.records import load_record; load_record(file)"
VERIFY = "from starcast.records import load_record, verify; verify(load_record(file))"
FOREST = "from starcast.trees import Forest; Forest.open(file)"
DESIGN = "from starcast.experiments.design import read_design; read_design(str(file))"


@dataclass(frozen=True)
class Outcome:
    """Exit code, error message and peak memory of a child process that reads a file."""

    code: int
    message: str
    memory: int


def read_in_child(statement: str, file: Path) -> Outcome:
    """Read a file in a child process with limited memory and processor time."""
    done = subprocess.run(
        [sys.executable, "-c", READER.format(statement=statement, seconds=MAX_SECONDS), str(file)],
        capture_output=True,
        text=True,
        timeout=10 * MAX_SECONDS,  # MAX_SECONDS limits the processor time
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        check=False,
    )
    lines = done.stdout.splitlines()
    assert len(lines) == 2, (done.returncode, done.stderr[-500:])
    code, _, message = lines[0].partition(" ")
    return Outcome(int(code), message, int(lines[1]) * 1024)


def _zipped(*parts: tuple[bytes, int]) -> Callable[[Path], Path]:
    """Return a function that writes a gzip file with these parts, each repeated."""

    def write(folder: Path) -> Path:
        file = folder / "bomb.json.gz"
        file.write_bytes(bombs.gzip_of(*parts))
        return file

    return write


def _experiment(start: bytes, part: bytes, times: int, end: bytes) -> Callable[[Path], Path]:
    """Return a function that writes an experiment whose runs contain a part many times."""
    before, after = bombs.experiment_text(start)
    return _zipped((before, 1), (part, times), (end + after, 1))


_DEEP = _experiment(b'{"provenance":[', b'{"a":{}},' * 870_000, 1, b"{}]}")
_MANY_RUNS = _experiment(b"", b"[]," * 333_333, 150, b"")
_LONG_RUN = _experiment(b'{"profile":[', b"[1,2,3]," * 125_000, 100, b"[1,2,3]]}")
_BLANKS = _experiment(b"", b" " * bombs.MB, 1_800, b"")
_LISTS = _zipped((b"[", 1), (b"[]," * 333_333, 60), (b"[]]", 1))


def _manifest(folder: Path) -> Path:
    file = folder / "bomb.backup"
    file.write_bytes(bombs.zip_of({"postgres.dump": (b"PGDMP", 0), "manifest.json": (b"{", 1_000)}))
    return file


def _directory(folder: Path) -> Path:
    file = folder / "bomb.backup"
    bombs.zip_with_directory(file, 30_000)
    return file


def _broadcast_record(folder: Path, witness: bytes) -> Path:
    record = load_record(path_of(shipped_folder(), "one-port-broadcast", "S4"))
    return bombs.record_files(folder, witness, **record.fields())


def _witness(folder: Path) -> Path:
    ports = (bombs.npy_header((1_000 * bombs.MB,), "|u1"), 1_000)
    return _broadcast_record(folder, bombs.zip_of({"parent_port.npy": ports}))


def _huge_header(folder: Path) -> Path:
    header = (bombs.npy_header((80 * 10**12,), "|u1"), 0)
    return _broadcast_record(folder, bombs.zip_of({"parent_port.npy": header}, 2**32 - 2))


def _empty_values(folder: Path) -> Path:
    header = (bombs.npy_header((10**18,), "|V0"), 0)
    return _broadcast_record(folder, bombs.zip_of({"parent_port.npy": header}))


def _large_topology(folder: Path) -> Path:
    """Write a record whose witness is a closed walk on S10 that uses a valid port in each step."""
    record = load_record(path_of(shipped_folder(), "hamiltonian-decomposition", "S4"))
    members = {"ports.npy": (bombs.npy_header((1, 3_628_800), "|u1") + b"\2\3" * 1_814_400, 0)}
    fields = {**record.fields(), "topology": "S10"}
    return bombs.record_files(folder, bombs.zip_of(members), **fields)


def _many_cycles(folder: Path) -> Path:
    """Write a record on S4 with four million cycles, whose arrays take 96 MB."""
    record = load_record(path_of(shipped_folder(), "hamiltonian-decomposition", "S4"))
    cycles = (bombs.npy_header((4_000_000, 24), "|u1"), 96)
    return bombs.record_files(folder, bombs.zip_of({"ports.npy": cycles}), **record.fields())


def _long_record(folder: Path) -> Path:
    file = folder / "record.json"
    with file.open("wb") as opened:
        opened.truncate(2_000 * bombs.MB)
    return file


def _forest(folder: Path) -> Path:
    file = folder / "forest.npz"
    header = bombs.npy_header((17, 39_916_800), "|u1")
    bombs.forest_file(file, "S11", (header + bytes(585_600), 678))
    return file


def _forest_header(folder: Path) -> Path:
    file = folder / "forest.npz"
    bombs.forest_file(file, "S4", (bombs.npy_header((80 * 10**12,), "|u1"), 0))
    return file


def _forest_text(folder: Path) -> Path:
    """Write a forest file with a member that is an array of 10^18 values of 0 bytes."""
    file = folder / "forest.npz"
    members = {"format.npy": (bombs.npy_header((10**18,), "|V0"), 0)}
    file.write_bytes(bombs.zip_of(members))
    return file


def _grids(folder: Path) -> Path:
    file = folder / "grids.toml"
    numbers = list(range(1, 260))  # three grids have just over 200,000 points
    grid = '[[grid]]\ntopology = "S3"\nalgorithm = "greedy"\n'
    file.write_text(f"{grid}message_bytes = {numbers}\nt_s = {numbers}\n" * 100)
    return file


#: For each file: the function that writes it, code that reads it, exit code, words of the message.
BOMBS: dict[str, tuple[Callable[[Path], Path], str, int, str]] = {
    "a run of 900,000 objects": (_DEEP, EXPERIMENTS, 2, "topology: Field required"),
    "runs that are lists": (_MANY_RUNS, EXPERIMENTS, 7, "holds more than 500,000 runs"),
    "a run of 100 MB": (_LONG_RUN, EXPERIMENTS, 2, "longer than 8 MB"),
    "blanks": (_BLANKS, EXPERIMENTS, 7, "holds more than 160 MB"),
    "a shard of lists": (_LISTS, SHARDS, 7, "MB of memory; the limit is"),
    "a manifest of zeros": (_manifest, BACKUP, 2, "compressed or encrypted"),
    "a directory of 30,000 members": (_directory, BACKUP, 2, "incomplete or damaged"),
    "a witness of 1 GB": (_witness, RECORD, 7, "holds more than 100 MB"),
    "a header of 80 TB": (_huge_header, RECORD, 2, "cannot be read"),
    "values without a size": (_empty_values, RECORD, 2, "cannot be read"),
    "a record on S10": (_large_topology, VERIFY, 6, "more than 500,000 nodes"),
    "a witness of 96 MB": (_many_cycles, VERIFY, 6, "take more than 40 MB"),
    "a record of 2 GB": (_long_record, RECORD, 7, "holds more than 1 MB"),
    "a forest of 678 MB": (_forest, FOREST, 7, "holds more than 500 MB"),
    "a forest's header of 80 TB": (_forest_header, FOREST, 2, "damaged"),
    "a forest's values without a size": (_forest_text, FOREST, 2, "is not a starcast forest"),
    "a hundred grids": (_grids, DESIGN, 7, "more than 200,000 points"),
}


#: Files that take several seconds to refuse.
SLOW = {"a hundred grids"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in BOMBS]
)
def test_a_decompression_bomb_is_refused_with_bounded_memory_and_time(
    name: str, tmp_path: Path
) -> None:
    write, statement, code, words = BOMBS[name]
    file = write(tmp_path)
    outcome = read_in_child(statement, file)
    assert outcome.memory < MAX_MEMORY
    assert (outcome.code, words in outcome.message) == (code, True), outcome.message


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("aé日", max_size=3), inner),
    max_leaves=20,
)  # fmt: skip


@given(value=VALUES, is_ascii=st.booleans(), indent=st.sampled_from((None, 0, 3)))
def test_a_value_is_read_as_by_the_json_module(
    value: object, is_ascii: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=is_ascii, indent=indent).encode()
    assert parse_json(text, "it") == value
    cursor = JsonCursor(b" " + text + b"\n")
    assert cursor.value() == value
    cursor.end()


@given(
    values=st.dictionaries(st.text("aé", max_size=3), st.lists(VALUES, max_size=3), max_size=4),
    indent=st.sampled_from((None, 2)),
)
def test_members_of_objects_and_items_of_lists_can_be_read_one_by_one(
    values: dict[str, list[object]], indent: int | None
) -> None:
    cursor = JsonCursor(json.dumps(values, indent=indent, ensure_ascii=False).encode())
    found = {key: [cursor.value() for _ in cursor.items()] for key in cursor.members()}
    cursor.end()
    assert found == values


@pytest.mark.parametrize("size", [2**14 - 1, 2**14, 2**14 + 1, 2**18, 2**20])
def test_values_may_end_at_the_border_of_a_window_of_the_reader(size: int) -> None:
    text = json.dumps(["x" * (size - 4), 12, 345])
    cursor = JsonCursor(text.encode())
    assert [cursor.value() for _ in cursor.items()] == json.loads(text)
    assert JsonCursor(b"1" * 4_000).value() == int("1" * 4_000)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[1", "[1 2]", "[1,]", "{1: 2}", '{"a" 1}', '{"a": 1,}', "[NaN]", "[Infinity]",
        "[-Infinity]", '["\\u0000"]', '["\\ud800"]', '["\\udc00\\ud800"]', "[" * 100_000, "nul",
        "9" * 5_000, "[1] 2",
    ],
)  # fmt: skip
def test_a_text_that_is_not_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_json(text.encode(), "it")
    with pytest.raises(ValueError, match=r"\S"):
        _read_all(JsonCursor(text.encode()))


def _read_all(cursor: JsonCursor) -> None:
    if cursor.data.startswith(b"{"):
        for _ in cursor.members():
            cursor.value()
    else:
        for _ in cursor.items():
            cursor.value()
    cursor.end()


def test_an_escaped_backslash_does_not_start_another_escape() -> None:
    value = ["\\u0000", "\\ud800", "\U0001f600"]
    assert parse_json(json.dumps(value).encode(), "it") == value


def test_a_stream_that_exceeds_its_limit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"12345")
    assert read_bytes(file, 5) == read_text(file, 5).encode() == b"12345"
    for limit in (0, 4):
        with pytest.raises(LimitError, match="holds more than"):
            read_bytes(file, limit)
    stream = LimitedStream(io.BytesIO(b"12345"), 4, "it")
    assert stream.read(3) == b"123"
    with pytest.raises(LimitError, match="it holds more than 4 bytes"):
        stream.read(3)
    assert LimitedStream(io.BytesIO(b"1234"), 4, "it").read(9) == b"1234"


def test_an_endless_device_is_refused() -> None:
    with pytest.raises(LimitError, match="/dev/zero holds more than 1 MB"):
        read_bytes("/dev/zero", bombs.MB)


def test_a_damaged_gzip_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.gz"
    packed = gzip.compress(b"12345" * 100)
    for content in (packed[:-3], packed[:15], packed + b"more", packed[:-8] + bytes(8)):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="incomplete or damaged"):
            read_bytes(file, 1_000)
