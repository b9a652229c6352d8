"""Loading one thing: build, prove, write both stores, read back, compare, mark complete."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from starcast.database import sessions
from starcast.errors import RejectedError, StarcastError, UnavailableError
from starcast.graph import reader
from starcast.graph.rows import Content
from starcast.graph.writer import WayIn
from starcast.ingest.artifacts import Built, Thing
from starcast.ingest.recovery import Reference, discard
from starcast.ingest.states import State, move, note
from starcast.ingest.stores import Stores
from starcast.progress import Reporter, Task

#: The stages of a load, in order; after each of them `OnStage` is called. ``batch`` comes once a batch.
STAGES = (
    "planned",
    "built",
    "saved",
    "begun",
    "batch",
    "written",
    "compared",
    "finished",
    "complete",
)

OnStage = Callable[[str, Thing], None]


@dataclass(frozen=True)
class Loaded:
    """A thing that was created, with its rows and the seconds that writing and comparing them took."""

    kind: str
    key: str
    nodes: int
    relationships: int
    seconds: float


class _Batches:
    """A task that also tells the stage."""

    def __init__(self, task: Task, tell: Callable[[], None]) -> None:
        self._task, self._tell = task, tell

    def advance(self, amount: int = 1) -> None:
        self._task.advance(amount)
        self._tell()


def load(stores: Stores, way: WayIn, thing: Thing, reporter: Reporter, on_stage: OnStage) -> Loaded:
    """Create a thing in both stores. Under the lock; the thing is not there, or failed before.

    Raises:
        RejectedError: its checker or the comparison said no; nothing of it stays but its row in state failed.
        UnavailableError: a server went away; the next ingest or drop cleans up.
    """
    began = time.monotonic()
    with failing(stores, [thing], reporter):
        _load(stores, way, thing, reporter, on_stage)
    on_stage("complete", thing)
    return Loaded(thing.kind, thing.key, thing.nodes, thing.relationships, time.monotonic() - began)


@contextmanager
def failing(stores: Stores, things: Sequence[Thing], reporter: Reporter) -> Iterator[None]:
    """Where an error ends this, leave nothing of these things but rows in state failed, as far as that can be done now."""
    try:
        yield
    except KeyboardInterrupt:
        # Taking much out again would keep the user waiting: the next ingest or drop does it.
        for thing in things:
            _mark_failed(stores, thing, "interrupted")
        raise
    except UnavailableError:
        # Nothing can be taken out now. The state says what the next ingest or drop has to clean up.
        raise
    except Exception as error:
        words = (
            error.message
            if isinstance(error, StarcastError)
            else f"{type(error).__name__}: {error}"
        )
        for thing in reversed(things):
            _give_up(stores, thing, words, reporter)
        raise


def _load(stores: Stores, way: WayIn, thing: Thing, reporter: Reporter, on_stage: OnStage) -> None:
    built = proved(stores, way.name, thing, on_stage)
    way.begin(built.owner)
    on_stage("begun", thing)
    with reporter.task(thing.key, thing.nodes + thing.relationships, "rows") as task:
        batches = _Batches(task, lambda: on_stage("batch", thing))
        if thing.nodes:
            way.nodes(thing.topology, batches)
        way.relationships(built.rows, batches)
    on_stage("written", thing)
    found = _compared(stores, thing, built)
    on_stage("compared", thing)
    # The graph first: broken off here, the thing is whole but not complete in `materialization`, and is made again.
    way.finish(built.owner)
    on_stage("finished", thing)
    with sessions.session(stores.engine) as session:
        move(session, thing.kind, thing.key, State.COMPLETE, **_found(found))


def proved(stores: Stores, way: str, thing: Thing, on_stage: OnStage) -> Built:
    """Build and prove a thing, and save it to the relational store, in state loading.

    Raises:
        RejectedError: its checker said no.
    """
    with sessions.session(stores.engine) as session:
        expected = {"expected_nodes": thing.nodes, "expected_relationships": thing.relationships}
        move(session, thing.kind, thing.key, State.PLANNED, method=way, **expected)
    on_stage("planned", thing)
    built = thing.build()
    on_stage("built", thing)
    with sessions.session(stores.engine) as session:
        move(
            session, thing.kind, thing.key, State.LOADING, expected_checksum=built.content.checksum
        )
        built.save(session)
    on_stage("saved", thing)
    return built


def _compared(stores: Stores, thing: Thing, built: Built) -> Content:
    found = reader.content(stores.graph, thing.kind, thing.key, thing.topology)
    wrong = reader.differences(stores.graph, built.owner)
    if found == built.content and not wrong:
        return found
    with sessions.session(stores.engine) as session:
        note(session, thing.kind, thing.key, **_found(found))
    meant = built.content
    raise RejectedError(
        f"the graph does not hold {thing.key} as it was built: {found.nodes} of {meant.nodes} nodes, {found.relationships} of "
        f"{meant.relationships} relationships, checksum {found.checksum} for {meant.checksum}"
        + (f", and {', '.join(wrong)} differ" if wrong else ""),
        hint="ingest it again; if it happens again, somebody else writes into this graph",
    )


def _found(content: Content) -> dict[str, object]:
    return {
        "found_nodes": content.nodes,
        "found_relationships": content.relationships,
        "found_checksum": content.checksum,
    }


def _give_up(stores: Stores, thing: Thing, error: str, reporter: Reporter) -> None:
    # Where this fails as well, the first error is the one to tell.
    with suppress(StarcastError):
        discard(stores, Reference(thing.kind, thing.key), error, reporter)


def _mark_failed(stores: Stores, thing: Thing, error: str) -> None:
    with suppress(StarcastError), sessions.session(stores.engine) as session:
        move(session, thing.kind, thing.key, State.FAILED, error=error)
