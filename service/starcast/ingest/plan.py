"""What an ingest is to store, how much that is, and which way in it takes; no server is asked.

`Wish.sizes` builds nothing at all, so that what is too much can be told in figures too.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from starcast.errors import LimitError
from starcast.ingest.selection import ALL, OWN, Selection, select
from starcast.ingest.things import ForestThing, ScheduleThing, Thing, TopologyThing
from starcast.topologies import Topology, topology
from starcast.trees import forest, plain_constructions
from starcast.trees.naming import listed, parsed, written
from starcast.trees.sizes import edges

#: What a plain Bolt load reaches on a warm server (docs/decisions/0002-keys-and-labels.md).
NODES_A_SECOND = 30_000
RELATIONSHIPS_A_SECOND = 40_000

#: What a row takes in Neo4j's store files, measured on S7 and S8. Most of a node are its three indexes; a schedule's id is too
#: long to lie within the relationship's own record.
BYTES_A_NODE = 250
BYTES_A_RELATIONSHIP = {"topology": 120, "forest": 120, "schedule": 250}

#: Most nodes and relationships over Bolt: ten million are about four minutes of writing, which a user sits through, and S9
#: with the multiple trees fits; S10 alone has twenty. Its rows are sorted in memory too, at about 100 bytes each.
MOST_OVER_BOLT = 10_000_000


@dataclass(frozen=True)
class Estimate:
    """What things take: rows they add to the graph, and bytes on the disk of the graph store."""

    nodes: int
    relationships: int
    bytes: int

    @classmethod
    def of(cls, things: "Iterable[Thing | Size]") -> Self:
        """What these things take together."""
        listed = list(things)
        size = sum(one.nodes * BYTES_A_NODE + one.relationships * BYTES_A_RELATIONSHIP[one.kind] for one in listed)
        return cls(sum(one.nodes for one in listed), sum(one.relationships for one in listed), size)

    @property
    def rows(self) -> int:
        """Nodes and relationships."""
        return self.nodes + self.relationships

    @property
    def seconds(self) -> float:
        """Of writing over Bolt, on a warm server."""
        return self.nodes / NODES_A_SECOND + self.relationships / RELATIONSHIPS_A_SECOND


@dataclass(frozen=True)
class Size:
    """A thing's name, and the nodes and relationships that it adds to the graph."""

    kind: str
    key: str
    nodes: int
    relationships: int


@dataclass(frozen=True)
class Wish:
    """What was asked for, checked: constructions by how they are written, and schedules."""

    where: Topology
    root: int
    trees: Mapping[str, tuple[str, Mapping[str, int | str]]]
    schedules: Selection

    def sizes(self) -> list[Size]:
        """What each thing takes, in the order of `plan`."""
        spec, label = self.where.spec, self.where.label(self.root)
        grown = {word: edges(self.where, name, **arguments) for word, (name, arguments) in self.trees.items()}
        found = [Size("topology", spec, self.where.nodes, self.where.links)]
        found += [Size("forest", f"{spec}:{word}:{label}", 0, count) for word, count in grown.items()]
        return found + [Size("schedule", one.key, 0, one.relationships) for one in self.sends()]

    def sends(self) -> list[ScheduleThing]:
        """The schedules as things."""
        return [
            ScheduleThing(one.rule, self.where, self.root, one.ports, one.arguments) for one in self.schedules.chosen.values()
        ]


@dataclass(frozen=True)
class Plan:
    """Things in the order in which they depend on each other: the topology, its forests, their schedules.

    ``left_out`` are the reasons why schedules that ``all`` covers are not among them.
    """

    things: tuple[Thing, ...]
    left_out: tuple[str, ...] = ()

    @property
    def estimate(self) -> Estimate:
        """What all of it takes, if nothing is there yet."""
        return Estimate.of(self.things)

    @property
    def way(self) -> str:
        """The way in, and why."""
        return way_of(self.estimate)


def wish(
    spec: str,
    trees: str | Iterable[str] = (),
    schedules: str | Iterable[str] = (),
    root: int | str = 0,
    ports: str = OWN,
    segments: int | None = None,
    messages: int | None = None,
) -> Wish:
    """What to store of a topology, however much it is; the arguments are those of `plan`.

    Raises:
        InputError: a name, the root or a number is wrong.
    """
    where = topology(spec)
    selection = select(where, schedules, ports, segments, messages)
    along = (one.rule.along(where, one.ports, one.arguments) for one in selection.chosen.values())
    words = [*_constructions(where, trees), *(word for word in along if word is not None)]
    # A construction given twice counts once, however written.
    chosen = {written(*one): one for one in map(parsed, words)}
    return Wish(where, where.node(root), chosen, selection)


def plan(
    spec: str,
    trees: str | Iterable[str] = (),
    schedules: str | Iterable[str] = (),
    root: int | str = 0,
    ports: str = OWN,
    segments: int | None = None,
    messages: int | None = None,
) -> Plan:
    """What to store of a topology.

    Args:
        spec: the topology, such as S5.
        trees: constructions, such as ``greedy`` or ``dimension-change(i=2,tree=multiple)``, or ``all`` of those that need no
            arguments.
        schedules: algorithms in the words of `starcast.ingest.selection`, such as ``multiple``, ``allgather:necklace`` or
            ``all``. The trees that they send along are stored with them.
        root: label or rank of the root of trees and schedules.
        ports: the port model of the schedules: ``all``, ``one``, ``both``, or ``own``: each algorithm's first.
        segments: pieces of the message for each tree, for algorithms that cut it; each one's default unless given.
        messages: unit messages, for algorithms that send those; likewise.

    Raises:
        InputError: a name, the root or a number is wrong.
        LimitError: it is too much for Bolt; nothing has been built.
    """
    wanted = wish(spec, trees, schedules, root, ports, segments, messages)
    excess = over_limit(spec, wanted.sizes())
    if excess is not None:
        raise excess
    # Only the ports' array is made here, a byte a node and tree.
    grown = {word: forest(wanted.where, name, wanted.root, **given) for word, (name, given) in wanted.trees.items()}
    things: list[Thing] = [TopologyThing(wanted.where), *(ForestThing(one) for one in grown.values())]
    return Plan((*things, *wanted.sends()), tuple(wanted.schedules.left_out))


def over_limit(spec: str, sizes: Sequence[Size]) -> LimitError | None:
    """The error that this is too much for Bolt, None where it is not."""
    estimate = Estimate.of(sizes)
    if estimate.rows <= MOST_OVER_BOLT:
        return None
    return LimitError(
        f"{spec} with what is asked for is {estimate.nodes:,} nodes and {estimate.relationships:,} relationships, "
        f"{estimate.bytes / 1e9:.1f} GB and {duration(estimate.seconds)} of writing alone over Bolt, on a warm server; "
        f"the limit is {MOST_OVER_BOLT:,} rows",
        hint="take a smaller topology, fewer trees or schedules, or fewer segments or messages; '--dry-run' shows what each "
        "takes, and 'starcast run once' keeps a schedule's figures and steps without its rows",
    )


def way_of(estimate: Estimate) -> str:
    """The way in of so much, and why."""
    return f"over Bolt: {estimate.rows:,} rows are within the {MOST_OVER_BOLT:,} that go in while one waits"


def duration(seconds: float) -> str:
    """Seconds in words: 12 s, 4 min, 3 h."""
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.0f} h"


def _constructions(where: Topology, trees: str | Iterable[str]) -> list[str]:
    return [one for word in listed(trees) for one in (plain_constructions(where) if word == ALL else (word,))]
