"""Adopting what an offline import wrote: compared with what was built, and made complete in both stores.

An import writes everything at once, in state ``imported``, which nothing may use. Here it is counted and summed in scans of the
whole graph, and held against what the generators build. What is as it should be becomes complete, in PostgreSQL first: broken
off between the two, the graph still says ``imported``, and the next adoption goes on. What differs becomes ``loading`` in the
graph, so the next ingest or drop takes it out, with what depends on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from starcast.database import models, sessions
from starcast.errors import InputError, RejectedError
from starcast.graph import reader
from starcast.graph.artifact_nodes import LABEL_OF, Owner
from starcast.graph.identity import check as check_identity
from starcast.graph.rows import Content
from starcast.graph.schema import State as GraphState
from starcast.graph.writer import Bolt, set_state
from starcast.ingest.artifact_from_id import regrown
from starcast.ingest.artifacts import Built, Thing
from starcast.ingest.recovery import Reference, dependents
from starcast.ingest.states import State, move, note, state_of
from starcast.ingest.stores import Stores
from starcast.progress import Reporter

#: What `materialization` calls this way in.
_WAY = "import"
#: Most things that an error tells.
_SHOWN = 5


@dataclass(frozen=True)
class Expected:
    """What the graph has to hold of a thing: its node, its counts and checksums."""

    owner: Owner
    content: Content


@dataclass(frozen=True)
class Verdict:
    """A thing that was imported, and how it compares; ``wrong`` is what its node has otherwise."""

    thing: Reference
    meant: Content
    found: Content
    wrong: tuple[str, ...]

    @property
    def same(self) -> bool:
        """Whether the graph holds it as it was built."""
        return self.found == self.meant and not self.wrong

    @property
    def figures(self) -> dict[str, object]:
        """What was counted, as columns of `materialization`."""
        found = self.found
        return {
            "found_nodes": found.nodes,
            "found_relationships": found.relationships,
            "found_checksum": found.checksum,
        }

    def __str__(self) -> str:
        found, meant = self.found, self.meant
        said = (
            f"{self.thing.key}: {found.nodes:,} of {meant.nodes:,} nodes, {found.relationships:,} of "
            f"{meant.relationships:,} relationships, checksum {found.checksum} for {meant.checksum}"
        )
        return f"{said}, and {', '.join(self.wrong)} differ" if self.wrong else said


def imported(stores: Stores) -> list[Reference]:
    """What is in the graph and was not compared yet, in the order of building."""
    states = reader.states(stores.graph)
    waiting = [
        Reference(*name)
        for name, row in states.items()
        if row["state"] == GraphState.IMPORTED.value
    ]
    return sorted(waiting, key=lambda one: (models.KINDS.index(one.kind), one.key))


def adopt(
    stores: Stores,
    reporter: Reporter,
    known: Mapping[Reference, Expected] | None = None,
    strict: bool = False,
) -> list[Reference]:
    """Compare everything that was imported, and make complete what is as it should be. Under the lock.

    Args:
        stores: both stores.
        reporter: hears of progress.
        known: what the graph has to hold of things that the caller has built and saved himself; others are built here.
        strict: where one thing differs, accept none and change nothing.

    Returns:
        What became complete, in the order of building.

    Raises:
        RejectedError: something differs; it never becomes complete.
        UnavailableError: the graph is not ours, or a server went away; what is not complete yet is adopted the next time.
    """
    check_identity(stores.graph, stores.id)
    waiting = imported(stores)
    if not waiting:
        return []
    Bolt(stores.graph, stores.batch).prepare()
    reporter.say(f"comparing {len(waiting)} imported things with what they have to be")
    verdicts = _compared(stores, waiting, known or {}, reporter)
    different = [one for one in verdicts if not one.same]
    if different and strict:
        raise _rejected(
            different, "nothing was changed; somebody else may have written into the graph"
        )
    accepted = _whole(stores, verdicts, different)
    _accept(stores, accepted)
    if different:
        _refuse(stores, different)
        raise _rejected(
            different,
            "the next ingest or drop takes it out with what depends on it; then ingest it again",
        )
    return [one.thing for one in accepted]


def _compared(
    stores: Stores,
    waiting: Sequence[Reference],
    known: Mapping[Reference, Expected],
    reporter: Reporter,
) -> list[Verdict]:
    there = reader.contents(stores.graph)
    verdicts = []
    with reporter.task("comparing", len(waiting), "things") as task:
        for one in waiting:
            try:
                meant = known.get(one) or _expected(stores, one)
            except InputError as error:
                # Nobody could drop it either, so it must not stand in the way of others.
                reporter.say(f"left as it is: {error.message}")
                continue
            wrong = tuple(reader.differences(stores.graph, meant.owner))
            verdicts.append(Verdict(one, meant.content, there[one.kind, one.key], wrong))
            task.advance()
    return verdicts


def _expected(stores: Stores, one: Reference) -> Expected:
    """Build a thing as its name says; what PostgreSQL does not have complete in this form is saved, in state loading."""
    with sessions.session(stores.engine) as session:
        thing = regrown(session, one.kind, one.key)
    built = thing.build()
    with sessions.session(stores.engine) as session:
        state = state_of(session, one.kind, one.key)
        row = session.get(models.Materialization, (one.kind, one.key))
        kept = row is not None and row.expected_checksum == built.content.checksum
        if state is not State.COMPLETE or not kept:
            _save(session, thing, built, state)
    return Expected(built.owner, built.content)


def _save(session: Session, thing: Thing, built: Built, state: State | None) -> None:
    expected = {
        "expected_nodes": built.content.nodes,
        "expected_relationships": built.content.relationships,
    }
    if state in {None, State.FAILED}:
        move(session, thing.kind, thing.key, State.PLANNED, method=_WAY, **expected)
    if state is not State.LOADING:
        move(session, thing.kind, thing.key, State.LOADING)
    note(
        session,
        thing.kind,
        thing.key,
        method=_WAY,
        **expected,
        expected_checksum=built.content.checksum,
    )
    built.save(session)


def _whole(
    stores: Stores, verdicts: Sequence[Verdict], different: Sequence[Verdict]
) -> list[Verdict]:
    """What is as it should be, and does not depend on what is not."""
    with sessions.session(stores.engine) as session:
        out = {other for one in different for other in [one.thing, *dependents(session, one.thing)]}
    return [one for one in verdicts if one.thing not in out]


def _accept(stores: Stores, verdicts: Sequence[Verdict]) -> None:
    with sessions.session(stores.engine) as session:
        for one in verdicts:
            kind, key = one.thing.kind, one.thing.key
            if state_of(session, kind, key) is not State.COMPLETE:
                move(session, kind, key, State.COMPLETE)
            note(session, kind, key, method=_WAY, **one.figures)
    for one in verdicts:
        _set_state(stores, one.thing, GraphState.COMPLETE)


def _refuse(stores: Stores, verdicts: Sequence[Verdict]) -> None:
    with sessions.session(stores.engine) as session:
        for one in verdicts:
            kind, key = one.thing.kind, one.thing.key
            if state_of(session, kind, key) is State.COMPLETE:
                move(session, kind, key, State.LOADING)
            move(
                session, kind, key, State.FAILED, error=f"its import differs: {one}", **one.figures
            )
    for one in verdicts:
        _set_state(stores, one.thing, GraphState.LOADING)


def _set_state(stores: Stores, one: Reference, state: GraphState) -> None:
    label = LABEL_OF[one.kind]
    set_state(stores.graph, label.name, label.unique[0][0], one.key, state)


def _rejected(different: Sequence[Verdict], hint: str) -> RejectedError:
    shown = "; ".join(str(one) for one in different[:_SHOWN])
    more = f"; and {len(different) - _SHOWN} more" if len(different) > _SHOWN else ""
    return RejectedError(f"what was imported is not what was built: {shown}{more}", hint=hint)
