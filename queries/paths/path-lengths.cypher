// title: Path lengths
// question: How many paths from one node to another are as short as can be, and how many take the least detour?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the node where the paths begin
//   target (node): label of the node where they end
// columns:
//   length: links on each of the paths; first the distance, then the next length that there is
//   paths: how many different ones there are that pass no node twice
// cost: every such path once; a detour has many forms, some fifteen times as many as there are shortest paths in S6
// revision: 1
// reference: Akers & Krishnamurthy 1989

MATCH (source:Node {topology: $topology, label: $source})
// In a subquery of its own, or the planner multiplies the two ends.
CALL (source) {
  MATCH (target:Node {topology: source.topology, label: $target})
  RETURN target
}
// That no step leads back to the source spares the search for longer and longer ways where source and target are one.
MATCH SHORTEST 2 GROUPS (path = (source)(()-[:LINK]-(onward WHERE onward <> source))*(target)
  WHERE all(v IN onward WHERE single(w IN onward WHERE w = v)))
RETURN length(path) AS length, count(path) AS paths
ORDER BY length
