// title: Level profile
// question: How many nodes are on each level of each tree of a forest?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
// columns:
//   tree: number of the tree in the forest
//   level: distance from the root in that tree; the root itself has level 0
//   nodes: number of nodes on that level
// cost: reads every edge of the forest once, at most trees x (nodes - 1) edges
// revision: 1
// reference: Tseng & Sheu 1997, Def. 1 and 2; docs/definitions/conventions.md, level of a tree edge

MATCH (f:Forest {id: $forest})
CALL (f) {
  // Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
  MATCH ()-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->()
  RETURN e.tree AS tree, e.level AS level, count(e) AS nodes
UNION ALL
  // The root belongs to every tree, but no edge leads to it.
  UNWIND range(0, f.trees - 1) AS tree
  RETURN tree, 0 AS level, 1 AS nodes
}
RETURN tree, level, nodes
ORDER BY tree, level
