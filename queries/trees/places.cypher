// title: Where a node stands in every tree
// question: On which level is a node in each tree of a forest, what is its parent, which are its children, and what hangs from it?
// parameters:
//   forest (forest): id of the forest, as 'starcast tree list' prints it
//   node (node): label of the node
// columns:
//   tree: number of the tree in the forest; trees that lack the node are left out
//   level: the node's distance from the root in that tree
//   parent (node): its parent; nothing at the root
//   port: port of the parent that leads to the node; nothing at the root
//   children (list of node): labels of its children, by the node's port
//   subtree: nodes in its subtree, the node among them
// cost: every node below it in every tree once, and for each the edges of all forests that leave it; at the root, all nodes
// revision: 1
// reference: Tseng & Sheu 1997, Def. 1 and 2; Fragopoulou & Akl 1996, Def. 8

MATCH (f:Forest {id: $forest})
MATCH (node:Node {topology: f.topology, label: $node})
UNWIND range(0, f.trees - 1) AS tree
OPTIONAL MATCH (parent:Node)-[e:TREE_EDGE {forest: $forest, tree: tree}]->(node)
WITH node, tree, parent, e, node.rank = f.root AS top
WHERE top OR e IS NOT NULL
CALL (node, tree) {
  MATCH (node)-[down:TREE_EDGE {forest: $forest, tree: tree}]->(child:Node)
  WITH child, down
  ORDER BY down.port
  RETURN collect(child.label) AS children
}
CALL (node, tree) {
  // Asked for the nodes alone, the planner searches in breadth; in full paths it would go over the way to each node again.
  MATCH (node)-[:TREE_EDGE*0.. {tree: tree, forest: $forest}]->(below)
  RETURN count(DISTINCT below) AS subtree
}
RETURN tree, CASE WHEN top THEN 0 ELSE e.level END AS level, parent.label AS parent, e.port AS port, children, subtree
ORDER BY tree
