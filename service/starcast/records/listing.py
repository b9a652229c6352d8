"""Tables and summaries of records."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from starcast.records.files import load_all
from starcast.records.model import PROBLEMS, Record, is_better
from starcast.support.errors import StarcastError
from starcast.support.table import Row, Table
from starcast.support.text import pluralize

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
SUMMARY = ("problem", "topologies", "arguments", "values", "optimal")


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
    # Problems are listed in the order of the documentation, whatever the order of files.
    order = list(PROBLEMS)
    return sorted(best.values(), key=lambda record: order.index(record.problem))


class RecordTable(Table):
    """A table with one row per record, which people see as a summary and programs in full."""

    def readable(self) -> Table:
        """Return a table with one row per problem and series of topologies, such as S3, S4, ..."""
        series: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows:
            family, k = row["topology"][0], row["topology"].partition(",")[2]
            key = (row["problem"], str(row["arguments"]), family, k)
            series.setdefault(key, []).append(row)
        open_row = next((row for row in self.rows if not row["optimal"]), None)
        note = "; --all lists each record"
        if open_row:
            note = (
                f"; {_value(open_row)}: value {open_row['value']}, bound {open_row['bound']}{note}"
            )
        note = f"{pluralize(len(self.rows), 'record')}{note}"
        return Table.of(map(_summarize, series.values()), SUMMARY, note)


def _summarize(rows: Sequence[Row]) -> Row:
    specs = [row["topology"] for row in rows]
    sizes = [int(spec[1:].partition(",")[0]) for spec in specs]
    is_range = len(specs) > 2 and sizes == list(range(sizes[0], sizes[0] + len(sizes)))
    return {
        **rows[0],
        "topologies": f"{specs[0]}..{specs[-1]}" if is_range else " ".join(specs),
        "values": " ".join(map(_value, rows)),
        "optimal": f"{sum(row['optimal'] for row in rows)} of {len(rows)}",
    }


def _value(row: Row) -> str:
    return f"{row['value']}" if row["optimal"] else f"{row['value']}({row['bound']})"


def as_table(
    records: Iterable[Record], note: str = "", failure: StarcastError | None = None
) -> Table:
    """Return a table with one row per record."""
    return Table.of(map(record_row, records), COLUMNS, note, failure, SPARE)


def as_summary(records: Iterable[Record]) -> RecordTable:
    """Return a table with one row per record, of which a terminal shows a summary."""
    return RecordTable.of(map(record_row, records), COLUMNS, spare=SPARE)


def record_row(record: Record) -> dict[str, Any]:
    """Return a record as a table row."""
    row = {name: getattr(record, name) for name in COLUMNS}
    row["arguments"] = dict(record.arguments)
    row["proof"] = describe_evidence(record)
    return row


def record_facts(record: Record) -> dict[str, Any]:
    """Return the fields of a record by name, with the shapes of its witness's arrays."""
    fields = record.fields()
    fields.pop("format")
    details = {name: fields.pop(name) for name in ("proof", "tried")}
    fields["witness"] = {name: list(array.shape) for name, array in record.witness.items()}
    fields["evidence"] = describe_evidence(record)
    return fields | details


def evidence_kind(record: Record) -> str:
    """Return the kind of evidence for a record's bound: theory, inequalities or a proof format."""
    if record.proof is not None:
        return record.proof.format
    return "inequalities" if "vectors" in record.witness else "theory"


def describe_evidence(record: Record) -> str:
    """Describe the evidence for a record's bound, and whether a checker has accepted it.

    Each verification of a record computes bounds from theory and inequalities again, which is fast.
    A proof is not repeated: until it is made again, only the file says that it was accepted.
    """
    if record.proof is None:
        return evidence_kind(record)
    if record.proof.format == "second solver":
        return "second solver, not checked"
    return f"{record.proof.format}, not made again"
