// title: Routing table for a node
// question: Through which ports of each node do the shortest paths to a given target leave, and how
//     far is the target?
// parameters:
//   topology (topology): name of the topology
//   target (node): label of the destination of all messages
// columns:
//   node (node): a node other than the target
//   distance: the node's distance from the target
//   ports: the node's ports through which a shortest path to the target leaves
// cost: reads every link of the topology four times: twice to find the distances, and twice to
//     compare the distances of the two ends of the link
// revision: 2
// reference: Akers & Krishnamurthy 1989; Fragopoulou & Akl 1993, Rules 2 to 4

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (target:Node {topology: t.spec, label: $target})
  // Only the minimum length of the paths to a node is used, so the planner searches breadth-first
  // instead of following all paths.
  MATCH (target)-[links:LINK*0..]-(v)
  WITH v, min(size(links)) AS distance
  ORDER BY v.rank
  RETURN collect(distance) AS distances
}
// Ranks are 0, 1, ... without gaps, so `distances[rank]` is the distance of the node of that rank.
MATCH (node:Node {topology: t.spec} WHERE node.rank >= 0)-[l:LINK]-(next)
WHERE distances[next.rank] < distances[node.rank]
// A LINK stores only the port of its lower-ranked end.
WITH t, node.rank AS rank, node.label AS label, distances[node.rank] AS distance,
  collect(CASE WHEN node.rank < next.rank THEN l.port ELSE t.reverse_ports[l.port] END) AS ports
RETURN label AS node, distance, [port IN range(1, size(t.reverse_ports) - 1) WHERE port IN ports] AS ports
ORDER BY rank
