"""Read the graph: counts, checksums, artifact nodes, and all relationships at given nodes.

A single artifact is read in pages, which are ranges of node keys, so that neither a result nor a
transaction grows with the topology. The entire store is read by scanning each relationship type and
grouping the relationships by artifact. Per relationship, a scan is three times as fast as reading
pages.

A node or relationship whose properties are not exactly as declared adds nothing to a checksum, so
its artifact is reported as different from the expected artifact.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import wait
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from starcast.stores.graph.artifacts import (
    DIGITS,
    FACTOR,
    LABEL_OF,
    MODULUS,
    RELATIONSHIP_OF,
    Content,
    GraphArtifact,
    checksum_cypher,
    node_checksum_cypher,
)
from starcast.stores.graph.connection import Graph
from starcast.stores.graph.schema import NODE, Element, GraphState, first_key
from starcast.support.errors import InputError
from starcast.support.table import Row
from starcast.topologies import Topology
from starcast.topologies import topology as parse_topology

#: Default number of nodes per page. One statement reads one page.
PAGE = 8_192

#: Number of concurrent statements. On a machine with two processors, more statements would not be
#: faster.
_READERS = 2

_CHECKSUM_PARAMETERS = {"modulus": MODULUS, "factor": FACTOR, "digits": DIGITS}


def pages(topology: Topology, size: int = PAGE) -> Iterator[dict[str, int]]:
    """Yield ranges of node keys, from ``low`` to ``high`` - 1, that cover a topology's nodes."""
    first = first_key(topology)
    for rank in range(0, topology.nodes, size):
        yield {"low": first + rank, "high": first + min(rank + size, topology.nodes)}


def read_content(graph: Graph, kind: str, artifact_id: str, topology: Topology) -> Content:
    """Return the counts and checksums of an artifact, computed by the server.

    Only nodes with keys of the topology, and relationships that start at these nodes, are counted.

    Args:
        graph: the database.
        kind: topology, forest or schedule.
        artifact_id: the artifact's id.
        topology: the artifact's topology.
    """
    elements = [*([NODE] if kind == "topology" else []), RELATIONSHIP_OF[kind]]
    parameters = {**_CHECKSUM_PARAMETERS, "artifact": artifact_id, "first": first_key(topology)}
    content = Content()
    with graph.concurrent(_READERS) as pool:
        for element in elements:
            read = partial(graph.read, _sums_in_page(element))
            for [row] in pool.map(read, ({**parameters, **page} for page in pages(topology))):
                content += _content(element, row)
    return content


def _content(element: Element, row: Row) -> Content:
    if element is NODE:
        return Content(row["count"], 0, (row["checksum"], 0))
    return Content(0, row["count"], (0, row["checksum"]))


def read_all_contents(graph: Graph) -> dict[tuple[str, str], Content]:
    """Return the counts and checksums of all artifacts, computed by the server.

    The keys are pairs of an artifact's kind and id.

    Unlike `read_content`, this also counts nodes and relationships outside an artifact's topology,
    and includes artifacts whose own node is missing from the graph.
    """
    first = {}
    nodes = read_artifact_nodes(graph)
    for (kind, artifact_id), [stored, *_] in nodes.items():
        spec = artifact_id if kind == "topology" else str(stored.properties.get("topology", ""))
        with suppress(InputError):  # another program's node may have an invalid spec
            first[artifact_id] = first_key(parse_topology(spec))
    parameters = {**_CHECKSUM_PARAMETERS, "first": first, "scans": _READERS}
    with graph.concurrent(_READERS) as pool:
        scans = [
            (kind, element, pool.submit(graph.read, _scan(element), {**parameters, "scan": scan}))
            for kind, element in [("topology", NODE), *RELATIONSHIP_OF.items()]
            for scan in range(_READERS)
        ]
        wait([result for _, _, result in scans])
    contents: dict[tuple[str, str], Content] = dict.fromkeys(nodes, Content())
    for kind, element, result in scans:
        for row in result.result():
            key = (kind, row["artifact"])
            contents[key] = contents.get(key, Content()) + _content(element, row)
    return contents


def _sums_in_page(element: Element) -> str:
    """Return Cypher for the count and checksum of an artifact's nodes or relationships on a page.

    A page consists of the nodes with keys from ``$low`` to ``$high - 1``, and the relationships
    that start at these nodes.
    """
    pattern = f"(a:{NODE.name})"
    if element is not NODE:
        pattern += f"-[r:{element.name}]->(b)"
    artifact = f"{_variable(element)}.{element.artifact_property}"
    return (
        f"MATCH {pattern} WHERE $low <= a.key < $high AND {artifact} = $artifact "
        f"RETURN {_sums(element, '$first')}"
    )


def _scan(element: Element) -> str:
    """Return Cypher for the counts and checksums of all artifacts' nodes or relationships.

    The statement divides the graph into ``$scans`` parts, and reads part ``$scan`` (from 0).
    """
    pattern = f"(a:{NODE.name})" if element is NODE else f"(a)-[r:{element.name}]->(b)"
    variable = _variable(element)
    artifact = f"{variable}.{element.artifact_property}"
    return (
        # The parts of a scan are defined by Neo4j's internal ids, because any stored property might
        # have been edited.
        f"MATCH {pattern} WHERE id({variable}) % $scans = $scan "
        f"RETURN coalesce({artifact}, '') AS artifact, {_sums(element, f'$first[{artifact}]')}"
    )


def _variable(element: Element) -> str:
    return "a" if element is NODE else "r"


def _sums(element: Element, first: str) -> str:
    """Return Cypher for the number and the checksum of nodes or relationships.

    An element with invalid properties adds 0 to the checksum.

    Args:
        element: the label of the nodes, or the type of the relationships. In the Cypher, a node is
            called ``a``, and a relationship ``r`` leads from ``a`` to ``b``.
        first: Cypher expression for the key of node 0.
    """
    variable = _variable(element)
    always = [each for each in element.properties if each.always]
    tests = [f"{variable}.{each.name} IS :: {each.type} NOT NULL" for each in always]
    allowed = str(len(tests))
    for each in element.properties:
        if not each.always:
            # In Cypher, ``IS ::`` is also true for a property that the element lacks.
            tests.append(f"{variable}.{each.name} IS :: {each.type}")
            allowed += f" + toInteger({variable}.{each.name} IS NOT NULL)"
    tests.append(f"size(keys({variable})) = {allowed}")
    if element is NODE:
        checksum = node_checksum_cypher(first)
    else:
        ends = (f"a.key - {first}", f"b.key - {first}")
        columns = [f"r.{each.name}" for each in always if each.name in element.columns]
        checksum = checksum_cypher([*ends, *columns])
        if optional := [f"r.{each.name}" for each in element.properties if not each.always]:
            whole = checksum_cypher([*ends, *columns, *optional])
            checksum = f"CASE WHEN {optional[0]} IS NULL THEN {checksum} ELSE {whole} END"
    valid = f"CASE WHEN {' AND '.join(tests)} THEN {checksum} ELSE 0 END"
    return f"count({variable}) AS count, sum({valid}) AS checksum"


class StoredNode(NamedTuple):
    """An artifact's node in the graph, and its parents as pairs of relationship type and id."""

    properties: dict[str, Any]
    parents: list[tuple[str, str]]


def read_artifact_nodes(
    graph: Graph, artifact_id: str | None = None
) -> dict[tuple[str, str], list[StoredNode]]:
    """Return the Topology, Forest and Schedule nodes with the given id (default: all).

    The keys are pairs of kind and id. The values are lists, because an artifact may have several
    nodes in a manually edited graph. A missing id is returned as the empty string.
    """
    labels = "|".join(label.name for label in LABEL_OF.values())
    condition = "" if artifact_id is None else "WHERE $id IN [o.spec, o.id]"
    nodes = defaultdict(list)
    # A freshly started server plans statements slowly. A single statement that reads all nodes and
    # evaluates few expressions takes half as long as one statement per label.
    for row in graph.read(
        f"MATCH (o:{labels}) {condition} "
        "RETURN labels(o) AS labels, o AS properties, [(o)-[r]->(p) | [type(r), p]] AS parents",
        {"id": artifact_id},
    ):
        properties = row["properties"]
        parents = [
            (name, str(parent.get("spec", parent.get("id", "")))) for name, parent in row["parents"]
        ]
        for kind, label in LABEL_OF.items():
            if label.name in row["labels"]:
                # A manually edited id can have any type.
                stored_id = str(properties.get(label.key, ""))
                nodes[kind, stored_id].append(StoredNode(properties, parents))
    return dict(nodes)


def find_node_differences(
    artifact: GraphArtifact,
    nodes: Sequence[StoredNode],
    state: GraphState = GraphState.COMPLETE,
) -> list[str]:
    """Describe how an artifact's nodes in the graph differ from the single expected node.

    Args:
        artifact: the artifact.
        nodes: the nodes in the graph that have the artifact's label and id.
        state: the expected state of the node.
    """
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
    wanted_parents = [(artifact.parent[0].name, artifact.parent[2])] if artifact.parent else []
    if parents != wanted_parents:
        differences.append(f"{name} depends on {parents}, not on {wanted_parents}")
    return differences


def read_around(
    graph: Graph, numbers: Sequence[int], *, by_id: bool = False
) -> tuple[list[list[Any]], dict[tuple[str, str], list[tuple[Any, ...]]]]:
    """Return the given nodes, and the relationships that begin or end at them.

    Args:
        graph: the database.
        numbers: the keys of the nodes, or Neo4j's internal ids.
        by_id: whether the numbers are internal ids, by which nodes are found without an index.

    Returns:
        A list with the key, rank, label, title, `is_switch` and topology of each stored node, and
        the relationships, keyed by the kind and id of their artifact. Each relationship is a tuple
        of the start key, the end key, the columns of the relationship type, and any other
        properties. In a manually edited graph, a value may have any type.
    """
    # Without the hint USING INDEX, statistics of an earlier, smaller store may make the server read
    # all nodes. The server ignores the hint if the index is missing.
    by_key = f"USING INDEX SEEK n:{NODE.name}(key) WHERE n.key IN $numbers"
    cypher = (
        f"MATCH (n:{NODE.name}) {'WHERE id(n) IN $numbers' if by_id else by_key} "
        "RETURN [n.key, n.rank, n.label, n.title, n.is_switch, n.topology] AS node, "
        "[(n)-[r]-() | [id(r), "
        "type(r), startNode(r).key, endNode(r).key, properties(r)]] AS around ORDER BY n.key"
    )
    rows = graph.read(cypher, {"numbers": numbers})
    # A relationship between two of the nodes is found at both; the dict keeps it once.
    found = {number: values for row in rows for number, *values in row["around"]}
    kinds = {relationship.name: kind for kind, relationship in RELATIONSHIP_OF.items()}
    relationships = defaultdict(list)
    for name, start, end, properties in found.values():
        if kind := kinds.get(name):
            relationship = RELATIONSHIP_OF[kind]
            artifact_id = str(properties.pop(relationship.artifact_property, ""))
            optional = {each.name for each in relationship.properties if not each.always}
            columns = (
                properties.pop(column, None)
                for column in relationship.columns
                if column in properties or column not in optional
            )
            row = (start, end, *columns, *properties.items())
            relationships[kind, artifact_id].append(row)
    return [row["node"] for row in rows], relationships
