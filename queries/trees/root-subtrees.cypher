// title: Subtrees of the root
// question: How many nodes are in the subtree of each child of the root, in each tree of a forest?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
// columns:
//   tree: number of the tree in the forest
//   port: port of the root that leads to the child
//   child (node): label of the child
//   subtree_nodes: number of nodes in its subtree, including the child
// cost: every node of every tree once, and the edges of all forests that leave these nodes
// revision: 2
// reference: Fragopoulou & Akl 1993, section 5.1 (subtrees as balanced as possible) and Def. 15

MATCH (f:Forest {id: $forest})
MATCH (root:Node {topology: f.topology, rank: f.root})-[e:TREE_EDGE {forest: $forest}]->(child:Node)
CALL (e, child) {
  // The pattern binds only nodes, so the planner uses breadth-first search. If it bound paths, the
  // planner would follow the path to each node separately.
  MATCH (child)-[:TREE_EDGE*0.. {tree: e.tree, forest: $forest}]->(node)
  RETURN count(DISTINCT node) AS subtree_nodes
}
RETURN e.tree AS tree, e.port AS port, child.label AS child, subtree_nodes
ORDER BY tree, port
