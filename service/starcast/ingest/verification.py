"""Verification of Neo4j's content against freshly built artifacts.

PostgreSQL records which artifacts are stored. Each artifact is built again and compared with the
graph: its own node, and its rows at a sample of nodes. The total numbers of nodes and rows are
compared as well. On request, each artifact is also verified again, and the counts and checksums of
all its rows are compared.

Verification only reads and takes no lock. Artifacts that an ingest, a drop or a rebuild changes
meanwhile are skipped and reported.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import select

from starcast.catalogue.origin import PluginMissingError, find_changed
from starcast.ingest.artifacts import (
    Artifact,
    artifact_from_id,
    forest_artifact,
    recorded_artifact,
)
from starcast.ingest.loading import find_artifacts, is_well_formed
from starcast.ingest.sample import WHOLE_STORE, Problem, Sample, compare_counts
from starcast.ingest.stores import LoadState, Stores
from starcast.stores.database import models
from starcast.stores.database.artifact_rows import find
from starcast.stores.graph import audit, reader
from starcast.stores.graph.artifacts import GraphArtifact
from starcast.stores.graph.ownership import (
    OutdatedSchemaError,
    OwnershipError,
    check_ownership,
    usable_owner,
)
from starcast.stores.graph.rows import Content
from starcast.stores.graph.schema import STORE, VERSION
from starcast.support.errors import InputError, RejectedError, StarcastError
from starcast.support.progress import Reporter, Silent
from starcast.support.table import Table
from starcast.trees import Forest, constructions, forest

_EMPTY = Content(0, 0, (0, 0))

Contents = dict[tuple[str, str], Content]


class Record(NamedTuple):
    """The record of an artifact in PostgreSQL."""

    state: LoadState
    error: str | None
    checksum: str
    times: tuple[Any, Any]


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
        ids: artifacts to verify, each with its dependents. Without ids, the entire store is
            verified, including content that belongs to no artifact.
        sample: the nodes to compare.
        reporter: receives progress messages, also about skipped artifacts.
        checksums: also verify all artifacts again, and compare their counts and checksums.

    Raises:
        NotFoundError: no artifact with such an id is stored.
        OwnershipError: the graph belongs to another program, or has an older schema.
    """
    listener = reporter or Silent()
    # The lock would keep ingests waiting. Instead, reading the records before and after shows which
    # artifacts changed meanwhile.
    with stores.session() as session:
        wanted = find_artifacts(session, ids)
    before = _read_records(stores)
    if _is_empty(stores) and not before:
        listener.say("nothing is stored")
        return []
    verification = _Verification(stores, before, sample or Sample(), listener, checksums)
    ordered = sorted(wanted, key=lambda artifact: artifact.build_order)
    problems = list(verification.run(ordered, whole_store=not ids))
    after = _read_records(stores)
    changed = {
        artifact.id
        for artifact in before.keys() | after.keys()
        if before.get(artifact) != after.get(artifact)
    }
    for artifact_id in sorted(changed):
        listener.say(f"skipped {artifact_id}: it was changed meanwhile; verify it again")
    if changed:
        # The row counts of the entire store are unreliable too, since they include these artifacts.
        changed.add(WHOLE_STORE)
    return [problem for problem in problems if problem.artifact not in changed]


def _is_empty(stores: Stores) -> bool:
    """Return whether the graph is empty.

    A graph with artifacts is taken to be starcast's even if its node (:Store) is missing or edited.

    Raises:
        OwnershipError: the graph belongs to another program, or has an older schema.
    """
    try:
        return usable_owner(stores.graph) is None
    except OutdatedSchemaError:
        raise
    except OwnershipError:
        if not reader.read_artifact_nodes(stores.graph):
            raise
    return False


def _read_records(stores: Stores) -> dict[Artifact, Record]:
    with stores.session() as session:
        rows = session.scalars(select(models.Materialization)).all()
        return {
            recorded_artifact(row): Record(
                LoadState(row.state),
                row.error,
                row.expected_checksum,
                (row.started_at, row.finished_at),
            )
            for row in rows
        }


@dataclass
class _Verification:
    """One verification of the graph."""

    stores: Stores
    records: dict[Artifact, Record]
    sample: Sample
    reporter: Reporter
    checksums: bool

    def run(self, artifacts: Sequence[Artifact], *, whole_store: bool) -> Iterator[Problem]:
        graph = self.stores.graph
        yield from self._check_store_node()
        for fault in audit.find_index_faults(graph):
            yield Problem(WHOLE_STORE, fault)
        contents: Contents | None = None
        if whole_store:
            for phrase in audit.describe_undeclared(graph):
                yield Problem(
                    WHOLE_STORE, f"it has {phrase}, which starcast's schema does not declare"
                )
            yield from self._check_unknown_nodes()
            # Unfinished artifacts may have any number of rows in the graph.
            if all(each.state is LoadState.COMPLETE for each in self.records.values()):
                ordered = sorted(self.records, key=lambda artifact: artifact.build_order)
                yield from compare_counts(graph, ordered)
            if self.checksums:
                self.reporter.say("computing counts and checksums of the whole graph")
                contents = self._read_contents()
                if contents is None:
                    problem = "its rows cannot be summed, because a property has the wrong type"
                    yield Problem(WHOLE_STORE, problem)
                yield from self._check_orphans(contents or {})
        for artifact in artifacts:
            yield from self._check_artifact(artifact, contents)
        yield from self.sample.compare(graph)

    def _check_store_node(self) -> Iterator[Problem]:
        rows = self.stores.graph.read(f"MATCH (s:{STORE.name}) RETURN properties(s) AS found")
        found = [row["found"] for row in rows]
        expected = [{"id": str(self.stores.id), "schema": VERSION}]
        if found != expected:
            problem = f"the node (:{STORE.name}) does not identify this PostgreSQL database"
            yield Problem(WHOLE_STORE, problem, str(found), str(expected))

    def _read_contents(self) -> Contents | None:
        """Return all counts and checksums, or None if a property's type cannot be summed."""
        try:
            return reader.read_all_contents(self.stores.graph)
        except InputError:
            return None

    def _check_unknown_nodes(self) -> Iterator[Problem]:
        """Report artifacts in the graph that PostgreSQL does not know."""
        for (kind, artifact_id), nodes in reader.read_artifact_nodes(self.stores.graph).items():
            if Artifact(kind, artifact_id) not in self.records:
                problem = f"the graph has a {kind} that PostgreSQL does not know"
                yield Problem(artifact_id, problem, len(nodes), 0)

    def _check_orphans(self, contents: Contents) -> Iterator[Problem]:
        """Report nodes and relationships of artifacts that do not exist."""
        for (kind, artifact_id), found in contents.items():
            if Artifact(kind, str(artifact_id)) not in self.records and found != _EMPTY:
                owner = str(artifact_id) or WHOLE_STORE
                problem = f"the graph has rows of a {kind} that PostgreSQL does not know"
                yield Problem(owner, problem, str(found), str(_EMPTY))

    def _check_artifact(self, artifact: Artifact, contents: Contents | None) -> Iterator[Problem]:
        record = self.records[artifact]
        if record.state is not LoadState.COMPLETE:
            self.reporter.say(f"skipped {artifact.id}: it is {record.state}, not complete")
            return
        for name in find_changed(artifact.plugins):
            message = (
                f"{artifact.id}: the plug-in of '{name}' has changed since it built this artifact"
            )
            self.reporter.say(message)
        try:
            generated, problems = self._generate(artifact)
            yield from problems
            graph = generated.build().graph if self.checksums else generated.sketch()
        except PluginMissingError as error:
            yield from self._check_without_plugin(artifact, error.message)
            return
        except StarcastError as error:
            yield Problem(artifact.id, f"it cannot be built again: {error.message}")
            return
        self.sample.add(graph)
        if self.checksums:
            yield from self._check_checksums(artifact, graph, contents)

    def _generate(self, artifact: Artifact) -> tuple[Artifact, list[Problem]]:
        """Return the expected artifact, and a problem if PostgreSQL stores other trees."""
        with self.stores.session() as session:
            stored = artifact_from_id(session, artifact.kind, artifact.id)
        # Only the forest of a construction can be built again for comparison. A user's forest
        # exists only in PostgreSQL.
        trees = stored.structure() if stored.kind == "forest" else None
        if not isinstance(trees, Forest) or trees.construction not in constructions():
            return stored, []
        generated = forest(trees.topology, trees.construction, trees.root, **trees.arguments)
        if np.array_equal(trees.parent_port, generated.parent_port):
            return stored, []
        problem = f"the trees in PostgreSQL differ from those that '{trees.construction}' builds"
        return forest_artifact(generated), [Problem(artifact.id, problem)]

    def _check_without_plugin(self, artifact: Artifact, reason: str) -> Iterator[Problem]:
        """Compare counts and checksum of an artifact that cannot be built without its plug-in."""
        if not is_well_formed(artifact.id):
            self.reporter.say(f"skipped {artifact.id}: {reason}")
            return
        self.reporter.say(f"{reason}; only its counts and checksum are compared")
        found = reader.read_content(
            self.stores.graph, artifact.kind, artifact.id, artifact.topology
        )
        recorded = self.records[artifact].checksum
        if (found.nodes, found.relationships, found.checksum) != (
            artifact.nodes,
            artifact.relationships,
            recorded,
        ):
            problem = (
                "the counts or the checksum of its rows differ from those recorded in PostgreSQL"
            )
            expected = f"{artifact.nodes:,} nodes, {artifact.relationships:,} relationships"
            yield Problem(artifact.id, problem, str(found), f"{expected}, checksum {recorded}")

    def _check_checksums(
        self, artifact: Artifact, built: GraphArtifact, contents: Contents | None
    ) -> Iterator[Problem]:
        if self.records[artifact].checksum != built.content.checksum:
            problem = (
                "the checksum recorded in PostgreSQL differs from that of the newly built artifact"
            )
            yield Problem(
                artifact.id, problem, self.records[artifact].checksum, built.content.checksum
            )
        try:
            if contents is None:
                found = reader.read_content(
                    self.stores.graph, artifact.kind, artifact.id, built.topology
                )
            else:
                found = contents.get((artifact.kind, artifact.id), _EMPTY)
        except InputError:
            problem = "its rows cannot be summed, because a property has the wrong type"
            yield Problem(artifact.id, problem)
            return
        if found != built.content:
            problem = "its rows in the graph differ from those of the newly built artifact"
            yield Problem(artifact.id, problem, str(found), str(built.content))


def list_problems(problems: Iterable[Problem]) -> Table:
    """Return problems as a table with one row per problem."""
    return Table.of((problem._asdict() for problem in problems), Problem._fields)


def check_artifact(stores: Stores, kind: str, artifact_id: str) -> None:
    """Recompute counts and checksums of an artifact in Neo4j, and compare them with its record.

    Raises:
        NotFoundError: the artifact is not known.
        RejectedError: the artifact is not complete, or its content in the graph differs.
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
    topology = Artifact(kind, artifact_id).topology
    found = reader.read_content(stores.graph, kind, artifact_id, topology)
    if (found.nodes, found.relationships, found.checksum) != expected:
        nodes, relationships, checksum = expected
        raise RejectedError(
            f"the graph holds {found} for {artifact_id}, instead of {nodes:,} nodes, "
            f"{relationships:,} relationships, checksum {checksum}",
            hint=f"run 'starcast graph rebuild {artifact_id}', or 'starcast {kind} drop' and ingest"
            " it again",
        )
