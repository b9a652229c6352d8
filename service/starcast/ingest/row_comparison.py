"""Row-by-row comparison of artifacts as they are built and as they are stored.

All rows are compared, or those at a sample of nodes. Differences are described in terms of the
topology: labels, ports, trees and steps.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from secrets import randbelow
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from starcast.errors import InputError
from starcast.graph import reader
from starcast.graph.connection import Graph
from starcast.graph.reader import BEYOND, NOT_AN_INTEGER, PAGE, Table
from starcast.graph.rows import BLOCK
from starcast.graph.schema import LINK, SEND, TREE_EDGE, Relationship, first_key
from starcast.ingest.artifacts import ArtifactSample, BuiltArtifact
from starcast.progress import Reporter
from starcast.support.integers import check_count
from starcast.topologies import Topology

#: Differences of an artifact that are described; the others are counted.
DESCRIBED = 10

#: Differing rows of each side that are matched: two rows that differ only in a port, say, are one
#: difference.
_MATCHED = 1_000

#: Random seeds are drawn below this number.
_SEEDS = 2**32

#: Columns that distinguish rows between the same ends.
_CONTEXT = {LINK.name: (), TREE_EDGE.name: ("tree",), SEND.name: ("step", "tree", "unit")}


@dataclass(frozen=True)
class Depth:
    """The part of the graph that a verification reads; by default it sums all rows.

    Attributes:
        all_rows: compare all rows, in addition to counts and checksums.
        sample: number of nodes, drawn at random from each topology, whose rows are compared;
            nothing else is read.
        seed: random seed for the sample.
    """

    all_rows: bool = False
    sample: int = 0
    seed: int = 0

    @classmethod
    def choose(
        cls, sample: int | None = None, *, all_rows: bool = False, seed: int | None = None
    ) -> Self:
        """Return the depth that a user asks for; a seed that is not given is drawn.

        Raises:
            InputError: the options cannot be combined.
        """
        if sample is not None and all_rows:
            raise InputError(
                "--sample and --all cannot be combined",
                hint="--all compares every row: remove one",
            )
        if sample is None:
            if seed is not None:
                raise InputError("--seed needs --sample", hint="add --sample N")
            return cls(all_rows=all_rows)
        check_count("sample", sample)
        return cls(sample=sample, seed=randbelow(_SEEDS) if seed is None else seed)

    def ranks(self, topology: Topology) -> NDArray[np.int64]:
        """Return the sampled nodes of a topology, sorted; they depend only on it and the seed."""
        generator = np.random.default_rng([self.seed, first_key(topology)])
        size = min(self.sample, topology.nodes)
        return np.sort(generator.choice(topology.nodes, size, replace=False)).astype(np.int64)


class Difference(NamedTuple):
    """A difference: a sentence, and both values if there are any."""

    description: str
    found: str
    expected: str


@dataclass
class Differences:
    """The first differences of an artifact, and the number of all its differences."""

    described: list[Difference] = field(default_factory=list)
    total: int = 0

    def add(self, first: Sequence[Difference], total: int | None = None) -> None:
        """Add differences.

        Args:
            first: the first differences.
            total: the number of all differences; None if these are all.
        """
        self.described += first[: DESCRIBED - len(self.described)]
        self.total += len(first) if total is None else total


class RowComparison:
    """Compares the rows of artifacts; the rows at a topology's sample are read only once."""

    def __init__(self, graph: Graph, depth: Depth, reporter: Reporter) -> None:
        self._graph = graph
        self._depth = depth
        self._reporter = reporter
        self._samples: dict[tuple[str, str], dict[str, Table]] = {}

    def compare(self, built: BuiltArtifact) -> Differences:
        """Compare all rows of an artifact, and all nodes of a topology."""
        relationship, topology, artifact_id = built.node.relationship, built.topology, built.node.id
        differences = Differences()
        title = f"{artifact_id}, row by row"
        with self._reporter.task(title, built.content.relationships, "rows") as task:
            for low, high in _split(built):
                expected = _rows_between(built, low, high)
                found = reader.read_part(
                    self._graph, relationship, artifact_id, topology, low, high
                )
                differences.add(*compare_rows(relationship, topology, expected, found))
                task.advance(len(expected))
        if built.content.nodes:
            self._compare_nodes(topology, np.arange(topology.nodes), differences)
            strays = reader.read_stray_nodes(self._graph, topology)
            differences.add([_describe_stray(row) for row in strays])
        return differences

    def compare_sample(self, sample: ArtifactSample) -> Differences:
        """Compare the rows of an artifact at the sampled nodes, and these nodes of a topology."""
        rows = sample.rows
        differences = Differences()
        stored = self._read_sample(rows.relationship, rows.topology)
        found = stored.get(rows.artifact_id, _empty(rows.relationship))
        expected = reader.as_table(rows)
        differences.add(*compare_rows(rows.relationship, rows.topology, expected, found))
        if rows.relationship is LINK:
            self._compare_nodes(rows.topology, self._depth.ranks(rows.topology), differences)
        return differences

    def _read_sample(self, relationship: Relationship, topology: Topology) -> dict[str, Table]:
        name = (relationship.name, topology.spec)
        if name not in self._samples:
            ranks = self._depth.ranks(topology).tolist()
            self._samples[name] = reader.read_around(self._graph, relationship, topology, ranks)
        return self._samples[name]

    def _compare_nodes(
        self, topology: Topology, ranks: NDArray[np.int64], differences: Differences
    ) -> None:
        for start in range(0, len(ranks), PAGE):
            expected = _expected_nodes(topology, ranks[start : start + PAGE])
            found = reader.read_nodes(self._graph, [row[0] for row in expected])
            differences.add(list(_compare_nodes(expected, found)))


def _empty(relationship: Relationship) -> Table:
    return np.empty((0, 2 + len(relationship.columns)), dtype=np.int64)


def _split(built: BuiltArtifact) -> list[tuple[int, int]]:
    """Return spans of the partition column with about a block of rows each.

    Together they cover all integers that may be stored.
    """
    column = reader.partition_column(built.node.relationship)
    counts = np.zeros(1, dtype=np.int64)
    for block in built.blocks():
        values = block.start if column == "start" else block.columns[column]
        block_counts = np.bincount(values, minlength=len(counts))
        block_counts[: len(counts)] += counts
        counts = block_counts
    rows_before = np.cumsum(counts) - counts
    cuts = np.flatnonzero(np.diff(rows_before // BLOCK)) + 1
    return list(pairwise([-BEYOND, *cuts.tolist(), BEYOND]))


def _rows_between(built: BuiltArtifact, low: int, high: int) -> Table:
    """Return the expected rows whose partition column is in ``range(low, high)``."""
    column = reader.partition_column(built.node.relationship)
    parts = [_empty(built.node.relationship)]
    for block in built.blocks():
        values = block.start if column == "start" else block.columns[column]
        inside = (low <= values) & (values < high)
        if inside.any():
            parts.append(reader.as_table(block)[inside])
    return np.concatenate(parts)


def compare_rows(
    relationship: Relationship, topology: Topology, expected: Table, found: Table
) -> tuple[list[Difference], int]:
    """Return the first differences of two sets of rows, and the number of all.

    If there are many, the number is an upper bound.
    """
    missing, additional = _unmatched(expected, found)
    describer = _Describer(relationship, topology)
    first = list(describer.describe(missing[:_MATCHED], additional[:_MATCHED], expected))
    not_matched = max(0, len(missing) - _MATCHED) + max(0, len(additional) - _MATCHED)
    return first, len(first) + not_matched


def _unmatched(expected: Table, found: Table) -> tuple[Table, Table]:
    """Return the rows of each side that the other lacks, sorted and with multiplicity."""
    rows = np.concatenate([expected, found])
    side = np.repeat([1, -1], [len(expected), len(found)])
    order = np.lexsort(rows.T[::-1])
    rows, side = rows[order], side[order]
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = (rows[1:] != rows[:-1]).any(axis=1)
    starts = np.flatnonzero(is_first)
    surplus = np.add.reduceat(side, starts) if len(rows) else side
    distinct = rows[starts]
    missing = np.repeat(distinct, np.maximum(surplus, 0), axis=0)
    additional = np.repeat(distinct, np.maximum(-surplus, 0), axis=0)
    return missing, additional


class _Describer:
    """Describes differences between rows of one type."""

    def __init__(self, relationship: Relationship, topology: Topology) -> None:
        self._relationship = relationship
        self._topology = topology

    def describe(self, missing: Table, additional: Table, expected: Table) -> Iterator[Difference]:
        """Yield a difference per row; similar rows between the same ends are one changed row."""
        candidates = defaultdict(list)
        for row in additional.tolist():
            candidates[row[0], row[1]].append(row)
        for row in missing.tolist():
            between = candidates[row[0], row[1]]
            if between:
                # A row that differs in fewer columns is more likely to be the changed row.
                changed = min(between, key=lambda other: _distance(row, other))
                between.remove(changed)
                yield self._changed(row, changed)
            else:
                yield Difference(f"{self._name(row)} is missing", "", self._values(row))
        for row in sorted(row for rows in candidates.values() for row in rows):
            is_duplicate = bool((expected == np.array(row)).all(axis=1).any())
            text = "is duplicated" if is_duplicate else "is unexpected"
            yield Difference(f"{self._name(row)} {text}", self._values(row), "")

    def _changed(self, expected: Sequence[int], found: Sequence[int]) -> Difference:
        wanted, actual = self._named_values(expected), self._named_values(found)
        names = [name for name in self._relationship.columns if wanted[name] != actual[name]]
        text = ", ".join(f"{name} {actual[name]}, not {wanted[name]}" for name in names)
        return Difference(
            f"{self._name(expected, without=names)}: {text}",
            ", ".join(f"{name} {actual[name]}" for name in names),
            ", ".join(f"{name} {wanted[name]}" for name in names),
        )

    def _name(self, row: Sequence[int], without: Iterable[str] = ()) -> str:
        """Return ``LINK 1234-2134`` or ``TREE_EDGE of tree 2 from 1234 to 2134``."""
        relationship = self._relationship
        start, end = (node_name(self._topology, rank) for rank in row[:2])
        if relationship is LINK:
            return f"{relationship.name} {start}-{end}"
        values = self._named_values(row)
        context = [name for name in _CONTEXT[relationship.name] if name not in without]
        listed = ", ".join(f"{name} {values[name]}" for name in context)
        return f"{relationship.name}{listed and f' of {listed}'} from {start} to {end}"

    def _values(self, row: Sequence[int]) -> str:
        return ", ".join(f"{name} {value}" for name, value in self._named_values(row).items())

    def _named_values(self, row: Sequence[int]) -> dict[str, str]:
        named = zip(self._relationship.columns, row[2:], strict=True)
        return {
            name: "not an integer" if value == NOT_AN_INTEGER else str(value)
            for name, value in named
        }


def _distance(row: Sequence[int], other: Sequence[int]) -> int:
    return sum(a != b for a, b in zip(row, other, strict=True))


def node_name(topology: Topology, rank: int) -> str:
    """Return a node's label, or its key if the topology has no such rank."""
    if 0 <= rank < topology.nodes:
        return topology.label(rank)
    return f"a node with key {rank + first_key(topology)}"


def _expected_nodes(topology: Topology, ranks: NDArray[np.int64]) -> list[list[Any]]:
    """Return nodes as `starcast.graph.reader.read_nodes` does."""
    first = first_key(topology)
    nodes = zip(ranks.tolist(), topology.labels(ranks).tolist(), strict=True)
    return [[first + rank, rank, label, topology.spec] for rank, label in nodes]


def _compare_nodes(
    expected: Sequence[Sequence[Any]], found: Sequence[Sequence[Any]]
) -> Iterator[Difference]:
    if expected == found:
        return
    by_key = defaultdict(list)
    for row in found:
        by_key[row[0]].append(row)
    for row in expected:
        yield from _compare_node(row, by_key[row[0]])


def _compare_node(expected: Sequence[Any], found: Sequence[Sequence[Any]]) -> Iterator[Difference]:
    key, rank, label, _ = expected
    if len(found) != 1:
        text = f"is stored {len(found)} times" if found else "is missing"
        description = f"the node {label} (rank {rank}, key {key}) {text}"
        yield Difference(description, str(len(found)), "1")
        return
    names = ("rank", "label", "topology")
    for name, actual, wanted in zip(names, found[0][1:], expected[1:], strict=True):
        if actual != wanted:
            value = f"no {name}" if actual is None else f"{name} {actual}"
            description = f"the node {label}: {value}, not {wanted}"
            yield Difference(description, value, f"{name} {wanted}")


def _describe_stray(row: Sequence[Any]) -> Difference:
    key, rank, label, topology = row
    description = f"unexpected node in {topology}: key {key}, rank {rank}, label {label}"
    return Difference(description, f"key {key}", "")
