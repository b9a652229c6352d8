"""Taking a thing out of the graph again, in transactions of bounded size; its own node goes last.

Tree edges and sends are found by the index of what they are part of, nodes by their keys, so every transaction begins where
the one before it ended. What somebody edited cannot be found in this way: where less was found than there should be, all
relationships of the type, or all nodes, are looked through once.
"""

from starcast.graph.artifact_nodes import LABEL_OF, RELATIONSHIP_OF
from starcast.graph.connection import Graph
from starcast.graph.reader import pages
from starcast.graph.schema import NODE, Relationship, State
from starcast.graph.writer import set_state
from starcast.progress import Task
from starcast.topologies import Topology


def erase(
    graph: Graph,
    kind: str,
    key: str,
    topology: Topology,
    batch: int,
    task: Task,
    relationships: int = 0,
) -> None:
    """Take a topology, a forest or a schedule out of the graph; broken off, it is ``loading`` and can be erased again.

    Args:
        graph: where it is, or is not.
        kind: topology, forest or schedule.
        key: its name.
        where: its topology.
        batch: most nodes or relationships a transaction.
        task: hears of each one that is gone.
        relationships: how many tree edges or sends it has where it is whole.
    """
    label = LABEL_OF[kind]
    key_name = label.unique[0][0]
    set_state(graph, label.name, key_name, key, State.LOADING)
    _Eraser(graph, key, batch, task).run(kind, topology, relationships)
    graph.write(f"MATCH (o:{label.name} {{{key_name}: $key}}) DETACH DELETE o", {"key": key})


class _Eraser:
    def __init__(self, graph: Graph, owner: str, batch: int, task: Task) -> None:
        self._graph, self._owner, self._batch, self._task = graph, owner, batch, task

    def run(self, kind: str, topology: Topology, relationships: int) -> None:
        if kind == "topology":
            self._nodes(topology)
            return
        part = RELATIONSHIP_OF[kind]
        _index(self._graph, part)
        if self._drain(_seek(part)) < relationships:
            self._drain(_scan(part))

    def _nodes(self, topology: Topology) -> None:
        """Take out the nodes with their links, in pages of about as many rows as a batch has."""
        gone = 0
        for page in pages(topology, max(1, self._batch // (topology.degree + 1))):
            found = self._graph.write(_NODES, page)[0]["gone"]
            self._task.advance(found + found * topology.links // topology.nodes)
            gone += found
        if gone < topology.nodes:
            self._drain(_STRAYS)

    def _drain(self, cypher: str) -> int:
        """Run a statement until it finds no full batch; returns how much it took out."""
        gone, found = 0, self._batch
        while found == self._batch:
            found = self._graph.write(cypher, {"owner": self._owner, "batch": self._batch})[0][
                "gone"
            ]
            self._task.advance(found)
            gone += found
        return gone


_NODES = (
    f"MATCH (n:{NODE.name}) WHERE $low <= n.key < $high DETACH DELETE n RETURN count(*) AS gone"
)
_STRAYS = f"MATCH (n:{NODE.name}) WHERE n.topology = $owner WITH n LIMIT $batch DETACH DELETE n RETURN count(*) AS gone"


def _seek(kind: Relationship) -> str:
    """Take out a batch of a thing's relationships by the index; the second condition is what makes Neo4j use it."""
    second = kind.indexes[0][1]
    return (
        f"MATCH ()-[r:{kind.name} WHERE r.{kind.owner} = $owner AND r.{second} >= 0]->() {_DELETE}"
    )


def _scan(kind: Relationship) -> str:
    """The same for those that the index does not hold, since somebody removed what it is by."""
    return f"MATCH ()-[r:{kind.name}]->() WHERE r.{kind.owner} = $owner {_DELETE}"


_DELETE = "WITH r LIMIT $batch DELETE r RETURN count(*) AS gone"


def _index(graph: Graph, kind: Relationship) -> None:
    """Make the index where an older starcast, or somebody's hand, left none: without it every batch would look at all."""
    for statement in kind.statements():
        graph.write(statement)
    graph.read("CALL db.awaitIndexes(300)")
