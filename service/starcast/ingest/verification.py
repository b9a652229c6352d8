"""Verification of Neo4j's content against what the generators build.

PostgreSQL records which artifacts are stored. Each is built and verified again, and counts,
checksums, artifacts' nodes and, on request, rows are compared; what PostgreSQL remembers about a
load is checked as well. A sample reads only some nodes and the rows at them, without counts and
checksums, so that its duration hardly depends on the size of the graph.

Verification only reads and takes no lock: artifacts that an ingest, a drop or a rebuild changes
meanwhile are skipped and reported.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import select

from starcast.database import models, sessions
from starcast.database.listing import find
from starcast.errors import InputError, RejectedError, StarcastError
from starcast.graph import audit, reader
from starcast.graph.artifact_nodes import RELATIONSHIP_OF
from starcast.graph.audit import REBUILD, Problem, StoredNode
from starcast.graph.ownership import (
    OutdatedSchemaError,
    OwnershipError,
    check_ownership,
    usable_owner,
)
from starcast.graph.rows import Content
from starcast.graph.schema import GraphState, first_key
from starcast.ingest.artifacts import (
    Artifact,
    BuiltArtifact,
    ForestArtifact,
    PluginMissingError,
    artifact_from_id,
)
from starcast.ingest.loading import find_references, is_well_formed
from starcast.ingest.row_comparison import Depth, Differences, RowComparison
from starcast.ingest.stores import LoadState, Reference, Stores
from starcast.plugins import Provenance, find_changed
from starcast.progress import Reporter, Silent
from starcast.support.text import pluralize
from starcast.topologies import topology as parse_topology
from starcast.trees import constructions, forest

_EMPTY = Content(0, 0, (0, 0))
_ROW_NOUN = {"topology": "link", "forest": "tree edge", "schedule": "send"}

Contents = dict[tuple[str, str], Content]


class Record(NamedTuple):
    """The record of an artifact in PostgreSQL."""

    state: LoadState
    error: str | None
    content: tuple[int, int, str]
    times: tuple[Any, Any]
    plugins: Provenance


def verify(
    stores: Stores,
    ids: Sequence[str] = (),
    depth: Depth | None = None,
    reporter: Reporter | None = None,
) -> list[Problem]:
    """Compare the graph with what the generators build, and return all differences.

    Args:
        stores: both stores, open.
        ids: artifacts to verify, each with its dependents. Without ids, the entire store is
            verified, including content that belongs to no artifact.
        depth: what to read. A sample replaces the counts and checksums of the entire store.
        reporter: receives progress messages and what was skipped.

    Raises:
        NotFoundError: no artifact with such an id is stored.
        OwnershipError: the graph belongs to another program, or has an older schema.
    """
    listener = reporter or Silent()
    with stores.session() as session:
        wanted = find_references(session, ids)
    before = _read_records(stores)
    if _is_empty(stores) and not before:
        listener.say("nothing is stored")
        return []
    verification = _Verification(stores, before, depth or Depth(), listener)
    problems = verification.run(wanted, whole_store=not ids)
    after = _read_records(stores)
    changed = {
        reference.id
        for reference in before.keys() | after.keys()
        if before.get(reference) != after.get(reference)
    }
    for artifact_id in sorted(changed):
        listener.say(f"skipped {artifact_id}: it was changed meanwhile; verify it again")
    return [problem for problem in problems if problem.artifact not in changed]


def _is_empty(stores: Stores) -> bool:
    """Return whether the graph is empty.

    A graph of starcast with a missing or edited (:Store) is verified.

    Raises:
        OwnershipError: the graph belongs to another program, or has an older schema.
    """
    try:
        return usable_owner(stores.graph) is None
    except OutdatedSchemaError:
        raise
    except OwnershipError:
        if not audit.read_artifact_nodes(stores.graph):
            raise
    return False


def _read_records(stores: Stores) -> dict[Reference, Record]:
    with stores.session() as session:
        rows = session.scalars(select(models.Materialization)).all()
        return {
            Reference(row.kind, row.id): Record(
                LoadState(row.state),
                row.error,
                (row.expected_nodes, row.expected_relationships, row.expected_checksum),
                (row.started_at, row.finished_at),
                row.plugins,
            )
            for row in rows
        }


class _Verification:
    """One verification of the graph."""

    def __init__(
        self, stores: Stores, records: dict[Reference, Record], depth: Depth, reporter: Reporter
    ) -> None:
        self._stores = stores
        self._records = records
        self._depth = depth
        self._reporter = reporter
        self._nodes = audit.read_artifact_nodes(stores.graph)
        self._rows = RowComparison(stores.graph, depth, reporter)

    def run(self, wanted: Iterable[Reference], *, whole_store: bool) -> list[Problem]:
        graph = self._stores.graph
        problems = audit.check_store_node(graph, str(self._stores.id))
        problems += audit.check_indexes(graph)
        contents = None
        ordered = sorted(wanted, key=lambda item: item.build_order)
        if whole_store:
            problems += audit.check_undeclared(graph)
            problems += audit.check_properties(graph, self._sampled_keys(ordered))
            problems += self._check_unknown_nodes()
            if not self._depth.sample:
                contents = self._read_contents()
                problems += self._check_orphans(contents or {})
        for reference in ordered:
            problems += self._check_artifact(reference, contents)
        return problems

    def _sampled_keys(self, references: Iterable[Reference]) -> list[int] | None:
        """Return the keys of all sampled nodes, or None if nothing is sampled."""
        if not self._depth.sample:
            return None
        specs = [reference.id for reference in references if reference.kind == "topology"]
        topologies = [parse_topology(spec) for spec in specs if is_well_formed(spec)]
        parts = [first_key(each) + self._depth.ranks(each) for each in topologies]
        return [key for part in parts for key in part.tolist()]

    def _read_contents(self) -> Contents | None:
        """Return all counts and checksums, or None if a property cannot be summed."""
        self._reporter.say("computing counts and checksums of the whole graph")
        try:
            return reader.read_all_contents(self._stores.graph)
        except InputError:
            return None

    def _check_unknown_nodes(self) -> Iterator[Problem]:
        """Report artifacts in the graph that PostgreSQL does not know."""
        for (kind, artifact_id), nodes in self._nodes.items():
            if Reference(kind, artifact_id) in self._records:
                continue
            if any(node.properties.get("state") == GraphState.IMPORTED for node in nodes):
                description = "it was imported and not compared yet"
                advice = "starcast graph adopt"
                yield Problem(artifact_id, description, GraphState.IMPORTED.value, None, advice)
                continue
            description = f"the graph has a {kind} that PostgreSQL does not know"
            advice = REBUILD
            if not is_well_formed(artifact_id):
                advice = audit.deletion_advice(kind, artifact_id)
            yield Problem(artifact_id, description, len(nodes), 0, advice)

    def _check_orphans(self, contents: Contents) -> Iterator[Problem]:
        """Report nodes and relationships of artifacts that do not exist."""
        for (kind, artifact_id), found in contents.items():
            is_known = Reference(kind, str(artifact_id)) in self._records
            # Elements without an artifact were reported by `audit.check_properties`.
            if not artifact_id or is_known or (kind, artifact_id) in self._nodes:
                continue
            parts = [pluralize(found.nodes, "node")] if found.nodes else []
            if found.relationships:
                parts.append(f"{found.relationships:,} {RELATIONSHIP_OF[kind].name}")
            description = f"{' and '.join(parts)} of a {kind} that does not exist"
            rows = found.nodes + found.relationships
            yield Problem(str(artifact_id), description, rows, 0, REBUILD)

    def _check_artifact(self, reference: Reference, contents: Contents | None) -> list[Problem]:
        state = self._records[reference].state
        if state is not LoadState.COMPLETE:
            self._reporter.say(f"skipped {reference.id}: it is {state}, not complete")
            return []
        try:
            artifact, problems = self._generate(reference)
            self._report_changed_plugins(reference)
            if self._depth.sample:
                return [*problems, *self._check_sample(reference, artifact)]
            built = artifact.build()
        except PluginMissingError as error:
            return self._check_without_plugin(reference, error.message)
        except StarcastError as error:
            description = f"it cannot be built again: {error.message}"
            return [Problem(reference.id, description, None, None, error.hint)]
        problems += self._check_record(reference, built)
        nodes = self._nodes.get((reference.kind, reference.id), [])
        usable_contents = contents if _has_topology(nodes, artifact) else None
        content = self._read_content(reference, artifact, usable_contents)
        if not nodes and content == _EMPTY:
            description = "it is not in the graph"
            return [*problems, Problem(reference.id, description, 0, 1, _rebuild_advice(reference))]
        problems += audit.check_artifact_node(built.node, nodes)
        problems += self._check_content(reference, built.content, content)
        if self._depth.all_rows:
            problems += self._describe(reference, self._rows.compare(built))
        return problems

    def _report_changed_plugins(self, reference: Reference) -> None:
        for name in find_changed(self._records[reference].plugins):
            self._reporter.say(f"{reference.id}: the plug-in of '{name}' was changed since")

    def _check_without_plugin(self, reference: Reference, reason: str) -> list[Problem]:
        """Compare the content of an artifact that cannot be built with PostgreSQL's record."""
        if not is_well_formed(reference.id):
            self._reporter.say(f"skipped {reference.id}: {reason}")
            return []
        self._reporter.say(f"{reason}; only its counts and checksum are compared")
        topology = parse_topology(reference.spec)
        found = reader.read_content(self._stores.graph, reference.kind, reference.id, topology)
        recorded = self._records[reference].content
        actual = (found.nodes, found.relationships, found.checksum)
        if actual == recorded:
            return []
        description = "the graph has other counts or another checksum than PostgreSQL records"
        advice = f"load the plug-in, then {_rebuild_advice(reference)}"
        return [Problem(reference.id, description, list(actual), list(recorded), advice)]

    def _check_sample(self, reference: Reference, artifact: Artifact) -> Iterator[Problem]:
        """Compare an artifact's node, and its rows at the sampled nodes."""
        sample = artifact.sample(self._depth.ranks(artifact.topology))
        nodes = self._nodes.get((reference.kind, reference.id), [])
        yield from audit.check_artifact_node(sample.node, nodes)
        yield from self._describe(reference, self._rows.compare_sample(sample))

    def _generate(self, reference: Reference) -> tuple[Artifact, list[Problem]]:
        """Generate an artifact, and report if PostgreSQL stores another forest."""
        with sessions.session(self._stores.engine) as session:
            artifact = artifact_from_id(session, reference.kind, reference.id)
        if not isinstance(artifact, ForestArtifact):
            return artifact, []
        stored = artifact.forest
        if stored.construction not in constructions():
            return artifact, []
        generated = forest(stored.topology, stored.construction, stored.root, **stored.arguments)
        if np.array_equal(stored.parent_port, generated.parent_port):
            return artifact, []
        description = f"PostgreSQL stores other trees than '{stored.construction}' builds"
        advice = f"starcast forest drop '{reference.id}' --cascade, then ingest it again"
        problem = Problem(reference.id, description, None, None, advice)
        return ForestArtifact(generated), [problem]

    def _check_record(self, reference: Reference, built: BuiltArtifact) -> list[Problem]:
        expected = (built.content.nodes, built.content.relationships, built.content.checksum)
        recorded = self._records[reference].content
        if recorded == expected:
            return []
        description = "PostgreSQL records other counts or another checksum than the generator's"
        advice = _rebuild_advice(reference)
        return [Problem(reference.id, description, list(recorded), list(expected), advice)]

    def _read_content(
        self, reference: Reference, artifact: Artifact, contents: Contents | None
    ) -> Content | None:
        """Return the content of an artifact in the graph, or None if it cannot be summed."""
        if contents is not None:
            return contents.get((reference.kind, reference.id), _EMPTY)
        graph = self._stores.graph
        try:
            return reader.read_content(graph, reference.kind, reference.id, artifact.topology)
        except InputError:
            return None

    def _check_content(
        self, reference: Reference, expected: Content, found: Content | None
    ) -> Iterator[Problem]:
        artifact_id = reference.id
        advice = _rebuild_advice(reference)
        if not self._depth.all_rows:
            advice = f"starcast graph verify '{artifact_id}' --all describes them; {advice}"
        if found is None:
            description = "its rows cannot be summed: a property is missing or has another type"
            yield Problem(artifact_id, description, None, None, advice)
            return
        counts = (
            ("node", found.nodes, expected.nodes),
            (_ROW_NOUN[reference.kind], found.relationships, expected.relationships),
        )
        for (noun, actual, wanted), sum_found, sum_expected in zip(
            counts, found.sums, expected.sums, strict=True
        ):
            if actual != wanted:
                description = f"it has {pluralize(actual, noun)}, not {wanted:,}"
                yield Problem(artifact_id, description, actual, wanted, advice)
            elif sum_found != sum_expected:
                description = f"its {noun}s differ from those of the generator"
                checksums = (f"checksum {sum_found:x}", f"checksum {sum_expected:x}")
                yield Problem(artifact_id, description, *checksums, advice)

    def _describe(self, reference: Reference, differences: Differences) -> Iterator[Problem]:
        advice = _rebuild_advice(reference)
        for description, found, expected in differences.described:
            yield Problem(reference.id, description, found, expected, advice)
        more = differences.total - len(differences.described)
        if more > 0:
            description = f"and {pluralize(more, 'more difference')}"
            yield Problem(reference.id, description, None, None, advice)


def _has_topology(nodes: Sequence[StoredNode], artifact: Artifact) -> bool:
    """Return whether an artifact has one node that names its topology.

    A scan of the entire graph takes the first key of an artifact from there.
    """
    if artifact.kind == "topology":
        return len(nodes) == 1
    return [node.properties.get("topology") for node in nodes] == [artifact.topology.spec]


def _rebuild_advice(reference: Reference) -> str:
    return f"{REBUILD} '{reference.id}'"


def check_artifact(stores: Stores, kind: str, artifact_id: str) -> None:
    """Recompute counts and checksums of an artifact in Neo4j, and compare them with its record.

    Raises:
        NotFoundError: the artifact is not known.
        RejectedError: it is not complete, or the graph holds something else.
        UnavailableError: the graph belongs to another database.
    """
    check_ownership(stores.graph, stores.id)
    with stores.session() as session:
        row = find(session, kind, artifact_id)
        expected = (row.expected_nodes, row.expected_relationships, row.expected_checksum)
        state = row.state
    if state != LoadState.COMPLETE:
        raise RejectedError(
            f"{kind} {artifact_id} is {state}, not complete", hint="ingest it again"
        )
    topology = parse_topology(Reference(kind, artifact_id).spec)
    found = reader.read_content(stores.graph, kind, artifact_id, topology)
    if (found.nodes, found.relationships, found.checksum) != expected:
        nodes, relationships, checksum = expected
        raise RejectedError(
            f"the graph holds {found} for {artifact_id}, instead of {nodes:,} nodes, "
            f"{relationships:,} relationships, checksum {checksum}",
            hint=f"run 'starcast graph rebuild {artifact_id}', or 'starcast {kind} drop' and ingest"
            " it again",
        )
