// title: Next hops towards a node
// question: By which ports does a node come nearer to another, and how far is it from there?
// parameters:
//   topology (topology): name of the topology
//   node (node): label of the node that a message is at
//   target (node): label of the node that it is for
// columns:
//   port: port of the node that lies on a shortest path; there is no row where the message has arrived
//   next (node): the node across it
//   left: links from there to the target
// cost: for each neighbour a shortest path: the nodes within half the distance of it and of the target
// revision: 1
// reference: Akers & Krishnamurthy 1989; Fragopoulou & Akl 1993, Rules 2 to 4

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (node:Node {topology: t.spec, label: $node})
  RETURN node
}
// In a subquery of its own, or the planner multiplies the two ends.
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
// A link bears the port of its lower end. The other end's is the same but for residual ports of (n,k)-stars.
// properties(t).k, not t.k: where no (n,k)-star is stored, Neo4j does not know that property and would say so.
WITH next, away, CASE
    WHEN node.rank > next.rank AND l.port > properties(t).k THEN t.n + properties(t).k + 1 - l.port
    ELSE l.port
  END AS port
WITH min(away) AS left, collect({port: port, next: next, away: away}) AS hops
UNWIND [hop IN hops WHERE hop.away = left] AS hop
RETURN hop.port AS port, hop.next.label AS next, left
ORDER BY port
