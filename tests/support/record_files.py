"""Record files written without any check, as by hand."""

from pathlib import Path

from starcast.records import Record
from starcast.records.files import locked_path, write_record


def put_record(folder: Path, record: Record) -> Path:
    """Write the files of a record into a folder, unchecked, and return the JSON file."""
    with locked_path(folder, record) as path:
        write_record(path, record)
    return path
