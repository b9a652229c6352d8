// title: A shortest path
// question: How does a message travel from one node to another by a shortest path, over which ports?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the node where the path begins
//   target (node): label of the node where it ends
// columns:
//   length: links on the path, which is the distance of the two nodes
//   nodes (list of node): labels of the nodes on the path, the two ends included
//   ports: port that each hop leaves by
// cost: the nodes within half the distance of either end
// revision: 3
// reference: Akers & Krishnamurthy 1989 (the diameter of S_n is floor(3(n-1)/2))

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (source:Node {topology: t.spec, label: $source})
  RETURN source
}
// In a subquery of its own, or the planner multiplies the two ends.
CALL (source) {
  MATCH (target:Node {topology: source.topology, label: $target})
  RETURN target
}
MATCH path = SHORTEST 1 (source)-[:LINK]-*(target)
// A link bears the port of its lower end. The other end's is the same but for residual ports of (n,k)-stars.
// properties(t).k, not t.k: where no (n,k)-star is stored, Neo4j does not know that property and would say so.
WITH t, nodes(path) AS nodes, relationships(path) AS links
RETURN size(links) AS length, [v IN nodes | v.label] AS nodes,
  [i IN range(0, size(links) - 1) | CASE
    WHEN nodes[i].rank > nodes[i + 1].rank AND links[i].port > properties(t).k THEN t.n + properties(t).k + 1 - links[i].port
    ELSE links[i].port
  END] AS ports
