"""Storage of search records, the best known solutions of search problems, in PostgreSQL.

A record is never replaced by a worse one. Every function works in the given session, and does not
commit.
"""

from collections.abc import Iterable
from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from starcast.records import Record, verify
from starcast.records.files import (
    COLUMNS,
    SPARE,
    evidence_kind,
    pack_witness,
    record_row,
    unpack_witness,
)
from starcast.records.model import FIELDS, FORMAT, combine_verified, read_fields
from starcast.stores.database.models import StoredRecord
from starcast.stores.database.networks import save_network
from starcast.stores.database.sessions import wait_for_lock
from starcast.support.errors import BusyError, InputError, RejectedError
from starcast.support.table import Table
from starcast.support.vocabulary import Verification

#: Seconds to wait for another process that stores records.
_LOCK_SECONDS = 600
_ALL = select(StoredRecord).order_by(StoredRecord.problem, StoredRecord.topology)


def store_all(session: Session, records: Iterable[tuple[Record, Verification]]) -> int:
    """Verify and store records; return the number of records that were added or changed.

    Each record is combined with the stored record (`starcast.records.model.combine_verified`), so
    neither a better value nor a better bound is lost, and an unverified bound never replaces a
    verified bound. The verification state of a bound is stored with the bound. An invalid stored
    record is replaced, because earlier versions accepted some invalid records.

    Args:
        session: an open session.
        records: pairs of a record and its verification state.

    Raises:
        RejectedError: a record is invalid, or its network differs from the stored network with the
            same spec; nothing is stored.
        InputError: a stored record was edited manually and cannot be read.
        BusyError: another process has been storing records for ten minutes.
    """
    # With the lock, only one process at a time compares records with stored records and replaces
    # them.
    busy = BusyError(
        f"another process has been storing records for {_LOCK_SECONDS} s",
        hint="try again when it has finished",
    )
    wait_for_lock(session, "records", _LOCK_SECONDS, busy)
    written = 0
    for record, state in records:
        verify(record)
        stored = session.get(StoredRecord, record.id)
        known = None if stored is None else _load_if_valid(stored)
        best = record, state
        if stored is not None and known is not None:
            best = combine_verified((known, cast("Verification", stored.verification)), best)
        if known is None or best[0].digest != known.digest:
            written += 1
        save_network(session, record.topology)
        session.merge(_as_row(*best))
    session.flush()
    return written


def _load_if_valid(stored: StoredRecord) -> Record | None:
    """Convert a stored row to a search record; return None if `verify` rejects the record."""
    record = as_record(stored)
    try:
        verify(record)
    except RejectedError:
        return None
    return record


def list_stored(session: Session, problem: str | None = None) -> Table:
    """Return a table of all records or of one problem's records, with verification states.

    Raises:
        InputError: a stored record was edited manually and cannot be read.
    """
    rows = []
    for stored in session.scalars(_ALL if problem is None else _ALL.filter_by(problem=problem)):
        record = as_record(stored)
        state = {"proof": evidence_kind(record), "verification": stored.verification}
        rows.append({**record_row(record), **state})
    return Table.of(rows, (*COLUMNS, "verification"), spare=SPARE)


def as_record(row: StoredRecord) -> Record:
    """Convert a stored row to a record.

    Raises:
        InputError: the row was edited manually and is not a valid record.
    """
    fields = {name: getattr(row, name) for name in (*FIELDS, "optimal")}
    source = f"the stored {row.id}"
    try:
        witness = unpack_witness(row.witness, f"of {source}")
        return read_fields({"format": FORMAT, **fields}, source).record(witness)
    except InputError as error:
        raise InputError(
            error.message,
            hint=f"delete the row '{row.id}' of PostgreSQL's table record, then run "
            "'starcast records store'",
        ) from None


def _as_row(record: Record, state: Verification) -> StoredRecord:
    fields = record.fields()
    fields.pop("format")
    packed = pack_witness(record.witness)
    return StoredRecord(id=record.id, witness=packed, verification=state, **fields)
