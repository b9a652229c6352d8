// title: Fan-out
// question: How many nodes of each tree of a forest have no child, one child, two children, and so
//     on?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
// columns:
//   tree: number of the tree in the forest
//   children: number of children of a node; the last row of a tree has its maximum fan-out
//   nodes: number of nodes of the tree with this number of children
//   lowest_node (node): node of lowest rank with this number of children
// cost: reads every edge of the forest twice: once for the parent and once for the child
// revision: 3
// reference: Fragopoulou & Akl 1993, section 5; Tseng & Sheu 1997, Def. 1

// Neo4j uses the index on forest and tree only if both are constrained; hence `e.tree >= 0`.
MATCH (parent:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree >= 0]->(child:Node)
// Each edge adds one child to its parent. It also adds its own child node with no children, so that
// leaves are counted.
UNWIND [{node: parent, more: 1}, {node: child, more: 0}] AS at
WITH e.tree AS tree, at.node AS node, sum(at.more) AS children
RETURN tree, children, count(node) AS nodes, min([node.rank, node.label])[1] AS lowest_node
ORDER BY tree, children
