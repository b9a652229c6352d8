"""Input readers refuse files that need too much memory or time, and invalid JSON."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tomllib
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from starcast.records import load_record, path_of, shipped_folder
from starcast.support.errors import LimitError
from starcast.support.json_files import JsonCursor, parse_json
from starcast.support.limited import LimitedStream, parse_toml, read_bytes, read_text
from support.record_files import npy_header

MB = 10**6
#: Limits of a process that reads a file: memory in bytes, including that of the interpreter and
#: the libraries, and CPU time in seconds.
MAX_MEMORY = 600 * MB
MAX_SECONDS = 30

#: A program that reads a file and prints the error and the peak memory of its process in kB. Its
#: resource limits protect the machine.
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
# Unlike ru_maxrss, VmHWM does not include the memory of the parent process.
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
SETTINGS = (
    "import os; os.environ['STARCAST_CONFIG'] = str(file);"
    " from starcast.support.settings import Settings; Settings.load()"
)
DESIGN = "from starcast.experiments.design import read_design; read_design(str(file))"
SCHEDULE = (
    "from starcast import formats, simulate; "
    "simulate(formats.read_schedule(file, 'Q1', 'broadcast'))"
)

#: A function that writes a file.
Write = Callable[[Path], object]


def _gzip(*parts: tuple[bytes, int]) -> Write:
    """Return a function that writes a gzip file of parts, each repeated a number of times."""
    return lambda file: file.write_bytes(
        b"".join(gzip.compress(part) * times for part, times in parts)
    )


def _experiment(start: bytes, part: bytes, times: int, end: bytes) -> Write:
    """Return a function that writes an experiment file whose runs contain a repeated part."""
    moment = "2026-01-01T00:00:00Z"
    content = {
        "format": "starcast experiments 1", "created_at": moment, "starcast": "0.1.0",
        "experiments": [{"name": "a", "grid": {}, "points": None, "created_at": moment,
                         "runs": ["HERE"]}],
    }  # fmt: skip
    before, after = json.dumps(content).encode().split(b'"HERE"')
    return _gzip((before + start, 1), (part, times), (end + after, 1))


def _zip(members: Mapping[str, tuple[bytes, int]], claimed: int | None = None) -> bytes:
    """Return a zip archive whose members are some bytes followed by megabytes of zeros.

    Args:
        members: the bytes and the number of megabytes of zeros, by member name.
        claimed: the size that the directory states for every member; by default the true size.
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, (head, zeros) in members.items():
            # A block of zeros is compressed once, and its compressed form is repeated.
            packer = zlib.compressobj(9, zlib.DEFLATED, -15)
            packed = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
            block = packer.compress(bytes(MB)) + packer.flush(zlib.Z_FULL_FLUSH)
            member = zipfile.ZipInfo(name)
            archive.writestr(member, packed + block * zeros + packer.flush())
            member.compress_type = zipfile.ZIP_DEFLATED
            member.file_size = claimed or len(head) + zeros * MB
            member.CRC = zlib.crc32(head)
            for _ in range(zeros):
                member.CRC = zlib.crc32(bytes(MB), member.CRC)
    return content.getvalue()


def _manifest(file: Path) -> None:
    file.write_bytes(_zip({"postgres.dump": (b"PGDMP", 0), "manifest.json": (b"{", 1_000)}))


def _directory(file: Path) -> None:
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("x" * 60, b"")
        archive.filelist *= 30_000


def _record(
    problem: str, array: bytes, zeros: int = 0, claimed: int | None = None, **fields: object
) -> Write:
    """Return a function that writes a copy of a shipped record on S4 with a changed witness.

    The copy has the given ``fields`` in place of those of the record.
    """

    def write(file: Path) -> None:
        shipped = load_record(path_of(shipped_folder(), problem, "S4"))
        witness = _zip({f"{min(shipped.witness)}.npy": (array, zeros)}, claimed)
        entry = {"file": "witness.npz", "sha256": hashlib.sha256(witness).hexdigest()}
        file.with_name("witness.npz").write_bytes(witness)
        file.write_text(json.dumps({**shipped.fields(), **fields, "witness": entry}))

    return write


def _long_record(file: Path) -> None:
    file.touch()
    os.truncate(file, 2_000 * MB)


def _forest(topology: str, ports: bytes, zeros: int = 0) -> Write:
    """Return a function that writes a forest file with the given array of parent ports."""
    parts: dict[str, object] = {
        "format": "starcast forest", "version": 1, "topology": topology, "root": 0,
        "construction": "multiple", "arguments": "{}", "spanning": True,
        "verify_hubs": np.zeros(0, np.int64),
    }  # fmt: skip
    members = {"parent_port.npy": (ports, zeros)}
    for name, value in parts.items():
        packed = io.BytesIO()
        np.save(packed, np.asarray(value))
        members[f"{name}.npy"] = (packed.getvalue(), 0)
    return lambda file: file.write_bytes(_zip(members))


def _forest_text(file: Path) -> None:
    file.write_bytes(_zip({"format.npy": (npy_header((10**18,), "|V0"), 0)}))


def _grids(file: Path) -> None:
    numbers = list(range(1, 260))  # three grids of this size have more than 200,000 points
    grid = '[[grid]]\ntopology = "S3"\nalgorithm = "greedy"\n'
    file.write_text(f"{grid}message_bytes = {numbers}\nt_s = {numbers}\n" * 100)


def _text(text: str) -> Write:
    """Return a function that writes a text file."""
    return lambda file: file.write_text(text)


_DOTTED = _text(".".join("a" * 50_000) + " = 1")
_QUOTED = _text("[" + " . ".join(["'a.b'", '"c"'] * 50_000) + "]")
_HEXADECIMAL = _text(f"row_limit = 0x{'f' * 10_000}")


def _sends(file: Path) -> None:
    number = 31 * MB // 30
    send, receive = "send 1b to 1\n" * number, "recv 1b from 0\n" * number
    file.write_text(f"num_ranks 2\nrank 0 {{\n{send}}}\nrank 1 {{\n{receive}x}}\n")


def _rows(*rows: str, times: int = 1) -> Write:
    return _text("\n".join(("step,sender,port,unit", *rows, "")) * times)


_DEEP = _experiment(b'{"provenance":[', b'{"a":{}},' * 870_000, 1, b"{}]}")
_MANY_RUNS = _experiment(b"", b"[]," * 333_333, 150, b"")
_LONG_RUN = _experiment(b'{"profile":[', b"[1,2,3]," * 125_000, 100, b"[1,2,3]]}")
_BLANKS = _experiment(b"", b" " * MB, 1_800, b"")
_LISTS = _gzip((b"[", 1), (b"[]," * 333_333, 60), (b"[]]", 1))
_WITNESS = _record("one-port-broadcast", npy_header((1_000 * MB,)), zeros=1_000)
_HUGE_HEADER = _record("one-port-broadcast", npy_header((80 * 10**12,)), claimed=2**32 - 2)
_NO_SIZE = _record("one-port-broadcast", npy_header((10**18,), "|V0"))
#: A closed walk that uses a valid port in each step.
_WALK = npy_header((1, 3_628_800)) + b"\2\3" * 1_814_400
_LARGE_TOPOLOGY = _record("hamiltonian-decomposition", _WALK, topology="S10")
_MANY_CYCLES = _record("hamiltonian-decomposition", npy_header((4_000_000, 24)), zeros=96)
_FOREST = _forest("S11", npy_header((17, 39_916_800)) + bytes(585_600), zeros=678)
_FOREST_HEADER = _forest("S4", npy_header((80 * 10**12,)))

#: For each file: the function that writes it, code that reads it, exit code, words of the message.
BOMBS: dict[str, tuple[Write, str, int, str]] = {
    "a run of 900,000 objects": (_DEEP, EXPERIMENTS, 2, "topology: Field required"),
    "runs that are lists": (_MANY_RUNS, EXPERIMENTS, 7, "has more than 500,000 runs"),
    "a run of 100 MB": (_LONG_RUN, EXPERIMENTS, 2, "longer than 8 MB"),
    "blanks": (_BLANKS, EXPERIMENTS, 7, "contains more than 160 MB"),
    "a shard of lists": (_LISTS, SHARDS, 7, "MB of memory; the limit is"),
    "a manifest of zeros": (_manifest, BACKUP, 2, "compressed or encrypted"),
    "a directory of 30,000 members": (_directory, BACKUP, 2, "incomplete or damaged"),
    "a witness of 1 GB": (_WITNESS, RECORD, 7, "contains more than 100 MB"),
    "a header of 80 TB": (_HUGE_HEADER, RECORD, 2, "cannot be read"),
    "values without a size": (_NO_SIZE, RECORD, 2, "cannot be read"),
    "a record on S10": (_LARGE_TOPOLOGY, VERIFY, 6, "more than 500,000 nodes"),
    "a witness of 96 MB": (_MANY_CYCLES, VERIFY, 6, "take more than 40 MB"),
    "a record of 2 GB": (_long_record, RECORD, 7, "contains more than 50 MB"),
    "a forest of 678 MB": (_FOREST, FOREST, 7, "contains more than 500 MB"),
    "a forest's header of 80 TB": (_FOREST_HEADER, FOREST, 2, "damaged"),
    "a forest's values without a size": (_forest_text, FOREST, 2, "is not a starcast forest"),
    "a key of 50,000 parts": (_DOTTED, DESIGN, 2, "as TOML: a key has more than 8 parts"),
    "a setting of 50,000 parts": (_DOTTED, SETTINGS, 2, "as TOML: a key has more than 8 parts"),
    "quoted parts of a key": (_QUOTED, SETTINGS, 2, "as TOML: a key has more than 8 parts"),
    "a number of 10,000 digits": (_HEXADECIMAL, SETTINGS, 2, "integer has 1,000 digits or more"),
    "a hundred grids": (_grids, DESIGN, 7, "more than 200,000 points"),
    "a billion steps": (_rows("1000000000,#0,1,0"), SCHEDULE, 7, "1,000,000,000 steps are too"),
    "a billion units": (_rows("1,#0,1,999999999"), SCHEDULE, 7, "1,000,000,000 units on 2 nodes"),
    "a million sends": (_sends, SCHEDULE, 2, "is damaged, misplaced or not supported: 'x}'"),
    "a million rows": (
        _rows(*["1,#0,1,0"] * 1_700_000, "x"),
        SCHEDULE,
        2,
        "has 1 value for 4 columns",
    ),
}
#: Files whose refusal takes several seconds.
SLOW = {"a hundred grids", "a million sends", "a million rows"}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in BOMBS]
)
def test_a_file_that_needs_too_much_memory_or_time_is_refused_within_limits(
    name: str, tmp_path: Path
) -> None:
    write, statement, code, words = BOMBS[name]
    file = tmp_path / "bomb.toml"
    write(file)
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
    assert lines[0].startswith(f"{code} ")
    assert words in lines[0]
    assert int(lines[1]) * 1024 < MAX_MEMORY


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text("aé日", max_size=3), inner),
    max_leaves=20,
)  # fmt: skip


@given(value=VALUES, is_ascii=st.booleans(), indent=st.sampled_from((None, 0, 3)))
def test_starcast_reads_the_same_json_values_as_the_json_module(
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
def test_members_of_json_objects_and_items_of_json_lists_can_be_read_one_by_one(
    values: dict[str, list[object]], indent: int | None
) -> None:
    cursor = JsonCursor(json.dumps(values, indent=indent, ensure_ascii=False).encode())
    found = {key: [cursor.value() for _ in cursor.items()] for key in cursor.members()}
    cursor.end()
    assert found == values


@pytest.mark.parametrize("size", [2**14 - 1, 2**14, 2**14 + 1, 2**18, 2**20])
def test_json_values_that_end_near_the_end_of_a_read_window_are_read(size: int) -> None:
    text = json.dumps(["x" * (size - 4), 12, 345])
    cursor = JsonCursor(text.encode())
    assert [cursor.value() for _ in cursor.items()] == json.loads(text)
    assert JsonCursor(b"1" * 4_000).value() == int("1" * 4_000)


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[1", "[1 2]", "[1,]", "{1: 2}", '{"a" 1}', '{"a": 1,}', "[NaN]", "[Infinity]",
        "[-Infinity]", '["\\u0000"]', '["\\ud800"]', '["\\udc00\\ud800"]', "[" * 100_000, "nul",
        "9" * 5_000, "[1] 2", '["\\ud83d\\ude00 \\u0000"]', '["\\ud83d\\ude00\\udc00", "\\u0000"]',
    ],
)  # fmt: skip
def test_invalid_json_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\S"):
        parse_json(text.encode(), "it")
    with pytest.raises(ValueError, match=r"\S"):
        _read_all(JsonCursor(text.encode()))


@pytest.mark.parametrize(
    "line",
    [
        "# DOTS = 1",
        "key = 1 # it's DOTS",
        'key = "DOTS" # "',
        "key = ' DOTS \\'",
        'key = "\\" DOTS \\\\"',
        "key = '''\nDOTS = 'x'\n ''''",
        'key = ["""DOTS""""", "DOTS", \'DOTS\']',
        'key = """\\""" DOTS ""\\""""',
        '"DOTS" . b.c.d."e".f.g.h = [1.5, 2.5]',
        "[b.c.d.e.f.g.h.i]\nkey = 2026-01-01T00:00:00.5",
    ],
)
@pytest.mark.whole
def test_only_toml_keys_have_a_limited_number_of_parts(line: str) -> None:
    """Dots in comments, strings and numbers are not counted, and do not hide a long key."""
    dots = ".".join("x" * 20)
    text = line.replace("DOTS", dots)
    assert parse_toml(text) == tomllib.loads(text)
    with pytest.raises(ValueError, match="a key has more than 8 parts"):
        parse_toml(f"{text}\n{dots} = 1")


def _read_all(cursor: JsonCursor) -> None:
    if cursor.data.startswith(b"{"):
        for _ in cursor.members():
            cursor.value()
    else:
        for _ in cursor.items():
            cursor.value()
    cursor.end()


def test_an_escaped_backslash_in_json_does_not_start_another_escape() -> None:
    value = ["\\u0000", "\\ud800", "\U0001f600"]
    assert parse_json(json.dumps(value).encode(), "it") == value


def test_a_stream_that_exceeds_its_limit_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text"
    file.write_bytes(b"12345")
    assert read_bytes(file, 5) == read_text(file, 5).encode() == b"12345"
    for limit in (0, 4):
        with pytest.raises(LimitError, match="contains more than"):
            read_bytes(file, limit)
    stream = LimitedStream(io.BytesIO(b"12345"), 4, "it")
    assert stream.read(3) == b"123"
    with pytest.raises(LimitError, match="it contains more than 4 bytes"):
        stream.read(3)
    assert LimitedStream(io.BytesIO(b"1234"), 4, "it").read(9) == b"1234"


def test_an_endless_device_is_refused() -> None:
    with pytest.raises(LimitError, match="/dev/zero contains more than 1 MB"):
        read_bytes("/dev/zero", MB)


def test_a_damaged_gzip_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "text.gz"
    packed = gzip.compress(b"12345" * 100)
    for content in (packed[:-3], packed[:15], packed + b"more", packed[:-8] + bytes(8)):
        file.write_bytes(content)
        with pytest.raises(ValueError, match="incomplete or damaged"):
            read_bytes(file, 1_000)
