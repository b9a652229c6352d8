"""Comparison of the graph with artifacts: all counts, and all rows at randomly drawn nodes.

The comparison reads little, whatever the size of the graph. If one of every hundred nodes differs,
a sample of 500 nodes misses all of them with probability 0.99^500 < 0.7 %. A topology with fewer
nodes is compared completely.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from secrets import randbelow
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from starcast.ingest.artifacts import Artifact
from starcast.stores.graph import audit, reader
from starcast.stores.graph.artifacts import LABEL_OF, RELATIONSHIP_OF, GraphArtifact
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.rows import Rows
from starcast.stores.graph.schema import LINK, NODE, STORE, TOPOLOGY, Label, Relationship, first_key
from starcast.support.integers import check_count
from starcast.support.text import pluralize
from starcast.topologies import Topology

#: Used instead of an artifact id in problems that concern the entire store.
WHOLE_STORE = "the store"

#: Maximum number of differing rows described per artifact; the others are counted.
_DESCRIBED = 3


class Problem(NamedTuple):
    """A difference between the graph and its expected content.

    Attributes:
        artifact: id of the artifact, or `WHOLE_STORE`.
        problem: one sentence that describes the difference.
        found: the actual value, if there is one.
        expected: the expected value, if there is one.
    """

    artifact: str
    problem: str
    found: Any = None
    expected: Any = None


@dataclass
class Sample:
    """Nodes drawn at random from every topology, and the content expected at these nodes.

    Attributes:
        size: number of nodes drawn from each topology.
        seed: random seed.
        artifacts: the expected artifacts, with only the rows at the sampled nodes.

    Raises:
        InputError: the size is not a positive integer.
    """

    size: int = 500
    # Each run draws a new sample, so repeated verifications can find what a single one misses.
    seed: int = field(default_factory=lambda: randbelow(2**32))
    artifacts: list[GraphArtifact] = field(default_factory=list)

    def __post_init__(self) -> None:
        check_count("sample", self.size)

    def ranks(self, topology: Topology) -> NDArray[np.int64]:
        """Return the sorted ranks of a topology's sampled nodes, which the seed determines."""
        generator = np.random.default_rng([self.seed, first_key(topology)])
        size = min(self.size, topology.nodes)
        return np.sort(generator.choice(topology.nodes, size, replace=False)).astype(np.int64)

    def add(self, artifact: GraphArtifact) -> None:
        """Add an artifact to those that the graph is expected to hold."""
        self.artifacts.append(artifact.at(self.ranks(artifact.topology)))

    def compare(
        self, graph: Graph, first_ids: Mapping[str, int] | None = None
    ) -> Iterator[Problem]:
        """Yield the differences between the graph and the expected artifacts.

        Args:
            graph: the graph to compare.
            first_ids: Neo4j's internal id of each topology's node 0, by spec, in a store that was
                just imported; its keys have no index yet. By default, nodes are found by key.
        """
        nodes = reader.read_artifact_nodes(graph)
        for topology in dict.fromkeys(artifact.topology for artifact in self.artifacts):
            ranks = self.ranks(topology)
            if first_ids is None:
                drawn = reader.Nodes((first_key(topology) + ranks).tolist())
            else:
                drawn = reader.Nodes((first_ids[topology.spec] + ranks).tolist(), by_id=True)
            stored = reader.read_around(graph, drawn)
            for artifact in self.artifacts:
                if artifact.topology != topology:
                    continue
                of_id = nodes.get((artifact.kind, artifact.id), [])
                for difference in reader.find_node_differences(artifact, of_id):
                    yield Problem(artifact.id, difference)
                if artifact.label is TOPOLOGY:
                    yield from _compare_nodes(topology, ranks, reader.read_nodes(graph, drawn))
                yield from _compare_rows(
                    artifact.rows, stored.get((artifact.kind, artifact.id), [])
                )


def compare_counts(graph: Graph, artifacts: Sequence[Artifact]) -> Iterator[Problem]:
    """Yield a problem for each label or relationship type whose count in the graph is wrong."""
    expected: Counter[Label | Relationship] = Counter({STORE: 1})
    for artifact in artifacts:
        expected[NODE] += artifact.nodes
        expected[LABEL_OF[artifact.kind]] += 1
        expected[RELATIONSHIP_OF[artifact.kind]] += artifact.relationships
    found = audit.count(graph, expected)
    for element, number in expected.items():
        if found[element] != number:
            yield Problem(
                WHOLE_STORE,
                f"{element.name} occurs {found[element]:,} times; expected {number:,}",
            )


def _compare_nodes(
    topology: Topology, ranks: NDArray[np.int64], rows: Sequence[list[Any]]
) -> Iterator[Problem]:
    first = first_key(topology)
    stored: dict[Any, list[list[Any]]] = {}
    for row in rows:
        stored.setdefault(row[0], []).append(row)
    for rank, label in zip(ranks.tolist(), topology.labels(ranks).tolist(), strict=True):
        expected = [first + rank, rank, label, topology.spec]
        found = stored.get(first + rank, [])
        if found != [expected]:
            problem = f"the key, rank, label or topology of node {label} differs"
            yield Problem(topology.spec, problem, str(found).strip("[]"), str(expected).strip("[]"))


def _compare_rows(rows: Rows, found: Sequence[Sequence[Any]]) -> Iterator[Problem]:
    """Yield problems for the first rows that differ, and one with the number of further rows."""
    first = first_key(rows.topology)
    columns = [rows.start + first, rows.end + first, *rows.columns.values()]
    # Rows are compared as multisets, because the graph can hold a row twice.
    expected = Counter(zip(*(column.tolist() for column in columns), strict=True))
    actual = Counter(tuple(map(_comparable, row)) for row in found)
    differing = [
        *((row, "is missing") for row in (expected - actual).elements()),
        *((row, "is not in the newly built artifact") for row in (actual - expected).elements()),
    ]
    for row, text in differing[:_DESCRIBED]:
        yield Problem(rows.artifact_id, f"{_describe(rows, row)} {text}")
    if len(differing) > _DESCRIBED:
        more = pluralize(len(differing) - _DESCRIBED, "more row differs", "more rows differ")
        yield Problem(rows.artifact_id, more)


def _comparable(value: Any) -> Any:
    """Return integers unchanged, and any other value as text, which never equals an integer."""
    return value if type(value) is int else repr(value)


def _describe(rows: Rows, row: Sequence[Any]) -> str:
    """Return a row as text, such as ``LINK 1234-2134 (port 2)``."""
    start, end = (_node_name(rows.topology, key) for key in row[:2])
    values = zip_longest(rows.relationship.columns, row[2:], fillvalue="and")
    listed = ", ".join(f"{name} {value}" for name, value in values)
    joint = "-" if rows.relationship is LINK else " to "
    return f"{rows.relationship.name} {start}{joint}{end} ({listed})"


def _node_name(topology: Topology, key: Any) -> str:
    """Return a node's label, or its key if the topology has no such node."""
    rank = key - first_key(topology) if isinstance(key, int) else -1
    return topology.label(rank) if 0 <= rank < topology.nodes else f"the key {key}"
