"""Reading the graph: counts and checksums, artifacts as arrays, and stored rows for comparison.

A single artifact is read in pages of node keys, so that neither a result nor a transaction grows
with the topology. The content of the entire store is read in scans of each relationship type,
grouped by artifact, which is three times as fast per relationship.

The functions for row-by-row comparison (`read_part` and those below) accept arbitrarily corrupted
graphs: a value that is not an integer becomes `NOT_AN_INTEGER`, which differs from every valid
value.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.collectives import Schedule
from starcast.errors import InputError, NotFoundError
from starcast.graph.artifact_nodes import LABEL_OF, RELATIONSHIP_OF, ArtifactNode, id_property
from starcast.graph.connection import Graph
from starcast.graph.rows import (
    DIGITS,
    FACTOR,
    MODULUS,
    Content,
    Rows,
    checksum_cypher,
    node_checksum_cypher,
)
from starcast.graph.schema import (
    FOREST,
    LINK,
    NODE,
    SCHEDULE,
    SEND,
    TREE_EDGE,
    Label,
    Relationship,
    first_key,
)
from starcast.support.spec_syntax import parse_arguments
from starcast.topologies import Topology
from starcast.topologies import topology as parse_topology
from starcast.trees import Forest

#: Nodes per page.
PAGE = 8_192

#: Concurrent scans. The default machine has two processors, and more scans would not be faster.
_SCANS = 2

#: Replaces stored values that are not integers.
NOT_AN_INTEGER = -(2**62)

#: Greater than all stored integers and all keys.
BEYOND = 2**60

#: Rows as int64 ``[rows, 2 + columns]``: ranks of start and end, then the columns of the type.
Table = NDArray[np.int64]

_CHECKSUM_PARAMETERS = {"modulus": MODULUS, "factor": FACTOR, "digits": DIGITS}
_EMPTY = Content(0, 0, (0, 0))


def pages(topology: Topology, size: int = PAGE) -> Iterator[dict[str, int]]:
    """Yield ranges of keys, from ``low`` up to but excluding ``high``, that cover a topology."""
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
    count = 0
    total = 0
    common = {**_CHECKSUM_PARAMETERS, **parameters, "first": first_key(topology)}
    for page in pages(topology):
        row = graph.read(cypher, {**common, **page})[0]
        count += row["count"]
        total += row["checksum"]
    return count, total


def read_all_contents(graph: Graph) -> dict[tuple[str, str], Content]:
    """Return the content of every artifact, by kind and id, computed by the server.

    Unlike `read_content`, this also counts nodes and relationships outside an artifact's topology,
    and includes ids that occur on relationships only, without an artifact's node.
    """
    first = {}
    states = read_states(graph)
    for (_, artifact_id), row in states.items():
        topology = _parse_topology(row["topology"])
        if topology is not None:
            first[artifact_id] = first_key(topology)
    parameters = {**_CHECKSUM_PARAMETERS, "first": first, "scans": _SCANS}
    with graph.concurrent(_SCANS) as pool:
        scans = [
            (kind, pool.submit(graph.read, cypher, {**parameters, "scan": scan}))
            for kind, cypher in _SCAN.items()
            for scan in range(_SCANS)
        ]
        wait([result for _, result in scans])
    contents: dict[tuple[str, str], Content] = dict.fromkeys(states, _EMPTY)
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


def _parse_topology(spec: str | None) -> Topology | None:
    try:
        return parse_topology(spec or "")
    except InputError:  # the node was not written by starcast
        return None


def _matched_rows(relationship: Relationship) -> str:
    return (
        f"MATCH (a:{relationship.start})-[r:{relationship.name}]->(b) "
        f"WHERE $low <= a.key < $high AND r.{relationship.artifact_property} = $artifact"
    )


def _relationship_sums(relationship: Relationship) -> str:
    checksum = checksum_cypher(_values(relationship, "$first"))
    return f"{_matched_rows(relationship)} RETURN count(r) AS count, sum({checksum}) AS checksum"


def _values(relationship: Relationship, first: str) -> list[str]:
    """Return the expressions of a row's values, given the one of the topology's first key."""
    columns = [f"r.{name}" for name in relationship.columns]
    return [f"a.key - {first}", f"b.key - {first}", *columns]


def _in_scan(variable: str) -> str:
    """Return the condition that selects the part of one scan; any stored value may be corrupted."""
    return f"id({variable}) % $scans = $scan"


def _scan(relationship: Relationship) -> str:
    artifact = f"r.{relationship.artifact_property}"
    checksum = checksum_cypher(_values(relationship, f"$first[{artifact}]"))
    return (
        f"MATCH (a)-[r:{relationship.name}]->(b) WHERE {_in_scan('r')} "
        f"RETURN coalesce({artifact}, '') AS artifact, "
        f"count(r) AS count, sum({checksum}) AS checksum"
    )


_NODE_SUMS = (
    f"MATCH (n:{NODE.name}) WHERE $low <= n.key < $high AND n.topology = $topology "
    f"RETURN count(n) AS count, sum({node_checksum_cypher()}) AS checksum"
)

#: The scan of nodes, and that of the relationships of each kind of artifact.
_SCAN = {
    "node": f"MATCH (n:{NODE.name}) WHERE {_in_scan('n')} "
    f"RETURN coalesce(n.topology, '') AS artifact, count(n) AS count, "
    f"sum({node_checksum_cypher('$first[n.topology]')}) AS checksum",
    **{kind: _scan(relationship) for kind, relationship in RELATIONSHIP_OF.items()},
}


def find_node_differences(graph: Graph, node: ArtifactNode) -> list[str]:
    """Return what differs between an artifact's node in the graph and the expected one.

    The result has a phrase per difference, such as ``the property height``; it is empty if the
    nodes agree. The state is not compared.
    """
    found = graph.read(
        f"MATCH (o:{node.label.name} {{{node.id_property}: $id}}) RETURN properties(o) "
        "AS properties, [(o)-[r:ON|USES]->(p) | [type(r), coalesce(p.spec, p.id)]] AS parents",
        {"id": node.id},
    )
    if len(found) != 1:
        return [f"the number of nodes with this id ({len(found)})"]
    expected = {name: value for name, value in node.properties.items() if value is not None}
    actual = {name: value for name, value in found[0]["properties"].items() if name != "state"}
    names = sorted(expected.keys() | actual.keys())
    differing = [name for name in names if expected.get(name) != actual.get(name)]
    differences = [f"the property {name}" for name in differing]
    parents = [] if node.parent is None else [[node.parent[0].name, node.parent[2]]]
    if found[0]["parents"] != parents:
        differences.append("the artifact that it depends on")
    return differences


def read_states(graph: Graph) -> dict[tuple[str, str], dict[str, Any]]:
    """Return all artifacts in the graph, by kind and id.

    Each is described by its ``state``, its ``topology``, and the ``forest`` that a schedule uses.
    """
    states = {}
    for kind, label in LABEL_OF.items():
        forest = "[(o)-[:USES]->(f) | f.id][0]" if label is SCHEDULE else "null"
        topology = "o.spec" if kind == "topology" else "o.topology"
        rows = graph.read(
            f"MATCH (o:{label.name}) RETURN o.{id_property(label)} AS id, o.state AS state, "
            f"{topology} AS topology, {forest} AS forest ORDER BY id"
        )
        states.update({(kind, row["id"]): row for row in rows})
    return states


def read_labels(graph: Graph, topology: Topology) -> list[str]:
    """Return the labels of the stored nodes of a topology, by rank."""
    cypher = (
        f"MATCH (n:{NODE.name}) WHERE $low <= n.key < $high AND n.topology = $topology "
        "RETURN n.label AS label ORDER BY n.rank"
    )
    results = (graph.read(cypher, {**page, "topology": topology.spec}) for page in pages(topology))
    return [row["label"] for rows in results for row in rows]


def read_links(graph: Graph, topology: Topology) -> Rows:
    """Return the stored links of a topology, sorted."""
    return read_rows(graph, LINK, topology.spec, topology)


def read_rows(
    graph: Graph, relationship: Relationship, artifact_id: str, topology: Topology
) -> Rows:
    """Return the stored relationships of an artifact, sorted."""
    names = ["a.rank", "b.rank", *(f"r.{name}" for name in relationship.columns)]
    cypher = f"{_matched_rows(relationship)} RETURN [{', '.join(names)}] AS row"
    found = []
    for page in pages(topology):
        found += [row["row"] for row in graph.read(cypher, {**page, "artifact": artifact_id})]
    columns = np.array(found, dtype=np.int64).reshape(-1, len(names)).T
    others = dict(zip(relationship.columns, columns[2:], strict=True))
    return Rows(relationship, artifact_id, topology, columns[0], columns[1], others).sorted()


def read_forest(graph: Graph, forest_id: str) -> Forest:
    """Return a stored forest, rebuilt from its tree edges.

    Raises:
        NotFoundError: the graph has no such forest.
    """
    node = _read_node(graph, FOREST, forest_id)
    topology = parse_topology(node["topology"])
    rows = read_rows(graph, TREE_EDGE, forest_id, topology)
    ports = np.zeros((node["trees"], topology.nodes), dtype=np.uint8)
    ports[rows.columns["tree"], rows.end] = topology.reverse_ports()[rows.columns["port"]]
    return Forest(
        topology,
        ports,
        node["root"],
        construction=node["construction"],
        # A graph of an early version has no such property.
        arguments=parse_arguments(node.get("arguments", "")),
        spanning=len(rows) == node["trees"] * (topology.nodes - 1),
    )


def read_schedule(graph: Graph, schedule_id: str) -> Schedule:
    """Return a stored schedule, its rows sorted by step, sender, port and tree.

    Raises:
        NotFoundError: the graph has no such schedule.
    """
    node = _read_node(graph, SCHEDULE, schedule_id)
    topology = parse_topology(node["topology"])
    rows = read_rows(graph, SEND, schedule_id, topology)
    columns = rows.columns
    order = np.lexsort((columns["tree"], columns["port"], rows.start, columns["step"]))
    return Schedule(
        topology=topology,
        collective=node["collective"],
        algorithm=node["algorithm"],
        ports=node["ports"],
        units=node["units"],
        packets=node["packets"],
        step=columns["step"][order].astype(np.int32),
        sender=rows.start[order].astype(np.int32),
        port=columns["port"][order].astype(np.uint8),
        receiver=rows.end[order].astype(np.int32),
        tree=columns["tree"][order].astype(np.uint8),
        unit=columns["unit"][order].astype(np.int32),
        root=node["root"],
        arguments=parse_arguments(node["arguments"]),
        symmetric=node["symmetric"],
    )


def _read_node(graph: Graph, label: Label, artifact_id: str) -> dict[str, Any]:
    found = graph.read(
        f"MATCH (o:{label.name} {{{id_property(label)}: $id}}) RETURN properties(o) AS node",
        {"id": artifact_id},
    )
    if not found:
        kind = label.name.lower()
        raise NotFoundError(
            f"the graph has no {kind} '{artifact_id}'", hint=f"see 'starcast {kind} list'"
        )
    node: dict[str, Any] = found[0]["node"]
    return node


def as_table(rows: Rows) -> Table:
    """Return rows as a table."""
    return np.column_stack([rows.start, rows.end, *rows.columns.values()])


def partition_column(relationship: Relationship) -> str:
    """Return the column by which `read_part` selects rows.

    It is the second column of the index, or the start node if the type has no index.
    """
    return relationship.indexes[0][1] if relationship.indexes else "start"


def read_part(
    graph: Graph,
    relationship: Relationship,
    artifact_id: str,
    topology: Topology,
    low: int,
    high: int,
) -> Table:
    """Return the stored rows of an artifact whose `partition_column` is in ``range(low, high)``."""
    owned = f"r.{relationship.artifact_property} = $artifact"
    if relationship is LINK:
        first = first_key(topology)
        start, stop = max(low, 0), min(high, topology.nodes)
        spans = [
            (first + rank, first + min(rank + PAGE, stop)) for rank in range(start, stop, PAGE)
        ]
        match = (
            f"(a:{NODE.name})-[r:{relationship.name}]->(b) WHERE $low <= a.key < $high AND {owned}"
        )
    else:
        spans = [(low, high)]
        selected = f"$low <= r.{partition_column(relationship)} < $high"
        match = f"(a)-[r:{relationship.name} WHERE {owned} AND {selected}]->(b)"
    cypher = f"MATCH {match} RETURN {_row(relationship)} AS row"
    rows: list[list[Any]] = []
    for begin, end in spans:
        parameters = {"artifact": artifact_id, "low": begin, "high": end}
        rows += [row["row"] for row in graph.read(cypher, parameters)]
    return _to_table(rows, relationship, topology)


def seek_keys(variable: str) -> str:
    """Return a hint to find a node by its key; the condition ``VARIABLE.key IN $keys`` follows.

    Without it, the server may prefer to read all nodes, by statistics of an earlier, smaller store.
    It ignores the hint if the index is missing.
    """
    return f"USING INDEX SEEK {variable}:{NODE.name}(key)"


def read_around(
    graph: Graph, relationship: Relationship, topology: Topology, ranks: Sequence[int]
) -> dict[str, Table]:
    """Return the stored rows that begin or end at these nodes, by artifact; each row once."""
    keys = [first_key(topology) + rank for rank in ranks]
    rows = defaultdict(list)
    # Rows with both ends among the nodes are read by the first pattern only.
    starting = f"(a:{NODE.name})-[r:{relationship.name}]->(b) {seek_keys('a')} WHERE a.key IN $keys"
    ending = (
        f"(b:{NODE.name})<-[r:{relationship.name}]-(a) {seek_keys('b')} "
        "WHERE b.key IN $keys AND NOT coalesce(a.key IN $keys, false)"
    )
    for match in (starting, ending):
        cypher = (
            f"MATCH {match} RETURN r.{relationship.artifact_property} AS artifact, "
            f"{_row(relationship)} AS row"
        )
        for row in graph.read(cypher, {"keys": keys}):
            rows[str(row["artifact"])].append(row["row"])
    return {artifact: _to_table(found, relationship, topology) for artifact, found in rows.items()}


def read_nodes(graph: Graph, keys: Sequence[int]) -> list[list[Any]]:
    """Return key, rank, label and topology of the stored nodes with these keys, sorted by key."""
    cypher = (
        f"MATCH (n:{NODE.name}) {seek_keys('n')} WHERE n.key IN $keys "
        f"RETURN {_NODE} AS row ORDER BY n.key"
    )
    return [row["row"] for row in graph.read(cypher, {"keys": list(keys)})]


def read_stray_nodes(graph: Graph, topology: Topology) -> list[list[Any]]:
    """Return the nodes that claim to belong to a topology but have none of its keys.

    Each is key, rank, label and topology; they are sorted by rank.
    """
    cypher = (
        f"MATCH (n:{NODE.name}) WHERE n.topology = $topology "
        f"AND NOT coalesce($low <= n.key < $high, false) RETURN {_NODE} AS row ORDER BY n.rank"
    )
    first = first_key(topology)
    parameters = {"topology": topology.spec, "low": first, "high": first + topology.nodes}
    return [row["row"] for row in graph.read(cypher, parameters)]


_NODE = "[n.key, n.rank, n.label, n.topology]"


def _row(relationship: Relationship) -> str:
    names = ["a.key", "b.key", *(f"r.{name}" for name in relationship.columns)]
    return f"[{', '.join(names)}]"


def _to_table(found: list[list[Any]], relationship: Relationship, topology: Topology) -> Table:
    try:
        rows = np.array(found, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        integers = [
            [value if isinstance(value, int) else NOT_AN_INTEGER for value in row] for row in found
        ]
        rows = np.array(integers, dtype=np.int64)
    rows = rows.reshape(-1, 2 + len(relationship.columns))
    rows[:, :2] -= first_key(topology)
    return rows
