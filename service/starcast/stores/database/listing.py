"""Listings and descriptions of the stored artifacts, from the view `ARTIFACT`."""

from typing import Any

from sqlalchemy import RowMapping, column, select, table
from sqlalchemy.orm import Session

from starcast.stores.database import models
from starcast.stores.database.views import ARTIFACT
from starcast.support.errors import NotFoundError
from starcast.support.text import did_you_mean

Row = dict[str, Any]

_VIEW = table("artifact", *map(column, ARTIFACT.columns))
_COLUMNS = {
    "topology": ("family", "nodes", "links", "degree", "diameter"),
    "forest": ("topology", "construction", "root_label", "trees", "height", "congestion"),
    "schedule": (
        "topology",
        "collective",
        "algorithm",
        "ports",
        "arguments",
        "steps",
        "transmissions",
        "largest_packet",
    ),
}


def columns(kind: str) -> list[str]:
    """Return the column names for a listing of artifacts of this kind."""
    return ["id", *_COLUMNS[kind], "state", "error"]


def list_artifacts(session: Session, kind: str, spec: str | None = None) -> list[Row]:
    """List the recorded artifacts of a kind, complete or not, or only those on one topology."""
    query = select(_VIEW).where(_VIEW.c.kind == kind).order_by(_VIEW.c.id)
    if spec is not None:
        query = query.where(_VIEW.c.topology == spec)
    return [_describe(kind, row) for row in session.execute(query).mappings()]


def find(session: Session, kind: str, artifact_id: str) -> models.Materialization:
    """Return an artifact's row in the table ``materialization``.

    Raises:
        NotFoundError: the artifact has no row; the hint names a similar id.
    """
    row = session.get(models.Materialization, (kind, artifact_id))
    if row is None:
        query = select(models.Materialization.id).where(models.Materialization.kind == kind)
        suggestion = did_you_mean(artifact_id, session.scalars(query))
        raise NotFoundError(
            f"no {kind} '{artifact_id}' is stored", hint=f"{suggestion}see 'starcast {kind} list'"
        )
    return row


def find_kind(session: Session, artifact_id: str) -> str:
    """Return the kind of a recorded artifact: topology, forest or schedule.

    Raises:
        NotFoundError: the artifact is not recorded; the hint names a similar id.
    """
    query = select(models.Materialization.id, models.Materialization.kind)
    kinds = {row.id: row.kind for row in session.execute(query)}
    if artifact_id not in kinds:
        raise NotFoundError(
            f"no artifact '{artifact_id}' is stored",
            hint=f"{did_you_mean(artifact_id, kinds)}see 'starcast topology list'",
        )
    return str(kinds[artifact_id])


def describe_artifact(session: Session, kind: str, artifact_id: str) -> Row:
    """Return the recorded properties of an artifact, omitting those without a value.

    Raises:
        NotFoundError: the artifact is not recorded.
    """
    row = find(session, kind, artifact_id)
    query = select(_VIEW).where(_VIEW.c.kind == kind, _VIEW.c.id == artifact_id)
    values = _describe(kind, session.execute(query).mappings().one())
    if kind == "forest":
        values |= _describe_trees(session, artifact_id)
    values["method"] = row.method
    for name in (
        "expected_nodes",
        "expected_relationships",
        "expected_checksum",
        "found_checksum",
        "finished_at",
    ):
        values[name] = getattr(row, name)
    return {name: value for name, value in values.items() if value is not None}


def _describe(kind: str, row: RowMapping) -> Row:
    """Return an artifact's row of a listing; an artifact that was not saved has few values."""
    values = {name: row[name] for name in columns(kind)}
    if values.get("arguments"):
        arguments = sorted(values["arguments"].items())
        values["arguments"] = ",".join(f"{name}={value}" for name, value in arguments)
    return values


def _describe_trees(session: Session, forest_id: str) -> Row:
    if session.get(models.Forest, forest_id) is None:
        return {}
    # Imported only here, because a listing needs neither trees nor numpy.
    from starcast.stores.database.artifact_rows import load_forest  # noqa: PLC0415

    forest = load_forest(session, forest_id)
    return {
        "heights": forest.heights.tolist(),
        "leaves": forest.leaves.tolist(),
        "sizes": forest.sizes.tolist(),
        "links_by_load": forest.load_histogram(),
    }
