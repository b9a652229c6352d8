// title: Eccentricities and centre
// question: How far is the farthest node from each node, and which nodes are the centre of the
//     topology?
// parameters:
//   topology (topology): name of the topology
// columns:
//   node (node): a node; the nodes of the centre come first
//   eccentricity: distance from the node to a node farthest from it, which may be a switch; the
//     largest one is the diameter of the graph, the smallest one its radius
//   central: whether the node belongs to the centre, the nodes of smallest eccentricity
// cost: every link twice for each node, which is too much for ten thousand nodes; only for one node
//     if the topology looks the same from every node, so that all nodes are central
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
