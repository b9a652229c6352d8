"""The way back: what the graph holds, as counts and checksums, and as the arrays it was made from.

One thing is read page by page through its nodes' keys, so that no answer and no transaction grows with the topology. The whole
store is counted in one scan of each type, grouped by owner: per relationship that is three times as fast.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from starcast.collectives import Schedule
from starcast.errors import InputError, NotFoundError
from starcast.graph.artifact_nodes import LABEL_OF, RELATIONSHIP_OF, Owner
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
from starcast.topologies import Topology, topology
from starcast.trees import Forest
from starcast.trees.spec_syntax import parse_arguments

#: Nodes a page.
PAGE = 8_192

#: Scans at a time: more find no processor to run on.
_SCANS = 2

_MIXING = {"modulus": MODULUS, "factor": FACTOR, "digits": DIGITS}


def pages(topology: Topology, size: int = PAGE) -> Iterator[dict[str, int]]:
    """Ranges of keys, ``low`` inclusive to ``high`` exclusive, that cover the nodes of a topology."""
    first = first_key(topology)
    for rank in range(0, topology.nodes, size):
        yield {"low": first + rank, "high": first + min(rank + size, topology.nodes)}


def content(graph: Graph, kind: str, key: str, topology: Topology) -> Content:
    """What the graph holds of a topology, a forest or a schedule, counted and summed by the server."""
    nodes = (
        _sum(graph, _NODES, topology, {"topology": topology.spec}) if kind == "topology" else (0, 0)
    )
    found = _sum(graph, _relationships(RELATIONSHIP_OF[kind]), topology, {"owner": key})
    return Content(nodes[0], found[0], (nodes[1], found[1]))


def _sum(
    graph: Graph, cypher: str, topology: Topology, parameters: dict[str, Any]
) -> tuple[int, int]:
    found, mixed = 0, 0
    for page in pages(topology):
        row = graph.read(cypher, {**_MIXING, **parameters, **page, "first": first_key(topology)})[0]
        found, mixed = found + row["found"], mixed + row["mixed"]
    return found, mixed


def contents(graph: Graph) -> dict[tuple[str, str], Content]:
    """What the graph holds of everything, by kind and key: of each thing that is there, and of whatever says it is part of one.

    Other than `content` this counts also what a thing has outside its topology. Four scans, two at a time.
    """
    there = states(graph)
    first = {
        key: first_key(topology)
        for (_, key), row in there.items()
        if (topology := _known(row["topology"])) is not None
    }
    found: dict[tuple[str, str], Content] = dict.fromkeys(there, Content(0, 0, (0, 0)))
    with ThreadPoolExecutor(_SCANS) as pool:
        rows = {
            kind: pool.submit(graph.read, cypher, {**_MIXING, "first": first})
            for kind, cypher in _ALL.items()
        }
    for row in rows["node"].result():
        found["topology", row["owner"]] = Content(row["found"], 0, (row["mixed"], 0))
    for kind in RELATIONSHIP_OF:
        for row in rows[kind].result():
            nodes = found.get((kind, row["owner"]), Content(0, 0, (0, 0)))
            found[kind, row["owner"]] = Content(
                nodes.nodes, row["found"], (nodes.sums[0], row["mixed"])
            )
    return found


def _known(spec: str | None) -> Topology | None:
    try:
        return topology(spec or "")
    except InputError:  # somebody else wrote it
        return None


def _scan(kind: Relationship) -> str:
    first = f"$first[r.{kind.owner}]"
    return (
        f"MATCH (a)-[r:{kind.name}]->(b) RETURN coalesce(r.{kind.owner}, '') AS owner, count(r) AS found, "
        f"sum({checksum_cypher(_values(kind, first))}) AS mixed"
    )


_NODES = (
    f"MATCH (n:{NODE.name}) WHERE $low <= n.key < $high AND n.topology = $topology "
    f"RETURN count(n) AS found, sum({node_checksum_cypher()}) AS mixed"
)


def _span(kind: Relationship) -> str:
    return f"MATCH (a:{kind.start})-[r:{kind.name}]->(b) WHERE $low <= a.key < $high AND r.{kind.owner} = $owner"


def _relationships(kind: Relationship) -> str:
    return f"{_span(kind)} RETURN count(r) AS found, sum({checksum_cypher(_values(kind, '$first'))}) AS mixed"


def _values(kind: Relationship, first: str) -> list[str]:
    """What the checksum of a relationship reads, where ``first`` is the key of its topology's node 0."""
    return [f"a.key - {first}", f"b.key - {first}", *(f"r.{name}" for name in kind.columns)]


#: A scan for nodes, and one for each kind of thing: what there is of every owner.
_ALL = {
    "node": f"MATCH (n:{NODE.name}) RETURN coalesce(n.topology, '') AS owner, count(n) AS found, "
    f"sum({node_checksum_cypher('$first[n.topology]')}) AS mixed",
    **{kind: _scan(relationship) for kind, relationship in RELATIONSHIP_OF.items()},
}


def differences(graph: Graph, owner: Owner) -> list[str]:
    """Where the node of a thing is not as it should be, one line each: a property, or what it hangs from."""
    found = graph.read(
        f"MATCH (o:{owner.label.name} {{{owner.key_name}: $key}}) "
        "RETURN properties(o) AS properties, [(o)-[r:ON|USES]->(p) | [type(r), coalesce(p.name, p.id)]] AS parents",
        {"key": owner.key},
    )
    if len(found) != 1:
        return [f"there are {len(found)} nodes of that name"]
    meant = {name: value for name, value in owner.properties.items() if value is not None}
    there = {name: value for name, value in found[0]["properties"].items() if name != "state"}
    wrong = sorted(
        name for name in meant.keys() | there.keys() if meant.get(name) != there.get(name)
    )
    parents = [] if owner.parent is None else [[owner.parent[0].name, owner.parent[2]]]
    return [f"the property {name}" for name in wrong] + (
        ["what it hangs from"] if found[0]["parents"] != parents else []
    )


def states(graph: Graph) -> dict[tuple[str, str], dict[str, Any]]:
    """All things in the graph by kind and key: state, and the topology and the forest they hang from."""
    found = {}
    for kind, label in LABEL_OF.items():
        uses = "[(o)-[:USES]->(f) | f.id][0]" if label is SCHEDULE else "null"
        topology = "o.name" if kind == "topology" else "o.topology"
        rows = graph.read(
            f"MATCH (o:{label.name}) RETURN o.{label.unique[0][0]} AS key, o.state AS state, {topology} AS topology, "
            f"{uses} AS forest ORDER BY key"
        )
        found.update({(kind, row["key"]): row for row in rows})
    return found


def read_labels(graph: Graph, topology: Topology) -> list[str]:
    """The labels of the stored nodes of a topology, by rank."""
    cypher = f"MATCH (n:{NODE.name}) WHERE $low <= n.key < $high AND n.topology = $topology RETURN n.label AS label ORDER BY n.rank"
    rows = (graph.read(cypher, {**page, "topology": topology.spec}) for page in pages(topology))
    return [row["label"] for page in rows for row in page]


def read_links(graph: Graph, topology: Topology) -> Rows:
    """The stored links of a topology, sorted."""
    return read_rows(graph, LINK, topology.spec, topology)


def read_rows(graph: Graph, kind: Relationship, owner: str, topology: Topology) -> Rows:
    """The stored relationships of a thing, sorted."""
    names = ["a.rank", "b.rank", *(f"r.{name}" for name in kind.columns)]
    cypher = f"{_span(kind)} RETURN [{', '.join(names)}] AS row"
    found = [
        row["row"]
        for page in pages(topology)
        for row in graph.read(cypher, {**page, "owner": owner})
    ]
    columns = np.array(found, dtype=np.int64).reshape(-1, len(names)).T
    others = dict(zip(kind.columns, columns[2:], strict=True))
    return Rows(kind, owner, topology, columns[0], columns[1], others).sorted()


def read_forest(graph: Graph, key: str) -> Forest:
    """A stored forest, as the array it was made from.

    Raises:
        NotFoundError: it is not in the graph.
    """
    node = _node(graph, FOREST, key)
    where = topology(node["topology"])
    rows = read_rows(graph, TREE_EDGE, key, where)
    back = where.reverse_ports()
    ports = np.zeros((node["trees"], where.nodes), dtype=np.uint8)
    ports[rows.columns["tree"], rows.end] = back[rows.columns["port"]]
    spanning = len(rows) == node["trees"] * (where.nodes - 1)
    arguments = parse_arguments(node.get("arguments", ""))  # older stores have none
    return Forest(
        where,
        ports,
        node["root"],
        construction=node["construction"],
        arguments=arguments,
        spanning=spanning,
    )


def read_schedule(graph: Graph, key: str) -> Schedule:
    """A stored schedule, its rows by step, sender, port and tree.

    Raises:
        NotFoundError: it is not in the graph.
    """
    node = _node(graph, SCHEDULE, key)
    where = topology(node["topology"])
    rows = read_rows(graph, SEND, key, where)
    columns = rows.columns
    order = np.lexsort((columns["tree"], columns["port"], rows.start, columns["step"]))
    return Schedule(
        topology=where,
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


def _node(graph: Graph, label: Label, key: str) -> dict[str, Any]:
    found = graph.read(
        f"MATCH (o:{label.name} {{{label.unique[0][0]}: $key}}) RETURN properties(o) AS node",
        {"key": key},
    )
    if not found:
        raise NotFoundError(
            f"no {label.name.lower()} '{key}' is in the graph", hint="see 'starcast topology list'"
        )
    node: dict[str, Any] = found[0]["node"]
    return node
