// title: All shortest paths
// question: Which are all the shortest paths from one node to another?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the node where the paths begin
//   target (node): label of the node where they end
// columns:
//   length: links on the path, which is the distance of the two nodes
//   nodes: labels of the nodes on the path, the two ends included
//   ports: port that each hop leaves by
// revision: 1
// reference: Akers & Krishnamurthy 1989

MATCH (source:Node {topology: $topology, label: $source})
// In a subquery of its own, or the planner multiplies the two ends.
CALL (source) {
  MATCH (target:Node {topology: source.topology, label: $target})
  RETURN target
}
MATCH path = ALL SHORTEST (source)-[:LINK]-*(target)
RETURN length(path) AS length, [v IN nodes(path) | v.label] AS nodes, [l IN relationships(path) | l.port] AS ports
ORDER BY ports
