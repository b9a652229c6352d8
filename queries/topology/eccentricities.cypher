// title: Eccentricities and centre
// question: How far is the farthest node from each node, and which nodes are the centre of the
//     topology?
// parameters:
//   topology (topology): name of the topology
// columns:
//   node (node): a node; the nodes of the centre come first
//   eccentricity: distance from the node to a node farthest from it, which may be a switch; the
//     largest eccentricity is the diameter of the graph, and the smallest eccentricity is the
//     radius
//   central: whether the node has the smallest eccentricity, and thus belongs to the centre
// cost: reads every link of the topology twice for each node, which takes too long for ten thousand
//     nodes. If the topology looks the same from every node, all nodes are central, and the query
//     reads the links only for one node
// revision: 1
// reference: Harary 1969, chapter 4 (eccentricity, radius, centre)

MATCH (t:Topology {spec: $topology})
CALL (t) {
  // Neo4j uses the index on topology and rank only if both are constrained; hence `rank >= 0`.
  MATCH (v:Node {topology: t.spec} WHERE v.rank >= 0)
  WHERE v.rank = 0 OR NOT t.has_translations
  CALL (v) {
    // Only the minimum length of the paths to a node is used, so the planner searches breadth-first
    // instead of following all paths.
    MATCH (v)-[links:LINK*0..]-(other)
    WITH other, min(size(links)) AS distance
    RETURN max(distance) AS eccentricity
  }
  WITH v.rank AS rank, eccentricity
  ORDER BY rank
  RETURN collect(eccentricity) AS found, min(eccentricity) AS radius
}
// Ranks are 0, 1, ... without gaps, so `found[rank]` is the eccentricity of the node of that rank.
MATCH (v:Node {topology: t.spec} WHERE v.rank >= 0)
WITH v, CASE WHEN t.has_translations THEN found[0] ELSE found[v.rank] END AS eccentricity,
  radius
RETURN v.label AS node, eccentricity, eccentricity = radius AS central
ORDER BY eccentricity, v.rank
