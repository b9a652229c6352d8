"""The stored rows of a thing, or those around some nodes, for a comparison row by row.

Here the store may hold anything. A value that is no integer becomes `ODD`, so that it differs from all that was meant.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from starcast.graph.connection import Graph
from starcast.graph.reader import PAGE
from starcast.graph.rows import Rows
from starcast.graph.schema import LINK, NODE, Relationship, first_key
from starcast.topologies import Topology

#: Stands where an integer should.
ODD = -(2**62)

#: Greater than all that is stored, and than a key.
BEYOND = 2**60

#: Rows: start and end as ranks, then the columns of the type, int64 ``[rows, 2 + columns]``.
Table = NDArray[np.int64]


def table(rows: Rows) -> Table:
    """The rows that were built."""
    return np.column_stack([rows.start, rows.end, *rows.columns.values()])


def split_by(kind: Relationship) -> str:
    """The column by which the store is asked for a part of a thing: what the index has second, or the start node."""
    return kind.indexes[0][1] if kind.indexes else "start"


def part(
    graph: Graph, kind: Relationship, owner: str, topology: Topology, low: int, high: int
) -> Table:
    """The stored rows of a thing whose `split_by` lies from ``low`` inclusive to ``high`` exclusive."""
    spans: Iterable[tuple[int, int]] = [(low, high)]
    if kind is LINK:
        first, low, high = first_key(topology), max(low, 0), min(high, topology.nodes)
        match = f"MATCH (a:{NODE.name})-[r:{kind.name}]->(b) WHERE $low <= a.key < $high AND r.{kind.owner} = $owner"
        spans = ((first + rank, first + min(rank + PAGE, high)) for rank in range(low, high, PAGE))
    else:
        column = split_by(kind)
        match = f"MATCH (a)-[r:{kind.name} WHERE r.{kind.owner} = $owner AND $low <= r.{column} < $high]->(b)"
    asked = f"{match} RETURN {_row(kind)} AS row"
    rows = (
        row["row"]
        for start, end in spans
        for row in graph.read(asked, {"owner": owner, "low": start, "high": end})
    )
    return _table(list(rows), kind, topology)


def around(
    graph: Graph, kind: Relationship, topology: Topology, ranks: Sequence[int]
) -> dict[str, Table]:
    """The stored rows of one type that begin or end at these nodes, by what they are part of; each row once."""
    keys = [first_key(topology) + rank for rank in ranks]
    found = defaultdict(list)
    for match in (
        f"MATCH (a:{NODE.name})-[r:{kind.name}]->(b) WHERE a.key IN $keys",
        f"MATCH (b:{NODE.name})<-[r:{kind.name}]-(a) WHERE b.key IN $keys AND NOT coalesce(a.key IN $keys, false)",
    ):
        for row in graph.read(
            f"{match} RETURN r.{kind.owner} AS owner, {_row(kind)} AS row", {"keys": keys}
        ):
            found[str(row["owner"])].append(row["row"])
    return {owner: _table(rows, kind, topology) for owner, rows in found.items()}


def nodes(graph: Graph, keys: Sequence[int]) -> list[list[Any]]:
    """Key, rank, label and topology of the stored nodes of these keys, by key."""
    cypher = f"MATCH (n:{NODE.name}) WHERE n.key IN $keys RETURN {_NODE} AS row ORDER BY n.key"
    return [row["row"] for row in graph.read(cypher, {"keys": list(keys)})]


def astray(graph: Graph, topology: Topology) -> list[list[Any]]:
    """The same of the nodes that say they are of this topology and have the key of none of its nodes."""
    first = first_key(topology)
    cypher = (
        f"MATCH (n:{NODE.name}) WHERE n.topology = $topology AND NOT coalesce($low <= n.key < $high, false) "
        f"RETURN {_NODE} AS row ORDER BY n.rank"
    )
    found = graph.read(
        cypher, {"topology": topology.spec, "low": first, "high": first + topology.nodes}
    )
    return [row["row"] for row in found]


_NODE = "[n.key, n.rank, n.label, n.topology]"


def _row(kind: Relationship) -> str:
    return f"[{', '.join(['a.key', 'b.key', *(f'r.{name}' for name in kind.columns)])}]"


def _table(found: list[list[Any]], kind: Relationship, topology: Topology) -> Table:
    try:
        rows = np.array(found, dtype=np.int64)
    except (TypeError, ValueError, OverflowError):
        rows = np.array(
            [[value if isinstance(value, int) else ODD for value in row] for row in found],
            dtype=np.int64,
        )
    rows = rows.reshape(-1, 2 + len(kind.columns))
    rows[:, :2] -= first_key(topology)
    return rows
