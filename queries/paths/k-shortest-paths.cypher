// title: The k shortest paths
// question: What are the k shortest paths from one node to another that visit no node twice?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the first node of the paths
//   target (node): label of the last node of the paths
//   k (int >= 1, default 10): number of paths, at most 1000
// columns:
//   length: number of links of the path
//   path (list of node): labels of the nodes on the path, including both ends
//   ports: for each hop of the path, the port through which the path leaves a node
// cost: finds 1000 paths, whatever k is, and searches all nodes that are no farther from the source
//     than the length of the longest of these paths. If fewer than 1000 paths exist, the query
//     follows every path from the source that visits no node twice (before Neo4j 2026.05, that uses
//     no link twice). This may take too long if most nodes lie behind a cut node
// revision: 4
// reference: Akers & Krishnamurthy 1989

CYPHER 25
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
// Neo4j chooses arbitrarily among equally long paths. So the query finds 1000 paths, orders them by
// length and ports, and returns the first k. If not all paths as long as the last one are among the
// 1000, the choice between them is arbitrary. The condition that no step leaves the target avoids a
// search beyond the target, which would be endless if source and target are equal.
MATCH path = SHORTEST 1000 ACYCLIC (source)((inner WHERE inner <> target)-[:LINK]-())*(target)
// A LINK stores only the port of its lower-ranked end.
WITH t, nodes(path) AS nodes, relationships(path) AS links
RETURN size(links) AS length, [v IN nodes | v.label] AS path,
  [i IN range(0, size(links) - 1) | CASE WHEN nodes[i].rank < nodes[i + 1].rank
    THEN links[i].port ELSE t.reverse_ports[links[i].port] END] AS ports
ORDER BY length, ports
LIMIT $k

// before Neo4j 2026.05:
// MATCH (t:Topology {spec: $topology})
// CALL (t) {
//   MATCH (source:Node {topology: t.spec, label: $source})
//   RETURN source
// }
// CALL (source) {
//   MATCH (target:Node {topology: source.topology, label: $target})
//   RETURN target
// }
// MATCH SHORTEST 1000 (path = (source)
//   ((inner WHERE inner <> target)-[:LINK]-(onward WHERE onward <> source))*(target)
//   WHERE all(v IN onward WHERE single(w IN onward WHERE w = v)))
// WITH t, nodes(path) AS nodes, relationships(path) AS links
// RETURN size(links) AS length, [v IN nodes | v.label] AS path,
//   [i IN range(0, size(links) - 1) | CASE WHEN nodes[i].rank < nodes[i + 1].rank
//     THEN links[i].port ELSE t.reverse_ports[links[i].port] END] AS ports
// ORDER BY length, ports
// LIMIT $k
