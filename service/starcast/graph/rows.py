"""What goes into the graph, as columns: the relationships of a thing, and a checksum that both sides can compute.

The checksum of a row mixes its values one after the other, h -> h^2 + F v + 1 modulo a prime below 2^31, so that Cypher's
64-bit integers never overflow. The squares make it depend on which values stand together: a sum of linear terms would
not notice two relationships that exchange their ends. The checksum of many rows is the plain sum of theirs, so the order
does not matter and pages add up.

Relationships come in blocks of bounded size, so that no array grows with their number: the 16.3 million links of S10 as one
sorted set of rows would take 1 GB and most of the time.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import Schedule
from starcast.errors import RejectedError
from starcast.graph.schema import LINK, SEND, TREE_EDGE, Relationship, first_key
from starcast.permutations import Ranks
from starcast.topologies import Topology
from starcast.trees import Forest

#: Most rows a block: a few arrays of 8 MB.
BLOCK = 2**20

MODULUS = 2**31 - 1
FACTOR = 1_103_515_245
#: Rounds without a value at the end, or the last column would enter linearly.
_FINAL = (0, 0)
ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
#: What a symbol of a label counts as, in base 37.
DIGITS = {symbol: value for value, symbol in enumerate(ALPHABET, start=1)}
_BASE = len(ALPHABET) + 1

Column = NDArray[np.int64]


@dataclass(frozen=True)
class Content:
    """How much there is, and a checksum of it; what was meant and what was found are equal or the load has failed."""

    nodes: int
    relationships: int
    sums: tuple[int, int]

    @property
    def checksum(self) -> str:
        """Both checksums, of nodes and of relationships, as text."""
        return "-".join(f"{value:x}" for value in self.sums)


@dataclass(frozen=True, eq=False)
class Rows:
    """The relationships of one thing, or a block of them; where all are needed at once, they are sorted by start node.

    Args:
        kind: their type.
        owner: id of the thing: a topology's name, a forest's or a schedule's id.
        topology: where their ends lie.
        start: ranks, int64 ``[rows]``.
        end: ranks, int64 ``[rows]``.
        columns: the properties that differ, by name: int64 ``[rows]`` each.
    """

    kind: Relationship
    owner: str
    topology: Topology
    start: Column
    end: Column
    columns: Mapping[str, Column]

    def __post_init__(self) -> None:
        if tuple(self.columns) != self.kind.columns:
            raise ValueError(
                f"{self.kind.name} has the columns {self.kind.columns}, not {tuple(self.columns)}"
            )
        if {len(column) for column in self.columns.values()} | {len(self.end)} != {len(self.start)}:
            raise ValueError(f"the columns of {self.kind.name} differ in length")

    def __len__(self) -> int:
        return len(self.start)

    def sorted(self) -> "Rows":
        """The same rows by start node, then by end and the other columns: the one order in which two can be compared."""
        order = np.lexsort((*reversed([*self.columns.values()]), self.end, self.start))
        columns = {name: column[order] for name, column in self.columns.items()}
        return Rows(
            self.kind, self.owner, self.topology, self.start[order], self.end[order], columns
        )

    def checksum(self) -> int:
        """The sum of the rows' checksums."""
        return checksum((self.start, self.end, *self.columns.values()), len(self))


def link_blocks(topology: Topology) -> Iterator[Rows]:
    """Every undirected link once, from the lower rank, in blocks by start node.

    Raises:
        RejectedError: a port does not lead back over its reverse, or to the node itself.
    """
    table = topology.table()
    _check_back(topology, table)
    ports = np.array(topology.ports, dtype=np.int64)
    for part in _slices(topology.nodes, BLOCK // topology.degree):
        there = table[:, part].T.astype(np.int64)
        here = np.arange(part.start, part.stop)
        place, column = np.nonzero(there > here[:, None])
        yield Rows(
            LINK,
            topology.spec,
            topology,
            here[place],
            there[place, column],
            {"port": ports[column]},
        )


def _check_back(topology: Topology, table: Ranks) -> None:
    here = np.arange(topology.nodes, dtype=np.int32)
    for port, there in zip(topology.ports, table, strict=True):
        back = table[topology.ports.index(topology.reverse_port(port))]
        astray = np.flatnonzero((back[there] != here) | (there == here))
        if len(astray):
            raise RejectedError(
                f"port {port} of node {topology.label(int(astray[0]))} in {topology.spec} does not lead back",
                hint="this is a defect of starcast: please report it",
            )


def tree_blocks(forest: Forest) -> Iterator[Rows]:
    """Every tree's links, parent to child, with the parent's port, in blocks by tree and child.

    Raises:
        RejectedError: the array is no forest.
    """
    topology, back = forest.topology, forest.topology.reverse_ports()
    parents, levels = forest.parents(), forest.levels()
    for tree, ports in enumerate(forest.parent_port):
        for part in _slices(topology.nodes, BLOCK):
            child = np.flatnonzero(ports[part]) + part.start
            columns = (np.full(len(child), tree), levels[tree, child], back[ports[child]])
            yield _block(TREE_EDGE, forest.id, topology, parents[tree, child], child, *columns)


def send_blocks(schedule: Schedule) -> Iterator[Rows]:
    """Every row of a schedule, sender to receiver, in blocks."""
    names = ("sender", "receiver", "step", "tree", "port", "unit")
    for part in _slices(len(schedule), BLOCK):
        yield _block(
            SEND, schedule.id, schedule.topology, *(getattr(schedule, name)[part] for name in names)
        )


def _slices(length: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _block(
    kind: Relationship, owner: str, topology: Topology, *columns: NDArray[np.generic]
) -> Rows:
    start, end, *others = (column.astype(np.int64) for column in columns)
    return Rows(kind, owner, topology, start, end, dict(zip(kind.columns, others, strict=True)))


def joined(blocks: Iterable[Rows], kind: Relationship, owner: str, topology: Topology) -> Rows:
    """All blocks of one thing as one, sorted; without blocks, no rows."""
    parts = [_block(kind, owner, topology, *(np.empty(0),) * (2 + len(kind.columns))), *blocks]
    columns = {
        name: np.concatenate([part.columns[name] for part in parts]) for name in kind.columns
    }
    start, end = (
        np.concatenate([getattr(part, name) for part in parts]) for name in ("start", "end")
    )
    return Rows(kind, owner, topology, start, end, columns).sorted()


def link_rows(topology: Topology) -> Rows:
    """`link_blocks` at once, sorted."""
    return joined(link_blocks(topology), LINK, topology.spec, topology)


def tree_rows(forest: Forest) -> Rows:
    """`tree_blocks` at once, sorted."""
    return joined(tree_blocks(forest), TREE_EDGE, forest.id, forest.topology)


def send_rows(schedule: Schedule) -> Rows:
    """`send_blocks` at once, sorted."""
    return joined(send_blocks(schedule), SEND, schedule.id, schedule.topology)


def checksum(columns: Iterable[NDArray[np.int64]], rows: int) -> int:
    """The sum of the checksums of rows given as columns, int64 ``[rows]`` each."""
    mixed = np.ones(rows, dtype=np.int64)
    for value in (*columns, *_FINAL):
        mixed = (
            mixed * mixed + FACTOR * (np.asarray(value, dtype=np.int64) % MODULUS) + 1
        ) % MODULUS
    return int(mixed.sum())


def checksum_cypher(values: Iterable[str]) -> str:
    """The same for one row, as a Cypher expression over expressions; `$modulus` and `$factor` are parameters."""
    listed = ", ".join([*values, *(str(value) for value in _FINAL)])
    return f"reduce(h = 1, v IN [{listed}] | (h * h + $factor * (v % $modulus) + 1) % $modulus)"


def node_checksum(topology: Topology) -> int:
    """The sum of the checksums of all nodes: place of the key, rank and label."""
    return sum(_node_checksum(topology, part) for part in _slices(topology.nodes, BLOCK))


def _node_checksum(topology: Topology, part: slice) -> int:
    ranks = np.arange(part.start, part.stop)
    labels = topology.labels(ranks)
    symbols = np.ascontiguousarray(labels).view(np.uint32).reshape(len(labels), -1)
    digit = np.zeros(128, dtype=np.int64)
    digit[[ord(symbol) for symbol in DIGITS]] = list(DIGITS.values())
    code = np.zeros(len(labels), dtype=np.int64)
    for column in symbols.T:
        code = (code * _BASE + digit[column]) % MODULUS
    return checksum((ranks, ranks, code), len(ranks))


def node_checksum_cypher(first: str = "$first") -> str:
    """The same for one node ``n``; ``first`` is the key of node 0 and `$digits` what each symbol counts as."""
    code = (
        f"reduce(c = 0, symbol IN split(n.label, '') | (c * {_BASE} + $digits[symbol]) % $modulus)"
    )
    return checksum_cypher([f"n.key - {first}", "n.rank", code])


def topology_content(topology: Topology, links: Rows | Iterable[Rows]) -> Content:
    """What the graph has to hold of a topology with these links, at once or in blocks."""
    counted = rows_content(links)
    return Content(
        topology.nodes, counted.relationships, (node_checksum(topology), counted.sums[1])
    )


def rows_content(rows: Rows | Iterable[Rows]) -> Content:
    """What the graph has to hold of a forest or a schedule, given at once or in blocks."""
    count, total = 0, 0
    for block in [rows] if isinstance(rows, Rows) else rows:
        count, total = count + len(block), total + block.checksum()
    return Content(0, count, (0, total))


def keys(topology: Topology, ranks: NDArray[np.int64]) -> NDArray[np.int64]:
    """The keys of these nodes."""
    return ranks + first_key(topology)
