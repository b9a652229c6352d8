"""What the graph store holds, declared once: labels, relationship types, their properties, keys and indexes.

Constraints, writers, the reader's checksums, the headers of an offline import and the schema page follow from what stands
here. `docs/decisions/0002-keys-and-labels.md` says why nodes have an integer key, `0007-graph-model.md` why relationships are
indexed by what they are part of.
"""

import re
from dataclasses import dataclass, field
from enum import StrEnum

from starcast.topologies import Topology

#: Grows with every change that an older starcast cannot read; the graph store keeps it in `STORE`.
VERSION = 1

#: Ranks go up to 12! - 1 < 2^29; keys stay below 2^53, so that they are exact in JSON and in JavaScript too.
RANK_BITS = 32

_NAME = re.compile(r"[A-Za-z][A-Za-z_]*")


class Type(StrEnum):
    """Types of properties, by Cypher's names."""

    STRING = "STRING"
    INTEGER = "INTEGER"
    BOOLEAN = "BOOLEAN"


class State(StrEnum):
    """Whether a thing in the graph may be used: only what was counted and compared after it was written is ``complete``.

    Over Bolt a thing is ``loading`` before; what an offline import wrote is ``imported``.
    """

    LOADING = "loading"
    IMPORTED = "imported"
    COMPLETE = "complete"


@dataclass(frozen=True)
class Property:
    """A property of a node or a relationship; one that is not ``always`` there is null where it means nothing."""

    name: str
    type: Type
    meaning: str
    always: bool = True

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"'{self.name}' is no property name: letters and underscores, since it becomes Cypher text"
            )
        if not self.meaning:
            raise ValueError(
                f"the property '{self.name}' has no meaning: the schema page prints one"
            )


@dataclass(frozen=True)
class _Thing:
    name: str
    meaning: str
    properties: tuple[Property, ...]
    indexes: tuple[tuple[str, ...], ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name):
            raise ValueError(
                f"'{self.name}' is no name: letters and underscores, since it becomes Cypher text"
            )
        names = self.names
        if len(set(names)) < len(names):
            raise ValueError(f"{self.name} declares a property twice: {', '.join(names)}")
        for indexed in self.indexes:
            self._known(indexed, "index")

    @property
    def names(self) -> tuple[str, ...]:
        """The properties' names, in the order declared."""
        return tuple(declared.name for declared in self.properties)

    def _known(self, used: tuple[str, ...], purpose: str) -> None:
        unknown = [name for name in used if name not in self.names]
        if unknown or not used:
            raise ValueError(
                f"the {purpose} of {self.name} needs declared properties, not {unknown}"
            )

    def index_names(self) -> list[str]:
        """What the constraints' and the other indexes are called in the store."""
        return [self._index(names) for names in self.indexes]

    def _indexes(self, pattern: str) -> list[str]:
        """The Cypher that makes the indexes; the pattern calls the thing ``n``."""
        return [
            f"CREATE INDEX {self._index(names)} IF NOT EXISTS FOR {pattern} ON {_listed(names)}"
            for names in self.indexes
        ]

    def _index(self, names: tuple[str, ...]) -> str:
        return "_".join(["starcast", self.name.lower(), *names])


@dataclass(frozen=True)
class Label(_Thing):
    """A kind of node: ``unique`` tuples of properties name one node each, ``indexes`` are only looked up."""

    unique: tuple[tuple[str, ...], ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.unique:
            raise ValueError(
                f"{self.name} has no key: without one nothing could be found or linked"
            )
        for names in self.unique:
            self._known(names, "key")

    def statements(self) -> list[str]:
        """The Cypher that makes constraints and indexes; each may run again."""
        keys = [
            f"CREATE CONSTRAINT {self._index(names)} IF NOT EXISTS FOR (n:{self.name}) REQUIRE {_listed(names)} IS UNIQUE"
            for names in self.unique
        ]
        return keys + self._indexes(f"(n:{self.name})")

    def index_names(self) -> list[str]:
        """What the constraints' and the other indexes are called in the store."""
        return [*map(self._index, self.unique), *super().index_names()]


@dataclass(frozen=True)
class Relationship(_Thing):
    """A kind of relationship, from one label to another.

    ``owner`` is the property that names the thing it is part of (a topology, a forest, a schedule), and is the same on all
    relationships of that thing; the other properties differ.
    """

    start: str
    end: str
    owner: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.owner is not None:
            self._known((self.owner,), "owner")

    @property
    def columns(self) -> tuple[str, ...]:
        """The properties that differ from one relationship to the next: all but the owner."""
        return tuple(name for name in self.names if name != self.owner)

    def statements(self) -> list[str]:
        """The Cypher that makes the indexes; each may run again."""
        return self._indexes(f"()-[n:{self.name}]-()")


def _listed(names: tuple[str, ...]) -> str:
    return "(" + ", ".join(f"n.{name}" for name in names) + ")"


def _text(name: str, meaning: str, always: bool = True) -> Property:
    return Property(name, Type.STRING, meaning, always)


def _number(name: str, meaning: str, always: bool = True) -> Property:
    return Property(name, Type.INTEGER, meaning, always)


_STATE = _text("state", "loading until verified, then complete; use nothing else")

STORE = Label(
    "Store",
    "one node: which PostgreSQL database this graph belongs to",
    (
        _text("id", "the id in PostgreSQL's table store"),
        _number("schema", "version of this schema"),
    ),
    # MERGE on a unique property takes a lock, so two first ingests cannot make two of them.
    unique=(("schema",),),
)
TOPOLOGY = Label(
    "Topology",
    "one graph whose nodes and links are stored",
    (
        _text("name", "its name, such as S5"),
        _text("family", "star, nk-star or hypercube"),
        _number("n", "its first size"),
        _number("k", "its second size, in S_n,k", always=False),
        _number("nodes", "nodes"),
        _number("links", "undirected links"),
        _number("degree", "links at each node"),
        _number("diameter", "greatest distance, in links"),
        _STATE,
    ),
    unique=(("name",),),
)
NODE = Label(
    "Node",
    "a node of a topology",
    (
        _number(
            "key", "topology and rank in one integer, unique in the store: what the writers look up"
        ),
        _text("topology", "name of its topology"),
        _number("rank", "index among the labels in lexicographic order, from 0"),
        _text("label", "its label: one character a symbol, 1..9 then a..z"),
    ),
    unique=(("key",), ("topology", "rank")),
    indexes=(("topology", "label"),),
)
FOREST = Label(
    "Forest",
    "the trees of one construction for one root",
    (
        _text("id", "topology:construction(arguments):label of the root"),
        _text("topology", "name of its topology"),
        _text("construction", "the rule that made it"),
        _text(
            "arguments", "the rule's arguments, such as base=greedy,i=2; empty where it has none"
        ),
        _number("root", "rank of the common root"),
        _number("trees", "how many trees"),
        _number("height", "greatest level"),
        _number("congestion", "most trees on one directed link"),
        _STATE,
    ),
    unique=(("id",),),
    indexes=(("topology",),),
)
SCHEDULE = Label(
    "Schedule",
    "who sends what over which directed link in which step",
    (
        _text("id", "topology:collective:algorithm:ports:arguments:label of the root"),
        _text("topology", "name of its topology"),
        _text("collective", "what it promises, such as broadcast"),
        _text("algorithm", "the rule that made it"),
        _text("ports", "all or one: the port model that it keeps"),
        _text("arguments", "the algorithm's arguments, such as segments=4"),
        _number("root", "rank of the root"),
        _number("units", "how many units there are; numbered from 0 to units - 1"),
        Property(
            "packets",
            Type.BOOLEAN,
            "a directed link may carry several units in a step, as one packet",
        ),
        _number("steps", "the last step in which a unit moves"),
        Property("symmetric", Type.BOOLEAN, "it stands for all sources by translation"),
        _STATE,
    ),
    unique=(("id",),),
    indexes=(("topology",),),
)
LINK = Relationship(
    "LINK",
    "an undirected link, once: from the lower to the higher rank",
    (
        _text("topology", "name of the topology"),
        _number("port", "the lower rank's port to the other"),
    ),
    "Node",
    "Node",
    owner="topology",
)
TREE_EDGE = Relationship(
    "TREE_EDGE",
    "a directed link that a tree uses, parent to child",
    (
        _text("forest", "id of the forest"),
        _number("tree", "number of the tree, from 0"),
        _number("level", "the child's distance from the root in that tree, from 1"),
        _number("port", "the parent's port towards the child"),
    ),
    "Node",
    "Node",
    owner="forest",
    indexes=(("forest", "tree"),),
)
SEND = Relationship(
    "SEND",
    "one unit that crosses one directed link in one step",
    (
        _text("schedule", "id of the schedule"),
        _number("step", "from 1"),
        _number("tree", "number of the tree along which it travels, from 0"),
        _number("port", "the sender's port"),
        _number("unit", "number of the unit, from 0"),
    ),
    "Node",
    "Node",
    owner="schedule",
    indexes=(("schedule", "step"),),
)
ON = Relationship("ON", "a forest grows on a topology", (), "Forest", "Topology")
USES = Relationship(
    "USES", "a schedule sends along the trees of a forest", (), "Schedule", "Forest"
)

LABELS = (STORE, TOPOLOGY, NODE, FOREST, SCHEDULE)
RELATIONSHIPS = (LINK, TREE_EDGE, SEND, ON, USES)


def statements() -> list[str]:
    """All constraints and indexes, as Cypher that may run again."""
    return [statement for thing in (*LABELS, *RELATIONSHIPS) for statement in thing.statements()]


def first_key(topology: Topology) -> int:
    """The key of the topology's node 0; the node of rank r has the key ``first_key + r``.

    Family, n and k in ten bits and five each: no counter that two stores could count differently. S_{32,k} to S_{35,k}, the
    only ones beyond five bits, run into keys with k > 0 of the next family, which has none.
    """
    family = ("star", "nk-star", "hypercube").index(topology.family)
    return ((family << 10) + (topology.n << 5) + (topology.k or 0)) << RANK_BITS
