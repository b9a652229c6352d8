// title: The k shortest paths
// question: Which are the k shortest paths from one node to another that pass no node twice?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the node where the paths begin
//   target (node): label of the node where they end
//   k (int >= 1, default 10): how many paths, at most 1000
// columns:
//   length: links on the path
//   nodes (list of node): labels of the nodes on the path, the two ends included
//   ports: port that each hop leaves by
// cost: 1000 paths, whatever k is, and the nodes that are as near; where there are not so many, all ways that use no
//     link twice, which are too many on S7,1
// revision: 1
// reference: Akers & Krishnamurthy 1989

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
// Neo4j takes no parameter after SHORTEST, and of equally long paths it finds any. So 1000 are found and the first k of them
// taken, by length, then ports. If some of the same length as the last are not among the 1000, others might be as right.
// That no step leads back to the source spares the search for longer and longer ways where source and target are one.
MATCH SHORTEST 1000 (path = (source)(()-[:LINK]-(onward WHERE onward <> source))*(target)
  WHERE all(v IN onward WHERE single(w IN onward WHERE w = v)))
// A link bears the port of its lower end. The other end's is the same but for residual ports of (n,k)-stars.
// properties(t).k, not t.k: where no (n,k)-star is stored, Neo4j does not know that property and would say so.
WITH t, nodes(path) AS nodes, relationships(path) AS links
RETURN size(links) AS length, [v IN nodes | v.label] AS nodes,
  [i IN range(0, size(links) - 1) | CASE
    WHEN nodes[i].rank > nodes[i + 1].rank AND links[i].port > properties(t).k THEN t.n + properties(t).k + 1 - links[i].port
    ELSE links[i].port
  END] AS ports
ORDER BY length, ports
LIMIT $k
