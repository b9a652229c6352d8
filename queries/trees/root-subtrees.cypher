// title: Subtrees of the root
// question: How many nodes hang from each child of the root, in each tree of a forest?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
// columns:
//   tree: number of the tree in the forest
//   port: port of the root that leads to the child
//   child (node): label of the child
//   nodes: nodes in its subtree, the child among them
// cost: every node of every tree once, and for each the edges of all forests that leave it
// revision: 1
// reference: Fragopoulou & Akl 1993, section 5.1 (subtrees as equal as can be) and Def. 15

MATCH (f:Forest {id: $forest})
MATCH (root:Node {topology: f.topology, rank: f.root})-[e:TREE_EDGE {forest: $forest}]->(child:Node)
CALL (e, child) {
  // Asked for the nodes alone, the planner searches in breadth; in full paths it would go over the way to each node again.
  MATCH (child)-[:TREE_EDGE*0.. {tree: e.tree, forest: $forest}]->(node)
  RETURN count(DISTINCT node) AS nodes
}
RETURN e.tree AS tree, e.port AS port, child.label AS child, nodes
ORDER BY tree, port
