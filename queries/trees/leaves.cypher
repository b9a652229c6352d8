// title: Leaves of a tree
// question: Which nodes of a tree of a forest have no children, and how far are they from the root?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   tree (tree): number of the tree in the forest, from 0
// columns:
//   parent (node): the leaf's parent
//   port: port of the parent that leads to the leaf
//   leaf (node): label of the leaf
//   level: the leaf's distance from the root in the tree
// cost: reads every edge of the tree once (nodes - 1 edges) and, for each of these edges, the edges
//     of all forests that leave its child
// revision: 1
// reference: Fragopoulou & Akl 1996, Def. 6 to 8

MATCH (parent:Node)-[e:TREE_EDGE WHERE e.forest = $forest AND e.tree = $tree]->(leaf:Node)
WHERE NOT EXISTS { (leaf)-[:TREE_EDGE {forest: $forest, tree: $tree}]->() }
RETURN parent.label AS parent, e.port AS port, leaf.label AS leaf, e.level AS level
ORDER BY leaf
