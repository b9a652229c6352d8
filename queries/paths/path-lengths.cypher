// title: Path lengths
// question: How many shortest paths lead from one node to another, and how many paths have the next
//     larger length?
// parameters:
//   topology (topology): name of the topology
//   source (node): label of the first node of the paths
//   target (node): label of the last node of the paths
// columns:
//   length: number of links of each path; in the first row, this is the distance between the two
//     nodes, in the second row the next larger length of a path
//   paths: number of paths of that length that visit no node twice
// cost: follows every path of these two lengths once; in S6, about fifteen times as many paths have
//     the second length as have the first. If all paths have the same length, the query follows
//     every path from the source that uses no link twice
// revision: 2
// reference: Akers & Krishnamurthy 1989

MATCH (source:Node {topology: $topology, label: $source})
// The second node has its own subquery: otherwise the planner builds a cartesian product.
CALL (source) {
  MATCH (target:Node {topology: source.topology, label: $target})
  RETURN target
}
// The conditions that no step leaves the target or returns to the source avoid a search beyond
// these nodes, which would be endless if source and target are equal.
MATCH SHORTEST 2 GROUPS (path = (source)
  ((inner WHERE inner <> target)-[:LINK]-(onward WHERE onward <> source))*(target)
  WHERE all(v IN onward WHERE single(w IN onward WHERE w = v)))
RETURN length(path) AS length, count(path) AS paths
ORDER BY length
