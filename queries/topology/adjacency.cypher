// title: Are two nodes adjacent
// question: Are two nodes adjacent, by which port, and how far apart are they?
// parameters:
//   topology (topology): name of the topology
//   first (node): label of one node
//   second (node): label of the other
// columns:
//   adjacent: whether a link joins them
//   port: port of the first node that leads to the second; nothing when they are not adjacent
//   distance: links on a shortest path between them
// revision: 1
// reference: Akers & Krishnamurthy 1989

MATCH (first:Node {topology: $topology, label: $first})
// In a subquery of its own, or the planner multiplies the two ends.
CALL (first) {
  MATCH (second:Node {topology: first.topology, label: $second})
  RETURN second
}
MATCH path = SHORTEST 1 (first)-[:LINK]-*(second)
OPTIONAL MATCH (first)-[l:LINK]-(second)
RETURN l IS NOT NULL AS adjacent, l.port AS port, length(path) AS distance
