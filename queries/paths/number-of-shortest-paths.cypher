// title: Number of shortest paths
// question: How many shortest paths lead from one node to another, and how long are they?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the first node of the paths
//   target (node): label of the last node of the paths
// columns:
//   length: number of links of each path, which is the distance between the two nodes
//   paths: number of shortest paths
// cost: counts the shortest paths one by one; in a large topology, distant nodes are joined by many
//     shortest paths
// revision: 2
// reference: Akers & Krishnamurthy 1989

MATCH (source:Node {topology: $topology, label: $source})
// The second node has its own subquery: otherwise the planner builds a cartesian product.
CALL (source) {
  MATCH (target:Node {topology: source.topology, label: $target})
  RETURN target
}
MATCH path = ALL SHORTEST (source)-[:LINK]-*(target)
RETURN length(path) AS length, count(path) AS paths
