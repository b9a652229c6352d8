// title: Distance profile
// question: How many nodes are at each distance from a node?
// parameters:
//   topology (topology): name of the topology
//   node (node): label of the node
// columns:
//   distance: links on a shortest path
//   nodes: how many nodes are so far away, the node itself at distance 0
// revision: 1
// reference: Akers & Krishnamurthy 1989

MATCH (node:Node {topology: $topology, label: $node})
// In a subquery, so that one search from the node finds all others; else the planner may search for each of them.
CALL (node) {
  MATCH path = SHORTEST 1 (node)-[:LINK]-*(other:Node)
  RETURN other, length(path) AS distance
}
RETURN distance, count(other) AS nodes
ORDER BY distance
