// title: Number of shortest paths
// question: How many shortest paths lead from one node to another, and how long are they?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the node where the paths begin
//   target (node): label of the node where they end
// columns:
//   length: links on each of the paths, which is the distance of the two nodes
//   paths: how many different ones there are
// cost: every shortest path once; they are counted one by one, and there are many between far nodes of a large topology
// revision: 2
// reference: Akers & Krishnamurthy 1989

MATCH (source:Node {topology: $topology, label: $source})
// In a subquery of its own, or the planner multiplies the two ends.
CALL (source) {
  MATCH (target:Node {topology: source.topology, label: $target})
  RETURN target
}
MATCH path = ALL SHORTEST (source)-[:LINK]-*(target)
RETURN length(path) AS length, count(path) AS paths
