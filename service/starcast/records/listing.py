"""Listings of records."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from starcast.records.files import load_all
from starcast.records.model import PROBLEMS, Record, is_better
from starcast.support.errors import StarcastError
from starcast.support.table import Table

COLUMNS = (
    "problem",
    "topology",
    "arguments",
    "value",
    "bound",
    "optimal",
    "proof",
    "reason",
    "seconds",
    "solver",
    "version",
    "command",
)
SPARE = ("command", "version", "solver", "reason")


def load_files(folders: Sequence[Path]) -> list[Record]:
    """Return the best record of each problem and topology in some folders.

    Raises:
        InputError: a file is damaged.
    """
    best: dict[str, Record] = {}
    for folder in folders:
        for record in load_all(folder):
            other = best.get(record.id)
            best[record.id] = record if other is None or is_better(record, other) else other
    # As in the documentation, whatever the order of files.
    order = list(PROBLEMS)
    return sorted(best.values(), key=lambda record: order.index(record.problem))


def as_table(
    records: Iterable[Record], note: str = "", failure: StarcastError | None = None
) -> Table:
    """Return a row for each record."""
    return Table.of(map(record_row, records), COLUMNS, note, failure, SPARE)


def record_row(record: Record) -> dict[str, Any]:
    """Return what a listing says of a record."""
    row = {name: getattr(record, name) for name in COLUMNS}
    row["arguments"] = dict(record.arguments)
    row["proof"] = describe_evidence(record)
    return row


def record_facts(record: Record) -> dict[str, Any]:
    """Return what a record says, by name, with the shapes of the arrays of its witness."""
    fields = record.fields()
    fields.pop("format")
    details = {name: fields.pop(name) for name in ("proof", "tried")}
    fields["witness"] = {name: list(array.shape) for name, array in record.witness.items()}
    fields["evidence"] = describe_evidence(record)
    return fields | details


def evidence_kind(record: Record) -> str:
    """Return what supports the bound of a record: theory, inequalities or a format of proofs."""
    if record.proof is not None:
        return record.proof.format
    return "inequalities" if "vectors" in record.witness else "theory"


def describe_evidence(record: Record) -> str:
    """Return what supports the bound of a record in a file, and whether anything has checked it.

    Theory and inequalities are computed again in a moment, whenever a record is verified. That a
    proof was accepted is only what the file says, until the proof is made again.
    """
    if record.proof is None:
        return evidence_kind(record)
    if record.proof.format == "second solver":
        return "second solver, not checked"
    return f"{record.proof.format}, not made again"
