// title: Level profile
// question: How many nodes are on each level of each tree of a forest?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
// columns:
//   tree: number of the tree in the forest
//   level: distance from the root in that tree; 0 is the root's
//   nodes: how many nodes of the tree are so far from the root
// cost: every edge of the forest once, at most trees x (nodes - 1)
// revision: 1
// reference: Tseng & Sheu 1997, Def. 1 and 2; conventions: level of a tree edge

MATCH (f:Forest {id: $forest})
CALL (f) {
  // The index is on forest and tree; it is used only where both are asked for.
  MATCH ()-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->()
  RETURN e.tree AS tree, e.level AS level, count(e) AS nodes
UNION ALL
  // The root belongs to every tree, and no edge leads to it.
  UNWIND range(0, f.trees - 1) AS tree
  RETURN tree, 0 AS level, 1 AS nodes
}
RETURN tree, level, nodes
ORDER BY tree, level
