"""Cleaning up after processes that were killed, and after stores that were changed behind our back.

Whoever holds the lock is the only one at work. So what is ``planned`` or ``loading`` was left by a process that is gone, and
can be taken out. What one store has complete and the other has not is of no use either.
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass

from sqlalchemy import select
from sqlalchemy.orm import Session

from starcast.database import models, repository, sessions
from starcast.errors import InputError
from starcast.graph import reader
from starcast.graph.deletion import erase
from starcast.graph.schema import State as GraphState
from starcast.ingest.states import State, forget, move, state_of
from starcast.ingest.stores import Stores
from starcast.progress import Reporter
from starcast.topologies import topology

LOST = "it is no longer in the graph store"


@dataclass(frozen=True)
class Reference:
    """A thing by kind and key; sorting puts what depends on others first."""

    kind: str
    key: str

    @property
    def spec(self) -> str:
        """Its topology: keys begin with it."""
        return self.key.partition(":")[0]

    @property
    def order(self) -> tuple[int, str]:
        """Schedules before forests before topologies: the order of taking out."""
        return (-models.KINDS.index(self.kind), self.key)


def recover(stores: Stores, reporter: Reporter) -> list[Reference]:
    """Take out whatever is not complete in both stores, with what depends on it. Under the lock.

    What was imported and not compared yet is left alone, unless it depends on what is taken out. What was complete and is lost
    from the graph stays known as failed; the rest leaves no trace.
    """
    with sessions.session(stores.engine) as session:
        known = _known(session)
        uses = _uses(session)
    there = reader.states(stores.graph)
    uses |= {
        key: row["forest"]
        for (kind, key), row in there.items()
        if kind == "schedule" and row["forest"]
    }
    in_graph = {
        Reference(kind, key): row["state"] for (kind, key), row in there.items() if is_name(key)
    }
    broken = {one for one, state in known.items() if state in {State.PLANNED, State.LOADING}}
    broken |= {
        one
        for one, state in known.items()
        if state is State.COMPLETE and in_graph.get(one) != "complete"
    }
    broken |= {one for one in in_graph if known.get(one) is not State.COMPLETE}
    # What was imported is whole, as far as anybody knows: `adopt` compares it.
    broken -= {one for one, state in in_graph.items() if state == GraphState.IMPORTED.value}
    everything = known.keys() | in_graph.keys()
    broken |= {one for one in everything if one not in broken and _leans_on(one, broken, uses)}
    for one in sorted(broken, key=lambda one: one.order):
        lost = known.get(one) is State.COMPLETE
        reporter.say(
            f"{one.kind} {one.key}: {LOST if lost else 'cleaning up what was left unfinished'}"
        )
        discard(stores, one, LOST if lost else None, reporter)
    return sorted(broken, key=lambda one: one.order)


def discard(stores: Stores, one: Reference, error: str | None, reporter: Reporter) -> None:
    """Take a thing out of both stores. It stays known as failed if there is an error to keep, or one was kept before.

    Broken off, it is ``loading`` in `materialization`, or not complete in the graph, so `recover` finds it.
    """
    with sessions.session(stores.engine) as session:
        before = state_of(session, one.kind, one.key)
        row = session.get(models.Materialization, (one.kind, one.key))
        nodes, relationships = (
            (0, 0) if row is None else (row.expected_nodes, row.expected_relationships)
        )
        error = error or (None if row is None else row.error)
        if before is State.COMPLETE:
            move(session, one.kind, one.key, State.LOADING, error=error)
    with reporter.task(f"{one.key} out", nodes + relationships, "rows") as task:
        erase(
            stores.graph, one.kind, one.key, topology(one.spec), stores.batch, task, relationships
        )
    with sessions.session(stores.engine) as session:
        _DROP[one.kind](session, one.key)
        if error is not None:
            if before is not State.FAILED:
                move(session, one.kind, one.key, State.FAILED, error=error)
        elif before is not State.FAILED:
            forget(session, one.kind, one.key)


def is_name(key: str | None) -> bool:
    """Whether it can be a thing's. Nobody but somebody's hand makes others; `verify` tells them, and they are left alone."""
    with suppress(InputError):
        return key is not None and bool(topology(key.partition(":")[0]))
    return False


def dependents(session: Session, one: Reference) -> list[Reference]:
    """What is known and cannot be without this thing, in the order of taking out."""
    known, uses = _known(session), _uses(session)
    direct = {other for other in known if _leans_on(other, {one}, uses)}
    return sorted(direct, key=lambda other: other.order)


_DROP = {
    "topology": repository.drop_topology,
    "forest": repository.drop_forest,
    "schedule": repository.drop_schedule,
}


def _known(session: Session) -> dict[Reference, State]:
    rows = session.scalars(select(models.Materialization))
    return {Reference(row.kind, row.id): State(row.state) for row in rows}


def _uses(session: Session) -> dict[str, str]:
    rows = session.execute(
        select(models.Schedule.id, models.Schedule.forest).where(
            models.Schedule.forest.is_not(None)
        )
    )
    return {schedule: forest for schedule, forest in rows if forest is not None}


def _leans_on(one: Reference, others: Iterable[Reference], uses: dict[str, str]) -> bool:
    topologies = {other.key for other in others if other.kind == "topology"}
    forests = {other.key for other in others if other.kind == "forest"}
    if one.kind == "topology":
        return False
    return one.spec in topologies or (one.kind == "schedule" and uses.get(one.key) in forests)
