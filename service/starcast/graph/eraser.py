"""Taking a thing out of the graph again, in transactions of bounded size; its own node goes last."""

from starcast.graph.connection import Graph
from starcast.graph.owners import LABEL_OF, RELATIONSHIP_OF
from starcast.graph.reader import pages
from starcast.graph.schema import NODE, State
from starcast.graph.writer import set_state
from starcast.progress import Task
from starcast.topologies import Topology


def erase(graph: Graph, kind: str, key: str, where: Topology, batch: int, task: Task) -> None:
    """Take a topology, a forest or a schedule out of the graph; broken off, it is ``loading`` and can be erased again.

    Args:
        graph: where it is, or is not.
        kind: topology, forest or schedule.
        key: its name.
        where: its topology.
        batch: most nodes or relationships a transaction.
        task: hears of each one that is gone.
    """
    label, relationship = LABEL_OF[kind], RELATIONSHIP_OF[kind]
    key_name = label.unique[0][0]
    set_state(graph, label.name, key_name, key, State.LOADING)
    span = f"MATCH (a:{relationship.start})-[r:{relationship.name}]->() WHERE $low <= a.key < $high"
    _drain(graph, f"{span} AND r.{relationship.owner} = $owner WITH r LIMIT $batch DELETE r", key, where, batch, task)
    if kind == "topology":
        nodes = f"MATCH (n:{NODE.name}) WHERE $low <= n.key < $high WITH n LIMIT $batch DETACH DELETE n"
        _drain(graph, nodes, key, where, batch, task)
    graph.write(f"MATCH (o:{label.name} {{{key_name}: $key}}) DETACH DELETE o", {"key": key})


def _drain(graph: Graph, cypher: str, owner: str, where: Topology, batch: int, task: Task) -> None:
    statement = f"{cypher} RETURN count(*) AS gone"
    for page in pages(where):
        gone = batch
        while gone == batch:
            gone = graph.write(statement, {**page, "owner": owner, "batch": batch})[0]["gone"]
            task.advance(gone)
