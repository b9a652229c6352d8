"""What is stored, as rows to list and to show; and whether the graph still holds it."""

from difflib import get_close_matches
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from starcast.database import models, repository
from starcast.database.sessions import session as opened
from starcast.errors import NotFoundError, RejectedError
from starcast.graph import reader
from starcast.graph.identity import check as check_identity
from starcast.ingest.stores import Stores
from starcast.topologies import topology

Row = dict[str, Any]

_MODEL = {"topology": models.Topology, "forest": models.Forest, "schedule": models.Schedule}
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
#: Nouns of the command line.
NOUN = {"topology": "topology", "forest": "forest", "schedule": "schedule"}


def columns(kind: str) -> list[str]:
    """The columns of a listing of that kind."""
    return ["id", *_COLUMNS[kind], "state", "error"]


def listing(session: Session, kind: str, spec: str | None = None) -> list[Row]:
    """All things of a kind that are known, complete or not; those of one topology if asked for."""
    query = (
        select(models.Materialization)
        .where(models.Materialization.kind == kind)
        .order_by(models.Materialization.key)
    )
    rows = [
        row for row in session.scalars(query) if spec is None or row.key.partition(":")[0] == spec
    ]
    return [_described(session, row) for row in rows]


def find(session: Session, kind: str, key: str) -> models.Materialization:
    """What is known of a thing.

    Raises:
        NotFoundError: nothing is; the hint names what is near.
    """
    row = session.get(models.Materialization, (kind, key))
    if row is None:
        names = list(
            session.scalars(
                select(models.Materialization.key).where(models.Materialization.kind == kind)
            )
        )
        near = get_close_matches(key, names, n=3, cutoff=0.5)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        raise NotFoundError(
            f"no {NOUN[kind]} '{key}' is stored", hint=f"{meant}see 'starcast {NOUN[kind]} list'"
        )
    return row


def description(session: Session, kind: str, key: str) -> list[Row]:
    """A thing as rows of property and value.

    Raises:
        NotFoundError: it is not known.
    """
    row = find(session, kind, key)
    values = {**_described(session, row), **(_of_trees(session, key) if kind == "forest" else {})}
    names = (
        "way",
        "expected_nodes",
        "expected_relationships",
        "expected_checksum",
        "found_checksum",
        "finished_at",
    )
    values |= {name.replace("_", " "): getattr(row, name) for name in names}
    return [
        {"property": name.replace("_", " "), "value": value}
        for name, value in values.items()
        if value is not None
    ]


def check(stores: Stores, kind: str, key: str) -> None:
    """See that the graph holds a thing as it was built, counted and summed anew.

    Raises:
        NotFoundError: it is not known.
        RejectedError: it is not complete, or the graph holds something else.
        UnavailableError: the graph is not ours.
    """
    check_identity(stores.graph, stores.id)
    with opened(stores.engine) as session:
        row = find(session, kind, key)
        expected = (row.expected_nodes, row.expected_relationships, row.expected_checksum)
        state = row.state
    if state != "complete":
        raise RejectedError(f"{NOUN[kind]} {key} is {state}, not complete", hint="ingest it again")
    found = reader.content(stores.graph, kind, key, topology(key.partition(":")[0]))
    if (found.nodes, found.relationships, found.checksum) != expected:
        raise RejectedError(
            f"the graph holds {found.nodes} nodes and {found.relationships} relationships of {key} with checksum "
            f"{found.checksum}, not {expected[0]}, {expected[1]} and {expected[2]}",
            hint=f"somebody changed it: 'starcast {NOUN[kind]} drop', then ingest it again",
        )


def _described(session: Session, row: models.Materialization) -> Row:
    stored = session.get(_MODEL[row.kind], row.key)
    values: Row = {name: getattr(stored, name, None) for name in _COLUMNS[row.kind]}
    if values.get("arguments"):
        values["arguments"] = ",".join(
            f"{name}={value}" for name, value in sorted(values["arguments"].items())
        )
    return {"id": row.key, **values, "state": row.state, "error": row.error}


def _of_trees(session: Session, key: str) -> Row:
    if session.get(models.Forest, key) is None:
        return {}
    forest = repository.load_forest(session, key)
    loads = forest.load_histogram()
    return {
        "heights": forest.heights.tolist(),
        "leaves": forest.leaves.tolist(),
        "sizes": forest.sizes.tolist(),
        "links by load": ", ".join(f"{links} carry {load}" for load, links in loads.items()),
    }
