"""The rows of a thing as they were built and as they are stored, compared one by one: all of them, or those at some nodes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from starcast.graph import row_samples
from starcast.graph.artifact_nodes import kind_of
from starcast.graph.connection import Graph
from starcast.graph.reader import PAGE
from starcast.graph.row_samples import Table
from starcast.graph.rows import BLOCK
from starcast.graph.schema import Relationship, first_key
from starcast.ingest import rowwise
from starcast.ingest.artifacts import Built
from starcast.ingest.rowwise import Difference
from starcast.progress import Reporter
from starcast.topologies import Topology

#: Differences of one thing that are named; the others are counted.
NAMED = 10


@dataclass(frozen=True)
class Depth:
    """How closely a store is looked at beyond counts and checksums: all rows, or those at some nodes of each topology.

    Attributes:
        whole: compare all rows.
        sample: nodes of each topology, drawn at random, whose rows are compared; 0 compares none.
        seed: what they are drawn by.
    """

    whole: bool = False
    sample: int = 0
    seed: int = 0

    def ranks(self, topology: Topology) -> NDArray[np.int64]:
        """The nodes drawn of a topology, sorted: the same whatever else is stored."""
        drawn = np.random.default_rng([self.seed, first_key(topology)])
        return np.sort(
            drawn.choice(topology.nodes, min(self.sample, topology.nodes), replace=False)
        ).astype(np.int64)


@dataclass
class Differences:
    """The first differences of a thing, and how many rows differ in all."""

    named: list[Difference] = field(default_factory=list)
    total: int = 0

    def add(self, first: Sequence[Difference], total: int | None = None) -> None:
        """Take in the first differences of a part, and how many there are; all are given where nothing is said."""
        self.named += first[: NAMED - len(self.named)]
        self.total += len(first) if total is None else total


class RowComparison:
    """Compares the rows of one thing after the other; what is asked of a topology's sample is asked once."""

    def __init__(self, graph: Graph, depth: Depth, reporter: Reporter) -> None:
        self._graph, self._depth, self._reporter = graph, depth, reporter
        self._samples: dict[tuple[str, str], dict[str, Table]] = {}

    def of(self, built: Built) -> Differences:
        """The rows of a thing, and its nodes where it has any."""
        found = Differences()
        with self._reporter.task(
            f"{built.owner.key}, row by row", built.content.relationships, "rows"
        ) as task:
            for meant, there in self._parts(built):
                found.add(*rowwise.differing(kind_of(built.owner), built.topology, meant, there))
                task.advance(len(meant))
        if built.content.nodes:
            self._nodes(built.topology, found)
        return found

    def _parts(self, built: Built) -> Iterator[tuple[Table, Table]]:
        kind, topology, key = kind_of(built.owner), built.topology, built.owner.key
        if not self._depth.whole:
            chosen = np.zeros(topology.nodes, dtype=bool)
            chosen[self._depth.ranks(topology)] = True
            yield _chosen(built, chosen), self._around(kind, topology).get(key, _none(kind))
            return
        for low, high in _spans(built):
            yield (
                _within(built, low, high),
                row_samples.part(self._graph, kind, key, topology, low, high),
            )

    def _around(self, kind: Relationship, topology: Topology) -> dict[str, Table]:
        asked = (kind.name, topology.spec)
        if asked not in self._samples:
            self._samples[asked] = row_samples.around(
                self._graph, kind, topology, self._depth.ranks(topology).tolist()
            )
        return self._samples[asked]

    def _nodes(self, topology: Topology, found: Differences) -> None:
        ranks = np.arange(topology.nodes) if self._depth.whole else self._depth.ranks(topology)
        for start in range(0, len(ranks), PAGE):
            meant = rowwise.meant_nodes(topology, ranks[start : start + PAGE])
            found.add(
                list(
                    rowwise.node_differences(
                        meant, row_samples.nodes(self._graph, [row[0] for row in meant])
                    )
                )
            )
        found.add(list(rowwise.strays(row_samples.astray(self._graph, topology))))


def _none(kind: Relationship) -> Table:
    return np.empty((0, 2 + len(kind.columns)), dtype=np.int64)


def _chosen(built: Built, nodes: NDArray[np.bool_]) -> Table:
    """The rows that begin or end at these nodes."""
    tables = ((row_samples.table(block), block) for block in built.blocks())
    parts = [table[nodes[block.start] | nodes[block.end]] for table, block in tables]
    return np.concatenate([_none(kind_of(built.owner)), *parts])


def _spans(built: Built) -> list[tuple[int, int]]:
    """Spans of the column by which a thing is asked for, each with about a block of rows; together they have no bounds."""
    column = row_samples.split_by(kind_of(built.owner))
    counts = np.zeros(1, dtype=np.int64)
    for block in built.blocks():
        there = np.bincount(
            block.start if column == "start" else block.columns[column], minlength=len(counts)
        )
        there[: len(counts)] += counts
        counts = there
    before = np.cumsum(counts) - counts
    cuts = np.flatnonzero(np.diff(before // BLOCK)) + 1
    return list(pairwise([-row_samples.BEYOND, *cuts.tolist(), row_samples.BEYOND]))


def _within(built: Built, low: int, high: int) -> Table:
    """The rows of a span, sorted."""
    kind = kind_of(built.owner)
    column = row_samples.split_by(kind)
    parts = []
    for block in built.blocks():
        values = block.start if column == "start" else block.columns[column]
        inside = (low <= values) & (values < high)
        if inside.any():
            parts.append(row_samples.table(block)[inside])
    return np.concatenate([_none(kind), *parts])
