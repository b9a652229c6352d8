"""Store networks (topologies that are given by their links) in PostgreSQL, and load them.

A network is stored with the first ingested topology, run or record that uses it, or separately.
Every function works in the given session and never commits.
"""

from collections.abc import Mapping

import numpy as np
from sqlalchemy import delete, exists, func, or_, select
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from starcast.stores.database import models
from starcast.support.errors import InputError, RejectedError
from starcast.support.table import Row
from starcast.support.text import pluralize
from starcast.topologies.base import known_diameter
from starcast.topologies.networks import Network, find_network, restore_network

#: Type of the integers in the column ``links``.
_INTEGER = np.dtype("<i4")
_NOT_INGESTED = ~exists().where(
    models.Materialization.kind == "topology",
    models.Materialization.id == models.StoredNetwork.spec,
)


def save_network(session: Session, spec: str) -> bool:
    """Store the network with the given spec, if the network is registered in this process.

    Returns:
        True if this call has stored the network; False if a network with this spec is not
        registered, or was already stored.

    Raises:
        RejectedError: a different network with the same spec is stored, or the same network with
            different port numbers.
    """
    network = find_network(spec)
    if network is None:
        return False
    values = {**network.as_json(), "spec": spec, "links": _pack_links(network)}
    table = models.StoredNetwork
    statement = insert(table).values(values).on_conflict_do_nothing().returning(table.spec)
    if session.scalar(statement) is not None:
        return True
    check_network(session, spec)
    return False


def check_network(session: Session, spec: str) -> None:
    """Check that a network of this process equals the stored network with the same spec, if any.

    Raises:
        RejectedError: a different network with the same spec is stored, or the same network with
            different port numbers.
    """
    network = find_network(spec)
    if network is None:
        return
    table = models.StoredNetwork
    stored = session.execute(select(table.sha256, table.links).filter_by(spec=spec)).one_or_none()
    if stored is not None:
        _check_equal(network, stored.sha256, stored.links)


def _check_equal(network: Network, sha256: str, links: bytes) -> None:
    """Check that a network equals the stored network with the given digest and links."""
    if sha256 != network.sha256:
        raise RejectedError(
            f"another network with the spec '{network.spec}' is stored",
            hint="use another name for this network",
        )
    # Another version of starcast might have assigned different port numbers to the links.
    if links != _pack_links(network):
        raise RejectedError(
            f"the network '{network.spec}' is already stored with different port numbers",
            hint="start a new process, and use the spec of the network instead of its file",
        )


def _pack_links(network: Network) -> bytes:
    """Return the links in the format of the column ``links``: three 4-byte integers per link."""
    return network.port_links().astype(_INTEGER).tobytes()


def load_network(session: Session, spec_or_name: str) -> Network | None:
    """Return the stored network with the given spec or name, or None if no such network is stored.

    Raises:
        InputError: several networks have this name.
        RejectedError: the row of the network was edited manually, or differs from this process's
            network with the same spec.
    """
    table = models.StoredNetwork
    query = select(table).where(or_(table.spec == spec_or_name, table.name == spec_or_name))
    rows = session.scalars(query.order_by(table.spec)).all()
    if len(rows) > 1:
        raise InputError(
            f"{len(rows)} stored networks are named '{spec_or_name}'",
            hint=f"use the spec of one of them: {', '.join(row.spec for row in rows)}",
        )
    if not rows:
        return None
    [row] = rows
    if known := find_network(row.spec):
        _check_equal(known, row.sha256, row.links)
        return known
    return restore_network({**vars(row), "links": np.frombuffer(row.links, dtype=_INTEGER)})


def count_uses(session: Session) -> dict[str, dict[str, int]]:
    """Return the number of stored objects of each kind on each topology.

    The outer keys are specs of topologies, and the inner keys are the kinds ``forest``,
    ``schedule``, ``run`` and ``record``. Numbers that are 0 are omitted.
    """
    uses: dict[str, dict[str, int]] = {}
    for kind in ("forest", "schedule", "run", "record"):
        spec = models.Base.metadata.tables[kind].c.topology
        for topology, count in session.execute(select(spec, func.count()).group_by(spec)):
            uses.setdefault(topology, {})[kind] = count
    return uses


def describe_uses(uses: Mapping[str, int]) -> str:
    """Return the number of objects of each kind as text, such as ``2 forests, 1 run``."""
    return ", ".join(pluralize(count, kind) for kind, count in uses.items())


def list_networks(session: Session) -> list[Row]:
    """Return a row for each network that is stored but not ingested.

    A row has the columns of a listing of topologies, without ``state`` and ``error``.
    """
    specs = session.scalars(
        select(models.StoredNetwork.spec).where(_NOT_INGESTED).order_by(models.StoredNetwork.spec)
    )
    networks = [load_network(session, spec) for spec in specs.all()]
    return [
        {
            "id": network.spec,
            **{
                name: getattr(network, name)
                for name in ("family", "nodes", "endpoints", "links", "degree")
            },
            "diameter": known_diameter(network),
        }
        for network in networks
        if network is not None
    ]


def is_only_stored(session: Session, spec: str) -> bool:
    """Return whether the network with this spec is stored but not ingested."""
    query = select(models.StoredNetwork.spec).where(_NOT_INGESTED).filter_by(spec=spec)
    return session.scalar(query) is not None


def drop_network(session: Session, spec: str) -> None:
    """Delete a stored network that no forest, schedule, run or record uses.

    Raises:
        RejectedError: a forest, schedule, run or record uses the network; or the network is
            ingested, or is not stored.
    """
    if not is_only_stored(session, spec):
        raise RejectedError(
            f"another process has ingested or dropped the network {spec}",
            hint="run the same command again",
        )
    if uses := count_uses(session).get(spec):
        raise RejectedError(
            f"the network {spec} cannot be dropped because it is in use: {describe_uses(uses)}",
            hint="first drop everything that uses the network",
        )
    session.execute(delete(models.StoredNetwork).filter_by(spec=spec))
