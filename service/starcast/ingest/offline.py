"""Offline imports: recreate the entire store of the embedded Neo4j.

The graph in Neo4j is derived data: PostgreSQL records which artifacts the graph has, and each
artifact can be built again. An import therefore writes all artifacts to files, creates a new store
from the files next to the old store (`starcast.embedded.rebuild`), and replaces the old store only
after checking the new store.
The check compares the total numbers of nodes and relationships, and all data at a sample of nodes.
After an interruption at any point, either the old store or the checked new store is in use. If
PostgreSQL's records do not match the store in use, `starcast.ingest.loading.recover` cleans up.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress

from starcast.embedded import system
from starcast.embedded.rebuild import rebuild_store
from starcast.ingest.artifacts import Artifact, Built, recorded_artifacts, stored_artifacts
from starcast.ingest.both_stores import (
    FOUND_COLUMNS,
    LoadState,
    Stores,
    set_columns,
    set_state,
)
from starcast.ingest.loading import (
    BUILD_STAGES,
    Loaded,
    OnStage,
    build_and_save,
    cleanup_on_error,
    forget,
)
from starcast.ingest.planning import Estimate
from starcast.ingest.verification import Sample, compare_counts
from starcast.stores.database import models
from starcast.stores.graph import bulk_files, writer
from starcast.stores.graph.artifacts import GraphArtifact
from starcast.stores.graph.connection import Graph
from starcast.support.errors import RejectedError, StarcastError
from starcast.support.progress import Reporter
from starcast.support.settings import Settings
from starcast.support.text import pluralize
from starcast.support.vocabulary import LoadMethod

#: The stages of an import, in order. The first three occur once per new artifact, the others once
#: per import.
STAGES = (*BUILD_STAGES, "written", "imported", "started", "compared", "changed", "complete")

#: Maximum number of differences that an error message describes.
_DESCRIBED = 5


def import_all(
    stores: Stores,
    settings: Settings,
    new: Sequence[Artifact],
    reporter: Reporter,
    on_stage: OnStage,
) -> list[Loaded]:
    """Replace Neo4j's store with a new store of all complete artifacts and the new artifacts.

    Without new artifacts, the import rebuilds the store. The stores must be locked. During part of
    the import, Neo4j is not available. The caller checks the disk space.

    Args:
        stores: both stores, with the embedded Neo4j. Afterwards, the connection to Neo4j might be
            invalid, because the server might use another port.
        settings: the settings of the embedded Neo4j.
        new: artifacts that are absent or failed, in build order.
        reporter: receives progress messages.
        on_stage: called after each of `STAGES` with the stage and an artifact: the new artifact or,
            for a stage of the entire import, the first imported artifact.

    Returns:
        The new artifacts, each with its share of the import's duration.

    Raises:
        LimitError: the disk fills up; the old store stays in use.
        RejectedError: a verification failed; the old store stays in use, and nothing new is stored.
        UnavailableError: a server stopped.
    """
    began = time.monotonic()
    with stores.session() as session:
        old = stored_artifacts(session)
    everything = [*old, *new]

    def accept() -> AbstractContextManager[None]:
        checksums = {each: one.graph.content.checksum for each, one in built.items()}
        return _changed_states(stores, LoadState.COMPLETE, checksums)

    def at_stage(stage: str) -> None:
        on_stage(stage, everything[0])

    with cleanup_on_error(stores, new, reporter):
        built = {each: build_and_save(stores, LoadMethod.IMPORT, each, on_stage) for each in new}
        task = f"importing {everything[-1].spec}"
        _import(stores, settings, old, built, accept, task, reporter, at_stage)
    return share_seconds([one.artifact for one in built.values()], time.monotonic() - began)


def import_remaining(
    stores: Stores,
    settings: Settings,
    dropped: Sequence[Artifact],
    reporter: Reporter,
    on_stage: Callable[[str], None],
) -> None:
    """Drop artifacts: replace Neo4j's store with a new store of all other complete artifacts.

    Just before the new store replaces the old one, PostgreSQL records that the drop has begun.
    After an interruption, either all dropped artifacts are still complete, or the next command
    finishes the drop. The caller checks the disk space.

    Args:
        stores: both stores, with the embedded Neo4j, which might use another port afterwards.
        settings: the settings of the embedded Neo4j.
        dropped: the artifacts to drop and their dependents, in deletion order.
        reporter: receives progress messages.
        on_stage: called after ``written`` and each later stage of `STAGES`, and after ``marked``,
            when PostgreSQL has recorded that the drop began.

    Raises:
        LimitError: the disk fills up; nothing was dropped.
        RejectedError: a verification failed; nothing was dropped.
        UnavailableError: a server stopped.
    """
    with stores.session() as session:
        remaining = stored_artifacts(session, dropped)

    @contextmanager
    def mark() -> Iterator[None]:
        with stores.session() as session:
            complete = [each for each in recorded_artifacts(session) if each in dropped]
        # If this process is killed after this change, the next command finishes the drop.
        with _changed_states(stores, LoadState.LOADING, dict.fromkeys(complete)):
            on_stage("marked")
            yield

    task = f"dropping {dropped[-1].id}"
    _import(stores, settings, remaining, {}, mark, task, reporter, on_stage)
    with stores.session() as session:
        for artifact in dropped:
            forget(session, artifact)


def check_space(settings: Settings, artifacts: Iterable[Artifact]) -> None:
    """Check that the disk has enough free space for an import of artifacts.

    Raises:
        LimitError: the disk has too little free space.
    """
    size = Estimate.of(artifacts)
    purpose = f"an import of {size}, with its files and the new store,"
    system.require_space(settings.home, size.import_bytes // system.MB, purpose)


def _import(
    stores: Stores,
    settings: Settings,
    old: Sequence[Artifact],
    new: Mapping[Artifact, Built],
    accept: Callable[[], AbstractContextManager[None]],
    task: str,
    reporter: Reporter,
    on_stage: Callable[[str], None],
) -> None:
    """Write the artifacts to files, import the files into a new store, and replace the old store.

    The new store is compared with the built artifacts before it replaces the old store.

    Args:
        stores: both stores, with the embedded Neo4j.
        settings: the settings of the embedded Neo4j.
        old: stored artifacts, which are built again one at a time.
        new: new artifacts, already built and saved to PostgreSQL.
        accept: function that returns the context manager in which the old store is replaced. The
            context manager records the change in PostgreSQL, and after an error undoes the record.
        task: activity shown to other processes.
        reporter: receives progress messages.
        on_stage: called after the stage ``written``, and after each later stage.
    """
    sample = Sample()
    # Stored artifacts that are now built with different rows, because another version of starcast
    # or of a plug-in built the stored rows.
    changed: dict[Artifact, Built] = {}
    # The stored artifacts with the numbers of rows that were built.
    rebuilt: list[Artifact] = []

    def build() -> Iterator[GraphArtifact]:
        for artifact in old:
            built = artifact.build_again()
            with stores.session() as session:
                if not artifact.matches_record(session, built.graph):
                    changed[artifact] = built
            rebuilt.append(built.artifact)
            sample.add(built.graph)
            yield built.graph
        for built in new.values():
            sample.add(built.graph)
            yield built.graph

    def compute_contents() -> None:
        for artifact, built in new.items():
            artifact.content_of(built.graph)

    with rebuild_store(settings, reporter, task) as work:
        artifacts = [*old, *new]
        rows = sum(artifact.rows for artifact in artifacts)
        reporter.say(f"writing the import files of {pluralize(len(artifacts), 'artifact')}")
        written = bulk_files.write(work.folder, stores.id, build(), rows, reporter)
        on_stage("written")
        reporter.say(
            f"importing {written.nodes:,} nodes and {written.relationships:,} relationships, "
            f"{written.bytes / system.MB:,.0f} MB"
        )
        with ThreadPoolExecutor(1) as pool:
            # Counts and checksums of new artifacts are computed while neo4j-admin runs, because
            # neo4j-admin sometimes leaves a processor idle. The artifacts cache the results.
            contents = pool.submit(compute_contents)
            work.load([*bulk_files.OPTIONS, *written.arguments])
            contents.result()
        on_stage("imported")
        address = work.start()
        on_stage("started")
        reporter.say("comparing the imported rows with newly built artifacts")
        with Graph.open(address) as graph:
            with graph.concurrent(1) as pool:
                constraints = pool.submit(writer.create_constraints, graph)
                # Neo4j keeps the counts in its statistics, and finds nodes by internal ids without
                # an index. So both can be compared while the constraints are being created.
                problems = [
                    *compare_counts(graph, [*rebuilt, *(one.artifact for one in new.values())]),
                    *sample.compare(graph, written.first_ids),
                ]
                constraints.result()
            # Indexes are filled in the background while the store is already in use, because
            # waiting for them would take as long as the comparison. Until they are filled, queries
            # scan the store.
            writer.create_indexes(graph)
        if problems:
            described = "; ".join(f"{one.artifact}: {one.problem}" for one in problems[:_DESCRIBED])
            more = len(problems) - _DESCRIBED
            raise RejectedError(
                f"the imported store differs from the built artifacts: {described}"
                + (f"; and {more} more" if more > 0 else ""),
                hint="try again: another program may have changed the graph; the old store stays "
                "in use",
            )
        on_stage("compared")
        _record(stores, rebuilt, changed)
        with accept():
            work.commit()
        on_stage("changed")
    on_stage("complete")


@contextmanager
def _changed_states(
    stores: Stores, state: LoadState, checksums: Mapping[Artifact, str | None]
) -> Iterator[None]:
    """Change the states of artifacts; after an error in the context, undo the change.

    Args:
        stores: both stores, locked.
        state: the new state: complete or loading.
        checksums: the artifacts with their new checksums; None keeps the recorded checksum.
    """
    before: dict[Artifact, tuple[LoadState, str | None]] = {}
    with stores.session() as session:
        for artifact, checksum in checksums.items():
            row = session.get_one(models.Materialization, (artifact.kind, artifact.id))
            before[artifact] = (LoadState(row.state), row.error)
            values = {"expected_checksum": checksum or row.expected_checksum}
            set_state(session, artifact.kind, artifact.id, state, **values)
    try:
        yield
    except BaseException:
        # If PostgreSQL fails as well, only the first error is reported.
        with suppress(StarcastError), stores.session() as session:
            for artifact, (previous, error) in before.items():
                set_state(session, artifact.kind, artifact.id, previous, error=error)
        raise


def _record(stores: Stores, rebuilt: Sequence[Artifact], changed: Mapping[Artifact, Built]) -> None:
    """Record the import in PostgreSQL, and save the artifacts whose rows differ from before."""
    method = LoadMethod.IMPORT.value
    # An import compares only a sample, so the columns for a complete comparison stay empty.
    unread = dict.fromkeys(FOUND_COLUMNS)
    with stores.session() as session:
        for artifact in rebuilt:
            values = {"method": method, **artifact.counts, **unread}
            set_columns(session, artifact.kind, artifact.id, **values)
        for artifact, built in changed.items():
            values = {
                "expected_checksum": built.graph.content.checksum,
                "plugins": artifact.plugins,
            }
            set_columns(session, artifact.kind, artifact.id, **values)
            built.save(session)


def share_seconds(artifacts: Sequence[Artifact], seconds: float) -> list[Loaded]:
    """Return the artifacts, each with a share of an import's seconds in proportion to its rows."""
    total = max(1, sum(artifact.rows for artifact in artifacts))
    return [
        Loaded(each.kind, each.id, each.nodes, each.relationships, seconds * each.rows / total)
        for each in artifacts
    ]
