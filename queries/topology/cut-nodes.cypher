// title: Cut nodes
// question: Which single nodes, if removed, divide the topology into several parts?
// parameters:
//   topology (topology): name of the topology
// columns:
//   node (node): a node whose removal leaves two other nodes without a path between them
// cost: searches, for each node and each of its neighbours, the nodes near the two nodes; if the
//     node is a cut node, up to twice the nodes of the smaller part. If the topology looks the same
//     from every node, it has no cut nodes, and the query searches nothing
// revision: 1
// reference: Harary 1969, chapter 3 (cutpoints)

// In a topology that looks the same from every node, either all nodes or no nodes are cut nodes.
// Every connected graph has a node that is not a cut node, so such a topology has none.
MATCH (t:Topology {spec: $topology} WHERE NOT t.has_translations)
// Neo4j uses the index on topology and rank only if both are constrained; hence `rank >= 0`.
MATCH (v:Node {topology: t.spec} WHERE v.rank >= 0)
CALL (v) {
  MATCH (v)-[:LINK]-(neighbour)
  WITH neighbour
  ORDER BY neighbour.rank
  RETURN collect(neighbour) AS neighbours
}
CALL (v, neighbours) {
  UNWIND neighbours[1..] AS neighbour
  WITH v, neighbours[0] AS first, neighbour
  // The search runs from both ends, so it usually ends after a short detour, or at the end of the
  // smaller part.
  WHERE NOT EXISTS {
    MATCH SHORTEST 1 (first)(()-[:LINK]-(onward WHERE onward <> v))*(neighbour)
  }
  RETURN neighbour AS separated
  LIMIT 1
}
RETURN v.label AS node
ORDER BY v.rank
