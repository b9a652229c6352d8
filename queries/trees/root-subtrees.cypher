// title: Subtrees of the root
// question: How many nodes are in the subtree of each child of the root, in each tree of a forest?
// parameters:
//   forest (forest): id of the forest, as printed by 'starcast forest list'
// columns:
//   tree: number of the tree in the forest
//   port: port of the root that leads to the child
//   child (node): label of the child
//   subtree_nodes: number of nodes in the child's subtree, including the child
// cost: reads the edges of all forests that leave the root
// revision: 3
// reference: Fragopoulou & Akl 1993, section 5.1 (subtrees as balanced as possible) and Def. 15

MATCH (f:Forest {id: $forest})
MATCH (root:Node {topology: f.topology, rank: f.root})-[e:TREE_EDGE {forest: $forest}]->(child:Node)
RETURN e.tree AS tree, e.port AS port, child.label AS child, e.subtree_nodes AS subtree_nodes
ORDER BY tree, port
