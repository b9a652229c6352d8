"""Requests with forests that the caller gives, and with artifacts that are named by their ids."""

from collections.abc import Iterable

import numpy as np
from sqlalchemy.orm import Session

from starcast.database import models, repository
from starcast.errors import InputError, RejectedError
from starcast.ingest.artifacts import Artifact, ForestArtifact, artifact_from_id
from starcast.ingest.planning import IngestRequest, Plan
from starcast.trees import Forest
from starcast.trees.catalogue import find_difference
from starcast.trees.model import UNNAMED
from starcast.trees.spec_syntax import normalize_id

_FOREST, _SCHEDULE = 2, 5  # colons in their ids


def add_given(session: Session, request: IngestRequest, given: Iterable[Forest | str]) -> Plan:
    """Return the plan of a request with further forests and schedules on its topology.

    Args:
        session: the relational store, with the forests that are stored already.
        request: the named constructions and algorithms.
        given: forests, and ids of forests and schedules.

    Raises:
        InputError: an artifact is not on the topology of the request, an id is not valid, or a
            forest has no name, or the name of a construction that builds other trees.
        RejectedError: another forest is stored under the id of a forest.
    """
    plan = request.plan()
    spec = request.topology.spec
    added = [_artifact(session, each) for each in given]
    for artifact in added:
        if artifact.topology.spec != spec:
            raise InputError(
                f"{artifact.id} is on {artifact.topology.spec}, not on {spec}",
                hint=f"ingest it with {artifact.topology.spec}",
            )
    artifacts = {artifact.id: artifact for artifact in (*plan.artifacts, *added)}
    order = sorted(artifacts.values(), key=lambda artifact: models.KINDS.index(artifact.kind))
    return Plan(tuple(order), plan.skipped)


def _artifact(session: Session, given: Forest | str) -> Artifact:
    if isinstance(given, Forest):
        check_given(session, given)
        return ForestArtifact(given)
    kind = "forest" if given.count(":") == _FOREST else "schedule"
    return artifact_from_id(session, kind, normalize_id(given))


def check_given(session: Session, forest: Forest) -> None:
    """Check that a forest can be stored under its id.

    Raises:
        InputError: it has no name, or the name of a construction that builds other trees.
        RejectedError: another forest is stored under its id.
    """
    if forest.construction == UNNAMED:
        raise InputError(
            f"the forest on {forest.topology.spec} has no name to be stored under",
            hint="give it one: Forest(..., construction='mine')",
        )
    difference = find_difference(forest)
    if difference:
        raise InputError(
            f"the forest is named {forest.id} but holds other trees: {difference}",
            hint="give it a name of its own: Forest(..., construction='mine')",
        )
    if session.get(models.Forest, forest.id) is None:
        return
    stored = repository.load_forest(session, forest.id)
    if not np.array_equal(stored.parent_port, forest.parent_port):
        raise RejectedError(
            f"another forest is stored as {forest.id}",
            hint=f"drop it with 'starcast forest drop {forest.id}', or choose another name",
        )
