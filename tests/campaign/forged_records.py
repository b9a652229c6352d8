"""Copies of built-in search records, which tests modify without using starcast's own code."""

import hashlib
import json
from pathlib import Path
from random import Random
from typing import Any

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
        self.witness = (source.parent / self.fields["witness"]["file"]).read_bytes()

    def write(self) -> Path:
        """Write the witness, and the record with its file name and checksum; return the path."""
        self.file.parent.mkdir(exist_ok=True)
        digest = hashlib.sha256(self.witness).hexdigest()
        name = f"{self.file.stem}.{digest[:12]}.npz"
        self.fields["witness"] = {"file": name, "sha256": digest}
        (self.file.parent / name).write_bytes(self.witness)
        self.file.write_text(json.dumps(self.fields), encoding="utf-8")
        return self.file


def choose_record(folder: Path, draw: Random, problem: str = "*") -> RecordFile:
    """Return a copy of a random small record; ``problem`` is a glob pattern for problem names."""
    files = [file for file in sorted(_SHIPPED.glob(f"{problem}/*.json")) if file.stem in _SMALL]
    return RecordFile(folder, draw.choice(files))
