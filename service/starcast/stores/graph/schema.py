"""Schema of the graph store: labels, relationship types, properties, keys and indexes.

Constraints, writers, checksums, the headers of offline imports and the page docs/schema.md are
derived from these declarations. ``docs/decisions/0002-keys-and-labels.md`` explains why nodes have
an integer key, and ``0007-graph-model.md`` why relationships are indexed by their artifact.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from starcast.topologies import Topology

#: Schema version, stored in `STORE`. Increase it with every change after which an older starcast
#: cannot read the graph, or a newer starcast cannot read older graphs. Version 2 renamed
#: Topology.name to spec and SEND.payload to unit. Version 3 added Topology.reverse_ports. Version 4
#: changed the keys of families that the papers do not treat. Version 5 added SEND.combine. Version
#: 6 added Topology.has_translations, Topology.source and Node.title. Version 7 added
#: Topology.endpoints, Node.is_switch, LINK.capacity, LINK.latency, TREE_EDGE.subtree_nodes and the
#: indexes on single properties.
VERSION = 7

#: Number of bits of a node's key that hold the node's rank, which is at most 12! - 1 < 2^29. Keys
#: are below 2^53, so that JSON and JavaScript represent them exactly.
RANK_BITS = 32


class PropertyType(StrEnum):
    """Property types, named as in Cypher."""

    STRING = "STRING"
    INTEGER = "INTEGER"
    BOOLEAN = "BOOLEAN"
    INTEGERS = "LIST<INTEGER NOT NULL>"


class GraphState(StrEnum):
    """State of an artifact in the graph; only a ``complete`` artifact may be used.

    An artifact is ``loading`` while it is written over Bolt, and becomes ``complete`` once its
    counts and checksums have been verified. A store that was imported offline is checked before it
    is used, so its artifacts are ``complete`` from the start.
    """

    LOADING = "loading"
    COMPLETE = "complete"


@dataclass(frozen=True)
class Property:
    """A property of a node or a relationship.

    Attributes:
        name: the name; only letters and underscores, because it is inserted into Cypher.
        type: the type of the values.
        meaning: a description for the page docs/schema.md.
        always: False if the property may be absent because it does not apply to every element.
    """

    name: str
    type: PropertyType
    meaning: str
    always: bool = True


@dataclass(frozen=True)
class Index:
    """An index on properties of a label or relationship type, or a uniqueness constraint."""

    element: "Element"
    properties: tuple[str, ...]
    unique: bool

    @property
    def name(self) -> str:
        """The name of the index or constraint in Neo4j."""
        return "_".join(["starcast", self.element.name.lower(), *self.properties])

    @property
    def on(self) -> str:
        """The indexed label or type and the indexed properties, such as ``Forest(topology)``."""
        return f"{self.element.name}({', '.join(self.properties)})"

    @property
    def statement(self) -> str:
        """The Cypher statement that creates the index or constraint unless it exists."""
        kind, verb, condition = (
            ("CONSTRAINT", "REQUIRE", " IS UNIQUE") if self.unique else ("INDEX", "ON", "")
        )
        names = ", ".join(f"n.{name}" for name in self.properties)
        return (
            f"CREATE {kind} {self.name} IF NOT EXISTS "
            f"FOR {self.element.pattern} {verb} ({names}){condition}"
        )


@dataclass(frozen=True)
class Element(ABC):
    """A node label or a relationship type.

    Attributes:
        name: the label or relationship type in Neo4j.
        meaning: a description for the page docs/schema.md.
        properties: the properties, in the order of the columns of import files.
        indexed: for each index, the tuple of its properties.
        artifact_property: the property with the id of the topology, forest or schedule to which an
            element belongs; None if the elements belong to no artifact.
    """

    name: str
    meaning: str
    properties: tuple[Property, ...]
    indexed: tuple[tuple[str, ...], ...] = field(default=(), kw_only=True)
    artifact_property: str | None = field(default=None, kw_only=True)

    @property
    @abstractmethod
    def pattern(self) -> str:
        """The Cypher pattern that matches all elements of this kind, as the variable ``n``."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the properties, in the order of declaration."""
        return tuple(declared.name for declared in self.properties)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the properties that can differ between elements of the same artifact."""
        return tuple(name for name in self.names if name != self.artifact_property)

    @property
    def indexes(self) -> list[Index]:
        """The indexes and constraints for this label or type."""
        return [Index(self, names, unique=False) for names in self.indexed]


@dataclass(frozen=True)
class Label(Element):
    """A node label in Neo4j, and the property that identifies its nodes.

    Attributes:
        key: the property whose value identifies a node.
    """

    key: str

    @property
    def pattern(self) -> str:
        """The Cypher pattern that matches all nodes with this label, as the variable ``n``."""
        return f"(n:{self.name})"

    @property
    def indexes(self) -> list[Index]:
        """The constraint on the key, followed by the indexes for this label."""
        return [Index(self, (self.key,), unique=True), *super().indexes]


@dataclass(frozen=True)
class Relationship(Element):
    """A relationship type, by default between nodes of a topology.

    Attributes:
        start: label of the start nodes.
        end: label of the end nodes.
    """

    start: str = "Node"
    end: str = "Node"

    @property
    def pattern(self) -> str:
        """The Cypher pattern that matches all relationships of this type, as the variable ``n``."""
        return f"()-[n:{self.name}]->()"


def _string(name: str, meaning: str) -> Property:
    return Property(name, PropertyType.STRING, meaning)


def _integer(name: str, meaning: str, always: bool = True) -> Property:
    return Property(name, PropertyType.INTEGER, meaning, always)


def _boolean(name: str, meaning: str) -> Property:
    return Property(name, PropertyType.BOOLEAN, meaning)


_STATE = _string("state", "loading until verified, then complete; use only complete artifacts")

STORE = Label(
    "Store",
    "a single node: the PostgreSQL database that this graph belongs to",
    (
        _string("id", "the id in PostgreSQL's table store"),
        _integer("schema", "version of this schema"),
    ),
    # MERGE on a unique property takes a lock, so concurrent first ingests cannot create two nodes.
    key="schema",
)
TOPOLOGY = Label(
    "Topology",
    "a topology whose nodes and links are stored",
    (
        _string("spec", "name of the topology, such as S5"),
        _string("family", "name of the family, such as star"),
        _integer("n", "first size parameter"),
        _integer("k", "second size parameter, such as k of S_n,k", always=False),
        _integer("nodes", "number of nodes"),
        _integer(
            "endpoints",
            "number of endpoints (nodes that are not switches), which have the lowest ranks",
        ),
        _integer("links", "number of undirected links"),
        _integer("degree", "maximum number of links at a node"),
        _integer(
            "diameter",
            "maximum distance between two endpoints; unknown for some networks",
            always=False,
        ),
        _boolean("has_translations", "whether the graph looks the same from every node"),
        _string("source", "the paper that defines the family, or the origin of a network"),
        Property(
            "reverse_ports",
            PropertyType.INTEGERS,
            "at index p, the port at the other end of the links of port p; 0 if there is no port p",
        ),
        _STATE,
    ),
    key="spec",
)
NODE = Label(
    "Node",
    "a node of a topology",
    (
        _integer("key", "topology and rank in one integer, unique in the store; used by writers"),
        _string("topology", "spec of the topology"),
        _integer("rank", "index in the order of labels, from 0; switches follow endpoints"),
        _string("label", "node label; on star graphs one character per symbol, 1..9 then a..z"),
        Property("title", PropertyType.STRING, "node text in a network's source", always=False),
        Property(
            "is_switch",
            PropertyType.BOOLEAN,
            "true for a switch, which only forwards; absent for other nodes",
            always=False,
        ),
    ),
    key="key",
    artifact_property="topology",
    # The unique key makes the pair of topology and rank unique as well. A second constraint would
    # have to be checked for every node before a new store can be used, whereas an index is filled
    # while the store is in use.
    # The indexes on a single property serve queries of users, who rarely constrain two properties.
    indexed=(("topology",), ("label",), ("topology", "rank"), ("topology", "label")),
)
FOREST = Label(
    "Forest",
    "the trees of one construction for one root",
    (
        _string("id", "topology:construction(arguments):label of the root"),
        _string("topology", "spec of the topology"),
        _string("construction", "name of the construction"),
        _string("arguments", "the construction's arguments, such as base=greedy,i=2; or empty"),
        _integer("root", "rank of the common root"),
        _integer("trees", "number of trees"),
        _integer("height", "largest level in any tree"),
        _integer("congestion", "maximum number of trees that use the same directed link"),
        _STATE,
    ),
    key="id",
    indexed=(("topology",),),
)
SCHEDULE = Label(
    "Schedule",
    "a schedule of a collective; its sends are relationships of the type SEND",
    (
        _string("id", "topology:collective:algorithm:ports:arguments:label of the root"),
        _string("topology", "spec of the topology"),
        _string("collective", "the collective that the schedule performs, such as broadcast"),
        _string("algorithm", "name of the algorithm"),
        _string("ports", "port model that the schedule satisfies: all or one"),
        _string("arguments", "the algorithm's arguments, such as segments=4"),
        _integer("root", "rank of the root"),
        _integer("units", "number of units, which are numbered from 0 to units - 1"),
        _boolean(
            "packets", "whether a directed link may carry several units in a step, as a packet"
        ),
        _integer("steps", "the last step in which a unit moves"),
        _boolean("symmetric", "whether the sends of one source represent those of all sources"),
        _STATE,
    ),
    key="id",
    indexed=(("topology",),),
)
LINK = Relationship(
    "LINK",
    "an undirected link, stored once, from the node of lower rank to the node of higher rank",
    (
        _string("topology", "spec of the topology"),
        _integer("port", "port of the lower-rank node that leads to the higher-rank node"),
    ),
    artifact_property="topology",
    indexed=(("topology",),),
)
#: The relationship type of links in a network whose links differ in capacity or latency.
UNEQUAL_LINK = replace(
    LINK,
    properties=(
        *LINK.properties,
        _integer("capacity", "capacity of the link, in a network whose links differ", False),
        _integer(
            "latency", "latency in the time unit of T_s, in a network whose links differ", False
        ),
    ),
)
TREE_EDGE = Relationship(
    "TREE_EDGE",
    "a directed link that a tree uses, from parent to child",
    (
        _string("forest", "id of the forest"),
        _integer("tree", "number of the tree, from 0"),
        _integer("level", "the child's distance from the root in that tree, from 1"),
        _integer("port", "the parent's port towards the child"),
        _integer("subtree_nodes", "number of nodes in the child's subtree, including the child"),
    ),
    artifact_property="forest",
    indexed=(("forest",), ("forest", "tree")),
)
SEND = Relationship(
    "SEND",
    "a unit that crosses a directed link in a step",
    (
        _string("schedule", "id of the schedule"),
        _integer("step", "number of the step, from 1"),
        _integer("tree", "number of the tree along which the unit travels, from 0"),
        _integer("port", "the sender's port"),
        _integer("unit", "number of the unit, from 0"),
        _integer(
            "combine",
            "1 if the receiver adds the unit to its partial sum, in reductions; otherwise 0",
        ),
    ),
    artifact_property="schedule",
    indexed=(("schedule",), ("schedule", "step")),
)
ON = Relationship("ON", "the topology of a forest", (), "Forest", "Topology")
USES = Relationship("USES", "the forest whose trees a schedule uses", (), "Schedule", "Forest")

LABELS = (STORE, TOPOLOGY, NODE, FOREST, SCHEDULE)
RELATIONSHIPS = (UNEQUAL_LINK, TREE_EDGE, SEND, ON, USES)
ELEMENTS: tuple[Element, ...] = (*LABELS, *RELATIONSHIPS)
INDEXES = [index for element in ELEMENTS for index in element.indexes]


def find_titles(topology: "Topology") -> Sequence[str]:
    """Return the titles of a network's nodes in order of rank; empty for other topologies."""
    titles: Sequence[str] = getattr(topology, "titles", ())
    return titles


#: Families whose position in this tuple is part of their nodes' keys. The keys of other families'
#: nodes begin with a number from `KEY_NUMBERS`.
_NUMBERED_FAMILIES = ("star", "nk-star", "hypercube")

#: The smallest number that `KEY_NUMBERS` can contain.
_FIRST_NUMBER = 1 << 20
#: Numbers that replace family, n and k in the node keys of topologies whose family is not one of
#: `_NUMBERED_FAMILIES`, keyed by the topology's spec. The numbers are recorded in the table
#: ``node_key`` of the relational store in use.
KEY_NUMBERS: dict[str, int] = {}


def draw_number(topology: "Topology") -> int | None:
    """Return an unused 21-bit number with which the keys of a topology's nodes can begin.

    Returns:
        A number that `KEY_NUMBERS` does not contain; None if the keys need no number, or the
        topology already has a number.
    """
    if topology.family in _NUMBERED_FAMILIES or topology.spec in KEY_NUMBERS:
        return None
    number = _usual_number(topology.spec)
    taken = set(KEY_NUMBERS.values())
    while number in taken:
        number = _FIRST_NUMBER + (number + 1) % _FIRST_NUMBER
    return number


def _usual_number(spec: str) -> int:
    """Return the default 21-bit number of a topology, which is derived from the spec."""
    # Python's own hash of a text differs between processes.
    return _FIRST_NUMBER + (crc32(spec.encode()) >> 12)


def first_key(topology: "Topology") -> int:
    """Return the key of a topology's node 0; the node of rank r has the key ``first_key + r``.

    For star graphs, (n,k)-stars and hypercubes, the key has four parts: the family's number, n in
    five bits, k in five bits and the rank. For (n,k)-stars with n from 32 to 35, n overflows into
    the number of the family, which becomes that of the hypercubes. The keys still differ, because k
    is positive for an (n,k)-star and 0 for a hypercube. For any other family, a number from
    `KEY_NUMBERS` replaces family, n and k. If `KEY_NUMBERS` has none for the topology, the number
    is derived from the spec.
    """
    if topology.family in _NUMBERED_FAMILIES:
        family = _NUMBERED_FAMILIES.index(topology.family)
        number = (family << 10) + (topology.n << 5) + (topology.k or 0)
    else:
        number = KEY_NUMBERS.get(topology.spec) or _usual_number(topology.spec)
    return number << RANK_BITS
