// title: Excess of levels over distances
// question: For how many nodes of each tree of a forest is the level larger than the distance from
//     the root in the topology, and by how much?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
// columns:
//   tree: number of the tree in the forest
//   excess: level of a node in that tree minus its distance from the root in the topology; in a
//     shortest-path tree, the excess of all nodes is 0
//   nodes: number of nodes with that excess; the root is included and has excess 0
// cost: reads every link of the topology twice to find the distances, and every edge of the forest
//     once
// revision: 1
// reference: Akers & Krishnamurthy 1989 (distance); Tseng & Sheu 1997, Def. 1 and 2

MATCH (f:Forest {id: $forest})
CALL (f) {
  MATCH (root:Node {topology: f.topology, rank: f.root})
  // Only the minimum length of the paths to a node is used, so the planner searches breadth-first
  // instead of following all paths.
  MATCH (root)-[links:LINK*0..]-(node:Node)
  WITH node, min(size(links)) AS distance
  ORDER BY node.rank
  RETURN collect(distance) AS distances
}
CALL (f, distances) {
  // Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
  MATCH ()-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(node:Node)
  RETURN e.tree AS tree, e.level - distances[node.rank] AS excess
UNION ALL
  // The root belongs to every tree, but no edge leads to it.
  UNWIND range(0, f.trees - 1) AS tree
  RETURN tree, 0 AS excess
}
RETURN tree, excess, count(*) AS nodes
ORDER BY tree, excess
