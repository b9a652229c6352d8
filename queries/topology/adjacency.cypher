// title: Are two nodes adjacent
// question: Are two nodes adjacent, and by which ports?
// parameters:
//   topology (topology): name of the topology
//   first (node): label of one node
//   second (node): label of the other
// columns:
//   adjacent: whether a link joins them
//   port: port of the first node that leads to the second; nothing when they are not adjacent
//   back: port of the second node that leads to the first; the same but for residual ports of (n,k)-stars
// cost: the links of either node
// revision: 3
// reference: Akers & Krishnamurthy 1989

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (first:Node {topology: t.spec, label: $first})
  RETURN first
}
// In a subquery of its own, or the planner multiplies the two ends.
CALL (first) {
  MATCH (second:Node {topology: first.topology, label: $second})
  RETURN second
}
OPTIONAL MATCH (first)-[l:LINK]-(second)
// A link bears the port of its lower end. The other end's is the same but for residual ports of (n,k)-stars.
// properties(t).k, not t.k: where no (n,k)-star is stored, Neo4j does not know that property and would say so.
WITH first, second, l, CASE WHEN l.port > properties(t).k THEN t.n + properties(t).k + 1 - l.port ELSE l.port END AS reverse
RETURN l IS NOT NULL AS adjacent,
  CASE WHEN first.rank < second.rank THEN l.port ELSE reverse END AS port,
  CASE WHEN first.rank < second.rank THEN reverse ELSE l.port END AS back
