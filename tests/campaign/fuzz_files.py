"""Fuzzed files of kinds that users exchange: experiments, shards, records, backups, forests."""

import copy
import gzip
import hashlib
import io
import json
import re
import warnings
import zipfile
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, get_args

import numpy as np

from starcast.experiments.design import Design
from starcast.experiments.exchange_file import FORMAT, RunRecord, read_file
from starcast.experiments.execution import execute, price_run
from starcast.records import Record, load_all, load_record, shipped_folder, verify
from starcast.search import verify_bound
from starcast.stores.database.backup import read_manifest
from starcast.support.errors import StarcastError
from starcast.support.shards import ShardKind
from starcast.trees import Forest, forest
from support.shards import GRID, content_of_shard, merge, seal

#: The description of an input, and a function that reads it.
Case = tuple[str, Callable[[], object]]
#: A function that returns a random input; it may write files in the folder.
Reader = Callable[[Random, Path], Case]
#: Texts that readers may misinterpret.
HOSTILE = (
    "", " ", "\n", "\x00", "\x1b[31m", "\u202e", "²", "٣", "é", "日本", "'", '"', "\\", "/", "..",
    "-", "--", "-1", "0", "1", "9" * 40, "9" * 5_000, "1e308", "1e999", "nan", "inf", "0x10", "1/0",
    "[" * 3_000, "]" * 3_000, "(" * 200, "{", "}", "[", "]", "(", ")", ",", ":", "=", "@", "#", "*",
    "%s", "$x", "${HOME}", "~nosuch/x", "a" * 300, "S5", "S99", "S5,3", "Q4", "multiple", "root",
    "null", "true", "none", "best", "degree", "all", "one",
)  # fmt: skip

_JSON: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 2, 7, 255, 2**31, 2**63, 10**30, 10**400, 0.5, -1.5, 1e308,
    float("inf"), float("nan"), "", "a", "1", "-1", "1/0", "0", "23/3", "9" * 40, "9" * 5_000, "S3",
    "S4", "S12", "S99", "Q3", "S4,2", "multiple", "greedy", "degree", "best", "2 nodes", "2134",
    "complete", "failed", "all", "\x00", "\ud800", "\x1b[31m", "é", "日本", "x" * 5_000, "../x",
    "head", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "2026-01-01T00:00:00", [], {}, [[]],
    [None], ["a"], [0], [1, 2, 3], {"a": 1}, {"a": {}}, {"": []}, [[1, 2], [3]], {"file": "x"},
)  # fmt: skip


def damage(draw: Random, text: str) -> str:
    """Return a text with up to three random changes."""
    for _ in range(draw.randint(0, 3)):
        place = draw.randint(0, len(text))
        end = min(len(text), place + draw.choice((0, 1, 1, 2, 8)))
        match draw.randrange(4):
            case 0:
                text = text[:place] + draw.choice(HOSTILE) + text[end:]
            case 1:
                text = text[:place] + text[end:]
            case 2:
                text = text[:place] + text[place:end] * draw.choice((2, 3, 1_000)) + text[end:]
            case _:
                text = text[:place] + chr(draw.choice((draw.randrange(128), 0x1F600))) + text[end:]
    return text


def change_json(draw: Random, value: Any, part: str = "") -> tuple[Any, str]:
    """Return a JSON value with one to three changes, and a description of the changes.

    Args:
        draw: random generator that determines the changes.
        value: the original value, which is not changed.
        part: a key; in three of four cases, only the value of this key is changed.
    """
    value = copy.deepcopy(value)
    below = value[part] if part and draw.random() < 0.75 else value
    changes = draw.choice((1, 1, 1, 2, 3))
    return value, "; ".join(_change_once(draw, below) for _ in range(changes))


def _change_once(draw: Random, value: Any) -> str:
    """Change a random element of a value, at a random depth; return a description of the change."""
    path = []
    while True:
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        if not keys:
            return "nothing"
        key = draw.choice(keys)
        path.append(str(key)[:20])
        below = value[key]
        if not isinstance(below, dict | list) or not below or draw.random() < 0.15:
            break
        value = below
    action = draw.randrange(8)
    if action == 0:
        del value[key]
    elif action == 1 and isinstance(value, dict):
        value[draw.choice(("more", "format", "root", "m", "", "n", "x" * 300))] = below
    elif action == 1:
        value.insert(draw.randrange(len(value) + 1), below)
    elif action == 2 and isinstance(below, int | float) and abs(below) < 2**64:
        value[key] = below + draw.choice((-1, 1, 0.5, 2**40))
    elif action == 3 and isinstance(below, str) and below:
        place = draw.randrange(len(below))
        value[key] = below[:place] + draw.choice(("", "0", "a", "é", "\x00")) + below[place + 1 :]
    elif action == 4:
        value[key] = draw.choice(([below], {"a": below}, [below] * 3, str(below)))
    else:
        value[key] = copy.deepcopy(draw.choice(_JSON))
    return f"{'.'.join(path)} by action {action}"


def change_bytes(draw: Random, content: bytes) -> bytes:
    """Return the bytes with up to four of them replaced, and sometimes without their end."""
    changed = bytearray(content)
    for _ in range(draw.randint(1, 4)):
        changed[draw.randrange(len(changed))] = draw.randrange(256)
    if draw.random() < 0.2:
        del changed[draw.randrange(len(changed)) :]
    return bytes(changed)


def _text(value: Any) -> bytes:
    return json.dumps(value).encode()


@cache
def _experiments() -> dict[str, Any]:
    """Return the content of a file with a grid experiment and an experiment of a single run."""
    runs = []
    for point in GRID.points():
        execution = execute(point)
        run = price_run(point, execution)
        record = RunRecord.of(run, execution.profile)
        runs.append(record.model_dump(mode="json"))
    moment = datetime.now(UTC).isoformat()
    grid = Design((GRID,)).as_json()
    common = {"created_at": moment}
    return {
        "format": FORMAT,
        "created_at": moment,
        "starcast": "0.1.0",
        "experiments": [
            {"name": "a", "grid": grid, "points": len(runs), **common, "runs": runs},
            {"name": "b", "grid": {}, "points": None, **common, "runs": runs[:1]},
        ],
    }


def experiment_file(draw: Random, folder: Path) -> Case:
    """Write a changed experiment file, and return its `Case`."""
    content, what = change_json(draw, _experiments(), "experiments")
    file = _write(draw, folder, _text(content))
    return what, lambda: read_file(file)


def _write(draw: Random, folder: Path, text: bytes) -> Path:
    """Write a file, sometimes compressed or with a few bytes changed; return its path."""
    if draw.random() < 0.3:
        text = gzip.compress(text, 1)
    if draw.random() < 0.1:
        text = change_bytes(draw, text)
    file = folder / "fuzzed.json"
    file.write_bytes(text)
    return file


def shard_file(draw: Random, folder: Path) -> Case:
    """Write a changed shard file, mostly with a correct checksum, and return its `Case`."""
    kind: ShardKind = draw.choice(get_args(ShardKind))
    content, what = change_json(draw, content_of_shard(kind), draw.choice(("results", "job")))
    text = seal(content) if draw.random() < 0.95 else _text(content)
    file = _write(draw, folder, text)
    return f"{kind}: {what}", lambda: merge(kind, file)


@cache
def _small_records() -> list[Record]:
    """Return starcast's record of each problem on its smallest topology."""
    smallest: dict[str, Record] = {}
    for record in load_all(shipped_folder()):
        smallest.setdefault(record.problem, record)
    return list(smallest.values())


def record_file(draw: Random, folder: Path) -> Case:
    """Write a record with changed fields or a changed witness, and return its `Case`.

    The record has the SHA-256 of the changed witness, unless this field is changed too.
    """
    record = draw.choice(_small_records())
    arrays = dict(record.witness)
    what = ""
    if draw.random() < 0.5:
        name = draw.choice([*arrays, "paths", "vectors", "multipliers", "denominator"])
        arrays[name] = change_array(draw, np.asarray(arrays.get(name, 0)))
        what = f"{name} = {arrays[name].dtype}{list(arrays[name].shape)}"
        if draw.random() < 0.1:
            del arrays[name]
    packed = io.BytesIO()
    np.savez_compressed(packed, **arrays)  # type: ignore[arg-type]
    witness = packed.getvalue()
    if draw.random() < 0.1:
        witness = change_bytes(draw, witness)
    entry = {"file": "witness.npz", "sha256": hashlib.sha256(witness).hexdigest()}
    fields: dict[str, Any] = {**record.fields(), "witness": entry}
    if not what or draw.random() < 0.2:
        fields, more = change_json(draw, fields)
        what = f"{what} {more}"
    (folder / "witness.npz").write_bytes(witness)
    file = folder / "record.json"
    file.write_bytes(_text(fields))

    def read() -> None:
        opened = load_record(file)
        verify(opened)
        verify_bound(opened)

    return f"{record.id}: {what}", read


#: Arrays of unusual shapes, types and values.
_ODD_ARRAYS: tuple[object, ...] = (
    "S4", "S12", "x", "x" * 5_000, "null", "[" * 4_000, 0, -1, 2**63 - 1, 1.5, True, [], [[]],
    [[0]], [0, 1, 2], b"bytes", complex(1, 2), np.datetime64("2026-01-01"), np.zeros((0, 6)),
    np.zeros((3, 24), np.uint8), np.zeros((300, 24), np.uint8), np.zeros((1, 2**16), np.uint8),
    np.zeros((2, 2, 2, 2)),
)  # fmt: skip


def change_array(draw: Random, array: np.ndarray) -> np.ndarray:
    """Return the array with changed values, order, shape or type, or an unrelated array."""
    match draw.randrange(10):
        case 0:
            return array[: draw.randrange(len(array))] if array.ndim and len(array) else array
        case 1:
            if array.dtype.kind == "U":  # most texts cannot be converted to a number
                return array.astype(np.bytes_)
            kinds = (np.float64, np.uint64, np.bool_, np.int8, np.complex128, np.str_)
            return array.astype(draw.choice(kinds))
        case 2:
            return array[..., None]
        case 3:
            return array.ravel()[:0]
        case 4 | 5:
            return np.asarray(draw.choice(_ODD_ARRAYS))
        case 6:
            return np.concatenate([array, array]) if array.ndim else array
        case 7:
            return array[::-1] if array.ndim else array
        case _ if array.dtype.kind == "U":
            return np.asarray(damage(draw, str(array)))
        case _:
            changed = np.array(array, dtype=np.int64)
            extremes = (-1, 0, 1, 2, 7, 255, 256, 2**31, -(2**31), 3_037_000_500, 2**62, -(2**63))
            for _ in range(draw.randint(1, 3)):
                if changed.size:
                    changed.flat[draw.randrange(changed.size)] = draw.choice(extremes)
            return changed


def forest_file(draw: Random, folder: Path) -> Case:
    """Write a forest file with changed bytes or a changed array, and return its `Case`."""
    path = folder / "forest.npz"
    spec, name = draw.choice((("S4", "multiple"), ("S5", "greedy"), ("Q3", "binomial")))
    forest(spec, name).save(path)
    if draw.random() < 0.4:
        path.write_bytes(change_bytes(draw, path.read_bytes()))
        what = f"{path.stat().st_size} bytes"
    else:
        what = _change_part(draw, path)

    def read() -> None:
        opened = Forest.open(path)
        with suppress(StarcastError):
            opened.verify()

    return f"{spec} {name}: {what}", read


def _change_part(draw: Random, path: Path) -> str:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    name = draw.choice(sorted(parts))
    array = change_array(draw, np.load(io.BytesIO(parts[name])))
    file = io.BytesIO()
    np.save(file, array, allow_pickle=False)
    content = bytearray(file.getvalue())
    if draw.random() < 0.3:
        head = content.index(b"\n") if b"\n" in content else len(content)
        text = damage(draw, content[10:head].decode("latin-1")).encode("latin-1", "replace")
        content[10:head] = text[: head - 10].ljust(head - 10)
    parts[name] = bytes(content)
    with zipfile.ZipFile(path, "w", draw.choice((0, 8, 12, 14))) as archive:
        for part, data in parts.items():
            archive.writestr(part, data)
            if part == name and draw.random() < 0.05:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    archive.writestr(part, data)
    return f"{name} = {array.dtype}{list(array.shape)}"


_BACKUP = {
    "format": "starcast backup 1",
    "created_at": "2026-11-24T12:00:00Z",
    "starcast": "0.1.0",
    "postgres": "18.1 (Debian 18.1-1)",
    "revision": "0001",
    "store": "7f6bb8a3-9c1b-4bd4-a1a7-3f1bd0ac3a01",
    "tables": {"run": {"rows": 3, "checksum": "1a"}, "cost": {"rows": 9, "checksum": "2b"}},
}


def backup_file(draw: Random, folder: Path) -> Case:
    """Write a changed backup file, and return its `Case`."""
    manifest, what = change_json(draw, _BACKUP)
    text = _text(manifest)
    if draw.random() < 0.1:
        text = change_bytes(draw, text)
    names = ["postgres.dump", "manifest.json"]
    if draw.random() < 0.1:
        names = draw.choice((names[:1], names[1:], [*names, "more"], names * 2, []))
    method = draw.choice((0, 0, 0, 0, 0, 8, 12, 14))
    packed = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(packed, "w", method) as archive:
            for name in names:
                archive.writestr(name, b"PGDMP" * 20 if name == "postgres.dump" else text)
    content = packed.getvalue()
    if draw.random() < 0.4:
        content = change_bytes(draw, content)
        what = f"{len(content)} bytes"
    file = folder / "backup"
    file.write_bytes(content)

    def read() -> None:
        found = read_manifest(file)
        print_moment = f"{found.created_at.astimezone():%Y-%m-%d %H:%M}"
        assert print_moment
        assert found.rows >= 0
        assert int(re.split("[^0-9]", found.postgres)[0])

    return what, read
