"""Export of the rows of a schedule to CSV and Parquet."""

import csv
import io
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import Schedule
from starcast.formats.convert import import_library

_CHUNK = 2**16


def table_columns(schedule: Schedule) -> dict[str, NDArray[Any]]:
    """Return the columns of a schedule by name, with labels instead of ranks."""
    names = schedule.topology.labels()
    # `schedule_from_csv` reads truth values as 0 and 1.
    combine = {} if schedule.combine is None else {"combine": schedule.combine.astype(np.uint8)}
    return {
        "step": schedule.step,
        "sender": names[schedule.sender],
        "port": schedule.port,
        "receiver": names[schedule.receiver],
        "tree": schedule.tree,
        "unit": schedule.unit,
        **combine,
    }


def write_csv(schedule: Schedule) -> Iterator[str]:
    """Yield the parts of a CSV file that `starcast.schedule_from_csv` reads."""
    columns = table_columns(schedule)
    yield ",".join(columns) + "\n"
    for first in range(0, len(schedule), _CHUNK):
        part = io.StringIO()
        values = (column[first : first + _CHUNK].tolist() for column in columns.values())
        csv.writer(part, lineterminator="\n").writerows(zip(*values, strict=True))
        yield part.getvalue()


def write_parquet(schedule: Schedule) -> Iterator[bytes]:
    """Yield a Parquet file in a single part, with the same columns as `write_csv`."""
    polars = import_library("polars", extra="parquet")
    file = io.BytesIO()
    polars.DataFrame(table_columns(schedule)).write_parquet(file)
    yield file.getvalue()
