"""Dropping artifacts from both stores, by deletion or by importing the remaining artifacts.

Deleting the rows of S10 takes minutes and does not make Neo4j's files smaller. If importing all
other artifacts into a new store of the embedded Neo4j is faster, that is done instead.
"""

from collections.abc import Callable, Sequence

from starcast.ingest.artifacts import Artifact, recorded_artifact, recorded_artifacts
from starcast.ingest.load_methods import ChosenMethod, choose_deletion
from starcast.ingest.loading import discard, find_dependents, recover
from starcast.ingest.offline import check_space, import_remaining
from starcast.ingest.stores import Stores, delete_row, lock_stores
from starcast.stores.database.artifact_rows import find
from starcast.stores.graph import audit, ownership
from starcast.support.errors import LimitError, RejectedError
from starcast.support.progress import Reporter, Silent
from starcast.support.text import pluralize
from starcast.support.vocabulary import LoadMethod


def _ignore_stage(stage: str) -> None:
    pass


def drop(
    stores: Stores,
    kind: str,
    artifact_id: str,
    cascade: bool = False,
    wait: bool = False,
    reporter: Reporter | None = None,
    method: LoadMethod = LoadMethod.AUTO,
    on_stage: Callable[[str], None] = _ignore_stage,
) -> list[str]:
    """Delete an artifact from both stores.

    Args:
        stores: both stores, open. After an import, the connection to the graph is useless if the
            server had to choose another port.
        kind: topology, forest or schedule.
        artifact_id: the artifact's id.
        cascade: also delete the artifacts that depend on it.
        wait: wait for other processes instead of raising BusyError.
        reporter: receives progress messages, first the method with an estimate.
        method: ``bolt`` deletes in transactions of bounded size, ``import`` imports the remaining
            artifacts into a new store, and ``auto`` takes the faster of those that are possible.
        on_stage: called after each stage of an import; tests use it to interrupt the import.

    Returns:
        The ids of the deleted artifacts.

    Raises:
        NotFoundError: the artifact is not stored.
        RejectedError: other artifacts depend on it, and ``cascade`` is False; or an import was
            requested that would delete other data.
        BusyError: another process is changing the stores.
        InputError: an import was requested for a server that is not the embedded one.
        LimitError: an import was requested that exceeds the limits or the disk.
    """
    listener = reporter or Silent()
    with lock_stores(stores, wait, listener, f"dropping {artifact_id}") as locked:
        ownership.claim(locked.graph, locked.id)
        recover(locked, listener)
        with locked.session() as session:
            target = recorded_artifact(find(session, kind, artifact_id))
            dependents = find_dependents(session, target)
        if dependents and not cascade:
            raise RejectedError(
                f"{artifact_id} has dependents: {_format_ids(dependents)}",
                hint="drop them first, or add --cascade",
            )
        # Dependents are dropped first, so an interruption leaves no artifact without its parent.
        dropped = [*dependents, target]
        chosen = _choose(locked, dropped, method)
        listener.say(f"dropping {pluralize(len(dropped), 'artifact')}: {chosen.reason}")
        if chosen.method is LoadMethod.IMPORT:
            import_remaining(locked, dropped, listener, on_stage)
        for artifact in dropped:
            if chosen.method is LoadMethod.BOLT:
                _delete(locked, artifact, listener)
            listener.say(f"{artifact.kind} {artifact.id}: dropped")
    return [artifact.id for artifact in dropped]


def _format_ids(artifacts: Sequence[Artifact]) -> str:
    shown = ", ".join(artifact.id for artifact in artifacts[:5])
    return shown if len(artifacts) <= 5 else f"{shown} and {len(artifacts) - 5} more"


def _choose(stores: Stores, dropped: Sequence[Artifact], requested: LoadMethod) -> ChosenMethod:
    """Choose the method; ``auto`` deletes over Bolt if an import is impossible."""
    with stores.session() as session:
        remaining = [each for each in recorded_artifacts(session) if each not in dropped]
    embedded = stores.embedded
    chosen = choose_deletion(requested, dropped, remaining, embedded is not None)
    if chosen.method is LoadMethod.BOLT or embedded is None:
        return chosen
    try:
        refuse_import_losses(stores)
        check_space(embedded, remaining)
    # An import would only be faster, so the drop continues over Bolt if an import is not possible.
    except (RejectedError, LimitError):
        if requested is LoadMethod.IMPORT:
            raise
        return choose_deletion(LoadMethod.BOLT, dropped, remaining, embedded=True)
    return chosen


def _delete(stores: Stores, artifact: Artifact, reporter: Reporter) -> None:
    discard(stores, artifact, None, reporter)
    with stores.session() as session:
        delete_row(session, artifact.kind, artifact.id)


def refuse_import_losses(stores: Stores) -> None:
    """Check that the graph holds no data of other programs, since an import replaces the store.

    Raises:
        RejectedError: the graph holds data of other programs.
    """
    nodes, relationships = audit.describe_losses(stores.graph, None)
    if nodes or relationships:
        raise RejectedError(
            "an offline import would delete data of other programs: "
            + ", ".join([*nodes, *relationships]),
            hint="move these data to another Neo4j database, or add --method bolt",
        )
