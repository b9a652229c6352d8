"""The way into a graph that answers: over Bolt. The other, the offline import, makes a whole store of files (`bulk`)."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Literal, Protocol

import numpy as np

from starcast.errors import RejectedError, StarcastError
from starcast.graph.artifact_nodes import Owner
from starcast.graph.connection import Graph
from starcast.graph.rows import Rows
from starcast.graph.schema import NODE, Relationship, State, first_key, statements
from starcast.progress import Task
from starcast.topologies import Topology

#: Seconds that indexes may take: S10's nodes take 15, and the store that is filled may be larger and the machine busy.
_INDEX_SECONDS = 3_600


class WayIn(Protocol):
    """A way into the graph. Between `begin` and `finish` a thing is ``loading``, and nobody uses it."""

    @property
    def name(self) -> Literal["bolt", "import"]:
        """What the relational store calls it."""

    def begin(self, owner: Owner) -> None:
        """Make the thing's node, in state loading."""

    def nodes(self, topology: Topology, task: Task) -> None:
        """Write the nodes of a topology."""

    def relationships(self, rows: Rows, task: Task) -> None:
        """Write the relationships of a thing whose ends are there."""

    def finish(self, owner: Owner) -> None:
        """Make the thing's state complete."""


class Bolt:
    """UNWIND of lists, one transaction a batch; about 50 000 relationships a second.

    A batch is grouped by start node, so that each start is looked up once (`docs/decisions/0002-keys-and-labels.md`).
    The driver tries a batch again after a transient error. It cannot know whether a commit arrived whose answer got lost,
    so a batch may, very rarely, be written twice; the counts and checksums afterwards notice.

    Args:
        graph: where to.
        batch: rows a transaction.
    """

    name: Literal["bolt", "import"] = "bolt"

    def __init__(self, graph: Graph, batch: int) -> None:
        self._graph = graph
        self._batch = batch

    def prepare(self) -> None:
        """See `make_indexes`."""
        make_indexes(self._graph)

    def begin(self, owner: Owner) -> None:
        """See `WayIn.begin`."""
        properties = {**owner.properties, "state": State.LOADING.value}
        if owner.parent is None:
            self._graph.write(
                f"CREATE (o:{owner.label.name}) SET o = $properties", {"properties": properties}
            )
            return
        kind, label, key = owner.parent
        made = self._graph.write(
            f"MATCH (p:{label.name} {{{label.unique[0][0]}: $parent}}) "
            f"CREATE (o:{owner.label.name})-[:{kind.name}]->(p) SET o = $properties RETURN count(o) AS made",
            {"parent": key, "properties": properties},
        )
        if made[0]["made"] != 1:
            raise RejectedError(
                f"{key} is not in the graph, so {owner.key} cannot hang from it",
                hint="ingest it again",
            )

    def nodes(self, topology: Topology, task: Task) -> None:
        """See `WayIn.nodes`."""
        for start in range(0, topology.nodes, self._batch):
            labels = topology.labels(
                np.arange(start, min(start + self._batch, topology.nodes))
            ).tolist()
            parameters = {
                "first": first_key(topology) + start,
                "topology": topology.spec,
                "rank": start,
                "labels": labels,
            }
            self._graph.write(_CREATE_NODES, parameters)
            task.advance(len(labels))

    def relationships(self, rows: Rows, task: Task) -> None:
        """See `WayIn.relationships`.

        Raises:
            RejectedError: an end was not found.
        """
        statement = create_relationships(rows.kind)
        for count, groups in batches(rows, self._batch, first_key(rows.topology)):
            made = self._graph.write(statement, {"rows": groups, "owner": rows.owner})[0]["made"]
            if made != count:
                raise RejectedError(
                    f"{count - made} of {count} relationships of {rows.owner} found no node at one end",
                    hint=f"the nodes of {rows.topology.spec} are not all in the graph: drop it and ingest it again",
                )
            task.advance(count)

    def finish(self, owner: Owner) -> None:
        """See `WayIn.finish`."""
        set_state(self._graph, owner.label.name, owner.key_name, owner.key, State.COMPLETE)


def make_indexes(graph: Graph) -> None:
    """Make the constraints and indexes that are not there, and wait until all can be used."""
    for statement in statements():
        graph.write(statement)
    graph.read("CALL db.awaitIndexes($seconds)", {"seconds": _INDEX_SECONDS})


def refresh_plans(graph: Graph) -> None:
    """Sample the indexes and plan all queries anew.

    Until the server gets round to it by itself, it takes what was just written for nothing, and reads whole indexes where
    it could seek in them. Where the login may not ask for that, nothing else is lost.
    """
    with suppress(StarcastError):
        graph.read("CALL db.prepareForReplanning($seconds)", {"seconds": _INDEX_SECONDS})


def set_state(graph: Graph, label: str, key_name: str, key: str, state: State) -> None:
    """Set the state of a thing; nothing happens where it is not there."""
    graph.write(
        f"MATCH (o:{label} {{{key_name}: $key}}) SET o.state = $state",
        {"key": key, "state": state.value},
    )


_CREATE_NODES = (
    "UNWIND range(0, size($labels) - 1) AS i "
    f"CREATE (:{NODE.name} {{key: $first + i, topology: $topology, rank: $rank + i, label: $labels[i]}})"
)


def create_relationships(kind: Relationship) -> str:
    """The statement that writes a batch of `kind`: ``$rows`` = [[start key, [[end key, column, ..], ..]], ..]."""
    columns = [f"{name}: r[{place}]" for place, name in enumerate(kind.columns, start=1)]
    properties = ", ".join([f"{kind.owner}: $owner", *columns])
    return (
        f"UNWIND $rows AS g MATCH (a:{kind.start} {{key: g[0]}}) UNWIND g[1] AS r MATCH (b:{kind.end} {{key: r[0]}}) "
        f"CREATE (a)-[:{kind.name} {{{properties}}}]->(b) RETURN count(*) AS made"
    )


def batches(rows: Rows, batch: int, first: int) -> Iterator[tuple[int, list[Any]]]:
    """Batches as `create_relationships` takes them, with their number of rows; ``first`` is the key of node 0."""
    for begin in range(0, len(rows), batch):
        part = slice(begin, begin + batch)
        start = rows.start[part] + first
        values = np.column_stack(
            [rows.end[part] + first, *(c[part] for c in rows.columns.values())]
        ).tolist()
        bounds = [0, *(np.flatnonzero(np.diff(start)) + 1).tolist(), len(start)]
        firsts = start[bounds[:-1]].tolist()
        spans = zip(firsts, bounds[:-1], bounds[1:], strict=True)
        yield len(start), [[first, values[low:high]] for first, low, high in spans]
