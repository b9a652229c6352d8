// title: Leaves of each tree
// question: How many nodes of each tree of a forest have no children?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
// columns:
//   tree: number of the tree in the forest
//   nodes: nodes in the tree, the root among them
//   leaves: how many of them have no children
// cost: every edge of the forest once, at most trees x (nodes - 1)
// revision: 1
// reference: Fragopoulou & Akl 1996, Def. 6 to 8

// The index is on forest and tree; it is used only where both are asked for.
MATCH (parent:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->()
// One edge leads to every node but the root, and at least one leaves every node that is no leaf.
WITH e.tree AS tree, count(e) + 1 AS nodes, count(DISTINCT parent) AS inner
RETURN tree, nodes, nodes - inner AS leaves
ORDER BY tree
