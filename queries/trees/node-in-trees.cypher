// title: A node in every tree
// question: What are the level, the parent, the children and the size of the subtree of a node in
//     each tree of a forest?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
//   node (node): label of the node
// columns:
//   tree: number of the tree in the forest; trees that do not contain the node are omitted
//   level: the node's distance from the root in that tree
//   parent (node): the node's parent; null at the root
//   port: port of the parent that leads to the node; null at the root
//   child_nodes (list of node): labels of the node's children, ordered by the port that leads to
//     each child
//   subtree_nodes: number of nodes in the node's subtree, including the node
// cost: reads the edges of all forests at the node, once for each tree
// revision: 3
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
  RETURN collect(child.label) AS children, sum(down.subtree_nodes) + 1 AS subtree
}
RETURN tree, CASE WHEN top THEN 0 ELSE e.level END AS level, parent.label AS parent,
  e.port AS port, children AS child_nodes, subtree AS subtree_nodes
ORDER BY tree
