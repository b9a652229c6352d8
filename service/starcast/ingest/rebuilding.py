"""The graph store made anew from what PostgreSQL knows: by an offline import, or thing by thing over Bolt.

What is stored can always be built again, so nothing of starcast's is lost. What is not starcast's is somebody's: nodes of other
labels are never deleted over Bolt, and nothing of the kind goes without being asked for.

Over Bolt, all things that are to be made anew are first taken out. Until each is back it is known as ``failed``, with the
reason `REBUILDING`: broken off or killed, the next rebuild goes on from there, and an ingest makes what it is asked for.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import select

from starcast.choices import LoadMethod
from starcast.database import models, sessions
from starcast.embedded.rebuild import tidy
from starcast.errors import RejectedError
from starcast.graph import indexes, undeclared
from starcast.graph.purge import purge
from starcast.graph.writer import Bolt
from starcast.ingest.artifact_from_id import regrown
from starcast.ingest.artifacts import Thing
from starcast.ingest.identity import take_over
from starcast.ingest.load_methods import choose
from starcast.ingest.loading import Loaded, load
from starcast.ingest.offline import import_all, shares
from starcast.ingest.recovery import LOST, Reference, discard, recover
from starcast.ingest.references import named
from starcast.ingest.states import State, note, state_of
from starcast.ingest.stores import Stores, exclusively
from starcast.progress import Reporter, Silent
from starcast.support.text import pluralize

#: Why a thing is ``failed`` that a rebuild has taken out and not yet made anew.
REBUILDING = "'starcast graph rebuild' has not made it anew yet"


@dataclass(frozen=True)
class Order:
    """What to make anew.

    Attributes:
        names: things, each with what depends on it; all where there are none.
        way: over Bolt, by import, or what is faster.
        discard_foreign: lose what is not starcast's and cannot stay.
        wait: wait for another process instead of refusing.
    """

    names: Sequence[str] = ()
    way: LoadMethod = LoadMethod.AUTO
    discard_foreign: bool = False
    wait: bool = False


def rebuild(stores: Stores, order: Order, reporter: Reporter | None = None) -> list[Loaded]:
    """Make the graph store, or some things in it, anew; returns what was made.

    Raises:
        NotFoundError: nothing of such a name is stored.
        NotOursError: the graph is not this PostgreSQL database's.
        RejectedError: something that is not starcast's would be lost, or a check said no.
        InputError: an import was asked for into a server that is not ours.
        LimitError: it is too much for the way.
        BusyError: another process is at it.
    """
    listener = reporter or Silent()
    with exclusively(stores.engine, order.wait, listener):
        if stores.embedded is not None:
            tidy(stores.embedded, listener)
        take_over(stores)
        things, others = _things(stores, order.names)
        choice = choose(order.way, things, others, embedded=stores.embedded is not None)
        by_import = choice.way is LoadMethod.IMPORT
        _refuse_losses(stores, things, order, listener, by_import=by_import)
        if not things:
            return []
        listener.say(choice.reason)
        return (_by_import if by_import else _over_bolt)(stores, things, listener)


def _things(stores: Stores, names: Sequence[str]) -> tuple[list[Thing], list[Thing]]:
    """The things to make anew, and the other complete ones, both in the order of building.

    What was complete and is lost, or was taken out by a rebuild that did not end, is among those that can be made.
    """
    with sessions.session(stores.engine) as session:
        wanted = named(session, names)
        rows = session.scalars(select(models.Materialization)).all()
        listed = sorted((models.KINDS.index(row.kind), row.key) for row in rows if _is_known(row))
        things = [regrown(session, models.KINDS[kind], key) for kind, key in listed]
    chosen = [thing for thing in things if Reference(thing.kind, thing.key) in wanted]
    return chosen, [thing for thing in things if thing not in chosen]


def _is_known(row: models.Materialization) -> bool:
    return row.state == State.COMPLETE or row.error in {LOST, REBUILDING}


def _refuse_losses(
    stores: Stores, things: Sequence[Thing], order: Order, reporter: Reporter, *, by_import: bool
) -> None:
    """See that nothing of somebody else's goes unasked; say what stays.

    Raises:
        RejectedError: something would go.
    """
    nodes, relationships = undeclared.losses(
        stores.graph, None if by_import else [t.key for t in things if t.nodes]
    )
    words = [
        pluralize(count, f"node of {labels or 'no label'}", f"nodes of {labels or 'no label'}")
        for labels, count in nodes
    ]
    if words and not by_import:
        reporter.say(f"{' and '.join(words)} are not starcast's, and stay")
        words = []
    words += [
        pluralize(count, f"relationship of the type {name}", f"relationships of the type {name}")
        for name, count in relationships
    ]
    if words and not order.discard_foreign:
        raise RejectedError(
            f"a rebuild would lose what is not starcast's: {', '.join(words)}",
            hint="keep it elsewhere, in a Neo4j database of your own, or add --discard-foreign",
        )


def _by_import(stores: Stores, things: Sequence[Thing], reporter: Reporter) -> list[Loaded]:
    """Make all of the store anew; what is complete comes along, so only what is not has to be named."""
    began = time.monotonic()
    with sessions.session(stores.engine) as session:
        lost = [
            thing
            for thing in things
            if state_of(session, thing.kind, thing.key) is not State.COMPLETE
        ]
    import_all(stores, lost, reporter, lambda _stage, _thing: None)
    return shares(things, time.monotonic() - began)


def _over_bolt(stores: Stores, things: Sequence[Thing], reporter: Reporter) -> list[Loaded]:
    for thing in sorted(things, key=lambda thing: Reference(thing.kind, thing.key).order):
        discard(stores, Reference(thing.kind, thing.key), REBUILDING, reporter)
    recover(stores, reporter)
    with sessions.session(stores.engine) as session:
        rows = session.scalars(
            select(models.Materialization).where(
                models.Materialization.state == State.COMPLETE.value
            )
        )
        kept = {(row.kind, row.key) for row in rows}
    gone = purge(stores.graph, kept, stores.batch)
    if gone:
        reporter.say(
            f"took out {pluralize(gone, 'node or relationship', 'nodes and relationships')} of things that do not exist"
        )
    indexes.make_way(stores.graph)
    way = Bolt(stores.graph, stores.batch)
    way.prepare()
    return [_made(stores, way, thing, reporter) for thing in things]


def _made(stores: Stores, way: Bolt, thing: Thing, reporter: Reporter) -> Loaded:
    def remember(stage: str, thing: Thing) -> None:
        if stage == "planned":
            _note(stores, thing)

    try:
        loaded = load(stores, way, thing, reporter, remember)
    except KeyboardInterrupt:
        _note(stores, thing)
        raise
    reporter.say(
        f"{thing.kind} {thing.key}: {thing.nodes + thing.relationships:,} rows, compared and complete"
    )
    return loaded


def _note(stores: Stores, thing: Thing) -> None:
    """Keep in mind that the thing was there before, until it is complete: an attempt that is broken off leaves no trace."""
    with sessions.session(stores.engine) as session:
        note(session, thing.kind, thing.key, error=REBUILDING)
