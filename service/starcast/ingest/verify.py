"""What Neo4j holds against what the generators build: counts, checksums, the things' nodes, and rows where that is asked for.

PostgreSQL says what is stored, and every thing is built and proved again: what it remembers of a load is judged as well. It
only reads and takes no lock. What an ingest, a drop or a rebuild changes meanwhile is left out, and told.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import select

from starcast.database import models, sessions
from starcast.errors import InputError, StarcastError
from starcast.graph import audit, indexes, reader, undeclared
from starcast.graph.artifact_nodes import RELATIONSHIP_OF
from starcast.graph.audit import REBUILD, Finding, ThingNode
from starcast.graph.identity import NotOursError, usable
from starcast.graph.rows import Content
from starcast.graph.schema import State as GraphState
from starcast.ingest.artifact_from_id import regrown
from starcast.ingest.artifacts import Built, ForestThing, Thing
from starcast.ingest.comparison import Depth, RowComparison
from starcast.ingest.recovery import Reference, is_name
from starcast.ingest.references import named
from starcast.ingest.states import State
from starcast.ingest.stores import Stores
from starcast.progress import Reporter, Silent
from starcast.support.text import pluralize
from starcast.trees import constructions, forest

_NOTHING = Content(0, 0, (0, 0))
_ROWS = {"topology": "link", "forest": "tree edge", "schedule": "send"}

Contents = dict[tuple[str, str], Content]


class Known(NamedTuple):
    """What PostgreSQL remembers of a thing."""

    state: State
    error: str | None
    content: tuple[int, int, str]
    times: tuple[Any, Any]


def verify(
    stores: Stores,
    names: Sequence[str] = (),
    depth: Depth | None = None,
    reporter: Reporter | None = None,
) -> list[Finding]:
    """Everything in the graph that is not as it should be.

    Args:
        stores: both stores, open.
        names: things to look at, each with what depends on it; without names, the whole store, also for what belongs to none.
        depth: compare rows as well.
        reporter: hears of progress, and of what is left out.

    Raises:
        NotFoundError: nothing of such a name is stored.
        NotOursError: the graph is somebody else's: it holds nothing that starcast stores.
    """
    listener = reporter or Silent()
    with sessions.session(stores.engine) as session:
        wanted = named(session, names)
    before = known(stores)
    if _is_empty(stores) and not before:
        listener.say("nothing is stored")
        return []
    found = _Verification(stores, before, depth or Depth(), listener).run(wanted, whole=not names)
    changed = {one.key for one, _ in before.items() ^ known(stores).items()}
    for key in sorted(changed):
        listener.say(f"{key} was changed while it was compared, and is left out: verify it again")
    return [finding for finding in found if finding.thing not in changed]


def _is_empty(stores: Stores) -> bool:
    """Whether the graph holds nothing. One of ours that lacks its (:Store), or has it changed, is judged.

    Raises:
        NotOursError: it is somebody else's.
    """
    try:
        return usable(stores.graph) is None
    except NotOursError:
        if not audit.things(stores.graph):
            raise
    return False


def known(stores: Stores) -> dict[Reference, Known]:
    """All things that PostgreSQL knows."""
    with sessions.session(stores.engine) as session:
        rows = session.scalars(select(models.Materialization)).all()
        return {
            Reference(row.kind, row.id): Known(
                State(row.state),
                row.error,
                (row.expected_nodes, row.expected_relationships, row.expected_checksum),
                (row.started_at, row.finished_at),
            )
            for row in rows
        }


class _Verification:
    def __init__(
        self, stores: Stores, there: dict[Reference, Known], depth: Depth, reporter: Reporter
    ) -> None:
        self._stores, self._known, self._depth, self._reporter = stores, there, depth, reporter
        self._nodes = audit.things(stores.graph)
        self._rows = RowComparison(stores.graph, depth, reporter)

    def run(self, wanted: Iterable[Reference], *, whole: bool) -> list[Finding]:
        graph = self._stores.graph
        found = [*audit.store_findings(graph, str(self._stores.id)), *indexes.findings(graph)]
        contents = None
        if whole:
            found += [
                *undeclared.strangers(graph),
                *undeclared.shapes(graph),
                *self._nodes_of_nothing(),
            ]
            contents = self._contents()
            found += self._rows_of_nothing(contents or {})
        for one in sorted(wanted, key=lambda one: (models.KINDS.index(one.kind), one.key)):
            found += self._thing(one, contents)
        return found

    def _contents(self) -> Contents | None:
        """All counts and checksums at once; None where something in the store cannot be summed."""
        self._reporter.say("counting and summing all that the graph holds")
        try:
            return reader.contents(self._stores.graph)
        except InputError:
            return None

    def _nodes_of_nothing(self) -> Iterator[Finding]:
        """Things that the graph has and PostgreSQL does not know."""
        for (kind, key), nodes in self._nodes.items():
            if Reference(kind, key) in self._known:
                continue
            if any(node.properties.get("state") == GraphState.IMPORTED for node in nodes):
                yield Finding(
                    key,
                    "it was imported and nobody has compared it yet",
                    "imported",
                    None,
                    "starcast graph adopt",
                )
            else:
                advice = REBUILD if is_name(key) else audit.taking_out(kind, key)
                yield Finding(
                    key,
                    f"the graph has a {kind} that PostgreSQL does not know",
                    len(nodes),
                    0,
                    advice,
                )

    def _rows_of_nothing(self, contents: Contents) -> Iterator[Finding]:
        """Nodes and relationships that say they are part of a thing which does not exist."""
        for (kind, key), found in contents.items():
            if not key or Reference(kind, str(key)) in self._known or (kind, key) in self._nodes:
                continue  # what has no such property at all was told with the shapes
            parts = [pluralize(found.nodes, "node")] if found.nodes else []
            parts += (
                [f"{found.relationships:,} {RELATIONSHIP_OF[kind].name}"]
                if found.relationships
                else []
            )
            rows = found.nodes + found.relationships
            yield Finding(
                str(key), f"{' and '.join(parts)} of a {kind} that does not exist", rows, 0, REBUILD
            )

    def _thing(self, one: Reference, contents: Contents | None) -> list[Finding]:
        state = self._known[one].state
        if state is not State.COMPLETE:
            self._reporter.say(f"{one.key} is {state}, not complete, and is left out")
            return []
        try:
            thing, findings = self._generated(one)
            built = thing.build()
        except StarcastError as error:
            return [
                Finding(
                    one.key, f"it cannot be built again: {error.message}", None, None, error.hint
                )
            ]
        findings += self._remembered(one, built)
        nodes = self._nodes.get((one.kind, one.key), [])
        found = self._content(one, thing, contents if _says_where(nodes, thing) else None)
        if not nodes and found == _NOTHING:
            return [*findings, Finding(one.key, "it is not in the graph", 0, 1, _mend(one))]
        findings += [
            *audit.owner_findings(built.owner, nodes),
            *self._amounts(one, built.content, found),
        ]
        return [
            *findings,
            *(self._differing(one, built) if self._depth.whole or self._depth.sample else ()),
        ]

    def _generated(self, one: Reference) -> tuple[Thing, list[Finding]]:
        """The thing as its generator makes it, and whether PostgreSQL keeps another forest than that."""
        with sessions.session(self._stores.engine) as session:
            thing = regrown(session, one.kind, one.key)
        if not isinstance(thing, ForestThing) or thing.forest.construction not in constructions():
            return thing, []
        kept = thing.forest
        grown = forest(kept.topology, kept.construction, kept.root, **kept.arguments)
        if np.array_equal(kept.parent_port, grown.parent_port):
            return thing, []
        words = f"PostgreSQL keeps other trees than those that '{kept.construction}' grows"
        return ForestThing(grown), [Finding(one.key, words, None, None, _again(one))]

    def _remembered(self, one: Reference, built: Built) -> list[Finding]:
        meant = (built.content.nodes, built.content.relationships, built.content.checksum)
        remembered = self._known[one].content
        if remembered == meant:
            return []
        words = "PostgreSQL remembers other counts or another checksum than those of what is built"
        return [Finding(one.key, words, list(remembered), list(meant), _mend(one))]

    def _content(self, one: Reference, thing: Thing, contents: Contents | None) -> Content | None:
        """What the graph holds of a thing; None where it cannot be summed."""
        if contents is not None:
            return contents.get((one.kind, one.key), _NOTHING)
        try:
            return reader.content(self._stores.graph, one.kind, one.key, thing.topology)
        except InputError:
            return None

    def _amounts(self, one: Reference, meant: Content, found: Content | None) -> Iterator[Finding]:
        advice = (
            _mend(one)
            if self._depth.whole
            else f"starcast graph verify '{one.key}' --all names them; {_mend(one)}"
        )
        if found is None:
            yield Finding(
                one.key,
                "its rows cannot be summed: a property is missing or of another type",
                None,
                None,
                advice,
            )
            return
        amounts = (
            ("node", found.nodes, meant.nodes),
            (_ROWS[one.kind], found.relationships, meant.relationships),
        )
        for place, (noun, has, ought) in enumerate(amounts):
            if has != ought:
                yield Finding(
                    one.key, f"it has {pluralize(has, noun)}, not {ought:,}", has, ought, advice
                )
            elif found.sums[place] != meant.sums[place]:
                there, right = f"checksum {found.sums[place]:x}", f"checksum {meant.sums[place]:x}"
                yield Finding(
                    one.key, f"its {noun}s are not those that were built", there, right, advice
                )

    def _differing(self, one: Reference, built: Built) -> Iterator[Finding]:
        differences = self._rows.of(built)
        for what, found, expected in differences.named:
            yield Finding(one.key, what, found, expected, _mend(one))
        more = differences.total - len(differences.named)
        if more > 0:
            yield Finding(one.key, f"and {more:,} more differences", None, None, _mend(one))


def _says_where(nodes: Sequence[ThingNode], thing: Thing) -> bool:
    """Whether the node of a thing tells on which topology it is: a scan of everything reads from there where its keys begin."""
    names = [
        thing.key if thing.kind == "topology" else node.properties.get("topology") for node in nodes
    ]
    return names == [thing.topology.spec]


def _mend(one: Reference) -> str:
    return f"{REBUILD} '{one.key}'"


def _again(one: Reference) -> str:
    noun = "tree" if one.kind == "forest" else one.kind
    return f"starcast {noun} drop '{one.key}' --cascade, then ingest it again"
