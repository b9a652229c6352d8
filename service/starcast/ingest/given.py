"""Requests with forests that the caller gives, and with artifacts that are named by their ids."""

from collections.abc import Iterable

import numpy as np
from sqlalchemy.orm import Session

from starcast.database import models, repository
from starcast.errors import InputError, RejectedError
from starcast.ingest.artifacts import (
    Artifact,
    ForestArtifact,
    ScheduleArtifact,
    artifact_from_id,
)
from starcast.ingest.planning import IngestRequest, Plan
from starcast.trees import Forest, forest
from starcast.trees.catalogue import find_difference
from starcast.trees.model import UNNAMED
from starcast.trees.spec_syntax import normalize_id, parse_spec

_COLONS_OF_FOREST = 2


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
    added = [artifact for each in given for artifact in _artifacts(session, each)]
    for artifact in added:
        if artifact.topology.spec != spec:
            raise InputError(
                f"{artifact.id} is on {artifact.topology.spec}, not on {spec}",
                hint=f"ingest it with {artifact.topology.spec}",
            )
    artifacts = {artifact.id: artifact for artifact in (*plan.artifacts, *added)}
    order = sorted(artifacts.values(), key=lambda artifact: models.KINDS.index(artifact.kind))
    return Plan(tuple(order), plan.skipped)


def _artifacts(session: Session, given: Forest | str) -> list[Artifact]:
    """Return the artifact that is given, after the forest of a schedule."""
    if isinstance(given, Forest):
        check_given(session, given)
        return [ForestArtifact(given)]
    kind = "forest" if given.count(":") == _COLONS_OF_FOREST else "schedule"
    artifact = artifact_from_id(session, kind, normalize_id(given))
    if not isinstance(artifact, ScheduleArtifact):
        return [artifact]
    topology = artifact.topology
    used = artifact.algorithm.forest_construction(topology, artifact.ports, artifact.arguments)
    if used is None:
        return [artifact]
    name, arguments = parse_spec(used)
    return [ForestArtifact(forest(topology, name, artifact.root, **arguments)), artifact]


def check_given(session: Session, given: Forest) -> None:
    """Check that a forest can be stored under its id.

    Raises:
        InputError: it has no name, or the name of a construction that builds other trees.
        RejectedError: another forest is stored under its id.
    """
    if given.construction == UNNAMED:
        raise InputError(
            f"the forest on {given.topology.spec} has no name to be stored under",
            hint="give it one: Forest(..., construction='mine')",
        )
    difference = find_difference(given)
    if difference:
        raise InputError(
            f"the forest is named {given.id} but holds other trees: {difference}",
            hint="give it a name of its own: Forest(..., construction='mine')",
        )
    if session.get(models.Forest, given.id) is None:
        return
    stored = repository.load_forest(session, given.id)
    if not np.array_equal(stored.parent_port, given.parent_port):
        raise RejectedError(
            f"another forest is stored as {given.id}",
            hint=f"drop it with 'starcast forest drop {given.id}', or choose another name",
        )
