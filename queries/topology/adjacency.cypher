// title: Adjacency of two nodes
// question: Are two nodes adjacent, and through which ports?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the first node
//   target (node): label of the second node
// columns:
//   adjacent: whether a link joins the two nodes
//   port: port of the first node that leads to the second; null if they are not adjacent
//   reverse_port: port of the second node that leads to the first; it differs from `port` for
//     residual ports of (n,k)-stars, and in families with generators that are not their own
//     inverses
// cost: reads every link of one of the two nodes once
// revision: 5
// reference: Akers & Krishnamurthy 1989

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (first:Node {topology: t.spec, label: $source})
  RETURN first
}
// The second node has its own subquery: otherwise the planner builds a cartesian product.
CALL (first) {
  MATCH (second:Node {topology: first.topology, label: $target})
  RETURN second
}
OPTIONAL MATCH (first)-[l:LINK]-(second)
// A LINK stores only the port of its lower-ranked end.
WITH first, second, l, t.reverse_ports[l.port] AS reverse
RETURN l IS NOT NULL AS adjacent,
  CASE WHEN first.rank < second.rank THEN l.port ELSE reverse END AS port,
  CASE WHEN first.rank < second.rank THEN reverse ELSE l.port END AS reverse_port
