// title: Nodes whose level exceeds their distance
// question: In the trees of a forest, for which nodes is the level larger than the distance from
//     the root in the topology, and by how much?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   min_excess (int >= 0, default 1): list the nodes whose level exceeds the distance by at least
//     this number; with 0, all nodes but the root are listed
// columns:
//   tree: number of the tree in the forest
//   node (node): label of the node
//   level: the node's distance from the root in that tree
//   distance: the node's distance from the root in the topology
//   excess: level minus distance
// cost: reads every link of the topology twice to find the distances, and every edge of the forest
//     once
// revision: 2
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
// Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
MATCH ()-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(node:Node)
WITH e.tree AS tree, node, e.level AS level, distances[node.rank] AS distance
WHERE level - distance >= $min_excess
RETURN tree, node.label AS node, level, distance, level - distance AS excess
ORDER BY excess DESC, tree, node
