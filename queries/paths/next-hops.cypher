// title: Next hops towards a node
// question: Through which ports of a node do the shortest paths to another node leave, and how far
//     is the target after this hop?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the node that holds a message
//   target (node): label of the message's destination
// columns:
//   port: port of the source on a shortest path; no row if source and target are equal
//   next_node (node): the node across the port
//   distance: distance of the next node from the target
// cost: searches for one shortest path from each neighbour of the source to the target. Each search
//     visits the nodes whose distance from either end is at most half the length of the path
// revision: 3
// reference: Akers & Krishnamurthy 1989; Fragopoulou & Akl 1993, Rules 2 to 4

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (node:Node {topology: t.spec, label: $source})
  RETURN node
}
// The second node has its own subquery: otherwise the planner builds a cartesian product.
CALL (node) {
  MATCH (target:Node {topology: node.topology, label: $target})
  RETURN target
}
MATCH (node)-[l:LINK]-(next:Node)
WHERE node <> target
CALL (next, target) {
  MATCH path = SHORTEST 1 (next)-[:LINK]-*(target)
  RETURN length(path) AS away
}
// A LINK stores only the port of its lower-ranked end.
WITH next, away,
  CASE WHEN node.rank < next.rank THEN l.port ELSE t.reverse_ports[l.port] END AS port
WITH min(away) AS distance, collect({port: port, next: next, away: away}) AS hops
UNWIND [hop IN hops WHERE hop.away = distance] AS hop
RETURN hop.port AS port, hop.next.label AS next_node, distance
ORDER BY port
