"""Files for ``neo4j-admin database import full``, which creates a new store from CSV files.

There is one file per label and relationship type, with headers from
`starcast.stores.graph.schema`. Nodes are numbered from 0 without gaps, so that ``--id-type=actual``
applies and the importer needs no lookup table from names to nodes. Strings with a comma, a quote or
a line break are quoted. An empty string is written as ``""``, an absent property as an empty field.

Most blocks of rows are written with numpy: all lines have the same length, so that columns are
filled by array operations. Numbers therefore have leading zeros, which the importer accepts
(``docs/decisions/0009-csv-without-polars.md``). Only blocks with strings of different lengths, such
as the labels of networks, are joined from Python strings.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import repeat
from pathlib import Path
from typing import Any, BinaryIO
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

from starcast.stores.graph.artifacts import BLOCK, RELATIONSHIP_OF, GraphArtifact
from starcast.stores.graph.schema import (
    ELEMENTS,
    LABELS,
    NODE,
    RELATIONSHIPS,
    STORE,
    TOPOLOGY,
    VERSION,
    Element,
    GraphState,
    Label,
    PropertyType,
    find_titles,
    first_key,
)
from starcast.support.progress import Reporter, Task
from starcast.topologies import Topology
from starcast.topologies.networks import MAX_COMMON_CAPACITY, MAX_LATENCY, find_network

#: Options of the importer. Nodes are identified by number, and no row may be skipped.
OPTIONS = ("--id-type=actual", "--bad-tolerance=0")

_TYPES = {
    PropertyType.STRING: "string",
    PropertyType.INTEGER: "long",
    PropertyType.BOOLEAN: "boolean",
    PropertyType.INTEGERS: "long[]",
}

#: Number of lines formatted at a time, small enough for the processor's cache.
_LINES = 2**15


def _digit_table(size: int) -> NDArray[Any]:
    """Return an array of the numbers 0 to 10^size - 1 as strings with leading zeros."""
    texts = "".join(f"{number:0{size}d}" for number in range(10**size))
    return np.frombuffer(texts.encode(), dtype=f"u{size}")


#: All numbers of up to 4, 2 and 1 digits as text with leading zeros, keyed by number of digits.
_DIGITS = {size: _digit_table(size) for size in (4, 2, 1)}

CsvValue = str | int | bool | list[int] | None
#: One value per row (an array, or a tuple of values of different lengths), or one value for all
#: rows.
CsvColumn = NDArray[Any] | tuple[CsvValue, ...] | CsvValue


def write(
    folder: Path, store: UUID, artifacts: Iterable[GraphArtifact], rows: int, reporter: Reporter
) -> "BulkFiles":
    """Write the import files for a store with exactly the given artifacts into an empty folder.

    Artifacts are written in the given order and may be built on demand. A topology must come before
    its forests and schedules, and a forest before the schedules that use it.

    Args:
        folder: an existing, empty folder.
        store: id of the relational store, written to the node (:Store).
        artifacts: all artifacts of the new store.
        rows: the total number of nodes and relationships, for the progress display.
        reporter: reports the progress.

    Raises:
        OSError: a file cannot be written.
        KeyError: an artifact comes before the artifact that it depends on.
    """
    with ExitStack() as stack:
        files = BulkFiles(folder, stack)
        files.write_node(STORE, {"id": str(store), "schema": VERSION})
        with reporter.task("writing the files", rows, "rows") as task:
            for artifact in artifacts:
                files.write_artifact(artifact, task)
    return files


def row_bytes(kind: str, artifact_id: str, width: int) -> int:
    """Return an upper bound on the bytes per relationship of an artifact in the import files.

    Args:
        kind: topology, forest or schedule.
        artifact_id: the artifact's id, which is part of every row.
        width: number of digits of the largest node or unit number.
    """
    # Columns have at most three digits for a port or a tree, one for `combine`, and `width` digits
    # for a step, a unit, a level or the size of a subtree.
    network = find_network(artifact_id)
    values = 0
    if network is not None and not network.has_equal_links:
        values = len(str(MAX_COMMON_CAPACITY)) + len(str(MAX_LATENCY))
    numbers = {
        "topology": 3 + values, "forest": 2 * (3 + width), "schedule": 2 * (3 + width) + 1,
    }[kind]  # fmt: skip
    separators = len(RELATIONSHIP_OF[kind].names)
    return 2 * (width + 1) + len(_format(artifact_id)) + numbers + separators


def node_bytes(topology: Topology, width: int) -> int:
    """Return an upper bound on the bytes per node of a topology in the import files.

    Args:
        topology: the topology.
        width: number of digits of the largest node number.
    """
    # In a topology with translations, all labels have the same length.
    labels = topology.labels([0] if topology.has_translations else None).tolist()
    return (
        2 * width
        + len(str(first_key(topology) + topology.nodes))
        + len(_format(topology.spec))
        + max(map(len, labels))
        # A character of a title takes at most four bytes; two quotation marks enclose the title.
        + max((4 * len(title) + 2 for title in find_titles(topology)), default=0)
        + len(NODE.names)
        + len("true")
        + 1
    )


@dataclass
class BulkFiles:
    """The import files, their row counts, and the numbers assigned to nodes.

    Attributes:
        folder: the folder of the files.
        stack: the exit stack that closes the files.
        opened: the open file for each label and relationship type.
        rows: number of rows in each file.
        first_ids: number assigned to node 0 of each topology, keyed by spec. The importer options
            `OPTIONS` make this number the node's internal id in the new store.
        numbers: number assigned to each artifact's own node, keyed by artifact id.
        nodes: number of rows in all node files, including (:Store) and the nodes of artifacts. The
            next node that is written gets this number.
    """

    folder: Path
    stack: ExitStack
    opened: dict[Element, BinaryIO] = field(default_factory=dict)
    rows: Counter[Element] = field(default_factory=Counter)
    first_ids: dict[str, int] = field(default_factory=dict)
    numbers: dict[str, int] = field(default_factory=dict)
    nodes: int = 0

    @property
    def arguments(self) -> tuple[str, ...]:
        """The importer arguments that name the files; the importer must run in their folder."""
        return tuple(
            f"--{'nodes' if element in LABELS else 'relationships'}={element.name}="
            f"./{_file_name(element)}"
            for element in ELEMENTS
            if element in self.rows
        )

    @property
    def relationships(self) -> int:
        """Number of rows in all relationship files."""
        return sum(self.rows[relationship] for relationship in RELATIONSHIPS)

    @property
    def bytes(self) -> int:
        """Total size of the files in bytes; the files must be closed."""
        return sum((self.folder / _file_name(element)).stat().st_size for element in self.rows)

    def write_artifact(self, artifact: GraphArtifact, task: Task) -> None:
        """Write an artifact's node and relationships and, for a topology, the topology's nodes."""
        with ThreadPoolExecutor(1) as pool:
            # numpy releases the GIL, so two threads use two processors.
            nodes = None
            if artifact.label is TOPOLOGY:
                first = self.first_ids[artifact.topology.spec] = self.nodes
                self.nodes += artifact.topology.nodes
                nodes = pool.submit(self._write_topology_nodes, artifact.topology, first, task)
            self._write_others(artifact, task)
            if nodes is not None:
                nodes.result()

    def _write_others(self, artifact: GraphArtifact, task: Task) -> None:
        """Write an artifact's node and relationships, and its connection to the parent artifact."""
        number = self.numbers[artifact.id] = self.nodes
        self.write_node(artifact.label, {**artifact.properties, "state": GraphState.COMPLETE.value})
        if artifact.parent is not None:
            relationship, _, parent_id = artifact.parent
            parents = {":START_ID": number, ":END_ID": self.numbers[parent_id]}
            self._write(relationship, parents, {}, 1)
        first = self.first_ids[artifact.topology.spec]
        for rows in artifact.blocks():
            columns: dict[str, CsvColumn] = dict.fromkeys(rows.relationship.names, artifact.id)
            ends = {":START_ID": rows.start + first, ":END_ID": rows.end + first}
            # The file has the columns `capacity` and `latency`, even if the rows lack them because
            # all links of the topology are equal.
            relationship = RELATIONSHIP_OF[artifact.kind]
            self._write(relationship, ends, columns | rows.columns, len(rows))
            task.advance(len(rows))

    def write_node(self, label: Label, properties: Mapping[str, CsvValue]) -> None:
        """Write a single node and assign it the next number."""
        self._write(label, {":ID": self.nodes}, properties, 1)
        self.nodes += 1

    def _write_topology_nodes(self, topology: Topology, first: int, task: Task) -> None:
        """Write a row for each node of a topology, with ``first`` plus the node's rank as :ID."""
        titles = tuple(find_titles(topology))
        for start in range(0, topology.nodes, BLOCK):
            ranks = np.arange(start, min(start + BLOCK, topology.nodes))
            labels = topology.labels(ranks)
            columns: dict[str, CsvColumn] = {
                "key": ranks + first_key(topology),
                "topology": topology.spec,
                "rank": ranks,
                "label": labels if topology.has_translations else tuple(labels.tolist()),
                "title": titles[start : start + BLOCK] or None,
                "is_switch": None
                if topology.endpoints == topology.nodes
                else tuple(rank >= topology.endpoints or None for rank in ranks.tolist()),
            }
            self._write(NODE, {":ID": ranks + first}, columns, len(ranks))
            task.advance(len(ranks))

    def _write(
        self,
        element: Element,
        ids: Mapping[str, CsvColumn],
        columns: Mapping[str, CsvColumn],
        rows: int,
    ) -> None:
        if element not in self.opened:
            # The folder is empty at the start, so an existing file means a defect.
            file = (self.folder / _file_name(element)).open("xb")
            self.opened[element] = self.stack.enter_context(file)
            typed = (f"{each.name}:{_TYPES[each.type]}" for each in element.properties)
            file.write((",".join([*ids, *typed]) + "\n").encode())
        listed = [columns.get(name) for name in element.names]
        for lines in format_lines([*ids.values(), *listed], rows):
            self.opened[element].write(lines.data)
        self.rows[element] += rows


def format_lines(columns: Iterable[CsvColumn], rows: int) -> Iterator[NDArray[np.uint8]]:
    """Yield arrays of CSV lines; each array is valid only until the next array is yielded.

    If no column is a tuple, all lines have the same length, and each array has the shape ``[lines,
    length of a line]``. Otherwise, each array has one dimension.

    Args:
        columns: for each column, an array or a tuple with a value per row, or one value for all
            rows. Arrays contain non-negative integers, or strings of equal length without commas
            and quotes.
        rows: number of rows.
    """
    columns = list(columns)
    if any(isinstance(column, tuple) for column in columns):
        yield from _join_fields(columns, rows)
        return
    template = bytearray()
    fields: list[tuple[int, int, NDArray[Any]]] = []
    for column in columns:
        template += b"," if template else b""
        if isinstance(column, np.ndarray):
            width = _width(column)
            fields.append((len(template), width, column))
            template += bytes(width)
        elif not isinstance(column, tuple):
            template += _format(column)
    template += b"\n"
    # Constant columns and separators are written once; the other columns are filled for each part.
    line = np.frombuffer(template, dtype=np.uint8)
    lines = np.tile(line, (min(rows, _LINES), 1))
    for start in range(0, rows, _LINES):
        part = lines[: rows - start]
        for offset, width, column in fields:
            values = column[start : start + _LINES]
            if values.dtype.kind == "U":
                # numpy stores a character in four bytes; labels are ASCII, so the lowest byte is
                # enough.
                symbols = np.ascontiguousarray(values).view(np.uint32).astype(np.uint8)
                _fill(part, offset, symbols.view(f"V{width}"))
            else:
                _fill_digits(part, offset, width, values)
        yield part


def _join_fields(columns: Iterable[CsvColumn], rows: int) -> Iterator[NDArray[np.uint8]]:
    """Yield rows as CSV lines of different lengths, several lines per array."""
    for start in range(0, rows, _LINES):
        part = slice(start, min(start + _LINES, rows))
        fields: list[Iterable[bytes]] = []
        for column in columns:
            if isinstance(column, tuple):
                fields.append(map(_format, column[part]))
            elif isinstance(column, np.ndarray):
                fields.append(map(_format, column[part].tolist()))
            else:
                fields.append(repeat(_format(column), part.stop - start))
        lines = map(b",".join, zip(*fields, strict=True))
        yield np.frombuffer(b"\n".join(lines) + b"\n", dtype=np.uint8)


def _width(column: NDArray[Any]) -> int:
    """Return the width of a column in import files, in characters."""
    if column.dtype.kind == "U":
        return column.dtype.itemsize // 4
    return len(str(int(column.max(initial=0))))


def _fill(lines: NDArray[np.uint8], offset: int, values: NDArray[Any]) -> None:
    """Write one value into each line, starting at byte ``offset`` of the line.

    Args:
        lines: the lines of an import file, uint8 ``[lines, length of a line]``; modified in place.
        offset: the index of the first byte.
        values: one value per line, all with the same number of bytes.
    """
    strides = (lines.shape[1],)
    # A view with the stride of a line fills one field of all lines in one assignment.
    target: NDArray[Any] = np.ndarray(len(lines), values.dtype, lines.data, offset, strides)
    target[...] = values


def _fill_digits(
    lines: NDArray[np.uint8], offset: int, width: int, values: NDArray[np.int64]
) -> None:
    """Write one number with leading zeros into each line, starting at byte ``offset`` of the line.

    Args:
        lines: the lines, uint8 ``[lines, length of a line]``; modified in place.
        offset: the index of the first byte.
        width: the number of digits.
        values: one number per line.
    """
    # Dividing 32-bit integers is several times as fast as dividing 64-bit integers, and most
    # numbers fit in 32 bits.
    rest = values.astype(np.uint32 if width < 10 else np.uint64)
    while width:
        # Looking up four digits at once replaces three of four divisions.
        size = next(size for size in _DIGITS if size <= width)
        quotient = rest // 10**size
        width -= size
        _fill(lines, offset + width, _DIGITS[size][rest - quotient * 10**size])
        rest = quotient


def _format(value: CsvValue) -> bytes:
    """Return a property's value in the format of Neo4j's importer."""
    if value is None:
        return b""
    if isinstance(value, bool):
        return b"true" if value else b"false"
    # The importer separates the elements of a list by semicolons.
    text = ";".join(map(str, value)) if isinstance(value, list) else str(value)
    if not text or any(symbol in text for symbol in ',"\n'):
        escaped = text.replace('"', '""')
        text = f'"{escaped}"'
    return text.encode()


def _file_name(element: Element) -> str:
    return f"{element.name.lower()}.csv"
