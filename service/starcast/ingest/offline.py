"""Offline imports: a new store of everything for the embedded Neo4j, and adopting imported data.

The graph is a materialization: PostgreSQL records what it holds, and every part can be built again.
An import therefore writes files of everything, creates a new store from them next to the old one
(`starcast.embedded.rebuild`), and replaces the old store only after everything was compared. After
an interruption at any point, either the old store or the compared new store is in use. If
PostgreSQL then has other records, `starcast.ingest.loading.recover` cleans up.

Imported data are in state ``imported``, which nothing may use. `adopt` reads counts and checksums
in scans of the entire graph and compares them with what the generators build. What agrees becomes
complete, in PostgreSQL first: after an interruption between the two, the graph still says
``imported``, and the next adoption continues. What differs becomes ``loading`` in the graph, so
that the next ingest or drop deletes it together with its dependents.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlalchemy import select
from sqlalchemy.orm import Session

from starcast.database import models
from starcast.embedded import files
from starcast.embedded.rebuild import StoreRebuild, rebuild_store
from starcast.errors import InputError, RejectedError
from starcast.graph import bulk_files, reader, writer
from starcast.graph.artifact_nodes import LABEL_OF, ArtifactNode
from starcast.graph.connection import Graph
from starcast.graph.ownership import check_ownership
from starcast.graph.rows import Content
from starcast.graph.schema import GraphState
from starcast.ingest.artifacts import Artifact, BuiltArtifact, artifact_from_id, stored_artifacts
from starcast.ingest.load_methods import Estimate, Sized
from starcast.ingest.loading import (
    Loaded,
    OnStage,
    build_and_save,
    cleanup_on_error,
    describe_mismatch,
    find_dependents,
    forget,
    found_columns,
)
from starcast.ingest.stores import (
    LoadState,
    Reference,
    Stores,
    read_state,
    set_columns,
    set_state,
)
from starcast.plugins import Provenance
from starcast.progress import Reporter
from starcast.settings import Settings
from starcast.vocabulary import LoadMethod

#: The stages of an import, in order: the first three once per new artifact, the others once.
STAGES = (
    "planned",
    "built",
    "saved",
    "written",
    "imported",
    "started",
    "compared",
    "changed",
    "complete",
)

#: Greatest number of artifacts that an error describes.
_DESCRIBED = 5


@dataclass(frozen=True)
class ExpectedArtifact:
    """The expected content of an artifact in the graph: its node, its counts and checksums."""

    node: ArtifactNode
    content: Content


@dataclass(frozen=True)
class ImportedArtifact:
    """An imported artifact, its expected and actual content, and the differences of its node."""

    reference: Reference
    expected: Content
    found: Content
    differences: tuple[str, ...]

    @property
    def is_correct(self) -> bool:
        """Whether the graph holds the artifact as it was built."""
        return self.found == self.expected and not self.differences

    def __str__(self) -> str:
        return describe_mismatch(self.reference.id, self.expected, self.found, self.differences)


def import_all(
    stores: Stores, new: Sequence[Artifact], reporter: Reporter, on_stage: OnStage
) -> list[Loaded]:
    """Recreate the graph store from all complete artifacts and from new artifacts.

    Without new artifacts this rebuilds the store. The stores must be locked. The server is
    unavailable for part of the time.

    Args:
        stores: both stores, with the embedded Neo4j. The connection to the graph is useless
            afterwards if the server had to choose another port.
        new: artifacts that are absent or failed, in the order of building.
        reporter: receives progress messages.
        on_stage: called after each of `STAGES` with an artifact: the new artifact concerned, or
            in stages of the entire import the first of all.

    Returns:
        The new artifacts, each with its share of the time.

    Raises:
        InputError: the graph store is not the embedded Neo4j.
        LimitError: the disk is too small or becomes full; the old store stays in use.
        RejectedError: a verification failed; the old store stays in use, and nothing new is stored.
        UnavailableError: a server stopped.
    """
    settings = _embedded_settings(stores)
    began = time.monotonic()
    old, checksums = _read_stored(stores)
    everything = [*old, *new]
    if not everything:
        return []
    check_space(settings, everything)
    with cleanup_on_error(stores, new, reporter):
        method = LoadMethod.IMPORT.value
        built = [build_and_save(stores, method, artifact, on_stage) for artifact in new]
        work = _Import(stores, settings, reporter, lambda stage: on_stage(stage, everything[0]))
        work.run(_Everything(old, built, checksums), f"importing {everything[-1].topology.spec}")
    return share_seconds(new, time.monotonic() - began)


def import_remaining(
    stores: Stores,
    dropped: Sequence[Reference],
    reporter: Reporter,
    on_stage: Callable[[str], None],
) -> None:
    """Drop artifacts by recreating the graph store from all other complete artifacts.

    Until the new store replaces the old one, the artifacts stay complete: after an interruption
    they are either all stored or all dropped. See `import_all` for the stores.

    Args:
        stores: both stores, with the embedded Neo4j.
        dropped: the artifacts, in the order of deletion, with all their dependents.
        reporter: receives progress messages.
        on_stage: called after each stage from ``written`` on, and after ``marked``.

    Raises:
        InputError: the graph store is not the embedded Neo4j.
        LimitError: the disk is too small or becomes full; nothing was dropped.
        RejectedError: a verification failed; nothing was dropped.
        UnavailableError: a server stopped.
    """
    settings = _embedded_settings(stores)
    remaining, checksums = _read_stored(stores, dropped)
    check_space(settings, remaining)

    def mark() -> None:
        # From here on, the next command finishes the drop if this process is killed.
        with stores.session() as session:
            for reference in dropped:
                if read_state(session, reference.kind, reference.id) is LoadState.COMPLETE:
                    set_state(session, reference.kind, reference.id, LoadState.LOADING)
        on_stage("marked")

    work = _Import(stores, settings, reporter, on_stage)
    work.run(_Everything(remaining, [], checksums), f"dropping {dropped[-1].id}", mark)
    with stores.session() as session:
        for reference in dropped:
            forget(session, reference)


def _embedded_settings(stores: Stores) -> Settings:
    if stores.embedded is None:
        raise InputError(
            "only the embedded Neo4j can be stopped for an import",
            hint="'starcast export' writes files for other servers",
        )
    return stores.embedded


def _read_stored(
    stores: Stores, without: Sequence[Reference] = ()
) -> tuple[list[Artifact], dict[Reference, str]]:
    """Return all complete artifacts except for some, and the recorded checksums of all."""
    with stores.session() as session:
        checksums = {
            Reference(row.kind, row.id): row.expected_checksum
            for row in session.scalars(select(models.Materialization))
        }
        return stored_artifacts(session, without), checksums


def check_space(settings: Settings, artifacts: Iterable[Sized]) -> None:
    """Check that the disk has enough space for an import of artifacts.

    Raises:
        LimitError: the disk is too small.
    """
    size = Estimate.of(artifacts)
    purpose = (
        f"an import of {size.nodes:,} nodes and {size.relationships:,} relationships, files and a "
        "new store,"
    )
    files.require_space(settings.home, size.import_bytes // files.MB, purpose)


class _Everything:
    """Everything that the new store is to hold, built one artifact at a time.

    Attributes:
        expected: what the graph must hold of the artifacts built so far. Artifacts that this
            version builds differently from their record are left to `adopt`, which saves them.
    """

    def __init__(
        self,
        old: Sequence[Artifact],
        new: Sequence[BuiltArtifact],
        checksums: Mapping[Reference, str],
    ) -> None:
        self._old = old
        self._new = new
        self._checksums = checksums
        self.expected: dict[Reference, ExpectedArtifact] = {}

    def __len__(self) -> int:
        return len(self._old) + len(self._new)

    def __iter__(self) -> Iterator[BuiltArtifact]:
        for artifact in self._old:
            built = artifact.build()
            reference = Reference(artifact.kind, artifact.id)
            if self._checksums[reference] == built.content.checksum:
                self.expected[reference] = ExpectedArtifact(built.node, built.content)
            yield built
        for built in self._new:
            reference = Reference(built.node.kind, built.node.id)
            self.expected[reference] = ExpectedArtifact(built.node, built.content)
            yield built


class _Import:
    """An import of everything."""

    def __init__(
        self,
        stores: Stores,
        settings: Settings,
        reporter: Reporter,
        on_stage: Callable[[str], None],
    ) -> None:
        self._stores = stores
        self._settings = settings
        self._reporter = reporter
        self._on_stage = on_stage

    def run(
        self, everything: _Everything, task: str, before_commit: Callable[[], None] = lambda: None
    ) -> None:
        """Write files, import them, start the server, compare, and replace the old store."""
        with rebuild_store(self._settings, self._reporter, task) as work:
            self._load(work, everything)
            address = work.start()
            self._on_stage("started")
            with Graph.open(address) as graph:
                self._compare(graph, everything.expected)
            before_commit()
            work.commit()
            self._on_stage("changed")
        self._on_stage("complete")

    def _load(self, work: StoreRebuild, everything: _Everything) -> None:
        self._reporter.say(f"writing the files of {len(everything)} artifacts")
        written = bulk_files.write(work.folder, self._stores.id, everything, self._reporter)
        self._on_stage("written")
        self._reporter.say(
            f"importing {written.nodes:,} nodes and {written.relationships:,} relationships, "
            f"{written.bytes / files.MB:,.0f} MB"
        )
        work.load([*bulk_files.OPTIONS, *written.arguments])
        self._on_stage("imported")

    def _compare(self, graph: Graph, expected: Mapping[Reference, ExpectedArtifact]) -> None:
        if not expected:  # then there is nothing to adopt, which creates the indexes otherwise
            writer.create_indexes(graph)
        adopt(replace(self._stores, graph=graph), self._reporter, expected, strict=True)
        self._on_stage("compared")


def share_seconds(artifacts: Sequence[Artifact], seconds: float) -> list[Loaded]:
    """Return loaded artifacts, each with a share of the time in proportion to its rows."""
    total = sum(artifact.nodes + artifact.relationships for artifact in artifacts)
    loaded = []
    for artifact in artifacts:
        share = seconds * (artifact.nodes + artifact.relationships) / max(total, 1)
        loaded.append(
            Loaded(artifact.kind, artifact.id, artifact.nodes, artifact.relationships, share)
        )
    return loaded


def find_imported(stores: Stores) -> list[Reference]:
    """Return the artifacts that were imported and not compared yet, in the order of building."""
    references = [
        Reference(kind, artifact_id)
        for (kind, artifact_id), row in reader.read_states(stores.graph).items()
        if row["state"] == GraphState.IMPORTED.value
    ]
    return sorted(references, key=lambda reference: reference.build_order)


def adopt(
    stores: Stores,
    reporter: Reporter,
    known: Mapping[Reference, ExpectedArtifact] | None = None,
    strict: bool = False,
) -> list[Reference]:
    """Compare all imported artifacts, and mark the correct ones complete.

    Artifacts whose ids are unreadable are reported and skipped.

    The stores must be locked.

    Args:
        stores: both stores.
        reporter: receives progress messages.
        known: expectations of artifacts that the caller has built and saved; others are built here.
        strict: whether to change nothing if any artifact differs.

    Returns:
        The artifacts that became complete, in the order of building.

    Raises:
        RejectedError: an artifact differs. It and its dependents do not become complete; the
            others do unless ``strict``.
        UnavailableError: the graph belongs to another database, or a server stopped; the next
            adoption continues.
    """
    check_ownership(stores.graph, stores.id)
    waiting = find_imported(stores)
    if not waiting:
        return []
    reporter.say(
        f"creating indexes, and comparing {len(waiting)} imported artifacts with their generators"
    )
    # Both read the entire graph, and neither keeps two processors busy.
    with stores.graph.concurrent(1) as pool:
        indexing = pool.submit(writer.create_indexes, stores.graph)
        imported = _compare_imported(stores, waiting, known or {}, reporter)
        indexing.result()
    different = [artifact for artifact in imported if not artifact.is_correct]
    if different and strict:
        hint = "the old store stays in use; another program may have written to the graph"
        raise _rejected(different, hint)
    with stores.session() as session:
        excluded = {artifact.reference for artifact in different}
        for artifact in different:
            excluded.update(find_dependents(session, artifact.reference))
    accepted = [artifact for artifact in imported if artifact.reference not in excluded]
    _accept(stores, accepted)
    if different:
        _refuse(stores, different)
        hint = "the next ingest or drop deletes them and their dependents; then ingest them again"
        raise _rejected(different, hint)
    return [artifact.reference for artifact in accepted]


def _compare_imported(
    stores: Stores,
    waiting: Sequence[Reference],
    known: Mapping[Reference, ExpectedArtifact],
    reporter: Reporter,
) -> list[ImportedArtifact]:
    contents = reader.read_all_contents(stores.graph)
    imported = []
    with reporter.task("comparing", len(waiting), "artifacts") as task:
        for reference in waiting:
            try:
                expected = known.get(reference) or _build_expected(stores, reference)
            except InputError as error:
                # Its id is unreadable, so it can be neither built nor dropped: adopt the others.
                reporter.say(f"left unchanged: {error.message}")
                continue
            found = contents[reference.kind, reference.id]
            differences = tuple(reader.find_node_differences(stores.graph, expected.node))
            imported.append(ImportedArtifact(reference, expected.content, found, differences))
            task.advance()
    return imported


def _build_expected(stores: Stores, reference: Reference) -> ExpectedArtifact:
    """Build an artifact from its id; save it unless PostgreSQL has it complete in this form."""
    kind, artifact_id = reference.kind, reference.id
    with stores.session() as session:
        artifact = artifact_from_id(session, kind, artifact_id)
    built = artifact.build()
    with stores.session() as session:
        state = read_state(session, kind, artifact_id)
        row = session.get(models.Materialization, (kind, artifact_id))
        is_saved = row is not None and row.expected_checksum == built.content.checksum
        if state is not LoadState.COMPLETE or not is_saved:
            _save(session, reference, artifact.plugins, built, state)
    return ExpectedArtifact(built.node, built.content)


def _save(
    session: Session,
    reference: Reference,
    used: Provenance,
    built: BuiltArtifact,
    state: LoadState | None,
) -> None:
    """Save a built artifact to the relational store, in state loading."""
    kind, artifact_id = reference.kind, reference.id
    columns = {
        "method": LoadMethod.IMPORT.value,
        "expected_nodes": built.content.nodes,
        "expected_relationships": built.content.relationships,
        "plugins": used,
    }
    if state in {None, LoadState.FAILED}:
        set_state(session, kind, artifact_id, LoadState.PLANNED, **columns)
    if state is not LoadState.LOADING:
        set_state(session, kind, artifact_id, LoadState.LOADING)
    checksum = built.content.checksum
    set_columns(session, kind, artifact_id, **columns, expected_checksum=checksum)
    built.save(session)


def _accept(stores: Stores, imported: Sequence[ImportedArtifact]) -> None:
    with stores.session() as session:
        for artifact in imported:
            kind, artifact_id = artifact.reference.kind, artifact.reference.id
            if read_state(session, kind, artifact_id) is not LoadState.COMPLETE:
                set_state(session, kind, artifact_id, LoadState.COMPLETE)
            columns = found_columns(artifact.found)
            set_columns(session, kind, artifact_id, method=LoadMethod.IMPORT.value, **columns)
    for artifact in imported:
        _set_graph_state(stores, artifact.reference, GraphState.COMPLETE)


def _refuse(stores: Stores, imported: Sequence[ImportedArtifact]) -> None:
    with stores.session() as session:
        for artifact in imported:
            kind, artifact_id = artifact.reference.kind, artifact.reference.id
            if read_state(session, kind, artifact_id) is LoadState.COMPLETE:
                set_state(session, kind, artifact_id, LoadState.LOADING)
            error = f"the import differs from {artifact}"
            columns = found_columns(artifact.found)
            set_state(session, kind, artifact_id, LoadState.FAILED, error=error, **columns)
    for artifact in imported:
        _set_graph_state(stores, artifact.reference, GraphState.LOADING)


def _set_graph_state(stores: Stores, reference: Reference, state: GraphState) -> None:
    writer.set_state(stores.graph, LABEL_OF[reference.kind], reference.id, state)


def _rejected(different: Sequence[ImportedArtifact], hint: str) -> RejectedError:
    described = "; ".join(str(artifact) for artifact in different[:_DESCRIBED])
    if len(different) > _DESCRIBED:
        described += f"; and {len(different) - _DESCRIBED} more"
    return RejectedError(f"the import differs from {described}", hint=hint)
