"""Small files that claim to be, or decompress to, much more than their size."""

import gzip
import hashlib
import io
import json
import struct
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np

MB = 10**6
#: A block of zeros, compressed once and then repeated.
_BLOCK = bytes(MB)


def gzip_of(*parts: tuple[bytes, int]) -> bytes:
    """Return a gzip file that contains the given parts, each repeated a number of times."""
    return b"".join(gzip.compress(part) * times for part, times in parts)


def npy_header(shape: tuple[int, ...], dtype: str) -> bytes:
    """Return the header of an npy file."""
    header = io.BytesIO()
    fields = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, fields)
    return header.getvalue()


def zip_of(members: Mapping[str, tuple[bytes, int]], claimed: int | None = None) -> bytes:
    """Return a zip archive whose members are some bytes followed by megabytes of zeros.

    Args:
        members: the bytes and the number of megabytes of zeros, by member name.
        claimed: the size that the directory states for every member; by default the true size.
    """
    archive = io.BytesIO()
    directory = io.BytesIO()
    for name, (head, zeros) in members.items():
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        packed = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
        block = packer.compress(_BLOCK) + packer.flush(zlib.Z_FULL_FLUSH)
        packed += block * zeros + packer.flush()
        checksum = zlib.crc32(head)
        for _ in range(zeros):
            checksum = zlib.crc32(_BLOCK, checksum)
        size = claimed or len(head) + zeros * MB
        fields = struct.pack("<5H3L2H", 20, 0, 8, 0, 0, checksum, len(packed), size, len(name), 0)
        place = archive.tell()
        archive.write(b"PK\x03\x04" + fields + name.encode() + packed)
        attributes = struct.pack("<3HLL", 0, 0, 0, 0, place)
        directory.write(b"PK\x01\x02\x14\x00" + fields + attributes + name.encode())
    place, content = archive.tell(), directory.getvalue()
    archive.write(content + b"PK\x05\x06")
    count = len(members)
    archive.write(struct.pack("<4H2LH", 0, 0, count, count, len(content), place, 0))
    return archive.getvalue()


def experiment_text(runs: bytes) -> tuple[bytes, bytes]:
    """Return an experiment file as two parts: up to the end of the given runs, and the rest."""
    moment = "2026-01-01T00:00:00Z"
    head = {
        "format": "starcast experiments 1", "created_at": moment, "starcast": "0.1.0",
        "experiments": [{"name": "a", "grid": {}, "points": None, "created_at": moment,
                         "runs": ["HERE"]}],
    }  # fmt: skip
    before, after = json.dumps(head).encode().split(b'"HERE"')
    return before + runs, after


def forest_file(path: Path, topology: str, ports: tuple[bytes, int]) -> None:
    """Write a forest file with the given array of parent ports."""
    parts: dict[str, object] = {
        "format": "starcast forest", "version": 1, "topology": topology, "root": 0,
        "construction": "multiple", "arguments": "{}", "spanning": True,
        "verify_hubs": np.zeros(0, np.int64),
    }  # fmt: skip
    members = {}
    for name, value in parts.items():
        packed = io.BytesIO()
        np.save(packed, np.asarray(value))
        members[f"{name}.npy"] = (packed.getvalue(), 0)
    path.write_bytes(zip_of({**members, "parent_port.npy": ports}))


def record_files(folder: Path, witness: bytes, **fields: object) -> Path:
    """Write a record's witness file and its JSON file with some fields; return the JSON path."""
    entry = {"file": "witness.npz", "sha256": hashlib.sha256(witness).hexdigest()}
    (folder / "witness.npz").write_bytes(witness)
    file = folder / "record.json"
    file.write_text(json.dumps({"format": 1, **fields, "witness": entry}))
    return file


def zip_with_directory(path: Path, members: int) -> None:
    """Write a zip archive whose directory lists many members, none of which exists."""
    name = b"x" * 60
    fields = struct.pack("<6H3L5H2L", 20, 20, 0, 0, 0, 0, 0, 0, 0, len(name), 0, 0, 0, 0, 0, 0)
    directory = (b"PK\x01\x02" + fields + name) * members
    end = struct.pack("<4H2LH", 0, 0, members, members, len(directory), 0, 0)
    path.write_bytes(directory + b"PK\x05\x06" + end)
