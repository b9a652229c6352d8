// title: A shortest path
// question: How does a message travel from one node to another by a shortest path, over which ports?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the node where the path begins
//   target (node): label of the node where it ends
// columns:
//   length: links on the path, which is the distance of the two nodes
//   nodes: labels of the nodes on the path, the two ends included
//   ports: port that each hop leaves by
// revision: 1
// reference: Akers & Krishnamurthy 1989 (the diameter of S_n is floor(3(n-1)/2))

MATCH (source:Node {topology: $topology, label: $source})
// In a subquery of its own, or the planner multiplies the two ends.
CALL (source) {
  MATCH (target:Node {topology: source.topology, label: $target})
  RETURN target
}
MATCH path = SHORTEST 1 (source)-[:LINK]-*(target)
RETURN length(path) AS length, [v IN nodes(path) | v.label] AS nodes, [l IN relationships(path) | l.port] AS ports
