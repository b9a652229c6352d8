// title: Number of leaves
// question: How many nodes of each tree of a forest have no children?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
// columns:
//   tree: number of the tree in the forest
//   nodes: number of nodes of the tree, including the root
//   leaves: number of nodes without children
// cost: reads every edge of the forest once, at most trees x (nodes - 1) edges
// revision: 1
// reference: Fragopoulou & Akl 1996, Def. 6 to 8

// Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
MATCH (parent:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->()
// Exactly one edge enters every node but the root, so a tree has one node more than edges. A node
// is a leaf if no edge leaves it.
WITH e.tree AS tree, count(e) + 1 AS nodes, count(DISTINCT parent) AS inner
RETURN tree, nodes, nodes - inner AS leaves
ORDER BY tree
