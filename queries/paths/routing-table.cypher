// title: Routing table for a node
// question: Through which ports does every node get nearer to a given node, and what is its
//     distance?
// parameters:
//   topology (topology): name of the topology
//   target (node): label of the destination of all messages
// columns:
//   node (node): a node other than the target
//   distance: its distance from the target
//   ports: its ports on shortest paths
// cost: every link of the topology four times: twice for the distances, twice to compare them
// revision: 2
// reference: Akers & Krishnamurthy 1989; Fragopoulou & Akl 1993, Rules 2 to 4

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (target:Node {topology: t.spec, label: $target})
  // Only the minimum length is used, so the planner searches breadth-first and visits every link
  // once.
  MATCH (target)-[links:LINK*0..]-(v)
  WITH v, min(size(links)) AS distance
  ORDER BY v.rank
  RETURN collect(distance) AS distances
}
// Ranks are 0, 1, ... without gaps, so the list has the distance of a node at its rank.
MATCH (node:Node {topology: t.spec} WHERE node.rank >= 0)-[l:LINK]-(next)
WHERE distances[next.rank] < distances[node.rank]
// LINK has the port of its lower-ranked end.
WITH t, node.rank AS rank, node.label AS label, distances[node.rank] AS distance,
  collect(CASE WHEN node.rank < next.rank THEN l.port ELSE t.reverse_ports[l.port] END) AS ports
RETURN label AS node, distance, [port IN range(1, t.degree + 1) WHERE port IN ports] AS ports
ORDER BY rank
