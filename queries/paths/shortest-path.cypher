// title: A shortest path
// question: What is a shortest path from one node to another, and which ports does it use?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the first node of the path
//   target (node): label of the last node of the path
// columns:
//   length: number of links of the path, which is the distance between the two nodes
//   path (list of node): labels of the nodes on the path, including both ends
//   ports: for each hop of the path, the port through which the path leaves a node
// cost: searches all nodes whose distance from the source or from the target is at most half the
//     length of the path
// revision: 5
// reference: Akers & Krishnamurthy 1989 (the diameter of S_n is floor(3(n-1)/2))

MATCH (t:Topology {spec: $topology})
CALL (t) {
  MATCH (source:Node {topology: t.spec, label: $source})
  RETURN source
}
// The second node has its own subquery: otherwise the planner builds a cartesian product.
CALL (source) {
  MATCH (target:Node {topology: source.topology, label: $target})
  RETURN target
}
MATCH path = SHORTEST 1 (source)-[:LINK]-*(target)
// A LINK stores only the port of its lower-ranked end.
WITH t, nodes(path) AS nodes, relationships(path) AS links
RETURN size(links) AS length, [v IN nodes | v.label] AS path,
  [i IN range(0, size(links) - 1) | CASE WHEN nodes[i].rank < nodes[i + 1].rank
    THEN links[i].port ELSE t.reverse_ports[links[i].port] END] AS ports
