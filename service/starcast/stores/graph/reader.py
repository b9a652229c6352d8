"""Reading the graph: counts, checksums, artifact nodes, and all relationships at given nodes.

A single artifact is read in pages of node keys, so that neither a result nor a transaction grows
with the topology. The entire store is read by scanning each relationship type and grouping by
artifact, which is three times as fast per relationship.

A node or relationship whose properties are not exactly as declared adds nothing to a checksum, so
its artifact is reported as different.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import wait
from typing import Any, NamedTuple

from starcast.stores.graph.artifacts import LABEL_OF, RELATIONSHIP_OF, GraphArtifact, id_property
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.rows import (
    DIGITS,
    FACTOR,
    MODULUS,
    Content,
    checksum_cypher,
    node_checksum_cypher,
)
from starcast.stores.graph.schema import (
    NODE,
    GraphState,
    Label,
    Relationship,
    first_key,
)
from starcast.support.errors import InputError
from starcast.topologies import Topology
from starcast.topologies import topology as parse_topology

#: Nodes per page.
PAGE = 8_192

#: Concurrent statements. The default machine has two processors; more would not be faster.
_READERS = 2

_CHECKSUM_PARAMETERS = {"modulus": MODULUS, "factor": FACTOR, "digits": DIGITS}
_EMPTY = Content(0, 0, (0, 0))


def pages(topology: Topology, size: int = PAGE) -> Iterator[dict[str, int]]:
    """Yield ranges of node keys, from ``low`` to ``high`` - 1, that together cover a topology."""
    first = first_key(topology)
    for rank in range(0, topology.nodes, size):
        yield {"low": first + rank, "high": first + min(rank + size, topology.nodes)}


def read_content(graph: Graph, kind: str, artifact_id: str, topology: Topology) -> Content:
    """Return the counts and checksums of an artifact, computed by the server.

    Only nodes with keys of the topology, and relationships that start there, are counted.
    """
    nodes, node_sum = 0, 0
    if kind == "topology":
        nodes, node_sum = _sum(graph, _NODE_SUMS, topology, {"topology": topology.spec})
    cypher = _relationship_sums(RELATIONSHIP_OF[kind])
    relationships, row_sum = _sum(graph, cypher, topology, {"artifact": artifact_id})
    return Content(nodes, relationships, (node_sum, row_sum))


def _sum(
    graph: Graph, cypher: str, topology: Topology, parameters: dict[str, Any]
) -> tuple[int, int]:
    common = {**_CHECKSUM_PARAMETERS, **parameters, "first": first_key(topology)}

    def read(page: dict[str, int]) -> tuple[int, int]:
        [row] = graph.read(cypher, {**common, **page})
        return row["count"], row["checksum"]

    with graph.concurrent(_READERS) as pool:
        counts, checksums = zip(*pool.map(read, pages(topology)), strict=True)
    return sum(counts), sum(checksums)


def read_all_contents(graph: Graph) -> dict[tuple[str, str], Content]:
    """Return the content of every artifact, by kind and id, computed by the server.

    Unlike `read_content`, this also counts nodes and relationships outside an artifact's topology,
    and includes ids that occur on relationships only, without an artifact's node.
    """
    first = {}
    nodes = read_artifact_nodes(graph)
    for (kind, artifact_id), [stored, *_] in nodes.items():
        spec = artifact_id if kind == "topology" else str(stored.properties.get("topology", ""))
        if topology := _parse_topology(spec):
            first[artifact_id] = first_key(topology)
    parameters = {**_CHECKSUM_PARAMETERS, "first": first, "scans": _READERS}
    with graph.concurrent(_READERS) as pool:
        scans = [
            (kind, pool.submit(graph.read, cypher, {**parameters, "scan": scan}))
            for kind, cypher in _SCAN.items()
            for scan in range(_READERS)
        ]
        wait([result for _, result in scans])
    contents: dict[tuple[str, str], Content] = dict.fromkeys(nodes, _EMPTY)
    for kind, result in scans:
        for row in result.result():
            if kind == "node":
                found = Content(row["count"], 0, (row["checksum"], 0))
                key = ("topology", row["artifact"])
            else:
                found = Content(0, row["count"], (0, row["checksum"]))
                key = (kind, row["artifact"])
            contents[key] = contents.get(key, _EMPTY) + found
    return contents


def _parse_topology(spec: str) -> Topology | None:
    try:
        return parse_topology(spec)
    except InputError:  # the node was not written by starcast
        return None


def _valid(element: Label | Relationship, variable: str, checksum: str) -> str:
    """Return Cypher for ``checksum``, or for 0 if an element's properties are not as declared."""
    tests = [f"{variable}.{each.name} IS :: {each.type} NOT NULL" for each in element.properties]
    tests.append(f"size(keys({variable})) = {len(tests)}")
    return f"CASE WHEN {' AND '.join(tests)} THEN {checksum} ELSE 0 END"


def _relationship_sums(relationship: Relationship) -> str:
    checksum = _valid(relationship, "r", checksum_cypher(_values(relationship, "$first")))
    return (
        f"MATCH (a:{relationship.start})-[r:{relationship.name}]->(b) "
        f"WHERE $low <= a.key < $high AND r.{relationship.artifact_property} = $artifact "
        f"RETURN count(r) AS count, sum({checksum}) AS checksum"
    )


def _values(relationship: Relationship, first: str) -> list[str]:
    """Return Cypher for a relationship's ends and columns, where ``first`` is the key of node 0."""
    columns = [f"r.{name}" for name in relationship.columns]
    return [f"a.key - {first}", f"b.key - {first}", *columns]


def _in_scan(variable: str) -> str:
    """Return the Cypher condition that selects one scan's share of the nodes or relationships.

    It uses Neo4j's internal id, because any stored property may have been edited.
    """
    return f"id({variable}) % $scans = $scan"


def _scan(relationship: Relationship) -> str:
    artifact = f"r.{relationship.artifact_property}"
    checksum = _valid(
        relationship, "r", checksum_cypher(_values(relationship, f"$first[{artifact}]"))
    )
    return (
        f"MATCH (a)-[r:{relationship.name}]->(b) WHERE {_in_scan('r')} "
        f"RETURN coalesce({artifact}, '') AS artifact, "
        f"count(r) AS count, sum({checksum}) AS checksum"
    )


_NODE_SUMS = (
    f"MATCH (n:{NODE.name}) WHERE $low <= n.key < $high AND n.topology = $topology "
    f"RETURN count(n) AS count, sum({_valid(NODE, 'n', node_checksum_cypher())}) AS checksum"
)

#: Cypher of the node scan, and of the relationship scan for each kind of artifact.
_SCAN = {
    "node": f"MATCH (n:{NODE.name}) WHERE {_in_scan('n')} "
    f"RETURN coalesce(n.topology, '') AS artifact, count(n) AS count, "
    f"sum({_valid(NODE, 'n', node_checksum_cypher('$first[n.topology]'))}) AS checksum",
    **{kind: _scan(relationship) for kind, relationship in RELATIONSHIP_OF.items()},
}


class StoredNode(NamedTuple):
    """An artifact's node in the graph, with its parents as pairs of relationship type and id."""

    properties: dict[str, Any]
    parents: list[tuple[str, str]]


def read_artifact_nodes(
    graph: Graph, kinds: Iterable[str] = LABEL_OF, artifact_id: str | None = None
) -> dict[tuple[str, str], list[StoredNode]]:
    """Return the nodes of all artifacts, or of those with one id, by kind and id.

    An artifact has several nodes only in a manually edited graph. A missing id is returned as the
    empty string.
    """
    statements = []
    for kind in kinds:
        label = LABEL_OF[kind]
        name = id_property(label)
        condition = "" if artifact_id is None else f"WHERE o.{name} = $id"
        # An edited id can have any type; toStringOrNull returns null instead of failing.
        statements.append(
            f"MATCH (o:{label.name}) {condition} RETURN '{kind}' AS kind, "
            f"toStringOrNull(o.{name}) AS id, properties(o) AS properties, COLLECT {{ "
            "MATCH (o)-[r]->(p) RETURN [type(r), coalesce(p.spec, p.id, '')] } AS parents"
        )
    nodes = defaultdict(list)
    # One statement reads everything, because a freshly started server plans statements slowly.
    for row in graph.read(" UNION ALL ".join(statements), {"id": artifact_id}):
        parents = [(relationship, str(parent)) for relationship, parent in row["parents"]]
        nodes[row["kind"], row["id"] or ""].append(StoredNode(row["properties"], parents))
    return dict(nodes)


def find_node_differences(
    artifact: GraphArtifact,
    nodes: Sequence[StoredNode],
    state: GraphState = GraphState.COMPLETE,
) -> list[str]:
    """Describe how an artifact's nodes in the graph differ from the single expected node."""
    name = f"(:{artifact.label.name})"
    if len(nodes) != 1:
        return [
            f"{len(nodes)} nodes {name} exist instead of one" if nodes else f"no node {name} exists"
        ]
    [(actual, parents)] = nodes
    expected = {**artifact.properties, "state": state.value}
    differences = []
    for key in sorted(expected.keys() | actual.keys()):
        found, wanted = actual.get(key), expected.get(key)
        # The types are compared too, since 1, 1.0 and true are equal in Python.
        if (type(found), found) != (type(wanted), wanted):
            differences.append(f"{name} has {key} {found}, not {wanted}")
    if parents != artifact.parents:
        differences.append(f"{name} depends on {parents}, not on {artifact.parents}")
    return differences


class Nodes(NamedTuple):
    """Nodes of the graph that are read together: by their keys, or by Neo4j's internal ids.

    Attributes:
        numbers: the keys or ids.
        by_id: whether the numbers are ids, which need no index.
    """

    numbers: list[int]
    by_id: bool = False

    @property
    def condition(self) -> str:
        """Cypher that restricts a matched ``n`` to these nodes, with the parameter ``$numbers``."""
        if self.by_id:
            return "WHERE id(n) IN $numbers"
        # Without the hint, statistics of an earlier, smaller store may lead the server to read all
        # nodes. The server ignores the hint if the index is missing.
        return f"USING INDEX SEEK n:{NODE.name}(key) WHERE n.key IN $numbers"


def read_around(graph: Graph, nodes: Nodes) -> dict[tuple[str, str], list[tuple[Any, ...]]]:
    """Return the stored relationships that begin or end at these nodes, by artifact kind and id.

    Each is a tuple of its start key, its end key, the columns of its type, and any other
    properties. In a manually edited graph, a value may have any type.
    """
    cypher = (
        # DISTINCT, because a relationship between two of the nodes is found from both of them.
        f"MATCH (n:{NODE.name})-[r]-() {nodes.condition} WITH DISTINCT r "
        "RETURN type(r) AS type, startNode(r).key AS start, endNode(r).key AS end, "
        "properties(r) AS properties"
    )
    kinds = {relationship.name: kind for kind, relationship in RELATIONSHIP_OF.items()}
    rows = defaultdict(list)
    for row in graph.read(cypher, {"numbers": nodes.numbers}):
        kind = kinds.get(row["type"])
        if kind is None:
            continue
        relationship, properties = RELATIONSHIP_OF[kind], row["properties"]
        artifact_id = str(properties.pop(relationship.artifact_property, ""))
        values = (properties.pop(name, None) for name in relationship.columns)
        rows[kind, artifact_id].append((row["start"], row["end"], *values, *properties.items()))
    return rows


def read_nodes(graph: Graph, nodes: Nodes) -> list[list[Any]]:
    """Return the key, rank, label and topology of each of these nodes that is stored."""
    cypher = (
        f"MATCH (n:{NODE.name}) {nodes.condition} "
        "RETURN [n.key, n.rank, n.label, n.topology] AS row ORDER BY n.key"
    )
    return [row["row"] for row in graph.read(cypher, {"numbers": nodes.numbers})]
