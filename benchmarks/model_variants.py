"""The graph models that `benchmarks.model` compares.

A graph model determines the indexes of the graph, the statements that write data, and the patterns
of queries. A question is a query text with gaps such as ``{edges}``, which each model fills with
its own patterns. So all models answer the same questions, but find nodes, tree edges and links in
different ways.
"""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from starcast.stores.graph.artifacts import Rows
from starcast.stores.graph.schema import TREE_EDGE, first_key
from starcast.topologies import Topology

#: The questions, as query texts with placeholders. They may use the parameters ``$topology $forest
#: $other $tree $schedule $step $node``, and the variables that the replaced placeholders bind.
QUESTIONS: Mapping[str, str] = {
    "neighbours of a node": (
        "MATCH {node} MATCH (v)-[l:LINK]-(w) RETURN w.label AS node ORDER BY node"
    ),
    "arrivals at a node": "MATCH {node} MATCH (v)<-[s:SEND WHERE s.schedule = $schedule]-(w) "
    "RETURN s.step AS step, s.unit AS unit, w.label AS sender ORDER BY step, unit, sender",
    "paths to the root": "MATCH {node} {climb} RETURN tree, hops ORDER BY tree",
    "cut off by a node": "MATCH {node} {descend} RETURN tree, count(*) AS nodes ORDER BY tree",
    "distance profile": "MATCH {node} MATCH (v)-[links:LINK*0..]-(w) "
    "WITH w, min(size(links)) AS distance "
    "RETURN distance, count(*) AS nodes ORDER BY distance",
    "members of a substar": (
        "MATCH {nodes} WHERE v.label ENDS WITH '21' RETURN count(*) AS nodes, sum(v.rank) AS ranks"
    ),
    "links by port": "{links} RETURN l.port AS port, count(*) AS links ORDER BY port",
    "sends of a step": "{step} RETURN s.port AS port, count(DISTINCT a) AS links ORDER BY port",
    "fan-out in a tree": (
        "{tree} WITH a, count(*) AS children RETURN children, count(*) AS nodes ORDER BY children"
    ),
    "level profile": (
        "{edges} RETURN tree, e.level AS level, count(*) AS nodes ORDER BY tree, level"
    ),
    "load histogram": (
        "{edges} WITH a, b, count(*) AS load RETURN load, count(*) AS links ORDER BY load"
    ),
    "tree pairs": "{edges} WITH a, b, collect(tree) AS trees WHERE size(trees) > 1 "
    "UNWIND trees AS x UNWIND trees AS y "
    "WITH x, y WHERE x < y RETURN x, y, count(*) AS links ORDER BY x, y",
    "two forests": (
        "{both} WITH a, b, count(DISTINCT forest) AS forests WHERE forests > 1 "
        "RETURN count(*) AS links"
    ),
}


class Model:
    """The graph model of starcast, from which the other models are derived."""

    name = "shipped"
    differs = (
        "integer key, topology as a property, indexes TREE_EDGE(forest, tree) and "
        "SEND(schedule, step)"
    )
    #: The Neo4j labels of a node, the pattern that matches a node by its property `label`, and the
    #: pattern that matches all nodes of a topology.
    labels, node = "Node", "(v:Node {topology: $topology, label: $node})"
    nodes = "(v:Node {topology: $topology} WHERE v.rank >= 0)"
    #: The properties of a new node, as Cypher text for `create_nodes`.
    properties = "key: $first + i, topology: $topology, rank: $rank + i, label: $labels[i]"
    #: The pattern that finds an end of a new relationship, with {} in place of the node's key.
    end = ":Node {{key: {}}}"
    links = "MATCH {nodes} MATCH (v)-[l:LINK]->(b)"
    edges_of = "MATCH (a)-[e:TREE_EDGE WHERE e.forest = {} AND e.tree >= 0]->(b)"
    one_tree = "MATCH (a)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree = $tree]->(b)"
    one_step = "MATCH (a)-[s:SEND WHERE s.schedule = $schedule AND s.step = $step]->(b)"

    def __init__(self, topology: Topology, forest: str, other: str, trees: int) -> None:
        self.topology, self.forest, self.other, self.trees = topology, forest, other, trees

    def indexes(self) -> Iterator[str]:
        """Yield the statements that create the constraints and indexes before data are written."""
        yield "CREATE CONSTRAINT node_key IF NOT EXISTS FOR (n:Node) REQUIRE n.key IS UNIQUE"
        yield (
            "CREATE CONSTRAINT node_rank IF NOT EXISTS FOR (n:Node) "
            "REQUIRE (n.topology, n.rank) IS UNIQUE"
        )
        yield "CREATE INDEX node_label IF NOT EXISTS FOR (n:Node) ON (n.topology, n.label)"
        yield from self.relationship_indexes()

    def relationship_indexes(self) -> Iterator[str]:
        """Yield the statements that create indexes on relationships."""
        yield "CREATE INDEX tree IF NOT EXISTS FOR ()-[e:TREE_EDGE]-() ON (e.forest, e.tree)"
        yield "CREATE INDEX step IF NOT EXISTS FOR ()-[s:SEND]-() ON (s.schedule, s.step)"

    def create_nodes(self) -> str:
        """Return the statement that writes a batch of nodes."""
        return (
            f"UNWIND range(0, size($labels) - 1) AS i CREATE (:{self.labels} {{{self.properties}}})"
        )

    def create(self, rows: Rows) -> Iterator[tuple[str, Rows]]:
        """Yield the statements that write relationships, each with its rows."""
        yield (
            self.relationships(rows.relationship.name, rows.relationship.artifact_property, rows),
            rows,
        )

    def relationships(self, kind: str, owner: str | None, rows: Rows) -> str:
        """Return the statement that writes relationships of one type.

        The parameter ``$rows`` is a batch returned by `group_by_start`.
        """
        columns = [f"{name}: r[{place}]" for place, name in enumerate(rows.columns, start=1)]
        properties = ", ".join([*([f"{owner}: $owner"] if owner else []), *columns])
        start, end = self.end.format("g[0]"), self.end.format("r[0]")
        return (
            f"UNWIND $rows AS g MATCH (a{start}) UNWIND g[1] AS r MATCH (b{end}) "
            f"CREATE (a)-[:`{kind}` {{{properties}}}]->(b) RETURN count(*) AS made"
        )

    def first(self, topology: Topology) -> int:
        """Return the key of the node with rank 0, to which ranks are added to get other keys."""
        return first_key(topology)

    def owner(self, name: str) -> object:
        """Return the value of the property that names a relationship's forest or schedule."""
        return name

    def gaps(self) -> dict[str, str]:
        """Return the Cypher text for each gap in `QUESTIONS`, by name."""
        node, nodes = self.named(self.node), self.named(self.nodes)
        starts = re.sub(r"\bv\b", "a", nodes)
        return {
            "node": node,
            "nodes": nodes,
            "links": self.links.replace("{nodes}", nodes),
            "step": self.one_step.replace("{nodes}", starts),
            "tree": self.one_tree.replace("{nodes}", starts),
            "edges": self.edges(),
            "both": self.both(),
            "climb": self.climb(),
            "descend": self.descend(),
        }

    def named(self, pattern: str) -> str:
        """Return a pattern with the topology's spec in place of ``{label}``."""
        return pattern.replace("{label}", self.topology.spec)

    def edges(self) -> str:
        """Return Cypher that binds a, b, e and tree for each edge e of the forest, from a to b."""
        return f"{self.edges_of.format('$forest')} WITH a, b, e, e.tree AS tree"

    def both(self) -> str:
        """Return Cypher with a row for each edge of either forest: the ends a, b, and forest."""
        parts = [
            f"{self.edges_of.format(name)} RETURN a, b, {name} AS forest"
            for name in ("$forest", "$other")
        ]
        return f"CALL () {{ {' UNION ALL '.join(parts)} }}"

    def tree_edge(self) -> str:
        """Return the part of a path pattern that matches an edge of the tree `tree`."""
        return "e:TREE_EDGE WHERE e.forest = $forest AND e.tree = tree"

    def climb(self) -> str:
        """Return Cypher that matches the path from v to the root in each tree."""
        return (
            f"UNWIND range(0, {self.trees - 1}) AS tree "
            f"MATCH up = (v)(()<-[{self.tree_edge()}]-())*(root) "
            "WHERE root.rank = 0 WITH tree, length(up) AS hops"
        )

    def descend(self) -> str:
        """Return Cypher that matches every node below v in each tree."""
        return (
            f"UNWIND range(0, {self.trees - 1}) AS tree "
            f"MATCH (v)(()-[{self.tree_edge()}]->())+(below) WITH tree, below"
        )


class Unindexed(Model):
    """The model of earlier versions, in which queries find tree edges and sends by their nodes."""

    name = "no relationship index"
    differs = "tree edges and sends are found from the nodes of the topology"
    edges_of = (
        "MATCH (a:Node {{topology: $topology}} WHERE a.rank >= 0)-[e:TREE_EDGE "
        "WHERE e.forest = {}]->(b)"
    )
    one_tree = (
        "MATCH {nodes} MATCH (a)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree = $tree]->(b)"
    )
    one_step = (
        "MATCH {nodes} MATCH (a)-[s:SEND WHERE s.schedule = $schedule AND s.step = $step]->(b)"
    )

    def relationship_indexes(self) -> Iterator[str]:
        """Yield no indexes."""
        return iter(())


class ForestIndex(Model):
    """A model in which tree edges are indexed by forest, instead of by forest and tree."""

    name = "TREE_EDGE(forest)"
    differs = "an index on the forest alone; sends as shipped"
    edges_of = "MATCH (a)-[e:TREE_EDGE WHERE e.forest = {}]->(b)"

    def relationship_indexes(self) -> Iterator[str]:
        """Yield the index of tree edges by forest, and starcast's index on sends."""
        yield "CREATE INDEX tree IF NOT EXISTS FOR ()-[e:TREE_EDGE]-() ON (e.forest)"
        yield "CREATE INDEX step IF NOT EXISTS FOR ()-[s:SEND]-() ON (s.schedule, s.step)"


class LinkIndex(Model):
    """A model with an additional index on links."""

    name = "LINK(topology)"
    differs = "as shipped, with an index on the links' topology"
    links = "MATCH (a)-[l:LINK WHERE l.topology = $topology]->(b)"

    def relationship_indexes(self) -> Iterator[str]:
        """Yield the indexes of starcast's model, and an index on links."""
        yield from super().relationship_indexes()
        yield "CREATE INDEX link IF NOT EXISTS FOR ()-[l:LINK]-() ON (l.topology)"


class Numbered(Model):
    """A model whose relationships identify forests and schedules by numbers."""

    name = "numbered owners"
    differs = (
        "as shipped, with numbers in place of the ids that TREE_EDGE.forest and SEND.schedule hold"
    )

    def owner(self, name: str) -> object:
        """Return a number in place of an artifact's id: a checksum (a real store would count)."""
        return zlib.crc32(name.encode())


class Composite(Model):
    """A model whose nodes have no integer key."""

    name = "composite key"
    differs = "no integer key: the writer finds an end by (topology, rank)"
    properties = "topology: $topology, rank: $rank + i, label: $labels[i]"
    end = ":Node {{topology: $topology, rank: {}}}"

    def indexes(self) -> Iterator[str]:
        """Yield the statements for indexes of `Labelled`, except the constraint `node_key`."""
        return (statement for statement in super().indexes() if "node_key" not in statement)

    def first(self, topology: Topology) -> int:  # noqa: ARG002 - `end` looks up ranks
        """Return 0, because the pattern `end` finds nodes by their rank."""
        return 0


class Labelled(Model):
    """A model in which the topology is a node label that is written into the query text."""

    name = "label a topology"
    differs = (
        "(:Node:S8 {key, rank, label}): no property topology; queries have the label in their text"
    )
    labels, node, nodes = "Node:`{label}`", "(v:`{label}` {label: $node})", "(v:`{label}`)"
    properties = "key: $first + i, rank: $rank + i, label: $labels[i]"

    def indexes(self) -> Iterator[str]:
        """Yield the key constraint, and a constraint and an index per topology."""
        name = self.topology.spec
        yield "CREATE CONSTRAINT node_key IF NOT EXISTS FOR (n:Node) REQUIRE n.key IS UNIQUE"
        yield (
            f"CREATE CONSTRAINT `rank_{name}` IF NOT EXISTS FOR (n:`{name}`) "
            "REQUIRE n.rank IS UNIQUE"
        )
        yield f"CREATE INDEX `label_{name}` IF NOT EXISTS FOR (n:`{name}`) ON (n.label)"
        yield from self.relationship_indexes()

    def create_nodes(self) -> str:
        """Return the statement that writes a batch of nodes."""
        return self.named(super().create_nodes())


class Dynamic(Labelled):
    """A model in which the topology is a node label that queries receive as a parameter."""

    name = "dynamic label"
    differs = "the same store; queries find the label by a parameter, (v:$($topology))"
    node, nodes = "(v:$($topology) {label: $node})", "(v:$($topology))"


class LabelledRank(Labelled):
    """A model in which the topology is a node label, so that the rank serves as the key."""

    name = "label, rank as key"
    differs = "(:S8 {rank, label}): no key either, the writer finds an end by label and rank"
    labels, end = "`{label}`", ":`{{label}}` {{rank: {}}}"
    properties = "rank: $rank + i, label: $labels[i]"

    def indexes(self) -> Iterator[str]:
        """Yield the statements of the base model, except the constraint on node keys."""
        return (statement for statement in super().indexes() if "node_key" not in statement)

    def relationships(self, kind: str, owner: str | None, rows: Rows) -> str:
        """Return the statement that writes relationships of one type between labelled nodes."""
        return self.named(super().relationships(kind, owner, rows))

    def first(self, topology: Topology) -> int:  # noqa: ARG002 - `end` looks up ranks
        """Return 0, because the pattern `end` finds nodes by their rank."""
        return 0


class TypePerTree(Model):
    """A model with the relationship types TREE_0, TREE_1, ..., each with an index on `forest`."""

    name = "type a tree"
    differs = "-[:TREE_3 {forest, level, port}]->, an index on the forest for each type"

    def relationship_indexes(self) -> Iterator[str]:
        """Yield an index per tree type, and starcast's index on sends."""
        for tree in range(self.topology.degree):
            yield f"CREATE INDEX tree_{tree} IF NOT EXISTS FOR ()-[e:TREE_{tree}]-() ON (e.forest)"
        yield "CREATE INDEX step IF NOT EXISTS FOR ()-[s:SEND]-() ON (s.schedule, s.step)"

    def create(self, rows: Rows) -> Iterator[tuple[str, Rows]]:
        """Yield the statements that write relationships, each with its rows."""
        if rows.relationship is not TREE_EDGE:
            yield from super().create(rows)
            return
        for tree in np.unique(rows.columns["tree"]).tolist():
            part = _chosen(rows, rows.columns["tree"] == tree)
            yield self.relationships(f"TREE_{tree}", "forest", part), part

    def gaps(self) -> dict[str, str]:
        """Return the Cypher text for each gap in `QUESTIONS`, by name."""
        return super().gaps() | {"tree": "MATCH (a)-[e:TREE_2 WHERE e.forest = $forest]->(b)"}

    def edges(self) -> str:
        """Return Cypher that binds a, b, e and tree for each edge e of the forest, from a to b."""
        return self._trees(
            "MATCH (a)-[e:TREE_{0} WHERE e.forest = $forest]->(b) RETURN a, b, e, {0} AS tree"
        )

    def both(self) -> str:
        """Return Cypher that binds a, b and forest for each edge of both forests, from a to b."""
        parts = [
            (
                f"MATCH (a)-[e:TREE_{tree} WHERE e.forest = $forest]->(b) "
                "RETURN a, b, $forest AS forest"
            )
            for tree in self._all
        ]
        parts.append(
            "MATCH (a)-[e:TREE_0 WHERE e.forest = $other]->(b) RETURN a, b, $other AS forest"
        )
        return f"CALL () {{ {' UNION ALL '.join(parts)} }}"

    def climb(self) -> str:
        """Return Cypher that matches the path from v to the root in each tree."""
        return self._trees(
            "MATCH up = (v)(()<-[e:TREE_{0} WHERE e.forest = $forest]-())*(root) "
            "WHERE root.rank = 0 "
            "RETURN {0} AS tree, length(up) AS hops",
            "v",
        )

    def descend(self) -> str:
        """Return Cypher that matches every node below v in each tree."""
        return self._trees(
            (
                "MATCH (v)(()-[e:TREE_{0} WHERE e.forest = $forest]->())+(below) "
                "RETURN {0} AS tree, below"
            ),
            "v",
        )

    @property
    def _all(self) -> range:
        return range(self.trees)

    def _trees(self, part: str, given: str = "") -> str:
        return f"CALL ({given}) {{ {' UNION ALL '.join(part.format(tree) for tree in self._all)} }}"


class TypePerForest(Model):
    """A model with one relationship type per forest, each with an index on the property `tree`."""

    name = "type a forest"
    differs = "-[:`S8:multiple:12345678` {tree, level, port}]->, an index on the tree for each type"

    def relationship_indexes(self) -> Iterator[str]:
        """Yield an index per forest type, and starcast's index on sends."""
        for forest in (self.forest, self.other):
            yield f"CREATE INDEX `tree_{forest}` IF NOT EXISTS FOR ()-[e:`{forest}`]-() ON (e.tree)"
        yield "CREATE INDEX step IF NOT EXISTS FOR ()-[s:SEND]-() ON (s.schedule, s.step)"

    def create(self, rows: Rows) -> Iterator[tuple[str, Rows]]:
        """Yield the statements that write relationships, each with its rows."""
        if rows.relationship is TREE_EDGE:
            yield self.relationships(rows.artifact_id, None, rows), rows
        else:
            yield from super().create(rows)

    def gaps(self) -> dict[str, str]:
        """Return the Cypher text for each gap in `QUESTIONS`, by name."""
        return super().gaps() | {"tree": f"MATCH (a)-[e:`{self.forest}` WHERE e.tree = $tree]->(b)"}

    def edges(self) -> str:
        """Return Cypher that binds a, b, e and tree for each edge e of the forest, from a to b."""
        return f"MATCH (a)-[e:`{self.forest}`]->(b) WITH a, b, e, e.tree AS tree"

    def both(self) -> str:
        """Return Cypher that binds a, b and forest for each edge of both forests, from a to b."""
        parts = [
            f"MATCH (a)-[e:`{forest}`]->(b) RETURN a, b, '{forest}' AS forest"
            for forest in (self.forest, self.other)
        ]
        return f"CALL () {{ {' UNION ALL '.join(parts)} }}"

    def tree_edge(self) -> str:
        """Return the part of a path pattern that matches an edge of the tree `tree`."""
        return f"e:`{self.forest}` WHERE e.tree = tree"


MODELS: Sequence[type[Model]] = (
    Model,
    Unindexed,
    ForestIndex,
    LinkIndex,
    Numbered,
    Composite,
    Labelled,
    Dynamic,
    LabelledRank,
    TypePerTree,
    TypePerForest,
)


def _chosen(rows: Rows, mask: Any) -> Rows:
    """Return the rows for which the mask is True, without the column `tree`."""
    kept = [0, 1, *(i for i, name in enumerate(rows.columns, start=2) if name != "tree")]
    kind = replace(
        rows.relationship,
        properties=tuple(p for p in rows.relationship.properties if p.name != "tree"),
        indexed=(),
    )
    return Rows(kind, rows.artifact_id, rows.topology, rows.table[kept][:, mask])
