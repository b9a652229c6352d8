"""Cypher queries that show where a counterexample is, to be pasted into Neo4j Browser.

A query contains labels and ids as literals. A comment above it gives the 'starcast ingest' command
that stores the forest, schedule or topology shown.
"""

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from starcast.claims.evidence import Place
from starcast.claims.verdict import Verdict, describe_place
from starcast.collectives.model import COLLECTIVES
from starcast.ingest.planning import parse_request
from starcast.stores.graph.schema import FOREST, LINK, NODE, ON, SCHEDULE, SEND, TOPOLOGY, TREE_EDGE
from starcast.support.errors import NotFoundError, StarcastError
from starcast.topologies import Topology, topology

_ARROW = " -> "
#: The keys under which a counterexample names nodes, the most important first.
_NODES = ("node", "other", "source", "root")
#: The keys under which a counterexample gives the number of a tree. The value is the number of the
#: first tree.
_TREES = {"tree": 0, "subtree": 2, "i": 1}


@dataclass(frozen=True)
class Location:
    """The location of a counterexample.

    Attributes:
        network: the topology of the counterexample.
        nodes: labels, the most important node first.
        link: the labels of sender and receiver, or None.
        tree: the number of a tree, or None.
        step: a step of the schedule, or None.
        forest: id of a forest that an ingest can store, or empty.
        schedule: id of a schedule that an ingest can store, or empty.
        command: the command that ingests the forest or schedule, or empty.
    """

    network: Topology
    nodes: tuple[str, ...] = ()
    link: tuple[str, str] | None = None
    tree: int | None = None
    step: int | None = None
    forest: str = ""
    schedule: str = ""
    command: str = ""


def to_cypher(verdict: Verdict) -> str:
    """Return a commented query that shows the location of a verdict's counterexample.

    Raises:
        NotFoundError: the verdict has no counterexample, or it has no location in a topology.
    """
    counterexample = _require_counterexample(verdict)
    at = locate(verdict)
    network = at.network
    command = at.command
    lines = [f"// {verdict.claim}: {_one_line(describe_place(counterexample))}"]
    if verdict.of:
        note = (
            ""
            if command
            else ", which cannot be ingested, so the query shows only the location in the topology"
        )
        lines.append(f"// of {_one_line(verdict.of)}{note}")
    lines += [f"// {command or f'starcast ingest {network.spec}'}", "", *_query(at)]
    return "\n".join(lines)


def locate(verdict: Verdict) -> Location:
    """Return the location of a verdict's counterexample.

    Raises:
        NotFoundError: the verdict has no counterexample, or it has no location in a topology.
    """
    counterexample = _require_counterexample(verdict)
    network = _find_topology(verdict, counterexample)
    command = _ingest_command(network, verdict.of)
    found = _locate(network, counterexample, verdict.of if command else "")
    return replace(found, command=command)


def _require_counterexample(verdict: Verdict) -> Place:
    if verdict.counterexample is None:
        raise NotFoundError(
            f"{verdict.claim} has no counterexample: the verdict is '{verdict.verdict}'",
            hint="list the claims that have one with 'starcast claims list --verdict fails'",
        )
    return verdict.counterexample


def quote_string(text: str) -> str:
    """Return a text as a Cypher string literal."""
    # Queries have no parameters, because pasting them into Neo4j Browser would set no values.
    inside = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{inside}'"


def _query(at: Location) -> list[str]:
    has_detail = at.step is not None or at.tree is not None or at.link or at.nodes
    if at.schedule and has_detail:
        return _sends_query(at)
    if at.link:
        return _link_query(at)
    if at.tree is not None and at.forest:
        return _tree_query(at)
    if at.nodes:
        return _node_query(at)
    return _summary_query(at)


def _node_query(at: Location) -> list[str]:
    labels = ", ".join(quote_string(label) for label in at.nodes)
    spec = quote_string(at.network.spec)
    node = f"(node:{NODE.name} {{topology: {spec}}})"
    return [
        f"MATCH {node}-[link:{LINK.name}]-(neighbour:{NODE.name})",
        f"WHERE node.label IN [{labels}]",
        "RETURN node, link, neighbour ORDER BY node.rank, neighbour.rank",
    ]


def _link_query(at: Location) -> list[str]:
    first, second = at.link or ("", "")
    ends = f"{_node(at, 'first', first)}-[link:{LINK.name}]-{_node(at, 'second', second)}"
    if not at.forest:
        return [f"MATCH {ends}", "RETURN first, link, second"]
    edge = f"{TREE_EDGE.name} {{forest: {quote_string(at.forest)}}}"
    return [
        f"MATCH {ends}",
        f"OPTIONAL MATCH (first)-[edge:{edge}]-(second)",
        "WITH first, link, second, edge ORDER BY edge.tree",
        "// Trees with the first node as parent of the second (down), and vice versa (up).",
        "RETURN first, link, second,",
        "  collect(CASE WHEN startNode(edge) = first THEN edge.tree END) AS down,",
        "  collect(CASE WHEN startNode(edge) = second THEN edge.tree END) AS up",
    ]


def _tree_query(at: Location) -> list[str]:
    edge = f"{TREE_EDGE.name} {{forest: {quote_string(at.forest)}, tree: {at.tree}}}"
    if at.nodes:
        lines = [
            f"MATCH {_node(at, 'node', at.nodes[0])}-[edge:{edge}]-()",
            "WITH startNode(edge) AS parent, edge, endNode(edge) AS child",
        ]
    else:
        lines = [f"MATCH (parent:{NODE.name})-[edge:{edge}]->(child:{NODE.name})"]
    return [
        *lines,
        "// The largest level is the height of the tree.",
        "RETURN parent, edge, child, edge.level AS level ORDER BY level DESC, child.rank",
    ]


def _sends_query(at: Location) -> list[str]:
    known = {"schedule": quote_string(at.schedule), "step": at.step, "tree": at.tree}
    given = ", ".join(f"{name}: {value}" for name, value in known.items() if value is not None)
    send = f"[send:{SEND.name} {{{given}}}]"
    columns = "sender, send, receiver"
    if at.link:  # the link is shown even if nothing is sent over it
        sender = _node(at, "sender", at.link[0])
        receiver = _node(at, "receiver", at.link[1])
        columns = "sender, link, send, receiver"
        lines = [
            f"MATCH {sender}-[link:{LINK.name}]-{receiver}",
            f"OPTIONAL MATCH (sender)-{send}->(receiver)",
        ]
    else:
        lines = [f"MATCH (sender:{NODE.name})-{send}->(receiver:{NODE.name})"]
        if at.nodes:
            lines.append(f"WHERE {quote_string(at.nodes[0])} IN [sender.label, receiver.label]")
    return [
        *lines,
        f"RETURN send.step AS step, {columns}, send.tree AS tree, send.unit AS unit",
        "ORDER BY step, sender.rank, send.port, tree, unit",
    ]


def _summary_query(at: Location) -> list[str]:
    """Return a query that shows the main properties of a forest, schedule or topology."""
    if at.forest:
        forest = f"(forest:{FOREST.name} {{id: {quote_string(at.forest)}}})"
        return [
            f"MATCH {forest}-[on:{ON.name}]->(topology:{TOPOLOGY.name})",
            "RETURN forest, on, topology, forest.trees AS trees, forest.height AS height,",
            "  forest.congestion AS congestion",
        ]
    if at.schedule:
        return [
            f"MATCH (schedule:{SCHEDULE.name} {{id: {quote_string(at.schedule)}}})",
            f"MATCH (topology:{TOPOLOGY.name} {{spec: schedule.topology}})",
            "RETURN schedule, topology, schedule.steps AS steps, schedule.units AS units",
        ]
    return [
        f"MATCH (topology:{TOPOLOGY.name} {{spec: {quote_string(at.network.spec)}}})",
        "RETURN topology, topology.nodes AS nodes, topology.degree AS degree,",
        "  topology.diameter AS diameter",
    ]


def _node(at: Location, name: str, label: str) -> str:
    spec = quote_string(at.network.spec)
    return f"({name}:{NODE.name} {{topology: {spec}, label: {quote_string(label)}}})"


def _find_topology(verdict: Verdict, counterexample: Mapping[str, object]) -> Topology:
    """Return the topology of a counterexample among those on which the claim was checked.

    Raises:
        NotFoundError: the counterexample is on none of those topologies.
    """
    n = counterexample.get("n")
    k = counterexample.get("k")
    # The most specific name comes first, because a counterexample on S5,3 also has an n.
    candidates = [f"S{n},{k}", f"S{n}", f"Q{k}"]
    spec = next((each for each in candidates if each in verdict.sizes), None)
    if spec is None:
        raise NotFoundError(
            f"the counterexample of {verdict.claim} has no location in a topology",
            hint="see 'starcast claims show'",
        )
    return topology(spec)


def _locate(network: Topology, counterexample: Mapping[str, object], of: str) -> Location:
    trees = (_number(counterexample.get(name), first) for name, first in _TREES.items())
    tree = next((number for number in trees if number is not None), None)
    nodes = _labels(network, [counterexample.get(name) for name in _NODES])
    ends = tuple(_labels(network, str(counterexample.get("link", "")).split(_ARROW)))
    is_schedule = of.split(":")[1] in COLLECTIVES if of else False
    return Location(
        network,
        tuple(dict.fromkeys(nodes)),
        (ends[0], ends[1]) if len(ends) == 2 else None,
        tree,
        _number(counterexample.get("step")),
        forest="" if is_schedule else of,
        schedule=of if is_schedule else "",
    )


def _labels(network: Topology, values: Iterable[object]) -> Iterable[str]:
    """Convert labels and ranks to node labels, and skip all other values."""
    for value in values:
        # Python's True and False are integers too: they would become the nodes 1 and 0.
        if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < network.nodes:
            yield network.label(value)
        elif isinstance(value, str) and value:
            try:
                yield network.label(network.rank(value))
            except StarcastError:
                continue


def _number(value: object, first: int = 0) -> int | None:
    """Convert a number that counts from ``first`` to one that counts from 0; None if invalid."""
    if isinstance(value, bool) or not isinstance(value, int) or value < first:
        return None
    return value - first


def _ingest_command(network: Topology, of: str) -> str:
    """Return the command that ingests a forest or schedule; empty if no command can store it."""
    parts = of.split(":")
    trees = ""
    schedules = ""
    ports = "default"
    if len(parts) == 3 and parts[0] == network.spec:
        trees = parts[1]
        flags = ["--trees", trees]
    elif len(parts) == 6 and parts[0] == network.spec:
        schedules = f"{parts[1]}:{parts[2]}" + (f"({parts[4]})" if parts[4] else "")
        ports = parts[3]
        flags = ["--schedules", schedules, "--ports", ports]
    else:
        return ""
    root = parts[-1] if parts[-1] != "expanded" else network.label(0)
    # The plan shows which ids the command would store. Planning is fast, since it builds nothing.
    try:
        artifacts = parse_request(network.spec, trees, schedules, root, ports).artifacts
    except StarcastError:
        return ""
    # Even if the command is valid, it might store a different artifact from the one to be shown.
    if of not in {artifact.id for artifact in artifacts}:
        return ""
    if root != network.label(0):
        flags += ["--root", root]
    return shlex.join(["starcast", "ingest", network.spec, *flags])


def _one_line(text: str) -> str:
    """Return a text without line breaks, for use in a comment."""
    return " ".join(text.split())
