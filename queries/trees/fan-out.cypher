// title: Fan-out
// question: How many nodes of each tree of a forest have no child, one, two, ..., and which node has most?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
// columns:
//   tree: number of the tree in the forest
//   children: how many children a node has; a tree's last row is its greatest fan-out
//   nodes: how many nodes of the tree have so many
//   first (node): the one of the lowest rank
// cost: every edge of the forest twice, at its parent and at its child
// revision: 1
// reference: Fragopoulou & Akl 1993, section 5; Tseng & Sheu 1997, Def. 1

// The index is on forest and tree; it is used only where both are asked for.
MATCH (parent:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(child:Node)
// Each edge counts once for its parent, and makes its child known, which may have none.
UNWIND [{node: parent, more: 1}, {node: child, more: 0}] AS at
WITH e.tree AS tree, at.node AS node, sum(at.more) AS children
RETURN tree, children, count(node) AS nodes, min(node.label) AS first
ORDER BY tree, children
