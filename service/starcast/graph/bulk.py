"""The files of an offline import: what ``neo4j-admin database import full`` makes a whole store of, at once.

A file for every label and every relationship type, headers from `starcast.graph.schema`. Nodes are numbered from 0 without a
gap, so that ``--id-type=actual`` applies: the importer needs no table from names to nodes. Texts with a comma (``S5,3``) stand
in quotes; an empty text is written ``""``, a property that is not there as nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from io import FileIO
from pathlib import Path
from typing import Any, Protocol
from uuid import UUID

import numpy as np
import polars as pl

from starcast.graph.artifact_nodes import RELATIONSHIP_OF, Owner
from starcast.graph.rows import BLOCK, Content, Rows
from starcast.graph.schema import (
    LABELS,
    NODE,
    RELATIONSHIPS,
    STORE,
    TOPOLOGY,
    VERSION,
    Label,
    Relationship,
    State,
    Type,
    first_key,
)
from starcast.progress import Reporter, Task
from starcast.topologies import Topology

#: What the importer has to be told beside the files' names: how nodes are numbered, and that no row is to be left out.
OPTIONS = ("--id-type=actual", "--bad-tolerance=0")

_TYPES = {Type.STRING: "string", Type.INTEGER: "long", Type.BOOLEAN: "boolean"}


class Bulk(Protocol):
    """A thing to write: `starcast.ingest.artifacts.Built` is one."""

    @property
    def owner(self) -> Owner:
        """Its node."""

    @property
    def topology(self) -> Topology:
        """Where it lies; where the thing is a topology, its nodes are written as well."""

    @property
    def content(self) -> Content:
        """How much it is."""

    @property
    def blocks(self) -> Callable[[], Iterator[Rows]]:
        """Its relationships."""


@dataclass(frozen=True)
class BulkFiles:
    """What was written.

    Attributes:
        folder: where.
        contents: the option that names each kind of file, the label or type in it, and its name.
        nodes: rows of all files of nodes: (:Store) and those of things included.
        relationships: rows of all files of relationships.
        bytes: of all files.
    """

    folder: Path
    contents: tuple[tuple[str, str, str], ...]
    nodes: int
    relationships: int
    bytes: int

    @property
    def arguments(self) -> tuple[str, ...]:
        """What ``neo4j-admin database import full`` is given beside `OPTIONS`, if it runs in the folder."""
        return self.arguments_in(".")

    def arguments_in(self, folder: str) -> tuple[str, ...]:
        """The same for a tool that sees the folder under this name; without one it would not find a file."""
        return tuple(f"{option}={name}={folder}/{file}" for option, name, file in self.contents)


def write(folder: Path, store: UUID, things: Iterable[Bulk], reporter: Reporter) -> BulkFiles:
    """Write the files of these things, and nothing else, into an empty folder.

    Things are taken one after the other and may be built as they are asked for. A topology comes before what lies on it, a
    forest before the schedules along it. Their state is ``imported``.

    Args:
        folder: exists, and is empty.
        store: the id of the relational store, for the node (:Store).
        things: what the graph will hold.
        reporter: hears of progress.

    Raises:
        OSError: a file cannot be written.
        KeyError: a thing comes before what it hangs from.
    """
    with ExitStack() as stack:
        files = _Files(folder, stack)
        files.node(STORE, {"id": str(store), "schema": VERSION})
        for thing in things:
            total = thing.content.nodes + thing.content.relationships
            with reporter.task(f"{thing.owner.key} to files", total, "rows") as task:
                files.thing(thing, task)
    return files.written()


def row_bytes(kind: str, key: str, width: int) -> int:
    """Most bytes that a relationship of a thing takes in these files.

    Args:
        kind: topology, forest or schedule.
        key: the thing's name, which stands in every row.
        width: digits of the largest number that stands in it: of a node, or of a unit.
    """
    numbers = {"topology": 2, "forest": 3 * 2, "schedule": 2 * 2 + 2 * width}[kind]
    return 2 * (width + 1) + _text_bytes(key) + numbers + len(RELATIONSHIP_OF[kind].names)


def node_bytes(topology: Topology, width: int) -> int:
    """Most bytes that a node of a topology takes in these files; ``width`` as in `row_bytes`."""
    return (
        2 * width
        + len(str(first_key(topology) + topology.nodes))
        + _text_bytes(topology.spec)
        + len(topology.label(0))
        + len(NODE.names)
        + 1
    )


def _text_bytes(text: str) -> int:
    return len(text) + 2 * ("," in text)


@dataclass
class _Files:
    """The files that are open, their rows, and the numbers that nodes got: a topology's first one, a thing's own."""

    folder: Path
    stack: ExitStack
    opened: dict[str, FileIO] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    first: dict[str, int] = field(default_factory=dict)
    own: dict[str, int] = field(default_factory=dict)
    nodes: int = 0

    def thing(self, thing: Bulk, task: Task) -> None:
        """Write a thing: its nodes if it is a topology, its own node and what that hangs from, its relationships."""
        owner, topology = thing.owner, thing.topology
        if owner.label is TOPOLOGY:
            self._topology(topology, task)
        self.own[owner.key] = self.nodes
        self.node(owner.label, {**owner.properties, "state": State.IMPORTED.value})
        if owner.parent is not None:
            kind, _, parent = owner.parent
            self._relationships(kind, [self.own[owner.key]], [self.own[parent]], {})
        first = self.first[topology.spec]
        for rows in thing.blocks():
            columns = {
                name: rows.owner if name == rows.kind.owner else rows.columns[name]
                for name in rows.kind.names
            }
            self._relationships(rows.kind, rows.start + first, rows.end + first, columns)
            task.advance(len(rows))

    def node(self, label: Label, properties: Mapping[str, Any]) -> None:
        """Write one node under the next number."""
        self._write(label, {":ID": [self.nodes]}, properties)
        self.nodes += 1

    def written(self) -> BulkFiles:
        """What has been written."""
        things = [thing for thing in (*LABELS, *RELATIONSHIPS) if thing.name in self.rows]
        listed = tuple((_option(thing), thing.name, _file(thing)) for thing in things)
        relationships = sum(
            self.rows[thing.name] for thing in things if isinstance(thing, Relationship)
        )
        size = sum((self.folder / _file(thing)).stat().st_size for thing in things)
        return BulkFiles(self.folder, listed, self.nodes, relationships, size)

    def _topology(self, topology: Topology, task: Task) -> None:
        first = self.first[topology.spec] = self.nodes
        for start in range(0, topology.nodes, BLOCK):
            ranks = np.arange(start, min(start + BLOCK, topology.nodes))
            labels = topology.labels(ranks).tolist()
            columns = {
                "key": ranks + first_key(topology),
                "topology": topology.spec,
                "rank": ranks,
                "label": labels,
            }
            self._write(NODE, {":ID": ranks + first}, columns)
            task.advance(len(ranks))
        self.nodes += topology.nodes

    def _relationships(
        self, kind: Relationship, start: Any, end: Any, columns: Mapping[str, Any]
    ) -> None:
        self._write(kind, {":START_ID": start, ":END_ID": end}, columns)

    def _write(
        self, thing: Label | Relationship, ids: Mapping[str, Any], columns: Mapping[str, Any]
    ) -> None:
        if tuple(columns) != thing.names:
            raise ValueError(f"{thing.name} has {thing.names}, not {tuple(columns)}")
        if thing.name not in self.opened:
            # Unbuffered: polars writes past Python's buffer.
            file = (self.folder / _file(thing)).open("xb", buffering=0)
            self.opened[thing.name] = self.stack.enter_context(file)
            file.write(_header(thing, ids).encode())
        frame = pl.DataFrame(ids).with_columns(
            **{name: _column(value) for name, value in columns.items()}
        )
        frame.write_csv(self.opened[thing.name], include_header=False, quote_style="necessary")
        self.rows[thing.name] = self.rows.get(thing.name, 0) + len(frame)


def _column(value: Any) -> pl.Series | pl.Expr:
    """A column of values, or one value for all rows."""
    return pl.Series(value) if isinstance(value, np.ndarray | list) else pl.lit(value)


def _header(thing: Label | Relationship, ids: Iterable[str]) -> str:
    typed = (f"{declared.name}:{_TYPES[declared.type]}" for declared in thing.properties)
    return ",".join([*ids, *typed]) + "\n"


def _file(thing: Label | Relationship) -> str:
    return f"{thing.name.lower()}.csv"


def _option(thing: Label | Relationship) -> str:
    return "--relationships" if isinstance(thing, Relationship) else "--nodes"
