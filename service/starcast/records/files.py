"""Record files, and tables of records.

The file of a record is ``FOLDER/PROBLEM/TOPOLOGY.json``, with ``-NAME-VALUE`` after TOPOLOGY for
each argument of the problem; the witness is an npz file in the same folder.
"""

import hashlib
import io
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from starcast.records.model import (
    PROBLEMS,
    RESTORE,
    Record,
    RecordFields,
    Witness,
    WitnessFile,
    is_better,
    not_a_record,
    read_fields,
)
from starcast.support.arrays import read_arrays
from starcast.support.atomic import atomic_write, lock_folder
from starcast.support.errors import InputError, NotFoundError, StarcastError, unreadable
from starcast.support.installation import data_folder
from starcast.support.json_files import parse_json
from starcast.support.limited import DAMAGE, MB, read_bytes
from starcast.support.table import Row, Table
from starcast.support.text import pluralize

_SUFFIX = ".json"
_NUMBERED = re.compile(r"([A-Z])(\d+)(,\d+)?")
#: Maximum size of a record's JSON file in bytes, enough for a network of a million links.
_MAX_RECORD = 50 * MB
#: Maximum size of a witness in bytes, compressed or not: a broadcast on S11 takes 80 MB.
_MAX_WITNESS = 100 * MB


def shipped_folder() -> Path:
    """Return the folder of the records that come with starcast."""
    return data_folder("records")


def known_folders(home: Path) -> list[Path]:
    """Return the folders with known records: starcast's built-in records and the user's records.

    Args:
        home: starcast's home folder, which contains the user's folder ``records``.
    """
    return [shipped_folder(), home / "records"]


def path_of(
    folder: Path, problem: str, topology: str, arguments: Mapping[str, int] | None = None
) -> Path:
    """Return the path of a record's JSON file."""
    parts = [f"{name}-{value}" for name, value in sorted((arguments or {}).items())]
    return folder / problem / f"{'-'.join([topology, *parts])}{_SUFFIX}"


@contextmanager
def locked_path(folder: Path, record: Record) -> Iterator[Path]:
    """Create and lock the folder of a record's files; yield the path of the record's JSON file.

    Raises:
        InputError: the folder cannot be created or written to.
    """
    path = path_of(folder, record.problem, record.topology, record.arguments)
    with ExitStack() as stack:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            stack.enter_context(lock_folder(path.parent))
        except OSError as error:
            raise InputError(
                f"the folder {path.parent} cannot be created or written to: {error.strerror}",
                hint="choose another folder",
            ) from None
        yield path


def write_record(path: Path, record: Record) -> None:
    """Write the files of a record, and replace existing files.

    Only the record's form is checked here. The caller should be `starcast.search.save_record`,
    which verifies the record and holds the lock on the folder.

    Raises:
        InputError: the files cannot be written, or would not be valid; nothing is replaced.
    """
    packed = pack_witness(record.witness)
    digest = hashlib.sha256(packed).hexdigest()
    # The file name contains the digest, so that the old witness stays until the new record is
    # written.
    name = f"{path.stem}.{digest[:12]}.npz"
    fields = {**record.as_json(), "witness": {"file": name, "sha256": digest}}
    # A file that cannot be read must not replace a good record.
    try:
        read_fields(fields, "its content")
    except InputError as error:
        raise InputError(
            f"{path} cannot be written: {error.message}",
            hint="choose smaller arguments, or another topology",
        ) from None
    with atomic_write(path.with_name(name)) as file:
        file.write(packed)
    # A record with a network is not indented, because each of its many numbers would take a line.
    indent = None if "network" in fields else 2
    with atomic_write(path) as file:
        file.write(f"{json.dumps(fields, indent=indent)}\n".encode())
    # Old witnesses are deleted last, when no record refers to them any more.
    for old in path.parent.glob(f"{path.stem}.????????????.npz"):
        if old.name != name:
            old.unlink(missing_ok=True)


def load_record(path: Path) -> Record:
    """Read a record from its JSON file and the file of its witness.

    Raises:
        InputError: the JSON file or the witness is missing or damaged, or the format version is not
            supported.
        LimitError: one of the files is larger than the limit for record files.
    """
    try:
        fields, entry = _read_fields(path)
        try:
            content = read_bytes(path.with_name(entry.file), _MAX_WITNESS)
        except FileNotFoundError:
            # Read again, because another process may just have replaced both files.
            fields, entry = _read_fields(path)
            content = read_bytes(path.with_name(entry.file), _MAX_WITNESS)
    except OSError as error:
        raise unreadable(error.filename, error, RESTORE) from None
    except (ValueError, RecursionError) as error:
        raise not_a_record(str(path), error) from None
    if hashlib.sha256(content).hexdigest() != entry.sha256:
        raise InputError(
            f"the witness {path.with_name(entry.file)} is damaged: its SHA-256 differs from that in"
            " the record",
            hint=RESTORE,
        )
    witness = unpack_witness(content, str(path.with_name(entry.file)))
    return fields.record(witness)


def _read_fields(path: Path) -> tuple[RecordFields, WitnessFile]:
    fields = read_fields(parse_json(read_bytes(path, _MAX_RECORD), path), str(path))
    if fields.witness is None:
        raise not_a_record(str(path), "witness: Field required")
    return fields, fields.witness


def load_all(folder: Path) -> Iterator[Record]:
    """Yield all records of a folder, by problem in the order of `PROBLEMS`, then by file name.

    Shorter file names come first, so that S9 precedes S10.

    Raises:
        InputError: a file is missing or damaged, or its format version is not supported.
        LimitError: a file is larger than the limit for record files.
    """
    for problem in PROBLEMS:
        paths = (folder / problem).glob(f"*{_SUFFIX}")
        for path in sorted(paths, key=lambda path: (len(path.stem), path.stem)):
            yield load_record(path)


def load_named(path: Path) -> Record:
    """Read a record, and check that its path matches its problem, topology and arguments.

    Raises:
        InputError: the record cannot be read, or its file was renamed or moved.
        LimitError: a file of the record is larger than the limit for record files.
    """
    record = load_record(path)
    # A renamed file must not be used as the record of another problem.
    if path_of(path.parents[1], record.problem, record.topology, record.arguments) != path:
        raise not_a_record(str(path), f"its name does not match its id {record.id}")
    return record


def find_record(
    folders: list[Path], problem: str, topology: str, arguments: Mapping[str, int] | None = None
) -> Record | None:
    """Return the best record (see `is_better`) of a problem on a topology in the given folders.

    Args:
        folders: the folders to search.
        problem: the name of the problem.
        topology: the spec of the topology.
        arguments: the arguments of the problem, by name.

    Returns:
        The record; None if no folder has one.

    Raises:
        InputError: a record cannot be read, or its file was renamed or moved.
        LimitError: a file of a record is larger than the limit for record files.
    """
    best: Record | None = None
    for folder in folders:
        path = path_of(folder, problem, topology, arguments)
        if path.is_file():
            record = load_named(path)
            best = record if best is None or is_better(record, best) else best
    return best


@lru_cache(maxsize=32)
def shipped_record(problem: str, topology: str) -> Record:
    """Return starcast's built-in record of a problem without arguments on a topology.

    Raises:
        NotFoundError: starcast has no record of this problem on this topology.
    """
    record = find_record([shipped_folder()], problem, topology)
    if record is None:
        raise NotFoundError(
            f"starcast has no record of {problem} on {topology}",
            hint="see 'starcast records list'",
        )
    return record


def missing_reason(problem: str, topology: str, *, optimal: bool) -> str | None:
    """Return the reason why starcast has no suitable built-in record, or None if it has one.

    Args:
        problem: a problem without arguments.
        topology: the spec of the topology.
        optimal: whether the record must be proven optimal.
    """
    if not path_of(shipped_folder(), problem, topology).is_file():
        return f"starcast has no record of {problem} on {topology}"
    if optimal and not shipped_record(problem, topology).optimal:
        return f"starcast's record of {problem} on {topology} is not proven to be optimal"
    return None


def pack_witness(witness: Witness) -> bytes:
    """Return the arrays of a witness as the content of an npz file."""
    packed = io.BytesIO()
    np.savez_compressed(packed, **dict[str, Any](witness))
    return packed.getvalue()


def unpack_witness(content: bytes, source: str) -> Witness:
    """Return the arrays of a witness from the content of an npz file.

    Args:
        content: the content of the npz file.
        source: the name of the file or row that has this content, for messages.

    Raises:
        InputError: the content is not an npz file.
        LimitError: the arrays are larger than any witness.
    """
    try:
        return read_arrays(content, _MAX_WITNESS, f"the witness {source}")
    except DAMAGE as error:
        raise InputError(
            f"the witness {source} cannot be read: {error}",
            hint=RESTORE,
        ) from None


class Published(NamedTuple):
    """A value published in a paper, and its source.

    Attributes:
        value: the published value.
        source: the paper, as a key of references.bib.
        statement: the statement in the paper that gives the value.
        read: the part of the paper that the authors of starcast have read: all, the abstract, or
            only a citation in another paper.
        also: other papers that state this value.
    """

    value: int
    source: str
    statement: str
    read: str
    also: tuple[str, ...] = ()


@cache
def published_values() -> dict[str, Published]:
    """Return the values published in papers, by record id.

    Example:
        >>> published_values()["one-port-broadcast:S7"].value
        14
    """
    content = tomllib.loads((data_folder("records") / "published.toml").read_text("utf-8"))
    return {
        record_id: Published(
            value,
            entry["source"],
            entry["statement"],
            entry["read"],
            tuple(entry.get("also", ())),
        )
        for entry in content["published"]
        for record_id, value in entry["values"].items()
    }


#: The columns of a table of records.
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
#: The columns that are omitted first, in this order, if the terminal is too narrow.
SPARE = ("command", "version", "solver", "reason")
#: The columns of a summary of records.
SUMMARY = ("problem", "topologies", "arguments", "values", "optimal")


def load_files(folders: Sequence[Path]) -> list[Record]:
    """Return the best record (see `is_better`) with each id in the given folders.

    Raises:
        InputError: a file is missing or damaged, or its format version is not supported.
        LimitError: a file is larger than the limit for record files.
    """
    best: dict[str, Record] = {}
    for folder in folders:
        for record in load_all(folder):
            other = best.get(record.id)
            best[record.id] = record if other is None or is_better(record, other) else other
    # The problems are sorted, because one folder may lack problems that another folder has.
    order = list(PROBLEMS)
    return sorted(best.values(), key=lambda record: order.index(record.problem))


class RecordTable(Table):
    """A table with one row per record; a terminal shows a summary, other formats show all rows."""

    def readable(self) -> Table:
        """Return the summary: one row per problem and series of topologies, such as S3, S4, ..."""
        series: dict[tuple[str, ...], list[Row]] = {}
        for row in self.rows:
            # A topology whose spec is not like S5, S6,3 or Q4 forms a series by itself.
            spec = _NUMBERED.fullmatch(row["topology"])
            family = (spec[1], spec[3]) if spec else (row["topology"], "")
            key = (row["problem"], str(row["arguments"]), *family)
            series.setdefault(key, []).append(row)
        open_row = next((row for row in self.rows if not row["optimal"]), None)
        note = "; `everything` lists each record"
        if open_row:
            note = (
                f"; {_value(open_row)}: value {open_row['value']}, bound {open_row['bound']}{note}"
            )
        note = f"{pluralize(len(self.rows), 'record')}{note}"
        return Table.of(map(_summarize, series.values()), SUMMARY, note)


def _summarize(rows: Sequence[Row]) -> Row:
    """Combine the rows for a series of topologies into one summary row."""
    specs = [row["topology"] for row in rows]
    is_range = False
    if len(specs) > 2:
        sizes = [int(spec[1:].partition(",")[0]) for spec in specs]
        is_range = sizes == list(range(sizes[0], sizes[0] + len(sizes)))
    return {
        **rows[0],
        "topologies": f"{specs[0]}..{specs[-1]}" if is_range else " ".join(specs),
        "values": " ".join(map(_value, rows)),
        "optimal": f"{sum(row['optimal'] for row in rows)} of {len(rows)}",
    }


def _value(row: Row) -> str:
    """Return a row's value as text: ``7`` if it is optimal, or ``7(6)`` if its bound is 6."""
    return f"{row['value']}" if row["optimal"] else f"{row['value']}({row['bound']})"


def as_table(
    records: Iterable[Record], note: str = "", failure: StarcastError | None = None
) -> Table:
    """Return a table with one row per record.

    Args:
        records: the records.
        note: text to show with the table.
        failure: the error that a command reports after it has printed the table, or None.
    """
    return Table.of(map(record_row, records), COLUMNS, note, failure, SPARE)


def as_summary(records: Iterable[Record]) -> RecordTable:
    """Return a table with one row per record, which a terminal shows as a summary."""
    return RecordTable.of(map(record_row, records), COLUMNS, spare=SPARE)


def record_row(record: Record) -> dict[str, Any]:
    """Return a record as a table row with the columns `COLUMNS`."""
    row = {name: getattr(record, name) for name in COLUMNS}
    row["arguments"] = dict(record.arguments)
    row["proof"] = describe_evidence(record)
    return row


def record_facts(record: Record) -> dict[str, Any]:
    """Return the fields of a record by name; for the witness, only the shapes of its arrays."""
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
    """Describe the evidence for a record's bound, such as ``LRAT, not made again``.

    A bound from theory or inequalities is verified whenever the record is verified, which is fast.
    A proof is not regenerated, so the text for an LRAT or DRAT proof contains ``not made again``.
    """
    if record.proof is None:
        return evidence_kind(record)
    if record.proof.format == "second solver":
        return "second solver, not checked"
    return f"{record.proof.format}, not made again"
