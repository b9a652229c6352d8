"""Write Cypher statements that show the counterexample of a failing claim in Neo4j Browser.

A statement shows the place of the counterexample, such as a node, a link, a tree or a step. Labels
and ids are literals in the statement, because parameters have no values in Neo4j Browser. A comment
above the statement contains the 'starcast ingest' command that stores the forest, schedule or
topology.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from starcast.claims.verdict import Verdict, describe_place
from starcast.ingest.planning import parse_request
from starcast.queries.execution import format_ingest, ingest_options
from starcast.support.errors import NotFoundError, StarcastError
from starcast.support.vocabulary import EXPANDED
from starcast.topologies import Topology, topology

_ARROW = " -> "
#: Keys of a counterexample whose values are nodes, the most important first.
_NODES = ("node", "other", "source", "root")
#: Keys of a counterexample whose values are tree numbers, with the number of the first tree.
_TREES = {"tree": 0, "subtree": 2, "i": 1}
#: Cypher statements by the values that they need, the most detailed first. The first statement
#: whose values are all known is used.
_QUERIES = {
    # The link is shown even if nothing is sent over it.
    ("schedule", "sender"): """\
MATCH (sender:Node {topology: $topology, label: $sender})-[link:LINK]-\
(receiver:Node {topology: $topology, label: $receiver})
OPTIONAL MATCH (sender)-[send:SEND {schedule: $schedule, step: $step, tree: $tree}]->(receiver)
RETURN send.step AS step, sender, link, send, receiver, send.tree AS tree, send.unit AS unit
ORDER BY step, sender.rank, send.port, tree, unit""",
    ("schedule", "part"): """\
MATCH (sender:Node)-[send:SEND {schedule: $schedule, step: $step, tree: $tree}]->(receiver:Node)
WHERE $node IN [sender.label, receiver.label]
RETURN send.step AS step, sender, send, receiver, send.tree AS tree, send.unit AS unit
ORDER BY step, sender.rank, send.port, tree, unit""",
    ("forest", "sender"): """\
MATCH (first:Node {topology: $topology, label: $sender})-[link:LINK]-\
(second:Node {topology: $topology, label: $receiver})
OPTIONAL MATCH (first)-[edge:TREE_EDGE {forest: $forest}]-(second)
WITH first, link, second, edge ORDER BY edge.tree
// Trees with the first node as parent of the second (down), and vice versa (up).
RETURN first, link, second,
  collect(CASE WHEN startNode(edge) = first THEN edge.tree END) AS down,
  collect(CASE WHEN startNode(edge) = second THEN edge.tree END) AS up""",
    ("sender",): """\
MATCH (first:Node {topology: $topology, label: $sender})-[link:LINK]-\
(second:Node {topology: $topology, label: $receiver})
RETURN first, link, second""",
    ("forest", "tree", "node"): """\
MATCH (node:Node {topology: $topology, label: $node})-\
[edge:TREE_EDGE {forest: $forest, tree: $tree}]-()
WITH startNode(edge) AS parent, edge, endNode(edge) AS child
// The largest level is the height of the tree.
RETURN parent, edge, child, edge.level AS level ORDER BY level DESC, child.rank""",
    ("forest", "tree"): """\
MATCH (parent:Node)-[edge:TREE_EDGE {forest: $forest, tree: $tree}]->(child:Node)
// The largest level is the height of the tree.
RETURN parent, edge, child, edge.level AS level ORDER BY level DESC, child.rank""",
    ("node",): """\
MATCH (node:Node {topology: $topology})-[link:LINK]-(neighbour:Node)
WHERE node.label IN $nodes
RETURN node, link, neighbour ORDER BY node.rank, neighbour.rank""",
    ("forest",): """\
MATCH (forest:Forest {id: $forest})-[on:ON]->(topology:Topology)
RETURN forest, on, topology, forest.trees AS trees, forest.height AS height,
  forest.congestion AS congestion""",
    ("schedule",): """\
MATCH (schedule:Schedule {id: $schedule})
MATCH (topology:Topology {spec: schedule.topology})
RETURN schedule, topology, schedule.steps AS steps, schedule.units AS units""",
    (): """\
MATCH (topology:Topology {spec: $topology})
RETURN topology, topology.nodes AS nodes, topology.degree AS degree,
  topology.diameter AS diameter""",
}


def to_cypher(verdict: Verdict) -> str:
    """Return a Cypher statement with comments that shows where a verdict's counterexample is.

    Raises:
        NotFoundError: the verdict has no counterexample, or the counterexample names no topology.
    """
    values = locate(verdict)
    command = values.get("command")
    lines = [f"// {verdict.claim}: {_one_line(describe_place(verdict.counterexample or {}))}"]
    if verdict.of:
        note = ", which cannot be ingested, so the query shows only the location in the topology"
        lines.append(f"// of {_one_line(verdict.of)}{'' if command else note}")
    lines += [f"// {command or format_ingest(values['topology'], {})}", "", _query(values)]
    return "\n".join(lines)


def locate(verdict: Verdict) -> dict[str, Any]:
    """Return the values that locate a verdict's counterexample; unknown values are omitted.

    Returns:
        A dictionary with the key ``topology`` (the spec), and with those of the following keys
        whose values are known:

        * ``nodes``: the labels of the nodes, the most important first.
        * ``node``: the first of these labels.
        * ``sender`` and ``receiver``: the labels of the ends of a link.
        * ``tree``: the number of the tree, from 0.
        * ``step``: the number of the schedule's step.
        * ``forest`` or ``schedule``: the id of an artifact that an ingest can store.
        * ``command``: the command that stores this artifact.
        * ``part``: True if the counterexample is in a step, tree or node of the artifact.

    Raises:
        NotFoundError: the verdict has no counterexample, or the counterexample names no topology.
    """
    place = verdict.counterexample
    if place is None:
        raise NotFoundError(
            f"{verdict.claim} has no counterexample: the verdict is '{verdict.verdict}'",
            hint="list failing claims with 'starcast claims list --verdict fails'",
        )
    # The most specific name comes first, because a counterexample on S5,3 also has an n.
    n, k = place.get("n"), place.get("k")
    names = (place.get("size"), f"S{n},{k}", f"S{n}", f"Q{k}")
    spec = next((str(name) for name in names if name in verdict.sizes), None)
    if spec is None:
        raise NotFoundError(
            f"the counterexample of {verdict.claim} does not name its topology",
            hint=f"print the counterexample with 'starcast claims show {verdict.claim}'",
        )
    network = topology(spec)
    nodes = [*dict.fromkeys(_labels(network, [place.get(name) for name in _NODES]))]
    ends = [*_labels(network, str(place.get("link", "")).split(_ARROW))]
    sender, receiver = ends if len(ends) == 2 else (None, None)
    trees = [_number(place.get(name), first) for name, first in _TREES.items()]
    values = {
        "topology": spec,
        "nodes": nodes,
        "node": nodes[0] if nodes else None,
        "sender": sender,
        "receiver": receiver,
        "step": _number(place.get("step")),
        "tree": next((number for number in trees if number is not None), None),
        **_ingest_command(network, verdict.of),
    }
    known = {name: value for name, value in values.items() if value is not None}
    is_part = not known.keys().isdisjoint({"step", "tree", "node"})
    return {**known, "part": True} if is_part else known


def _labels(network: Topology, values: Iterable[object]) -> Iterator[str]:
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
    """Convert an integer counted from ``first`` to an integer counted from 0.

    The result is None if the value is not an integer, or is less than ``first``.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < first:
        return None
    return value - first


def _ingest_command(network: Topology, of: str) -> dict[str, str]:
    """Return the id of a forest or schedule, and the command that ingests it.

    Args:
        network: the topology of the counterexample.
        of: the id of the forest or schedule that has the counterexample, or "".

    Returns:
        The id under the key ``forest`` or ``schedule``, and ``command``. The result is empty if no
        command stores exactly this forest or schedule.
    """
    parts = of.split(":")
    kind = {3: "forest", 6: "schedule"}.get(len(parts), "")
    if not kind or parts[0] != network.spec:
        return {}
    options = ingest_options(kind, parts)
    if parts[-1] not in {EXPANDED, network.label(0)}:
        options["root"] = parts[-1]
    # The plan of the ingest lists the ids that the command would store. Planning builds nothing, so
    # it is fast.
    with suppress(StarcastError):
        plan = parse_request(network, **options)  # type: ignore[arg-type]
        # The command may be valid, but store a forest or schedule with another id.
        if of in {artifact.id for artifact in plan.artifacts}:
            return {kind: of, "command": format_ingest(network.spec, options)}
    return {}


def _query(known: Mapping[str, object]) -> str:
    """Return the most detailed statement whose values are all known, with values as literals."""
    query = next(query for needs, query in _QUERIES.items() if known.keys() >= {*needs})
    # Properties and conditions whose values are not in ``known`` are omitted.
    condition = r"(?:, \w+: |\nWHERE )\$(\w+)(?: IN .*)?"
    query = re.sub(condition, lambda name: name[0] if name[1] in known else "", query)
    # Literals replace the parameters, because parameters have no values in Neo4j Browser.
    return re.sub(r"\$(\w+)", lambda name: _literal(known[name[1]]), query)


def _literal(value: object) -> str:
    """Return a value as a Cypher literal."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    if not isinstance(value, str):
        return str(value)
    inside = value.replace("\\", "\\\\").replace("'", "\\'").replace("\n", "\\n")
    return f"'{inside}'"


def _one_line(text: str) -> str:
    """Return a string without line breaks, for use in a comment."""
    return " ".join(text.split())
