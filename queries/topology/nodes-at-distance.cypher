// title: Nodes at a distance
// question: Which nodes are at a given distance from a node?
// parameters:
//   topology (topology): name of the topology
//   node (node): label of the node
//   distance (int >= 0): how many links away
// columns:
//   rank: rank of the node found
//   label: its label
// revision: 1
// reference: Akers & Krishnamurthy 1989

MATCH (node:Node {topology: $topology, label: $node})
// In a subquery, so that one search from the node finds all others; else the planner may search for each of them.
CALL (node) {
  MATCH path = SHORTEST 1 (node)-[:LINK]-*(other:Node)
  RETURN other, length(path) AS distance
}
WITH other, distance
WHERE distance = $distance
RETURN other.rank AS rank, other.label AS label
ORDER BY rank
