"""Offline imports: recreate the entire store of the embedded Neo4j.

The graph is a materialization: PostgreSQL records its content, and every part can be built again.
An import therefore writes all artifacts to files, creates a new store from them next to the old one
(`starcast.embedded.rebuild`), and replaces the old store only after checking the new one: it
compares the total numbers of nodes and relationships, and everything at a sample of nodes. After an
interruption at any point, either the old store or the checked new store is in use. If PostgreSQL's
records do not match that store, `starcast.ingest.loading.recover` cleans up.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from starcast.embedded import files
from starcast.embedded.rebuild import rebuild_store
from starcast.ingest.artifacts import Artifact, Built, stored_artifacts
from starcast.ingest.load_methods import Estimate
from starcast.ingest.loading import Loaded, OnStage, build_and_save, cleanup_on_error, forget
from starcast.ingest.sample import Sample, compare_counts
from starcast.ingest.stores import LoadState, Stores, read_state, set_columns, set_state
from starcast.stores.database import models
from starcast.stores.graph import bulk_files, writer
from starcast.stores.graph.artifacts import GraphArtifact
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import INDEXES, NODE
from starcast.support.errors import InputError, RejectedError
from starcast.support.progress import Reporter
from starcast.support.settings import Settings
from starcast.support.vocabulary import LoadMethod

#: The stages of an import, in order. The first three occur once per new artifact, the others once.
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

#: Maximum number of problems described in an error.
_DESCRIBED = 5


def import_all(
    stores: Stores, new: Sequence[Artifact], reporter: Reporter, on_stage: OnStage
) -> list[Loaded]:
    """Recreate the graph store from all complete artifacts and from new artifacts.

    Without new artifacts this rebuilds the store. The stores must be locked. The server is
    unavailable for part of the time.

    Args:
        stores: both stores, with the embedded Neo4j. The connection to the graph is useless
            afterwards if the server had to choose another port.
        new: artifacts that are absent or failed, in build order.
        reporter: receives progress messages.
        on_stage: called after each of `STAGES` with the new artifact concerned, or with the first
            artifact for stages of the entire import.

    Returns:
        The new artifacts, each with its share of the time.

    Raises:
        InputError: the graph store is not the embedded Neo4j.
        LimitError: the disk is too small or fills up; the old store stays in use.
        RejectedError: a verification failed; the old store stays in use, and nothing new is stored.
        UnavailableError: a server stopped.
    """
    settings = _embedded_settings(stores)
    began = time.monotonic()
    with stores.session() as session:
        old = stored_artifacts(session)
    everything = [*old, *new]
    if not everything:
        return []
    check_space(settings, everything)

    def accept() -> None:
        with stores.session() as session:
            for artifact, graph in built.items():
                checksum = graph.content.checksum
                set_state(
                    session,
                    artifact.kind,
                    artifact.id,
                    LoadState.COMPLETE,
                    expected_checksum=checksum,
                )

    def at_stage(stage: str) -> None:
        on_stage(stage, everything[0])

    with cleanup_on_error(stores, new, reporter):
        method = LoadMethod.IMPORT
        built = {each: build_and_save(stores, method, each, on_stage) for each in new}
        work = _Import(stores, settings, reporter, at_stage, f"importing {everything[-1].spec}")
        work.run(old, built, accept)
    return share_seconds(new, time.monotonic() - began)


def import_remaining(
    stores: Stores,
    dropped: Sequence[Artifact],
    reporter: Reporter,
    on_stage: Callable[[str], None],
) -> None:
    """Drop artifacts by recreating the graph store from all other complete artifacts.

    Until the new store replaces the old one, the artifacts stay complete: after an interruption
    they are either all stored or all dropped. See `import_all` for the stores.

    Args:
        stores: both stores, with the embedded Neo4j.
        dropped: the artifacts to drop and all their dependents, in deletion order.
        reporter: receives progress messages.
        on_stage: called after each stage from ``written`` on, and after ``marked``.

    Raises:
        InputError: the graph store is not the embedded Neo4j.
        LimitError: the disk is too small or fills up; nothing was dropped.
        RejectedError: a verification failed; nothing was dropped.
        UnavailableError: a server stopped.
    """
    settings = _embedded_settings(stores)
    with stores.session() as session:
        remaining = stored_artifacts(session, dropped)
    check_space(settings, remaining)

    def mark() -> None:
        # From here on, the next command finishes the drop if this process is killed.
        with stores.session() as session:
            for artifact in dropped:
                if read_state(session, artifact.kind, artifact.id) is LoadState.COMPLETE:
                    set_state(session, artifact.kind, artifact.id, LoadState.LOADING)
        on_stage("marked")

    work = _Import(stores, settings, reporter, on_stage, f"dropping {dropped[-1].id}")
    work.run(remaining, {}, mark)
    with stores.session() as session:
        for artifact in dropped:
            forget(session, artifact)


def _embedded_settings(stores: Stores) -> Settings:
    if stores.embedded is None:
        raise InputError(
            "an offline import stops Neo4j and replaces its store, which starcast does only with "
            "the embedded Neo4j",
            hint="load over Bolt",
        )
    return stores.embedded


def check_space(settings: Settings, artifacts: Iterable[Artifact]) -> None:
    """Check that the disk has enough space for an import of artifacts.

    Raises:
        LimitError: the disk is too small.
    """
    size = Estimate.of(artifacts)
    purpose = (
        f"an import of {size.nodes:,} nodes and {size.relationships:,} relationships, with its "
        "files and the new store,"
    )
    files.require_space(settings.home, size.import_bytes // files.MB, purpose)


class _Import:
    """One import: its steps, and the sample of expected rows that they share."""

    def __init__(
        self,
        stores: Stores,
        settings: Settings,
        reporter: Reporter,
        on_stage: Callable[[str], None],
        task: str,
    ) -> None:
        self._stores = stores
        self._settings = settings
        self._reporter = reporter
        self._on_stage = on_stage
        self._task = task
        self._sample = Sample()
        self._changed: dict[Artifact, Built] = {}

    def run(
        self,
        old: Sequence[Artifact],
        new: Mapping[Artifact, GraphArtifact],
        accept: Callable[[], None],
    ) -> None:
        """Write and import the files, compare the new store, and replace the old store with it.

        Args:
            old: stored artifacts, which are built again one at a time.
            new: artifacts that are built and saved.
            accept: records the change in PostgreSQL, just before the new store is used.
        """
        with rebuild_store(self._settings, self._reporter, self._task) as work:
            self._reporter.say(f"writing the files of {len(old) + len(new)} artifacts")
            everything = self._expect(old, new.values())
            store = self._stores.id
            rows = sum(artifact.rows for artifact in (*old, *new))
            written = bulk_files.write(work.folder, store, everything, rows, self._reporter)
            self._on_stage("written")
            self._reporter.say(
                f"importing {written.nodes:,} nodes and {written.relationships:,} relationships, "
                f"{written.bytes / files.MB:,.0f} MB"
            )
            with ThreadPoolExecutor(1) as pool:
                # The tool leaves a processor idle at times, and numpy releases the GIL.
                sums = pool.submit(_compute_contents, new)
                work.load([*bulk_files.OPTIONS, *written.arguments])
                sums.result()
            self._on_stage("imported")
            address = work.start()
            self._on_stage("started")
            with Graph.open(address) as graph:
                self._compare(graph, [*old, *new], written.first_ids)
            self._on_stage("compared")
            self._record(old)
            accept()
            work.commit()
            self._on_stage("changed")
        self._on_stage("complete")

    def _expect(
        self, old: Iterable[Artifact], new: Iterable[GraphArtifact]
    ) -> Iterator[GraphArtifact]:
        """Yield the artifacts of the new store, and add each to the sample of expected rows."""
        for artifact in old:
            built = artifact.build()
            with self._stores.session() as session:
                row = session.get_one(models.Materialization, (artifact.kind, artifact.id))
                # A different version of starcast or of a plug-in can build different rows;
                # `_record` saves them.
                if row.expected_checksum != artifact.content_of(built.graph).checksum:
                    self._changed[artifact] = built
            self._sample.add(built.graph)
            yield built.graph
        for graph in new:
            self._sample.add(graph)
            yield graph

    def _compare(
        self, graph: Graph, artifacts: Sequence[Artifact], first_ids: Mapping[str, int]
    ) -> None:
        """Compare the new store with the built artifacts, and begin to create its indexes.

        Raises:
            RejectedError: the new store differs from the artifacts.
        """
        self._reporter.say("comparing the imported rows with newly built artifacts")
        # The constraint on the keys of nodes takes longest, so it is begun first.
        unique = [index for index in INDEXES if index.unique]
        constraints = sorted(unique, key=lambda index: index.element is not NODE)
        with graph.concurrent(2) as pool:
            created = [pool.submit(graph.write, each.statement) for each in constraints]
            # Neo4j keeps the counts as statistics, and finds nodes by id without an index, so both
            # can be compared while it creates the constraints.
            problems = [
                *compare_counts(graph, artifacts),
                *self._sample.compare(graph, first_ids),
            ]
            for constraint in created:
                constraint.result()
        # Indexes are filled in the background while the store is already in use, because waiting
        # for them took as long as the comparison. Until then, queries scan the store.
        writer.create_indexes(graph, unique=False)
        if problems:
            described = "; ".join(f"{one.artifact}: {one.problem}" for one in problems[:_DESCRIBED])
            more = len(problems) - _DESCRIBED
            raise RejectedError(
                f"the imported store differs from the built artifacts: {described}"
                + (f"; and {more} more" if more > 0 else ""),
                hint="try again; the old store stays in use, and another program may have changed "
                "the graph",
            )

    def _record(self, old: Sequence[Artifact]) -> None:
        """Record the import, and save artifacts that this version builds differently."""
        method = LoadMethod.IMPORT.value
        # An import compares only a sample, so the columns for a complete comparison stay empty.
        unread = dict.fromkeys(("found_nodes", "found_relationships", "found_checksum"))
        with self._stores.session() as session:
            for artifact in old:
                set_columns(session, artifact.kind, artifact.id, method=method, **unread)
            for artifact, (graph, save) in self._changed.items():
                set_columns(
                    session,
                    artifact.kind,
                    artifact.id,
                    expected_nodes=artifact.nodes,
                    expected_relationships=artifact.relationships,
                    expected_checksum=graph.content.checksum,
                    plugins=artifact.plugins,
                )
                save(session)


def _compute_contents(built: Mapping[Artifact, GraphArtifact]) -> None:
    """Compute the contents, which the artifacts keep, and check the planned sizes."""
    for artifact, graph in built.items():
        artifact.content_of(graph)


def share_seconds(artifacts: Sequence[Artifact], seconds: float) -> list[Loaded]:
    """Divide the seconds among the loaded artifacts in proportion to their rows."""
    total = max(1, sum(artifact.rows for artifact in artifacts))
    return [
        Loaded(each.kind, each.id, each.nodes, each.relationships, seconds * each.rows / total)
        for each in artifacts
    ]
