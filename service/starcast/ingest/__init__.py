"""Ingestion: topologies, forests and schedules into both stores, proved before and compared after; and out again."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sqlalchemy import select

from starcast.choices import LoadMethod
from starcast.database import sessions
from starcast.database.models import Materialization
from starcast.embedded import rebuild
from starcast.errors import RejectedError
from starcast.graph import undeclared
from starcast.graph.connection import Graph
from starcast.graph.identity import claim
from starcast.graph.writer import Bolt, refresh_plans
from starcast.ingest.adoption import adopt
from starcast.ingest.artifacts import Thing
from starcast.ingest.load_methods import choose
from starcast.ingest.loading import Loaded, OnStage, load
from starcast.ingest.offline import import_all
from starcast.ingest.planning import Plan, Size, Wish, plan, wish
from starcast.ingest.recovery import Reference, dependents, discard, recover
from starcast.ingest.states import State, forget, state_of
from starcast.ingest.stored import NOUN, find
from starcast.ingest.stores import Stores, exclusively, open_stores
from starcast.progress import Reporter, Silent
from starcast.support.text import pluralize

__all__ = [
    "LoadMethod",
    "Plan",
    "Stores",
    "Summary",
    "Wish",
    "drop",
    "ingest",
    "open_stores",
    "plan",
    "wish",
]


@dataclass(frozen=True)
class Summary:
    """What an ingest did.

    Attributes:
        created: what was not there, with its rows and seconds.
        present: names of what was there already.
        recovered: names of what was cleaned up first.
        seconds: all of it.
    """

    created: list[Loaded]
    present: list[str]
    recovered: list[str]
    seconds: float = field(compare=False)

    @property
    def rows(self) -> int:
        """Nodes and relationships created."""
        return sum(one.nodes + one.relationships for one in self.created)

    def __str__(self) -> str:
        if not self.created:
            return (
                f"nothing to create: {len(self.present)} of {len(self.present)} are already there"
            )
        rate = self.rows / max(sum(one.seconds for one in self.created), 1e-9)
        there = f", {len(self.present)} already there" if self.present else ""
        return f"created {len(self.created)}{there}: {self.rows:,} rows in {self.seconds:.1f} s, {rate:,.0f} rows/s with proofs"


def _nothing(stage: str, thing: Thing) -> None:
    pass


def ingest(
    stores: Stores,
    what: Plan | Wish,
    wait: bool = False,
    reporter: Reporter | None = None,
    on_stage: OnStage = _nothing,
    way: LoadMethod = LoadMethod.AUTO,
) -> Summary:
    """Store what is asked for and is not there yet; a second time it creates nothing.

    Args:
        stores: both stores, open.
        what: see `plan`; of a `Wish`, only what is not there is ever built.
        wait: wait for another ingest instead of refusing.
        reporter: hears of progress.
        on_stage: called after each stage (`load.STAGES`, `offline.STAGES`); tests use it to break off.
        way: which way in; see `ways.choose`.

    Raises:
        BusyError: another process is at it.
        UnavailableError: a server went away, or the graph is not ours; what was complete stays.
        RejectedError: a check said no; that thing is not stored, what was complete stays.
        LimitError: it is too much, or the disk too small; nothing was written.
        InputError: an import was asked for into a server that is not ours.
    """
    listener = reporter or Silent()
    began = time.monotonic()
    with exclusively(stores.engine, wait, listener):
        recovered = _put_right(stores, listener)
        missing = _missing(stores, what.sizes())
        created = _create(stores, what, missing, way, listener, on_stage) if missing else []
    present = [one.key for one in what.sizes() if one not in missing]
    return Summary(created, present, [one.key for one in recovered], time.monotonic() - began)


def _put_right(stores: Stores, reporter: Reporter) -> list[Reference]:
    """Finish or take out what other processes have left, killed or importing into a server of the user's."""
    if stores.embedded is not None:
        rebuild.tidy(stores.embedded, reporter)
    claim(stores.graph, stores.id)
    adopt(stores, reporter)
    return recover(stores, reporter)


def _missing(stores: Stores, things: Iterable[Size]) -> list[Size]:
    with sessions.session(stores.engine) as session:
        return [
            thing
            for thing in things
            if state_of(session, thing.kind, thing.key) is not State.COMPLETE
        ]


def _stored(stores: Stores) -> list[Size]:
    complete = select(Materialization).where(Materialization.state == State.COMPLETE.value)
    with sessions.session(stores.engine) as session:
        rows = session.scalars(complete)
        return [
            Size(row.kind, row.key, row.expected_nodes, row.expected_relationships) for row in rows
        ]


def _create(
    stores: Stores,
    what: Plan | Wish,
    missing: list[Size],
    asked: LoadMethod,
    reporter: Reporter,
    on_stage: OnStage,
) -> list[Loaded]:
    chosen = choose(asked, missing, _stored(stores), embedded=stores.embedded is not None)
    if chosen.way is LoadMethod.IMPORT:
        _keep_strangers(stores.graph)
    reporter.say(chosen.reason)
    things = what.plan({one.key for one in missing}).things
    return (import_all if chosen.way is LoadMethod.IMPORT else _over_bolt)(
        stores, things, reporter, on_stage
    )


def _keep_strangers(graph: Graph) -> None:
    """See that an import, which replaces the whole store, loses nothing but what can be built again.

    Raises:
        RejectedError: there is something that is not starcast's.
    """
    nodes, relationships = undeclared.losses(graph, None)
    words = [
        pluralize(count, f"node of {labels or 'no label'}", f"nodes of {labels or 'no label'}")
        for labels, count in nodes
    ]
    words += [
        pluralize(count, f"relationship {name}", f"relationships {name}")
        for name, count in relationships
    ]
    if words:
        raise RejectedError(
            f"an offline import would lose what is not starcast's: {', '.join(words)}",
            hint="keep it in a Neo4j database of your own, or add --method bolt",
        )


def _over_bolt(
    stores: Stores, things: Sequence[Thing], reporter: Reporter, on_stage: OnStage
) -> list[Loaded]:
    way = Bolt(stores.graph, stores.batch)
    way.prepare()
    created = []
    for thing in things:
        created.append(load(stores, way, thing, reporter, on_stage))
        reporter.say(
            f"{thing.kind} {thing.key}: {thing.nodes + thing.relationships:,} rows, compared and complete"
        )
    refresh_plans(stores.graph)
    return created


def drop(
    stores: Stores,
    kind: str,
    key: str,
    cascade: bool = False,
    wait: bool = False,
    reporter: Reporter | None = None,
) -> list[str]:
    """Take a thing out of both stores, in transactions of bounded size; returns the names of all that went.

    Args:
        stores: both stores, open.
        kind: topology, forest or schedule.
        key: its name.
        cascade: take out what depends on it as well.
        wait: wait for another process instead of refusing.
        reporter: hears of progress.

    Raises:
        NotFoundError: it is not stored.
        RejectedError: something depends on it, and cascade was not asked for.
        BusyError: another process is at it.
    """
    listener = reporter or Silent()
    with exclusively(stores.engine, wait, listener):
        claim(stores.graph, stores.id)
        recover(stores, listener)
        target = Reference(kind, key)
        with sessions.session(stores.engine) as session:
            find(session, kind, key)
            leaning = dependents(session, target)
        if leaning and not cascade:
            raise RejectedError(
                f"{_listed(leaning)} depend on {key}", hint="drop them first, or add --cascade"
            )
        for one in [*leaning, target]:
            discard(stores, one, None, listener)
            _forget(stores, one)
            listener.say(f"{NOUN[one.kind]} {one.key}: dropped")
    return [one.key for one in [*leaning, target]]


def _forget(stores: Stores, one: Reference) -> None:
    with sessions.session(stores.engine) as session:
        forget(session, one.kind, one.key)


def _listed(things: list[Reference]) -> str:
    shown = ", ".join(one.key for one in things[:5])
    return shown if len(things) <= 5 else f"{shown} and {len(things) - 5} more"
