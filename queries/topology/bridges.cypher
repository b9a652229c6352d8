// title: Bridges
// question: Which single links, if removed, divide the topology into two parts?
// parameters:
//   topology (topology): name of the topology
// columns:
//   node (node): the end of the link that has the lower rank
//   neighbour (node): the end of the link that has the higher rank
// cost: searches, for each link, the nodes near the ends of the link; for a bridge, up to twice the
//     nodes of the smaller part. If the topology looks the same from every node, and has more than
//     one link at each node, it has no bridges, and the query searches nothing
// revision: 1
// reference: Harary 1969, chapter 3 (bridges); Mader 1971

// The edge connectivity of a connected vertex-transitive graph is its degree (Mader 1971).
MATCH (t:Topology {spec: $topology} WHERE t.degree = 1 OR NOT t.has_translations)
// Neo4j uses the index on topology and rank only if both are constrained; hence `rank >= 0`.
MATCH (v:Node {topology: t.spec} WHERE v.rank >= 0)-[link:LINK]->(next)
// The search runs from both ends, so it usually ends after a short detour, or at the end of the
// smaller part.
WHERE NOT EXISTS {
  MATCH SHORTEST 1 (v)(()-[other:LINK WHERE other <> link]-())+(next)
}
RETURN v.label AS node, next.label AS neighbour
ORDER BY v.rank, next.rank
