"""Bulk inserts into PostgreSQL by binary COPY.

Columns of numbers are converted to the wire format in numpy, one block of rows at a time, as a
structured array whose records are PostgreSQL tuples. See "Binary Format" in PostgreSQL's
documentation of COPY.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import psycopg
from numpy.typing import NDArray
from psycopg import sql
from sqlalchemy import BigInteger, Double, Integer, SmallInteger, Table
from sqlalchemy.orm import Session

#: Number of rows converted at a time: large enough to use numpy efficiently, and small enough for
#: the rows to fit in the processor's cache.
BLOCK = 1 << 15

# The signature, followed by the flags and the length of the header extension, which are both zero.
_HEADER = b"PGCOPY\n\xff\r\n\x00" + bytes(8)
# A field count of -1 marks the end of the data.
_TRAILER = b"\xff\xff"


def copy_columns(session: Session, table: Table, columns: Mapping[str, NDArray[Any]]) -> int:
    """Insert rows given as columns of numbers, in the session's transaction.

    Args:
        session: an open session; nothing is committed.
        table: the target; the types of its columns decide the width of each number.
        columns: arrays of equal length by column name; other columns get their default.

    Returns:
        The number of rows.
    """
    names = list(columns)
    record = _record(table, names)
    with _cursor(session).copy(_statement(table, names)) as copy:
        copy.write(_HEADER)
        for block in _blocks(list(columns.values()), record):
            copy.write(block)
        copy.write(_TRAILER)
    return len(columns[names[0]])


def copy_rows(
    session: Session, table: Table, names: Sequence[str], rows: Iterable[Sequence[Any]]
) -> None:
    """Insert a few large rows with columns of any type, in the session's transaction."""
    types = [
        table.c[name].type.compile(dialect=session.get_bind().dialect).lower() for name in names
    ]
    with _cursor(session).copy(_statement(table, names)) as copy:
        # Binary COPY converts nothing, so psycopg has to know the type of each column.
        copy.set_types(types)
        for row in rows:
            copy.write_row(row)


def _cursor(session: Session) -> psycopg.Cursor[Any]:
    driver = session.connection().connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("COPY needs psycopg")
    return driver.cursor()


def _statement(table: Table, names: Sequence[str]) -> sql.Composed:
    listed = sql.SQL(", ").join(sql.Identifier(name) for name in names)
    return sql.SQL("copy {} ({}) from stdin (format binary)").format(
        sql.Identifier(table.name), listed
    )


def _record(table: Table, names: Sequence[str]) -> np.dtype[np.void]:
    fields: list[tuple[str, str]] = [("fields", ">i2")]
    for name in names:
        fields += [(f"{name} width", ">i4"), (name, _wire(table, name))]
    return np.dtype(fields)


def _wire(table: Table, name: str) -> str:
    kind = table.c[name].type
    # SmallInteger and BigInteger are subclasses of Integer, so Integer comes after them.
    for declared, wire in (
        (SmallInteger, ">i2"),
        (BigInteger, ">i8"),
        (Integer, ">i4"),
        (Double, ">f8"),
    ):
        if isinstance(kind, declared):
            return wire
    raise TypeError(f"{table.name}.{name} is not a column of numbers")


def _blocks(values: Sequence[NDArray[Any]], record: np.dtype[np.void]) -> Iterator[memoryview]:
    names = [name for name in record.names or () if not name.endswith(" width")]
    # All blocks reuse one array, because the field count and field widths never change.
    rows = np.empty(BLOCK, record)
    rows["fields"] = len(values)
    for name in names[1:]:
        rows[f"{name} width"] = record[name].itemsize
    for start in range(0, len(values[0]), BLOCK):
        block = rows[: min(BLOCK, len(values[0]) - start)]
        for name, column in zip(names[1:], values, strict=True):
            block[name] = column[start : start + BLOCK]
        yield memoryview(block.tobytes())
