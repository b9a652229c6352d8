"""Artifacts in the form that the graph stores: a node, and relationships as rows of a table.

A row is one relationship. Numpy and Cypher compute the same checksum for a row, by combining the
values of the row in sequence. A value v changes the checksum h to h^2 + F v + 1 modulo a prime,
where F is a constant. The prime is below 2^31, so that Cypher's 64-bit integers never overflow.
Because of the squares, the checksum depends on which values share a row. A linear checksum would
not detect that two relationships have exchanged their ends. The checksum of several rows is the sum
of their checksums, so it does not depend on their order, and checksums of parts can be added.

Relationships come in blocks of bounded size, so that no array grows with their number. Sorting the
16.3 million links of S10 as a single block would need 1 GB and take most of the time.
"""

import string
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import zip_longest
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.catalogue.entries import FAMILIES
from starcast.collectives import Schedule
from starcast.stores.graph.schema import (
    FOREST,
    LINK,
    ON,
    SCHEDULE,
    SEND,
    TOPOLOGY,
    TREE_EDGE,
    UNEQUAL_LINK,
    USES,
    Label,
    Relationship,
)
from starcast.support.errors import RejectedError
from starcast.support.vocabulary import format_arguments
from starcast.topologies import Topology
from starcast.topologies.base import known_diameter
from starcast.topologies.permutations import Ranks
from starcast.trees import Forest

#: Maximum number of rows per block. Each column of such a block is an array of 8 MB.
BLOCK = 2**20

MODULUS = 2**31 - 1
# The multiplier in the C standard's example implementation of `rand`.
FACTOR = 1_103_515_245
#: Batches are smaller by this factor if their rows share few nodes, because the server locks and
#: changes every node of a batch.
_BETWEEN = 4
#: Number of rows whose checksums are computed at a time, few enough for the processor's cache.
_CACHED = 2**15
#: The values that are appended to each row before its checksum is computed. Without them, the
#: checksum would be linear in the last column.
_FINAL = (0, 0)
ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz"
#: The value of each symbol in a label, as a digit in base 37. The symbol 0 has the value 1, because
#: with the value 0, labels such as 01 and 1 would have the same number.
DIGITS = {symbol: value for value, symbol in enumerate(ALPHABET, start=1)}
# All other symbols have values far above the base 37. The only such symbol in the labels of
# built-in families is the dot.
DIGITS |= {symbol: ord(symbol) << 16 for symbol in string.ascii_uppercase + "_."}
_BASE = len(ALPHABET) + 1

#: Attributes of a schedule that become the start nodes, end nodes and columns of relationships.
_SEND_COLUMNS = ("sender", "receiver", "step", "tree", "port", "unit")


#: Label of an artifact's node, keyed by kind of artifact, in the order in which artifacts are
#: built.
LABEL_OF: dict[str, Label] = {"topology": TOPOLOGY, "forest": FOREST, "schedule": SCHEDULE}
#: Type of the relationships that make up an artifact, keyed by kind of artifact.
RELATIONSHIP_OF: dict[str, Relationship] = {
    "topology": UNEQUAL_LINK, "forest": TREE_EDGE, "schedule": SEND,
}  # fmt: skip


@dataclass(frozen=True)
class Content:
    """Counts and checksums of an artifact's nodes and relationships.

    An artifact was loaded correctly only if its expected content equals its content in the graph.

    Attributes:
        nodes: number of nodes.
        relationships: number of relationships.
        sums: checksums of the nodes and of the relationships.
    """

    nodes: int = 0
    relationships: int = 0
    sums: tuple[int, int] = (0, 0)

    @property
    def checksum(self) -> str:
        """The checksums of the nodes and of the relationships, as hexadecimal text."""
        return "-".join(f"{value:x}" for value in self.sums)

    def __add__(self, other: "Content") -> "Content":
        """Add the counts and checksums of two disjoint sets of nodes and relationships."""
        sums = (self.sums[0] + other.sums[0], self.sums[1] + other.sums[1])
        return Content(self.nodes + other.nodes, self.relationships + other.relationships, sums)

    def __str__(self) -> str:
        return (
            f"{self.nodes:,} nodes, {self.relationships:,} relationships, checksum {self.checksum}"
        )


@dataclass(frozen=True, eq=False)
class Rows:
    """The relationships of an artifact, or one block of these relationships.

    Attributes:
        relationship: the type of the relationships.
        artifact_id: id of the artifact: a topology's spec, or the id of a forest or schedule.
        topology: the topology whose nodes the relationships connect.
        table: int64 ``[2 + columns, rows]``: the ranks of the start and end nodes, and the
            properties that differ between the relationships, in declared order.
    """

    relationship: Relationship
    artifact_id: str
    topology: Topology
    table: NDArray[np.int64]

    @property
    def start(self) -> NDArray[np.int64]:
        """Ranks of the start nodes, one per relationship."""
        return self.table[0, :]

    @property
    def end(self) -> NDArray[np.int64]:
        """Ranks of the end nodes, one per relationship."""
        return self.table[1, :]

    @property
    def columns(self) -> dict[str, NDArray[np.int64]]:
        """The columns of the table except start and end, keyed by name."""
        return dict(zip(self.relationship.columns, self.table[2:], strict=True))

    def __len__(self) -> int:
        return int(self.table.shape[1])

    def sorted(self) -> "Rows":
        """Return the rows sorted by start node, end node and the other columns."""
        return self._select(np.lexsort(self.table[::-1]))

    def batches(self, size: int) -> "Iterator[tuple[Rows, ...]]":
        """Yield the rows in batches, each with few nodes and sorted by start node.

        The server locks and changes every node of a batch, and needs up to 9 kB of memory for a
        node with 50 relationships. Batches with few nodes therefore save time and memory. Rows that
        lie within a substar or a subcube are in the same batch or in consecutive batches.

        Args:
            size: maximum number of rows per batch.

        Yields:
            One batch, or two batches that can be written at the same time, because they have no
            common node. Of two batches, the first has rows within one half of the nodes, and the
            second has rows within the other half. Each half consists of consecutive nodes in the
            order of substars.
        """
        if len(self) <= size:
            yield (self._batch(np.arange(len(self))),)
            return
        # Labels with the same last symbols form a substar, so this order keeps substars together.
        place = _substar_order(self.topology)
        middle = len(place) // 2
        earlier, later = np.sort([place[self.start], place[self.end]], axis=0)
        order = np.argsort(later, kind="stable")
        first = order[later[order] < middle]
        second = order[earlier[order] >= middle]
        between = order[(earlier[order] < middle) & (later[order] >= middle)]
        for pair in zip_longest(_pieces(first, size), _pieces(second, size)):
            yield tuple(self._batch(places) for places in pair if places is not None)
        # Few of the rows between the two halves have a node in common, so their batches are
        # smaller.
        for places in _pieces(between, max(1, size // _BETWEEN)):
            yield (self._batch(places),)

    def _batch(self, places: NDArray[np.int64]) -> "Rows":
        return self._select(places[np.argsort(self.start[places], kind="stable")])

    def _select(self, places: NDArray[np.int64]) -> "Rows":
        return replace(self, table=self.table[:, places])


def _symbols(labels: NDArray[np.str_]) -> NDArray[np.uint32]:
    """Return the code points of node labels, uint32 ``[labels, symbols]``."""
    return np.ascontiguousarray(labels).view(np.uint32).reshape(len(labels), -1)


@lru_cache(maxsize=1)
def _substar_order(topology: Topology) -> NDArray[np.int64]:
    """Return the position of each node if the nodes are sorted by reversed label.

    In this order, the nodes of a substar are consecutive.
    """
    symbols = _symbols(topology.labels(np.arange(topology.nodes)))
    place = np.empty(topology.nodes, dtype=np.int64)
    place[np.lexsort(symbols.T)] = np.arange(topology.nodes)
    return place


def link_blocks(topology: Topology) -> Iterator[Rows]:
    """Yield each undirected link once, from the node of lower rank, in blocks sorted by this rank.

    Raises:
        RejectedError: the reverse port of a link does not lead back to the link's first node, or a
            port of a topology with translations leads to its own node.
    """
    table = topology.table()
    _check_reverse_ports(topology, table)
    ports = np.array(topology.ports, dtype=np.int64)
    for part in _slices(topology.nodes, BLOCK // topology.port_count):
        neighbours = table[:, part].T.astype(np.int64)
        ranks = np.arange(part.start, part.stop)
        row, column = np.nonzero(neighbours > ranks[:, None])
        ends = (ranks[row], neighbours[row, column])
        yield _link_block(topology, *ends, ports[column])


def _link_block(topology: Topology, *columns: NDArray[np.int64]) -> Rows:
    """Return links as rows, with their capacities and latencies if these differ between links.

    Args:
        topology: the topology.
        columns: three arrays with a value per link: the lower rank, the higher rank, and the port
            at the node of lower rank.
    """
    if topology.has_equal_links:
        return _block(LINK, topology.spec, topology, *columns)
    lower, _, port = columns
    index = np.searchsorted(topology.ports, port), lower
    values = (
        np.full(len(lower), usual) if given is None else given[index]
        for usual, given in ((1, topology.capacities), (0, topology.latencies))
    )
    return _block(UNEQUAL_LINK, topology.spec, topology, *columns, *values)


def _check_reverse_ports(topology: Topology, table: Ranks) -> None:
    """Check that the reverse port of each link leads back to the link's first node.

    In a topology with translations, also check that every link leads to another node.
    """
    ranks = np.arange(topology.nodes, dtype=np.int32)
    for port, neighbours in zip(topology.ports, table, strict=True):
        back = table[topology.ports.index(topology.reverse_port(port))]
        lacks_link = (neighbours == ranks) & topology.has_translations
        wrong = np.flatnonzero((back[neighbours] != ranks) | lacks_link)
        if len(wrong):
            label = topology.label(int(wrong[0]))
            raise RejectedError(
                f"the link at port {port} of node {label} in {topology.spec} does not lead back, "
                "or leads to the node itself",
                hint="this is a defect of starcast: please report it",
            )


def tree_blocks(forest: Forest) -> Iterator[Rows]:
    """Yield the edges of all trees, from parent to child, in blocks sorted by tree and child.

    Raises:
        RejectedError: the forest's parent ports do not describe trees.
    """
    topology = forest.topology
    reverse_ports = topology.reverse_ports()
    parents = forest.parents()
    levels, subtrees = forest.levels(), forest.subtree_sizes()
    for tree, ports in enumerate(forest.parent_port):
        for part in _slices(topology.nodes, BLOCK):
            child = np.flatnonzero(ports[part]) + part.start
            columns = (levels[tree, child], reverse_ports[ports[child]], subtrees[tree, child])
            ends = (parents[tree, child], child)
            trees = np.full(len(child), tree)
            yield _block(TREE_EDGE, forest.id, topology, *ends, trees, *columns)


def send_blocks(schedule: Schedule) -> Iterator[Rows]:
    """Yield the sends of a schedule as relationships from sender to receiver, in blocks."""
    for part in _slices(len(schedule), BLOCK):
        yield _block(SEND, schedule.id, schedule.topology, *_select_sends(schedule, part))


def links_at(topology: Topology, ranks: NDArray[np.int64]) -> Rows:
    """Return each link at the given nodes once, from the node of lower rank to the other node."""
    ends = []
    for port in topology.ports:
        neighbours = topology.neighbours(port, ranks)
        # A row has the port at the node of lower rank, whichever of the two nodes was given.
        ports = np.where(ranks < neighbours, port, topology.reverse_port(port))
        lower, higher = np.minimum(ranks, neighbours), np.maximum(ranks, neighbours)
        is_link = lower < higher
        ends.append(np.column_stack([lower, higher, ports])[is_link])
    # A link between two given nodes was found at both nodes, so duplicates are removed.
    return _link_block(topology, *np.unique(np.concatenate(ends), axis=0).T)


def tree_edges_at(forest: Forest, ranks: NDArray[np.int64]) -> Rows:
    """Return the edges of all trees that begin or end at the given nodes.

    Raises:
        RejectedError: the forest's parent ports do not describe trees.
    """
    topology = forest.topology
    reverse_ports = topology.reverse_ports()
    tree, index = np.nonzero(forest.parent_port[:, ranks])
    edges = [np.column_stack([tree, ranks[index]])]
    for port in topology.ports:
        neighbours = topology.neighbours(port, ranks)
        # A neighbour is a child of the node if the neighbour's parent port leads to the node.
        tree, index = np.nonzero(forest.parent_port[:, neighbours] == reverse_ports[port])
        edges.append(np.column_stack([tree, neighbours[index]]))
    # An edge between two given nodes was found at both nodes, so duplicates are removed.
    tree, child = np.unique(np.concatenate(edges), axis=0).T
    ports = forest.parent_port[tree, child]
    columns = (forest.levels()[tree, child], reverse_ports[ports])
    ends, subtrees = (topology.step(ports, child), child), forest.subtree_sizes()[tree, child]
    return _block(TREE_EDGE, forest.id, topology, *ends, tree, *columns, subtrees)


def sends_at(schedule: Schedule, ranks: NDArray[np.int64]) -> Rows:
    """Return all sends of a schedule from or to the given nodes."""
    rows = np.isin(schedule.sender, ranks) | np.isin(schedule.receiver, ranks)
    return _block(SEND, schedule.id, schedule.topology, *_select_sends(schedule, rows))


def _select_sends(schedule: Schedule, rows: slice | NDArray[np.bool_]) -> list[NDArray[np.generic]]:
    """Return the columns `_SEND_COLUMNS` and ``combine`` of the given rows of a schedule."""
    columns = [getattr(schedule, name)[rows] for name in _SEND_COLUMNS]
    combine = np.zeros(len(columns[0])) if schedule.combine is None else schedule.combine[rows]
    return [*columns, combine]


def _pieces(array: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    return (array[part] for part in _slices(len(array), size))


def _slices(length: int, size: int) -> Iterator[slice]:
    return (slice(start, min(start + size, length)) for start in range(0, length, size))


def _block(
    relationship: Relationship, artifact_id: str, topology: Topology, *columns: NDArray[np.generic]
) -> Rows:
    table = np.stack(columns, dtype=np.int64, casting="unsafe")
    return Rows(relationship, artifact_id, topology, table)


def join_blocks(
    blocks: Iterable[Rows], relationship: Relationship, artifact_id: str, topology: Topology
) -> Rows:
    """Combine the blocks of an artifact into one sorted table of rows, which may be empty.

    The result has the given relationship type, artifact id and topology, even if there are no
    blocks.
    """
    empty = np.empty((2 + len(relationship.columns), 0), dtype=np.int64)
    table = np.concatenate([empty, *(block.table for block in blocks)], axis=1)
    return Rows(relationship, artifact_id, topology, table).sorted()


def checksum(table: NDArray[np.int64]) -> int:
    """Return the sum of the row checksums of ``table``, an int64 array ``[columns, rows]``."""
    total = 0
    for part in _slices(table.shape[1], _CACHED):
        mixed = np.ones(part.stop - part.start, dtype=np.int64)
        for column in (*table[:, part], *_FINAL):
            # Most values are below the modulus, and a division takes longer than this check.
            small = column if np.max(column) < MODULUS else column % MODULUS
            mixed = (mixed * mixed + FACTOR * small + 1) % MODULUS
        total += int(mixed.sum())
    return total


def checksum_cypher(values: Iterable[str]) -> str:
    """Return a Cypher expression for the checksum of a row.

    A statement with this expression needs the parameters ``$modulus`` and ``$factor``.

    Args:
        values: Cypher expressions of the row's values.
    """
    listed = ", ".join([*values, *map(str, _FINAL)])
    return f"reduce(h = 1, v IN [{listed}] | (h * h + $factor * (v % $modulus) + 1) % $modulus)"


def node_checksum(topology: Topology) -> int:
    """Return the sum of a topology's node checksums.

    A node's checksum is computed from its rank, its label, and its key minus the key of node 0.
    """
    digit = np.zeros(128, dtype=np.int64)
    digit[[ord(symbol) for symbol in DIGITS]] = list(DIGITS.values())
    total = 0
    for part in _slices(topology.nodes, BLOCK):
        ranks = np.arange(part.start, part.stop)
        code = np.zeros(len(ranks), dtype=np.int64)
        for column in _symbols(topology.labels(ranks)).T:
            # Shorter labels are padded with zeros, which are skipped.
            code = np.where(column > 0, (code * _BASE + digit[column]) % MODULUS, code)
        total += checksum(np.stack([ranks, ranks, code]))
    return total


def node_checksum_cypher(first: str) -> str:
    """Return a Cypher expression for the checksum of a node ``a``.

    A statement with this expression needs the parameters ``$modulus``, ``$factor`` and ``$digits``
    (`DIGITS`).

    Args:
        first: Cypher expression for the key of node 0.
    """
    code = (
        f"reduce(c = 0, symbol IN split(a.label, '') | (c * {_BASE} + $digits[symbol]) % $modulus)"
    )
    return checksum_cypher([f"a.key - {first}", "a.rank", code])


def rows_content(blocks: Iterable[Rows]) -> Content:
    """Return the number of relationships in the blocks, and the sum of their checksums."""
    content = Content()
    for block in blocks:
        content += Content(0, len(block), (0, checksum(block.table)))
    return content


@dataclass(frozen=True, eq=False)
class GraphArtifact:
    """An artifact in the form in which Neo4j stores it: a node and relationships.

    Attributes:
        label: label of the artifact's node.
        properties: all declared properties of the artifact's node except the state.
        topology: the artifact's topology. The nodes of the topology belong to the artifact only if
            the artifact is itself a topology.
        blocks: function that returns a new iterator over the relationships, in blocks.
        rows_at: function that returns the relationships at nodes with the given ranks.
        parent: the artifact on which this artifact depends, as relationship type, label and id;
            None for a topology, and for a schedule without a forest.
    """

    label: Label
    properties: dict[str, Any]
    topology: Topology
    blocks: Callable[[], Iterable[Rows]]
    rows_at: Callable[[NDArray[np.int64]], Rows]
    parent: tuple[Relationship, Label, str] | None = None

    @property
    def kind(self) -> str:
        """The kind of artifact, which is ``topology``, ``forest`` or ``schedule``."""
        return self.label.name.lower()

    @property
    def id(self) -> str:
        """The artifact's id."""
        return str(self.properties[self.label.key])

    @property
    def rows(self) -> Rows:
        """All relationships of the artifact, sorted by start node, end node and other columns."""
        relationship = RELATIONSHIP_OF[self.kind]
        if self.label is TOPOLOGY and self.topology.has_equal_links:
            relationship = LINK
        return join_blocks(self.blocks(), relationship, self.id, self.topology)

    @cached_property
    def content(self) -> Content:
        """Counts and checksums of the artifact; computing them builds all its relationships."""
        if self.label is not TOPOLOGY:
            return rows_content(self.blocks())
        # numpy releases the GIL, so two threads use two processors.
        with ThreadPoolExecutor(1) as pool:
            nodes = pool.submit(node_checksum, self.topology)
            links = rows_content(self.blocks())
            return links + Content(self.topology.nodes, 0, (nodes.result(), 0))

    def at(self, ranks: NDArray[np.int64]) -> "GraphArtifact":
        """Return a small copy of the artifact, with only the relationships at the given nodes."""
        rows = self.rows_at(ranks)
        return replace(self, blocks=lambda: [rows], rows_at=lambda _: rows)


def graph_artifact(structure: Topology | Forest | Schedule) -> GraphArtifact:
    """Convert a topology, a forest or a schedule to the form that the graph stores."""
    if isinstance(structure, Topology):
        # Cypher indexes `reverse_ports` by port, so the list also has an element 0, although no
        # port has the number 0.
        known = FAMILIES.get(structure.family)
        source = known.source if known else getattr(structure, "source", "")
        reverse_ports = structure.reverse_ports()[: max(structure.ports) + 1].tolist()
        return GraphArtifact(
            TOPOLOGY,
            _properties(
                TOPOLOGY,
                structure,
                reverse_ports=reverse_ports,
                diameter=known_diameter(structure),
                source=source,
            ),
            structure,
            partial(link_blocks, structure),
            partial(links_at, structure),
        )
    spec = structure.topology.spec
    given = {"topology": spec, "arguments": format_arguments(structure.arguments)}
    if isinstance(structure, Forest):
        return GraphArtifact(
            FOREST,
            _properties(FOREST, structure, **given),
            structure.topology,
            partial(tree_blocks, structure),
            partial(tree_edges_at, structure),
            (ON, TOPOLOGY, spec),
        )
    forest_id = structure.forest_id
    return GraphArtifact(
        SCHEDULE,
        _properties(SCHEDULE, structure, **given),
        structure.topology,
        partial(send_blocks, structure),
        partial(sends_at, structure),
        None if forest_id is None else (USES, FOREST, forest_id),
    )


def _properties(label: Label, structure: object, **given: Any) -> dict[str, Any]:
    """Return the properties of an artifact's node, without ``state``.

    A property that is not in ``given`` is read from the attribute of ``structure`` with the same
    name.
    """
    names = [name for name in label.names if name != "state"]
    return {name: given[name] if name in given else getattr(structure, name) for name in names}
