"""Record files written without checks, as if edited manually, and records for such files."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np

from starcast.records import Proof, Record, shipped_record
from starcast.records.files import locked_path, write_record

_PORTS = [0, 4, 3, 3, 2, 2, 2, 3, 1, 1, 1, 3, 1, 2, 1, 2]
_ROUNDS = [0, 1, 2, 4, 3, 3, 3, 4, 4, 2, 4, 3, 4, 4, 4, 4]
#: A broadcast on Q4 in 4 rounds. Each round at most doubles the informed nodes, so it is optimal.
FOUR_ROUNDS = Record(
    "one-port-broadcast",
    "Q4",
    value=4,
    bound=4,
    reason="16 nodes",
    witness={"parent_port": np.array(_PORTS), "round": np.array(_ROUNDS)},
)
#: A broadcast on Q4 in 5 rounds, with a forged proof that 4 rounds are impossible. The checksum is
#: that of the correct formula, but this formula is satisfiable.
FORGED = replace(
    FOUR_ROUNDS,
    value=5,
    bound=5,
    reason="no one-port broadcast in 4 rounds",
    witness={"parent_port": np.array(_PORTS), "round": np.array(_ROUNDS) // 4 + _ROUNDS},
    proof=Proof(
        "no one-port broadcast in 4 rounds",
        "LRAT",
        "2ea6375b0397ed737743ca0849ea5cbbec1c5878910dc0849b0c0ee1d1c39e0b",
        "ab" * 32,
        12_345,
        "starcast.records.lrat",
        "starcast records prove one-port-broadcast Q4",
    ),
)

_BEST = replace(shipped_record("fault-diameter", "S4"), tried=(), seconds=0.0)
_FAULTS = {"faults": _BEST.witness["faults"]}
_THEORY = "a shortest path visits at most the 22 nodes without faults"
#: True records of the diameter of S4 after two node faults: value 5 or 6 (larger is better), bound
#: 21 by theory or 6 by an LRAT proof. No record is identical to that of starcast.
DIAMETERS = {
    (6, 6): _BEST,
    (5, 6): replace(_BEST, value=5, witness={**_BEST.witness, "pair": np.array([12, 5])}),
    (6, 21): replace(_BEST, bound=21, reason=_THEORY, proof=None, witness=_BEST.solution),
    (5, 21): replace(
        _BEST,
        value=5,
        bound=21,
        reason=_THEORY,
        proof=None,
        witness={**_FAULTS, "pair": np.array([12, 5])},
    ),
}


def put_record(folder: Path, record: Record) -> Path:
    """Write the files of a record into a folder, unchecked, and return the JSON file."""
    with locked_path(folder, record) as path:
        write_record(path, record)
    return path


def npy_header(shape: tuple[int, ...], dtype: str = "|u1") -> bytes:
    """Return the header of an npy file."""
    header = io.BytesIO()
    fields = {"descr": dtype, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, fields)
    return header.getvalue()
