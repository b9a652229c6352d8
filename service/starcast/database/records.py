"""Storage of records in PostgreSQL: a record is never replaced by a worse one.

As in `starcast.database.repository`, every function works in the given session and never commits.
"""

from collections.abc import Iterable

from sqlalchemy import select, text
from sqlalchemy.orm import Session

from starcast.database.record_table import StoredRecord
from starcast.records import Record, is_better, schema, verify
from starcast.records.files import pack_witness, unpack_witness
from starcast.records.listing import as_table
from starcast.records.model import FIELDS, FORMAT
from starcast.support.table import Table

#: A number of PostgreSQL's advisory locks, which no other part of starcast uses.
_LOCK = 7_718


def store_all(session: Session, records: Iterable[Record]) -> int:
    """Verify and store records, and return how many were better than what was stored.

    Raises:
        RejectedError: a record is wrong; nothing is stored.
    """
    # Two processes that store the same record must compare it one after the other.
    session.execute(text("select pg_advisory_xact_lock(:number)"), {"number": _LOCK})
    written = 0
    for record in records:
        verify(record)
        stored = session.get(StoredRecord, record.id)
        if stored is not None and not is_better(record, as_record(stored)):
            continue
        session.merge(_as_row(record))
        written += 1
    session.flush()
    return written


def load_stored(session: Session) -> list[Record]:
    """Return all stored records, by problem and topology.

    Raises:
        InputError: a row was changed by hand, and is not a record.
    """
    query = select(StoredRecord).order_by(StoredRecord.problem, StoredRecord.topology)
    return [as_record(row) for row in session.scalars(query)]


def list_stored(session: Session) -> Table:
    """Return a row for each stored record."""
    return as_table(load_stored(session))


def as_record(row: StoredRecord) -> Record:
    """Return the record of a row.

    Raises:
        InputError: the row was changed by hand, and is not a record.
    """
    fields = {name: getattr(row, name) for name in (*FIELDS, "optimal")}
    source = f"the stored {row.id}"
    witness = unpack_witness(row.witness, f"of {source}")
    return schema.as_record({"format": FORMAT, **fields}, witness, source)


def _as_row(record: Record) -> StoredRecord:
    fields = record.fields()
    fields.pop("format")
    return StoredRecord(id=record.id, witness=pack_witness(record.witness), **fields)
