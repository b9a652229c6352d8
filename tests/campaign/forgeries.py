"""Forgeries: records that claim more than is true, which must not be reported as verified.

The exit code of ``records verify`` is 0 only if everything was verified. A wrong record is refused.
A bound that cannot be checked is reported as unverified, with a different exit code.
"""

import hashlib
import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from campaign.output import Outcome, find_problems
from campaign.servers import Servers
from starcast.topologies import topology

#: Problems in which a smaller value is better.
_LEAST = {"bisection-width", "congestion-trees", "edge-disjoint-trees", "one-port-broadcast"}
#: Extreme numbers: integers whose squares or products can overflow 64 bits, -1 and 0.
_HUGE = (3_037_000_500, 2**31, 2**32, 2**62, 2**63 - 1, -(2**63), -1, 0)
_DEADLINE = 300
Arrays = dict[str, NDArray[Any]]
#: Records on topologies so small that verification takes seconds.
_SMALL = ("S3", "S4", "S4,2", "S5,2", "Q3", "S5")
_SHIPPED = Path(__file__).parents[2] / "records"


class RecordFile:
    """A copy of a record that comes with starcast, with its witness.

    Args:
        folder: the folder of the copy.
        source: the JSON file of the record.
    """

    def __init__(self, folder: Path, source: Path) -> None:
        self.fields: dict[str, Any] = json.loads(source.read_text(encoding="utf-8"))
        self.file = folder / source.parent.name / source.name
        with np.load(source.parent / self.fields["witness"]["file"]) as arrays:
            self.arrays: Arrays = dict(arrays)

    def write(self) -> Path:
        """Write the witness file, and the record with the name and checksum of the witness file.

        Return the path of the record.
        """
        self.file.parent.mkdir(exist_ok=True)
        content = io.BytesIO()
        np.savez_compressed(content, **self.arrays)  # type: ignore[arg-type]
        digest = hashlib.sha256(content.getvalue()).hexdigest()
        name = f"{self.file.stem}.{digest[:12]}.npz"
        self.fields["witness"] = {"file": name, "sha256": digest}
        (self.file.parent / name).write_bytes(content.getvalue())
        self.file.write_text(json.dumps(self.fields), encoding="utf-8")
        return self.file


def choose_record(folder: Path, draw: Random, problem: str = "*") -> RecordFile:
    """Return a copy of a random small record; ``problem`` is a glob pattern for problem names."""
    files = [file for file in sorted(_SHIPPED.glob(f"{problem}/*.json")) if file.stem in _SMALL]
    return RecordFile(folder, draw.choice(files))


def improve_value(folder: Path, draw: Random) -> Path:
    """Claim that a record has a better value than its witness, and that this value is optimal."""
    record = choose_record(folder, draw)
    step = -1 if record.fields["problem"] in _LEAST else 1
    value = record.fields["value"] + step * draw.randint(1, 3)
    record.fields |= {"value": value, "bound": value, "optimal": True}
    return record.write()


def exchange_witness(folder: Path, draw: Random) -> Path:
    """Replace the witness by that of a record on another topology, which may be of any problem."""
    record = choose_record(folder, draw)
    other = choose_record(folder, draw)
    while other.fields["topology"] == record.fields["topology"]:
        other = choose_record(folder, draw)
    record.arrays = other.arrays
    return record.write()


def delay_broadcast(folder: Path, draw: Random) -> Path:
    """Make a broadcast one round longer, and claim that no broadcast takes fewer rounds."""
    record = choose_record(folder, draw, "one-port-broadcast")
    record.arrays["round"][record.arrays["round"] == record.arrays["round"].max()] += 1
    value = record.fields["value"] + 1
    record.fields |= {"value": value, "bound": value, "optimal": True}
    if draw.random() < 0.5:
        record.fields["proof"] = _claim_proof(draw)
        record.fields["reason"] = f"no broadcast takes at most {value - 1} rounds"
    return record.write()


def _claim_proof(draw: Random) -> dict[str, Any]:
    """Return the field ``proof`` of a record; it describes a proof that does not exist."""
    digest = f"{draw.getrandbits(256):064x}"
    return {
        "statement": "no broadcast takes fewer rounds",
        "format": draw.choice(("second solver", "DRAT", "LRAT", "none")),
        "formula_sha256": digest,
        "proof_sha256": digest,
        "proof_bytes": draw.choice((0, 1_000, 10**30)),
        "checker": "drat-trim",
        "variables": 10,
        "clauses": 10,
        "command": "starcast records prove one-port-broadcast",
    }


def widen_bisection(folder: Path, draw: Random) -> Path:
    """Claim that a random bisection with too many links between its halves is optimal.

    If the record has a certificate for its bound, the forgery has a wrong certificate.
    """
    record = choose_record(folder, draw, "bisection-width")
    arrays = record.arrays
    graph = topology(record.fields["topology"])
    value = record.fields["value"]
    while value == record.fields["value"]:
        side = [0, 1] * (graph.nodes // 2)
        draw.shuffle(side)
        arrays["side"] = np.array(side, dtype=np.uint8)
        cut = [arrays["side"] != arrays["side"][graph.neighbours(port)] for port in graph.ports]
        value = int(np.sum(cut)) // 2  # each link is counted at both ends
    if "vectors" in arrays and draw.random() < 0.5:
        _wrap(arrays, value, draw)
    elif "vectors" in arrays:
        _damage(arrays, draw)
    record.fields |= {"value": value, "bound": value, "optimal": True}
    return record.write()


def _wrap(arrays: Arrays, value: int, draw: Random) -> None:
    """Write a wrong certificate that a checker would accept if its squares overflowed 64 bits."""
    entry = draw.randint(3_037_000_500, 2**32 - 1)
    vector = np.zeros((1, arrays["side"].size), dtype=np.int64)
    vector[0, draw.randrange(vector.size)] = entry
    arrays["vectors"] = vector
    arrays["multipliers"] = np.array([1, 0])
    wrapped = 2**64 - entry**2
    arrays["denominator"] = np.array([2 * wrapped // (2 * value - 1)])


def _damage(arrays: Arrays, draw: Random) -> None:
    """Insert extreme numbers into a certificate."""
    for name in draw.sample(("vectors", "multipliers", "denominator"), draw.randint(1, 3)):
        values = arrays[name].astype(np.int64)
        values.ravel()[draw.randrange(values.size)] = draw.choice(_HUGE)
        arrays[name] = values


FORGERIES: dict[str, Callable[[Path, Random], Path]] = {
    "better value": improve_value,
    "foreign witness": exchange_witness,
    "slow broadcast": delay_broadcast,
    "wide bisection": widen_bisection,
}


def forge(servers: Servers, draw: Random) -> Outcome:
    """Forge a record, and have starcast verify it."""
    name = draw.choice(list(FORGERIES))
    with tempfile.TemporaryDirectory(prefix="forged-", dir=servers.folder) as folder:
        file = FORGERIES[name](Path(folder), draw)
        done = servers.run("records", "verify", str(file), deadline=_DEADLINE)
        description = f"{name}: {file.parent.name} {file.stem}"
    problems = find_problems(done)
    if done.code == 0:
        problems.append(f"the forgery is reported as verified: {done.out.strip()[:200]}")
    return description, done.result, problems
