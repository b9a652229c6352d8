"""The place of a counterexample as Cypher: text that pastes into Neo4j Browser and shows what is there.

Labels and ids stand in it as literals, and the comment above says which ingest brings the place into the graph.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from starcast.claims.telling import place
from starcast.claims.verdict import Verdict
from starcast.collectives.model import COLLECTIVES
from starcast.errors import NotFoundError, StarcastError
from starcast.graph.schema import FOREST, LINK, NODE, ON, SCHEDULE, SEND, TOPOLOGY, TREE_EDGE
from starcast.ingest.planning import wish
from starcast.topologies import Topology, topology

_ARROW = " -> "
#: The names under which a place has nodes, the most telling first.
_NODES = ("node", "other", "source", "root")
#: The names under which a place has a tree, each with the number that the first tree has there: i = 1..n-1, dimensions 2..n.
_TREES = {"tree": 0, "subtree": 2, "i": 1}


@dataclass(frozen=True)
class Place:
    """Where a counterexample is.

    Attributes:
        where: the topology.
        nodes: labels, the node meant first.
        link: the labels of its ends in the direction meant, or None.
        tree: the number of a tree, or None.
        step: of a schedule, or None.
        forest: id of the forest that an ingest brings; empty without one.
        schedule: likewise of the schedule.
    """

    where: Topology
    nodes: tuple[str, ...] = ()
    link: tuple[str, str] | None = None
    tree: int | None = None
    step: int | None = None
    forest: str = ""
    schedule: str = ""


def cypher(verdict: Verdict) -> str:
    """A query that shows the place of a verdict's counterexample, below comments that say what it is and how to ingest it.

    Raises:
        NotFoundError: there is no counterexample, or none at a place of a topology.
    """
    if verdict.counterexample is None:
        raise NotFoundError(
            f"{verdict.claim} has no counterexample: the verdict is '{verdict.verdict}'",
            hint="'starcast claims list --verdict fails' has those that do",
        )
    topology = _topology(verdict, verdict.counterexample)
    command = _ingest(topology, verdict.of)
    at = _place(topology, verdict.counterexample, verdict.of if command else "")
    lines = [f"// {verdict.claim}: {_plain(place(verdict.counterexample))}"]
    if verdict.of:
        lines.append(
            f"// of {_plain(verdict.of)}{'' if command else ', which no ingest builds: the place on the topology'}"
        )
    return "\n".join(
        [*lines, f"// {command or f'starcast ingest {topology.spec}'}", "", *_query(at)]
    )


def quoted(text: str) -> str:
    """A string as Cypher writes it."""
    inside = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{inside}'"


def _query(at: Place) -> list[str]:
    if at.schedule and (at.step is not None or at.link or at.nodes or at.tree is not None):
        return _sends(at)
    if at.link:
        return _link(at)
    if at.tree is not None and at.forest:
        return _tree(at)
    if at.nodes:
        return _node(at)
    return _whole(at)


def _node(at: Place) -> list[str]:
    listed = ", ".join(quoted(label) for label in at.nodes)
    return [
        f"MATCH (node:{NODE.name} {{topology: {quoted(at.where.spec)}}})-[link:{LINK.name}]-(neighbour:{NODE.name})",
        f"WHERE node.label IN [{listed}]",
        "RETURN node, link, neighbour ORDER BY node.rank, neighbour.rank",
    ]


def _link(at: Place) -> list[str]:
    one, other = at.link or ("", "")
    lines = [f"MATCH {_at(at, 'one', one)}-[link:{LINK.name}]-{_at(at, 'other', other)}"]
    if not at.forest:
        return [*lines, "RETURN one, link, other"]
    return [
        *lines,
        f"OPTIONAL MATCH (one)-[edge:{TREE_EDGE.name} {{forest: {quoted(at.forest)}}}]-(other)",
        "WITH one, link, other, edge ORDER BY edge.tree",
        "// Trees in which the first is the parent of the second, and the other way round.",
        "RETURN one, link, other, collect(CASE WHEN startNode(edge) = one THEN edge.tree END) AS down,",
        "  collect(CASE WHEN startNode(edge) = other THEN edge.tree END) AS up",
    ]


def _tree(at: Place) -> list[str]:
    narrowed = f"{TREE_EDGE.name} {{forest: {quoted(at.forest)}, tree: {at.tree}}}"
    if at.nodes:
        lines = [
            f"MATCH {_at(at, 'node', at.nodes[0])}-[edge:{narrowed}]-()",
            "WITH startNode(edge) AS parent, edge, endNode(edge) AS child",
        ]
    else:
        lines = [f"MATCH (parent:{NODE.name})-[edge:{narrowed}]->(child:{NODE.name})"]
    return [
        *lines,
        "// The greatest level is the height of the tree.",
        "RETURN parent, edge, child, edge.level AS level ORDER BY level DESC, child.rank",
    ]


def _sends(at: Place) -> list[str]:
    kept = {"schedule": quoted(at.schedule), "step": at.step, "tree": at.tree}
    words = ", ".join(f"{name}: {value}" for name, value in kept.items() if value is not None)
    shown = "sender, send, receiver"
    if at.link:  # also where nothing is sent over it
        sender, receiver = _at(at, "sender", at.link[0]), _at(at, "receiver", at.link[1])
        sent = f"OPTIONAL MATCH (sender)-[send:{SEND.name} {{{words}}}]->(receiver)"
        lines, shown = (
            [f"MATCH {sender}-[link:{LINK.name}]-{receiver}", sent],
            "sender, link, send, receiver",
        )
    else:
        lines = [
            f"MATCH (sender:{NODE.name})-[send:{SEND.name} {{{words}}}]->(receiver:{NODE.name})"
        ]
        if at.nodes:
            lines.append(f"WHERE {quoted(at.nodes[0])} IN [sender.label, receiver.label]")
    return [
        *lines,
        f"RETURN send.step AS step, {shown}, send.tree AS tree, send.unit AS unit",
        "ORDER BY step, sender.rank, send.port, tree, unit",
    ]


def _whole(at: Place) -> list[str]:
    if at.forest:
        return [
            f"MATCH (forest:{FOREST.name} {{id: {quoted(at.forest)}}})-[on:{ON.name}]->(topology:{TOPOLOGY.name})",
            "RETURN forest, on, topology, forest.trees AS trees, forest.height AS height, forest.congestion AS congestion",
        ]
    if at.schedule:
        return [
            f"MATCH (schedule:{SCHEDULE.name} {{id: {quoted(at.schedule)}}})",
            f"MATCH (topology:{TOPOLOGY.name} {{name: schedule.topology}})",
            "RETURN schedule, topology, schedule.steps AS steps, schedule.units AS units",
        ]
    return [
        f"MATCH (topology:{TOPOLOGY.name} {{name: {quoted(at.where.spec)}}})",
        "RETURN topology, topology.nodes AS nodes, topology.degree AS degree, topology.diameter AS diameter",
    ]


def _at(at: Place, name: str, label: str) -> str:
    return f"({name}:{NODE.name} {{topology: {quoted(at.where.spec)}, label: {quoted(label)}}})"


def _topology(verdict: Verdict, counterexample: Mapping[str, object]) -> Topology:
    """The topology of a counterexample: of those that it can mean, the first that the statement was looked at on.

    Raises:
        NotFoundError: it is on none.
    """
    n, k = counterexample.get("n"), counterexample.get("k")
    meant = [f"S{n},{k}", f"S{n}", f"Q{k}"]
    spec = next((one for one in meant if one in verdict.sizes), None)
    if spec is None:
        raise NotFoundError(
            f"the counterexample of {verdict.claim} is at no place of a topology",
            hint="see 'starcast claims show'",
        )
    return topology(spec)


def _place(topology: Topology, counterexample: Mapping[str, object], of: str) -> Place:
    trees = (_number(counterexample.get(name), first) for name, first in _TREES.items())
    tree = next((number for number in trees if number is not None), None)
    nodes = _labels(topology, [counterexample.get(name) for name in _NODES])
    ends = tuple(_labels(topology, str(counterexample.get("link", "")).split(_ARROW)))
    is_schedule = of.split(":")[1] in COLLECTIVES if of else False
    return Place(
        topology,
        tuple(dict.fromkeys(nodes)),
        (ends[0], ends[1]) if len(ends) == 2 else None,
        tree,
        _number(counterexample.get("step")),
        forest="" if is_schedule else of,
        schedule=of if is_schedule else "",
    )


def _labels(topology: Topology, values: Iterable[object]) -> Iterable[str]:
    """Those that are labels of nodes, or ranks."""
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < topology.nodes:
            yield topology.label(value)
        elif isinstance(value, str) and value:
            try:
                yield topology.label(topology.rank(value))
            except StarcastError:
                continue


def _number(value: object, first: int = 0) -> int | None:
    """A number counted from 0 where it was counted from ``first``; None if it is none."""
    return (
        value - first
        if isinstance(value, int) and not isinstance(value, bool) and value >= first
        else None
    )


def _ingest(topology: Topology, of: str) -> str:
    """The command that brings a forest or a schedule into the graph; empty if none does."""
    parts = of.split(":")
    if len(parts) == 3 and parts[0] == topology.spec:
        trees, schedules, ports, flags = parts[1], "", "default", ["--trees", parts[1]]
    elif len(parts) == 6 and parts[0] == topology.spec:
        words = f"{parts[1]}:{parts[2]}" + (f"({parts[4]})" if parts[4] else "")
        trees, schedules, ports, flags = (
            "",
            words,
            parts[3],
            ["--schedules", words, "--ports", parts[3]],
        )
    else:
        return ""
    root = parts[-1] if parts[-1] != "expanded" else topology.label(0)
    try:
        brought = {one.key for one in wish(topology.spec, trees, schedules, root, ports).sizes()}
    except StarcastError:
        return ""
    if root != topology.label(0):
        flags += ["--root", root]
    return shlex.join(["starcast", "ingest", topology.spec, *flags]) if of in brought else ""


def _plain(text: str) -> str:
    """In one line, as a comment has to be."""
    return " ".join(text.split())
