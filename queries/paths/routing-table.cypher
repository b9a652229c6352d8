// title: Routing table for a node
// question: By which ports does every node come nearer to a given one, and how far away is it?
// parameters:
//   topology (topology): name of the topology
//   target (node): label of the node that all messages are for
// columns:
//   node (node): a node; every one but the target
//   distance: its distance from the target
//   ports: its ports that lie on a shortest path
// cost: every link of the topology four times: twice for the distances, twice to compare them
// revision: 1
// reference: Akers & Krishnamurthy 1989; Fragopoulou & Akl 1993, Rules 2 to 4

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (target:Node {topology: t.spec, label: $target})
  // Asked for the least length only, the planner searches in breadth and visits every link once.
  MATCH (target)-[links:LINK*0..]-(v)
  WITH v, min(size(links)) AS distance
  ORDER BY v.rank
  RETURN collect(distance) AS distances
}
// Ranks are 0, 1, .. without a gap, so the distance of a node stands in the list at its rank.
MATCH (node:Node {topology: t.spec} WHERE node.rank >= 0)-[l:LINK]-(next)
WHERE distances[next.rank] < distances[node.rank]
// A link bears the port of its lower end. The other end's is the same but for residual ports of (n,k)-stars.
// properties(t).k, not t.k: where no (n,k)-star is stored, Neo4j does not know that property and would say so.
WITH t, node.rank AS rank, node.label AS label, distances[node.rank] AS distance, collect(CASE
    WHEN node.rank > next.rank AND l.port > properties(t).k THEN t.n + properties(t).k + 1 - l.port
    ELSE l.port
  END) AS ports
RETURN label AS node, distance, [port IN range(1, t.degree + 1) WHERE port IN ports] AS ports
ORDER BY rank
