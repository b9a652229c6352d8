"""Verify the graph: build all stored artifacts again, and compare them with Neo4j.

PostgreSQL records which artifacts are stored. For each artifact, Neo4j must have a node with the
artifact's properties. The artifact's relationships (rows) are compared at a random sample of the
topology's nodes, and the total numbers of nodes and rows are compared too. On request, each
artifact is also verified again, and the counts and checksums of all rows are compared.

A sample can be read quickly from a graph of any size. If one of every hundred nodes differs, a
sample of 500 nodes misses all differing nodes with probability 0.99^500 < 0.7 %. A topology with
fewer nodes is compared completely.

Verification only reads and takes no lock. Artifacts that an ingest, a drop or a rebuild changes
meanwhile are skipped and reported.
"""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from secrets import randbelow
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Row, select

from starcast.catalogue.plugins import PluginMissingError, find_changed
from starcast.ingest.artifacts import (
    Artifact,
    artifact_from_id,
    forest_artifact,
    recorded_artifact,
)
from starcast.ingest.both_stores import LoadState, Stores
from starcast.ingest.loading import RECOVERABLE, find_artifacts, is_well_formed
from starcast.stores.database import models
from starcast.stores.database.repository import find_artifact
from starcast.stores.graph import audit, reader
from starcast.stores.graph.artifacts import (
    LABEL_OF,
    RELATIONSHIP_OF,
    Content,
    GraphArtifact,
    Rows,
    graph_artifact,
)
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import (
    LINK,
    NODE,
    STORE,
    TOPOLOGY,
    VERSION,
    Label,
    Relationship,
    find_titles,
    first_key,
)
from starcast.support.errors import InputError, RejectedError, StarcastError
from starcast.support.integers import check_count
from starcast.support.progress import Reporter, Silent
from starcast.support.table import Table
from starcast.support.text import pluralize
from starcast.topologies import Topology
from starcast.trees import Forest, constructions, forest

#: Text in place of an artifact's id in problems of the entire Neo4j store.
WHOLE_STORE = "the store"

#: Maximum number of differing rows described per artifact; the others are counted.
_DESCRIBED = 3


class Problem(NamedTuple):
    """A difference between the graph in Neo4j and its expected content.

    Attributes:
        artifact: id of the artifact, or `WHOLE_STORE`.
        problem: one sentence that describes the difference.
        found: the value in Neo4j, if the problem concerns a single value.
        expected: the expected value, if the problem concerns a single value.
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
        artifacts: the artifacts that Neo4j should have, with only their rows at the sampled nodes.

    Raises:
        InputError: the size is not a positive integer.
    """

    size: int = 500
    # By default, each verification draws a new sample, so repeated runs find more differences.
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
        """Add an artifact that Neo4j should have, with its rows at the sampled nodes."""
        self.artifacts.append(artifact.at(self.ranks(artifact.topology)))

    def compare(
        self, graph: Graph, first_ids: Mapping[str, int] | None = None
    ) -> Iterator[Problem]:
        """Yield the differences between the graph and the added artifacts.

        Args:
            graph: the graph to compare.
            first_ids: Neo4j's internal id of the node with rank 0 of each topology, keyed by spec.
                The ids are given for a newly imported store, which has no index of keys yet. By
                default, nodes are found by key.
        """
        nodes = reader.read_artifact_nodes(graph)
        for topology in dict.fromkeys(artifact.topology for artifact in self.artifacts):
            ranks = self.ranks(topology)
            first = first_ids[topology.spec] if first_ids else first_key(topology)
            numbers = (first + ranks).tolist()
            found_nodes, stored = reader.read_around(graph, numbers, by_id=first_ids is not None)
            for artifact in self.artifacts:
                if artifact.topology != topology:
                    continue
                of_id = nodes.get((artifact.kind, artifact.id), [])
                for difference in reader.find_node_differences(artifact, of_id):
                    yield Problem(artifact.id, difference)
                if artifact.label is TOPOLOGY:
                    yield from _compare_nodes(topology, ranks, found_nodes)
                of_artifact = stored.get((artifact.kind, artifact.id), [])
                yield from _compare_rows(artifact.rows, of_artifact)


def compare_counts(graph: Graph, artifacts: Iterable[Artifact]) -> Iterator[Problem]:
    """Yield a problem for each label or relationship type with an unexpected count in the graph."""
    expected: Counter[Label | Relationship] = Counter({STORE: 1})
    for artifact in artifacts:
        expected[NODE] += artifact.nodes
        expected[LABEL_OF[artifact.kind]] += 1
        expected[RELATIONSHIP_OF[artifact.kind]] += artifact.relationships
    found = audit.count(graph, [element.pattern for element in expected])
    for (element, number), count in zip(expected.items(), found, strict=True):
        if count != number:
            problem = f"{element.name} occurs {count:,} times; expected {number:,}"
            yield Problem(WHOLE_STORE, problem)


def _compare_nodes(
    topology: Topology, ranks: NDArray[np.int64], rows: Sequence[list[Any]]
) -> Iterator[Problem]:
    first = first_key(topology)
    stored: dict[Any, list[list[Any]]] = {}
    for row in rows:
        stored.setdefault(row[0], []).append(row)
    titles = find_titles(topology)
    for rank, label in zip(ranks.tolist(), topology.labels(ranks).tolist(), strict=True):
        title = titles[rank] if titles else None
        is_switch = True if rank >= topology.endpoints else None
        expected = [first + rank, rank, label, title, is_switch, topology.spec]
        found = stored.get(first + rank, [])
        if found != [expected]:
            problem = f"the key, rank, label, title, is_switch or topology of node {label} differs"
            yield Problem(topology.spec, problem, str(found).strip("[]"), str(expected).strip("[]"))


def _compare_rows(rows: Rows, found: Sequence[Sequence[Any]]) -> Iterator[Problem]:
    """Yield a problem for each of at most `_DESCRIBED` differing rows, and one for all others."""
    first = first_key(rows.topology)
    columns = [rows.start + first, rows.end + first, *rows.columns.values()]
    # Rows are compared as multisets, because the graph can contain a row twice.
    expected = Counter(zip(*(column.tolist() for column in columns), strict=True))
    actual = Counter(tuple(map(_comparable, row)) for row in found)
    differing = [
        *((row, "is missing") for row in (expected - actual).elements()),
        *((row, "is not in the newly built artifact") for row in (actual - expected).elements()),
    ]
    for row, text in differing[:_DESCRIBED]:
        yield Problem(rows.artifact_id, f"{_describe_row(rows, row)} {text}")
    if len(differing) > _DESCRIBED:
        more = pluralize(len(differing) - _DESCRIBED, "more row differs", "more rows differ")
        yield Problem(rows.artifact_id, more)


def _comparable(value: Any) -> Any:
    """Return an integer unchanged, and any other value as a string, so that 2.0 differs from 2."""
    return value if type(value) is int else repr(value)


def _describe_row(rows: Rows, row: Sequence[Any]) -> str:
    """Return a description of a row, such as ``LINK 1234-2134 (port 2)``."""
    start, end = (_node_name(rows.topology, key) for key in row[:2])
    values = zip_longest(rows.relationship.columns, row[2:], fillvalue="and")
    listed = ", ".join(f"{name} {value}" for name, value in values)
    joint = "-" if rows.relationship.name == LINK.name else " to "
    return f"{rows.relationship.name} {start}{joint}{end} ({listed})"


def _node_name(topology: Topology, key: Any) -> str:
    """Return the label of the node with the given key, or the key if there is no such node."""
    rank = key - first_key(topology) if isinstance(key, int) else -1
    return topology.label(rank) if 0 <= rank < topology.nodes else f"the key {key}"


Contents = Mapping[tuple[str, str], Content]

_UNSUMMABLE = "the checksum cannot be computed, because a property has the wrong type"


def verify(
    stores: Stores,
    ids: Sequence[str] = (),
    sample: Sample | None = None,
    reporter: Reporter | None = None,
    *,
    checksums: bool = False,
) -> list[Problem]:
    """Compare the graph with freshly built artifacts, and return the differences.

    Args:
        stores: both stores, open.
        ids: ids of artifacts; these and all artifacts that depend on them are verified. Without
            ids, the entire store is verified, including data that belong to no artifact.
        sample: the nodes whose rows are compared (default: 500 random nodes per topology).
        reporter: receives progress messages, including messages about skipped artifacts.
        checksums: also verify all artifacts again, and compare their counts and checksums.

    Raises:
        NotFoundError: a given id is not the id of a stored artifact.
        OwnershipError: the graph has an older schema; or it has no artifacts, and belongs to
            another program or a newer starcast.
    """
    listener = reporter or Silent()
    # A lock would make ingests wait. Instead, PostgreSQL's records are read before and after the
    # verification, and compared to find the artifacts that have changed in the meantime.
    with stores.session() as session:
        wanted = find_artifacts(session, ids)
    before = _read_records(stores)
    if _is_empty(stores) and not before:
        listener.say("nothing is stored")
        return []
    verification = _Verification(stores, before, sample or Sample(), listener, checksums)
    # An artifact that was dropped in the meantime has no record.
    problems = list(verification.run(wanted & before.keys(), whole_store=not ids))
    after = _read_records(stores)
    changed = {
        artifact.id
        for artifact in before.keys() | after.keys()
        if before.get(artifact) != after.get(artifact)
    }
    for artifact_id in sorted(changed):
        listener.say(f"skipped {artifact_id}: changed during the verification; verify it again")
    if changed:
        # The row counts of the entire store are unreliable too, since they include these artifacts.
        changed.add(WHOLE_STORE)
    return [problem for problem in problems if problem.artifact not in changed]


def _is_empty(stores: Stores) -> bool:
    """Return whether the graph is empty.

    A graph with artifacts is not empty, even if its node :Store is missing or has a newer schema.

    Raises:
        OwnershipError: the graph has an older schema; or it has no artifacts, and belongs to
            another program or a newer starcast.
    """
    try:
        return audit.find_owner(stores.graph) is None
    except audit.OwnershipError as error:
        is_outdated = isinstance(error, audit.OutdatedSchemaError)
        if is_outdated or not reader.read_artifact_nodes(stores.graph):
            raise
    return False


def _read_records(stores: Stores) -> Mapping[Artifact, Row[Any]]:
    with stores.session() as session:
        rows = session.execute(select(models.Materialization.__table__))
        return {recorded_artifact(row): row for row in rows}


@dataclass
class _Verification:
    """A running verification of the graph.

    Attributes:
        stores: both stores.
        records: the rows of ``materialization`` when the verification began, keyed by artifact.
        sample: the nodes that are compared.
        reporter: receives messages, including messages about skipped artifacts.
        checksums: whether artifacts are verified again and the checksums of all rows compared.
    """

    stores: Stores
    records: Mapping[Artifact, Row[Any]]
    sample: Sample
    reporter: Reporter
    checksums: bool

    def run(self, artifacts: Iterable[Artifact], *, whole_store: bool) -> Iterator[Problem]:
        graph = self.stores.graph
        yield from self._check_store_node()
        for fault in audit.find_index_faults(graph):
            yield Problem(WHOLE_STORE, fault)
        contents: Contents | None = None
        if whole_store:
            for phrase in audit.describe_undeclared(graph):
                yield Problem(
                    WHOLE_STORE, f"the graph has {phrase}, which starcast's schema does not declare"
                )
            yield from self._check_unknown_nodes()
            # Incomplete artifacts can have any number of rows in the graph.
            if all(each.state == LoadState.COMPLETE for each in self.records.values()):
                ordered = sorted(self.records, key=lambda each: each.build_order)
                yield from compare_counts(graph, ordered)
            if self.checksums:
                self.reporter.say("computing counts and checksums of the entire graph")
                with suppress(InputError):
                    contents = reader.read_all_contents(graph)
                if contents is None:
                    yield Problem(WHOLE_STORE, _UNSUMMABLE)
                yield from self._check_orphans(contents or {})
        for artifact in sorted(artifacts, key=lambda each: each.build_order):
            yield from self._check_artifact(artifact, contents)
        yield from self.sample.compare(graph)

    def _check_store_node(self) -> Iterator[Problem]:
        stored = self.stores.graph.read(f"MATCH (s:{STORE.name}) RETURN s AS found")
        found = [row["found"] for row in stored]
        expected = [{"id": str(self.stores.id), "schema": VERSION}]
        if found != expected:
            problem = f"the node (:{STORE.name}) does not identify this PostgreSQL database"
            yield Problem(WHOLE_STORE, problem, str(found), str(expected))

    def _check_unknown_nodes(self) -> Iterator[Problem]:
        """Yield a problem for each artifact in the graph that PostgreSQL does not record."""
        for (kind, artifact_id), nodes in reader.read_artifact_nodes(self.stores.graph).items():
            if Artifact(kind, artifact_id) not in self.records:
                problem = f"the graph has a {kind} that PostgreSQL does not know"
                yield Problem(artifact_id, problem, len(nodes), 0)

    def _check_orphans(self, contents: Contents) -> Iterator[Problem]:
        """Yield a problem for each artifact with rows in the graph but no record in PostgreSQL."""
        for (kind, artifact_id), found in contents.items():
            if Artifact(kind, str(artifact_id)) not in self.records and found != Content():
                owner = str(artifact_id) or WHOLE_STORE
                problem = f"the graph has rows of a {kind} that PostgreSQL does not know"
                yield Problem(owner, problem, str(found), str(Content()))

    def _check_artifact(self, artifact: Artifact, contents: Contents | None) -> Iterator[Problem]:
        state, error = self.records[artifact].state, self.records[artifact].error
        if state == LoadState.FAILED and error in RECOVERABLE:
            yield Problem(artifact.id, f"the {artifact.kind} is missing: {error}")
            return
        if state != LoadState.COMPLETE:
            self.reporter.say(f"skipped {artifact.id}: it is {state}, not complete")
            return
        for name in find_changed(artifact.plugins):
            self.reporter.say(
                f"{artifact.id}: the plug-in of '{name}' has changed since the artifact was built"
            )
        try:
            generated, problems = self._generate(artifact)
            yield from problems
            graph = (
                generated.build().graph if self.checksums else graph_artifact(generated.structure())
            )
        except PluginMissingError as error:
            yield from self._check_without_plugin(artifact, error.message)
            return
        except StarcastError as error:
            yield Problem(artifact.id, f"the artifact cannot be built again: {error.message}")
            return
        self.sample.add(graph)
        if self.checksums:
            yield from self._check_checksums(artifact, graph, contents)

    def _generate(self, artifact: Artifact) -> tuple[Artifact, list[Problem]]:
        """Return the artifact that Neo4j should have, and check the trees of a stored forest.

        Returns:
            The artifact, and a list of problems. The list has one problem if the artifact is a
            forest whose trees in PostgreSQL differ from the trees that its construction builds.
        """
        with self.stores.session() as session:
            stored = artifact_from_id(session, artifact.kind, artifact.id)
        # A user's forest cannot be built again: its trees are only in PostgreSQL.
        trees = stored.structure() if stored.kind == "forest" else None
        if not isinstance(trees, Forest) or trees.construction not in constructions():
            return stored, []
        generated = forest(trees.topology, trees.construction, trees.root, **trees.arguments)
        if np.array_equal(trees.parent_port, generated.parent_port):
            return stored, []
        problem = (
            f"the trees in PostgreSQL differ from those that '{trees.construction}' builds; to"
            " store the latter, drop the forest and ingest it again"
        )
        return forest_artifact(generated), [Problem(artifact.id, problem)]

    def _check_without_plugin(self, artifact: Artifact, reason: str) -> Iterator[Problem]:
        """Compare the graph with the recorded counts and checksum, which needs no plug-in."""
        if not is_well_formed(artifact.id):
            self.reporter.say(f"skipped {artifact.id}: {reason}")
            return
        self.reporter.say(f"{reason}; only its counts and checksum are compared")
        expected = _describe(artifact, self.records[artifact].expected_checksum)
        found = str(_read_content(self.stores, artifact))
        if found != expected:
            problem = (
                "the counts or the checksum of its rows differ from those recorded in PostgreSQL"
            )
            yield Problem(artifact.id, problem, found, expected)

    def _check_checksums(
        self, artifact: Artifact, built: GraphArtifact, contents: Contents | None
    ) -> Iterator[Problem]:
        recorded = self.records[artifact].expected_checksum
        if recorded != built.content.checksum:
            problem = (
                "the checksum recorded in PostgreSQL differs from that of the newly built artifact"
            )
            yield Problem(artifact.id, problem, recorded, built.content.checksum)
        try:
            if contents is None:
                found = _read_content(self.stores, artifact)
            else:
                found = contents.get((artifact.kind, artifact.id), Content())
        except InputError:
            yield Problem(artifact.id, _UNSUMMABLE)
            return
        if found != built.content:
            problem = "its rows in the graph differ from those of the newly built artifact"
            yield Problem(artifact.id, problem, str(found), str(built.content))


def _read_content(stores: Stores, artifact: Artifact) -> Content:
    return reader.read_content(stores.graph, artifact.kind, artifact.id, artifact.topology)


def _describe(artifact: Artifact, checksum: str) -> str:
    """Return the recorded counts and checksum of an artifact, in the text format of `Content`."""
    nodes, relationships = artifact.nodes, artifact.relationships
    return f"{nodes:,} nodes, {relationships:,} relationships, checksum {checksum}"


def list_problems(problems: Iterable[Problem]) -> Table:
    """Return problems as a table with one row per problem."""
    return Table.of((problem._asdict() for problem in problems), Problem._fields)


def check_artifact(stores: Stores, kind: str, artifact_id: str) -> None:
    """Compute the counts and checksum of an artifact in Neo4j; compare them with the stored record.

    Raises:
        NotFoundError: PostgreSQL does not record the artifact.
        RejectedError: the artifact is not complete, or its content differs from the stored record.
        UnavailableError: the graph is empty, belongs to another database or program, or has another
            schema version.
    """
    audit.check_ownership(stores.graph, stores.id)
    with stores.session() as session:
        row = find_artifact(session, kind, artifact_id)
        artifact, state = recorded_artifact(row), row.state
        is_recoverable = row.error in RECOVERABLE
        expected = _describe(artifact, row.expected_checksum)
    hint = f"run 'starcast graph rebuild {shlex.quote(artifact_id)}'"
    if state != LoadState.COMPLETE:
        raise RejectedError(
            f"{kind} {artifact_id} is {state}, not complete",
            hint=hint if is_recoverable else "ingest it again",
        )
    found = _read_content(stores, artifact)
    if str(found) != expected:
        raise RejectedError(
            f"the graph contains {found} for {artifact_id}, instead of {expected}", hint=hint
        )
