"""The offline import into the embedded Neo4j: what is stored and what is new, into a fresh store that then replaces the old.

The graph is a materialization: PostgreSQL knows what is in it, and every part can be built again. So files of everything are
written, a fresh store is made of them beside the old one (`starcast.embedded.rebuild`), and it takes the old one's place only when
all of it was compared. Broken off at any point, the old store is in force, or the new one, compared. What PostgreSQL then says
beyond that, `starcast.ingest.recovery` puts right.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from sqlalchemy import select

from starcast.choices import LoadMethod
from starcast.database import sessions
from starcast.database.models import Materialization
from starcast.embedded import files
from starcast.embedded.rebuild import Rebuilding, rebuilding
from starcast.errors import InputError
from starcast.graph import bulk
from starcast.graph.artifact_nodes import LABEL_OF
from starcast.graph.connection import Graph
from starcast.graph.writer import make_indexes
from starcast.ingest.adoption import Expected, adopt
from starcast.ingest.artifact_from_id import things
from starcast.ingest.artifacts import Built, Thing
from starcast.ingest.load_methods import Estimate
from starcast.ingest.loading import Loaded, OnStage, failing, proved
from starcast.ingest.recovery import Reference
from starcast.ingest.stores import Stores
from starcast.progress import Reporter
from starcast.settings import Settings

#: The stages of an import, in order: the first three of each new thing, the others of all together.
STAGES = (
    "planned",
    "built",
    "saved",
    "written",
    "imported",
    "started",
    "indexed",
    "compared",
    "changed",
    "complete",
)


def import_all(
    stores: Stores, new: Sequence[Thing], reporter: Reporter, on_stage: OnStage
) -> list[Loaded]:
    """Make the graph store anew, of everything that is complete and of new things; without any, it is made as it was.

    Under the lock; the new things are not there, or failed before. The server is away for part of the time.

    Args:
        stores: both stores; the graph is the embedded Neo4j's, and the connection to it is of no use afterwards where the
            server had to take another port.
        new: in an order in which they can be built.
        reporter: hears of progress.
        on_stage: called after each of `STAGES`, with the thing, or with the first of all.

    Raises:
        InputError: the graph store is not the embedded one.
        LimitError: the disk is too small; nothing was written.
        RejectedError: a check said no; the old store is in force, and nothing of the new things is stored.
        UnavailableError: a server went away.
    """
    settings = stores.embedded
    if settings is None:
        raise InputError(
            "only the embedded Neo4j is stopped for an import",
            hint="'starcast export' writes files for others",
        )
    began = time.monotonic()
    with sessions.session(stores.engine) as session:
        old = things(session)
        sums = {
            Reference(row.kind, row.key): row.expected_checksum
            for row in session.scalars(select(Materialization))
        }
    everything = [*old, *new]
    if not everything:
        return []
    _need_space(settings, everything)
    with failing(stores, new, reporter):
        built = [proved(stores, LoadMethod.IMPORT.value, thing, on_stage) for thing in new]
        work = _Import(stores, settings, reporter, lambda stage: on_stage(stage, everything[0]))
        work.run(_Everything(old, built, sums))
    return shares(new, time.monotonic() - began)


def _need_space(settings: Settings, everything: Sequence[Thing]) -> None:
    size = Estimate.of(everything)
    purpose = f"an import of {size.nodes:,} nodes and {size.relationships:,} relationships, files and a fresh store,"
    files.need_space(settings.home, size.import_bytes // files.MB, purpose)


class _Everything:
    """All that the fresh store is to hold, built one after the other, and what of it has been built so far.

    What is stored already is built only when its turn comes, so that memory holds one such thing at a time. ``expected`` leaves
    out what another starcast built otherwise: adopting that saves it anew.
    """

    def __init__(
        self, old: Sequence[Thing], new: Sequence[Built], sums: Mapping[Reference, str]
    ) -> None:
        self._old, self._new, self._sums = old, new, sums
        self.expected: dict[Reference, Expected] = {}

    def __len__(self) -> int:
        return len(self._old) + len(self._new)

    def __iter__(self) -> Iterator[Built]:
        for thing in self._old:
            built = thing.build()
            if self._sums[Reference(thing.kind, thing.key)] == built.content.checksum:
                self._expect(built)
            yield built
        for built in self._new:
            self._expect(built)
            yield built

    def _expect(self, built: Built) -> None:
        kind = next(kind for kind, label in LABEL_OF.items() if label is built.owner.label)
        self.expected[Reference(kind, built.owner.key)] = Expected(built.owner, built.content)


class _Import:
    """One import of everything."""

    def __init__(
        self, stores: Stores, settings: Settings, reporter: Reporter, told: Callable[[str], None]
    ) -> None:
        self._stores, self._settings, self._reporter, self._told = stores, settings, reporter, told

    def run(self, everything: _Everything) -> None:
        """Write, import, start, compare, change over."""
        with rebuilding(self._settings, self._reporter) as work:
            self._load(work, everything)
            address = work.start()
            self._told("started")
            with Graph.open(address) as graph:
                self._compare(graph, everything.expected)
            work.commit()
            self._told("changed")
        self._told("complete")

    def _load(self, work: Rebuilding, everything: _Everything) -> None:
        self._reporter.say(f"writing the files of {len(everything)} things")
        written = bulk.write(work.folder, self._stores.id, everything, self._reporter)
        self._told("written")
        self._reporter.say(
            f"importing {written.nodes:,} nodes and {written.relationships:,} relationships, {written.bytes / files.MB:,.0f} MB"
        )
        work.load([*bulk.OPTIONS, *written.arguments])
        self._told("imported")

    def _compare(self, graph: Graph, expected: Mapping[Reference, Expected]) -> None:
        self._reporter.say("making indexes")
        make_indexes(graph)
        self._told("indexed")
        adopt(replace(self._stores, graph=graph), self._reporter, expected, strict=True)
        self._told("compared")


def shares(new: Sequence[Thing], seconds: float) -> list[Loaded]:
    """What was created, each with its share of the time by its rows."""
    rows = [thing.nodes + thing.relationships for thing in new]
    shares = [seconds * count / max(sum(rows), 1) for count in rows]
    return [
        Loaded(thing.kind, thing.key, thing.nodes, thing.relationships, share)
        for thing, share in zip(new, shares, strict=True)
    ]
