// title: Fan-out
// question: How many nodes of each tree of a forest have no child, one child, two children, ...?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
// columns:
//   tree: number of the tree in the forest
//   children: number of children of a node; a tree's last row has its maximum fan-out
//   nodes: number of nodes of the tree with that many children
//   lowest_node (node): node of lowest rank with that many children
// cost: every edge of the forest twice, at its parent and at its child
// revision: 2
// reference: Fragopoulou & Akl 1993, section 5; Tseng & Sheu 1997, Def. 1

// The index on forest and tree is used only if both are given.
MATCH (parent:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(child:Node)
// Each edge counts once for its parent; its child is added too, since it may have no children.
UNWIND [{node: parent, more: 1}, {node: child, more: 0}] AS at
WITH e.tree AS tree, at.node AS node, sum(at.more) AS children
RETURN tree, children, count(node) AS nodes, min(node.label) AS lowest_node
ORDER BY tree, children
