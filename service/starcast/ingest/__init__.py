"""Ingestion: topologies, forests and schedules into both stores, proved before and compared after; and out again."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field

from starcast.errors import RejectedError
from starcast.graph.identity import claim
from starcast.graph.writer import Bolt
from starcast.ingest.load import Loaded, OnStage, load
from starcast.ingest.plan import Plan, plan
from starcast.ingest.recovery import Reference, dependents, discard, recover
from starcast.ingest.states import State, forget, state_of
from starcast.ingest.stored import NOUN, find
from starcast.ingest.stores import Stores, exclusively, open_stores
from starcast.ingest.things import Thing
from starcast.progress import Reporter, Silent
from starcast.runs import database

__all__ = ["Plan", "Stores", "Summary", "drop", "ingest", "open_stores", "plan"]


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
            return f"nothing to create: {len(self.present)} of {len(self.present)} are already there"
        rate = self.rows / max(sum(one.seconds for one in self.created), 1e-9)
        there = f", {len(self.present)} already there" if self.present else ""
        return f"created {len(self.created)}{there}: {self.rows:,} rows in {self.seconds:.1f} s, {rate:,.0f} rows/s with proofs"


def _nothing(stage: str, thing: Thing) -> None:
    pass


def ingest(
    stores: Stores, what: Plan, wait: bool = False, reporter: Reporter | None = None, on_stage: OnStage = _nothing
) -> Summary:
    """Store what a plan names and is not there yet; a second time it creates nothing.

    Args:
        stores: both stores, open.
        what: see `plan`.
        wait: wait for another ingest instead of refusing.
        reporter: hears of progress.
        on_stage: called after each stage of each thing (`load.STAGES`); tests use it to break off.

    Raises:
        BusyError: another process is at it.
        UnavailableError: a server went away, or the graph is not ours; what was complete stays.
        RejectedError: a check said no; that thing is not stored, what was complete stays.
    """
    listener = reporter or Silent()
    began = time.monotonic()
    with exclusively(stores.engine, wait, listener):
        claim(stores.graph, stores.id)
        recovered = recover(stores, listener)
        missing = _missing(stores, what.things)
        created = _create(stores, what, missing, listener, on_stage) if missing else []
    present = [thing.key for thing in what.things if thing not in missing]
    return Summary(created, present, [one.key for one in recovered], time.monotonic() - began)


def _missing(stores: Stores, things: Iterable[Thing]) -> list[Thing]:
    with database.session(stores.engine) as session:
        return [thing for thing in things if state_of(session, thing.kind, thing.key) is not State.COMPLETE]


def _create(stores: Stores, what: Plan, missing: list[Thing], reporter: Reporter, on_stage: OnStage) -> list[Loaded]:
    reporter.say(what.way)
    way = Bolt(stores.graph, stores.batch)
    way.prepare()
    created = []
    for thing in missing:
        created.append(load(stores, way, thing, reporter, on_stage))
        reporter.say(f"{thing.kind} {thing.key}: {thing.nodes + thing.relationships:,} rows, compared and complete")
    return created


def drop(
    stores: Stores, kind: str, key: str, cascade: bool = False, wait: bool = False, reporter: Reporter | None = None
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
        with database.session(stores.engine) as session:
            find(session, kind, key)
            leaning = dependents(session, target)
        if leaning and not cascade:
            raise RejectedError(f"{_listed(leaning)} depend on {key}", hint="drop them first, or add --cascade")
        for one in [*leaning, target]:
            discard(stores, one, None, listener)
            _forget(stores, one)
            listener.say(f"{NOUN[one.kind]} {one.key}: dropped")
    return [one.key for one in [*leaning, target]]


def _forget(stores: Stores, one: Reference) -> None:
    with database.session(stores.engine) as session:
        forget(session, one.kind, one.key)


def _listed(things: list[Reference]) -> str:
    shown = ", ".join(one.key for one in things[:5])
    return shown if len(things) <= 5 else f"{shown} and {len(things) - 5} more"
