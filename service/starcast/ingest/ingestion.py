"""Ingest artifacts into both stores, and drop (delete) them.

Ingests and drops use Bolt or an offline import, whichever is faster. Deleting the rows of S10 takes
minutes and does not make Neo4j's files smaller. A large artifact is therefore dropped from the
embedded Neo4j by importing all other artifacts into a new store.
"""

import shlex
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np

from starcast.catalogue.plugins import find_changed
from starcast.collectives import Schedule
from starcast.ingest.artifacts import Artifact, recorded_artifact, recorded_artifacts
from starcast.ingest.both_stores import (
    LoadState,
    Stores,
    draw_key_numbers,
    lock_stores,
    read_state,
)
from starcast.ingest.loaders import Loader, choose_loader
from starcast.ingest.loading import (
    RECOVERABLE,
    Loaded,
    OnStage,
    find_dependents,
    ignore_stage,
    recover,
)
from starcast.ingest.planning import Plan, choose_deletion, choose_method
from starcast.stores.database import models, repository
from starcast.stores.database.networks import check_network
from starcast.stores.database.repository import find_artifact
from starcast.stores.graph import audit
from starcast.support.errors import LimitError, RejectedError
from starcast.support.progress import Reporter, Silent
from starcast.support.text import pluralize
from starcast.support.vocabulary import LoadMethod


@dataclass(frozen=True, repr=False)
class Summary:
    """Result of an ingest.

    Attributes:
        created: artifacts that were stored.
        present: ids of artifacts that were already stored.
        recovered: ids of incomplete artifacts, left by earlier commands, that were deleted.
        seconds: duration of the ingest.
        outdated: ids of artifacts in ``present`` that were built by another version of a plug-in.
    """

    created: list[Loaded]
    present: list[str]
    recovered: list[str]
    seconds: float = field(compare=False)
    outdated: list[str] = field(default_factory=list)

    @property
    def rows(self) -> int:
        """Total number of nodes and relationships that were created."""
        return sum(loaded.nodes + loaded.relationships for loaded in self.created)

    def __repr__(self) -> str:
        return f"<Summary: {self}>"

    def __str__(self) -> str:
        present = len(self.present)
        outdated = len(self.outdated)
        note = f", {outdated} of them built by another version of a plug-in" if outdated else ""
        if not self.created:
            return f"nothing to create: {present} of {present} are already stored{note}"
        rate = self.rows / max(sum(loaded.seconds for loaded in self.created), 1e-9)
        already = f", {present} already stored{note}" if present else ""
        return (
            f"created {len(self.created)}{already}: {self.rows:,} rows in {self.seconds:.1f} s, "
            f"{rate:,.0f} rows/s including verification"
        )


def ingest(
    stores: Stores,
    plan: Plan,
    wait: bool = False,
    reporter: Reporter | None = None,
    on_stage: OnStage = ignore_stage,
    method: LoadMethod = LoadMethod.AUTO,
) -> Summary:
    """Build, verify and store the artifacts of a plan that are not stored yet.

    Args:
        stores: both stores, open.
        plan: the requested artifacts; only those that are not stored are built.
        wait: wait for other processes instead of raising BusyError.
        reporter: receives progress messages.
        on_stage: called after each stage (`loading.STAGES`, `offline.STAGES`); tests use it to
            interrupt the ingest.
        method: the load method; ``auto`` lets `choose_method` choose the faster method.

    Raises:
        BusyError: another process is changing the stores.
        UnavailableError: a server stopped, or the graph belongs to another database or program, or
            to another version of starcast; artifacts that are already complete are kept.
        RejectedError: a verification failed; artifacts that are already complete are kept, but the
            rejected artifact is not stored. Or a user's forest has the id of a stored forest with
            different trees, or another network with the same spec is stored; nothing was written.
        LimitError: the artifacts exceed the limits on rows or the free disk space; nothing was
            written.
        InputError: an import is requested, but Neo4j is not the embedded server.
    """
    listener = reporter or Silent()
    began = time.monotonic()
    with lock_stores(stores, wait, listener, f"ingesting {plan.artifacts[0].id}") as locked:
        audit.pair(locked.graph, locked.id)
        recovered = [artifact.id for artifact in recover(locked, listener)]
        with locked.session() as session:
            stored = recorded_artifacts(session)
            check_network(session, plan.artifacts[0].id)
        _refuse_other_trees(locked, plan)
        missing = [artifact for artifact in plan.artifacts if artifact not in stored]
        present = [artifact for artifact in stored if artifact in plan.artifacts]
        outdated = _find_outdated(present, listener)
        _refuse_changed(locked, [each for each in plan.artifacts if each in outdated], missing)
        with locked.session() as session:
            draw_key_numbers(session, (each.topology for each in missing))
        created: list[Loaded] = []
        if missing:
            loader = choose_loader(choose_method, locked, method, missing, stored, listener)
            loader.check([*stored, *missing])
            listener.say(loader.reason)
            created = loader.load(missing, on_stage)
    present_ids = [artifact.id for artifact in plan.artifacts if artifact in stored]
    outdated_ids = [artifact.id for artifact in outdated]
    return Summary(created, present_ids, recovered, time.monotonic() - began, outdated_ids)


def _find_outdated(present: Iterable[Artifact], reporter: Reporter) -> list[Artifact]:
    """Report artifacts that another version of a plug-in has built, and return them."""
    outdated = {each: names for each in present if (names := find_changed(each.plugins))}
    for artifact, names in outdated.items():
        plugins = " and ".join(f"'{name}'" for name in names)
        reporter.say(
            f"{artifact.id} was built by another version of the plug-in of {plugins}; to compare "
            f"it, run: starcast graph verify {shlex.quote(artifact.id)}; to build it again, run: "
            f"{artifact.renewal}"
        )
    return list(outdated)


def _refuse_changed(
    stores: Stores, outdated: Iterable[Artifact], missing: Iterable[Artifact]
) -> None:
    """Check that changed plug-ins still build the stored artifacts on which new artifacts depend.

    Args:
        stores: both stores, locked.
        outdated: the stored artifacts of the plan whose plug-in has changed.
        missing: the artifacts of the plan that are not stored.

    Raises:
        RejectedError: the plug-in now builds other rows for the topology of a new artifact, or for
            the forest of a new schedule.
    """
    for artifact in outdated:
        if not any(_is_used(artifact, each) for each in missing):
            continue
        graph = artifact.build_again().graph
        with stores.session() as session:
            is_equal = artifact.matches_record(session, graph)
        if not is_equal:
            raise RejectedError(
                f"the {artifact.kind} {artifact.id} that the plug-in now builds differs from the"
                f" stored {artifact.kind}",
                hint="load the version of the plug-in that built it, or build it again: "
                f"{artifact.renewal}",
            )


def _is_used(artifact: Artifact, new: Artifact) -> bool:
    """Return whether ``new`` depends on ``artifact``, a stored artifact of the same plan."""
    if artifact.kind != "forest" or new.kind != "schedule":
        return artifact.kind == "topology"
    built = new.structure()
    return isinstance(built, Schedule) and built.forest_id == artifact.id


def _refuse_other_trees(stores: Stores, plan: Plan) -> None:
    """Check that no user's forest has the id of a stored forest with different trees.

    Raises:
        RejectedError: a forest differs from the stored forest with the same id.
    """
    # Only forests of users are compared, because the id of any other forest determines its trees.
    for artifact_id, forest in plan.forests.items():
        with stores.session() as session:
            row = session.get(models.Materialization, ("forest", artifact_id))
            # A forest that is neither complete nor recoverable is replaced.
            if row is None or not (row.state == LoadState.COMPLETE or row.error in RECOVERABLE):
                continue
            stored = repository.load_forest(session, artifact_id)
        if not np.array_equal(stored.parent_port, forest.parent_port):
            raise RejectedError(
                f"a forest with the id {artifact_id} but different trees is already stored",
                hint="rename the forest, or drop the stored forest: starcast forest drop "
                f"'{artifact_id}'",
            )


def drop(
    stores: Stores,
    kind: str,
    artifact_id: str,
    cascade: bool = False,
    wait: bool = False,
    reporter: Reporter | None = None,
    method: LoadMethod = LoadMethod.AUTO,
    on_stage: Callable[[str], None] = ignore_stage,
) -> list[str]:
    """Delete an artifact from both stores.

    Args:
        stores: both stores, open. After an import, the connection to Neo4j might be invalid,
            because the server might use another port.
        kind: topology, forest or schedule.
        artifact_id: the artifact's id.
        cascade: also delete the artifacts that depend on the artifact.
        wait: wait for other processes instead of raising BusyError.
        reporter: receives progress messages, including the method and its estimated time.
        method: ``bolt`` deletes in transactions of limited size, ``import`` imports the remaining
            artifacts into a new store, and ``auto`` uses the faster method if both are possible.
        on_stage: called after each stage of an import; tests use it to interrupt the import.

    Returns:
        The ids of the deleted artifacts.

    Raises:
        NotFoundError: the artifact is not stored.
        RejectedError: other artifacts depend on the artifact, and ``cascade`` is False; or an
            import was requested that would delete data of other programs.
        BusyError: another process is changing the stores.
        InputError: an import is requested, but Neo4j is not the embedded server.
        LimitError: an import was requested that exceeds the limits on rows or the free disk space.
    """
    listener = reporter or Silent()
    with lock_stores(stores, wait, listener, f"dropping {artifact_id}") as locked:
        audit.pair(locked.graph, locked.id)
        with locked.session() as session:
            target = recorded_artifact(find_artifact(session, kind, artifact_id))
            requested = {target, *find_dependents(session, target)}
        recovered = recover(locked, listener)
        with locked.session() as session:
            if read_state(session, kind, artifact_id) is None:
                # An interrupted ingest or drop had left the artifact incomplete, so `recover`
                # deleted it.
                return [each.id for each in recovered if each in requested]
            dependents = find_dependents(session, target)
        if dependents and not cascade:
            more = f" and {len(dependents) - 5} more" if len(dependents) > 5 else ""
            listed = ", ".join(artifact.id for artifact in dependents[:5])
            raise RejectedError(
                f"{artifact_id} cannot be dropped because artifacts depend on it: {listed}{more}",
                hint="drop these artifacts first, or add `cascade`",
            )
        # Dependents are dropped first, so that an interruption leaves no schedule without its
        # forest, and no forest without its topology.
        dropped = [*dependents, target]
        loader = _choose_deletion(locked, dropped, method, listener)
        listener.say(f"dropping {pluralize(len(dropped), 'artifact')}: {loader.reason}")
        loader.delete(dropped, on_stage)
    return [artifact.id for artifact in dropped]


def _choose_deletion(
    stores: Stores, dropped: Sequence[Artifact], requested: LoadMethod, reporter: Reporter
) -> Loader:
    """Choose the loader for a drop; ``auto`` deletes over Bolt if an import is impossible."""
    with stores.session() as session:
        remaining = [each for each in recorded_artifacts(session) if each not in dropped]
    loader = choose_loader(choose_deletion, stores, requested, dropped, remaining, reporter)
    try:
        loader.check(remaining)
    # With `auto`, the import was chosen only because it is faster, so Bolt is used instead.
    except (RejectedError, LimitError):
        if requested is LoadMethod.IMPORT:
            raise
        bolt = LoadMethod.BOLT
        return choose_loader(choose_deletion, stores, bolt, dropped, remaining, reporter)
    return loader
