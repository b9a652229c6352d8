"""What an ingest is to store, and how much that is; no server is asked.

`Wish.sizes` builds nothing at all, so that what is too much can be told in figures too.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from starcast.choices import LoadMethod
from starcast.ingest.artifacts import ForestThing, ScheduleThing, Thing, TopologyThing
from starcast.ingest.load_methods import Estimate, too_much
from starcast.ingest.selection import ALL, OWN, Selection, select
from starcast.topologies import Topology, topology
from starcast.trees import forest, plain_constructions
from starcast.trees.sizes import edges
from starcast.trees.spec_syntax import listed, parsed, written


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
        grown = {
            key: edges(self.where, name, **arguments)
            for key, (name, arguments) in self._forests.items()
        }
        found = [Size("topology", self.where.spec, self.where.nodes, self.where.links)]
        found += [Size("forest", key, 0, count) for key, count in grown.items()]
        return found + [
            Size("schedule", key, 0, one.relationships) for key, one in self._schedules.items()
        ]

    def plan(self, keys: Collection[str] | None = None) -> "Plan":
        """All of it, or only the things of these names, with the trees grown.

        Raises:
            LimitError: it is too much for any way in; nothing has been built.
        """
        sizes = [one for one in self.sizes() if keys is None or one.key in keys]
        excess = too_much(Estimate.of(sizes), LoadMethod.IMPORT, embedded=True)
        if excess is not None:
            raise excess
        return Plan(tuple(self._thing(one.key) for one in sizes), tuple(self.schedules.left_out))

    def _thing(self, key: str) -> Thing:
        if key == self.where.spec:
            return TopologyThing(self.where)
        if key in self._forests:
            # Only the ports' array is made here, a byte a node and tree.
            name, arguments = self._forests[key]
            return ForestThing(forest(self.where, name, self.root, **arguments))
        return self._schedules[key]

    @cached_property
    def _forests(self) -> dict[str, tuple[str, Mapping[str, int | str]]]:
        label = self.where.label(self.root)
        return {f"{self.where.spec}:{word}:{label}": chosen for word, chosen in self.trees.items()}

    @cached_property
    def _schedules(self) -> dict[str, ScheduleThing]:
        sends = (
            ScheduleThing(one.rule, self.where, self.root, one.ports, one.arguments)
            for one in self.schedules.chosen.values()
        )
        return {one.key: one for one in sends}


@dataclass(frozen=True)
class Plan:
    """Things in the order in which they depend on each other: the topology, its forests, their schedules.

    ``left_out`` are the reasons why schedules that ``all`` covers are not among them.
    """

    things: tuple[Thing, ...]
    left_out: tuple[str, ...] = ()

    def plan(self, keys: Collection[str] | None = None) -> "Plan":
        """Itself, or only the things of these names: a plan may stand where a `Wish` does."""
        return (
            self
            if keys is None
            else replace(self, things=tuple(one for one in self.things if one.key in keys))
        )

    def sizes(self) -> list[Size]:
        """What each thing takes."""
        return [Size(one.kind, one.key, one.nodes, one.relationships) for one in self.things]

    @property
    def estimate(self) -> Estimate:
        """What all of it takes, if nothing is there yet."""
        return Estimate.of(self.things)


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
    along = (
        one.rule.forest_construction(where, one.ports, one.arguments)
        for one in selection.chosen.values()
    )
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
        trees: constructions, such as ``greedy`` or ``dimension-change(base=multiple,i=2)``, or ``all`` of those that need no
            arguments.
        schedules: algorithms in the words of `starcast.ingest.selection`, such as ``multiple``, ``allgather:necklace`` or
            ``all``. The trees that they send along are stored with them.
        root: label or rank of the root of trees and schedules.
        ports: the port model of the schedules: ``all``, ``one``, ``both``, or ``own``: each algorithm's first.
        segments: pieces of the message for each tree, for algorithms that cut it; each one's default unless given.
        messages: unit messages, for algorithms that send those; likewise.

    Raises:
        InputError: a name, the root or a number is wrong.
        LimitError: it is too much for any way in; nothing has been built.
    """
    return wish(spec, trees, schedules, root, ports, segments, messages).plan()


def _constructions(topology: Topology, trees: str | Iterable[str]) -> list[str]:
    return [
        one
        for word in listed(trees)
        for one in (plain_constructions(topology) if word == ALL else (word,))
    ]
