"""Loaders: classes that change the graph in Neo4j, over Bolt or by an offline import.

`choose_loader` chooses the loader for an ingest, a drop or a rebuild.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from starcast.ingest.artifacts import Artifact, recorded_artifacts
from starcast.ingest.both_stores import LoadState, Stores, read_state, set_state
from starcast.ingest.loading import (
    Loaded,
    OnStage,
    discard,
    forget,
    ignore_stage,
    load,
    recover,
)
from starcast.ingest.offline import check_space, import_all, import_remaining, share_seconds
from starcast.ingest.planning import ChosenMethod
from starcast.stores.database.backup import REBUILDING
from starcast.stores.graph import audit
from starcast.stores.graph.writer import (
    BoltWriter,
    delete_orphans,
    delete_outdated_nodes,
    refresh_plans,
)
from starcast.support.errors import RejectedError
from starcast.support.progress import Reporter
from starcast.support.settings import Settings
from starcast.support.text import pluralize
from starcast.support.vocabulary import LoadMethod


@dataclass(frozen=True)
class BoltLoader:
    """A loader that writes and deletes nodes and relationships while Neo4j is running.

    Attributes:
        stores: both stores, locked.
        reporter: receives progress messages.
        reason: why this loader was chosen, with an estimate of the time.
    """

    stores: Stores
    reporter: Reporter
    reason: str

    def check(self, artifacts: Sequence[Artifact]) -> None:
        """Do nothing: unlike an import, a load over Bolt keeps the data of other programs."""

    def load(self, artifacts: Sequence[Artifact], on_stage: OnStage) -> list[Loaded]:
        """Write artifacts, given in build order, one after the other to both stores.

        After an interruption, only the artifact that was being written is incomplete.
        """
        created = self._write(artifacts, on_stage)
        # Discard the query plans that the server cached while the graph was still nearly empty.
        refresh_plans(self.stores.graph)
        return created

    def delete(self, artifacts: Sequence[Artifact], on_stage: Callable[[str], None]) -> None:  # noqa: ARG002
        """Delete artifacts, given in deletion order, in transactions of limited size."""
        for artifact in artifacts:
            discard(self.stores, artifact, None, self.reporter)
            with self.stores.session() as session:
                forget(session, artifact)
            self.reporter.say(f"{artifact.kind} {artifact.id}: dropped")

    def rebuild(self, artifacts: Sequence[Artifact], *, is_outdated: bool) -> list[Loaded]:
        """Delete artifacts and orphaned data from Neo4j, and write the artifacts again.

        Orphaned data belong to artifacts that PostgreSQL does not record as complete.

        Args:
            artifacts: the artifacts in build order; all stored artifacts if the graph has an older
                schema.
            is_outdated: whether the graph has an older schema.
        """
        stores = self.stores
        for artifact in sorted(artifacts, key=lambda each: each.deletion_order):
            discard(stores, artifact, REBUILDING, self.reporter)
        recover(stores, self.reporter)
        with stores.session() as session:
            kept = {(artifact.kind, artifact.id) for artifact in recorded_artifacts(session)}
        if orphans := delete_orphans(stores.graph, kept, stores.batch):
            many = pluralize(orphans, "node or relationship", "nodes and relationships")
            self.reporter.say(f"deleted {many} of artifacts that do not exist")
        audit.drop_wrong_indexes(stores.graph)
        if is_outdated:
            delete_outdated_nodes(stores.graph)
            # The new schema version is recorded only after the deletion: if this rebuild is
            # interrupted before, the next rebuild must recreate everything.
            audit.record_owner(stores.graph, str(stores.id))
        return self._write(artifacts, ignore_stage, REBUILDING)

    def replaced_topologies(self, artifacts: Sequence[Artifact]) -> list[str] | None:
        """Return the specs of the topologies whose nodes a rebuild of the artifacts deletes.

        All relationships at these nodes are deleted too.
        """
        return [each.id for each in artifacts if each.nodes]

    def _write(
        self, artifacts: Sequence[Artifact], on_stage: OnStage, reason: str | None = None
    ) -> list[Loaded]:
        writer = BoltWriter(self.stores.graph, self.stores.batch)
        writer.prepare()
        return [
            load(self.stores, writer, artifact, self.reporter, on_stage, reason)
            for artifact in artifacts
        ]


@dataclass(frozen=True)
class ImportLoader:
    """A loader that replaces the store of the embedded Neo4j with a newly imported store.

    Attributes:
        stores: both stores, locked. After an import, the connection to the graph is invalid if the
            server had to choose another port.
        reporter: receives progress messages.
        reason: why this loader was chosen, with an estimate of the time.
        settings: the settings of the embedded Neo4j.
    """

    stores: Stores
    reporter: Reporter
    reason: str
    settings: Settings

    def check(self, artifacts: Sequence[Artifact]) -> None:
        """Check that a new store with the given artifacts may replace Neo4j's store.

        Raises:
            RejectedError: Neo4j contains data of other programs, which would be deleted.
            LimitError: the disk has too little free space.
        """
        _, lost = audit.describe_losses(self.stores.graph)
        if lost:
            raise RejectedError(
                f"an offline import would delete data of other programs: {', '.join(lost)}",
                hint="move these data to another Neo4j database, or use `method` bolt",
            )
        check_space(self.settings, artifacts)

    def load(self, artifacts: Sequence[Artifact], on_stage: OnStage) -> list[Loaded]:
        """Import the given artifacts and all stored artifacts into a new store."""
        return import_all(self.stores, self.settings, artifacts, self.reporter, on_stage)

    def delete(self, artifacts: Sequence[Artifact], on_stage: Callable[[str], None]) -> None:
        """Delete the given artifacts by importing all others into a new store."""
        import_remaining(self.stores, self.settings, artifacts, self.reporter, on_stage)
        for artifact in artifacts:
            self.reporter.say(f"{artifact.kind} {artifact.id}: dropped")

    def rebuild(self, artifacts: Sequence[Artifact], *, is_outdated: bool) -> list[Loaded]:  # noqa: ARG002
        """Replace Neo4j's store with a new store of all complete artifacts and the given artifacts.

        The given artifacts may be missing in Neo4j.
        """
        began = time.monotonic()
        with self.stores.session() as session:
            complete = recorded_artifacts(session)
            lost = [artifact for artifact in artifacts if artifact not in complete]
            # A killed rebuild over Bolt leaves artifacts in the state ``loading``. Their data in
            # Neo4j are replaced together with the old store.
            for artifact in lost:
                if read_state(session, artifact.kind, artifact.id) is not LoadState.FAILED:
                    set_state(session, artifact.kind, artifact.id, LoadState.FAILED)
        check_space(self.settings, [*complete, *lost])
        self.load(lost, ignore_stage)
        return share_seconds(artifacts, time.monotonic() - began)

    def replaced_topologies(self, artifacts: Sequence[Artifact]) -> list[str] | None:  # noqa: ARG002
        """Return None, because a rebuild replaces the entire store, not only some topologies."""
        return None


Loader = BoltLoader | ImportLoader
#: The type of `choose_method` and `choose_deletion` in `starcast.ingest.planning`.
Choose = Callable[[LoadMethod, Sequence[Artifact], Sequence[Artifact], bool], ChosenMethod]


def choose_loader(
    choose: Choose,
    stores: Stores,
    requested: LoadMethod,
    changed: Sequence[Artifact],
    others: Sequence[Artifact],
    reporter: Reporter,
) -> Loader:
    """Choose the loader for a change of the graph.

    Args:
        choose: function that chooses the load method: `choose_method` or `choose_deletion`.
        stores: both stores, locked.
        requested: the load method requested by the user.
        changed: the artifacts to load or to delete.
        others: all other complete artifacts.
        reporter: receives progress messages.

    Raises:
        InputError: an import is requested, but Neo4j is not the embedded server.
        LimitError: the artifacts have more rows than the load method allows.
    """
    settings = stores.embedded
    method, reason = choose(requested, changed, others, settings is not None)
    if method is LoadMethod.IMPORT and settings is not None:
        return ImportLoader(stores, reporter, reason, settings)
    return BoltLoader(stores, reporter, reason)
