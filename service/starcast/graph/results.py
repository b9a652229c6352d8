"""What a statement comes back with: rows, as many as were asked for and as memory holds, and what the server says of it."""

from dataclasses import dataclass
from typing import Any

import psutil
from neo4j import Record, Result

from starcast.errors import LimitError

#: Records between two looks at what memory is left.
_FETCH = 10_000
#: Bytes that other programs keep, whatever the answer takes.
_SPARE = 2**28

Row = dict[str, Any]


@dataclass(frozen=True)
class Notice:
    """What the server remarks about a statement: a deprecation, a cartesian product, a name it does not know."""

    status: str
    severity: str
    text: str


@dataclass(frozen=True)
class Answer:
    """The rows of a statement, and what came with them.

    Attributes:
        columns: their names, in the statement's order.
        rows: at most as many as were asked for.
        more: whether there would have been more.
        notices: the server's remarks.
        plan: the plan as the server tells it, where the statement says EXPLAIN or PROFILE.
    """

    columns: tuple[str, ...]
    rows: list[Row]
    more: bool
    notices: tuple[Notice, ...]
    plan: dict[str, Any] | None


def answered(result: Result, most: int | None) -> Answer:
    """All that a statement comes back with; of the rows at most so many.

    Raises:
        LimitError: they do not fit into what memory is left.
    """
    columns = tuple(result.keys())
    records = _fetched(result, most + 1) if most is not None else list(result)
    more = most is not None and len(records) > most
    summary = result.consume()
    notices = tuple(
        Notice(status.gql_status, status.raw_severity or "", status.status_description)
        for status in summary.gql_status_objects
        if status.is_notification
    )
    return Answer(
        columns,
        [record.data() for record in records[:most]],
        more,
        notices,
        summary.plan or summary.profile,
    )


def _fetched(result: Result, most: int) -> list[Record]:
    process = psutil.Process()
    before, records = process.memory_info().rss, list[Record]()
    while len(records) < most and (some := result.fetch(min(_FETCH, most - len(records)))):
        records += some
        left = psutil.virtual_memory().available
        # What was read is needed once more as rows, and again as text.
        if 2 * (process.memory_info().rss - before) + _SPARE > left:
            raise LimitError(
                f"the answer does not fit into memory: {len(records):,} rows were read, and {left / 1e6:,.0f} MB are left",
                hint="lower the row limit (--limit, STARCAST_ROW_LIMIT)",
            )
    return records
